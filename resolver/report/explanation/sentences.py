"""Statements as sentences, the same for every form of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from resolver.i18n import listed, translate
from resolver.model.dependency import NeedSource
from resolver.model.explanation import Awaited, Branch, Closing, Contradiction
from resolver.model.fact import Absent, Fact, Names, Warns
from resolver.model.problem import Problem
from resolver.model.release import Reason, Rejection
from resolver.model.resolution import (
    Asks,
    Forbids,
    Has,
    Lack,
    Lacks,
    Needs,
    Refusal,
    Shares,
    Span,
    Statement,
    Unread,
)
from resolver.model.target import lacking, newer_glibc
from resolver.model.text import Language
from resolver.report.explanation.grouping import grouped

_PLAIN = (Reason.DYNAMIC, Reason.UNOPENED)  # said of one file as of another
_MANY = 12  # numbers that are listed one by one
_FILES = 4  # files of one release that are named
_SPANS = 8  # runs of releases that are named
_POLICY = {Lack.PRERELEASE: "conflict.prerelease", Lack.NEEDLESS: "conflict.needless", Lack.YANKED: "conflict.yanked"}
_COMPONENTS = {"cann": "CANN", "hdk": "HDK", "soc": "SoC", "python": "Python"}


def explanation_sentence(statement: Statement, language: Language) -> str:
    """The statement as one sentence without a full stop. Texts from outside are not escaped."""
    match statement:
        case Asks():
            template = "conflict.to-be-taken" if statement.where.startswith("--") else "conflict.asks"
            return translate(template, language, text=statement.text)
        case Has():
            return translate(
                "conflict.has", language, component=component_name(statement.component), value=statement.value
            )
        case Needs():
            return _needs(statement, language)
        case Forbids():
            return _forbids(statement, language)
        case Shares(fact=Absent() as fact):
            reason = reason_of(fact, language)
            return translate("conflict.must-not-meet", language, package=fact.package, other=fact.other, reason=reason)
        case Shares(fact=fact):
            return translate("conflict.shares", language, package=fact.package, other=fact.other, module=fact.module)
        case Lacks():
            return _lacks(statement, language)


def statement_details(statement: Statement, language: Language) -> tuple[str, ...]:
    """Details below the sentence: the files that were set aside and why, and which fact could help."""
    if not isinstance(statement, Lacks):
        return ()
    return (*_set_aside(statement, language), *_tellable(statement, language))


def _set_aside(statement: Lacks, language: Language) -> Iterator[str]:
    """Why releases are refused, those that a newer glibc is enough for first; those with one reason together."""
    refusals = [refusal for refusal in statement.refusals if refusal.files]
    glibcs = {one.version: newer for one in refusals if (newer := _newer_glibc(one, statement))}
    for glibc in dict.fromkeys(glibcs.values()):
        alike = [version for version, newer in glibcs.items() if newer == glibc]
        told = translate("conflict.release", language, subject=statement.subject, versions=listed(alike, language))
        has = dict(statement.machine)["glibc"]
        yield translate("conflict.newer-glibc", language, len(alike), releases=told, glibc=glibc, has=has)
    if _told_whole(statement):
        return
    if len(statement.refusals) == 1:
        yield from (row for refusal in refusals for row in _files(refusal, statement.machine, language))
        return
    reasons: dict[object, list[Refusal]] = {}
    for refusal in refusals:
        if refusal.version not in glibcs:
            first = refusal.files[0]
            plain = len(refusal.files) == 1 and first.reason in _PLAIN
            reasons.setdefault(first.reason if plain else refusal.version, []).append(refusal)
    for among in reasons.values():
        if len(among) == 1:
            yield _refused(among[0], statement.machine, language)
        else:
            each = translate("conflict.each-file", language, predicate=predicate(among[0].files[0], language))
            yield translate(
                "conflict.labelled", language, label=listed([one.version for one in among], language), text=each
            )


def _newer_glibc(refusal: Refusal, statement: Lacks) -> str:
    """The glibc with which a release has a wheel for the target; empty if that is not what it lacks."""
    names = (row.filename for row in refusal.files if row.reason is Reason.TAGS)
    return newer_glibc(names, dict(statement.machine)) if statement.machine else ""


def _tellable(statement: Lacks, language: Language) -> Iterator[str]:
    """The fact that makes source archives without static metadata usable."""
    told = [
        one.version
        for one in statement.refusals
        if any(row.reason is Reason.DYNAMIC for row in one.files) and not _newer_glibc(one, statement)
    ]
    if told and statement.lack is Lack.UNUSABLE:
        subject = statement.subject.partition("[")[0]
        yield translate("conflict.tellable", language, subject=subject, version=told[0])


def title(problem: Problem, awaited: Sequence[Awaited], language: Language) -> str:
    """The heading of a report."""
    return translate("conflict.title-undecided" if awaited else "conflict.title", language, stack=problem.stack.name)


def verdict(problem: Problem, awaited: Sequence[Awaited], language: Language) -> Iterator[str]:
    """What is claimed: that there is no solution, or on which indexes that depends, and what is wanted from there.

    Then which of the target's components has a value that nobody knows.
    """
    told = {"stack": problem.stack.name, "target": target_line(problem, language)}
    if awaited:
        names = _indexes(awaited)
        yield translate("conflict.depends", language, len(names), names=listed(names, language), **told)
        wanted = []
        for one in awaited:
            needs = translate("comma", language).join(one.needs)
            by = translate("comma", language).join(one.by)
            wanted.append(translate("conflict.wanted-by", language, needs=needs, by=by) if by else needs)
        yield translate("conflict.wanted", language, wanted=translate("semicolon", language).join(wanted))
    else:
        yield translate("conflict.no-environment", language, **told)
    for component, near in problem.unknown.items():
        value, known = problem.target.system[component], listed(near, language)
        yield translate("conflict.unknown", language, component=component_name(component), value=value, near=known)


def way_zero(awaited: Sequence[Awaited], language: Language) -> str:
    """What to do first if the answer depends on indexes that could not be reached."""
    names = _indexes(awaited)
    return translate("conflict.way-zero", language, len(names), names=listed(names, language))


def _indexes(awaited: Sequence[Awaited]) -> list[str]:
    return list(dict.fromkeys(f"`{name}`" for one in awaited for name in one.indexes))


def claim(contradiction: Contradiction, language: Language) -> str:
    """What is claimed about the statements together."""
    count = len(contradiction.statements)
    if count == 1:
        return translate("conflict.claim-one", language)
    if count == 2:
        return translate("conflict.claim-two", language)
    return translate("conflict.claim-many", language, count=count, fewer=count - 1)


def overall_claim(contradictions: Sequence[Contradiction], language: Language) -> str:
    """What is said about all contradictions, on one line."""
    if len(contradictions) == 1:
        return claim(shown(contradictions)[0], language)
    return translate("conflict.several", language, count=len(contradictions))


def shown(contradictions: Sequence[Contradiction]) -> tuple[Contradiction, ...]:
    """The contradictions for people: long ones grouped, and each known fault of a release only at its first mention."""
    first = {note.id: at for at, one in reversed(list(enumerate(contradictions))) for note in one.notes}
    return tuple(
        replace(grouped(one), notes=tuple(note for note in one.notes if first[note.id] == at))
        for at, one in enumerate(contradictions)
    )


def closing_sentence(closing: Closing, language: Language) -> str:
    """The sentence about where statements meet."""
    told = numbers(closing.numbers, language)
    return translate(
        "conflict.closing", language, len(closing.numbers), numbers=told, subject=component_name(closing.subject)
    )


def branch_sentence(branch: Branch, language: Language) -> str:
    """One case; if it branches again, the line above its own cases."""
    case = releases(branch.subject, branch.versions, language)
    if branch.branches:
        return translate("conflict.case-cases", language, case=case, subject=branch.branches[0].subject)
    if branch.closing is None:
        return case
    return translate("conflict.labelled", language, label=case, text=closing_sentence(branch.closing, language))


def numbers(items: Sequence[int], language: Language) -> str:
    """`1, 3 and 4`, to refer to statements; among many, consecutive ones are written as `1-40`."""
    if len(items) > _MANY:
        runs: list[list[int]] = []
        for number in items:
            if runs and number == runs[-1][-1] + 1:
                runs[-1] = [runs[-1][0], number]
            else:
                runs.append([number])
        told = ["-".join(map(str, run)) for run in runs]
        return translate("comma", language).join(told) if language == "zh" else listed(told, language)
    if language == "zh":
        return translate("comma", language).join(map(str, items))
    return listed([str(number) for number in items], language)


def releases(subject: str, versions: Sequence[Span], language: Language) -> str:
    """`trl 0.27.0 to 0.29.1 (5 releases)`; every release if no versions are given; how many, if they are all over."""
    if not versions:
        return translate("conflict.every", language, subject=subject)
    if len(versions) > _SPANS:
        ends = {"oldest": versions[-1].oldest, "newest": versions[0].newest}
        return translate("conflict.scattered", language, subject=subject, count=release_count(versions), **ends)
    told: list[str] = []
    for span in versions:
        if span.count > 2:
            told.append(translate("conflict.range", language, oldest=span.oldest, newest=span.newest, count=span.count))
        else:
            told += [span.oldest, span.newest][: span.count]
    return translate("conflict.release", language, subject=subject, versions=listed(told, language))


def release_count(versions: Sequence[Span]) -> int:
    """The number of releases; 1 if no versions are given, as "every release" is singular."""
    return sum(span.count for span in versions) or 1


def reason_of(fact: Fact, language: Language) -> str:
    """The fact's reason, in English if it has none in the language."""
    return (language == "zh" and fact.reason_zh) or fact.reason


