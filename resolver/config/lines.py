"""Line numbers of keys and array elements in a TOML text, which tomli does not report.

The text must be one that tomli has accepted: its grammar is not checked again.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from typing import Final, TypeVar

import msgspec

from resolver.ascend.names import ALIASES
from resolver.errors import InputError, did_you_mean, known_names
from resolver.phrase import Phrase, cause, literal, phrase
from resolver.redaction import without_secrets

# The keys and positions that lead to a value: `("requires", 0, "versions")`.
Path = tuple[str | int, ...]
Value = TypeVar("Value")
Parsed = TypeVar("Parsed")

# What other tools call a key, and where the key is if another table has it.
_KEYS_OF_OTHERS: Final = {"dependencies": "requires", "requires-python": "python"}
_ELSEWHERE: Final = {"requires-python": "[target] python", "system": "[target.system]"}

_SPACE = re.compile(r"[ \t\r\n]*")
_COMMENT = re.compile(r"#[^\n]*")
_KEY_PART = re.compile(
    r"""[ \t]*(?:"([^"\\\n]*(?:\\.[^"\\\n]*)*)"|'([^'\n]*)'|([A-Za-z0-9_-]+))[ \t]*"""
)
# A string of any kind, or another value up to the character that ends it.
_SCALAR = re.compile(
    r'"""[^\\]*?(?:\\.[^\\]*?)*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
    r"|'[^'\n]*'"
    r"|[^,\]}\n#]+",
    re.DOTALL,
)


class LineNumbers:
    """The line of each key and array element of a TOML text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._breaks = [match.start() for match in re.finditer("\n", text)]
        self._lines: dict[Path, int] = {}
        self._scan()

    def line(self, path: Path) -> int:
        """Return the line of a key or an element, counted from 1.

        If the text does not have it, return the line of the innermost table or list around it that
        the text has, or 1.
        """
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 1)

    def _scan(self) -> None:
        """Record the line of every key and element of the text."""
        table: Path = ()
        # The position of the last element of each array of tables.
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
        """Record a key and its value; return the position in the text after them."""
        keys, end = self._key(position)
        path = (*table, *keys)
        self._mark(path, position)
        return self._value(path, self._skip(end + 1))

    def _value(self, path: Path, position: int) -> int:
        """Record a value and the values in it; return the position in the text after it."""
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
        """Return the parts of a dotted key, and the position in the text after it."""
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
        """Return the next position in the text that is neither in white space nor in a comment."""
        while True:
            if space := _SPACE.match(self._text, position):
                position = space.end()
            # This test is faster than the expression, and few values have a comment after them.
            if not self._text.startswith("#", position):
                return position
            if comment := _COMMENT.match(self._text, position):
                position = comment.end()

    def _mark(self, path: Path, position: int) -> None:
        """Record the line of a path, and of each table around it that has no line yet."""
        while path and path not in self._lines:
            self._lines[path] = bisect_left(self._breaks, position) + 1
            path = path[:-1]


def _header_path(keys: Path, last_rows: dict[Path, int]) -> Path:
    """Return the path of a header such as `[a.b]`, whose parts are `keys`.

    If `a` is an array of tables, the header is about its last element. `last_rows` has the position
    of the last element of each array.
    """
    path: Path = ()
    for key in keys[:-1]:
        path = (*path, key)
        if path in last_rows:
            path = (*path, last_rows[path])
    return (*path, keys[-1])


# The line numbers of a text, which are kept for several texts.
_line_numbers: Final = lru_cache(LineNumbers)


class TomlText(msgspec.Struct, frozen=True, dict=True):
    """The text of a TOML file, and functions that name places in it."""

    # The name of the file in errors and locks.
    name: str
    # The text.
    text: str

    def line(self, *path: str | int) -> str:
        """Return file:line of a key, given the keys and positions that lead to it."""
        return f"{self.name}:{_line_numbers(self.text).line(path)}"

    def place(self, *path: str | int) -> str:
        """Return `file:line: key` for errors; the key is written as in `target.system.driver`."""
        dotted = ""
        for step in path:
            dotted += f"[{step}]" if isinstance(step, int) else f".{step}"
        key = without_secrets(dotted.lstrip("."))
        return f"{self.line(*path)}: {key}" if key else self.line(*path)

    def parse(self, read: Callable[[Value], Parsed], value: Value, *path: str | int) -> Parsed:
        """Return `read(value)` for the value of a key, whose place is `path`.

        If `read` raises a ValueError or an InputError, raise an InputError with the place.
        """
        try:
            return read(value)
        except InputError as error:
            raise InputError(**{**error.phrases, "where": literal(self.place(*path))}) from None
        except ValueError as error:
            # The value is not quoted, since it may contain a secret. The message of the error
            # contains none.
            raise InputError(
                phrase("{key} cannot be used", key=last_key(path)),
                where=self.place(*path),
                why=cause(error),
            ) from None

    def unknown(
        self, complaint: Phrase, name: object, known: Iterable[object], *path: str | int
    ) -> InputError:
        """Return the error for a name that is not among the known names.

        `complaint` begins the message, as in "there is no index". `path` is the place of the name.
        """
        names = sorted(str(known_name) for known_name in known)
        all_names = known_names(names)
        meant = _meant(str(name), names)
        hint = did_you_mean(str(name).lower(), names, all_names)
        if meant:
            hint = phrase("did you mean `{name}`?", name=meant)
        return InputError(
            phrase("{what} `{name}`", what=complaint, name=name), where=self.place(*path), hint=hint
        )


def _meant(name: str, known: Collection[str]) -> str:
    """Return the known name that a name of other tools or documents stands for; or empty."""
    meant = _KEYS_OF_OTHERS.get(name, "")
    for component, aliases in ALIASES.items():
        if name in aliases:
            meant = component
    return meant if meant in known else _ELSEWHERE.get(name, "")


def last_key(path: Path) -> Phrase:
    """Return the last key of a path in backticks. Positions after it are left out."""
    for step in reversed(path):
        if isinstance(step, str):
            return literal(f"`{step}`")
    return phrase("the file")
