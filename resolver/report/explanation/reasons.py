"""Reasons besides their sentences: which are shown as one, and where each comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain
from urllib.parse import quote

from msgspec.structs import replace
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.model.constraint import (
    BuildLine,
    ComponentValue,
    Constraint,
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
from resolver.model.reason import Reason, ReleaseRange, requirement_of
from resolver.model.source import References, brief_text, link_of
from resolver.report import document

# reasons that are shown one by one
_SCREEN = 10
_OR = " | "
# PEP 508
_REQUIRED_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# a place in a file, or an archive; anything else is the name of an index
_FILE = re.compile(r".+(?::\d+|\.whl|\.zip|\.tar\.gz)")
_MATRICES = re.compile(r"matrices/(?P<path>(?!.*\.\.)[^:\s]+\.toml):(?P<line>\d+)")


def said_once(contradictions: Sequence[Contradiction]) -> list[Contradiction]:
    """Return contradictions without those that say what another one says of other lines.

    Such a one has all of the other's reasons apart from lines and components: `vllm-ascend`, which
    needs the `vllm` of a line, clashes with whatever clashes with that line.
    """
    known = [
        set(map(_known_of, contradiction.reasons)) - {None} for contradiction in contradictions
    ]
    kept: list[int] = []
    for number, facts in enumerate(known):
        if not any(known[other] and known[other] <= facts for other in kept):
            kept = [other for other in kept if not facts or not facts <= known[other]]
            kept.append(number)
    return [contradictions[number] for number in kept]


def _known_of(reason: Reason) -> Constraint | None:
    """Return a reason's constraint; None for a line or a component, which somebody chose."""
    if isinstance(reason.constraint, StackLine | ComponentValue):
        return None
    return reason.constraint


def alike(contradictions: Sequence[Contradiction]) -> list[list[Contradiction]]:
    """Return contradictions in groups of those that say the same of different projects.

    Such are three lines that no index has a wheel for, torch and torchvision where another project
    pins both, a line about torchvision where one about torch is in the way of the same lines, and
    another reason for what takes several cases to show already.
    """
    groups: list[list[Contradiction]] = []
    for contradiction in contradictions:
        for group in groups:
            if _is_like(contradiction, group[0]):
                group.append(contradiction)
                break
        else:
            groups.append([contradiction])
    return groups


def _is_like(contradiction: Contradiction, first: Contradiction) -> bool:
    """Return whether a contradiction says the same as one before of another project."""
    shape = _shape(contradiction)
    if shape is not None and shape == _shape(first):
        return True
    if not contradiction.branches or not first.branches:
        return False
    chosen, before = chosen_by(contradiction), chosen_by(first)
    return chosen == before or _is_by_way_of(contradiction, chosen - before, before - chosen)


def chosen_by(contradiction: Contradiction) -> set[Constraint]:
    """Return the lines and components in a contradiction."""
    return {
        reason.constraint
        for reason in contradiction.reasons
        if isinstance(reason.constraint, StackLine | ComponentValue)
    }


def _is_by_way_of(
    contradiction: Contradiction, lines: set[Constraint], others: set[Constraint]
) -> bool:
    """Return whether a contradiction has one line in place of another, whose project that needs."""
    if len(lines) != 1 or len(others) != 1:
        return False
    (line,), (other,) = lines, others
    if not isinstance(line, StackLine) or not isinstance(other, StackLine):
        return False
    project, needed = needed_name(line.text), needed_name(other.text)
    return any(
        isinstance(reason.constraint, Requires)
        and reason.subject == project
        and needed_name(reason.constraint.text) == needed
        for reason in contradiction.reasons
    )


def _shape(contradiction: Contradiction) -> object:
    """Return what a contradiction says, apart from the project that it leaves no choice for.

    None if it says more than that.
    """
    closing = contradiction.closing
    if closing is None or contradiction.branches or not isinstance(closing.subject, str):
        return None
    subject = closing.subject
    return frozenset(_shape_of_reason(reason, subject) for reason in contradiction.reasons)


def _shape_of_reason(reason: Reason, subject: str) -> tuple[object, ...]:
    """Return what a reason says, without the name and the versions of a project."""
    constraint = reason.constraint
    match constraint:
        case StackLine() | Requires():
            is_about_it = needed_name(constraint.text) == subject
            owner = reason.subject if isinstance(constraint, Requires) else ""
            what = sort_of(reason), owner == subject or owner
            return (*what, is_about_it or constraint.text)
        case Excluded():
            return sort_of(reason), constraint.project == subject, type(constraint.fact)
        case Unavailable():
            return sort_of(reason), constraint.project == subject, constraint.why
        case BuildLine() | ComponentValue() | Exclusive():
            return (reason,)


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
        closing=_closing_of([contradiction.closing], numbers),
        branches=_grouped_branches(contradiction.branches, numbers),
    )


