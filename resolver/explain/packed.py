"""Explanations as bytes and back, without their problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from enum import Enum
from typing import Any, Final, get_args

import msgspec
from packaging.markers import Marker
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.catalog.store.packed import ODD
from resolver.model.component import Clause, ComponentRequirement
from resolver.model.explanation import (
    Attempt,
    Branch,
    Change,
    ChangeKind,
    Closing,
    Contradiction,
    Environment,
    Explanation,
    Fix,
    Outcome,
    PinOf,
)
from resolver.model.fact import Fact, Strength
from resolver.model.problem import Problem
from resolver.model.recipe import Recipe, Step, Submodule
from resolver.model.release import Reason, SetAside
from resolver.model.requirement import Requirement
from resolver.model.statement import Lack, Refusal, Source, Span, Statement, Unread
from resolver.model.system import SystemVersion

# All types in an explanation. Others cannot be restored from bytes.
_RECORDS: Final[Mapping[str, type[msgspec.Struct]]] = {
    one.__name__: one
    for one in (
        *(Contradiction, Closing, Branch, Fix, Change, Environment, PinOf, Attempt, Span, Refusal, SetAside, Unread),
        *(Requirement, ComponentRequirement, Clause, Recipe, Submodule),
        *get_args(Statement),
        *get_args(Fact),
        *get_args(Step),
    )
}
_CHOICES: Final[Mapping[str, type[Enum]]] = {
    one.__name__: one for one in (ChangeKind, Lack, Outcome, Reason, Source, Strength)
}
_TEXTS: Final[Mapping[str, Callable[[str], object]]] = {
    "Marker": Marker,
    "SpecifierSet": SpecifierSet,
    "SystemVersion": SystemVersion.parse,
    "Version": Version,
    "date": date.fromisoformat,
}
_TUPLE: Final = ""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode


def pack(explanation: Explanation) -> bytes:
    """The explanation without its problem, and without whether time ran out."""
    told = explanation.contradictions, explanation.fixes, explanation.attempts, explanation.missing, explanation.options
    return _encode(_packed(told))


def unpack(content: bytes, problem: Problem) -> Explanation | None:
    """The explanation of this problem, not cut short; None for bytes of another format."""
    try:
        contradictions, fixes, attempts, missing, options = _unpacked(_decode(content))
    except (*ODD, AttributeError, IndexError, KeyError, TypeError, ValueError):
        return None
    return Explanation(
        problem=problem,
        contradictions=contradictions,
        fixes=fixes,
        attempts=attempts,
        limited=False,
        missing=missing,
        options=options,
    )


def _packed(value: object) -> object:
    """A value as lists that begin with their type; numbers and texts are unchanged."""
    kind = type(value).__name__
    match value:
        case None | int() | str():
            return value
        case tuple():
            return [_TUPLE, *map(_packed, value)]
        case Enum():
            return [kind, value.name]
        case _ if kind in _TEXTS:
            return [kind, str(value)]
        case _:
            return [kind, *(_packed(getattr(value, name)) for name in _RECORDS[kind].__struct_fields__)]


def _unpacked(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    kind, *rest = value
    if kind == _TUPLE:
        return tuple(map(_unpacked, rest))
    if kind in _TEXTS:
        return _TEXTS[kind](*rest)
    if kind in _CHOICES:
        return _CHOICES[kind][rest[0]]
    record = _RECORDS[kind]
    return record(**dict(zip(record.__struct_fields__, map(_unpacked, rest), strict=True)))
