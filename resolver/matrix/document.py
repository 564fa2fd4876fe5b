"""One TOML file: read, validated against its schema, and able to locate each key."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
import tomli

from resolver.disk import advice
from resolver.errors import InputError, without_secrets
from resolver.matrix.lines import Lines
from resolver.matrix.lines import Path as KeyPath
from resolver.matrix.syntax import syntax_error

Shape = TypeVar("Shape", bound=msgspec.Struct)
Parsed = TypeVar("Parsed")

_LARGEST = 8 * 1024 * 1024


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
        if path.is_dir():
            raise InputError(f"`{name}` is a folder", where=name, hint="a TOML file is expected here")
        if not path.is_file() and path.exists():
            raise InputError(f"`{name}` is not a regular file", where=name, hint="a TOML file is expected here")
        with path.open("rb") as file:
            body = file.read(_LARGEST + 1)
        if len(body) > _LARGEST:
            raise InputError(
                f"`{name}` is larger than {_LARGEST // 1024 // 1024} MiB",
                where=name,
                hint="a file of stacks or facts is much smaller: is it the right one?",
            )
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(f"`{name}` cannot be read", where=name, why=why, hint=advice(error.errno)) from None
    try:
        return body.decode("utf-8-sig").replace("\r\n", "\n")  # editors on Windows write a byte order mark
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        told = (
            "it is UTF-16" if body.startswith((b"\xff\xfe", b"\xfe\xff")) else f"it has the byte {body[error.start]:#x}"
        )
        raise InputError(
            f"`{name}` is not UTF-8",
            where=f"{name}:{line}",
            why=told,
            hint="save it as UTF-8, or convert it: iconv -f GB18030 -t UTF-8 OLD > NEW",
        ) from None


def read_text(text: str, shape: type[Shape], name: str) -> Document[Shape]:
    """Like `read`, for a text in memory."""
    try:
        raw = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        from resolver.matrix.misfit import several  # loaded only if something is wrong

        raise syntax_error(error, name, several(shape)) from None
    except ValueError:  # a number with too many digits
        raise InputError(
            "the file cannot be read",
            where=name,
            why="it has a number with thousands of digits",
            hint="put it in quotes",
        ) from None
    except RecursionError:
        raise InputError(
            "the file is nested too deeply", where=name, hint="no key of a stack or fact needs lists in lists in lists"
        ) from None
    try:
        content = msgspec.convert(raw, shape, strict=True)
    except msgspec.ValidationError as error:
        from resolver.matrix.misfit import misfit  # loaded only if something is wrong

        found = misfit(tomli.loads(text, parse_float=_as_written), shape)
        if found is None:
            raise InputError("the file does not have the expected structure", where=name, why=str(error)) from None
        raise InputError(found.what, where=_place(name, Lines(text), found.path), hint=found.hint) from None
    return Document(name, text, content)


def _as_written(number: str) -> Decimal:
    """A number as written in the file. NaN if Decimal cannot hold it."""
    try:
        return Decimal(number)
    except InvalidOperation:
        return Decimal("NaN")


def _place(name: str, lines: Lines, path: KeyPath) -> str:
    dotted = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")
    return f"{name}:{lines.line(path)}" + (f": {dotted}" if dotted else "")