def warning_text(fact: Warns, language: Language) -> str:
    """The fact's warning, in English if it has none in the language."""
    return (language == "zh" and fact.text_zh) or fact.text


def component_name(component: str) -> str:
    """`CANN` for `cann`."""
    return _COMPONENTS.get(component, component)


def missing_sentence(missing: Sequence[str], language: Language, most: int | None = None) -> str:
    """What else no index has, naming at most so many."""
    names = translate("comma", language).join(missing[:most])
    rest = len(missing) - len(missing[:most])
    told = translate("conflict.named-and-more", language, names=names, count=rest) if rest else names
    return translate("conflict.also-missing", language, len(missing), names=told)


def target_line(problem: Problem, language: Language) -> str:
    """The target on one line."""
    target = problem.target
    parts = [target.platform, f"Python {target.python}"]
    parts += [
        f"{component_name(key)} {value}" for key, value in target.system.items() if key not in ("python", "glibc")
    ]
    return translate("conflict.clause", language).join(parts)


def predicate(row: Rejection, language: Language) -> str:
    """Why one file was set aside."""
    text = translate(row.reason.code, language, 1)
    if not row.detail or row.detail in row.filename:  # such as the tags of a wheel
        return text
    return translate("conflict.in-brackets", language, text=text, extra=row.detail)


