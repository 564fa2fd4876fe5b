"""The line of each key and array element of a TOML text, which tomli does not report.

Expects text that tomli has accepted, so the grammar is not checked again.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TypeVar

import msgspec

from resolver.errors import InputError, did_you_mean, known_names
from resolver.phrase import Phrase, cause, literal, phrase
from resolver.redaction import without_secrets

Path = tuple[str | int, ...]
Value = TypeVar("Value")
Parsed = TypeVar("Parsed")

_SPACE = re.compile(r"[ \t\r\n]*")
_COMMENT = re.compile(r"#[^\n]*")
_KEY_PART = re.compile(
    r"""[ \t]*(?:"([^"\\\n]*(?:\\.[^"\\\n]*)*)"|'([^'\n]*)'|([A-Za-z0-9_-]+))[ \t]*"""
)
# A string of any kind, or anything else up to what ends it.
_SCALAR = re.compile(
    r'"""[^\\]*?(?:\\.[^\\]*?)*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
    r"|'[^'\n]*'"
    r"|[^,\]}\n#]+",
    re.DOTALL,
)


class LineNumbers:
    """The line of each key and element of a document, by path: `("requires", 0, "versions")`."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._breaks = [match.start() for match in re.finditer("\n", text)]
        self._lines: dict[Path, int] = {}
        self._scan()

    def line(self, path: Path) -> int:
        """Return the line of the deepest part of `path` that is in the text; 1 if none is."""
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 1)

    def _scan(self) -> None:
        table: Path = ()
        # The number of the last row of each array of tables.
        last_rows: dict[Path, int] = {}
        position = self._skip(0)
        while position < len(self._text):
            if self._text[position] != "[":
                position = self._skip(self._pair(table, position))
                continue
            brackets = 2 if self._text.startswith("[[", position) else 1
            keys, end = self._key(position + brackets)
            table = _header_path(keys, last_rows)
            if brackets == 2:
                last_rows[table] = last_rows.get(table, -1) + 1
                table = (*table, last_rows[table])
            self._mark(table, position)
            position = self._skip(end + brackets)

    def _pair(self, table: Path, position: int) -> int:
        """Note a key and its value; return the position after them."""
        keys, end = self._key(position)
        path = (*table, *keys)
        self._mark(path, position)
        return self._value(path, self._skip(end + 1))

    def _value(self, path: Path, position: int) -> int:
        """Note a value and what is in it; return the position after it."""
        self._mark(path, position)
        opening = self._text[position]
        if opening not in "[{":
            scalar = _SCALAR.match(self._text, position)
            return scalar.end() if scalar else position + 1
        number = 0
        position = self._skip(position + 1)
        while self._text[position] not in "]}":
            if opening == "[":
                position = self._value((*path, number), position)
            else:
                position = self._pair(path, position)
            number += 1
            position = self._skip(position)
            if self._text[position] == ",":
                position = self._skip(position + 1)
        return position + 1

    def _key(self, position: int) -> tuple[Path, int]:
        """Return the parts of a dotted key, and the position after it."""
        keys: list[str] = []
        while part := _KEY_PART.match(self._text, position):
            double_quoted, single_quoted, bare = part.groups()
            if bare is not None:
                keys.append(bare)
            else:
                keys.append(single_quoted if double_quoted is None else double_quoted)
            position = part.end()
            if self._text[position : position + 1] != ".":
                break
            position += 1
        return tuple(keys), position

    def _skip(self, position: int) -> int:
        """Return the position after space and comments."""
        while True:
            if space := _SPACE.match(self._text, position):
                position = space.end()
            # Most values have no comment after them.
            if not self._text.startswith("#", position):
                return position
            if comment := _COMMENT.match(self._text, position):
                position = comment.end()

    def _mark(self, path: Path, position: int) -> None:
        """Note the line of a path, and of each table around it that has no line yet."""
        while path and path not in self._lines:
            self._lines[path] = bisect_left(self._breaks, position) + 1
            path = path[:-1]


def _header_path(keys: Path, last_rows: dict[Path, int]) -> Path:
    """Return the path of a header `[a.b]`, with the last row of each array of tables around it."""
    path: Path = ()
    for key in keys[:-1]:
        path = (*path, key)
        if path in last_rows:
            path = (*path, last_rows[path])
    return (*path, keys[-1])


@lru_cache
def _line_numbers(text: str) -> LineNumbers:
    return LineNumbers(text)


class TomlText(msgspec.Struct, frozen=True, dict=True):
    """The text of a TOML file, which can tell where a key is."""

    # The path of the file to show to people.
    name: str
    text: str

    def line(self, *path: str | int) -> str:
        """Return file:line of a key."""
        return f"{self.name}:{_line_numbers(self.text).line(path)}"

    def place(self, *path: str | int) -> str:
        """Return file:line: key, for errors."""
        dotted = ""
        for step in path:
            dotted += f"[{step}]" if isinstance(step, int) else f".{step}"
        key = without_secrets(dotted.lstrip("."))
        return f"{self.line(*path)}: {key}" if key else self.line(*path)

    def parse(self, read: Callable[[Value], Parsed], value: Value, *path: str | int) -> Parsed:
        """Return what `read` makes of the value of a key.

        Raises its ValueError, or its InputError without a place, as InputError with the place.
        """
        try:
            return read(value)
        except InputError as error:
            raise InputError(**{**error.phrases, "where": literal(self.place(*path))}) from None
        except ValueError as error:
            # Not the value itself, which may have a secret; the message of the error has none.
            what = phrase("{key} cannot be used", key=last_key(path))
            raise InputError(what, where=self.place(*path), why=cause(error)) from None

    def unknown(
        self, what: Phrase, name: object, known: Iterable[object], *path: str | int
    ) -> InputError:
        """Return the error for a name that is not among the known ones."""
        names = sorted(str(known_name) for known_name in known)
        all_names = known_names(names)
        hint = did_you_mean(str(name).lower(), names, all_names)
        return InputError(
            phrase("{what} `{name}`", what=what, name=name), where=self.place(*path), hint=hint
        )


def last_key(path: Path) -> Phrase:
    """Return the last key of a path in backticks, without positions below it."""
    for step in reversed(path):
        if isinstance(step, str):
            return literal(f"`{step}`")
    return phrase("the file")
