"""Facts compared with live metadata, each kind by what it claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.audit.archives import built_from, stated
from resolver.audit.offers import Offers, Unreadable, some
from resolver.audit.verdict import Judged, Remark, Saying, Verdict
from resolver.errors import IndexFailure, ResolverError
from resolver.index.git import Repositories
from resolver.index.sources import trust_in
from resolver.model import fact as model
from resolver.model import text
from resolver.model.fact import Fact, Need
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
        case model.Metadata() | model.Builds() | model.Excludes() | model.Names() | model.Sources():
            pass
        case model.Exports() | model.External():
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
    lookup = offers.lookup(fact.package)
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
    if lost and lookup.unreachable:
        what = f"{fact.package} {', '.join(map(str, lost))}" if lookup.pages else fact.package
        remarks.append(Remark(Saying.PASSED_OVER, {"index": ", ".join(lookup.unreachable), "what": what}))
    elif lost and not lookup.pages:
        remarks.append(Remark(Saying.NO_PROJECT, {"project": fact.package}))
    elif lost:
        remarks.append(Remark(Saying.NO_RELEASE, {"what": f"{fact.package} {', '.join(map(str, lost))}"}))
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
                yield from stated(fact, version, offers)
        case model.Builds():
            yield from built_from(fact, offers)
        case model.Collides() | model.Absent():
            yield from _kept_apart(fact, found, offers)
        case model.After():
            yield from _there(fact.others, offers)
            yield Remark(Saying.ORDER)
        case model.Warns():
            yield from _there(list(_names((*fact.beside, *fact.unless))), offers)
            yield from _extra(fact, found, offers)
            yield Remark(Saying.WARNING)
        case model.Excludes():
            yield Remark(Saying.THERE, {"releases": some(_all(fact, offers))})
        case model.Names():
            yield from _named(fact, offers)
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
    except Unreadable as error:
        return Remark(Saying.UNREADABLE, {"release": f"{fact.package} {version}", "why": str(error)})


def _python(fact: Fact, need: ComponentRequirement, version: Version, offers: Offers) -> Remark:
    """Findings about a need on Python from Requires-Python of one release."""
    said = offers.said(fact.package, version)
    stated = text.pythons(said.lines.requires_python)
    if stated is None:
        raise Unreadable(f"{said.python} has an invalid Requires-Python")
    told = {"need": str(need), "file": said.python, "line": f"Python {stated}"}
    if not stated:
        return Remark(Saying.SILENT, told)
    allowed = {python for python in _PYTHONS if need.allows(python)}
    admitted = {python for python in _PYTHONS if stated.contains(python, prereleases=True)}
    if not allowed & admitted:
        return Remark(Saying.CLASHES, told)
    return Remark(Saying.SAYS_SO if admitted <= allowed else Saying.AGREES, told)


def _need(fact: Fact, need: Requirement, found: Sequence[Version], offers: Offers) -> Iterator[Remark]:
    lookup = offers.lookup(need.name)
    fitting = offers.matching(need.name, need.specifier)
    if not fitting and lookup.unreachable:
        yield Remark(Saying.PASSED_OVER, {"index": ", ".join(lookup.unreachable), "what": str(need)})
    elif not lookup.pages:
        yield Remark(Saying.NO_PROJECT, {"project": need.name})
    elif not fitting:
        yield Remark(Saying.NOTHING_FITS, {"need": str(need), "project": fact.package})
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
    for version in found if fact.extra else ():
        try:
            said = offers.said(fact.package, version)
        except Unreadable as error:
            yield Remark(Saying.UNREADABLE, {"release": f"{fact.package} {version}", "why": str(error)})
            continue
        if fact.extra not in said.lines.extras:
            yield Remark(Saying.NO_EXTRA, {"file": said.where, "extra": fact.extra})


# --- what exists


def _there(names: Sequence[NormalizedName], offers: Offers) -> Iterator[Remark]:
    """Findings for those of these projects that no index has."""
    for name in names:
        lookup = offers.lookup(name)
        if lookup.pages:
            continue
        if lookup.unreachable:
            yield Remark(Saying.PASSED_OVER, {"index": ", ".join(lookup.unreachable), "what": name})
        else:
            yield Remark(Saying.NO_PROJECT, {"project": name})


def _named(fact: model.Names, offers: Offers) -> Iterator[Remark]:
    yield Remark(Saying.THERE, {"releases": some(_all(fact, offers))})
    beyond = [version for version in offers.versions(fact.package) if not fact.speaks_of(version)]
    if beyond:
        yield Remark(Saying.BEYOND, {"releases": some(beyond)})


def _all(fact: Fact, offers: Offers) -> list[Version]:
    return [version for version in offers.versions(fact.package) if fact.speaks_of(version)]


def _of_commit(fact: model.Sources, repositories: Repositories) -> Remark:
    address = f"{fact.git}@{fact.commit[:12]}"
    try:
        trust = trust_in(fact, repositories)
    except ResolverError as error:
        return Remark(Saying.GIT_DIFFERS, {"address": address, "why": error.why or error.message})
    return (
        Remark(Saying.GIT, {"address": address, "why": trust})
        if trust
        else Remark(Saying.GIT_AGREES, {"address": address})
    )
