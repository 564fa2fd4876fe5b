"""Turn the reasons of a contradiction into messages: sentences without a full stop.

`conflict` puts them into documents, and `json` into conflict.json. A message has a code and values,
and is translated later. Its values may be texts of indexes and archives, which are not escaped
here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from msgspec.structs import replace

from resolver.model.constraint import (
    SUPPOSED,
    BuildLine,
    ComponentValue,
    Excluded,
    Exclusive,
    ReleaseRequires,
    RequirementSource,
    StackLine,
    Unavailable,
)
from resolver.model.explanation import (
    Awaited,
    Branch,
    Closing,
    Contradiction,
    Expected,
    Explanation,
)
from resolver.model.fact import Absent, Fact, Names, Warns
from resolver.model.lock import LockedAbsent, LockedFact
from resolver.model.message import Message, first_of, joined, message, quoted, verbatim
from resolver.model.problem import Problem
from resolver.model.reason import Reason, ReleaseRange
from resolver.redaction import shown_address
from resolver.report.explanation.grouping import (
    alike,
    chosen_by,
    grouped,
    needs_text,
    said_once,
)
from resolver.report.explanation.unavailable import unavailable_sentence

# So many numbers of reasons are listed one by one.
_MANY = 12
# How many ranges of releases are named.
_SPANS = 8


def sentence(reason: Reason) -> Message:
    """Return the sentence that states a reason."""
    constraint = reason.constraint
    match constraint:
        case StackLine(text=text):
            return message(_line_code(constraint), text=text)
        case ComponentValue(component=component, value=value, label=label):
            return message("conflict.has", component=label or component, value=value)
        case BuildLine():
            return _about_releases("conflict.building", reason, needs=needs_text(reason))
        case ReleaseRequires():
            code = _requirement_code(constraint)
            return _about_releases(code, reason, needs=needs_text(reason))
        case Excluded(fact=Names(index=index) as fact):
            return _about_releases("conflict.misnamed", reason, reason=reason_of(fact), index=index)
        case Excluded(fact=excluding):
            return _about_releases("conflict.excluded", reason, reason=reason_of(excluding))
        case Exclusive(fact=Absent(package=package, other=other) as fact):
            why = reason_of(fact)
            return message("conflict.must-not-meet", package=package, other=other, reason=why)
        case Exclusive(fact=fact):
            return message(
                "conflict.shares", package=fact.package, other=fact.other, module=fact.module
            )
        case Unavailable():
            return unavailable_sentence(reason, constraint)


def _line_code(line: StackLine) -> str:
    """Return the code of the sentence about a line of the stack."""
    if line.key == "constraints":
        return "conflict.allows"
    return "conflict.to-be-taken" if line.where == SUPPOSED else "conflict.asks"


def _requirement_code(constraint: ReleaseRequires) -> str:
    """Return the code of the sentence about a requirement."""
    if constraint.fact is not None and constraint.fact.bounded_projects:
        return "conflict.constrains"
    match constraint.source:
        case RequirementSource.BUILD:
            return "conflict.building"
        case RequirementSource.LINKAGE:
            return "conflict.links"
        case RequirementSource.OVERRIDE:
            return "conflict.overrides"
        case RequirementSource.METADATA | RequirementSource.FACT:
            return "conflict.needs"


def _about_releases(code: str, about: Reason, **values: str | Message) -> Message:
    """Return a sentence about the releases of a reason. `values` are further values of it."""
    named = releases(about.subject, about.versions)
    return message(code, count=_count(about.versions), releases=named, **values)


def verdict(problem: Problem, awaited: Sequence[Awaited]) -> Iterator[Message]:
    """Yield the verdict: no solution, or that it depends on indexes which could not be reached.

    If it depends on them, what is needed from there is yielded next. Values of the target that are
    in no list of known releases come last.
    """
    stack, target = problem.stack.name, target_line(problem)
    if awaited:
        names = indexes_of(awaited)
        code = "conflict.depends-on-host" if _are_hosts(problem, awaited) else "conflict.depends"
        yield message(code, stack=stack, target=target, count=len(names), names=names)
        yield message("conflict.wanted", wanted=joined("semicolon", map(_wanted, awaited)))
    else:
        yield message("conflict.no-environment", stack=stack, target=target)
    for unknown in problem.unknown:
        yield message(
            "conflict.unknown",
            component=unknown.component.label,
            value=unknown.value,
            near=unknown.near,
        )


def _wanted(awaited: Awaited) -> Message:
    """Return the requirements on a project, with the releases that have them."""
    needs = joined("comma", awaited.needs)
    if not awaited.by:
        return needs
    return message("conflict.wanted-by", needs=needs, by=joined("comma", awaited.by))


def expected_text(expected: Expected) -> Message:
    """Return the sentence that a lock is expected once the files are fetched from their indexes."""
    indexes = quoted(wheel.index for wheel in expected.unhashed)
    files = [wheel.filename for wheel in expected.unhashed]
    return message("conflict.expected", count=len(indexes), names=indexes, files=files)


def expectation(expected: Expected) -> Iterator[Message]:
    """Yield that a lock is expected, its size, and where the requirements of each file are from."""
    yield expected_text(expected)
    yield message("conflict.expected-pins", count=len(expected.pins))
    for wheel in expected.unhashed:
        yield message(
            "conflict.expected-by",
            file=wheel.filename,
            source=wheel.source,
            checked=wheel.checked.isoformat(),
            where=wheel.where,
        )


def way_zero(explanation: Explanation) -> Iterator[Message]:
    """Yield the advice to make the indexes reachable on which the answer depends.

    Then come the addresses at which they were asked, and what a mirror must serve: the files that
    public files name, or else the requirements.
    """
    awaited = explanation.awaited
    names = indexes_of(awaited)
    is_git = _are_hosts(explanation.problem, awaited)
    code = "conflict.way-zero-git" if is_git else "conflict.way-zero"
    yield message(code, count=len(names), names=names)
    indexes = explanation.problem.indexes.indexes
    for name in dict.fromkeys(chain.from_iterable(project.indexes for project in awaited)):
        index = indexes.get(name)
        if index is not None and index.url:
            urls = [shown_address(url) for url in (index.url, *index.mirrors)]
            yield message("conflict.asked-at", index=name, count=len(urls), urls=urls)
    expected = explanation.expected
    files = [] if expected is None else [wheel.filename for wheel in expected.unhashed]
    needs = list(chain.from_iterable(project.needs for project in awaited))
    yield message("conflict.mirror-serves", count=len(files or needs), files=files or needs)


def further_ways(unreachable: Sequence[tuple[str, Sequence[str]]]) -> Message:
    """Return the remark that unreachable indexes may have releases for further ways out."""
    names = [name for name, _ in unreachable]
    indexes = quoted(chain.from_iterable(of_project for _, of_project in unreachable))
    return message("conflict.may-have-ways", indexes=indexes, names=names)


def _are_hosts(problem: Problem, awaited: Sequence[Awaited]) -> bool:
    """Return whether what could not be reached are hosts of git repositories, and no indexes."""
    names = chain.from_iterable(project.indexes for project in awaited)
    return problem.indexes.indexes.keys().isdisjoint(names)


def indexes_of(awaited: Sequence[Awaited]) -> list[str]:
    """Return the indexes that could not be reached, each once, in backticks."""
    return quoted(chain.from_iterable(project.indexes for project in awaited))


def claim(contradiction: Contradiction) -> Message:
    """Return what is claimed about the reasons of a contradiction, such as that they clash."""
    count = len(contradiction.reasons)
    if count <= 2:
        return message("conflict.claim-one" if count == 1 else "conflict.claim-two")
    return message("conflict.claim-many", count=count, fewer=count - 1)


def overall_claim(contradictions: Sequence[Contradiction]) -> Message:
    """Return what is claimed about all contradictions together.

    It is their number, or the claim of the only one.
    """
    groups = alike(condensed(contradictions))
    if len(groups) == 1:
        return claim(groups[0][0])
    return message("conflict.several", count=len(groups))


def likewise(first: Contradiction, others: Sequence[Contradiction]) -> list[Message]:
    """Return sentences that say how contradictions differ from the similar one `first`.

    They name the projects, or the lines of the stack, for which the same holds.
    """
    before = chosen_by(first)
    subjects: list[Message | str] = []
    lines: list[str] = []
    has_other_reasons = False
    for other in others:
        instead = [line.text for line in chosen_by(other) - before if isinstance(line, StackLine)]
        if other.closing is not None and not other.branches:
            subjects.append(other.closing.subject)
        elif instead:
            lines += instead
        else:
            has_other_reasons = True
    sentences = []
    if subjects:
        names = joined("comma", subjects, last="conflict.and-number")
        sentences.append(message("conflict.likewise", names=names))
    if lines:
        distinct = dict.fromkeys(lines)
        names = joined("comma", distinct, last="conflict.and-number")
        sentences.append(message("conflict.likewise-lines", count=len(distinct), lines=names))
    if has_other_reasons:
        sentences.append(message("conflict.likewise-again"))
    return sentences


def brief(contradiction: Contradiction, *, shortest: bool = False) -> Message:
    """Return the reasons of a contradiction as one sentence.

    If it has cases, or if `shortest` is set, only lines and components are named, which the user
    chose. If there are none among the reasons, all reasons are named.
    """
    chosen = [
        reason
        for reason in contradiction.reasons
        if isinstance(reason.constraint, StackLine | ComponentValue)
    ]
    is_chosen_only = bool(contradiction.branches) or (shortest and bool(chosen))
    reasons = chosen if is_chosen_only else contradiction.reasons
    return joined("semicolon", map(sentence, reasons))


def brief_ends(contradiction: Contradiction) -> list[Message]:
    """Return, for each case of a contradiction, the package for which it leaves no candidate.

    Without cases there is one such sentence.
    """
    if not contradiction.branches:
        closing = contradiction.closing
        return [] if closing is None else [message("conflict.no-choice", subject=closing.subject)]
    ends = []
    for branch in contradiction.branches:
        case = releases(branch.subject, branch.versions)
        if branch.closing is not None:
            end = message("conflict.no-choice", subject=branch.closing.subject)
            ends.append(message("conflict.labelled", label=case, text=end))
        elif branch.branches:
            ends.append(
                message("conflict.case-ends", case=case, subject=branch.branches[0].subject)
            )
    return ends


def condensed(contradictions: Sequence[Contradiction]) -> tuple[Contradiction, ...]:
    """Return the contradictions that a reader sees, each once.

    Long ones are grouped. A warning about a release is kept only where it comes first.
    """
    mentioned: set[str] = set()
    result = []
    for contradiction in said_once(contradictions):
        notes = tuple(note for note in contradiction.notes if note.id not in mentioned)
        mentioned.update(note.id for note in notes)
        result.append(replace(grouped(contradiction), notes=notes))
    return tuple(result)


def closing_sentence(closing: Closing) -> Message:
    """Return the sentence that reasons leave no candidate for a package."""
    return message(
        "conflict.closing",
        count=len(closing.numbers),
        numbers=numbers(closing.numbers),
        subject=closing.subject,
    )


def branch_sentence(branch: Branch) -> Message:
    """Return the sentence about one case, or the heading of the cases in it."""
    case = releases(branch.subject, branch.versions)
    if branch.branches:
        return message("conflict.case-cases", case=case, subject=branch.branches[0].subject)
    if branch.closing is None:
        return case
    return message("conflict.labelled", label=case, text=closing_sentence(branch.closing))


def numbers(items: Sequence[int]) -> Message:
    """Return numbers of reasons as text, such as `1, 3 and 4`.

    Of many numbers, consecutive ones are written as `1-40`.
    """
    runs: list[tuple[int, ...]] = []
    for number in items:
        if len(items) > _MANY and runs and number == runs[-1][-1] + 1:
            runs[-1] = runs[-1][0], number
        else:
            runs.append((number,))
    texts = ["-".join(map(str, run)) for run in runs]
    return joined("comma", texts, last="conflict.and-number")


def releases(subject: str, versions: Sequence[ReleaseRange]) -> Message:
    """Return releases as text, such as `trl 0.27.0 to 0.29.1 (5 releases)`.

    Without versions it is "every release". For very many ranges it is only their ends and the
    number of releases.
    """
    if not versions:
        return message("conflict.every", subject=subject)
    if len(versions) > _SPANS:
        ends = {"oldest": versions[-1].oldest, "newest": versions[0].newest}
        return message("conflict.scattered", subject=subject, count=_count(versions), **ends)
    spans: list[str | Message] = []
    for span in versions:
        if span.count > 2:
            spans.append(
                message("conflict.range", oldest=span.oldest, newest=span.newest, count=span.count)
            )
        else:
            spans += [span.oldest, span.newest][: span.count]
    return message("conflict.release", subject=subject, versions=spans)


def _count(versions: Sequence[ReleaseRange]) -> int:
    """Return the number of releases; 1 without versions, because "every release" is singular."""
    return sum(span.count for span in versions) or 1


def reason_of(stated: Fact | LockedFact | LockedAbsent) -> Message:
    """Return the reason that a fact gives. It is in English if it has no translation."""
    return verbatim(stated.reason, stated.reason_zh)


def warning_text(fact: Warns) -> Message:
    """Return the text of a warning. It is in English if it has no translation."""
    return verbatim(fact.text, fact.text_zh)


def missing_sentence(missing: Sequence[str], most: int | None) -> Message:
    """Return the sentence about further projects that no index has.

    It has at most `most` of the names; None for all of them.
    """
    names = first_of(missing, most or len(missing))
    return message("conflict.also-missing", count=len(missing), names=names)


def target_line(problem: Problem) -> Message:
    """Return a target as text: platform, Python, components and the group of the stack."""
    target = problem.target
    parts: list[str | Message] = [target.platform, f"Python {target.python}"]
    for name, value in target.stated.items():
        label = target.components[name].label
        parts.append(message("report.component", name=label, version=value))
    if problem.stack.group:
        parts.append(message("group.named", name=problem.stack.group))
    return joined("conflict.clause", parts)