def _cause(reason: Reason) -> object:
    """Return what reasons shown as one have in common; None for one that stays by itself."""
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
    newest = reasons[0]
    match newest.constraint:
        case Requires() | BuildLine():
            texts = [need for need in map(requirement_of, reasons) if need is not None]
            return replace(
                newest,
                constraint=replace(newest.constraint, text=_any_of(texts)),
                versions=_spans(reason.versions for reason in reasons),
            )
        case Unavailable():
            constraints = [reason.constraint for reason in reasons]
            wanted = [lack.wanted for lack in constraints if isinstance(lack, Unavailable)]
            return replace(
                newest,
                constraint=replace(newest.constraint, wanted=_OR.join(wanted)),
                evidence=replace(newest.evidence, nearest=()),
            )
        case _:
            # `_cause` has no others together
            raise AssertionError(newest)


def _any_of(needs: Sequence[str]) -> str:
    """Return requirements as one: `cann in A | B` if they name values, else one after the other."""
    component, _, _ = needs[0].partition(" in ")
    values = [need.partition(" in ")[2] for need in needs]
    if not all(values):
        return _OR.join(dict.fromkeys(needs))
    distinct = dict.fromkeys(_OR.join(values).split(_OR))
    return f"{component} in {_OR.join(distinct)}"


def _grouped_branches(branches: Sequence[Branch], numbers: dict[int, int]) -> tuple[Branch, ...]:
    """Return the cases that end for want of the same thing together, the newest releases first."""
    groups: dict[object, list[Branch]] = {}
    for place, branch in enumerate(branches):
        closing = branch.closing
        key = place if closing is None else (branch.subject, closing.subject)
        groups.setdefault(key, []).append(branch)
    grouped_branches = [
        replace(
            group[0],
            versions=_spans(branch.versions for branch in group),
            closing=_closing_of([branch.closing for branch in group], numbers),
            branches=_grouped_branches(group[0].branches, numbers),
        )
        for group in groups.values()
    ]
    return tuple(sorted(grouped_branches, key=_newest, reverse=True))


def _closing_of(closings: Sequence[Closing | None], numbers: dict[int, int]) -> Closing | None:
    """Return closings of one subject as one, with the new numbers of their reasons."""
    first = closings[0]
    if first is None:
        return None
    together: set[int] = set()
    for closing in closings:
        if closing is not None:
            together.update(numbers[number] for number in closing.numbers)
    return replace(first, numbers=tuple(sorted(together)))


def _spans(versions: Iterable[Sequence[ReleaseRange]]) -> tuple[ReleaseRange, ...]:
    """Return the ranges of all, each once, newest first."""
    distinct = dict.fromkeys(chain.from_iterable(versions))
    return tuple(sorted(distinct, key=lambda span: Version(span.newest), reverse=True))


def _newest(about: Reason | Branch) -> Version:
    return max((Version(span.newest) for span in about.versions), default=Version("0"))


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
        case Requires(source=RequirementSource.OVERRIDE):
            return "stack"
        case Requires(source=source):
            return source.value
        case Excluded() | Exclusive() | Unavailable(why=NoCandidate.COMMIT):
            return "fact"
        case Unavailable():
            return "index"


def origin_span(reason: Reason) -> document.Span:
    """Return the origin of a reason without its fact's strength, linked if it is in our files."""
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
    """Return the strength of a fact, after its place."""
    strength = message(f"strength.{fact.strength.value}")
    return message("conflict.with-strength", where=where, strength=strength)


def source_line(where: str) -> str:
    """Return the link to a file:line of the matrices, relative to their folder.

    It is empty for any other place.
    """
    match = _MATRICES.fullmatch(where)
    return f"{quote(match['path'])}#L{match['line']}" if match else ""


def cited(source: References) -> document.Line:
    """Return the references of a fact, with short commits.

    Each has the address of what it cites, if a page has it.
    """
    spans: list[document.Span] = []
    for reference in source.references:
        if spans:
            spans.append(document.Span("; "))
        spans.append(document.Span(document.one_line(brief_text(reference)), link_of(reference)))
    return tuple(spans)
