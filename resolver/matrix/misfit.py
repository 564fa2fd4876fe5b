"""Where a TOML value does not fit its schema, in words for whoever wrote it.

msgspec decides whether content fits; this module finds the place again and says what is there, what is expected and
what was probably meant. A pattern is described by `description` and `examples` of the type's `msgspec.Meta`.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import inspect as shapes

from resolver.errors import without_secrets
from resolver.json_text import json_text
from resolver.matrix.lines import Path
from resolver.matrix.meant import close, is_requires, meant
from resolver.model.component import COMPONENTS

_LONGEST = 60


class Misfit(msgspec.Struct, frozen=True):
    """What is wrong at `path`, and what helps. A `missing` key may be present under another name."""

    path: Path
    what: str
    hint: str = ""
    missing: bool = False


def misfit(value: object, shape: type) -> Misfit | None:
    """The first misfit in the order of the file, missing keys last; None if everything fits.

    Floats may be Decimals, which keep their text.
    """
    root = shapes.type_info(shape)
    return min(_Walk(root).misfits(value, root, ()), key=lambda one: one.missing, default=None)


def several(shape: type) -> frozenset[str]:
    """The tables of a schema type that may occur several times, by the names in their headers."""
    return frozenset(_several(shapes.type_info(shape), ()))


class _Walk:
    """One walk through content and schema in parallel."""

    def __init__(self, root: shapes.Type) -> None:
        self._root = root

    def misfits(self, value: Any, kind: shapes.Type, path: Path) -> Iterator[Misfit]:
        kind, words = _plain(kind)
        described = [_plain(option) for option in kind.types] if isinstance(kind, shapes.UnionType) else [(kind, words)]
        options = [option for option, _ in described]
        fitting = [at for at, option in enumerate(options) if _is_of(value, option)]
        if not fitting:
            yield Misfit(path, *_wrong_type(value, options, path, words))
            return
        kind, own = described[fitting[0]]
        words = own or words
        match kind:
            case shapes.StructType():
                yield from self._table(value, kind, path)
            case shapes.ListType():
                if len(value) < (kind.min_length or 0):
                    yield Misfit(path, f"{_named(path)} is an empty list", "name at least one")
                for at, item in enumerate(value):
                    yield from self.misfits(item, kind.item_type, (*path, at))
            case shapes.DictType():
                if len(value) < (kind.min_length or 0):
                    yield Misfit(path, f"{_named(path)} is an empty table", "name at least one")
                for key, item in value.items():
                    yield from self.misfits(item, kind.value_type, (*path, key))
            case shapes.StrType():
                if kind.pattern is not None and re.search(kind.pattern, value) is None:
                    yield Misfit(path, f"`{value}` is not {words.get('description', 'allowed here')}", _example(words))
                elif len(value) < (kind.min_length or 0):
                    yield Misfit(path, f"{_named(path)} is empty", _example(words))
            case shapes.LiteralType():
                if value not in kind.values:
                    hint = meant(value, [str(one) for one in kind.values], "it may be")
                    yield Misfit(path, f"`{value}` is not a value of {_named(path)}", hint)
            case shapes.DateType():
                if isinstance(value, str) and not _is_day(value):
                    hint = f"write {_last_key(path)} = 2026-01-31, without quotes"
                    yield Misfit(path, f"`{value}` is not a date", hint)
            case _:
                pass

    def _table(self, value: dict[str, Any], kind: shapes.StructType, path: Path) -> Iterator[Misfit]:
        fields = {field.encode_name: field for field in kind.fields}
        for key, item in value.items():
            if key in fields:
                yield from self.misfits(item, fields[key].type, (*path, key))
            else:
                yield Misfit((*path, key), f"unknown key `{key}`", self._unknown(key, item, list(fields), path))
        for key, field in fields.items():
            if field.required and key not in value:
                what = f"the table [{key}] is missing" if _holds_table(field.type) else f"the key `{key}` is missing"
                yield Misfit(path, what, _must_have(kind), missing=True)

    def _unknown(self, key: str, value: object, known: Sequence[str], path: Path) -> str:
        if key.lower() in COMPONENTS and "system" in known:
            return f"components belong in [{_dotted((*path, 'system'))}]"
        if not path and "stack" in known and is_requires(key):
            return 'what to install belongs in [stack]: requires = ["torch==2.8.0", …]'
        if not path and "stack" not in known and key.startswith("fact") and isinstance(value, (dict, list)):
            return f"a facts file has rows such as [[requires]]; known keys are {', '.join(known)}"
        if isinstance(value, dict) and "name" in known and _dotted(path) in _several(self._root, ()):
            hint = f'for several, write each as a table [[{_dotted(path)}]] with name = "{key}"'
            return f"{hint}; {meant(key, known, 'known keys are')}"
        elsewhere = [] if close(key, known) else list(dict.fromkeys(_places(self._root, key, ())))
        if 0 < len(elsewhere) <= 3:  # a key allowed in more tables than that says nothing
            return f"`{key}` belongs in {' or '.join(elsewhere)}; known keys here are {', '.join(known)}"
        return meant(key, known, "known keys are")


def _plain(kind: shapes.Type) -> tuple[shapes.Type, dict[str, Any]]:
    """A type without its annotations, and its annotations."""
    return (kind.type, kind.extra_json_schema or {}) if isinstance(kind, shapes.Metadata) else (kind, {})


def _is_of(value: object, kind: shapes.Type) -> bool:
    """Whether a value is of the TOML type that a schema type expects."""
    match kind:
        case shapes.AnyType():
            return True
        case shapes.StructType() | shapes.DictType():
            return isinstance(value, dict)
        case shapes.ListType():
            return isinstance(value, list)
        case shapes.StrType() | shapes.LiteralType():
            return isinstance(value, str)
        case shapes.BoolType():
            return isinstance(value, bool)
        case shapes.DateType():
            return isinstance(value, str) or (isinstance(value, dt.date) and not isinstance(value, dt.datetime))
        case _:
            return False


def _wrong_type(value: Any, options: Sequence[shapes.Type], path: Path, words: dict[str, Any]) -> tuple[str, str]:
    shown = _shown(value)
    what = f"{_named(path)} is {_sort(value)}{f' ({shown})' if shown else ''}; it must be {_expected(options)}"
    begin = "" if isinstance(path[-1], int) else f"{path[-1]} = "
    lists = [option for option in options if isinstance(option, shapes.ListType)]
    of_tables = any(isinstance(_plain(option.item_type)[0], shapes.StructType) for option in lists)
    wanted = {type(option) for option in options}
    if isinstance(value, dict) and of_tables:
        hint = f"write [[{_dotted(path)}]] instead of [{_dotted(path)}]"
    elif isinstance(value, dict) and lists:
        hint = f"write a list: {begin}[{_as_items(value)}]"
    elif isinstance(value, list) and shapes.StructType in wanted:
        hint = f"write [{_dotted(path)}] instead of [[{_dotted(path)}]]"
    elif shapes.StructType in wanted:
        hint = f"write a table [{_dotted(path)}]"
    elif shapes.LiteralType in wanted:
        hint = meant(shown, [str(one) for one in next(_values(options))], "it may be")
    elif shapes.StrType in wanted and shown and not isinstance(value, str):
        hint = f'put it in quotes: {begin}"{shown}"'
    elif shapes.StrType in wanted and isinstance(value, list):
        hint = "write it without brackets"
        if path[0] == "target" and len(path) == 2:
            hint += "; for several targets, write each as a table [[target]]"
    elif lists and not of_tables and isinstance(value, str):
        hint = f"put it in brackets: {begin}[{shown}]"
    elif shapes.BoolType in wanted:
        hint = "write true or false, without quotes"
    elif shapes.DateType in wanted:
        hint = f"write only the date: {begin}2026-01-31"
    else:
        hint = _example(words)
    return what, hint


def _as_items(table: dict[str, Any]) -> str:
    """A table of names and versions, as in other tools, written as requirements."""
    items = []
    for name, version in table.items():
        given = version if isinstance(version, str) and version != "*" else ""
        items.append(json_text(name + (f"=={given}" if given[:1].isdigit() else given)))
    text = ", ".join(items)
    return text if len(text) <= _LONGEST else "…"


def _values(options: Sequence[shapes.Type]) -> Iterator[Sequence[object]]:
    """The values of a closed set of strings."""
    for option in options:
        if isinstance(option, shapes.LiteralType):
            yield option.values


def _sort(value: object) -> str:
    """TOML's word for the type of a value."""
    match value:
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case int() | float() | Decimal():
            return "a number"
        case dict():
            return "a table"
        case list():
            return "a list"
        case dt.datetime():
            return "a date with a time"
        case dt.date():
            return "a date"
        case _:
            return "a time"


