"""Reasons besides their sentences: which are shown as one, and where each comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from msgspec.structs import replace
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.model.constraint import (
    BuildLine,
    ComponentValue,
    Excluded,
    Exclusive,
    NoCandidate,
    RequirementSource,
    Requires,
    StackLine,
    Unavailable,
)
from resolver.model.explanation import Branch, Closing, Contradiction
from resolver.model.fact import Fact
from resolver.model.message import Message, joined, message
from resolver.model.reason import Reason, ReleaseRange
from resolver.model.source import References, brief_text, link_of
from resolver.report import document

_SCREEN = 10  # reasons that are shown one by one
_OR = " | "
_REQUIRED_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # PEP 508
_FILE = re.compile(r".+(?::\d+|\.whl|\.zip|\.tar\.gz)")  # anything else is the name of an index
_MATRICES = re.compile(r"matrices/(?P<path>(?!.*\.\.)[^:\s]+\.toml):(?P<line>\d+)")


def grouped(contradiction: Contradiction) -> Contradiction:
    """Return a contradiction that fits a screen.

    Requirements of one subject on another are together, and so are cases that end for want of the
    same thing. Nothing changes what is claimed: a minimal core without several of its reasons has
    a solution, too.
    """
    if len(contradiction.reasons) <= _SCREEN:
        return contradiction
    groups: dict[object, list[Reason]] = {}
    keys = [_cause(reason) or number for number, reason in enumerate(contradiction.reasons)]
    for key, reason in zip(keys, contradiction.reasons, strict=True):
        groups.setdefault(key, []).append(reason)
    group_numbers = {key: number for number, key in enumerate(groups, 1)}
    numbers = {old: group_numbers[key] for old, key in enumerate(keys, 1)}
    return replace(
        contradiction,
        reasons=tuple(map(_together, groups.values())),
        closing=_renumbered([contradiction.closing], numbers),
        branches=_cases(contradiction.branches, numbers),
    )


def _cause(reason: Reason) -> object:
    """Return what reasons that are shown as one have in common; None for one that stays by itself."""
    constraint = reason.constraint
    match constraint:
        case Requires() | BuildLine() if reason.versions:
            return reason.subject, source_of(constraint), needed_name(constraint.text)
        case Unavailable(why=NoCandidate.RELEASE):
            return reason.subject, constraint.why
        case _:
            return None


def source_of(constraint: Requires | BuildLine) -> RequirementSource:
    """Return where a requirement is from."""
    return RequirementSource.BUILD if isinstance(constraint, BuildLine) else constraint.source


def needed_name(requirement: str) -> str:
    """Return the project or component that a requirement is about, or the first of several."""
    match = _REQUIRED_NAME.match(requirement)
    return canonicalize_name(match[0]) if match is not None else requirement


def _together(reasons: Sequence[Reason]) -> Reason:
    """Return reasons with one cause as one, with the place of the one about the newest releases."""
    if len(reasons) == 1:
        return reasons[0]
    reasons = sorted(reasons, key=_newest, reverse=True)
    first, constraints = reasons[0], [reason.constraint for reason in reasons]
    match first.constraint:
        case Requires() | BuildLine():
            texts = [row.text for row in constraints if isinstance(row, (Requires, BuildLine))]
            return replace(
                first,
                constraint=replace(first.constraint, text=_any_of(texts)),
                versions=_spans(reason.versions for reason in reasons),
            )
        case Unavailable():
            wanted = [row.wanted for row in constraints if isinstance(row, Unavailable)]
            return replace(
                first,
                constraint=replace(first.constraint, wanted=_OR.join(wanted)),
                evidence=replace(first.evidence, nearest=()),
            )
        case _:
            raise AssertionError(first)  # `_cause` has no others together


def _any_of(needs: Sequence[str]) -> str:
    """Return requirements as one: `cann in A | B` if they name values, else one after the other."""
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


def _newest(row: Reason | Branch) -> Version:
    return max((Version(span.newest) for span in row.versions), default=Version("0"))


# --- where a reason comes from


def sort_of(reason: Reason) -> str:
    """Return the kind of origin, in one word that is the same in every language."""
    match reason.constraint:
        case StackLine():
            return "stack"
        case ComponentValue():
            return "target"
        case BuildLine():
            return "build"
        case Requires(source=RequirementSource.LINKAGE):
            return "binaries"
        case Requires(source=source):
            return source.value
        case Excluded() | Exclusive() | Unavailable(why=NoCandidate.COMMIT):
            return "fact"
        case Unavailable():
            return "index"


def origin_span(reason: Reason) -> document.Span:
    """Return the origin of a reason, without its fact's strength, with a link if it is in our files."""
    where, constraint = reason.where, reason.constraint
    match constraint:
        case Requires(source=RequirementSource.METADATA):
            return document.Span(message("conflict.metadata-of", filename=where))
        case Requires(source=RequirementSource.LINKAGE):
            return document.Span(message("conflict.binaries-of", filename=where))
        case Requires(source=RequirementSource.BUILD, fact=None) | BuildLine(fact=None):
            return document.Span(message("conflict.build-of", filename=where))
        case Unavailable() if constraint.is_unusable and reason.evidence.refusals:
            files = [refusal.files[0].filename for refusal in reason.evidence.refusals]
            return document.Span(joined("comma", files))
        case Unavailable() if where and not _FILE.fullmatch(where):
            return document.Span(_looked_up(reason))
        case _:
            return document.Span(where, source_line(where))


def _looked_up(reason: Reason) -> Message:
    """Return the indexes that answered, and those that did not."""
    unreachable = reason.evidence.unreachable
    answered = [name for name in reason.where.split(", ") if name not in unreachable]
    parts = []
    if answered:
        parts.append(message("conflict.looked-up", indexes=", ".join(answered)))
    if unreachable:
        parts.append(message("conflict.not-reached", indexes=", ".join(unreachable)))
    return joined("semicolon", parts)


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
