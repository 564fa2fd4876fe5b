"""Facts compared with live metadata, each kind by what it claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from enum import Enum
from functools import partial

import msgspec
from packaging.requirements import InvalidRequirement
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.audit.offers import Offers, some
from resolver.errors import IndexFailure, ResolverError
from resolver.index.git import Repositories
from resolver.index.parse.metadata import informal_requirements
from resolver.index.protocol import UnusableFile
from resolver.index.sources import why_unverified
from resolver.model import fact as model
from resolver.model import text
from resolver.model.fact import Fact, Need
from resolver.model.message import Message, message
from resolver.model.release import File
from resolver.model.requirement import ComponentRequirement, Requirement

FAILED = "upstream.remark-failed"  # the code where an index was out of reach


class Verdict(Enum):
    """The outcome for a fact, the weightiest first."""

    CONTRADICTED = "contradicted"
    GONE = "gone"
    UNMET = "unmet"
    HOLDS = "holds"
    UNCHECKED = "unchecked"


class Remark(msgspec.Struct, frozen=True):
    """A finding, whose values may be texts of indexes, and the verdict that follows from it."""

    verdict: Verdict
    message: Message


class Judged(msgspec.Struct, frozen=True):
    """A fact and the findings about it, the weightiest first; at least one remark."""

    fact: Fact
    remarks: tuple[Remark, ...]

    @property
    def verdict(self) -> Verdict:
        """That of the weightiest remark."""
        return self.remarks[0].verdict


def _remark(verdict: Verdict, code: str, **values: object) -> Remark:
    return Remark(verdict, message(f"upstream.remark-{code}", **values))


_contradicted = partial(_remark, Verdict.CONTRADICTED)  # an index says otherwise
_gone = partial(_remark, Verdict.GONE)  # it is about something that does not exist
_unmet = partial(_remark, Verdict.UNMET)  # it may well be right, but then no lock can have the release
_holds = partial(_remark, Verdict.HOLDS)  # whatever can be compared agrees
_unchecked = partial(_remark, Verdict.UNCHECKED)  # no index can tell
_WARNING = _unchecked("warning")

_PYTHONS = tuple(Version(f"3.{minor}") for minor in range(6, 21))


def judge(fact: Fact, offers: Offers, repositories: Repositories) -> Judged:
    """The findings about a fact, the weightiest first. A failing index or repository is a finding, never an error."""
    weights = list(Verdict)
    found = sorted(_remarks(fact, offers, repositories), key=lambda remark: weights.index(remark.verdict))
    return Judged(fact, tuple(found))


def projects_of(fact: Fact) -> tuple[NormalizedName, ...]:
    """The projects that are looked up to judge a fact."""
    return () if isinstance(fact, model.Sources) else (fact.package, *model.projects_named_by(fact))


def _remarks(fact: Fact, offers: Offers, repositories: Repositories) -> Iterator[Remark]:
    if isinstance(fact, model.Sources):
        yield _of_commit(fact, repositories)
        return
    try:
        found, missing = _sample(fact, offers)
        yield from missing
        if found:
            yield from _of_kind(fact, found, offers)
    except IndexFailure as error:
        yield Remark(Verdict.UNCHECKED, message(FAILED, why=error.why or error.message))


def _sample(fact: Fact, offers: Offers) -> tuple[list[Version], list[Remark]]:
    """The newest and the oldest release of each set of versions; and a remark on sets that no index has."""
    lookup = offers.catalog.lookup(fact.package)
    found: dict[Version, None] = {}
    at_commits: dict[Version, None] = {}
    lost: list[SpecifierSet] = []
    for versions in fact.versions:
        matching = offers.matching(fact.package, versions)
        found |= dict.fromkeys(matching[:1] + matching[-1:])
        if not matching and (commits := offers.at_commits(fact.package, versions)):
            at_commits |= dict.fromkeys(commits)
        elif not matching:
            lost.append(versions)
    remarks = []
    if at_commits:
        remarks.append(_unchecked("at-commit", releases=f"{fact.package} {some(list(at_commits))}"))
    if lost:
        what = f"{fact.package} {', '.join(map(str, lost))}"
        absent = _absent(fact.package, offers, what if lookup.pages else fact.package)
        remarks.append(absent or _gone("no-release", what=what))
    return list(found), remarks


def _of_kind(fact: Fact, found: Sequence[Version], offers: Offers) -> Iterator[Remark]:
    match fact:
        case model.Requires():
            yield from _needs(fact, fact.needs, found, offers)
        case model.Replaces():
            yield from _dropped(fact, found, offers)
            yield from _needs(fact, fact.add, found, offers)
        case model.Metadata():
            for version in found:
                yield _looked(fact, version, lambda one: _stated(fact, one, offers))
        case model.Builds():
            yield from _built_from(fact, offers)
        case model.Collides() | model.Absent():
            yield from _kept_apart(fact, found, offers)
        case model.After():
            yield from _there(fact, offers)
            yield _unchecked("order")
        case model.Warns():
            yield from _there(fact, offers)
            yield from _extra(fact, found, offers)
            yield _WARNING
        case model.Excludes() | model.Names():
            versions = offers.versions(fact.package)
            yield _holds("there", releases=some([one for one in versions if fact.applies_to(one)]))
            beyond = [one for one in versions if not fact.applies_to(one)]
            if beyond and isinstance(fact, model.Names):
                yield _holds("beyond", releases=some(beyond))
        case model.Exports():
            yield _unchecked("variables")
        case model.External():
            yield _unchecked("machine", needs=", ".join(fact.needs))
        case model.Sources():
            raise AssertionError("a commit is on no index")


# --- what a release needs


def _needs(fact: Fact, needs: Sequence[Need], found: Sequence[Version], offers: Offers) -> Iterator[Remark]:
    machine = []
    for need in needs:
        match need:
            case Requirement():
                yield from _need(fact, need, found, offers)
            case ComponentRequirement(component="python"):
                yield from _each(fact, found, lambda version, need=need: _python(fact, need, version, offers))  # type: ignore[misc]
            case ComponentRequirement():
                machine.append(str(need))
    if machine:
        yield _unchecked("machine", needs=", ".join(machine))


def _each(fact: Fact, found: Sequence[Version], look: Callable[[Version], Remark]) -> Iterator[Remark]:
    """Findings of each release about a need: all that contradict it, and one of those that agree."""
    agreeing: Remark | None = None
    for version in found:
        remark = _looked(fact, version, look)
        if remark.verdict is not Verdict.HOLDS:
            yield remark
        elif agreeing is None:
            agreeing = remark
    if agreeing is not None:
        yield agreeing


def _looked(fact: Fact, version: Version, look: Callable[[Version], Remark]) -> Remark:
    try:
        return look(version)
    except UnusableFile as error:
        return _unchecked("unreadable", release=f"{fact.package} {version}", why=str(error))


def _python(fact: Fact, need: ComponentRequirement, version: Version, offers: Offers) -> Remark:
    """Findings about a need on Python from Requires-Python of one release."""
    said = offers.said(fact.package, version)
    stated = text.python_specifiers(said.lines.requires_python)
    if stated is None:
        raise UnusableFile(f"{said.python} has an invalid Requires-Python")
    told = {"need": str(need), "file": said.python, "line": f"Python {stated}"}
    if not stated:
        return _holds("silent", **told)
    admitted = set(stated.filter(_PYTHONS, prereleases=True))
    return _compared(admitted, {python for python in _PYTHONS if need.allows(python)}, told)


def _compared(admitted: Set[Version], needed: Set[Version], told: Mapping[str, str]) -> Remark:
    """How the versions that metadata admits go with those that a fact does."""
    if not admitted & needed:
        return _contradicted("clashes", **told)
    return _holds("says-so" if admitted <= needed else "agrees", **told)


def _need(fact: Fact, need: Requirement, found: Sequence[Version], offers: Offers) -> Iterator[Remark]:
    fitting = offers.matching(need.name, need.specifier)
    if not fitting:
        unmet = _unmet("nothing-fits", need=str(need), project=fact.package)
        yield _absent(need.name, offers, str(need)) or unmet
    elif not (isinstance(fact, model.Replaces) and need.name in fact.drop):  # the fact overrides it
        yield from _each(fact, found, lambda version: _held_against(fact, need, fitting, version, offers))


def _held_against(
    fact: Fact, need: Requirement, fitting: Sequence[Version], version: Version, offers: Offers
) -> Remark:
    """Findings about a need from the metadata of one release."""
    said = offers.said(fact.package, version)
    own = offers.counting(said, [need.name])
    told = {"need": str(need), "file": said.where, "line": ", ".join(map(str, own))}
    if not own:
        return _holds("silent", **told)
    admitted = set.intersection(*(set(offers.matching(need.name, one.specifier)) for one in own))
    return _compared(admitted, set(fitting), told)


def _dropped(fact: model.Replaces, found: Sequence[Version], offers: Offers) -> Iterator[Remark]:
    def look(version: Version) -> Remark:
        said = offers.said(fact.package, version)
        own = [*offers.counting(said, fact.drop), *offers.stated(fact, version)]
        told = {"file": said.where, "names": ", ".join(fact.drop), "line": ", ".join(map(str, own))}
        if fact.strength is model.Strength.PRACTICE and own and _is_needless(fact, own, offers):
            return _contradicted("needless", **told)
        return _holds("replaced", **told) if own else _contradicted("idle", **told)

    for version in found:
        yield _looked(fact, version, look)


def _is_needless(practice: model.Replaces, own: Sequence[Requirement], offers: Offers) -> bool:
    """Whether the requirements that a practice drops admit all that those in their place do."""
    added = [need for need in practice.add if isinstance(need, Requirement)]
    for need in own:
        instead = [one for one in added if one.name == need.name]
        admitted = {version for one in instead for version in offers.matching(one.name, one.specifier)}
        if not instead or set(need.specifier.filter(admitted, prereleases=True)) != admitted:
            return False
    return True


def _kept_apart(fact: model.Collides | model.Absent, found: Sequence[Version], offers: Offers) -> Iterator[Remark]:
    """What must not be installed with a release must not be required by the release itself."""
    yield from _there(fact, offers)

    def look(version: Version) -> Remark:
        said = offers.said(fact.package, version)
        own = offers.counting(said, [fact.other])
        told = {"file": said.where, "other": fact.other, "line": ", ".join(map(str, own))}
        return _contradicted("asks", **told) if own else _holds("apart", **told)

    yield from _each(fact, found, look)
    if isinstance(fact, model.Collides):
        yield _unchecked("module", module=fact.module)


def _extra(fact: model.Warns, found: Sequence[Version], offers: Offers) -> Iterator[Remark]:
    """Findings for releases that lack the extra of a warning."""

    def look(version: Version) -> Remark:
        said = offers.said(fact.package, version)
        has_it = fact.extra in said.lines.extras
        return _WARNING if has_it else _contradicted("no-extra", file=said.where, extra=fact.extra)

    for version in found if fact.extra else ():
        remark = _looked(fact, version, look)
        if remark is not _WARNING:
            yield remark


# --- what an archive has


def _built_from(fact: model.Builds, offers: Offers) -> Iterator[Remark]:
    """Check that every release that a fact builds has an archive, and open the newest of each set."""
    without: list[Version] = []
    newest: dict[File, None] = {}
    for versions in fact.versions:
        found = offers.matching(fact.package, versions)
        archives = [[file for file in offers.files(fact.package, one) if not file.is_wheel] for one in found]
        without += [version for version, files in zip(found, archives, strict=True) if not files]
        newest |= dict.fromkeys([files[0] for files in archives if files][:1])
    if without:
        yield _contradicted("no-archive", releases=f"{fact.package} {some(without)}")
    for file in newest:
        yield from _opened(fact, file, offers)


def _opened(fact: model.Builds, file: File, offers: Offers) -> Iterator[Remark]:
    told = {"file": file.filename, "member": fact.requires_from}
    try:
        archive = offers.catalog.archive(file)
    except UnusableFile as error:
        yield _unchecked("unreadable", release=file.filename, why=str(error))
        return
    try:
        offers.catalog.member(file, fact.requires_from)
    except UnusableFile:
        yield _contradicted("no-member", **told)
        return
    own = {need.name for need in _readable(archive.build_requires or ())}
    if idle := [name for name in fact.build_drop if name not in own]:
        yield _contradicted("idle", file=file.filename, names=", ".join(idle), line="")
    else:
        yield _holds("archive", **told)


def _stated(fact: model.Metadata, version: Version, offers: Offers) -> Remark:
    """What a fact says a release requires, compared with what a wheel says, or the archive statically or in a note."""
    wheels = [file for file in offers.files(fact.package, version) if file.is_wheel]
    file = wheels[0] if wheels else offers.release(fact.package, version).file
    where = file.filename
    metadata = offers.catalog.metadata(file) if file.is_wheel else offers.catalog.archive(file).metadata
    lines = None if metadata is None else metadata.requires_dist
    if lines is None and (noted := informal_requirements(file, offers.catalog)) is not None:
        where, lines = noted.where, noted.lines
    if lines is None:
        return _unchecked("not-static", file=file.filename)
    own, theirs = _always(map(str, fact.requires)), _always(lines)
    if own == theirs:
        return _holds("same", where=where)
    less, more = (", ".join(sorted(lines)) or "-" for lines in (theirs - own, own - theirs))
    return _contradicted("differs", where=where, theirs=less, own=more)


def _always(lines: Iterable[str]) -> frozenset[str]:
    """The requirements without those of extras, normalized."""
    return frozenset(str(need) for need in _readable(lines) if "extra" not in str(need.marker))


def _readable(lines: Iterable[str]) -> Iterator[Requirement]:
    for line in lines:
        with suppress(InvalidRequirement):
            yield text.requirement(line)


# --- what exists


def _there(fact: Fact, offers: Offers) -> Iterator[Remark]:
    """Findings for those of the other projects that a fact names which no index has."""
    for name in model.projects_named_by(fact):
        absent = None if offers.catalog.lookup(name).pages else _absent(name, offers, name)
        if absent is not None:
            yield absent


def _absent(name: NormalizedName, offers: Offers, what: str) -> Remark | None:
    """That an index that may have a project was passed over, or that none has it."""
    lookup = offers.catalog.lookup(name)
    if lookup.unreachable:
        return _unchecked("passed-over", index=", ".join(lookup.unreachable), what=what)
    return None if lookup.pages else _gone("no-project", project=name)


def _of_commit(fact: model.Sources, repositories: Repositories) -> Remark:
    address = f"{fact.git}@{fact.commit[:12]}"
    try:
        trust = why_unverified(fact, repositories)
    except ResolverError as error:
        return _contradicted("git-differs", address=address, why=error.why or error.message)
    if trust:
        return _unchecked("git", address=address, why=trust)
    return _holds("git-agrees", address=address)