def _expected(options: Sequence[shapes.Type]) -> str:
    told = []
    for option in options:
        match option:
            case shapes.StrType() | shapes.LiteralType():
                told.append("a string")
            case shapes.BoolType():
                told.append("true or false")
            case shapes.DateType():
                told.append("a date")
            case shapes.StructType():
                told.append("a table")
            case shapes.DictType():
                told.append("a table of strings")
            case shapes.ListType():
                inner = _plain(option.item_type)[0]
                told.append("a list of tables" if isinstance(inner, shapes.StructType) else "a list of strings")
            case _:
                pass  # None, which TOML does not have
    return " or ".join(dict.fromkeys(told))


def _shown(value: object) -> str:
    """A value as written in the file, if it is short and simple."""
    match value:
        case bool():
            text = str(value).lower()
        case dict() | list():
            text = ""
        case str():
            text = json_text(without_secrets(value))
        case int() if value.bit_length() > _LONGEST * 4:  # Python refuses to write one of thousands of digits
            text = ""
        case _:
            text = str(value)
    return text if len(text) <= _LONGEST else ""


def _is_day(text: str) -> bool:
    try:
        return re.fullmatch(r"\d{4}-\d\d-\d\d", text) is not None and bool(dt.date.fromisoformat(text))
    except ValueError:
        return False


