"""How cells of upstream's tables are read: each reader returns the plain form of a text, and raises ValueError."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from packaging.version import InvalidVersion, Version

from resolver.model.requirement import ComponentRequirement
from resolver.model.system import SystemVersion

_RANGE = re.compile(r"(\d+(?:\.\d+)?)\.[Xx]")
_STAGE = re.compile(r"\.(rc|t)(?=\d)", re.IGNORECASE)
# What stands in a cell that has no value.
NOTHING: Final = frozenset(["", "N/A", "n/a", "NA", "-", "/", "None"])


def version(text: str) -> str:
    """Return a version of a project: `v2.1.0.rc1` is 2.1.0rc1."""
    try:
        return str(Version(text.strip()))
    except InvalidVersion:
        raise ValueError(f"`{text}` is not a version") from None


def series(text: str) -> str:
    """Return a version, or the series that several begin with: `v0.10.1/v0.10.1.1` is 0.10.1.*."""
    first, *others = [version(part) for part in text.split("/")]
    if not others:
        return first
    if all(other.startswith(f"{first}.") for other in others):
        return f"{first}.*"
    raise ValueError(f"`{text}` names several releases that are no series")


def cann(text: str) -> str:
    """Return a CANN, or a release line: `CANN 8.3.rc1` is 8.3.RC1, and `9.1.X` is 9.1.*."""
    plain = text.strip()
    if plain[:4].upper() == "CANN":
        plain = plain[4:].strip()
    if line := _RANGE.fullmatch(plain):
        return f"{line[1]}.*"
    plain = _STAGE.sub(lambda match: match[0].upper(), plain)
    SystemVersion.parse(plain)
    return plain


def cann_or_build(text: str) -> str:
    """Return a CANN for people, which may be a build that only the vendor has: `9.2.0_2026` is `9.2.0 (2026)`."""
    release, mark, build = text.partition("_")
    return f"{cann(release)} ({build})" if mark else cann(release)


def python(text: str) -> str:
    """Return comparisons with Python, such as `>= 3.10, < 3.13`."""
    parts = [part.strip() for part in text.split(",")]
    plain = ", ".join(re.sub(r"^([<>=!]=?)\s*", r"\1 ", part) for part in parts)
    if ComponentRequirement.parse(f"python {plain}") is None:
        raise ValueError(f"`{text}` is no range of Pythons, such as `>= 3.10, < 3.13`")
    return plain


def text(text: str) -> str:
    """Return a text as it is."""
    return text


def after_dash(text: str) -> str:
    """Return what comes after the first dash: the branch `v2.9.0-26.0.0` is of the series 26.0.0."""
    _, dash, rest = text.partition("-")
    if not dash or not rest:
        raise ValueError(f"`{text}` has nothing after a dash")
    return rest


READERS: Final[Mapping[str, Callable[[str], str]]] = {
    "after-dash": after_dash,
    "cann": cann,
    "cann-or-build": cann_or_build,
    "python": python,
    "series": series,
    "text": text,
    "version": version,
}
