"""The version constraints of Poetry, as specifiers (PEP 440) and markers (PEP 508).

Source: "Dependency specification" of Poetry's documentation.
"""

from __future__ import annotations

import re
from typing import Final

from packaging.version import Version

from resolver.model import text as texts

# The most characters of a constraint.
_LONGEST: Final = 1_000
_CLAUSE: Final = re.compile(
    r"(===?|~=|!=|>=|<=|[\^~<>=])?v?([0-9][0-9A-Za-z.+!_-]*?)((?:\.[*xX])*)"
)
_PLATFORM: Final = re.compile(r"(==|!=)? *([a-z0-9_]{1,40})")
_OR: Final = re.compile(r"\|\|?")
# From so many numbers on, `~1.2.3` admits what `~1.2` admits.
_MINOR: Final = 2
# The operators that tell 3.11.0 from other releases of 3.11.
_OF_FULL_VERSION: Final = ("<=", ">", "!=")
_SPECIFIER: Final = re.compile(r"(===?|~=|!=|>=|<=|[<>])([^,]+)")


def specifier(constraint: str) -> str | None:
    """Return the specifier for a constraint, such as `>=1.2,<2.0` for `^1.2`; empty for all.

    None if the constraint cannot be read, or has alternatives (`||`), which no specifier has.
    """
    if len(constraint) > _LONGEST:
        return None
    # White space parts clauses as a comma does, but not an operator from its version.
    text = re.sub(r"([=<>~^!])\s+", r"\1", constraint.strip())
    clauses = []
    for clause in re.split(r"\s*,\s*|\s+", text):
        if clause in ("", "*"):
            continue
        translated = _clause(clause)
        if translated is None:
            return None
        clauses.append(translated)
    return ",".join(clauses)


def specifiers(constraint: str) -> list[str] | None:
    """Return the specifiers for the alternatives of a constraint; None if one cannot be read."""
    if len(constraint) > _LONGEST:
        return None
    read = [specifier(part) for part in _OR.split(constraint)]
    known = [part for part in read if part is not None]
    return known if len(known) == len(read) else None


def python_marker(constraint: str) -> str | None:
    """Return the marker for a constraint on the version of Python; None if it cannot be read."""
    alternatives = specifiers(constraint)
    if alternatives is None:
        return None
    if "" in alternatives:
        return ""
    markers = [" and ".join(map(_python_clause, text.split(","))) for text in alternatives]
    return markers[0] if len(markers) == 1 else " or ".join(f"({marker})" for marker in markers)


def platform_marker(constraint: str) -> str | None:
    """Return the marker for a constraint on the platform; None if it cannot be read."""
    if len(constraint) > _LONGEST:
        return None
    markers = []
    for part in _OR.split(constraint):
        match = _PLATFORM.fullmatch(part.strip())
        if match is None:
            return None
        markers.append(f"sys_platform {match[1] or '=='} '{match[2]}'")
    return " or ".join(markers)


def _clause(text: str) -> str | None:
    """Return the specifier for one clause, or None."""
    match = _CLAUSE.fullmatch(text)
    number = texts.version(match[2]) if match is not None else None
    if match is None or number is None:
        return None
    operator, written, wildcard = match[1] or "", match[2], match[3]
    if wildcard:
        if operator not in ("", "=", "==", "!="):
            return None
        return f"{'!=' if operator == '!=' else '=='}{written}.*"
    if operator == "^":
        return f">={written},<{_next(number, _leftmost(number))}"
    if operator == "~":
        return f">={written},<{_next(number, min(len(number.release), _MINOR) - 1)}"
    return f"{operator if operator not in ('', '=') else '=='}{written}"


def _leftmost(version: Version) -> int:
    """Return the position of the number that `^` does not let change: the first that is not 0.

    Of a version that is only zeros it is the last number.
    """
    for position, number in enumerate(version.release):
        if number:
            return position
    return len(version.release) - 1


def _next(version: Version, position: int) -> str:
    """Return the first release in which the number at a position is higher."""
    numbers = list(version.release)
    numbers[position] += 1
    numbers[position + 1 :] = [0] * (len(numbers) - position - 1)
    epoch = f"{version.epoch}!" if version.epoch else ""
    return epoch + ".".join(map(str, numbers))


def _python_clause(clause: str) -> str:
    """Return the marker for one clause of a specifier of Python."""
    match = _SPECIFIER.fullmatch(clause)
    assert match is not None  # noqa: S101  `specifier` made it
    operator, version = match.groups()
    if version.count(".") >= _MINOR:
        return f"python_full_version {operator} '{version}'"
    if operator in _OF_FULL_VERSION and not version.endswith(".*"):
        # `3.11` is 3.11.0 here, so that `<=3.11` does not admit 3.11.9. `python_version` would.
        if version.replace(".", "").isdecimal():
            version += ".0" * (_MINOR - version.count("."))
        return f"python_full_version {operator} '{version}'"
    return f"python_version {operator} '{version}'"
