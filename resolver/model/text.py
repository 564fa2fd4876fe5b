"""Parsers of versions, specifiers and requirements, and checks of texts in TOML files.

Indexes repeat the same texts thousands of times, so results are cached.

The fields of types that are read from TOML files can have a function in their annotation:
`Annotated[str, function]`. `config/decode` calls the function with the text of the file and stores
what it returns. The function raises ValueError, or InputError with a hint, if the text is wrong.
The messages of these errors contain no credentials.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Final

from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as _PackagingRequirement
from packaging.specifiers import InvalidSpecifier, Specifier, SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import InvalidVersion, Version

from resolver.errors import InputError
from resolver.model.patterns import Pattern
from resolver.model.requirement import Requirement
from resolver.phrase import EMPTY, Phrase, phrase

# Held while packaging parses a requirement or a marker. It reads strings in them with
# `ast.literal_eval`, which may raise SystemError if two threads call it at once: before Python
# 3.11.8 and 3.12.2 they share a counter (python/cpython#106905).
PARSER: Final = threading.Lock()
# How many texts each cache keeps.
_CACHE_SIZE: Final = 1 << 16

# Limits that only malicious texts exceed. Without them Python and packaging would fail: `int` at
# 4,300 digits, and packaging's parser of markers by a recursion for each parenthesis.
_LONG_NUMBER: Final = re.compile(r"[0-9]{101}")
_MAX_LENGTH: Final = 16 << 10
_MAX_DEPTH: Final = 50
# The most characters of a specifier set, and of a requirement without its marker, since messages
# repeat both. Real ones have less than a fifth of it. A requirement with more characters, marker
# included, is not cached: parsed, it takes forty times the memory of its text.
LONG: Final = 1_000

# A wildcard after an ordered comparison, `>=3.6.*`, which packaging accepted before version 22.
_ORDERED_WILDCARD: Final = re.compile(r"([<>]=?\s*[0-9]+(?:\.[0-9]+)*)\.\*")

# A comment in a requirements file.
_COMMENT: Final = re.compile(r"(^|\s)#.*$")

# An option of a requirements file that names another file, or a project to install editable.
_FILE_OPTION: Final = re.compile(r"(-[rce]|--requirement|--constraint|--editable)[ =]*(.*)")

# `extra` in a marker, and its comparison with a name.
_EXTRA: Final = re.compile(r"\bextra\b")
_EXTRA_NAMED: Final = re.compile(
    r"""\bextra\s*[=!]=\s*["']([^"']*)["']|["']([^"']*)["']\s*[=!]=\s*extra\b"""
)


@lru_cache(_CACHE_SIZE)
def version(text: str) -> Version | None:
    """Return the version (PEP 440) in a text; None if the text is not a version."""
    if _why_too_long(text):
        return None
    try:
        return Version(text)
    except InvalidVersion:
        return None


def is_exact(specifier: Specifier) -> bool:
    """Return whether a specifier names a single release: `===`, or `==` without a wildcard."""
    if specifier.operator == "==":
        return not specifier.version.endswith(".*")
    return specifier.operator == "==="


def pinned_version(specifiers: SpecifierSet) -> Version | None:
    """Return the version that specifiers name exactly; None if they name none.

    `===` may name a text that is no version (PEP 440), for which the result is None, too.
    """
    for specifier in specifiers:
        if is_exact(specifier):
            return version(specifier.version)
    return None


def specifier_set(text: str) -> SpecifierSet:
    """Return the specifier set (PEP 440) in a text.

    Raises packaging's InvalidSpecifier if it is none, or has more than LONG characters.
    """
    if why := _why_too_long(text, LONG):
        raise InvalidSpecifier(why)
    return SpecifierSet(text)


@lru_cache(_CACHE_SIZE)
def python_specifiers(text: str) -> SpecifierSet | None:
    """Return the specifier set of a Requires-Python; None if it is not a specifier set.

    `>=3.6.*` is read as `>=3.6`. packaging accepted this form before version 22, with that meaning.
    uv reads it in the same way; pip ignores such a Requires-Python.
    """
    try:
        return specifier_set(_ORDERED_WILDCARD.sub(r"\1", text))
    except InvalidSpecifier:
        return None


@lru_cache(_CACHE_SIZE)
def name(text: str) -> NormalizedName:
    """Return the normalised form of a project name (PEP 503)."""
    return canonicalize_name(text)


def requirement(text: str) -> Requirement:
    """Return the requirement (PEP 508) in a text.

    Raises packaging's InvalidRequirement if it is none, or exceeds a limit of length or nesting.
    """
    if len(text) > LONG:
        return _parse_requirement(text)
    return _parse_short_requirement(text)


def _parse_requirement(text: str) -> Requirement:
    """Return the requirement in a text, without caching it. Raises InvalidRequirement."""
    without_marker = text.partition(";")[0]
    if why := _why_too_long(text) or _why_too_long(without_marker, LONG) or _why_too_deep(text):
        raise InvalidRequirement(why)
    with PARSER:
        parsed = _PackagingRequirement(text)
    return Requirement(
        name=canonicalize_name(parsed.name),
        extras=tuple(sorted({canonicalize_name(extra) for extra in parsed.extras})),
        specifier=parsed.specifier,
        marker=parsed.marker,
        url=parsed.url or "",
    )


_parse_short_requirement = lru_cache(_CACHE_SIZE)(_parse_requirement)


def file_lines(content: str) -> Iterator[tuple[int, str]]:
    """Yield the line number and the text of each line of a requirements file, as pip reads it.

    A line that ends with a backslash is joined with the next line. The joined line has the number
    of the first one, counted from 1. Comments and empty lines are left out.
    """
    lines = content.splitlines()
    # The last line may end with a backslash, too: the empty line after it ends the joined one.
    lines.append("")
    continued: list[str] = []
    for number, line in enumerate(lines, 1):
        is_comment = line.lstrip().startswith("#")
        if line.endswith("\\") and not is_comment:
            continued.append(line[:-1])
            continue
        joined = " ".join([*continued, line])
        without_comment = _COMMENT.sub("", joined).strip()
        if without_comment:
            yield number - len(continued), without_comment
        continued = []


def file_option(line: str) -> tuple[str, str]:
    """Return the option in a line of a requirements file, and its argument.

    The option is `r` (another requirements file), `c` (a constraints file) or `e` (an editable
    project). The argument is the file or the project. Both are empty for any other line.
    """
    match = _FILE_OPTION.fullmatch(line)
    if match is None:
        return "", ""
    option, argument = match.groups()
    return option.lstrip("-")[0], argument


def extras_in_marker(line: str) -> frozenset[str] | None:
    """Return the names that the marker of a requirement compares `extra` with (PEP 508).

    For an extra that is not among them, the marker has the same value as for no extra. None if
    `extra` is compared in another way: with something that is not a name, or by another operator
    than `==` and `!=`.
    """
    if "extra" not in line:
        return frozenset()
    marker = line.partition(";")[2]
    matches = _EXTRA_NAMED.finditer(marker)
    names = [canonicalize_name(match[1] or match[2] or "") for match in matches]
    if len(names) != len(_EXTRA.findall(marker)):
        return None
    return frozenset(names)


def all_extras(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the extras that the markers of these requirements name, sorted.

    A marker for which `extras_in_marker` returns None is ignored.
    """
    extras: set[str] = set()
    for line in lines:
        extras.update(extras_in_marker(line) or ())
    return tuple(sorted(extras))


