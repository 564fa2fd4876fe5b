"""tomli's message about a text that is not TOML, with the line in question and what usually helps."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

import tomli

from resolver.errors import InputError, without_secrets

_LONGEST = 80
_STATEMENT: Final = "a line is `key = value`, a `[table]`, or a `# comment`"
_TWICE: Final = "a key or table may appear only once: merge the two, or remove one"
_BACKSLASH: Final = "write \\\\ for a backslash, or the string in single quotes"
# By the beginning of tomli's message.
_HINTS: Final = {
    "Cannot declare": _TWICE,
    "Cannot overwrite": _TWICE,
    "Cannot mutate": _TWICE,
    "Duplicate inline": _TWICE,
    "Escaped character": _BACKSLASH,
    "Expected '='": _STATEMENT,
    'Expected "\'"': "a string lacks its closing quote",
    "Expected ']'": "a table is `[name]`, one of several `[[name]]`",
    "Expected newline": "a line ends after its value; strings must be in quotes",
    "Illegal character '\\n'": "a string lacks its closing quote",
    "Illegal character": "remove the character, or write it as an escape such as \\u0007",
    "Invalid date": "a date is written 2026-01-31, without quotes",
    "Invalid hex": _BACKSLASH,
    "Invalid initial character": _STATEMENT,
    "Invalid statement": _STATEMENT,
    "Invalid value": 'strings must be in quotes: key = "value"',
    "Unclosed array": "a comma or `]` is missing before this",
    "Unclosed inline": "a comma or `}` is missing before this",
    "Unescaped": _BACKSLASH,
    "Unterminated": "a string lacks its closing quote",
}
_TYPOGRAPHIC = re.compile("[\u2018\u2019\u201c\u201d\uff02\uff07]")
_HEADER = re.compile(r"\s*\[{1,2}\s*([\w.-]+)\s*\]{1,2}\s*(?:#.*)?")
_ODD = re.compile("[\uff0c\uff1d\u3001\uff1b\u3010\u3011\uff3b\uff3d\xa0\u3000]")


def syntax_error(error: tomli.TOMLDecodeError, name: str, several: Collection[str] = ()) -> InputError:
    """The error for people. `several` are the tables that may occur several times. tomli counts from 1."""
    line, column = error.lineno, error.colno
    text = (error.doc.split("\n")[line - 1 : line] or [""])[0]
    shown = without_secrets(text).strip()
    shown = shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"
    what = re.sub(r"Cannot declare (\(.*\)) twice", _declared, error.msg)
    hint = _hint(error.msg, text)
    header = _HEADER.fullmatch(text)
    if hint == _TWICE and header is not None:
        number, first = _first(header[1], error.doc)
        what = f"{first} already exists, {f'at line {number}' if number < line else 'as a key'}"
        if header[1] in several:
            hint = f"for several, write [[{header[1]}]] at the start of each"
            if f"[[{header[1]}]]" not in (first, text.strip()):
                hint += ", or merge the two"
    place = f"column {column}" + (f" of: {shown}" if shown else "")
    return InputError("the file is not valid TOML", where=f"{name}:{line}", why=f"{what}; {place}", hint=hint)


def _first(table: str, text: str) -> tuple[int, str]:
    """The line on which a table first begins, and its header."""
    for number, line in enumerate(text.split("\n"), 1):
        header = _HEADER.fullmatch(line)
        if header is not None and header[1] == table:
            return number, line.partition("#")[0].strip()
    return 1, f"[{table}]"


def _hint(message: str, line: str) -> str:
    if found := _TYPOGRAPHIC.search(line):
        return f'write the plain quote " instead of {found[0]}'
    if "\r" in line:
        return "save the file with Unix or Windows line endings"
    if message.startswith(("Invalid", "Expected", "Unclosed")) and (odd := _ODD.search(line)):
        return f"the line has the character U+{ord(odd[0]):04X}, which TOML does not allow outside of strings"
    return next((hint for begin, hint in _HINTS.items() if message.startswith(begin)), "")


def _declared(match: re.Match[str]) -> str:
    keys = re.findall("'([^']*)'", match[1])
    return f"[{'.'.join(keys)}] already exists"
