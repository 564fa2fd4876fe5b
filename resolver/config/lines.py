"""The line of each key and array element of a TOML text, which tomli does not report.

Expects text that tomli has accepted, so the grammar is not checked again.
"""

from __future__ import annotations

import re

Path = tuple[str | int, ...]

_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY_PART = re.compile(r"""[ \t]*(?:"((?:[^"\\\n]|\\.)*)"|'([^'\n]*)'|([A-Za-z0-9_-]+))[ \t]*""")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}' + r"|'''.*?'{3,5}" + r'|"(?:[^"\\\n]|\\.)*"' + r"|'[^'\n]*'",
    re.DOTALL,
)
_BARE = re.compile(r"[^,\]}\n#]+")


class Lines:
    """Line numbers of a document, by path: `("requires", 0, "versions")`."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines: dict[Path, int] = {}
        self._tables: dict[Path, int] = {}
        self._seen = 0, 1  # a position and its line; positions are marked in ascending order
        self._scan()

    def line(self, path: Path) -> int:
        """The line of the deepest part of `path` that is in the text; 1 if none is."""
        while path:
            if path in self._lines:
                return self._lines[path]
            path = path[:-1]
        return 1

    def _scan(self) -> None:
        text, position = self._text, 0
        table: Path = ()
        while (position := self._skip(position)) < len(text):
            if text.startswith("[[", position):
                keys, end = self._key(position + 2)
                table = self._open(keys)
                index = self._tables[table] = self._tables.get(table, -1) + 1
                table = (*table, index)
                self._mark(table, position)
                position = end + 2
            elif text[position] == "[":
                keys, end = self._key(position + 1)
                table = self._open(keys)
                self._mark(table, position)
                position = end + 1
            else:
                position = self._pair(table, position)

    def _open(self, keys: Path) -> Path:
        path: Path = ()
        for key in keys[:-1]:
            path = (*path, key)
            if path in self._tables:
                path = (*path, self._tables[path])
        return (*path, keys[-1])

    def _pair(self, table: Path, position: int) -> int:
        keys, end = self._key(position)
        path = (*table, *keys)
        self._mark(path, position)
        return self._value(path, self._skip(end + 1))

    def _value(self, path: Path, position: int) -> int:
        text = self._text
        self._mark(path, position)
        if string := _STRING.match(text, position):
            return string.end()
        if text[position] == "[":
            position, index = self._skip(position + 1), 0
            while text[position] != "]":
                position = self._skip(self._value((*path, index), position))
                index += 1
                if text[position] == ",":
                    position = self._skip(position + 1)
            return position + 1
        if text[position] == "{":
            position = self._skip(position + 1)
            while text[position] != "}":
                position = self._skip(self._pair(path, position))
                if text[position] == ",":
                    position = self._skip(position + 1)
            return position + 1
        bare = _BARE.match(text, position)
        return bare.end() if bare else position + 1

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
        match = _SPACE.match(self._text, position)
        return match.end() if match else position

    def _mark(self, path: Path, position: int) -> None:
        before, line = self._seen
        line += self._text.count("\n", before, position)
        self._seen = position, line
        for end in range(len(path), 0, -1):  # a table is where its first content is
            if path[:end] in self._lines:
                break
            self._lines[path[:end]] = line
