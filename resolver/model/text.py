"""Parsing of versions, specifiers and requirements, once for each text.

Indexes repeat the same few thousand texts a hundred thousand times, and the
objects are immutable, so each text is parsed once in a process.
"""

from __future__ import annotations

import re
from functools import lru_cache

from packaging.markers import Marker
from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as _PackagingRequirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import InvalidVersion, Version

from resolver.model.requirement import Requirement

_MEMO = 1 << 18
_DIGITS = 1000
# Python converts no number of more than some thousand digits, and says so only when one is compared.
_LONG_NUMBER = re.compile(rf"\d{{{_DIGITS}}}", re.ASCII)


@lru_cache(_MEMO)
def version(text: str) -> Version | None:
    """The PEP 440 version that `text` spells, or None where it is not one."""
    if _is_too_long(text):
        return None
    try:
        return Version(text)
    except InvalidVersion:
        return None


@lru_cache(_MEMO)
def specifiers(text: str) -> SpecifierSet | None:
    """The PEP 440 specifier set that `text` spells, or None where it is not one."""
    if _is_too_long(text):
        return None
    try:
        return SpecifierSet(text)
    except InvalidSpecifier:
        return None


@lru_cache(_MEMO)
def name(text: str) -> NormalizedName:
    """The PEP 503 normalised form of a project name."""
    return canonicalize_name(text)


@lru_cache(_MEMO)
def requirement(text: str) -> Requirement:
    """The PEP 508 requirement that `text` spells; raises packaging's InvalidRequirement."""
    if _is_too_long(text):
        raise InvalidRequirement(f"it has a number of {_DIGITS} digits or more")
    parsed = _PackagingRequirement(text)
    return Requirement(
        name=canonicalize_name(parsed.name),
        extras=tuple(sorted({canonicalize_name(extra) for extra in parsed.extras})),
        specifier=parsed.specifier,
        marker=parsed.marker,
        url=parsed.url or "",
    )


@lru_cache(_MEMO)
def marker_text(marker: Marker | None) -> str:
    """The text of a marker; empty where there is none."""
    return str(marker) if marker is not None else ""


def _is_too_long(text: str) -> bool:
    return len(text) >= _DIGITS and _LONG_NUMBER.search(text) is not None
