"""Statements besides their sentences: which are shown as one, and where each comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from msgspec.structs import replace
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.model.dependency import NeedSource
from resolver.model.explanation import Branch, Closing, Contradiction
from resolver.model.fact import Fact
from resolver.model.message import Message, joined, message
from resolver.model.resolution import (
    Asks,
    Forbids,
    Has,
    Lack,
    Lacks,
    Needs,
    ReleaseRange,
    Shares,
    Statement,
)
from resolver.model.source import References, brief_text, link_of
from resolver.report import document

_SCREEN = 10  # statements that are shown one by one
_OR = " | "
_REQUIRED_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # PEP 508
_FILE = re.compile(r".+(?::\d+|\.whl|\.zip|\.tar\.gz)")  # anything else is the name of an index
_MATRICES = re.compile(r"matrices/(?P<path>(?!.*\.\.)[^:\s]+\.toml):(?P<line>\d+)")


def grouped(contradiction: Contradiction) -> Contradiction:
    """A contradiction that fits a screen: requirements on one subject together, and cases by what they lack.

    Nothing changes what is claimed: a minimal core without several of its statements has a
    solution, too.
    """
    if len(contradiction.statements) <= _SCREEN:
        return contradiction
    groups: dict[object, list[Statement]] = {}
    keys = [
        _cause(statement) or number for number, statement in enumerate(contradiction.statements)
    ]
    for key, statement in zip(keys, contradiction.statements, strict=True):
        groups.setdefault(key, []).append(statement)
    group_numbers = {key: number for number, key in enumerate(groups, 1)}
    numbers = {old: group_numbers[key] for old, key in enumerate(keys, 1)}
    return replace(
        contradiction,
        statements=tuple(map(_together, groups.values())),
        closing=_renumbered([contradiction.closing], numbers),
        branches=_cases(contradiction.branches, numbers),
    )


def _cause(statement: Statement) -> object:
    """What statements that are shown as one have in common; None for one that stays by itself."""
    match statement:
        case Needs() if statement.versions:
            return statement.subject, statement.source, needed_name(statement)
        case Lacks(lack=Lack.RELEASE):
            return statement.subject, statement.lack
        case _:
            return None


def needed_name(statement: Needs) -> str:
    """The project or component that a statement's requirement is about, or the first of several in one statement."""
    match = _REQUIRED_NAME.match(statement.needs)
    return canonicalize_name(match[0]) if match is not None else statement.needs


def _together(statements: Sequence[Statement]) -> Statement:
    """Statements with one cause as one, with the place of that about the newest releases."""
    needs = sorted((row for row in statements if isinstance(row, Needs)), key=_newest, reverse=True)
    if len(needs) > 1:
        spans = _spans(row.versions for row in needs)
        return replace(needs[0], versions=spans, needs=_any_of([row.needs for row in needs]))
    lacks = [row for row in statements if isinstance(row, Lacks)]
    if len(lacks) > 1:
        return replace(lacks[0], wanted=_OR.join(row.wanted for row in lacks), nearest=())
    return statements[0]


def _any_of(needs: Sequence[str]) -> str:
    """`cann in A | B` for requirements on one component that name values; else one after the other."""
    values = [need.partition(" in ")[2] for need in needs]
    if not all(values):
        return _OR.join(dict.fromkeys(needs))
    distinct = dict.fromkeys(value for alternatives in values for value in alternatives.split(_OR))
    return f"{needs[0].partition(' in ')[0]} in {_OR.join(distinct)}"


def _cases(branches: Sequence[Branch], numbers: dict[int, int]) -> tuple[Branch, ...]:
    """The cases that end for want of the same thing together, the newest releases first."""
    groups: dict[object, list[Branch]] = {}
    for at, branch in enumerate(branches):
        key = (branch.subject, branch.closing.subject) if branch.closing is not None else at
        groups.setdefault(key, []).append(branch)
    cases = [
        replace(
            group[0],
            versions=_spans(branch.versions for branch in group),
            closing=_renumbered([branch.closing for branch in group], numbers),
            branches=_cases(group[0].branches, numbers),
        )
        for group in groups.values()
    ]
    return tuple(sorted(cases, key=_newest, reverse=True))


def _renumbered(closings: Sequence[Closing | None], numbers: dict[int, int]) -> Closing | None:
    rows = [closing for closing in closings if closing is not None]
    distinct = {numbers[number] for closing in rows for number in closing.numbers}
    return replace(rows[0], numbers=tuple(sorted(distinct))) if rows else None


def _spans(versions: Iterable[Sequence[ReleaseRange]]) -> tuple[ReleaseRange, ...]:
    distinct = dict.fromkeys(span for spans in versions for span in spans)
    return tuple(sorted(distinct, key=lambda span: Version(span.newest), reverse=True))


def _newest(row: Needs | Branch) -> Version:
    return max((Version(span.newest) for span in row.versions), default=Version("0"))


# --- where a statement comes from


def sort_of(statement: Statement) -> str:
    """The kind of origin, in one word that is the same in every language."""
    match statement:
        case Asks():
            return "stack"
        case Has():
            return "target"
        case Needs(source=NeedSource.METADATA):
            return "metadata"
        case Needs(source=NeedSource.BUILD):
            return "build"
        case Needs(source=NeedSource.LINKAGE):
            return "binaries"
        case Needs() | Forbids() | Shares() | Lacks(lack=Lack.SOURCE):
            return "fact"
        case Lacks():
            return "index"


def origin_span(statement: Statement) -> document.Span:
    """The origin of a statement, without the fact's strength, and the link to it if it is in our files."""
    where = statement.where
    match statement:
        case Needs(source=NeedSource.METADATA):
            return document.Span(message("conflict.metadata-of", filename=where))
        case Needs(source=NeedSource.LINKAGE):
            return document.Span(message("conflict.binaries-of", filename=where))
        case Needs(source=NeedSource.BUILD, fact=None):
            return document.Span(message("conflict.build-of", filename=where))
        case Lacks(lack=Lack.UNUSABLE, refusals=refusals) if refusals:
            return document.Span(
                joined("comma", [refusal.files[0].filename for refusal in refusals])
            )
        case Lacks() if where and not _FILE.fullmatch(where):
            return document.Span(_looked_up(statement))
        case Asks() | Has() | Needs() | Forbids() | Shares() | Lacks():
            return document.Span(where, source_line(where))


def _looked_up(statement: Lacks) -> Message:
    """The indexes that answered, and those that did not."""
    failed = ", ".join(statement.unreachable)
    answered = ", ".join(
        name for name in statement.where.split(", ") if name not in statement.unreachable
    )
    parts = [message("conflict.looked-up", indexes=answered)] if answered else []
    return joined(
        "semicolon", parts + ([message("conflict.not-reached", indexes=failed)] if failed else [])
    )


def with_strength(fact: Fact, where: str = "") -> Message:
    """The strength of a fact, after its place."""
    return message(
        "conflict.with-strength", where=where, strength=message(f"strength.{fact.strength.value}")
    )


def source_line(where: str) -> str:
    """The link to a file:line of the matrices, relative to their folder; empty for any other place."""
    match = _MATRICES.fullmatch(where)
    return f"{quote(match['path'])}#L{match['line']}" if match else ""


def cited(source: References) -> document.Line:
    """Return the references of a fact, with short commits, each with the address of what it cites if a page has it."""
    spans: list[document.Span] = []
    for reference in source.references:
        if spans:
            spans.append(document.Span("; "))
        spans.append(document.Span(document.one_line(brief_text(reference)), link_of(reference)))
    return tuple(spans)
