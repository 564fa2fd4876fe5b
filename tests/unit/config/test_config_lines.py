"""Where in a TOML text a key stands, however awkwardly it is written."""

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
        *(((key,), f"{key} =") for key in ("title", "literal", "after")),
        (("quoted key",), '"quoted key"'),
        (('single "quoted"',), "'single"),
        *((path, "dotted.") for path in (("dotted", "key", "with.dot"), ("dotted",))),
        (("text",), 'text = """'),
        *((path, "[ spaced") for path in (("spaced",), ("spaced", "out"))),
        (("spaced", "out", "a"), '"a" = ['),
        *((("spaced", "out", "a", at), '  "]", ') for at in (0, 1)),
        *((("spaced", "out", "a", 2, *rest), "  [ 1, [ 2,") for rest in ((), (1, 0))),
        (("spaced", "out", "a", 2, 1, 1), "    3 ] ],"),
        *((("spaced", "out", "a", 3, *rest), "  { name") for rest in ((), ("nested", "deep"))),
        (("spaced", "out", "a", 3, "nested", "deep", 1), "    2] } }"),
        *((("spaced", "out", key), key) for key in ("empty", "none")),
        *((("row", *rest), "[[row]]") for rest in ((), (0,))),
        (("row", 0, "versions", 1), '  "==2"]'),
        (("row", 0, "sub", "key"), "key = true"),
        (("row", 1, "versions"), 'versions = "==3"'),
        (("row", 1, "sub-row", 0), "[[row.sub-row]]\nx = 1"),
        (("row", 1, "sub-row", 1, "x"), "x = 2"),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_awkward_toml(path: Path, written: str, ending: str) -> None:
    tomli.loads(AWKWARD)
    text = AWKWARD.replace("\n", ending)
    at = ("\n" + AWKWARD).index("\n" + written)
    assert LineNumbers(text).line(path) == AWKWARD.count("\n", 0, at) + 1


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
def test_what_follows_a_value_is_found(value: str) -> None:
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
