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

from resolver.errors import InputError, did_you_mean
from resolver.redaction import without_secrets

Path = tuple[str | int, ...]
Value = TypeVar("Value")
Parsed = TypeVar("Parsed")

_SPACE = re.compile(r"[ \t\r\n]*")
_COMMENT = re.compile(r"#[^\n]*")
_KEY_PART = re.compile(
    r"""[ \t]*(?:"([^"\\\n]*(?:\\.[^"\\\n]*)*)"|'([^'\n]*)'|([A-Za-z0-9_-]+))[ \t]*"""
)
_SCALAR = re.compile(  # strings of each kind, or anything else up to what ends it
    r'"""[^\\]*?(?:\\.[^\\]*?)*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
    r"|'[^'\n]*'"
    r"|[^,\]}\n#]+",
    re.DOTALL,
)


class LineNumbers:
    """Line numbers of a document, by path: `("requires", 0, "versions")`."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._breaks = [match.start() for match in re.finditer("\n", text)]
        self._lines: dict[Path, int] = {}
        self._scan()

    def line(self, path: Path) -> int:
        """The line of the deepest part of `path` that is in the text; 1 if none is."""
        return next(
            (
                self._lines[path[:end]]
                for end in range(len(path), 0, -1)
                if path[:end] in self._lines
            ),
            1,
        )

    def _scan(self) -> None:
        table: Path = ()
        rows: dict[Path, int] = {}  # the number of the last row of each array of tables
        position = self._skip(0)
        while position < len(self._text):
            if self._text[position] != "[":
                position = self._skip(self._pair(table, position))
                continue
            is_row = self._text.startswith("[[", position)
            keys, end = self._key(position + 1 + is_row)
            table = ()
            for key in keys[:-1]:
                table = (*table, key)
                table = (*table, rows[table]) if table in rows else table
            table = (*table, keys[-1])
            if is_row:
                rows[table] = rows.get(table, -1) + 1
                table = (*table, rows[table])
            self._mark(table, position)
            position = self._skip(end + 1 + is_row)

    def _pair(self, table: Path, position: int) -> int:
        keys, end = self._key(position)
        self._mark((*table, *keys), position)
        return self._value((*table, *keys), self._skip(end + 1))

    def _value(self, path: Path, position: int) -> int:
        self._mark(path, position)
        opening = self._text[position]
        if opening not in "[{":
            match = _SCALAR.match(self._text, position)
            return match.end() if match else position + 1
        number, position = 0, self._skip(position + 1)
        while self._text[position] not in "]}":
            position = (
                self._value((*path, number), position)
                if opening == "["
                else self._pair(path, position)
            )
            number, position = number + 1, self._skip(position)
            if self._text[position] == ",":
                position = self._skip(position + 1)
        return position + 1

    def _key(self, position: int) -> tuple[Path, int]:
        keys: list[str] = []
        while part := _KEY_PART.match(self._text, position):
            keys.append(next(group for group in part.groups() if group is not None))
            position = part.end()
            if self._text[position : position + 1] != ".":
                break
            position += 1
        return tuple(keys), position

    def _skip(self, position: int) -> int:
        while True:
            if space := _SPACE.match(self._text, position):
                position = space.end()
            comment = _COMMENT.match(self._text, position)
            if comment is None:
                return position
            position = comment.end()

    def _mark(self, path: Path, position: int) -> None:
        while path and path not in self._lines:  # a table is where its first content is
            self._lines[path] = bisect_left(self._breaks, position) + 1
            path = path[:-1]


_lines = lru_cache(LineNumbers)


class TomlText(msgspec.Struct, frozen=True, dict=True):
    """The text of a TOML file, which can tell where a key is.

    `name` is the path to show to people.
    """

    name: str
    text: str

    def line(self, *path: str | int) -> str:
        """file:line of a key."""
        return f"{self.name}:{_lines(self.text).line(path)}"

    def place(self, *path: str | int) -> str:
        """file:line: key, for errors."""
        dotted = "".join(
            f"[{step}]" if isinstance(step, int) else f".{step}" for step in path
        ).lstrip(".")
        return self.line(*path) + (f": {without_secrets(dotted)}" if dotted else "")

    def parse(self, read: Callable[[Value], Parsed], value: Value, *path: str | int) -> Parsed:
        """`read(value)`; what it raises, ValueError or an InputError without a place, becomes an InputError there."""
        try:
            return read(value)
        except InputError as error:
            raise InputError(
                error.message, where=self.place(*path), why=error.why, hint=error.hint
            ) from None
        except ValueError as error:  # its message has no secret in it; the value might
            raise InputError(
                f"{last_key(path)} cannot be used", where=self.place(*path), why=str(error)
            ) from None

    def unknown(
        self, what: str, name: object, known: Iterable[object], *path: str | int
    ) -> InputError:
        """The error of a name that is none of the known ones."""
        names = sorted(map(str, known))
        hint = did_you_mean(str(name).lower(), names, f"known are {', '.join(names) or 'none'}")
        return InputError(without_secrets(f"{what} `{name}`"), where=self.place(*path), hint=hint)


def last_key(path: Path) -> str:
    """The key at the end of a path, whatever is below it."""
    return next((f"`{step}`" for step in reversed(path) if isinstance(step, str)), "the file")
