"""Turn the reasons of a contradiction into messages: sentences without a full stop.

`conflict` puts them into documents, and `json` into conflict.json. A message has a code and values,
and is translated later. Its values may be texts of indexes and archives, which are not escaped
here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain

from msgspec.structs import replace

from resolver.model.constraint import (
    SUPPOSED,
    BuildLine,
    ComponentValue,
    Excluded,
    Exclusive,
    NoCandidate,
    RequirementSource,
    Requires,
    StackLine,
    Unavailable,
    WhyNot,
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
from resolver.model.message import Message, first_of, joined, message, verbatim
from resolver.model.problem import Problem
from resolver.model.reason import Evidence, Reason, RejectedRelease, ReleaseRange, UnparsedFiles
from resolver.model.release import Rejection, RejectionReason
from resolver.model.target import missing_on_machine, newer_glibc
from resolver.redaction import shown_address
from resolver.report.explanation.reasons import (
    alike,
    chosen_by,
    grouped,
    needs_text,
    said_once,
    wanted_text,
)

# Reasons for a rejection that say nothing about the particular file.
_SAME_FOR_ALL = (RejectionReason.DYNAMIC, RejectionReason.UNOPENED)
# So many numbers of reasons are listed one by one.
_MANY = 12
# How many files of one release are named.
_FILES = 4
# How many ranges of releases are named.
_SPANS = 8
# The codes of the sentences about releases that a policy excludes.
_POLICY: Mapping[WhyNot, str] = {
    NoCandidate.PRERELEASE: "conflict.prerelease",
    NoCandidate.NEEDLESS: "conflict.needless",
    RejectionReason.YANKED: "conflict.yanked",
}
# The words before a value that a wheel needs.
_PARTS = {"python": "Python ", "glibc": "glibc "}


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
        case Requires():
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
            return _unavailable_sentence(reason, constraint)


def _line_code(line: StackLine) -> str:
    """Return the code of the sentence about a line of the stack."""
    if line.key == "constraints":
        return "conflict.allows"
    return "conflict.to-be-taken" if line.where == SUPPOSED else "conflict.asks"


def _requirement_code(constraint: Requires) -> str:
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


def reason_details(reason: Reason) -> tuple[Message, ...]:
    """Return the lines below the sentence of a reason; empty for most reasons.

    For releases that cannot be used, they say which files were rejected and why, whether a fact
    could help, and which indexes were not asked.
    """
    constraint, evidence = reason.constraint, reason.evidence
    if not isinstance(constraint, Unavailable):
        return ()
    return (
        *_rejections(constraint, evidence),
        *_fact_hint(constraint, evidence),
        *_left_out(constraint, evidence),
        *_own_index(constraint, evidence),
    )


def _rejections(constraint: Unavailable, evidence: Evidence) -> Iterator[Message]:
    """Yield lines that say why releases cannot be used.

    Releases that a newer glibc would make usable come first. Releases with the same reason share a
    line.
    """
    machine = dict(evidence.machine)
    refusals = [refusal for refusal in evidence.refusals if refusal.files]
    by_glibc: dict[str, list[str]] = {}
    by_reason: dict[object, list[RejectedRelease]] = {}
    for refusal in refusals:
        glibc = _newer_glibc(refusal, machine)
        if glibc:
            by_glibc.setdefault(glibc, []).append(refusal.version)
        else:
            by_reason.setdefault(_refused_for(refusal, machine), []).append(refusal)
    for glibc, versions in by_glibc.items():
        named = message("conflict.release", subject=str(constraint.package), versions=versions)
        yield message(
            "conflict.newer-glibc",
            count=len(versions),
            releases=named,
            glibc=glibc,
            has=machine["glibc"],
        )
    if len(evidence.refusals) > 1:
        for with_same_reason in by_reason.values():
            yield _rejected_together(with_same_reason, machine)
        return
    files = list(chain.from_iterable(refusal.files for refusal in refusals))
    is_about_files = constraint.why is NoCandidate.FILE or constraint.is_unusable
    if len(files) == 1 and is_about_files and evidence.count <= 1:
        # The sentence of the reason names the file already.
        return
    for file in files[:_FILES]:
        yield _rejected_file(file, machine)
    if len(files) > _FILES:
        yield message("conflict.and-more-files", count=len(files) - _FILES)


def _refused_for(refusal: RejectedRelease, machine: Mapping[str, str]) -> object:
    """Return a key that is the same for releases which cannot be used for the same reason."""
    file = refusal.files[0]
    if len(refusal.files) > 1:
        return _reasons(refusal.files, machine)
    if file.reason in _SAME_FOR_ALL:
        return file.reason
    return (file.reason, file.detail) if file.detail else refusal.version


def _rejected_together(refusals: Sequence[RejectedRelease], machine: Mapping[str, str]) -> Message:
    """Return the line about releases that cannot be used for the same reason."""
    first = refusals[0]
    versions = [refusal.version for refusal in refusals]
    if len(first.files) > 1:
        reason = _reasons(first.files, machine)
        if len(refusals) == 1:
            names = first_of([file.filename for file in first.files], _FILES)
            reason = message("conflict.in-brackets", text=reason, extra=names)
        return message("conflict.labelled", label=versions, text=reason)
    if len(refusals) == 1:
        return _rejected_file(first.files[0], machine)
    reason = message("conflict.each-file", predicate=_predicate(first.files[0]))
    return message("conflict.labelled", label=versions, text=reason)


def _newer_glibc(refusal: RejectedRelease, machine: Mapping[str, str]) -> str:
    """Return the glibc with which a release would have a usable wheel; empty if none helps."""
    names = (file.filename for file in refusal.files if file.reason is RejectionReason.TAGS)
    return newer_glibc(names, machine) if machine else ""


def _fact_hint(constraint: Unavailable, evidence: Evidence) -> Iterator[Message]:
    """Yield the hint that a fact can make an archive without static metadata usable."""
    if not constraint.is_unusable:
        return
    for refusal in evidence.refusals:
        is_dynamic = any(file.reason is RejectionReason.DYNAMIC for file in refusal.files)
        if is_dynamic and not _newer_glibc(refusal, dict(evidence.machine)):
            project = constraint.project
            yield message("conflict.tellable", subject=project, version=refusal.version)
            return


def _left_out(constraint: Unavailable, evidence: Evidence) -> Iterator[Message]:
    """Yield which indexes were not asked, because the stack binds the project to other ones."""
    if evidence.left_out:
        names = _quoted(evidence.left_out)
        project = constraint.project
        yield message("conflict.left-out", count=len(names), names=names, subject=project)


def _own_index(constraint: Unavailable, evidence: Evidence) -> Iterator[Message]:
    """Yield how a stack names the index of a project that no index has, if nothing else is meant.

    It may be a private project: indexes in the settings of pip are not asked for it.
    """
    is_known_elsewhere = evidence.meant or evidence.left_out or evidence.unreachable
    if constraint.why is NoCandidate.PROJECT and not is_known_elsewhere:
        yield message("conflict.own-index", subject=constraint.project)


def _quoted(names: Iterable[str]) -> list[str]:
    """Return each name once, in backticks."""
    return [f"`{name}`" for name in dict.fromkeys(names)]


def verdict(problem: Problem, awaited: Sequence[Awaited]) -> Iterator[Message]:
    """Yield the verdict: no solution, or that it depends on indexes which could not be reached.

    If it depends on them, what is needed from there is yielded next. Values of the target that are
    in no list of known releases come last.
    """
    about = partial(message, stack=problem.stack.name, target=target_line(problem))
    if awaited:
        names = indexes_of(awaited)
        yield about("conflict.depends", count=len(names), names=names)
        yield message("conflict.wanted", wanted=joined("semicolon", map(_wanted, awaited)))
    else:
        yield about("conflict.no-environment")
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
    indexes = _quoted(wheel.index for wheel in expected.unhashed)
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
    yield message("conflict.way-zero", count=len(names), names=names)
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
    indexes = _quoted(chain.from_iterable(of_project for _, of_project in unreachable))
    return message("conflict.may-have-ways", indexes=indexes, names=names)


def indexes_of(awaited: Sequence[Awaited]) -> list[str]:
    """Return the indexes that could not be reached, each once, in backticks."""
    return _quoted(chain.from_iterable(project.indexes for project in awaited))


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


def reason_of(fact: Fact) -> Message:
    """Return the reason that a fact gives. It is in English if it has no translation."""
    return verbatim(fact.reason, fact.reason_zh)


def warning_text(fact: Warns) -> Message:
    """Return the text of a warning. It is in English if it has no translation."""
    return verbatim(fact.text, fact.text_zh)


def missing_sentence(missing: Sequence[str], most: int | None = None) -> Message:
    """Return the sentence about further projects that no index has, with at most `most` names."""
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


def _unavailable_sentence(reason: Reason, constraint: Unavailable) -> Message:
    """Return the sentence that releases cannot be used, as the constraint of a reason says."""
    evidence = reason.evidence
    about = partial(
        message, subject=str(constraint.package), wanted=constraint.wanted, newest=evidence.newest
    )
    match constraint.why:
        case NoCandidate.PROJECT:
            meant = evidence.meant
            code = "conflict.no-project-meant" if meant else "conflict.no-project"
            return about(code, meant=meant)
        case NoCandidate.RELEASE:
            return _no_release_sentence(reason)
        case NoCandidate.COMMIT:
            return about("conflict.no-release-at-commit")
        case NoCandidate.UNREACHABLE:
            return about("conflict.unreachable", names=_quoted(evidence.unreachable))
        case NoCandidate.PRERELEASE | NoCandidate.NEEDLESS | RejectionReason.YANKED as why:
            return _with_releases(_POLICY[why], constraint, evidence)
        case RejectionReason.NEWER:
            code = "conflict.later-than" if _all_dated(evidence) else "conflict.cutoff-of"
            code = code if evidence.cutoff else "conflict.cutoff"
            return _with_releases(code, constraint, evidence)
        case _:
            return _with_reasons(constraint, evidence)


def _no_release_sentence(reason: Reason) -> Message:
    """Return the sentence that no release meets a specifier, with the nearest ones that exist."""
    evidence, wanted = reason.evidence, wanted_text(reason)
    about = partial(message, subject=reason.subject, wanted=wanted, newest=evidence.newest)
    if evidence.unread:
        files = joined("conflict.clause", map(_unparsed, evidence.unread))
        return about("conflict.no-release-read", files=files)
    if not wanted:
        return about("conflict.no-release-at-all")
    match evidence.nearest:
        case (older, newer):
            return about("conflict.no-release-between", older=older, newer=newer)
        case (nearest,) if nearest != evidence.newest:
            return about("conflict.no-release-before", nearest=nearest)
    return about("conflict.no-release" if evidence.newest else "conflict.no-release-or-newest")


def _with_releases(code: str, constraint: Unavailable, evidence: Evidence) -> Message:
    """Return the sentence with this code about the releases that cannot be used.

    If they are not listed one by one, it is about every release.
    """
    about = partial(message, code, cutoff=evidence.cutoff)
    if not evidence.refusals:
        subject: str | Message = str(constraint.package)
        if constraint.wanted:
            subject = message("conflict.within", subject=subject, wanted=constraint.wanted)
        return about(count=1, releases=message("conflict.every", subject=subject))
    versions = [_dated(refusal, evidence.cutoff) for refusal in evidence.refusals]
    if evidence.count > len(versions):
        versions.append(message("conflict.more-releases", count=evidence.count - len(versions)))
    named = message("conflict.release", subject=str(constraint.package), versions=versions)
    return about(count=max(evidence.count, len(evidence.refusals)), releases=named)


def _all_dated(evidence: Evidence) -> bool:
    """Return whether all rejected releases are listed, and all their files have an upload date."""
    files = list(chain.from_iterable(refusal.files for refusal in evidence.refusals))
    is_complete = bool(files) and evidence.count == len(evidence.refusals)
    return is_complete and all(
        file.reason is RejectionReason.NEWER and file.detail for file in files
    )


def _dated(refusal: RejectedRelease, cutoff: str) -> str | Message:
    """Return a version, with the day of its first upload if a cut-off rejects it."""
    moments = [
        file.detail
        for file in refusal.files
        if file.reason is RejectionReason.NEWER and file.detail
    ]
    if not cutoff or not moments:
        return refusal.version
    return message("conflict.uploaded", version=refusal.version, day=min(moments).partition("T")[0])


def _with_reasons(constraint: Unavailable, evidence: Evidence) -> Message:
    """Return the sentence that releases have no file, or none that can be used.

    If there is only one release, the sentence also says why.
    """
    code = "conflict.unusable" if constraint.is_unusable else "conflict.no-file"
    text = _with_releases(code, constraint, evidence)
    if max(evidence.count, len(evidence.refusals)) != 1:
        return text
    files = evidence.refusals[0].files
    if not files:
        return text
    if constraint.is_unusable and files[0].detail:
        # The detail is more precise than the reason.
        return message("conflict.labelled", label=text, text=files[0].detail)
    machine = dict(evidence.machine)
    reasons = _rejected_file(files[0], machine) if len(files) == 1 else _reasons(files, machine)
    return message("conflict.labelled", label=text, text=reasons)


def _unparsed(files: UnparsedFiles) -> Message:
    """Return how many files could not be assigned to a release and why, with an example."""
    count = files.count
    predicate = message(files.reason.code, count=count)
    text = message("conflict.some-files", count=count, predicate=predicate)
    example = message("conflict.such-as", count=count, filename=files.filename)
    return message("conflict.in-brackets", text=text, extra=example)


def _reasons(files: Sequence[Rejection], machine: Mapping[str, str]) -> Message:
    """Return why the files of a release were rejected, each reason once."""
    by_reason: dict[RejectionReason, list[Rejection]] = {}
    for file in files:
        by_reason.setdefault(file.reason, []).append(file)
    if len(by_reason) == 1:
        predicate = _needs_of_machine(files, machine, 1) or message(files[0].reason.code, count=1)
        return message("conflict.each-file", count=1, predicate=predicate)
    clauses = []
    for reason, of_reason in by_reason.items():
        count = len(of_reason)
        predicate = _needs_of_machine(of_reason, machine, count) or message(
            reason.code, count=count
        )
        clauses.append(message("conflict.some-files", count=count, predicate=predicate))
    return joined("conflict.clause", clauses)


def _rejected_file(file: Rejection, machine: Mapping[str, str]) -> Message:
    """Return why one file was rejected, after its name."""
    predicate = _needs_of_machine([file], machine, 1) or _predicate(file)
    return message("conflict.file-set-aside", filename=file.filename, predicate=predicate)


def _predicate(file: Rejection) -> Message:
    """Return why a file was rejected, with the details that its name does not have."""
    reason = message(file.reason.code, count=1)
    # The name of a wheel has its tags, for example.
    if not file.detail or file.detail in file.filename:
        return reason
    return message("conflict.in-brackets", text=reason, extra=file.detail)


def _needs_of_machine(
    files: Sequence[Rejection], machine: Mapping[str, str], count: int
) -> Message | None:
    """Return what wheels need of a machine, the nearest first, and what the target has instead.

    None if this cannot be seen in one of the file names.
    """
    if not machine or any(file.reason is not RejectionReason.TAGS for file in files):
        return None
    missing = [missing_on_machine(file.filename, machine) for file in files]
    if not all(missing):
        return None
    # A file that needs more than another one is not mentioned.
    least = [tags for tags in missing if not any(fewer.items() < tags.items() for fewer in missing)]
    needs = list(dict.fromkeys(joined("comma", _values(tags), last="and") for tags in least))
    listed: list[str | Message] = [*needs[:_FILES]]
    if len(needs) > _FILES:
        listed.append("…")
    keys = set(chain.from_iterable(least))
    has: list[str | Message] = []
    if "system" in keys:
        has.append(message("conflict.linux"))
    has += _values({key: value for key, value in machine.items() if key in keys})
    return message(
        "conflict.needs-of-machine", count=count, needs=joined("conflict.or", listed), has=has
    )


def _values(tags: Mapping[str, str]) -> list[str]:
    """Return the values of tags as text, such as `glibc 2.34`."""
    return [_PARTS.get(key, "") + value for key, value in tags.items()]
