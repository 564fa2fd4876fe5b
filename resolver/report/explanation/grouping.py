"""Group the reasons of contradictions for people, and say where each reason comes from."""

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
    ReleaseRequires,
    RequirementSource,
    StackLine,
    Unavailable,
)
from resolver.model.explanation import Branch, Closing, Contradiction
from resolver.model.fact import Fact
from resolver.model.message import Message, joined, message
from resolver.model.reason import Reason, ReleaseRange, requirement_of
from resolver.model.source import References, brief_text, link_of
from resolver.report import document

# So many reasons are shown one by one. More are grouped.
_SCREEN = 10
# Separates alternatives, as in `cann in 8.5.0 | 8.5.1`.
_OR = " | "
# The name at the beginning of a requirement (PEP 508).
_REQUIRED_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# A place in a file, or the name of a wheel or archive. Anything else is the name of an index.
_FILE = re.compile(r".+(?::\d+|\.whl|\.zip|\.tar\.gz)")
# A place in a file of the folder `matrices`.
_MATRICES = re.compile(r"matrices/(?P<path>(?!.*\.\.)[^:\s]+\.toml):(?P<line>\d+)")


def members_of(reason: Reason) -> tuple[Reason, ...]:
    """Return the reasons that are stated with a reason: those of a group, or itself alone."""
    return reason.members or (reason,)


def needs_text(reason: Reason) -> str:
    """Return the requirements that a reason states, as one text.

    Those of a group are `cann in A | B` if they list values, or joined by `|`. Empty if the reason
    states no requirement.
    """
    needs = [need for need in map(requirement_of, members_of(reason)) if need is not None]
    return _any_of(needs) if len(needs) > 1 else "".join(needs)


def wanted_text(reason: Reason) -> str:
    """Return the specifiers for which a reason says that there is no release, as one text."""
    constraints = [member.constraint for member in members_of(reason)]
    return _OR.join(lack.wanted for lack in constraints if isinstance(lack, Unavailable))


def said_once(contradictions: Sequence[Contradiction]) -> list[Contradiction]:
    """Return contradictions. Those that only repeat another one for other lines are left out.

    Such a contradiction has all reasons of the other one, lines and components apart. For example,
    `vllm-ascend` needs the `vllm` of a line, so it clashes with everything that the line clashes
    with.
    """
    known = [_known_of(contradiction) for contradiction in contradictions]
    kept: list[int] = []
    for number, facts in enumerate(known):
        if not any(known[other] and known[other] <= facts for other in kept):
            kept = [other for other in kept if not facts or not facts <= known[other]]
            kept.append(number)
    return [contradictions[number] for number in kept]


def _known_of(contradiction: Contradiction) -> set[Constraint]:
    """Return the constraints of a contradiction that the user did not choose (see `chosen_by`)."""
    members = chain.from_iterable(map(members_of, contradiction.reasons))
    return {reason.constraint for reason in members} - chosen_by(contradiction)