def _needs(statement: Needs, language: Language) -> str:
    told = releases(statement.subject, statement.versions, language)
    if statement.source is NeedSource.BUILD:
        return translate("conflict.building", language, releases=told, needs=statement.needs)
    return translate(
        "conflict.needs", language, release_count(statement.versions), releases=told, needs=statement.needs
    )


def _forbids(statement: Forbids, language: Language) -> str:
    told = releases(statement.subject, statement.versions, language)
    count = release_count(statement.versions)
    reason = reason_of(statement.fact, language)
    if isinstance(statement.fact, Names):
        return translate("conflict.misnamed", language, count, releases=told, index=statement.fact.index, reason=reason)
    return translate("conflict.excluded", language, count, releases=told, reason=reason)


def _lacks(statement: Lacks, language: Language) -> str:
    match statement.lack:
        case Lack.PROJECT:
            template = "conflict.no-project-meant" if statement.meant else "conflict.no-project"
            return translate(template, language, subject=statement.subject, meant=statement.meant)
        case Lack.RELEASE:
            return _no_release(statement, language)
        case Lack.SOURCE:
            return translate(
                "conflict.no-release-at-commit",
                language,
                subject=statement.subject,
                wanted=statement.wanted,
                newest=statement.newest,
            )
        case Lack.UNREACHABLE:
            names = listed([f"`{name}`" for name in statement.unreachable], language)
            return translate("conflict.unreachable", language, names=names, subject=statement.subject)
        case Lack.PRERELEASE | Lack.NEEDLESS | Lack.YANKED:
            return _said(_POLICY[statement.lack], statement, language)
        case Lack.CUTOFF:
            if _all_dated(statement):
                return _said("conflict.later-than", statement, language)
            return _said("conflict.cutoff-of" if statement.cutoff else "conflict.cutoff", statement, language)
        case Lack.FILE:
            return _with_reasons("conflict.no-file", statement, language)
        case Lack.UNUSABLE:
            return _with_reasons("conflict.unusable", statement, language)


