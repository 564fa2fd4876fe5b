"""The line of a key in a TOML text, however awkwardly the text is written."""

from __future__ import annotations

import pytest
import tomli

from resolver.config.lines import LineNumbers, Path

AWKWARD = (
    r'''# [not.a.table]
title = "a # no comment, [no table]"
"quoted key" = 1
'single "quoted"' = 2
dotted.key."with.dot" = 3 # = "
text = """
[[nothing]]
a = 1 \"""
b = 2""""
'''
    """\
literal = '''
[nothing] # '' '
key = 1'''
after = 1979-05-27T07:32:00Z

[ spaced . out ]
"a" = [ # [
  "]", 'x', # ]
  [ 1, [ 2,
    3 ] ],
  { name = "in, }", nested = { deep = [1,
    2] } },
]
empty = []
none = {}

[[row]]
versions = ["==1",
  "==2"]
[row.sub]
key = true
[[row]]
versions = "==3"
[[row.sub-row]]
x = 1
[[row.sub-row]]
x = 2
"""
)


@pytest.mark.parametrize(
    ("path", "written"),
    [
        (("title",), "title ="),
        (("literal",), "literal ="),
        (("after",), "after ="),
        (("quoted key",), '"quoted key"'),
        (('single "quoted"',), "'single"),
        (("dotted", "key", "with.dot"), "dotted."),
        (("dotted",), "dotted."),
        (("text",), 'text = """'),
        (("spaced",), "[ spaced"),
        (("spaced", "out"), "[ spaced"),
        (("spaced", "out", "a"), '"a" = ['),
        (("spaced", "out", "a", 0), '  "]", '),
        (("spaced", "out", "a", 1), '  "]", '),
        (("spaced", "out", "a", 2), "  [ 1, [ 2,"),
        (("spaced", "out", "a", 2, 1, 0), "  [ 1, [ 2,"),
        (("spaced", "out", "a", 2, 1, 1), "    3 ] ],"),
        (("spaced", "out", "a", 3), "  { name"),
        (("spaced", "out", "a", 3, "nested", "deep"), "  { name"),
        (("spaced", "out", "a", 3, "nested", "deep", 1), "    2] } }"),
        (("spaced", "out", "empty"), "empty"),
        (("spaced", "out", "none"), "none"),
        (("row",), "[[row]]"),
        (("row", 0), "[[row]]"),
        (("row", 0, "versions", 1), '  "==2"]'),
        (("row", 0, "sub", "key"), "key = true"),
        (("row", 1, "versions"), 'versions = "==3"'),
        (("row", 1, "sub-row", 0), "[[row.sub-row]]\nx = 1"),
        (("row", 1, "sub-row", 1, "x"), "x = 2"),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_line_of_awkward_toml(path: Path, written: str, ending: str) -> None:
    tomli.loads(AWKWARD)
    text = AWKWARD.replace("\n", ending)
    position = ("\n" + AWKWARD).index("\n" + written)
    assert LineNumbers(text).line(path) == AWKWARD.count("\n", 0, position) + 1


VALUES = [
    "-1.5e3",
    '"\\"], }, # \\\\"',
    "'[[no]]'",
    '""',
    '"""\nx = 1\n[y]\n"""',
    '"""a""""',
    '"""""a\\""""""',
]
VALUES += ["'''\n# ] }\n'''", "'''''x'''''", '"""\\\n   folded"""', "[ # ] } \" '''\n]"]


@pytest.mark.parametrize("value", VALUES)
def test_line_after_a_value_is_found(value: str) -> None:
    text = (
        f"a = {value} # '\n'[x]' = [{value},\n {value} ]\nc.d = {{ e = {value} }}\n\"last\" = 1\n"
    )
    assert tomli.loads(text)["last"] == 1
    lines = LineNumbers(text)
    places = {
        ("[x]",): "'[x]'",
        ("[x]", 1): f" {value} ]",
        ("c", "d", "e"): "c.d",
        ("last",): '"last',
    }
    for path, written in places.items():
        assert lines.line(path) == text.count("\n", 0, text.index(written)) + 1