def depends_on_kernel(marker: str) -> bool:
    """Return whether a marker depends on the version of the kernel, which no target states."""
    return "platform_release" in marker or "platform_version" in marker


def _why_too_long(text: str, max_length: int = _MAX_LENGTH) -> Phrase:
    """Return a phrase that says why a text is too long to be parsed; empty if it is not.

    A text is too long if it has more than `max_length` characters, or a number of more than 100
    digits.
    """
    if len(text) > max_length:
        return phrase("it has {count} characters", count=len(text))
    if len(text) > 100 and _LONG_NUMBER.search(text) is not None:
        return phrase("it has a number of more than 100 digits")
    return EMPTY


def _why_too_deep(text: str) -> Phrase:
    """Return a phrase that says how deeply a requirement is nested; empty if not too deeply."""
    if text.count("(") <= _MAX_DEPTH:
        return EMPTY
    depth = deepest = 0
    for character in text:
        if character == "(":
            depth += 1
            deepest = max(deepest, depth)
        elif character == ")":
            depth -= 1
    if deepest <= _MAX_DEPTH:
        return EMPTY
    return phrase("it has parentheses {count} deep", count=deepest)


# The name of a language, such as `en`: its texts are in `locale/en.po`.
Language = str


# --- annotations of fields that are read from TOML files (see `config/decode`)

# The list or table must have at least one element.
NOT_EMPTY: Final = "not empty"
# A list of one element may be written as the element itself, without brackets.
ALONE: Final = "one or a list"
# The field cannot be set in the file: no key of the table has its name.
UNWRITTEN: Final = "no key of the table"
# The field has no table of its own. The keys of its type are keys of the table around it.
SAME_TABLE: Final = "its keys are those of the table around it"

Where = Annotated[str, "file:line of the table"]
# Environment variables with their values, sorted by name.
Variables = tuple[tuple[str, str], ...]
RequirementLine = Annotated[str, "a requirement on a project (PEP 508), in its normal form"]
Cutoff = Annotated[datetime, "a moment, or a day that counts to its end"]
AsOfText = Annotated[str, "a day in ISO 8601, `auto` or `newest`"]


def matching(pattern: Pattern) -> Callable[[str], str]:
    """Return a function that checks a text against a pattern.

    It returns the text unchanged. It raises InputError, with the examples of the pattern as a hint,
    if the text does not match.
    """

    def read(text: str) -> str:
        if pattern.matches(text):
            return text
        hint = EMPTY
        for example in pattern.examples:
            if hint:
                hint = phrase("{hint} or {example}", hint=hint, example=example)
            else:
                hint = phrase("write for example {example}", example=example)
        raise InputError(
            phrase("`{text}` is not {description}", text=text, description=pattern.description),
            hint=hint,
        )

    return read


def printable(text: str) -> str:
    """Return a text unchanged; raise InputError if it has control characters."""
    if not text.isprintable():
        raise InputError(
            phrase("a text has characters that do not print"),
            hint=phrase("write it without line breaks, tabs and control characters"),
        )
    return text


def nonempty(text: str) -> str:
    """Return a text unchanged; raise ValueError if it is empty."""
    if not text:
        raise ValueError(phrase("it is empty"))
    return text


def sentence(text: str) -> str:
    """Return a text with single spaces between its words; raise InputError if it has no words."""
    if not text.strip():
        raise InputError(phrase("the text is empty"), hint=phrase("say it in a sentence"))
    return " ".join(text.split())


Text = Annotated[str, nonempty]
Sentence = Annotated[str, sentence]
