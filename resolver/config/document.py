"""One TOML file: read, validated against its schema, and able to locate each key."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
import tomli

from resolver import files
from resolver.config.lines import Lines
from resolver.config.lines import Path as KeyPath
from resolver.config.schema_errors import schema_error
from resolver.errors import InputError, without_secrets

Shape = TypeVar("Shape", bound=msgspec.Struct)
Parsed = TypeVar("Parsed")

_LARGEST = 8 * 1024 * 1024
_LONGEST = 80  # characters of a line that is shown
_UTF_8 = "save it as UTF-8, or convert it: iconv -f GB18030 -t UTF-8 OLD > NEW"
# What helps with the commonest of tomli's messages.
_SYNTAX = {
    "Invalid value": 'a string is in plain quotes: key = "value"',
    "Unclosed": "a comma or closing bracket is missing before this",
}


class Document(msgspec.Struct, Generic[Shape], frozen=True, dict=True):
    """The validated content of a file, or of the table at `below` in it. `name` is the path to show to people."""

    name: str
    text: str
    content: Shape
    below: KeyPath = ()

    @cached_property
    def _lines(self) -> Lines:
        return Lines(self.text)

    @cached_property
    def digest(self) -> str:
        """The sha256 of the file's text, in hex, without user and password of any address in it.

        Every lock has the digest: a password could be guessed from it, and a new password must not make locks stale.
        """
        return hashlib.sha256(without_secrets(self.text).encode()).hexdigest()

    def line(self, *path: str | int) -> str:
        """file:line of a key."""
        return f"{self.name}:{self._lines.line((*self.below, *path))}"

    def place(self, *path: str | int) -> str:
        """file:line: key, for errors."""
        return _place(self.name, self._lines, (*self.below, *path))

    def parse(self, read: Callable[[str], Parsed], text: str, *path: str | int, hint: str = "") -> Parsed:
        """`read(text)`, with its ValueError turned into an InputError at `path`."""
        try:
            return read(text)
        except ValueError as error:
            raise InputError(f"`{text}` cannot be read", where=self.place(*path), why=str(error), hint=hint) from None


def read(path: Path, shape: type[Shape], name: str) -> Document[Shape]:
    """Read a TOML file into its schema type. Raises InputError with file:line:key if it does not fit."""
    return read_text(_content(path, name), shape, name)


def _content(path: Path, name: str) -> str:
    try:
        content = files.read(path, _LARGEST)
        return content.decode("utf-8-sig").replace("\r\n", "\n")  # editors on Windows write a byte order mark
    except OSError as error:
        raise files.refusal(error, f"`{name}` cannot be read", name) from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"`{name}` is not UTF-8", where=f"{name}:{line}", why=error.reason, hint=_UTF_8) from None


def read_text(text: str, shape: type[Shape], name: str) -> Document[Shape]:
    """Like `read`, for a text in memory."""
    try:
        raw = tomli.loads(text)
        return Document(name, text, msgspec.convert(raw, shape, strict=True))
    except tomli.TOMLDecodeError as error:
        line = without_secrets((error.doc.split("\n")[error.lineno - 1 : error.lineno] or [""])[0]).strip()
        raise InputError(
            "the file is not valid TOML",
            where=f"{name}:{error.lineno}",
            why=f"{error.msg}; column {error.colno}" + (f" of: {line[:_LONGEST]}" if line else ""),
            hint=next((hint for begin, hint in _SYNTAX.items() if error.msg.startswith(begin)), ""),
        ) from None
    except msgspec.ValidationError as error:
        wrong = schema_error(error, raw, shape)
        where = _place(name, Lines(text), wrong.path)
        raise InputError(wrong.what, where=where, why=wrong.why, hint=wrong.hint) from None
    except (ValueError, RecursionError):
        why = "it is nested too deeply, or has a number with thousands of digits"
        raise InputError("the file cannot be read", where=name, why=why) from None


def _place(name: str, lines: Lines, path: KeyPath) -> str:
    dotted = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")
    return f"{name}:{lines.line(path)}" + (f": {without_secrets(dotted)}" if dotted else "")
