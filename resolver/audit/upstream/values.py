"""Read the texts in upstream's tables as values, such as versions.

Each reader returns the normal form of a text, and raises ValueError for a text that it cannot read.
The key `read` of a table in upstream.toml names the reader of a column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from packaging.version import InvalidVersion, Version

from resolver.ascend.versions import parse_version
from resolver.model.component import BUILT_IN
from resolver.model.requirement import ComponentRequirement
from resolver.phrase import phrase

# A release line such as `9.1.X`.
_LINE = re.compile(r"(\d+(?:\.\d+)?)\.[Xx]")
# A part such as `.rc1` or `.t1`, which CANN spells in capitals.
_STAGE = re.compile(r"\.(rc|t)(?=\d)", re.IGNORECASE)
# What tables have in place of a missing value.
NOTHING: Final = frozenset(["", "N/A", "n/a", "NA", "-", "/", "None"])


def version(text: str) -> str:
    """Return a version of a project in the form of PEP 440: `v2.1.0.rc1` is 2.1.0rc1."""
    try:
        return str(Version(text.strip()))
    except InvalidVersion:
        raise ValueError(phrase("`{text}` is not a version", text=text)) from None


def series(text: str) -> str:
    """Return a version, or the series of several: `v0.10.1/v0.10.1.1` is 0.10.1.*.

    The first version must be the beginning of all others.
    """
    first, *others = [version(part) for part in text.split("/")]
    if not others:
        return first
    if all(other.startswith(f"{first}.") for other in others):
        return f"{first}.*"
    raise ValueError(phrase("`{text}` names several releases that are no series", text=text))


def cann(text: str) -> str:
    """Return a version or release line of CANN: `CANN 8.3.rc1` is 8.3.RC1, `9.1.X` is 9.1.*."""
    plain = text.strip()
    if plain[:4].upper() == "CANN":
        plain = plain[4:].strip()
    line = _LINE.fullmatch(plain)
    if line is not None:
        return f"{line[1]}.*"
    plain = _STAGE.sub(lambda match: match[0].upper(), plain)
    parse_version(plain)
    return plain


def _cann_or_build(text: str) -> str:
    """Return a version of CANN, or of a vendor's build: `9.2.0_2026` is `9.2.0 (2026)`.

    Such a build is one that only the vendor has.
    """
    release, underscore, build = text.partition("_")
    return f"{cann(release)} ({build})" if underscore else cann(release)


def python(text: str) -> str:
    """Return comparisons with versions of Python in normal form: `>= 3.10, < 3.13`."""
    parts = [part.strip() for part in text.split(",")]
    plain = ", ".join(re.sub(r"^([<>=!]=?)\s*", r"\1 ", part) for part in parts)
    if ComponentRequirement.parse(f"python {plain}", BUILT_IN) is None:
        raise ValueError(
            phrase("`{text}` is no range of Pythons, such as `>= 3.10, < 3.13`", text=text)
        )
    return plain


def text(text: str) -> str:
    """Return a text unchanged."""
    return text


def _after_dash(text: str) -> str:
    """Return what follows the first hyphen: `v2.9.0-26.0.0` is 26.0.0."""
    _, _, after = text.partition("-")
    if not after:
        raise ValueError(phrase("`{text}` has nothing after a dash", text=text))
    return after


READERS: Final[Mapping[str, Callable[[str], str]]] = {
    "after-dash": _after_dash,
    "cann": cann,
    "cann-or-build": _cann_or_build,
    "python": python,
    "series": series,
    "text": text,
    "version": version,
}