def _named(path: Path) -> str:
    """The key, with the index of the item in it, counted from 0 as in places."""
    if not path:
        return "the file"
    key, numbers = _last_key(path), "".join(f"[{step}]" for step in _trailing(path))
    return f"`{key}{numbers}`"


def _last_key(path: Path) -> str:
    return next((step for step in reversed(path) if isinstance(step, str)), "")


def _trailing(path: Path) -> list[int]:
    numbers: list[int] = []
    for step in reversed(path):
        if isinstance(step, str):
            break
        numbers.insert(0, step)
    return numbers


def _dotted(path: Path) -> str:
    """The header of a table, in which row numbers are not written."""
    return ".".join(step for step in path if isinstance(step, str))


def _example(words: dict[str, Any]) -> str:
    examples = words.get("examples")
    return f"write for example {' or '.join(examples)}" if examples else ""


def _holds_table(kind: shapes.Type) -> bool:
    kind = _plain(kind)[0]
    options = kind.types if isinstance(kind, shapes.UnionType) else (kind,)
    return any(isinstance(_plain(option)[0], shapes.StructType) for option in options)


def _must_have(kind: shapes.StructType) -> str:
    must = [field.encode_name for field in kind.fields if field.required]
    may = [field.encode_name for field in kind.fields if not field.required]
    return f"it must have {', '.join(must)}" + (f"; it may have {', '.join(may)}" if may else "")


def _places(kind: shapes.Type, key: str, path: Path) -> Iterator[str]:
    """The headers of tables that may have a key, and of tables with that name."""
    kind = _plain(kind)[0]
    match kind:
        case shapes.UnionType():
            for option in kind.types:
                if isinstance(_plain(option)[0], shapes.StructType):
                    yield from _places(option, key, path)
        case shapes.ListType() if _trailing(path) == []:
            yield from _places(kind.item_type, key, (*path, 0))
        case shapes.StructType():
            for field in kind.fields:
                if field.encode_name == key:
                    yield _header(field, path)
                elif len(path) < 3:
                    yield from _places(field.type, key, (*path, field.encode_name))
        case _:
            pass


def _header(field: shapes.Field, path: Path) -> str:
    inner = _plain(field.type)[0]
    below = _dotted((*path, field.encode_name))
    if isinstance(inner, shapes.ListType) and _holds_table(inner.item_type):
        return f"[[{below}]]"
    if _holds_table(inner) or isinstance(inner, shapes.DictType):
        return f"[{below}]"
    return f"[[{_dotted(path)}]]" if path and isinstance(path[-1], int) else f"[{_dotted(path)}]"


def _several(kind: shapes.Type, path: Path) -> Iterator[str]:
    """The headers of tables that may occur several times."""
    kind = _plain(kind)[0]
    match kind:
        case shapes.UnionType():
            for option in kind.types:
                yield from _several(option, path)
        case shapes.ListType() if _holds_table(kind.item_type):
            yield _dotted(path)
        case shapes.StructType():
            for field in kind.fields:
                yield from _several(field.type, (*path, field.encode_name))
        case _:
            pass
