"""TOML values to the types that annotations of fields name, each error at its key; and what texts among them mean.

A field is a key of the table, in kebab case, or as its `name` has it. msgspec cannot do this, as its hooks see neither
a field's key nor one of its own types, and its errors have no place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta, timezone
from enum import Enum
from functools import lru_cache
from itertools import product
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec
from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidName, NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.config.lines import Path, TomlText, named
from resolver.errors import InputError, did_you_mean, without_secrets
from resolver.model import text as texts
from resolver.model.annotations import (
    ALONE,
    NOT_EMPTY,
    SAME_TABLE,
    UNWRITTEN,
    Cutoff,
    RequirementLine,
    Variables,
    Where,
    printable,
)
from resolver.model.fact import Need
from resolver.model.problem import Ask
from resolver.model.repository import Direct
from resolver.model.requirement import COMPONENTS, ComponentRequirement, Requirement, Value
from resolver.model.target import Target

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


# The names of chips in npu-smi and CANN, by family (vllm_ascend/device/hardware.py).
_CHIPS: Final = (("A2", r"910_?b"), ("A3", r"910_?(9[0-9]{3}|c)"), ("310P", r"310"), ("A5", r"950"))

Known = Mapping[str, tuple[Value, ...]]  # the values of components in systems.toml


def cutoff(value: date) -> datetime:
    """The moment that a cut-off names, in UTC; a day means its end. Raises ValueError if UTC has no such year."""
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
    """A requirement on a project or a component, as in facts and stacks. With `direct` it may name an address."""
    if (about := parse_component(line)) is not None:
        return about
    need = parse_requirement(line, direct=direct)
    if need.name in COMPONENTS:
        raise InputError(
            f"`{line}` states no condition on the component `{need.name}`",
            hint=f"write `{need.name} in A | B` or `{need.name} >= A`, in lower case",
        )
    return need


def parse_component(line: str) -> ComponentRequirement | None:
    """A requirement on a component; None where the line does not begin like one."""
    try:
        return ComponentRequirement.parse(line)
    except ValueError as error:
        hint = "write `cann in 8.5.0 | 8.5.1` or `python >= 3.10, < 3.12`"
        raise InputError(f"`{line}` cannot be read", why=str(error), hint=hint) from None


def parse_condition(line: str) -> ComponentRequirement:
    """A requirement on a component, and nothing else."""
    need = parse_component(line)
    if need is None:
        hint = 'write for example when = ["soc in A3"]'
        raise InputError(f"`{line}` is not a component of the target", hint=hint)
    return need


def parse_requirement(line: str, *, direct: bool = False) -> Requirement:
    """A requirement on a project (PEP 508). Without `direct` it must not name an address."""
    try:
        need = texts.requirement(line)
    except InvalidRequirement as error:
        secret = "://" in line and "@" in line.partition("://")[2]  # an unreadable line may contain credentials
        raise InputError(
            f"{'this' if secret else f'`{line}`'} is not a requirement",
            why="it may contain a password, so it is not shown" if secret else str(error).partition("\n")[0],
            hint="write `numpy<2`, `ray[default]==2.41.0`, `cann in 8.5.0 | 8.5.1` or, in a stack, "
            "`verl @ git+https://HOST/PATH@COMMIT`",
        ) from None
    if need.url and not direct:
        raise InputError(
            f"the requirement on `{need.name}` names an address",
            why="only a stack's own `requires` may take a project from an address",
            hint="specify a release of the project instead",
        )
    if need.url:
        try:
            Direct.parse(need.url)
        except ValueError as error:
            raise InputError(
                f"the address of `{need.name}` is not supported",
                why=str(error),
                hint=f"write `{need.name} @ git+https://HOST/PATH@COMMIT`, with a tag or a commit hash",
            ) from None
    return need


def parse_project(name: str) -> NormalizedName:
    """A project's name and nothing else, since anything more would never match."""
    try:
        return canonicalize_name(name, validate=True)
    except InvalidName:
        hint = "write only the name, without versions, extras or markers"
        raise InputError(f"`{name}` is not the name of a project", hint=hint) from None


def parse_versions(versions: str) -> SpecifierSet:
    """A set of versions (PEP 440)."""
    try:
        return texts.specifier_set(versions)
    except InvalidSpecifier as error:
        hint = "write for example `==0.13.0` or `>=0.10,<0.14` (PEP 440)"
        raise InputError(f"`{versions}` is not a set of versions", why=str(error), hint=hint) from None


