"""Statements as sentences, without a full stop. Texts from outside are not escaped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from msgspec.structs import replace

from resolver.model.dependency import NeedSource
from resolver.model.explanation import Awaited, Branch, Closing, Contradiction
from resolver.model.fact import Absent, Fact, Names, Warns
from resolver.model.message import Message, joined, message, verbatim
from resolver.model.problem import Problem
from resolver.model.release import Rejection, RejectionReason
from resolver.model.resolution import (
    Asks,
    Forbids,
    Has,
    Lack,
    Lacks,
    Needs,
    RejectedRelease,
    ReleaseRange,
    Shares,
    Statement,
    UnparsedFiles,
)
from resolver.model.target import component_name, missing_on_machine, newer_glibc
from resolver.report.explanation.statements import grouped

_PLAIN = (RejectionReason.DYNAMIC, RejectionReason.UNOPENED)  # said of one file as of another
_MANY = 12  # numbers that are listed one by one
_FILES = 4  # files of one release that are named
_SPANS = 8  # runs of releases that are named
_POLICY = {Lack.PRERELEASE: "conflict.prerelease", Lack.NEEDLESS: "conflict.needless", Lack.YANKED: "conflict.yanked"}
_PARTS = {"python": "Python ", "glibc": "glibc "}  # of what a wheel needs


def sentence(statement: Statement) -> Message:
    """The statement as one sentence."""
    match statement:
        case Asks(text=text, where=where):
            return message("conflict.to-be-taken" if where.startswith("--") else "conflict.asks", text=text)
        case Has(component=component, value=value):
            return message("conflict.has", component=component_name(component), value=value)
        case Needs(subject=subject, versions=versions, needs=needs):
            code = "conflict.building" if statement.source is NeedSource.BUILD else "conflict.needs"
            return message(code, count=_count(versions), releases=releases(subject, versions), needs=needs)
        case Forbids(subject=subject, versions=versions, fact=fact):
            count, told, reason = _count(versions), releases(subject, versions), reason_of(fact)
            if isinstance(fact, Names):
                return message("conflict.misnamed", count=count, releases=told, index=fact.index, reason=reason)
            return message("conflict.excluded", count=count, releases=told, reason=reason)
        case Shares(fact=Absent(package=package, other=other) as fact):
            return message("conflict.must-not-meet", package=package, other=other, reason=reason_of(fact))
        case Shares(fact=fact):
            return message("conflict.shares", package=fact.package, other=fact.other, module=fact.module)
        case Lacks():
            return _lacks(statement)


def statement_details(statement: Statement) -> tuple[Message, ...]:
    """Details below the sentence: the files that were set aside and why, and which fact could help."""
    return (*_set_aside(statement), *_tellable(statement)) if isinstance(statement, Lacks) else ()


def _set_aside(statement: Lacks) -> Iterator[Message]:
    """Why releases are refused, those that a newer glibc is enough for first; those with one reason together."""
    refusals = [refusal for refusal in statement.refusals if refusal.files]
    glibcs = {one.version: newer for one in refusals if (newer := _newer_glibc(one, statement))}
    for glibc in dict.fromkeys(glibcs.values()):
        alike = [version for version, newer in glibcs.items() if newer == glibc]
        told = message("conflict.release", subject=statement.subject, versions=alike)
        has = dict(statement.machine)["glibc"]
        yield message("conflict.newer-glibc", count=len(alike), releases=told, glibc=glibc, has=has)
    if _told_whole(statement):
        return
    if len(statement.refusals) == 1:
        yield from (row for refusal in refusals for row in _files(refusal, statement.machine))
        return
    reasons: dict[object, list[RejectedRelease]] = {}
    for refusal in refusals:
        if refusal.version not in glibcs:
            first = refusal.files[0]
            plain = len(refusal.files) == 1 and first.reason in _PLAIN
            reasons.setdefault(first.reason if plain else refusal.version, []).append(refusal)
    for among in reasons.values():
        if len(among) == 1:
            yield _refused(among[0], statement.machine)
        else:
            each = message("conflict.each-file", predicate=predicate(among[0].files[0]))
            yield message("conflict.labelled", label=[one.version for one in among], text=each)


def _newer_glibc(refusal: RejectedRelease, statement: Lacks) -> str:
    """The glibc with which a release has a wheel for the target; empty if that is not what it lacks."""
    names = (row.filename for row in refusal.files if row.reason is RejectionReason.TAGS)
    return newer_glibc(names, dict(statement.machine)) if statement.machine else ""


def _tellable(statement: Lacks) -> Iterator[Message]:
    """The fact that makes source archives without static metadata usable."""
    told = [
        one.version
        for one in statement.refusals
        if any(row.reason is RejectionReason.DYNAMIC for row in one.files) and not _newer_glibc(one, statement)
    ]
    if told and statement.lack is Lack.UNUSABLE:
        yield message("conflict.tellable", subject=statement.subject.partition("[")[0], version=told[0])


def verdict(problem: Problem, awaited: Sequence[Awaited]) -> Iterator[Message]:
    """What is claimed: that there is no solution, or on which indexes that depends, and what is wanted from there.

    Then which of the target's components has a value that nobody knows.
    """
    told = {"stack": problem.stack.name, "target": target_line(problem)}
    if awaited:
        names = indexes_of(awaited)
        yield message("conflict.depends", count=len(names), names=names, **told)
        wanted = []
        for one in awaited:
            needs = joined("comma", one.needs)
            wanted.append(message("conflict.wanted-by", needs=needs, by=joined("comma", one.by)) if one.by else needs)
        yield message("conflict.wanted", wanted=joined("semicolon", wanted))
    else:
        yield message("conflict.no-environment", **told)
    if problem.near_canns:
        value = problem.target.system["cann"]
        yield message("conflict.unknown", component=component_name("cann"), value=value, near=problem.near_canns)


def way_zero(awaited: Sequence[Awaited]) -> Message:
    """What to do first if the answer depends on indexes that could not be reached."""
    names = indexes_of(awaited)
    return message("conflict.way-zero", count=len(names), names=names)


def further_ways(unreached: Sequence[tuple[str, Sequence[str]]]) -> Message:
    """That indexes which could not be reached may have what other ways out need."""
    indexes = dict.fromkeys(f"`{index}`" for _, several in unreached for index in several)
    return message("conflict.may-have-ways", indexes=tuple(indexes), names=tuple(name for name, _ in unreached))


def indexes_of(awaited: Sequence[Awaited]) -> list[str]:
    """The indexes that could not be reached."""
    return list(dict.fromkeys(f"`{name}`" for one in awaited for name in one.indexes))


def claim(contradiction: Contradiction) -> Message:
    """What is claimed about the statements together."""
    count = len(contradiction.statements)
    if count <= 2:
        return message("conflict.claim-one" if count == 1 else "conflict.claim-two")
    return message("conflict.claim-many", count=count, fewer=count - 1)


def overall_claim(contradictions: Sequence[Contradiction]) -> Message:
    """What is said about all contradictions, on one line."""
    if len(contradictions) == 1:
        return claim(condensed(contradictions)[0])
    return message("conflict.several", count=len(contradictions))


def condensed(contradictions: Sequence[Contradiction]) -> tuple[Contradiction, ...]:
    """The contradictions for people: long ones grouped, and each known fault of a release only at its first mention."""
    first = {note.id: at for at, one in reversed(list(enumerate(contradictions))) for note in one.notes}
    return tuple(
        replace(grouped(one), notes=tuple(note for note in one.notes if first[note.id] == at))
        for at, one in enumerate(contradictions)
    )


def closing_sentence(closing: Closing) -> Message:
    """The sentence about where statements meet."""
    told, subject = numbers(closing.numbers), component_name(closing.subject)
    return message("conflict.closing", count=len(closing.numbers), numbers=told, subject=subject)


def branch_sentence(branch: Branch) -> Message:
    """One case; if it branches again, the line above its own cases."""
    case = releases(branch.subject, branch.versions)
    if branch.branches:
        return message("conflict.case-cases", case=case, subject=branch.branches[0].subject)
    if branch.closing is None:
        return case
    return message("conflict.labelled", label=case, text=closing_sentence(branch.closing))


def numbers(items: Sequence[int]) -> Message:
    """`1, 3 and 4`, to refer to statements; among many, consecutive ones are written as `1-40`."""
    runs: list[list[int]] = []
    for number in items:
        if len(items) > _MANY and runs and number == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], number]
        else:
            runs.append([number])
    return joined("comma", ["-".join(map(str, run)) for run in runs], last="conflict.and-number")


def releases(subject: str, versions: Sequence[ReleaseRange]) -> Message:
    """`trl 0.27.0 to 0.29.1 (5 releases)`; every release if no versions are given; how many, if they are all over."""
    if not versions:
        return message("conflict.every", subject=subject)
    if len(versions) > _SPANS:
        ends = {"oldest": versions[-1].oldest, "newest": versions[0].newest}
        return message("conflict.scattered", subject=subject, count=_count(versions), **ends)
    told: list[str | Message] = []
    for span in versions:
        if span.count > 2:
            told.append(message("conflict.range", oldest=span.oldest, newest=span.newest, count=span.count))
        else:
            told += [span.oldest, span.newest][: span.count]
    return message("conflict.release", subject=subject, versions=told)


def _count(versions: Sequence[ReleaseRange]) -> int:
    """The number of releases; 1 if no versions are given, as "every release" is singular."""
    return sum(span.count for span in versions) or 1


def reason_of(fact: Fact) -> Message:
    """The fact's reason, in English if it has none in the language."""
    return verbatim(fact.reason, fact.reason_zh)