def _said(template: str, statement: Lacks, language: Language) -> str:
    """What is said about all releases concerned, with their names."""
    versions = [_dated(refusal, statement, language) for refusal in statement.refusals]
    older = statement.count - len(versions)
    if not versions:
        named = translate("conflict.within", language, subject=statement.subject, wanted=statement.wanted)
        subject = named if statement.wanted else statement.subject
        return translate(
            template,
            language,
            1,
            releases=translate("conflict.every", language, subject=subject),
            cutoff=statement.cutoff,
        )
    if older > 0:
        versions.append(translate("conflict.more-releases", language, older))
    told = translate("conflict.release", language, subject=statement.subject, versions=listed(versions, language))
    return translate(template, language, max(statement.count, len(versions)), releases=told, cutoff=statement.cutoff)


def _all_dated(statement: Lacks) -> bool:
    """Whether every file of every release has an upload time after the cut-off."""
    rows = [row for refusal in statement.refusals for row in refusal.files]
    told = bool(rows) and statement.count == len(statement.refusals)
    return bool(statement.cutoff) and told and all(row.reason is Reason.NEWER and row.detail for row in rows)


def _dated(refusal: Refusal, statement: Lacks, language: Language) -> str:
    """The release; with a cut-off, also the day of its first file that was uploaded after it."""
    moments = sorted(row.detail for row in refusal.files if row.reason is Reason.NEWER and row.detail)
    if not statement.cutoff or not moments:
        return refusal.version
    return translate("conflict.uploaded", language, version=refusal.version, day=moments[0].partition("T")[0])


def _with_reasons(template: str, statement: Lacks, language: Language) -> str:
    """The same, with the reasons if it is a single release."""
    told = _said(template, statement, language)
    if max(statement.count, len(statement.refusals)) != 1 or not statement.refusals[0].files:
        return told
    only = statement.refusals[0].files[0]
    if statement.lack is Lack.UNUSABLE and only.detail:  # more precise than the kind of reason
        return translate("conflict.labelled", language, label=told, text=only.detail)
    return translate(
        "conflict.labelled", language, label=told, text=_reasons(statement.refusals[0], statement.machine, language)
    )


def _no_release(statement: Lacks, language: Language) -> str:
    if statement.unread:
        files = translate("conflict.clause", language).join(_unread(row, language) for row in statement.unread)
        return translate("conflict.no-release-read", language, subject=statement.subject, files=files)
    if not statement.wanted:
        return translate("conflict.no-release-at-all", language, subject=statement.subject)
    if len(statement.nearest) > 1:
        older, newer = statement.nearest
        return translate(
            "conflict.no-release-between",
            language,
            subject=statement.subject,
            wanted=statement.wanted,
            older=older,
            newer=newer,
        )
    if statement.nearest and statement.nearest[0] != statement.newest:
        (nearest,) = statement.nearest
        return translate(
            "conflict.no-release-before", language, subject=statement.subject, wanted=statement.wanted, nearest=nearest
        )
    template = "conflict.no-release" if statement.newest else "conflict.no-release-or-newest"
    return translate(template, language, subject=statement.subject, wanted=statement.wanted, newest=statement.newest)