def alike(contradictions: Sequence[Contradiction]) -> list[list[Contradiction]]:
    """Return contradictions in groups of similar ones.

    Contradictions are similar if they differ only in the project for which they leave no candidate,
    for example three lines for which no index has a wheel. Contradictions with cases are similar if
    they have the same lines and components; also if one has a line in place of another line whose
    project it requires, such as torchvision in place of torch.
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
    """Return whether a contradiction is in the group that begins with `first` (see `alike`)."""
    shape = _shape(contradiction)
    if shape is not None and shape == _shape(first):
        return True
    if not contradiction.branches or not first.branches:
        return False
    chosen, before = chosen_by(contradiction), chosen_by(first)
    return chosen == before or _is_by_way_of(contradiction, chosen - before, before - chosen)


def chosen_by(contradiction: Contradiction) -> set[Constraint]:
    """Return the lines and components in a contradiction: what the user chose."""
    return {
        reason.constraint
        for reason in contradiction.reasons
        if isinstance(reason.constraint, StackLine | ComponentValue)
    }


def _is_by_way_of(
    contradiction: Contradiction, lines: set[Constraint], others: set[Constraint]
) -> bool:
    """Return whether a contradiction has one line in place of another line.

    Each of `lines` and `others` must be one line. The project of the first must require the project
    of the second in this contradiction.
    """
    if len(lines) != 1 or len(others) != 1:
        return False
    (line,), (other,) = lines, others
    if not isinstance(line, StackLine) or not isinstance(other, StackLine):
        return False
    project, needed = needed_name(line.text), needed_name(other.text)
    return any(
        isinstance(reason.constraint, ReleaseRequires)
        and reason.subject == project
        and needed_name(reason.constraint.text) == needed
        for reason in contradiction.reasons
    )


def _shape(contradiction: Contradiction) -> object:
    """Return a key that is equal for contradictions that differ only in the project.

    The project is the one for which they leave no candidate. None for a contradiction with cases,
    or about a component.
    """
    closing = contradiction.closing
    if closing is None or contradiction.branches or not isinstance(closing.subject, str):
        return None
    subject = closing.subject
    return frozenset(_shape_of_reason(reason, subject) for reason in contradiction.reasons)


def _shape_of_reason(reason: Reason, subject: str) -> tuple[object, ...]:
    """Return a key of a reason, without the name and the versions of a project."""
    constraint = reason.constraint
    match constraint:
        case StackLine() | ReleaseRequires():
            stated = constraint.text if isinstance(constraint, StackLine) else needs_text(reason)
            is_about_subject = needed_name(stated) == subject
            owner = reason.subject if isinstance(constraint, ReleaseRequires) else ""
            is_of_subject = owner == subject
            return sort_of(reason), is_of_subject or owner, is_about_subject or stated
        case Excluded():
            return sort_of(reason), constraint.project == subject, type(constraint.fact)
        case Unavailable():
            return sort_of(reason), constraint.project == subject, constraint.why
        case BuildLine() | ComponentValue() | Exclusive():
            return (reason,)


def grouped(contradiction: Contradiction) -> Contradiction:
    """Return a contradiction with at most a screen of reasons, if it can be grouped so far.

    Requirements of one project on another become one reason, and cases that leave no candidate for
    the same package become one case. What is claimed stays true: if the core is minimal, it also
    has a solution without several of its reasons.
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
    """Return a key that is equal for reasons that become one; None for one that stays alone."""
    constraint = reason.constraint
    match constraint:
        case ReleaseRequires() | BuildLine() if reason.versions:
            return reason.subject, source_of(constraint), needed_name(constraint.text)
        case Unavailable(why=NoCandidate.RELEASE):
            return reason.subject, constraint.why
        case _:
            return None


def source_of(constraint: ReleaseRequires | BuildLine) -> RequirementSource:
    """Return where a requirement comes from."""
    return RequirementSource.BUILD if isinstance(constraint, BuildLine) else constraint.source


def needed_name(requirement: str) -> str:
    """Return the name of the project or component that a requirement is about.

    If there are several requirements in the text, the first one counts.
    """
    match = _REQUIRED_NAME.match(requirement)
    return canonicalize_name(match[0]) if match is not None else requirement


def _together(reasons: Sequence[Reason]) -> Reason:
    """Return reasons with the same cause as one, which is stated in one sentence.

    It has the constraint and the place of the reason about the newest releases, and the releases of
    all reasons.
    """
    if len(reasons) == 1:
        return reasons[0]
    newest, *others = sorted(reasons, key=_newest, reverse=True)
    return replace(
        newest,
        versions=_spans(reason.versions for reason in reasons),
        # What is nearest to one specifier is not nearest to another.
        evidence=replace(newest.evidence, nearest=()),
        members=(newest, *others),
    )


def _any_of(needs: Sequence[str]) -> str:
    """Return requirements as one text, see `needs_text`."""
    component, _, _ = needs[0].partition(" in ")
    values = [need.partition(" in ")[2] for need in needs]
    if not all(values):
        return _OR.join(dict.fromkeys(needs))
    distinct = dict.fromkeys(_OR.join(values).split(_OR))
    return f"{component} in {_OR.join(distinct)}"