def warning_text(fact: Warns) -> Message:
    """The fact's warning, in English if it has none in the language."""
    return verbatim(fact.text, fact.text_zh)


def missing_sentence(missing: Sequence[str], most: int | None = None) -> Message:
    """What else no index has, naming at most so many."""
    names = joined("comma", missing[:most])
    rest = len(missing) - len(missing[:most])
    told = message("conflict.named-and-more", names=names, count=rest) if rest else names
    return message("conflict.also-missing", count=len(missing), names=told)


def target_line(problem: Problem) -> Message:
    """The target on one line."""
    return joined("conflict.clause", problem.target.parts)


def predicate(row: Rejection) -> Message:
    """Why one file was set aside."""
    told = message(row.reason.code, count=1)
    if not row.detail or row.detail in row.filename:  # such as the tags of a wheel
        return told
    return message("conflict.in-brackets", text=told, extra=row.detail)


def _lacks(statement: Lacks) -> Message:
    about = partial(message, subject=statement.subject, wanted=statement.wanted, newest=statement.newest)
    match statement.lack:
        case Lack.PROJECT:
            return about(
                "conflict.no-project-meant" if statement.meant else "conflict.no-project", meant=statement.meant
            )
        case Lack.RELEASE if statement.unread:
            files = joined("conflict.clause", map(_unread, statement.unread))
            return about("conflict.no-release-read", files=files)
        case Lack.RELEASE if not statement.wanted:
            return about("conflict.no-release-at-all")
        case Lack.RELEASE:
            match statement.nearest:
                case (older, newer):
                    return about("conflict.no-release-between", older=older, newer=newer)
                case (nearest,) if nearest != statement.newest:
                    return about("conflict.no-release-before", nearest=nearest)
            return about("conflict.no-release" if statement.newest else "conflict.no-release-or-newest")
        case Lack.SOURCE:
            return about("conflict.no-release-at-commit")
        case Lack.UNREACHABLE:
            return about("conflict.unreachable", names=[f"`{name}`" for name in statement.unreachable])
        case Lack.PRERELEASE | Lack.NEEDLESS | Lack.YANKED:
            return _said(_POLICY[statement.lack], statement)
        case Lack.CUTOFF:
            dated = "conflict.later-than" if _all_dated(statement) else "conflict.cutoff-of"
            return _said(dated if statement.cutoff else "conflict.cutoff", statement)
        case Lack.FILE | Lack.UNUSABLE:
            return _with_reasons(statement)