def require_markers(asks: Iterable[Ask], targets: Iterable[Target]) -> None:
    """Raise InputError if a line's marker compares what cannot be compared (PEP 508)."""
    for ask, target in product(asks, targets):
        if isinstance(ask.need, Requirement) and ask.need.marker is not None:
            try:
                ask.need.marker.evaluate(target.markers)
            except (UndefinedComparison, UndefinedEnvironmentName) as error:
                raise InputError(
                    f"the marker of `{ask.need}` cannot be evaluated",
                    where=ask.origin.where,
                    why=str(error),
                    hint="a marker compares a variable of PEP 508 with a text, such as `python_version < '3.12'`",
                ) from None


def require_families(need: Need, known: Known, where: str) -> None:
    """Raise InputError if a requirement names a SoC family that no target could have."""
    if isinstance(need, ComponentRequirement) and need.component == "soc":
        for clauses in need.alternatives:
            for clause in clauses:
                if clause.value is not None:
                    require_family(clause.value, known, where)


def require_family(value: Value, known: Known, where: str) -> None:
    """Raise InputError unless a SoC family is a known one. If none is known, anything passes."""
    families = known.get("soc", (value,))
    if value not in families:
        meant = next((name for name, chip in _CHIPS if re.search(chip, str(value), re.IGNORECASE)), "")
        hint = (f"did you mean `{meant}`? " if meant in families else "") + f"known are {', '.join(map(str, families))}"
        raise InputError(f"`{value}` is not a known SoC family", where=where, hint=hint)


# How a text becomes what a field has.
_READERS: Final[Mapping[Any, Callable[[str], Any]]] = {
    Need: parse_need,
    Requirement: parse_requirement,
    RequirementLine: lambda line: str(parse_requirement(line)),
    ComponentRequirement: parse_condition,
    NormalizedName: parse_project,
    SpecifierSet: parse_versions,
    Version: Version,
}


def decode(kind: Any, value: Any, text: TomlText, path: Path = ()) -> Any:
    """A value of a TOML text as an object of this type. Raises InputError with file:line:key."""
    if kind in _READERS:
        return text.parse(_READERS[kind], _checked(str, value, text, path), *path)
    if kind == Cutoff:
        checked = value if isinstance(value, datetime) else _checked(date, value, text, path)
        return text.parse(cutoff, checked, *path)
    if kind == Variables:
        return _variables(_checked(dict, value, text, path), text, path)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _annotated(arguments[0], arguments[1:], value, text, path)
    if origin in (Union, UnionType):
        members = [one for one in arguments if one is not NoneType]
        fitting = [one for one in members if (get_origin(one) is tuple) == isinstance(value, list)]
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
        return kind(_choice([one.value for one in kind], value, text, path))
    if issubclass(kind, msgspec.Struct):
        table, keys = _checked(dict, value, text, path), _keys(kind)
        for key in table:
            if key not in keys:
                hint = _hint(key, keys, "known keys are")
                raise InputError(without_secrets(f"unknown key `{key}`"), where=text.place(*path, key), hint=hint)
        return _struct(kind, table, text, path)
    return _checked(kind, value, text, path)


def _annotated(kind: Any, notes: Sequence[Any], value: Any, text: TomlText, path: Path) -> Any:
    if ALONE in notes and not isinstance(value, list):
        return (decode(get_args(kind)[0], value, text, path),)
    found = decode(kind, value, text, path)
    if NOT_EMPTY in notes and not found:
        raise _unusable(text, path, "it is empty")
    for read in filter(callable, notes):
        found = text.parse(read, found, *path)
    return found


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
            values[field.name] = decode(field.type, table[field.encode_name], text, (*path, field.encode_name))
        elif field.required:
            missing.append(field.encode_name)
    if missing:
        must = ", ".join(key for key, required in _keys(kind).items() if required)
        what = f"the key `{missing[0]}` is missing"
        raise InputError(what, where=text.place(*path), hint=f"it must have {must}")
    return kind(**values)


@lru_cache
def _fields(kind: type[msgspec.Struct]) -> tuple[tuple[msgspec.structs.FieldInfo, tuple[Any, ...]], ...]:
    """The fields of a type, each with the notes of its annotation."""
    return tuple((one, getattr(one.type, "__metadata__", ())) for one in msgspec.structs.fields(kind))


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
        known = sorted(map(str, options))
        what = without_secrets(f"`{value}` is not a value of {named(path)}")
        raise InputError(what, where=text.place(*path), hint=_hint(str(value), known, "it may be"))
    return value


def _variables(table: dict[str, Any], text: TomlText, path: Path) -> tuple[tuple[str, str], ...]:
    for key, value in table.items():
        if not key.isidentifier() or not key.isascii():
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
    return InputError(f"{named(path)} cannot be used", where=text.place(*path), why=why)


def _hint(word: str, known: Iterable[str], what: str) -> str:
    return f"{did_you_mean(word.lower(), known, '')} {what} {', '.join(known)}".lstrip()
