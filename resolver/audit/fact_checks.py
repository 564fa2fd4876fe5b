"""Facts compared with live metadata, each kind by what it claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress

from packaging.requirements import InvalidRequirement
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.audit.offers import Offers, some
from resolver.audit.verdict import Judged, Remark, Saying, Verdict
from resolver.errors import IndexFailure, ResolverError
from resolver.index.git import Repositories
from resolver.index.parse.metadata import noted_in
from resolver.index.protocol import UnusableFile
from resolver.index.sources import trust_in
from resolver.model import fact as model
from resolver.model import text
from resolver.model.fact import Fact, Need
from resolver.model.release import File
from resolver.model.requirement import ComponentRequirement, Requirement

_PYTHONS = tuple(Version(f"3.{minor}") for minor in range(6, 21))


def judge(fact: Fact, offers: Offers, repositories: Repositories) -> Judged:
    """The findings about a fact, the weightiest first. A failing index or repository is a finding, never an error."""
    weight = {verdict: number for number, verdict in enumerate(Verdict)}
    found = sorted(_remarks(fact, offers, repositories), key=lambda remark: weight[remark.saying.verdict])
    return Judged(fact, tuple(found))


def projects_of(fact: Fact) -> Iterator[NormalizedName]:
    """The projects that are looked up to judge a fact."""
    if not isinstance(fact, model.Sources):
        yield fact.package
    match fact:
        case model.Requires():
            yield from _names(fact.needs)
        case model.Replaces():
            yield from _names(fact.add)
        case model.Warns():
            yield from _names((*fact.beside, *fact.unless))
        case model.Collides() | model.Absent():
            yield fact.other
        case model.After():
            yield from fact.others
        case model.Metadata() | model.Builds() | model.Excludes() | model.Names() | model.Sources() | model.Exports():
            pass
        case model.External():
            pass


def _names(needs: Sequence[Need]) -> Iterator[NormalizedName]:
    return (need.name for need in needs if isinstance(need, Requirement))


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
        yield Remark(Saying.FAILED, {"why": error.why or error.message})


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
        remarks.append(Remark(Saying.AT_COMMIT, {"releases": f"{fact.package} {some(list(at_commits))}"}))
    if lost:
        what = f"{fact.package} {', '.join(map(str, lost))}"
        absent = _absent(fact.package, offers, what if lookup.pages else fact.package)
        remarks.append(absent or Remark(Saying.NO_RELEASE, {"what": what}))
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
            yield from _there(fact.others, offers)
            yield Remark(Saying.ORDER)
        case model.Warns():
            yield from _there(_names((*fact.beside, *fact.unless)), offers)
            yield from _extra(fact, found, offers)
            yield Remark(Saying.WARNING)
        case model.Excludes() | model.Names():
            versions = offers.versions(fact.package)
            yield Remark(Saying.THERE, {"releases": some([one for one in versions if fact.speaks_of(one)])})
            beyond = [one for one in versions if not fact.speaks_of(one)]
            if beyond and isinstance(fact, model.Names):
                yield Remark(Saying.BEYOND, {"releases": some(beyond)})
        case model.Exports():
            yield Remark(Saying.VARIABLES)
        case model.External():
            yield Remark(Saying.MACHINE, {"needs": ", ".join(fact.needs)})
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
        yield Remark(Saying.MACHINE, {"needs": ", ".join(machine)})


def _each(fact: Fact, found: Sequence[Version], look: Callable[[Version], Remark]) -> Iterator[Remark]:
    """Findings of each release about a need: all that contradict it, and one of those that agree."""
    agreeing: Remark | None = None
    for version in found:
        remark = _looked(fact, version, look)
        if remark.saying.verdict is not Verdict.HOLDS:
            yield remark
        elif agreeing is None:
            agreeing = remark
    if agreeing is not None:
        yield agreeing


def _looked(fact: Fact, version: Version, look: Callable[[Version], Remark]) -> Remark:
    try:
        return look(version)
    except UnusableFile as error:
        return Remark(Saying.UNREADABLE, {"release": f"{fact.package} {version}", "why": str(error)})


def _python(fact: Fact, need: ComponentRequirement, version: Version, offers: Offers) -> Remark:
    """Findings about a need on Python from Requires-Python of one release."""
    said = offers.said(fact.package, version)
    stated = text.pythons(said.lines.requires_python)
    if stated is None:
        raise UnusableFile(f"{said.python} has an invalid Requires-Python")
    told = {"need": str(need), "file": said.python, "line": f"Python {stated}"}
    if not stated:
        return Remark(Saying.SILENT, told)
    allowed = {python for python in _PYTHONS if need.allows(python)}
    admitted = {python for python in _PYTHONS if stated.contains(python, prereleases=True)}
    if not allowed & admitted:
        return Remark(Saying.CLASHES, told)
    return Remark(Saying.SAYS_SO if admitted <= allowed else Saying.AGREES, told)


def _need(fact: Fact, need: Requirement, found: Sequence[Version], offers: Offers) -> Iterator[Remark]:
    fitting = offers.matching(need.name, need.specifier)
    if not fitting:
        unmet = Remark(Saying.NOTHING_FITS, {"need": str(need), "project": fact.package})
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
        return Remark(Saying.SILENT, told)
    admitted = [
        other
        for other in offers.versions(need.name)
        if all(one.specifier.contains(other, prereleases=True) for one in own)
    ]
    if not set(admitted) & set(fitting):
        return Remark(Saying.CLASHES, told)
    return Remark(Saying.SAYS_SO if set(admitted) <= set(fitting) else Saying.AGREES, told)


def _dropped(fact: model.Replaces, found: Sequence[Version], offers: Offers) -> Iterator[Remark]:
    def look(version: Version) -> Remark:
        said = offers.said(fact.package, version)
        own = offers.counting(said, fact.drop)
        own += offers.stated(fact, version)
        told = {"file": said.where, "names": ", ".join(fact.drop), "line": ", ".join(map(str, own))}
        if fact.strength is model.Strength.PRACTICE and own and _is_needless(fact, own, offers):
            return Remark(Saying.NEEDLESS, told)
        return Remark(Saying.REPLACED if own else Saying.IDLE, told)

    for version in found:
        yield _looked(fact, version, look)


def _is_needless(practice: model.Replaces, own: Sequence[Requirement], offers: Offers) -> bool:
    """Whether the requirements that a practice drops admit all that those in their place do."""
    added = [need for need in practice.add if isinstance(need, Requirement)]
    return all(
        any(one.name == need.name for one in added)
        and all(
            need.specifier.contains(version, prereleases=True)
            for one in added
            if one.name == need.name
            for version in offers.matching(one.name, one.specifier)
        )
        for need in own
    )


def _kept_apart(fact: model.Collides | model.Absent, found: Sequence[Version], offers: Offers) -> Iterator[Remark]:
    """What must not be installed with a release must not be required by the release itself."""
    yield from _there([fact.other], offers)

    def look(version: Version) -> Remark:
        said = offers.said(fact.package, version)
        own = offers.counting(said, [fact.other])
        told = {"file": said.where, "other": fact.other, "line": ", ".join(map(str, own))}
        return Remark(Saying.ASKS if own else Saying.APART, told)

    yield from _each(fact, found, look)
    if isinstance(fact, model.Collides):
        yield Remark(Saying.MODULE, {"module": fact.module})


def _extra(fact: model.Warns, found: Sequence[Version], offers: Offers) -> Iterator[Remark]:
    """Findings for releases that lack the extra of a warning."""

    def look(version: Version) -> Remark:
        said = offers.said(fact.package, version)
        saying = Saying.WARNING if fact.extra in said.lines.extras else Saying.NO_EXTRA
        return Remark(saying, {"file": said.where, "extra": fact.extra})

    remarks = [_looked(fact, version, look) for version in found] if fact.extra else []
    yield from (remark for remark in remarks if remark.saying is not Saying.WARNING)


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
        yield Remark(Saying.NO_ARCHIVE, {"releases": f"{fact.package} {some(without)}"})
    for file in newest:
        yield from _opened(fact, file, offers)


def _opened(fact: model.Builds, file: File, offers: Offers) -> Iterator[Remark]:
    told = {"file": file.filename, "member": fact.requires_from}
    try:
        archive = offers.catalog.archive(file)
    except UnusableFile as error:
        yield Remark(Saying.UNREADABLE, {"release": file.filename, "why": str(error)})
        return
    try:
        offers.catalog.member(file, fact.requires_from)
    except UnusableFile:
        yield Remark(Saying.NO_MEMBER, told)
        return
    own = {need.name for need in _readable(archive.build_requires or ())}
    if idle := [name for name in fact.build_drop if name not in own]:
        yield Remark(Saying.IDLE, {"file": file.filename, "names": ", ".join(idle), "line": ""})
    else:
        yield Remark(Saying.ARCHIVE, told)


def _stated(fact: model.Metadata, version: Version, offers: Offers) -> Remark:
    """What a fact says a release requires, compared with what a wheel says, or the archive statically or in a note."""
    wheels = [file for file in offers.files(fact.package, version) if file.is_wheel]
    file = wheels[0] if wheels else offers.release(fact.package, version).file
    where = file.filename
    metadata = offers.catalog.metadata(file) if file.is_wheel else offers.catalog.archive(file).metadata
    lines = None if metadata is None else metadata.requires_dist
    if lines is None and (noted := noted_in(file, offers.catalog)) is not None:
        where, lines = noted.where, noted.lines
    if lines is None:
        return Remark(Saying.NOT_STATIC, {"file": file.filename})
    own, theirs = _always(map(str, fact.requires)), _always(lines)
    if own == theirs:
        return Remark(Saying.SAME, {"where": where})
    less, more = (", ".join(sorted(lines)) or "-" for lines in (theirs - own, own - theirs))
    return Remark(Saying.DIFFERS, {"where": where, "theirs": less, "own": more})


def _always(lines: Iterable[str]) -> frozenset[str]:
    """The requirements without those of extras, normalized."""
    return frozenset(str(need) for need in _readable(lines) if "extra" not in str(need.marker))


def _readable(lines: Iterable[str]) -> Iterator[Requirement]:
    for line in lines:
        with suppress(InvalidRequirement):
            yield text.requirement(line)


# --- what exists


def _there(names: Iterable[NormalizedName], offers: Offers) -> Iterator[Remark]:
    """Findings for those of these projects that no index has."""
    for name in names:
        absent = None if offers.catalog.lookup(name).pages else _absent(name, offers, name)
        if absent is not None:
            yield absent


def _absent(name: NormalizedName, offers: Offers, what: str) -> Remark | None:
    """That an index that may have a project was passed over, or that none has it."""
    lookup = offers.catalog.lookup(name)
    if lookup.unreachable:
        return Remark(Saying.PASSED_OVER, {"index": ", ".join(lookup.unreachable), "what": what})
    return None if lookup.pages else Remark(Saying.NO_PROJECT, {"project": name})


def _of_commit(fact: model.Sources, repositories: Repositories) -> Remark:
    address = f"{fact.git}@{fact.commit[:12]}"
    try:
        trust = trust_in(fact, repositories)
    except ResolverError as error:
        return Remark(Saying.GIT_DIFFERS, {"address": address, "why": error.why or error.message})
    if trust:
        return Remark(Saying.GIT, {"address": address, "why": trust})
    return Remark(Saying.GIT_AGREES, {"address": address})