def _said(code: str, statement: Lacks) -> Message:
    """What is said about all releases concerned, with their names."""
    versions = [_dated(refusal, statement) for refusal in statement.refusals]
    older, subject = statement.count - len(versions), statement.subject
    if not versions:
        named = message("conflict.within", subject=subject, wanted=statement.wanted) if statement.wanted else subject
        told = message("conflict.every", subject=named)
    else:
        more = [message("conflict.more-releases", count=older)] if older > 0 else []
        told = message("conflict.release", subject=subject, versions=[*versions, *more])
    count = max(statement.count, len(versions)) if versions else 1
    return message(code, count=count, releases=told, cutoff=statement.cutoff)


def _all_dated(statement: Lacks) -> bool:
    """Whether every file of every release has an upload time after the cut-off."""
    rows = [row for refusal in statement.refusals for row in refusal.files]
    told = bool(rows) and statement.count == len(statement.refusals)
    return told and all(row.reason is RejectionReason.NEWER and row.detail for row in rows)


def _dated(refusal: RejectedRelease, statement: Lacks) -> str | Message:
    """The release; with a cut-off, also the day of its first file that was uploaded after it."""
    moments = sorted(row.detail for row in refusal.files if row.reason is RejectionReason.NEWER and row.detail)
    if not statement.cutoff or not moments:
        return refusal.version
    return message("conflict.uploaded", version=refusal.version, day=moments[0].partition("T")[0])


