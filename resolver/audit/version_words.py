"""Recognize versions and names of projects in the forms that documents use.

Examples are `v0.13.0`, `CANN8.5.1`, `8.3.rc1-910b`, `torch_npu` and `vLLM Ascend`. `passages` calls
this.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Final

import msgspec
from packaging.specifiers import SpecifierSet

from resolver.ascend.names import CHIP_CLAIM, CHIP_SPELLINGS
from resolver.config.components import GRAMMARS
from resolver.model import text as texts
from resolver.model.component import PEP_440

# A version in a text. It must be whole: 8.5.0 is found neither in 8.5.0.1 nor in 18.5.0.
_VERSION: Final = re.compile(
    r"""
    (?<![0-9.]) \d{1,9} (?: \.\d{1,9} )*
    (?:
        [._-]? (?: rc | alpha | beta | post | dev | a | b | t | c )
        [._-]? \d{1,9} (?: \.\d{1,9} )*
    )*
    (?: \.[Xx*] )?
    (?: \+ [A-Za-z0-9.]*[A-Za-z0-9] )?
    (?! [A-Za-z0-9] | \.\d )
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
# `8.5.X` stands for all versions of a release line.
_ANY_OF_LINE: Final = re.compile(r"(.+)\.[Xx*]")
_SEPARATOR: Final = "[-_. ]?"
_PROJECT_NAME: Final = re.compile(r"[A-Za-z0-9]+(?:[-_.][A-Za-z0-9]+)*")
# What may be between the name of a project and a version, and between two versions.
_EXTRAS: Final = r"(?:\[[^\]\n]*\])?[\"'`]?\s*"
_OPERATOR: Final = re.compile(r"\s*,?\s*(?:===?|~=|[<>]=?|!=|=|:)\s*[\"'`]?v?")
# What the names of variables add to the name of a project: VLLM_TAG, MIN_TORCH_VERSION.
_PREFIX: Final = "(?:[A-Za-z]{1,30}_){1,5}"
_SUFFIX: Final = "[-_](?:tag|version|branch|commit)"


class Wanted(msgspec.Struct, frozen=True):
    """A version that a text must have, or a set of versions of which any one is enough."""

    # The version; or the beginning of the versions of a release line, such as 8.5; or the text of a
    # specifier set.
    text: str
    # Whether any version of a release line is enough.
    is_line: bool = False
    # The set of versions of which any is enough; None for a version or a release line.
    admitted: SpecifierSet | None = None
    # The bounds of the set. Each is enough, even if the set does not admit it.
    bounds: tuple[str, ...] = ()

    def is_in(self, text: str) -> bool:
        """Return whether a text has the wanted version."""
        return any(map(self.is_met_by, versions_in(text)))

    def is_met_by(self, found: str) -> bool:
        """Return whether a version, in the spelling of a text, is the wanted one."""
        if self.admitted is not None:
            return self._is_admitted(found, self.admitted)
        if same_version(found, self.text):
            return True
        if self.is_line:
            return found.lower().startswith(f"{self.text.lower()}.")
        line = _ANY_OF_LINE.fullmatch(found)
        return line is not None and self._is_first_of(line[1])

    def _is_admitted(self, found: str, admitted: SpecifierSet) -> bool:
        """Return whether a version is in the set, or one of its bounds."""
        version = texts.version(found)
        if version is not None and admitted.contains(version, prereleases=True):
            return True
        return any(same_version(found, bound) for bound in self.bounds)

    def _is_first_of(self, line: str) -> bool:
        """Return whether the wanted version is the first one of a release line.

        `25.0.X` begins with 25.0.rc1 or 25.0.0.
        """
        first = rf"{re.escape(line)}\.(?:rc1|0)"
        return re.fullmatch(first, self.text, re.IGNORECASE) is not None

    def __str__(self) -> str:
        return f"{self.text}.*" if self.is_line else self.text


def versions_in(text: str) -> list[str]:
    """Return the versions in a text, as it spells them."""
    return _VERSION.findall(text)


@lru_cache(1 << 14)
def same_version(found: str, wanted: str) -> bool:
    """Return whether two texts are the same version. Upper and lower case are the same.

    They are compared as texts, as versions of components, and by PEP 440. `found` may have a local
    version that `wanted` lacks: 2.8.0+cpu is the same as 2.8.0.
    """
    if found.lower() == wanted.lower():
        return True
    for grammar in GRAMMARS.values():
        if grammar.is_ordered and grammar is not PEP_440:
            with suppress(ValueError):
                return grammar.parse(found) == grammar.parse(wanted)
    found_version = texts.version(found)
    wanted_version = texts.version(wanted)
    if found_version is None or wanted_version is None:
        return False
    if found_version == wanted_version:
        return True
    return wanted_version.local is None and found_version.public == wanted_version.public


@lru_cache(1 << 12)
def name_pattern(name: str) -> re.Pattern[str]:
    """Return a pattern that finds the name of a project in a text.

    `torch` is not found in `torch-npu` or `intel-torch`. A text that is no valid name of a project,
    such as a path, is looked for as it is.
    """
    if name.startswith(CHIP_CLAIM):
        family = name.removeprefix(CHIP_CLAIM)
        return re.compile(CHIP_SPELLINGS.get(family, re.escape(family)), re.IGNORECASE)
    if not _PROJECT_NAME.fullmatch(name):
        return re.compile(re.escape(name), re.IGNORECASE)
    words = _SEPARATOR.join(map(re.escape, re.split("[-_.]", name)))
    before = r"(?<![A-Za-z0-9])(?<![A-Za-z0-9][-_])"
    after = r"(?![-_]?[A-Za-z])(?![-_]\d+[A-Za-z])"
    variable = f"(?<![A-Za-z0-9]){_PREFIX}{words}{_SUFFIX}"
    return re.compile(f"(?:{before}{words}(?:{_SUFFIX})?|{variable}){after}", re.IGNORECASE)


def has_name(text: str, names: Iterable[str]) -> bool:
    """Return whether a text has one of these names."""
    return any(name_pattern(name).search(text) for name in names)


def stated_versions(text: str, names: Iterable[str]) -> list[str]:
    """Return the versions that a text compares a name with, as in `torch>=2.8,<2.10`."""
    found: list[str] = []
    for name in names:
        name_and_extras = name_pattern(name).pattern + _EXTRAS
        for match in re.finditer(name_and_extras, text, re.IGNORECASE):
            found += _compared_versions(text, match.end())
    return found


def _compared_versions(text: str, position: int) -> Iterator[str]:
    """Yield the versions of the comparisons that begin at a position of a text."""
    while True:
        operator = _OPERATOR.match(text, position)
        if operator is None:
            return
        version = _VERSION.match(text, operator.end())
        if version is None:
            return
        yield version[0]
        position = version.end()