def _unread(row: Unread, language: Language) -> str:
    told = translate(
        "conflict.some-files", language, row.count, predicate=translate(row.reason.code, language, row.count)
    )
    return translate(
        "conflict.in-brackets",
        language,
        text=told,
        extra=translate("conflict.such-as", language, row.count, filename=row.filename),
    )


def _told_whole(statement: Lacks) -> bool:
    """Whether the sentence has already named the only file."""
    one = len(statement.refusals) == 1 and len(statement.refusals[0].files) == 1
    return one and statement.lack in (Lack.FILE, Lack.UNUSABLE) and statement.count <= 1


_Machine = tuple[tuple[str, str], ...]


def _reasons(refusal: Refusal, machine: _Machine, language: Language) -> str:
    """Why the files of a release were set aside, each reason once."""
    counts: Counter[Reason] = Counter(row.reason for row in refusal.files)
    if len(refusal.files) == 1:
        return _file(refusal.files[0], machine, language)
    if len(counts) == 1:
        told = _needs_of_machine(refusal.files, machine, language, 1)
        return translate(
            "conflict.each-file", language, predicate=told or translate(refusal.files[0].reason.code, language, 1)
        )
    told_each = []
    for reason, count in counts.items():
        rows = [row for row in refusal.files if row.reason is reason]
        told = _needs_of_machine(rows, machine, language, count) or translate(reason.code, language, count)
        told_each.append(translate("conflict.some-files", language, count, predicate=told))
    return translate("conflict.clause", language).join(told_each)


def _needs_of_machine(rows: Sequence[Rejection], machine: _Machine, language: Language, count: int) -> str:
    """What wheels need and what the target has instead, the closest first; empty if a file name does not tell."""
    has = dict(machine)
    missing = [lacking(row.filename, has) if row.reason is Reason.TAGS and has else {} for row in rows]
    if not missing or not all(missing):
        return ""
    # a file that needs more than another one adds nothing
    least = [one for one in missing if not any(other.items() < one.items() for other in missing)]
    needs = list(dict.fromkeys(listed([_part(*pair) for pair in one.items()], language) for one in least))
    more = len(needs) - _FILES
    shown = needs[:_FILES] + (["…"] if more > 0 else [])
    concerned = {key for one in least for key in one}
    ours = [_part(key, value) for key, value in machine if key in concerned]
    if "system" in concerned:
        ours.insert(0, translate("conflict.linux", language))
    told = translate("conflict.or", language).join(shown)
    return translate("conflict.needs-of-machine", language, count, needs=told, has=listed(ours, language))


def _part(key: str, value: str) -> str:
    names = {"python": "Python ", "glibc": "glibc "}
    return names.get(key, "") + value


def _files(refusal: Refusal, machine: _Machine, language: Language) -> Iterator[str]:
    """The files of the only release, one by one."""
    for row in refusal.files[:_FILES]:
        yield _file(row, machine, language)
    rest = len(refusal.files) - _FILES
    if rest > 0:
        yield translate("conflict.more-files", language, rest, files="").strip()


def _refused(refusal: Refusal, machine: _Machine, language: Language) -> str:
    """One of several refused releases, on one line."""
    names = translate("comma", language).join(row.filename for row in refusal.files[:_FILES])
    rest = len(refusal.files) - _FILES
    if rest > 0:
        names = translate("conflict.more-files", language, rest, files=names)
    if len(refusal.files) == 1:
        return _file(refusal.files[0], machine, language)
    told = translate("conflict.in-brackets", language, text=_reasons(refusal, machine, language), extra=names)
    return translate("conflict.labelled", language, label=refusal.version, text=told)


def _file(row: Rejection, machine: _Machine, language: Language) -> str:
    told = _needs_of_machine([row], machine, language, 1) or predicate(row, language)
    return translate("conflict.file-set-aside", language, filename=row.filename, predicate=told)
