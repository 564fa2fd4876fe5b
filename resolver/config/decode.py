"""The decoder of TOML files: it turns parsed TOML into the types of `schema` and of the model.

The keys of a table are the fields of its type, in kebab case or by the field's `name`. An error
contains the file, the line and the key. msgspec's own decoder cannot do this, since its hooks do
not know the key of a field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta, timezone
from enum import Enum
from functools import lru_cache, partial
from operator import attrgetter
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, NamedTuple, Union, get_args, get_origin

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
from resolver.model.component import Components
from resolver.model.fact import Need
from resolver.model.repository import Direct
from resolver.model.requirement import ComponentRequirement, Requirement
from resolver.model.slips import likely_requirement, requirement_hint
from resolver.model.source import Reference, References
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
from resolver.phrase import EMPTY, Phrase, cause, literal, phrase

# Characters of an address. A line with them that is not a requirement may contain a password.
_MAYBE_ADDRESS: Final = re.compile(r"[@?#]|//|:/")
# What errors call the types of TOML.
_TYPES: Final = {
    str: phrase("a string in quotes"),
    int: phrase("a number"),
    float: phrase("a number"),
    bool: phrase("true or false"),
    dict: phrase("a table"),
    list: phrase("a list ([…], or [[…]] for tables)"),
    date: phrase("a date without quotes"),
    datetime: phrase("a date with a time"),
    time: phrase("a time"),
}


def cutoff_moment(value: date) -> datetime:
    """Return the moment of a cut-off, with a time zone.

    A day means its end in UTC. A time without a zone is in UTC. Raises ValueError if the moment is
    in no year from 1 to 9999 of UTC.
    """
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
        try:
            aware.astimezone(timezone.utc)
        except OverflowError:
            raise ValueError(phrase("it is in no year from 1 to 9999 of UTC")) from None
        return aware
    # No day follows the last one.
    if value == date.max:
        return datetime.max.replace(tzinfo=timezone.utc)
    return datetime.combine(value + timedelta(days=1), time(), timezone.utc)


def parse_need(line: str, components: Components, *, direct: bool = False) -> Need:
    """Return the requirement on a project or a component in a line of a fact or a stack.

    `components` are the components that targets can have. With `direct`, the line may be a direct
    reference to a git repository. Raises ValueError or InputError if it is no requirement.
    """
    component_need = ComponentRequirement.parse(line, components)
    if component_need is not None:
        return component_need
    need = parse_requirement(line, direct=direct)
    if need.name in components:
        raise ValueError(
            phrase(
                "`{name}` is a component: write `{name} in A | B` or `{name} >= A`, in lower case",
                name=need.name,
            )
        )
    return need


def _parse_condition(line: str, components: Components) -> ComponentRequirement:
    """Return the requirement on a component in a line. Raises ValueError for any other line."""
    need = ComponentRequirement.parse(line, components)
    if need is None:
        raise ValueError(
            phrase(
                "`{line}` is not a component of the target with its values, such as `python in "
                "3.11`: known are {components}",
                line=line,
                components=", ".join(components),
            )
        )
    return need


def parse_requirement(line: str, *, direct: bool = False) -> Requirement:
    """Return the requirement on a project in a line (PEP 508).

    With `direct`, the line may be a direct reference to a git repository. Raises ValueError or
    InputError if it is no requirement.
    """
    try:
        need = texts.requirement(line)
    except InvalidRequirement as error:
        raise _no_requirement(line, cause(error)) from None
    if need.url:
        # `NAME@VERSION` has the form of a direct reference.
        if likely_requirement(line):
            raise _no_requirement(line, EMPTY)
        if not direct:
            raise ValueError(
                phrase("only a stack's own `requires` may take a project from an address")
            )
        Direct.parse(need.url)
    return need


def _no_requirement(line: str, why: Phrase) -> InputError:
    """Return the error that a line is no requirement. What is meant is better known than `why`."""
    meant = likely_requirement(line)
    shown = literal(f"`{line}`")
    if not meant and _MAYBE_ADDRESS.search(line):
        shown = phrase("a line that may contain a password")
    return InputError(
        phrase("{line} is not a requirement", line=shown),
        why=EMPTY if meant else why,
        hint=requirement_hint(line),
    )


def require_known_values(need: Need, components: Components, where: str) -> None:
    """Raise InputError if a requirement names a value of a component that no target can have.

    `where` is the file:line that the error shows.
    """
    if not isinstance(need, ComponentRequirement):
        return
    component = components[need.component]
    for comparisons in need.alternatives:
        for comparison in comparisons:
            if comparison.value is not None:
                component.require_known(comparison.value, where)


# A function that decodes a value of a TOML file. It raises InputError with file:line:key.
_Reader = Callable[["_Located"], Any]


class _Located(NamedTuple):
    """A value of a TOML file, with its place and with what is needed to decode it."""

    # The value, as tomli returns it.
    value: Any
    # The file.
    text: TomlText
    # The keys and positions that lead to the value.
    path: Path
    # The components that requirements may be about.
    components: Components
    # The function that reads a reference from its text.
    read_reference: Callable[[str], Reference]

    def child(self, key: str | int, value: Any) -> _Located:
        """Return `value` as the element of this table or list at a key or position."""
        return self._replace(value=value, path=(*self.path, key))

    def checked(self, kind: type) -> Any:
        """Return the value. Raises InputError if it is not exactly of the type `kind`."""
        if type(self.value) is not kind:
            got = _TYPES[type(self.value)]
            raise self.unusable(phrase("expected {kind}, got {got}", kind=_TYPES[kind], got=got))
        return self.value

    def parse(self, read: Callable[[Any], Any], value: Any) -> Any:
        """Return `read(value)`. A ValueError of `read` becomes an InputError with the place.

        If the value is the name of a machine or system instead of the value of a component, the
        hint has the value.
        """
        try:
            return self.text.parse(read, value, *self.path)
        except InputError as error:
            component = self.components.get(str(self.path[-1])) if self.path else None
            meant = component.named(value) if component and isinstance(value, str) else ""
            if component is None or not meant:
                raise
            hint = phrase(
                '{name} has {title} {value}: write "{value}"',
                name=value,
                title=component.title,
                value=meant,
            )
            raise InputError(**{**error.phrases, "hint": hint}) from None

    def unusable(self, why: Phrase) -> InputError:
        """Return an error that says that the value is refused, and why."""
        where = self.text.place(*self.path)
        return InputError(
            phrase("{key} cannot be used", key=last_key(self.path)), where=where, why=why
        )


def decode(
    kind: Any,
    value: Any,
    text: TomlText,
    components: Components,
    read_reference: Callable[[str], Reference] = read_reference,
) -> Any:
    """Return a value of a TOML file as an object of a type.

    `kind` is the type, which may be annotated. `components` are the components that requirements
    may be about. `read_reference` reads the references of a source. Raises InputError with
    file:line:key.
    """
    return _reader(kind)(_Located(value, text, (), components, read_reference))


def _reader(kind: Any) -> _Reader:
    """Return the function that decodes values of a type.

    Analysing a type takes longer than decoding a value, so this is done once for each field.
    """
    if kind is Any:
        return attrgetter("value")
    if kind in _TEXT_READERS:
        return partial(_text, _TEXT_READERS[kind])
    if kind in _COMPONENT_READERS:
        return partial(_text_about_components, _COMPONENT_READERS[kind])
    if kind in _VALUE_READERS:
        return _VALUE_READERS[kind]
    origin = get_origin(kind)
    arguments = get_args(kind)
    if origin is Annotated:
        return _annotated_reader(arguments[0], arguments[1:])
    if origin in (Union, UnionType):
        return _union_reader(arguments)
    if origin is tuple:
        return partial(_tuple, _reader(arguments[0]))
    if origin in (dict, Mapping):
        return partial(_mapping, arguments[0], _reader(arguments[1]))
    if origin is Literal:
        return partial(_choice, arguments)
    return partial(_instance, kind)


def _text(read: Callable[[str], Any], located: _Located) -> Any:
    """Return what `read` makes of a text. A value that is no text is refused."""
    return located.parse(read, located.checked(str))


def _text_about_components(read: Callable[..., Any], located: _Located) -> Any:
    """Return `read(text, components=…)` for a text."""
    return _text(partial(read, components=located.components), located)


def _instance(kind: type, located: _Located) -> Any:
    """Return a value as an instance of a class.

    The class is an enum, a struct, or a type of TOML. Unknown keys of a struct are refused.
    """
    if issubclass(kind, Enum):
        return kind(_choice([member.value for member in kind], located))
    if not issubclass(kind, msgspec.Struct):
        return located.checked(kind)
    keys = _keys(kind)
    for key in located.checked(dict):
        if key not in keys:
            raise located.text.unknown(phrase("unknown key"), key, keys, *located.path, key)
    return _struct(kind, located)


def _annotated_reader(kind: Any, notes: Sequence[Any]) -> _Reader:
    """Return the function that decodes values of an annotated type.

    `notes` are the annotations: NOT_EMPTY, ALONE, or functions that check the value.
    """
    read = _reader(kind)
    read_alone = _reader(get_args(kind)[0]) if ALONE in notes else None
    checks = [note for note in notes if callable(note)]

    def annotated(located: _Located) -> Any:
        if read_alone is not None and not isinstance(located.value, list):
            return (read_alone(located),)
        value = read(located)
        if NOT_EMPTY in notes and not value:
            raise located.unusable(phrase("it is empty"))
        for check in checks:
            value = located.parse(check, value)
        return value

    return annotated


def _union_reader(members: Sequence[Any]) -> _Reader:
    """Return the function that decodes values of a union.

    A list is decoded as the first member that is a tuple, and any other value as the first member
    that is not. If there is no such member, the first member is taken.
    """
    possible = [member for member in members if member is not NoneType]
    readers = [(get_origin(member) is tuple, _reader(member)) for member in possible]

    def fitting(located: _Located) -> Any:
        for is_of_lists, read in readers:
            if is_of_lists == isinstance(located.value, list):
                return read(located)
        _, read = readers[0]
        return read(located)

    return fitting


def _tuple(read: _Reader, located: _Located) -> tuple[Any, ...]:
    """Return a list as a tuple, with its elements decoded by `read`."""
    items = enumerate(located.checked(list))
    return tuple(read(located.child(position, item)) for position, item in items)


def _mapping(key_kind: Any, read: _Reader, located: _Located) -> dict[Any, Any]:
    """Return a table as a dict. `key_kind` is the type of its keys; `read` decodes its values."""
    read_key = _TEXT_READERS.get(key_kind, str)
    decoded = {}
    for key, item in located.checked(dict).items():
        child = located.child(key, item)
        decoded[child.parse(read_key, key)] = read(child)
    return decoded


def _struct(kind: type[msgspec.Struct], located: _Located) -> Any:
    """Return a table as an instance of a type. The caller has refused unknown keys.

    Raises InputError if a required key is missing.
    """
    table = located.value
    values: dict[str, Any] = {}
    missing = []
    for field in _fields(kind):
        if field.is_place:
            values[field.name] = located.text.line(*located.path)
        elif SAME_TABLE in field.notes:
            values[field.name] = _struct(get_args(field.kind)[0], located)
        elif UNWRITTEN in field.notes:
            continue
        elif field.key in table:
            values[field.name] = field.read(located.child(field.key, table[field.key]))
        elif field.is_required:
            missing.append(field.key)
    if missing:
        required_keys = [key for key, is_required in _keys(kind).items() if is_required]
        raise InputError(
            phrase("the key `{key}` is missing", key=missing[0]),
            where=located.text.place(*located.path),
            hint=phrase("it must have {keys}", keys=", ".join(required_keys)),
        )
    return kind(**values)


class _Field(NamedTuple):
    """A field of a struct, with the key in TOML and what is needed to decode its value."""

    # The name of the field.
    name: str
    # The key in the TOML table.
    key: str
    # The type, with its annotations.
    kind: Any
    # The annotations.
    notes: tuple[Any, ...]
    # Whether the table must have the key.
    is_required: bool
    # Whether the field is file:line of the table, which is no key.
    is_place: bool
    # The function that decodes a value.
    read: _Reader


@lru_cache
def _fields(kind: type[msgspec.Struct]) -> tuple[_Field, ...]:
    """Return the fields of a type, prepared for decoding."""
    return tuple(
        _Field(
            name=field.name,
            key=field.encode_name,
            kind=field.type,
            notes=getattr(field.type, "__metadata__", ()),
            is_required=field.required,
            is_place=field.type == Where,
            read=_reader(field.type),
        )
        for field in msgspec.structs.fields(kind)
    )


@lru_cache
def _keys(kind: type[msgspec.Struct]) -> dict[str, bool]:
    """Return the keys that a table of a type may have, and whether each is required."""
    keys: dict[str, bool] = {}
    for field in _fields(kind):
        if SAME_TABLE in field.notes:
            keys |= _keys(get_args(field.kind)[0])
        elif not field.is_place and UNWRITTEN not in field.notes:
            keys[field.key] = field.is_required
    return keys


def _choice(options: Sequence[Any], located: _Located) -> Any:
    """Return a value that must be one of `options`. Raises InputError for any other."""
    value = located.checked(type(options[0]))
    if value not in options:
        complaint = phrase("{key} cannot be", key=last_key(located.path))
        raise located.text.unknown(complaint, value, options, *located.path)
    return value


def _cutoff(located: _Located) -> datetime:
    """Return the moment of a cut-off, which is a date or a time of TOML."""
    is_moment = isinstance(located.value, datetime)
    value = located.value if is_moment else located.checked(date)
    moment: datetime = located.parse(cutoff_moment, value)
    return moment


def _as_of(located: _Located) -> str:
    """Return the day of a stack, which is a date of TOML or a text (see `read_as_of`)."""
    is_day = isinstance(located.value, date)
    value = located.value if is_day else located.checked(str)
    day: str = located.parse(read_as_of, value)
    return day


def _references(located: _Located) -> References:
    """Return the references of a source, which is a text or a list of texts."""
    if not isinstance(located.value, list):
        return References((_reference(located),))
    if not located.value:
        raise located.unusable(phrase("it is empty"))
    items = enumerate(located.value)
    return References(tuple(_reference(located.child(position, item)) for position, item in items))


def _reference(located: _Located) -> Reference:
    reference: Reference = located.parse(located.read_reference, located.checked(str))
    return reference


def _variables(located: _Located) -> tuple[tuple[str, str], ...]:
    """Return environment variables with their values, sorted by name.

    Raises InputError for a variable that no fact and no stack may set (see `patterns.VARIABLE`).
    """
    table = located.checked(dict)
    for name, value in table.items():
        variable = located.child(name, value)
        where = variable.text.place(*variable.path)
        if not patterns.VARIABLE_NAME.matches(name):
            raise InputError(
                phrase(
                    "`{name}` is not {description}",
                    name=name,
                    description=patterns.VARIABLE_NAME.description,
                ),
                where=where,
                hint=phrase("use only letters, digits and `_`, and no digit first"),
            )
        if not patterns.VARIABLE.matches(name):
            raise InputError(
                phrase("`{name}` cannot be set here", name=name),
                where=where,
                why=phrase(
                    "it decides which programs, modules or settings count, or which hosts are asked"
                ),
            )
        variable.parse(printable, variable.checked(str))
    return tuple(sorted(table.items()))


# The functions that read a value of each type from a text.
_TEXT_READERS: Final[Mapping[Any, Callable[[str], Any]]] = {
    Requirement: parse_requirement,
    RequirementLine: lambda line: str(parse_requirement(line)),
    # The name is validated, since a text that is no name would match no project.
    NormalizedName: partial(canonicalize_name, validate=True),
    SpecifierSet: texts.specifier_set,
    Version: Version,
}

# The functions that read a value of each type from a text, given the components.
_COMPONENT_READERS: Final[Mapping[Any, Callable[..., Any]]] = {
    Need: parse_need,
    ComponentRequirement: _parse_condition,
}

# The functions that decode a value of each type that need not be a text.
_VALUE_READERS: Final[Mapping[Any, Callable[[_Located], Any]]] = {
    Cutoff: _cutoff,
    AsOfText: _as_of,
    Variables: _variables,
    References: _references,
}
