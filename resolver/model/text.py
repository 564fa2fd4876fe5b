"""Texts as what they mean: versions, specifiers and requirements, and what values of TOML files must be like.

Each text of which indexes repeat thousands is parsed once. A function among the annotations of a field reads the text
of a TOML file: it returns what the field has, and raises ValueError, or InputError where it has a hint. The texts that
it raises hold no credentials.
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
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import InvalidVersion, Version

from resolver.errors import InputError
from resolver.model.requirement import Requirement

_MEMO = 1 << 18

# What no honest text has, and what Python or packaging fail on in ways of their own: `int` at 4,300 digits, and a
# parser that calls itself for each parenthesis.
_NUMBER: Final = re.compile(r"[0-9]{101}")
_LONGEST: Final = 16 << 10
_DEEPEST: Final = 50
# Characters of a requirement; what is parsed of a longer one is not kept, as it is forty times as long. What is said of
# one has all of it but the marker, and no honest one has a fifth of that there.
LONG: Final = 1_000

# A wildcard after an order: `>=3.6.*`. packaging took it before version 22, and metadata of that time has it.
_ORDERED_LINE: Final = re.compile(r"([<>]=?\s*[0-9]+(?:\.[0-9]+)*)\.\*")

# A comment in a requirements file.
_COMMENT: Final = re.compile(r"(^|\s)#.*$")

# An option of a requirements file that names another file, or a project to be installed editable.
_FILE_OPTION: Final = re.compile(r"(-[rce]|--requirement|--constraint|--editable)[ =]*(.*)")

# What a marker asks of the extra.
_EXTRA: Final = re.compile(r"\bextra\b")
_EXTRA_NAMED: Final = re.compile(r"""\bextra\s*[=!]=\s*["']([^"']*)["']|["']([^"']*)["']\s*[=!]=\s*extra\b""")


@lru_cache(_MEMO)
def version(text: str) -> Version | None:
    """The PEP 440 version that `text` spells, or None where it is not one that anybody would release."""
    if _why_too_long(text):
        return None
    try:
        return Version(text)
    except InvalidVersion:
        return None


def specifier_set(text: str) -> SpecifierSet:
    """The PEP 440 specifier set that `text` spells; raises packaging's InvalidSpecifier."""
    if why := _why_too_long(text, LONG):
        raise InvalidSpecifier(why)
    return SpecifierSet(text)


@lru_cache(_MEMO)
def python_specifiers(text: str) -> SpecifierSet | None:
    """The versions that a Requires-Python admits, or None where it is not a specifier set.

    `>=3.6.*` is read as `>=3.6`, which it meant when it was valid; uv does so, too, and pip takes no notice of it.
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
    """The lines of a requirements file as pip reads them: joined where a backslash ends one, and without comments.

    Each comes with the number of the first that it is made of; empty ones do not.
    """
    begun: list[str] = []
    for number, line in enumerate((*content.splitlines(), ""), 1):
        if line.endswith("\\") and not line.lstrip().startswith("#"):
            begun.append(line[:-1])
            continue
        if whole := _COMMENT.sub("", " ".join((*begun, line))).strip():
            yield number - len(begun), whole
        begun = []


def file_option(line: str) -> tuple[str, str]:
    """`r`, `c` or `e` for that option in a requirements file, and the file or project that it names; else two empty."""
    match = _FILE_OPTION.fullmatch(line)
    return (match[1].lstrip("-")[0], match[2]) if match is not None else ("", "")


def extras_in_marker(line: str) -> frozenset[str] | None:
    """The extras that a requirement's marker names; for all others it holds as it does for none. None where it may not.

    PEP 508 has `extra` compared with a name. What it is compared by besides has a meaning of its own for each.
    """
    if "extra" not in line:
        return frozenset()
    marker = line.partition(";")[2]
    named = [canonicalize_name(match[1] or match[2] or "") for match in _EXTRA_NAMED.finditer(marker)]
    return frozenset(named) if len(named) == len(_EXTRA.findall(marker)) else None


def all_extras(lines: Iterable[str]) -> tuple[str, ...]:
    """The extras that the markers of these requirements name."""
    return tuple(sorted({extra for line in lines for extra in extras_in_marker(line) or ()}))


def depends_on_kernel(marker: str) -> bool:
    """Whether a marker asks for the kernel of a machine, which nobody knows while locking."""
    return "platform_release" in marker or "platform_version" in marker


def _why_too_long(text: str, longest: int = _LONGEST) -> str:
    """Why a text is not even parsed; empty for nearly all."""
    if len(text) > longest:
        return f"it has {len(text)} characters"
    if len(text) > 100 and _NUMBER.search(text) is not None:
        return "it has a number of more than 100 digits"
    return ""


def _nested(text: str) -> str:
    """The same for a marker with parentheses in parentheses."""
    if text.count("(") <= _DEEPEST:
        return ""
    deepest = max(accumulate((char == "(") - (char == ")") for char in text))
    return f"it has parentheses {deepest} deep" if deepest > _DEEPEST else ""


Language = str  # whose texts are in `locale/<language>.po`


# --- what a value in a TOML file must be like

NOT_EMPTY: Final = "not empty"  # of a list or table
ALONE: Final = "one or a list"  # one element need not be in a list
UNWRITTEN: Final = "no key of the table"
SAME_TABLE: Final = "its keys are those of the table around it"

Where = Annotated[str, "file:line of the table"]
Variables = tuple[tuple[str, str], ...]  # environment variables, sorted by name
RequirementLine = Annotated[str, "a requirement on a project (PEP 508), in its normal form"]
Cutoff = Annotated[datetime, "a moment, or a day that counts to its end"]


def matching(pattern: str, description: str, *examples: str) -> Callable[[str], str]:
    """A reader of texts that have this form as a whole."""
    expression = re.compile(pattern)

    def read(text: str) -> str:
        if not expression.fullmatch(text):
            hint = f"write for example {' or '.join(examples)}" if examples else ""
            raise InputError(f"`{text}` is not {description}", hint=hint)
        return text

    return read


def printable(text: str) -> str:
    """A text that scripts contain on one line."""
    if not text.isprintable():
        raise InputError(
            "a text has characters that do not print", hint="write it without line breaks, tabs and control characters"
        )
    return text


def nonempty(text: str) -> str:
    """Any text but an empty one."""
    if not text:
        raise ValueError("it is empty")
    return text


def sentence(text: str) -> str:
    """Words for people, with single spaces between them."""
    if not text.strip():
        raise InputError("the text is empty", hint="say it in a sentence")
    return " ".join(text.split())


Text = Annotated[str, nonempty]
Sentence = Annotated[str, sentence]
