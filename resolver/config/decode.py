"""TOML values to the types in the annotations of fields, each error at its key; and the texts among them parsed.

A field is a key of the table, in kebab case, or as its `name` has it. msgspec cannot do this, as
its hooks see neither a field's key nor one of its own types, and its errors have no place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta, timezone
from enum import Enum
from functools import lru_cache, partial
from itertools import chain
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec
from packaging.requirements import InvalidRequirement
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.config.lines import Path, TomlText, last_key
from resolver.config.source_text import read_reference
from resolver.errors import InputError
from resolver.model import patterns
from resolver.model import text as texts
from resolver.model.as_of import read_as_of
from resolver.model.fact import Need
from resolver.model.repository import Direct
from resolver.model.requirement import COMPONENTS, ComponentRequirement, Requirement, Value
from resolver.model.source import References
from resolver.model.text import (
    ALONE,
    NOT_EMPTY,
    SAME_TABLE,
    UNWRITTEN,
    AsOfText,
    Cutoff,
    RequirementLine,
    Variables,
    Where,
    printable,
)

# What a line may be that is no requirement: an address, and so a password.
_MAYBE_ADDRESS: Final = re.compile(r"[@?#]|//|:/")
_TYPES: Final = {
    str: "a string in quotes",
    int: "a number",
    float: "a number",
    bool: "true or false",
    dict: "a table",
    list: "a list ([…], or [[…]] for tables)",
    date: "a date without quotes",
    datetime: "a date with a time",
    time: "a time",
}

ComponentValues = Mapping[str, tuple[Value, ...]]  # the values of components in systems.toml


def cutoff_moment(value: date) -> datetime:
    """The moment that a cut-off names, in UTC; a day means its end.

    Raises ValueError if UTC has no such year.
    """
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
        try:
            aware.astimezone(timezone.utc)
        except OverflowError:
            raise ValueError("it is in no year from 1 to 9999 of UTC") from None
        return aware
    if value == date.max:  # which has no day after it
        return datetime.max.replace(tzinfo=timezone.utc)
    return datetime.combine(value + timedelta(days=1), time(), timezone.utc)


def parse_need(line: str, *, direct: bool = False) -> Need:
    """A requirement on a project or a component, as in facts and stacks.

    With `direct` it may name an address.
    """
    if (component_need := ComponentRequirement.parse(line)) is not None:
        return component_need
    need = parse_requirement(line, direct=direct)
    if (name := need.name) in COMPONENTS:
        raise ValueError(
            f"`{name}` is a component: write `{name} in A | B` or `{name} >= A`, in lower case"
        )
    return need


def parse_condition(line: str) -> ComponentRequirement:
    """A requirement on a component, and nothing else."""
    need = ComponentRequirement.parse(line)
    if need is None:
        raise ValueError(
            f"`{line}` is not a component of the target with its values, such as `soc in A3`"
        )
    return need


def parse_requirement(line: str, *, direct: bool = False) -> Requirement:
    """A requirement on a project (PEP 508). Without `direct` it must not name an address."""
    try:
        need = texts.requirement(line)
    except InvalidRequirement as error:
        shown = "a line that may contain a password" if _MAYBE_ADDRESS.search(line) else f"`{line}`"
        raise InputError(
            f"{shown} is not a requirement", why=str(error).partition("\n")[0]
        ) from None
    if need.url and not direct:
        raise ValueError("only a stack's own `requires` may take a project from an address")
    if need.url:
        Direct.parse(need.url)
    return need


def require_known_socs(need: Need, known: ComponentValues, where: str) -> None:
    """Raise InputError if a requirement names a SoC family that no target could have."""
    if isinstance(need, ComponentRequirement) and need.component == "soc":
        for clause in chain(*need.alternatives):
            if clause.value is not None:
                require_known_soc(clause.value, known, where)


def require_known_soc(value: Value, known: ComponentValues, where: str) -> None:
    """Raise InputError unless a SoC family is a known one. If none is known, anything passes."""
    families = known.get("soc", (value,))
    if value not in families:
        hint = f"known are {', '.join(map(str, families))}"
        raise InputError(f"`{value}` is not a known SoC family", where=where, hint=hint)


# How a text becomes what a field has.
_READERS: Final[Mapping[Any, Callable[[str], Any]]] = {
    Need: parse_need,
    Requirement: parse_requirement,
    RequirementLine: lambda line: str(parse_requirement(line)),
    ComponentRequirement: parse_condition,
    NormalizedName: partial(
        canonicalize_name, validate=True
    ),  # anything more than a name would never match
    SpecifierSet: texts.specifier_set,
    Version: Version,
}


def decode(kind: Any, value: Any, text: TomlText, path: Path = ()) -> Any:
    """A value of a TOML text as an object of this type. Raises InputError with file:line:key."""
    if kind is Any:
        return value
    if kind in _READERS:
        return text.parse(_READERS[kind], _checked(str, value, text, path), *path)
    if kind == Cutoff:
        checked = value if isinstance(value, datetime) else _checked(date, value, text, path)
        return text.parse(cutoff_moment, checked, *path)
    if kind == AsOfText:
        checked = value if isinstance(value, date) else _checked(str, value, text, path)
        return text.parse(read_as_of, checked, *path)
    if kind == Variables:
        return _variables(_checked(dict, value, text, path), text, path)
    if kind == References:
        return _source(value, text, path)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _annotated(arguments[0], arguments[1:], value, text, path)
    if origin in (Union, UnionType):
        members = [member for member in arguments if member is not NoneType]
        fitting = [
            member for member in members if (get_origin(member) is tuple) == isinstance(value, list)
        ]
        return decode((fitting or members)[0], value, text, path)
    if origin is tuple:
        rows = enumerate(_checked(list, value, text, path))
        return tuple(decode(arguments[0], item, text, (*path, at)) for at, item in rows)
    if origin in (dict, Mapping):
        read_key = _READERS.get(arguments[0], str)
        return {
            text.parse(read_key, key, *path, key): decode(arguments[1], item, text, (*path, key))
            for key, item in sorted(_checked(dict, value, text, path).items())
        }
    if origin is Literal:
        return _choice(arguments, value, text, path)
    if issubclass(kind, Enum):
        return kind(_choice([member.value for member in kind], value, text, path))
    if issubclass(kind, msgspec.Struct):
        table, keys = _checked(dict, value, text, path), _keys(kind)
        for key in table:
            if key not in keys:
                raise text.unknown("unknown key", key, keys, *path, key)
        return _struct(kind, table, text, path)
    return _checked(kind, value, text, path)


def _annotated(kind: Any, notes: Sequence[Any], value: Any, text: TomlText, path: Path) -> Any:
    if ALONE in notes and not isinstance(value, list):
        return (decode(get_args(kind)[0], value, text, path),)
    value = decode(kind, value, text, path)
    if NOT_EMPTY in notes and not value:
        raise _unusable(text, path, "it is empty")
    for read in filter(callable, notes):
        value = text.parse(read, value, *path)
    return value


def _struct(kind: type[msgspec.Struct], table: dict[str, Any], text: TomlText, path: Path) -> Any:
    values: dict[str, Any] = {}
    missing = []
    for field, notes in _fields(kind):
        if field.type == Where:
            values[field.name] = text.line(*path)
        elif SAME_TABLE in notes:
            values[field.name] = _struct(get_args(field.type)[0], table, text, path)
        elif UNWRITTEN in notes:
            continue
        elif field.encode_name in table:
            values[field.name] = decode(
                field.type, table[field.encode_name], text, (*path, field.encode_name)
            )
        elif field.required:
            missing.append(field.encode_name)
    if missing:
        must = ", ".join(key for key, required in _keys(kind).items() if required)
        what = f"the key `{missing[0]}` is missing"
        raise InputError(what, where=text.place(*path), hint=f"it must have {must}")
    return kind(**values)


@lru_cache
def _fields(
    kind: type[msgspec.Struct],
) -> tuple[tuple[msgspec.structs.FieldInfo, tuple[Any, ...]], ...]:
    """The fields of a type, each with the notes of its annotation."""
    return tuple(
        (field, getattr(field.type, "__metadata__", ())) for field in msgspec.structs.fields(kind)
    )


@lru_cache
def _keys(kind: type[msgspec.Struct]) -> dict[str, bool]:
    """The keys that a table of this type may have, and whether it must."""
    keys: dict[str, bool] = {}
    for field, notes in _fields(kind):
        if SAME_TABLE in notes:
            keys |= _keys(get_args(field.type)[0])
        elif field.type != Where and UNWRITTEN not in notes:
            keys[field.encode_name] = field.required
    return keys


def _choice(options: Sequence[Any], value: Any, text: TomlText, path: Path) -> Any:
    if _checked(type(options[0]), value, text, path) not in options:
        raise text.unknown(f"{last_key(path)} cannot be", value, options, *path)
    return value


def _source(value: Any, text: TomlText, path: Path) -> References:
    """Return the references of a source: one text, or a list.

    Raise InputError at the text that is none.
    """
    if not isinstance(value, list):
        return References((text.parse(read_reference, _checked(str, value, text, path), *path),))
    if not value:
        raise _unusable(text, path, "it is empty")
    places = ((*path, at) for at in range(len(value)))
    return References(
        tuple(
            text.parse(read_reference, _checked(str, item, text, place), *place)
            for place, item in zip(places, value, strict=True)
        )
    )


def _variables(table: dict[str, Any], text: TomlText, path: Path) -> tuple[tuple[str, str], ...]:
    for key, value in table.items():
        if not patterns.VARIABLE.matches(key):
            raise InputError(
                f"`{key}` is not the name of an environment variable",
                where=text.place(*path, key),
                hint="use only letters, digits and `_`, and no digit first",
            )
        text.parse(printable, _checked(str, value, text, (*path, key)), *path, key)
    return tuple(sorted(table.items()))


def _checked(kind: Any, value: Any, text: TomlText, path: Path) -> Any:
    if type(value) is not kind:
        raise _unusable(text, path, f"expected {_TYPES[kind]}, got {_TYPES[type(value)]}")
    return value


def _unusable(text: TomlText, path: Path, why: str) -> InputError:
    return InputError(f"{last_key(path)} cannot be used", where=text.place(*path), why=why)
