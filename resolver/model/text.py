"""Parsers of texts: versions, specifiers and requirements, and checks of texts in TOML files.

Texts that indexes repeat thousands of times are parsed once. A function in the annotation of a
field reads a text of a TOML file: it returns the value of the field, and raises ValueError, or
InputError with a hint, without credentials.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import lru_cache
from itertools import accumulate
from typing import Annotated, Final

from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as _PackagingRequirement
from packaging.specifiers import InvalidSpecifier, Specifier, SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import InvalidVersion, Version

from resolver.errors import InputError
from resolver.model.patterns import Pattern
from resolver.model.requirement import Requirement

_MEMO = 1 << 16

# Beyond these limits, which no honest text reaches, Python and packaging fail: `int` at 4,300
# digits, and a parser that recurses for each parenthesis.
_NUMBER: Final = re.compile(r"[0-9]{101}")
_LONGEST: Final = 16 << 10
_DEEPEST: Final = 50
# Characters of a requirement; longer ones are not cached, as what is parsed takes forty times the
# memory. Messages repeat a requirement without its marker, which must not be longer, either: no
# honest one has a fifth of that.
LONG: Final = 1_000

# A wildcard after an ordered comparison, `>=3.6.*`, which packaging accepted before version 22.
_ORDERED_LINE: Final = re.compile(r"([<>]=?\s*[0-9]+(?:\.[0-9]+)*)\.\*")

# A comment in a requirements file.
_COMMENT: Final = re.compile(r"(^|\s)#.*$")

# An option of a requirements file that names another file, or a project to be installed editable.
_FILE_OPTION: Final = re.compile(r"(-[rce]|--requirement|--constraint|--editable)[ =]*(.*)")

# `extra` in a marker, and its comparison with a name.
_EXTRA: Final = re.compile(r"\bextra\b")
_EXTRA_NAMED: Final = re.compile(
    r"""\bextra\s*[=!]=\s*["']([^"']*)["']|["']([^"']*)["']\s*[=!]=\s*extra\b"""
)


@lru_cache(_MEMO)
def version(text: str) -> Version | None:
    """The PEP 440 version that `text` spells, or None if it is none."""
    if _why_too_long(text):
        return None
    try:
        return Version(text)
    except InvalidVersion:
        return None


def is_exact(specifier: Specifier) -> bool:
    """Return whether a specifier names one release and no other: `===`, or `==` without a wildcard (PEP 440)."""
    return specifier.operator == "===" or (
        specifier.operator == "==" and not specifier.version.endswith(".*")
    )


def specifier_set(text: str) -> SpecifierSet:
    """The PEP 440 specifier set that `text` spells; raises packaging's InvalidSpecifier."""
    if why := _why_too_long(text, LONG):
        raise InvalidSpecifier(why)
    return SpecifierSet(text)


@lru_cache(_MEMO)
def python_specifiers(text: str) -> SpecifierSet | None:
    """The versions that a Requires-Python admits, or None if it is not a specifier set.

    `>=3.6.*` is read as `>=3.6`, which it meant when it was valid, like by uv; pip ignores it.
    """
    try:
        return specifier_set(_ORDERED_LINE.sub(r"\1", text))
    except InvalidSpecifier:
        return None


@lru_cache(_MEMO)
def name(text: str) -> NormalizedName:
    """The PEP 503 normalised form of a project name."""
    return canonicalize_name(text)


def requirement(text: str) -> Requirement:
    """The PEP 508 requirement that `text` spells; raises packaging's InvalidRequirement."""
    return _cached_requirement(text) if len(text) <= LONG else _parsed(text)


def _parsed(text: str) -> Requirement:
    if why := _why_too_long(text) or _why_too_long(text.partition(";")[0], LONG) or _nested(text):
        raise InvalidRequirement(why)
    parsed = _PackagingRequirement(text)
    return Requirement(
        name=canonicalize_name(parsed.name),
        extras=tuple(sorted({canonicalize_name(extra) for extra in parsed.extras})),
        specifier=parsed.specifier,
        marker=parsed.marker,
        url=parsed.url or "",
    )


_cached_requirement = lru_cache(_MEMO)(_parsed)


