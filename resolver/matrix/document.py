"""One TOML file: read, checked against its shape, and able to say where anything stands."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
import tomli

from resolver.errors import InputError
from resolver.matrix.lines import Lines
from resolver.matrix.lines import Path as KeyPath

Shape = TypeVar("Shape", bound=msgspec.Struct)
Parsed = TypeVar("Parsed")

_PLACE = re.compile(r"^(?P<what>.*?)(?: - at `\$(?P<path>[^`]*)`)?$", re.DOTALL)
_STEP = re.compile(r"\.([A-Za-z0-9_-]+)|\[(\d+|\.\.\.)\]")
_CREDENTIALS = re.compile(r"://[^\s/?#\"']*@")
_LARGEST = 8 * 1024 * 1024


@dataclass(frozen=True)
class Document(Generic[Shape]):
    """A file's content in its shape, or that of one table in it, at `below`. `name` is the path as people know it."""

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

        It is in every lock, and a password could be guessed by it; nor does another password make a lock stale.
        """
        return hashlib.sha256(_CREDENTIALS.sub("://", self.text).encode()).hexdigest()

    def line(self, *path: str | int) -> str:
        """file:line of a key."""
        return f"{self.name}:{self._lines.line((*self.below, *path))}"

    def place(self, *path: str | int) -> str:
        """file:line: key, for errors."""
        return _place(self.name, self._lines, (*self.below, *path))

    def parse(self, read: Callable[[str], Parsed], text: str, *path: str | int, hint: str = "") -> Parsed:
        """`read(text)`, a ValueError of it told as an error at `path`."""
        try:
            return read(text)
        except ValueError as error:
            raise InputError(f"`{text}` cannot be read", where=self.place(*path), why=str(error), hint=hint) from None


def read(path: Path, shape: type[Shape], name: str) -> Document[Shape]:
    """Read a TOML file into its shape; InputError with file:line:key where it does not fit."""
    return read_text(_content(path, name), shape, name)


def _content(path: Path, name: str) -> str:
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError(f"`{name}` is larger than {_LARGEST // 1024 // 1024} MiB", where=name)
        return path.read_bytes().decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InputError(f"`{name}` is not UTF-8", where=name, why=str(error)) from None
    except OSError as error:
        raise InputError(f"`{name}` cannot be read", where=name, why=error.strerror or str(error)) from None


def read_text(text: str, shape: type[Shape], name: str) -> Document[Shape]:
    """The same of a text that is at hand."""
    try:
        raw = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise InputError(
            "the file is not valid TOML", where=f"{name}:{getattr(error, 'lineno', 1)}", why=str(error)
        ) from None
    except ValueError as error:  # a number with too many digits
        raise InputError("the file cannot be read", where=name, why=str(error)) from None
    except RecursionError:
        raise InputError("the file is nested too deeply", where=name) from None
    try:
        content = msgspec.convert(raw, shape, strict=True)
    except msgspec.ValidationError as error:
        match = _PLACE.match(str(error))
        what, dotted = (match["what"], match["path"] or "") if match else (str(error), "")
        steps: KeyPath = tuple(
            key if key else (int(index) if index.isdigit() else 0) for key, index in _STEP.findall(dotted)
        )
        hint = ""
        if unknown := re.search(r"unknown field `([^`]*)`", what):
            hint = _keys_hint(shape, steps)
            steps = (*steps, unknown[1])
            what = f"unknown key `{unknown[1]}`"
        elif missing := re.search(r"missing required field `([^`]*)`", what):
            hint = _keys_hint(shape, steps)
            what = f"the key `{missing[1]}` is missing"
        raise InputError(what, where=_place(name, Lines(text), steps), hint=hint) from None
    return Document(name, text, content)


def _place(name: str, lines: Lines, path: KeyPath) -> str:
    dotted = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")
    return f"{name}:{lines.line(path)}" + (f": {dotted}" if dotted else "")


def _keys_hint(shape: type[msgspec.Struct], path: KeyPath) -> str:
    """The keys that the table at `path` may have."""
    kind: object = msgspec.inspect.type_info(shape)
    for step in path:
        kind = _inside(kind, step)
    kind = _among(kind, msgspec.inspect.StructType)
    if isinstance(kind, msgspec.inspect.StructType):
        return "known keys are " + ", ".join(field.encode_name for field in kind.fields)
    return ""


def _among(kind: object, wanted: type) -> object:
    """The one of a union's types that is of the wanted sort."""
    if isinstance(kind, msgspec.inspect.UnionType):
        return next((option for option in kind.types if isinstance(option, wanted)), None)
    return kind


def _inside(kind: object, step: str | int) -> object:
    kind = _among(kind, msgspec.inspect.ListType if isinstance(step, int) else msgspec.inspect.StructType)
    if isinstance(kind, msgspec.inspect.ListType):
        return kind.item_type
    if isinstance(kind, msgspec.inspect.StructType):
        return next((field.type for field in kind.fields if field.encode_name == step), None)
    if isinstance(kind, msgspec.inspect.DictType):
        return kind.value_type
    return None
