"""Tables of the keys of a TOML file, made of the types that read it and the comments beside them.

A key that has no comment is a mistake: the page would not say what it is.
"""

from __future__ import annotations

import enum
import inspect
import re
import types
import typing
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from docs.site.writing import cell, table
from resolver.model.requirement import ComponentRequirement, Requirement
from resolver.model.text import SAME_TABLE, UNWRITTEN

_FIELD: Final = re.compile(r"    (\w+): ")
_COMMENT: Final = re.compile(r"    # (.*)")
_NONE: Final = re.compile(r"\bNone\b")
_PLAIN: Final[Mapping[object, str]] = {
    str: "text",
    bool: "true or false",
    int: "number",
    float: "number",
    date: "date",
    datetime: "date and time",
    Version: "version",
    SpecifierSet: "specifiers",
    Requirement: "requirement",
    ComponentRequirement: "requirement",
}


class NoCommentError(Exception):
    """A key has no comment beside its field."""


class Key(NamedTuple):
    """A key of a table in a TOML file."""

    name: str
    # What its value is, in words.
    form: str
    # Whether a table must have it.
    is_required: bool
    # The comment beside the field.
    comment: str
    # The types of tables that are its value, or whose lists are.
    tables: tuple[type[msgspec.Struct], ...]


def keys(row: type[msgspec.Struct]) -> list[Key]:
    """Return the keys of a table. Raises NoCommentError."""
    comments = _comments(row)
    hints = typing.get_type_hints(row)
    annotated = typing.get_type_hints(row, include_extras=True)
    found: list[Key] = []
    for field in msgspec.structs.fields(row):
        metadata = getattr(annotated[field.name], "__metadata__", ())
        if field.name == "where" or UNWRITTEN in metadata:
            continue
        if SAME_TABLE in metadata:
            found.extend(keys(hints[field.name]))
            continue
        if field.name not in comments:
            raise NoCommentError(f"{row.__module__}.{row.__name__}.{field.name}")
        hint = hints[field.name]
        tables = tuple(dict.fromkeys(_tables(hint)))
        form = _form(hint, field.encode_name)
        comment = _of_file(comments[field.name], row)
        key = Key(field.encode_name, form, field.required, comment, tables)
        found.append(key)
    return found


def key_table(found: list[Key]) -> str:
    """Return the keys of a table in Markdown, the ones that it must have first."""
    ordered = sorted(found, key=lambda key: not key.is_required)
    rows = [
        (
            f"`{key.name}`{' (required)' if key.is_required else ''}",
            cell(key.form),
            cell(key.comment),
        )
        for key in ordered
    ]
    return table(("key", "value", "meaning"), rows)


def sections(row: type[msgspec.Struct], name: str, level: int = 2) -> Iterator[str]:
    """Yield a section about a table by its name in the file, and about each table in it."""
    found = keys(row)
    yield f"{'#' * level} {f'`{name}`' if name else 'Top of the file'}\n"
    yield f"{cell(inspect.getdoc(row) or '')}\n"
    yield key_table(found)
    for key in found:
        inner = f"{name}.{key.name}" if name else key.name
        for part in key.tables:
            yield from sections(part, inner, level)


@lru_cache
def _comments(row: type[msgspec.Struct]) -> dict[str, str]:
    """Return the comments above the fields of a type and of the types that it derives from."""
    comments: dict[str, str] = {}
    for ancestor in reversed(row.__mro__):
        if ancestor in (object, msgspec.Struct) or ancestor.__module__ == "builtins":
            continue
        try:
            source = inspect.getsource(ancestor)
        except (OSError, TypeError):  # made at run time
            continue
        comments.update(_comments_in(source))
    return comments


def _comments_in(source: str) -> dict[str, str]:
    comments: dict[str, str] = {}
    lines: list[str] = []
    for line in source.splitlines():
        if match := _COMMENT.fullmatch(line):
            lines.append(match[1])
            continue
        if (match := _FIELD.match(line)) and lines:
            comments[match[1]] = " ".join(lines)
        lines = []
    return comments


def _of_file(comment: str, row: type[msgspec.Struct]) -> str:
    """Return a comment in the words of the file: its keys, and no key where a field is None."""
    for field in msgspec.structs.fields(row):
        comment = comment.replace(f"`{field.name}`", f"`{field.encode_name}`")
    return _NONE.sub("no key", comment)


def _tables(hint: Any) -> Iterator[type[msgspec.Struct]]:
    """Yield the types of tables in the type of a field."""
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        if hint not in _PLAIN and hint.__name__ not in _TEXTS:
            yield hint
        return
    for argument in typing.get_args(hint):
        yield from _tables(argument)


# Types that a file has as a text, or as a form of its own.
_TEXTS: Final = {
    "Message": "message (`code` and `values`)",
    "References": "reference, or a list of them",
}
_PLURALS: Final = {
    "text": "texts",
    "name": "names",
    "requirement": "requirements",
    "message (`code` and `values`)": "messages (`code` and `values`)",
}


def _form(hint: Any, name: str) -> str:
    """Return in words what the value of a key is."""
    origin = typing.get_origin(hint)
    arguments = [argument for argument in typing.get_args(hint) if argument is not type(None)]
    if origin is typing.Literal:
        return " or ".join(f"`{value}`" for value in arguments)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(_form(argument, name) for argument in arguments))
    if (origin is tuple and arguments[-1] is ...) or origin is list:
        return _list_form(arguments[0], name)
    if origin is not None and issubclass(origin, Mapping):
        return "table"
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return " or ".join(f"`{value.value}`" for value in hint)
    if isinstance(hint, typing.NewType):
        return "name"
    if hint in _PLAIN:
        return _PLAIN[hint]
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return _TEXTS.get(hint.__name__, f"table `[{name}]`")
    return "text"


def _list_form(element: Any, name: str) -> str:
    if element in _tables(element):
        return f"tables `[[{name}]]`"
    if typing.get_origin(element) is tuple:  # variables of an environment
        return "table"
    form = _form(element, name)
    return f"list of {_PLURALS.get(form, form)}"
