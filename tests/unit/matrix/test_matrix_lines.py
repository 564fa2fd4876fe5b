"""Where in a TOML text a key stands, however awkwardly it is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from resolver.matrix.lines import Lines, Path

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
        (("quoted key",), '"quoted key"'),
        (('single "quoted"',), "'single"),
        (("dotted", "key", "with.dot"), "dotted."),
        (("dotted",), "dotted."),
        (("text",), 'text = """'),
        (("literal",), "literal ="),
        (("after",), "after ="),
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
def test_awkward_toml(path: Path, written: str, ending: str) -> None:
    tomli.loads(AWKWARD)
    text = AWKWARD.replace("\n", ending)
    at = ("\n" + AWKWARD).index("\n" + written)
    assert Lines(text).line(path) == AWKWARD.count("\n", 0, at) + 1


def test_what_is_not_written_is_told_at_the_nearest_that_is() -> None:
    lines = Lines("[stack]\nname = 'a'\n[target]\n")
    assert lines.line(("stack", "summary")) == 1
    assert lines.line(("target", "system", "cann")) == 3
    assert lines.line(("policy",)) == 1
    assert lines.line(()) == 1


# --- the law: a line found is the line where the key was written

_KEYS = ("a", "b-2", "C_", "with space", "dot.ted", 'quo"te', "#", "[x]", "é", "")
_VALUES = (
    "1",
    "-1.5e3",
    "true",
    "2026-11-20",
    "2026-11-20T10:00:00Z",
    '"text"',
    '"\\"], }, # \\\\"',
    "'\\'",
    "'[[no]]'",
    '""',
    "''",
    '""" one line """',
    '"""\nx = 1\n[y]\n"""',
    '"""a""""',
    '"""""a\\""""""',
    "'''\n# ] }\n'''",
    "'''''x'''''",
    '"""\\\n   folded"""',
)
_GAPS = ("", "", " ", "\t", "\n", " # ] } \" '''\n", "\n\n  # x = [\n")


class _Writer:
    """Writes a random document and remembers where each key and element begins."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self._text = ""
        self.written: dict[Path, int] = {}

    def document(self) -> str:
        names = self._keys(3)
        self._pairs((), taken=names)
        for name in names:
            kind = self._one(("table", "array", "nested"))
            if kind == "array":
                for at in range(self._number(1, 3)):
                    self._header((name, at), f"[[{self._key(name)}]]")
            elif kind == "table":
                self._header((name,), f"[{self._key(name)}]")
            else:
                self._header((name, "sub"), f"[ {self._key(name)} . sub ]")
        return self._text

    def _header(self, path: Path, header: str) -> None:
        self._mark(path[:1])
        self._mark(path)
        self._text += header + self._one(("", " ", " # [[x]]")) + "\n"
        self._pairs(path)

    def _pairs(self, table: Path, taken: Sequence[str] = ()) -> None:
        for key in self._keys(3, taken):
            self._mark((*table, key))
            self._text += self._key(key) + self._one((" = ", "=", "\t=  "))
            self._value((*table, key), 2)
            self._text += self._one(("\n", " # ' \"\n", "\n\n"))

    def _value(self, path: Path, depth: int) -> None:
        self._mark(path)
        kind = self._one(("plain", "plain", "array", "table")) if depth else "plain"
        if kind == "plain":
            self._text += self._one(_VALUES)
        elif kind == "array":
            self._text += "[" + self._one(_GAPS)
            count = self._number(0, 3)
            for at in range(count):
                self._value((*path, at), depth - 1)
                self._text += self._one(_GAPS) + ("," if at < count - 1 else self._one(("", ","))) + self._one(_GAPS)
            self._text += "]"
        else:
            self._text += "{ "
            for at, key in enumerate(self._keys(2)):
                self._text += ", " if at else ""
                self._mark((*path, key))
                self._text += self._key(key) + " = "
                self._value((*path, key), depth - 1)
            self._text += " }"

    def _key(self, key: str) -> str:
        if key.replace("-", "").replace("_", "").isalnum() and key.isascii() and self._one((True, False)):
            return key
        if '"' not in key and self._one((True, False)):
            return f'"{key}"'
        return f"'{key}'"

    def _keys(self, most: int, taken: Sequence[str] = ()) -> list[str]:
        count = self._number(0, most)
        keys = dict.fromkeys(self._one(_KEYS) for _ in range(count))
        return [key for key in keys if key not in taken]

    def _mark(self, path: Path) -> None:
        self.written.setdefault(path, self._text.count("\n") + 1)

    def _one(self, options: Any) -> Any:
        return options[self._number(0, len(options) - 1)]

    def _number(self, low: int, high: int) -> int:
        return self._draw(_NUMBERS[low, high])


_NUMBERS = {(low, high): st.integers(low, high) for low in (0, 1) for high in range(30) if low <= high}


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[Path, int]]:
    writer = _Writer(draw)
    return writer.document(), writer.written


def paths(value: Any, path: Path = ()) -> list[Path]:
    """Every key and element of a parsed document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [one for key, inner in items for one in ((*path, key), *paths(inner, (*path, key)))]


@given(documents())
def test_the_line_found_is_the_line_where_the_key_is_written(document: tuple[str, dict[Path, int]]) -> None:
    text, written = document
    assert set(written) <= set(paths(tomli.loads(text)))
    lines, crlf = Lines(text), Lines(text.replace("\n", "\r\n"))
    found = {path: lines.line(path) for path in written}
    assert found == written
    assert {path: crlf.line(path) for path in written} == written
