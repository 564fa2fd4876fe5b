"""Versions and names as documents write them: `v0.13.0`, `CANN8.5.1`, `8.3.rc1-910b`, `torch_npu`, `vLLM Ascend`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.model import text as texts
from resolver.model.system import SystemVersion

# A version within a text. It ends where no version goes on, so that 8.5.0 is not found in 8.5.0.1
# or in 18.5.0.
_VERSION: Final = re.compile(
    r"""
    (?<![0-9.]) \d{1,9} (?: \.\d{1,9} )*
    (?: [._-]? (?: rc | alpha | beta | post | dev | a | b | t | c ) [._-]? \d{1,9} (?: \.\d{1,9} )* )*
    (?: \.[Xx*] )?
    (?: \+ [A-Za-z0-9.]*[A-Za-z0-9] )?
    (?! [A-Za-z0-9] | \.\d )
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
# `8.5.X` names a line of releases.
_ANY_OF_LINE: Final = re.compile(r"(.+)\.[Xx*]")
_SEPARATOR: Final = "[-_. ]?"
# How documents write the families of SoCs; a claim names one as `soc:A2`.
_SOC: Final = "soc:"
_SOCS: Final = {
    "A2": r"(?<![A-Za-z0-9])A2(?![A-Za-z0-9])|910B",
    "A3": r"(?<![A-Za-z0-9])A3(?![A-Za-z0-9])|910_93|910C",
    "A5": r"(?<![A-Za-z0-9])A5(?![A-Za-z0-9])|(?<![0-9])950(?![0-9])",
    "310P": r"310P",
}
# What stands between the name of a project and the versions that are stated of it, and between two
# of these.
_EXTRAS: Final = r"(?:\[[^\]\n]*\])?[\"'`]?\s*"
_OPERATOR: Final = re.compile(r"\s*,?\s*(?:===?|~=|[<>]=?|!=|=|:)\s*[\"'`]?v?")
# What variables add to the name of a project: VLLM_TAG, MIN_TORCH_VERSION.
_PREFIX: Final = "(?:[A-Za-z]{1,30}_){1,5}"
_SUFFIX: Final = "[-_](?:tag|version|branch|commit)"


class Wanted(msgspec.Struct, frozen=True):
    """A version that a text should have: this one, one of a line or, with a specifier, any that it admits."""

    # The version; of a line what its versions begin with, such as 8.5; of a specifier the text of
    # it.
    text: str
    # Whether a version of the line will do.
    is_line: bool = False
    # Which versions will do.
    admitted: SpecifierSet | None = None
    # Versions that will do although the specifier does not admit them: its own bounds.
    bounds: tuple[str, ...] = ()

    def is_met_by(self, token: str) -> bool:
        """Return whether a version in a text is the wanted one."""
        if self.admitted is not None:
            version = texts.version(token)
            is_admitted = version is not None and self.admitted.contains(version, prereleases=True)
            return is_admitted or any(same_version(token, bound) for bound in self.bounds)
        if self.is_line:
            return same_version(token, self.text) or token.lower().startswith(
                f"{self.text.lower()}."
            )
        line = _ANY_OF_LINE.fullmatch(token)
        return same_version(token, self.text) or (line is not None and self._is_of_line(line[1]))

    def _is_of_line(self, line: str) -> bool:
        """Return whether the wanted version is the first of a line: `25.0.X` begins with 25.0.rc1."""
        return bool(re.fullmatch(rf"{re.escape(line)}\.(?:rc1|0)", self.text, re.IGNORECASE))

    def __str__(self) -> str:
        return f"{self.text}.*" if self.is_line else self.text


def versions_in(text: str) -> list[str]:
    """Return the versions that a text has, as it writes them."""
    return _VERSION.findall(text)


@lru_cache(1 << 14)
def same_version(first: str, second: str) -> bool:
    """Return whether two texts are one version: in letter case, by PEP 440, or as a version of CANN or HDK."""
    if first.lower() == second.lower():
        return True
    try:
        return SystemVersion.parse(first) == SystemVersion.parse(second)
    except ValueError:
        pass
    versions = texts.version(first), texts.version(second)
    if versions[0] is None or versions[1] is None:
        return False
    return versions[0] == versions[1] or _is_local_of(versions[0], versions[1])


def _is_local_of(found: Version, wanted: Version) -> bool:
    """Return whether a version is a build of the other, which says nothing of builds: 2.8.0+cpu of 2.8.0."""
    return wanted.local is None and found.public == wanted.public


@lru_cache(1 << 12)
def name_pattern(name: str) -> re.Pattern[str]:
    """Return the expression of a project's name in a text: of `torch`, but not in `torch-npu` or `intel-torch`.

    A name that has other characters than names of projects have, such as a path, is matched as it
    is.
    """
    if name.startswith(_SOC):
        family = name.removeprefix(_SOC)
        return re.compile(_SOCS.get(family, re.escape(family)), re.IGNORECASE)
    if not re.fullmatch(r"[A-Za-z0-9]+(?:[-_.][A-Za-z0-9]+)*", name):
        return re.compile(re.escape(name), re.IGNORECASE)
    words = _SEPARATOR.join(re.escape(word) for word in re.split("[-_.]", name))
    before = r"(?<![A-Za-z0-9])(?<![A-Za-z0-9][-_])"
    after = r"(?![-_]?[A-Za-z])(?![-_]\d+[A-Za-z])"
    variable = f"(?<![A-Za-z0-9]){_PREFIX}{words}{_SUFFIX}"
    return re.compile(f"(?:{before}{words}(?:{_SUFFIX})?|{variable}){after}", re.IGNORECASE)


def has_name(text: str, names: Iterable[str]) -> bool:
    """Return whether a text has one of these names."""
    return any(name_pattern(name).search(text) is not None for name in names)


def stated_versions(text: str, names: Iterable[str]) -> list[str]:
    """Return the versions that a text states of one of these names, as requirements do: `torch>=2.8,<2.10`."""
    found: list[str] = []
    for name in names:
        for match in re.finditer(name_pattern(name).pattern + _EXTRAS, text, re.IGNORECASE):
            found += _after_operators(text, match.end())
    return found


def _after_operators(text: str, at: int) -> Iterator[str]:
    """Yield the versions of the comparisons that begin at a position."""
    while (operator := _OPERATOR.match(text, at)) is not None:
        version = _VERSION.match(text, operator.end())
        if version is None:
            return
        yield version[0]
        at = version.end()