def _grouped_branches(branches: Sequence[Branch], numbers: dict[int, int]) -> tuple[Branch, ...]:
    """Return cases, newest releases first. Cases with the same conclusion become one.

    `numbers` has the new number of each reason by its old one.
    """
    groups: dict[object, list[Branch]] = {}
    for number, branch in enumerate(branches):
        closing = branch.closing
        key = number if closing is None else (branch.subject, closing.subject)
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
    """Return conclusions about the same package as one, with the new numbers of their reasons.

    None if the first of them is None.
    """
    first = closings[0]
    if first is None:
        return None
    together: set[int] = set()
    for closing in closings:
        if closing is not None:
            together.update(numbers[number] for number in closing.numbers)
    return replace(first, numbers=tuple(sorted(together)))


def _spans(versions: Iterable[Sequence[ReleaseRange]]) -> tuple[ReleaseRange, ...]:
    """Return ranges of releases as one list, each once, newest first."""
    distinct = dict.fromkeys(chain.from_iterable(versions))
    return tuple(sorted(distinct, key=lambda span: Version(span.newest), reverse=True))


def _newest(about: Reason | Branch) -> Version:
    """Return the newest version of a reason or a case; 0 if it has no versions."""
    return max((Version(span.newest) for span in about.versions), default=Version("0"))


# --- where a reason comes from


def sort_of(reason: Reason) -> str:
    """Return where a reason comes from, as one word that is the same in every language."""
    match reason.constraint:
        case StackLine():
            return "stack"
        case ComponentValue():
            return "target"
        case BuildLine():
            return "build"
        case ReleaseRequires(source=RequirementSource.LINKAGE):
            return "binaries"
        case ReleaseRequires(source=RequirementSource.OVERRIDE):
            return "stack"
        case ReleaseRequires(source=source):
            return source.value
        case Excluded() | Exclusive() | Unavailable(why=NoCandidate.COMMIT):
            return "fact"
        case Unavailable():
            return "index"


def origin_span(reason: Reason) -> document.Span:
    """Return the origin of a reason, with a link if it is a place in our files."""
    where, constraint = reason.where, reason.constraint
    match constraint:
        case ReleaseRequires(source=RequirementSource.METADATA):
            return document.Span(message("conflict.metadata-of", filename=where))
        case ReleaseRequires(source=RequirementSource.LINKAGE):
            return document.Span(message("conflict.binaries-of", filename=where))
        case ReleaseRequires(source=RequirementSource.BUILD, fact=None) | BuildLine(fact=None):
            return document.Span(message("conflict.build-of", filename=where))
        case Unavailable() if constraint.is_unusable and reason.evidence.refusals:
            files = [refusal.files[0].filename for refusal in reason.evidence.refusals]
            return document.Span(joined("comma", files))
        case Unavailable() if where and not _FILE.fullmatch(where):
            return document.Span(_looked_up(reason))
        case _:
            return document.Span(where, source_line(where))


def _looked_up(reason: Reason) -> Message:
    """Return which indexes answered and which did not, for a reason about an index."""
    unreachable = reason.evidence.unreachable
    answered = [name for name in reason.where.split(", ") if name not in unreachable]
    parts = []
    if answered:
        parts.append(message("conflict.looked-up", indexes=", ".join(answered)))
    if unreachable:
        parts.append(message("conflict.not-reached", indexes=", ".join(unreachable)))
    return joined("semicolon", parts)


def with_strength(fact: Fact, where: str = "") -> Message:
    """Return the strength of a fact, after its place if one is given."""
    strength = message(f"strength.{fact.strength.value}")
    return message("conflict.with-strength", where=where, strength=strength)


def source_line(where: str) -> str:
    """Return the link to a place in the folder `matrices`, relative to that folder.

    Empty for any other place.
    """
    match = _MATRICES.fullmatch(where)
    return f"{quote(match['path'])}#L{match['line']}" if match else ""


def cited(source: References) -> document.Line:
    """Return the references of a fact as one line, with short hashes of commits.

    A reference is a link if there is a web page of what it cites.
    """
    spans: list[document.Span] = []
    for reference in source.references:
        if spans:
            spans.append(document.Span("; "))
        spans.append(document.Span(document.one_line(brief_text(reference)), link_of(reference)))
    return tuple(spans)