def file_lines(content: str) -> Iterator[tuple[int, str]]:
    """The lines of a requirements file as pip reads them: continuations joined, without comments and empty lines.

    Each has the number of the first line that it is made of.
    """
    continued: list[str] = []
    for number, line in enumerate((*content.splitlines(), ""), 1):
        if line.endswith("\\") and not line.lstrip().startswith("#"):
            continued.append(line[:-1])
            continue
        if joined := _COMMENT.sub("", " ".join((*continued, line))).strip():
            yield number - len(continued), joined
        continued = []


def file_option(line: str) -> tuple[str, str]:
    """`r`, `c` or `e` for that option in a requirements file, and the file or project that it names; else two empty."""
    match = _FILE_OPTION.fullmatch(line)
    return (match[1].lstrip("-")[0], match[2]) if match is not None else ("", "")


def extras_in_marker(line: str) -> frozenset[str] | None:
    """The extras that a requirement's marker names: for all others it evaluates as without any.

    None if it may not.

    That is if `extra` is compared other than by `==` and `!=` with a name, as PEP 508 has it.
    """
    if "extra" not in line:
        return frozenset()
    marker = line.partition(";")[2]
    names = [
        canonicalize_name(match[1] or match[2] or "") for match in _EXTRA_NAMED.finditer(marker)
    ]
    return frozenset(names) if len(names) == len(_EXTRA.findall(marker)) else None


def all_extras(lines: Iterable[str]) -> tuple[str, ...]:
    """The extras that the markers of these requirements name."""
    return tuple(sorted({extra for line in lines for extra in extras_in_marker(line) or ()}))


def depends_on_kernel(marker: str) -> bool:
    """Whether a marker depends on the kernel of a machine, which is not known while locking."""
    return "platform_release" in marker or "platform_version" in marker


def _why_too_long(text: str, longest: int = _LONGEST) -> str:
    """Why a text is too long to be parsed; "" if it is not."""
    if len(text) > longest:
        return f"it has {len(text)} characters"
    if len(text) > 100 and _NUMBER.search(text) is not None:
        return "it has a number of more than 100 digits"
    return ""


def _nested(text: str) -> str:
    """Why a requirement is nested too deeply to be parsed; "" if it is not."""
    if text.count("(") <= _DEEPEST:
        return ""
    deepest = max(accumulate((char == "(") - (char == ")") for char in text))
    return f"it has parentheses {deepest} deep" if deepest > _DEEPEST else ""


Language = str  # whose texts are in `locale/<language>.po`


# --- annotations of values in TOML files

NOT_EMPTY: Final = "not empty"  # of a list or table
ALONE: Final = "one or a list"  # one element need not be in a list
UNWRITTEN: Final = "no key of the table"
SAME_TABLE: Final = "its keys are those of the table around it"

Where = Annotated[str, "file:line of the table"]
Variables = tuple[tuple[str, str], ...]  # environment variables, sorted by name
RequirementLine = Annotated[str, "a requirement on a project (PEP 508), in its normal form"]
Cutoff = Annotated[datetime, "a moment, or a day that counts to its end"]
AsOfText = Annotated[str, "a day in ISO 8601, `auto` or `newest`"]


def matching(pattern: Pattern) -> Callable[[str], str]:
    """Return a reader of texts of this form, which raises InputError for any other."""

    def read(text: str) -> str:
        if not pattern.matches(text):
            hint = f"write for example {' or '.join(pattern.examples)}" if pattern.examples else ""
            raise InputError(f"`{text}` is not {pattern.description}", hint=hint)
        return text

    return read


def printable(text: str) -> str:
    """A text without control characters, for scripts."""
    if not text.isprintable():
        raise InputError(
            "a text has characters that do not print",
            hint="write it without line breaks, tabs and control characters",
        )
    return text


def nonempty(text: str) -> str:
    """Any text but an empty one."""
    if not text:
        raise ValueError("it is empty")
    return text


def sentence(text: str) -> str:
    """A text with single spaces between its words."""
    if not text.strip():
        raise InputError("the text is empty", hint="say it in a sentence")
    return " ".join(text.split())


Text = Annotated[str, nonempty]
Sentence = Annotated[str, sentence]
