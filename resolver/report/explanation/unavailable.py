"""Say that a project, or releases of one, cannot be had, and why.

`sentences` makes the sentences of all other reasons.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from resolver.model.constraint import NoCandidate, Unavailable, WhyNot
from resolver.model.message import Message, first_of, joined, message, quoted, verbatim
from resolver.model.reason import Evidence, Reason, RejectedRelease, UnparsedFiles
from resolver.model.release import Rejection, RejectionReason
from resolver.model.target import missing_on_machine, newer_glibc
from resolver.report.explanation.grouping import wanted_text

# Reasons for a rejection that say nothing about the particular file.
_SAME_FOR_ALL = (RejectionReason.DYNAMIC, RejectionReason.UNOPENED)
# How many files of one release are named.
_FILES = 4
# The codes of the sentences about releases that a policy excludes.
_POLICY: Mapping[WhyNot, str] = {
    NoCandidate.PRERELEASE: "conflict.prerelease",
    NoCandidate.NEEDLESS: "conflict.needless",
    RejectionReason.YANKED: "conflict.yanked",
}
# The words before a value that a wheel needs.
_PARTS = {"python": "Python ", "glibc": "glibc "}


def unavailable_sentence(reason: Reason, constraint: Unavailable) -> Message:
    """Return the sentence that releases cannot be used, as the constraint of a reason says."""
    evidence = reason.evidence
    subject = str(constraint.package)
    match constraint.why:
        case NoCandidate.PROJECT:
            return _no_project_sentence(subject, evidence)
        case NoCandidate.RELEASE:
            return _no_release_sentence(reason)
        case NoCandidate.COMMIT:
            return message(
                "conflict.no-release-at-commit",
                subject=subject,
                newest=evidence.newest,
                wanted=constraint.wanted,
            )
        case NoCandidate.UNREACHABLE:
            names = quoted(evidence.unreachable)
            return message("conflict.unreachable", subject=subject, names=names)
        case NoCandidate.PRERELEASE | NoCandidate.NEEDLESS | RejectionReason.YANKED as why:
            return _with_releases(_POLICY[why], constraint, evidence)
        case RejectionReason.NEWER:
            code = "conflict.later-than" if _all_dated(evidence) else "conflict.cutoff-of"
            code = code if evidence.cutoff else "conflict.cutoff"
            return _with_releases(code, constraint, evidence)
        case _:
            return _with_reasons(constraint, evidence)


def _no_project_sentence(subject: str, evidence: Evidence) -> Message:
    """Return the sentence that a project cannot be had from anywhere.

    No index has it, with what is known about its name, or nothing is known of its commit.
    """
    if evidence.at_commit is not None and evidence.at_commit.unknown is not None:
        return evidence.at_commit.unknown
    if evidence.meant:
        return message("conflict.no-project-meant", subject=subject, meant=evidence.meant)
    if evidence.named is not None:
        fact = evidence.named
        why = verbatim(fact.reason, fact.reason_zh)
        return message("conflict.no-project-named", subject=subject, reason=why)
    return message("conflict.no-project", subject=subject)


def _no_release_sentence(reason: Reason) -> Message:
    """Return the sentence that no release meets a specifier, with the nearest ones that exist."""
    evidence = reason.evidence
    if evidence.unread:
        files = joined("conflict.clause", map(_unparsed, evidence.unread))
        return message("conflict.no-release-read", subject=reason.subject, files=files)
    wanted = wanted_text(reason)
    if not wanted:
        return message("conflict.no-release-at-all", subject=reason.subject)
    code = "conflict.no-release" if evidence.newest else "conflict.no-release-or-newest"
    values = {"newest": evidence.newest}
    match evidence.nearest:
        case (older, newer):
            code = "conflict.no-release-between"
            values = {"older": older, "newer": newer}
        case (nearest,) if nearest != evidence.newest:
            code = "conflict.no-release-before"
            values = {"nearest": nearest}
    return message(code, subject=reason.subject, wanted=wanted, **values)


def _with_releases(code: str, constraint: Unavailable, evidence: Evidence) -> Message:
    """Return the sentence with this code about the releases that cannot be used.

    If they are not listed one by one, it is about every release.
    """
    if not evidence.refusals:
        subject: str | Message = str(constraint.package)
        if constraint.wanted:
            subject = message("conflict.within", subject=subject, wanted=constraint.wanted)
        every = message("conflict.every", subject=subject)
        return message(code, count=1, releases=every, cutoff=evidence.cutoff)
    versions = [_dated(refusal, evidence.cutoff) for refusal in evidence.refusals]
    if evidence.count > len(versions):
        versions.append(message("conflict.more-releases", count=evidence.count - len(versions)))
    named = message("conflict.release", subject=str(constraint.package), versions=versions)
    count = max(evidence.count, len(evidence.refusals))
    return message(code, count=count, releases=named, cutoff=evidence.cutoff)


def _all_dated(evidence: Evidence) -> bool:
    """Return whether all rejected releases are listed, and all their files have an upload date."""
    files = list(chain.from_iterable(refusal.files for refusal in evidence.refusals))
    if not files or evidence.count != len(evidence.refusals):
        return False
    return all(file.reason is RejectionReason.NEWER and file.detail for file in files)


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
        names = quoted(evidence.left_out)
        project = constraint.project
        yield message("conflict.left-out", count=len(names), names=names, subject=project)


def _own_index(constraint: Unavailable, evidence: Evidence) -> Iterator[Message]:
    """Yield how a stack names the index of a project that no index has, if nothing else is meant.

    It may be a private project: indexes in the settings of pip are not asked for it.
    """
    is_known = evidence.meant or evidence.named or evidence.at_commit
    is_known_elsewhere = is_known or evidence.left_out or evidence.unreachable
    if constraint.why is NoCandidate.PROJECT and not is_known_elsewhere:
        yield message("conflict.own-index", subject=constraint.project)


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