def _with_reasons(statement: Lacks) -> Message:
    """That releases have no file or cannot be used, with the reasons if it is a single one."""
    told = _said("conflict.no-file" if statement.lack is Lack.FILE else "conflict.unusable", statement)
    if max(statement.count, len(statement.refusals)) != 1 or not statement.refusals[0].files:
        return told
    only = statement.refusals[0]
    if statement.lack is Lack.UNUSABLE and only.files[0].detail:  # more precise than the kind of reason
        return message("conflict.labelled", label=told, text=only.files[0].detail)
    return message("conflict.labelled", label=told, text=_reasons(only, statement.machine))


def _unread(row: UnparsedFiles) -> Message:
    predicate = message(row.reason.code, count=row.count)
    told = message("conflict.some-files", count=row.count, predicate=predicate)
    example = message("conflict.such-as", count=row.count, filename=row.filename)
    return message("conflict.in-brackets", text=told, extra=example)


def _told_whole(statement: Lacks) -> bool:
    """Whether the sentence has already named the only file."""
    one = len(statement.refusals) == 1 and len(statement.refusals[0].files) == 1
    return one and statement.lack in (Lack.FILE, Lack.UNUSABLE) and statement.count <= 1


_Machine = tuple[tuple[str, str], ...]


def _reasons(refusal: RejectedRelease, machine: _Machine) -> Message:
    """Why the files of a release were set aside, each reason once."""
    if len(refusal.files) == 1:
        return _file(refusal.files[0], machine)
    counts: Counter[RejectionReason] = Counter(row.reason for row in refusal.files)
    told = []
    for reason, count in counts.items():
        rows = [row for row in refusal.files if row.reason is reason]
        number = count if len(counts) > 1 else 1
        predicate = _needs_of_machine(rows, machine, number) or message(reason.code, count=number)
        code = "conflict.some-files" if len(counts) > 1 else "conflict.each-file"
        told.append(message(code, count=number, predicate=predicate))
    return joined("conflict.clause", told)


def _needs_of_machine(rows: Sequence[Rejection], machine: _Machine, count: int) -> Message | None:
    """What wheels need and what the target has instead, the closest first; None if a file name does not tell."""
    has = dict(machine)
    missing = [
        missing_on_machine(row.filename, has) if row.reason is RejectionReason.TAGS and has else {} for row in rows
    ]
    if not missing or not all(missing):
        return None
    # a file that needs more than another one adds nothing
    least = [one for one in missing if not any(other.items() < one.items() for other in missing)]
    needs = dict.fromkeys(tuple(_PARTS.get(key, "") + value for key, value in one.items()) for one in least)
    named: list[str | Message] = [joined("comma", parts, last="and") for parts in list(needs)[:_FILES]]
    named += ["…"] if len(needs) > _FILES else []
    concerned = {key for one in least for key in one}
    system = [message("conflict.linux")] if "system" in concerned else []
    ours = [*system, *(_PARTS.get(key, "") + value for key, value in machine if key in concerned)]
    return message("conflict.needs-of-machine", count=count, needs=joined("conflict.or", named), has=ours)


def _files(refusal: RejectedRelease, machine: _Machine) -> Iterator[Message]:
    """The files of the only release, one by one."""
    yield from (_file(row, machine) for row in refusal.files[:_FILES])
    rest = len(refusal.files) - _FILES
    if rest > 0:
        yield message("conflict.and-more-files", count=rest)


def _refused(refusal: RejectedRelease, machine: _Machine) -> Message:
    """One of several refused releases, on one line."""
    if len(refusal.files) == 1:
        return _file(refusal.files[0], machine)
    names = joined("comma", [row.filename for row in refusal.files[:_FILES]])
    rest = len(refusal.files) - _FILES
    if rest > 0:
        names = message("conflict.more-files", count=rest, files=names)
    told = message("conflict.in-brackets", text=_reasons(refusal, machine), extra=names)
    return message("conflict.labelled", label=refusal.version, text=told)


def _file(row: Rejection, machine: _Machine) -> Message:
    told = _needs_of_machine([row], machine, 1) or predicate(row)
    return message("conflict.file-set-aside", filename=row.filename, predicate=told)
