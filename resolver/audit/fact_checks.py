"""Facts compared with live metadata, each kind in its way."""

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
from resolver.index.parse.distribution import wheel_parts
from resolver.index.parse.informal import informal_requirements
from resolver.index.protocol import UnusableFile
from resolver.index.repositories import Repositories
from resolver.index.source_facts import why_unverified
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


class CheckedFact(msgspec.Struct, frozen=True):
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
_unmet = partial(
    _remark, Verdict.UNMET
)  # it may well be right, but then no lock can have the release
_holds = partial(_remark, Verdict.HOLDS)  # whatever can be compared agrees
_unchecked = partial(_remark, Verdict.UNCHECKED)  # no index can tell
_WARNING = _unchecked("warning")

_PYTHONS = tuple(Version(f"3.{minor}") for minor in range(6, 21))


def check_fact(fact: Fact, offers: Offers, repositories: Repositories) -> CheckedFact:
    """The findings about a fact, the weightiest first.

    A failing index or repository is a finding, never an error.
    """
    weights = list(Verdict)
    remarks = sorted(
        _remarks(fact, offers, repositories), key=lambda remark: weights.index(remark.verdict)
    )
    return CheckedFact(fact, tuple(remarks))


def projects_of(fact: Fact) -> tuple[NormalizedName, ...]:
    """The projects that are looked up to check a fact."""
    if isinstance(fact, model.Sources) or (isinstance(fact, model.Pairs) and fact.release):
        return ()
    return (fact.package, *model.projects_named_by(fact))


def _remarks(fact: Fact, offers: Offers, repositories: Repositories) -> Iterator[Remark]:
    if isinstance(fact, model.Sources):
        yield _check_commit(fact, repositories)
        return
    if isinstance(fact, model.Pairs) and fact.release:
        yield _unchecked("pairing")
        return
    try:
        versions, missing = _sample(fact, offers)
        yield from missing
        if versions:
            yield from _check_kind(fact, versions, offers)
    except IndexFailure as error:
        yield Remark(Verdict.UNCHECKED, message(FAILED, why=error.why or error.message))


def _sample(fact: Fact, offers: Offers) -> tuple[list[Version], list[Remark]]:
    """The newest and the oldest release of each set of versions; and a remark on sets that no index has."""
    lookup = offers.catalog.lookup(fact.package)
    sample: dict[Version, None] = {}
    at_commits: dict[Version, None] = {}
    unmatched: list[SpecifierSet] = []
    for specifiers in fact.versions:
        matching = offers.matching(fact.package, specifiers)
        sample |= dict.fromkeys(matching[:1] + matching[-1:])
        if not matching and (commits := offers.at_commits(fact.package, specifiers)):
            at_commits |= dict.fromkeys(commits)
        elif not matching:
            unmatched.append(specifiers)
    remarks = []
    if at_commits:
        remarks.append(_unchecked("at-commit", releases=f"{fact.package} {some(list(at_commits))}"))
    if unmatched:
        what = f"{fact.package} {', '.join(map(str, unmatched))}"
        missing = _missing_project(fact.package, offers, what if lookup.pages else fact.package)
        remarks.append(missing or _gone("no-release", what=what))
    return list(sample), remarks


def _check_kind(fact: Fact, versions: Sequence[Version], offers: Offers) -> Iterator[Remark]:
    match fact:
        case model.Requires():
            yield from _check_needs(fact, fact.needs, versions, offers)
        case model.Constrains():
            for bound in fact.bounds:
                yield from _check_requirement(fact, bound, versions, offers)
        case model.Replaces():
            yield from _check_replacement(fact, versions, offers)
            yield from _check_needs(fact, fact.add, versions, offers)
        case model.Metadata():
            for version in versions:
                yield _check_release(fact, version, partial(_check_metadata, fact, offers))
        case model.Builds():
            yield from _check_archives(fact, offers)
        case model.Collides() | model.Absent():
            yield from _check_apart(fact, versions, offers)
        case model.After():
            yield from _check_projects(fact, offers)
            yield _unchecked("order")
        case model.Links():
            yield from _check_projects(fact, offers)
            yield _unchecked("links")
        case model.Pairs():
            yield _unchecked("pairing")
        case model.Warns():
            yield from _check_projects(fact, offers)
            yield from _check_extra(fact, versions, offers)
            yield _WARNING
        case model.Excludes() | model.Names():
            every = offers.versions(fact.package)
            yield _holds(
                "there", releases=some([version for version in every if fact.applies_to(version)])
            )
            beyond = [version for version in every if not fact.applies_to(version)]
            if beyond and isinstance(fact, model.Names):
                yield _holds("beyond", releases=some(beyond))
        case model.Exports():
            yield _unchecked("variables")
        case model.External():
            yield _unchecked("machine", needs=", ".join(fact.needs))
        case model.Optional():
            yield from _check_projects(fact, offers)
            yield _unchecked("starts")
        case model.Sources():
            raise AssertionError("a commit is on no index")


# --- what a release needs


def _check_needs(
    fact: Fact, needs: Sequence[Need], versions: Sequence[Version], offers: Offers
) -> Iterator[Remark]:
    machine = []
    for need in needs:
        match need:
            case Requirement():
                yield from _check_requirement(fact, need, versions, offers)
            case ComponentRequirement(component="python"):
                yield from _check_each(fact, versions, partial(_check_python, fact, need, offers))
            case ComponentRequirement():
                machine.append(str(need))
    if machine:
        yield _unchecked("machine", needs=", ".join(machine))


def _check_each(
    fact: Fact, versions: Sequence[Version], check: Callable[[Version], Remark]
) -> Iterator[Remark]:
    """Findings of each release about a need: all that contradict it, and one of those that agree."""
    agreeing: Remark | None = None
    for version in versions:
        remark = _check_release(fact, version, check)
        if remark.verdict is not Verdict.HOLDS:
            yield remark
        elif agreeing is None:
            agreeing = remark
    if agreeing is not None:
        yield agreeing


def _check_release(fact: Fact, version: Version, check: Callable[[Version], Remark]) -> Remark:
    try:
        return check(version)
    except UnusableFile as error:
        return _unchecked("unreadable", release=f"{fact.package} {version}", why=str(error))


def _check_python(
    fact: Fact, need: ComponentRequirement, offers: Offers, version: Version
) -> Remark:
    """Findings about a need on Python from Requires-Python of one release."""
    declared = offers.declared(fact.package, version)
    specifiers = text.python_specifiers(declared.requirements.requires_python)
    if specifiers is None:
        raise UnusableFile(f"{declared.python} has an invalid Requires-Python")
    values = {"need": str(need), "file": declared.python, "line": f"Python {specifiers}"}
    if not specifiers:
        return _holds("silent", **values)
    admitted = set(specifiers.filter(_PYTHONS, prereleases=True))
    return _compare(admitted, {python for python in _PYTHONS if need.allows(python)}, values)


def _compare(admitted: Set[Version], needed: Set[Version], values: Mapping[str, str]) -> Remark:
    """The versions that metadata admits compared with those that a fact does."""
    if not admitted & needed:
        return _contradicted("clashes", **values)
    return _holds("says-so" if admitted <= needed else "agrees", **values)


def _check_requirement(
    fact: Fact, need: Requirement, versions: Sequence[Version], offers: Offers
) -> Iterator[Remark]:
    fitting = offers.matching(need.name, need.specifier)
    if not fitting:
        unmet = _unmet("nothing-fits", need=str(need), project=fact.package)
        yield _missing_project(need.name, offers, str(need)) or unmet
    elif not (isinstance(fact, model.Replaces) and need.name in fact.drop):  # the fact overrides it
        yield from _check_each(
            fact, versions, partial(_compare_requirement, fact, need, fitting, offers)
        )


def _compare_requirement(
    fact: Fact, need: Requirement, fitting: Sequence[Version], offers: Offers, version: Version
) -> Remark:
    """Findings about a need from the metadata of one release."""
    where, requirements = offers.requirements_on([need.name], fact.package, version)
    values = {"need": str(need), "file": where, "line": ", ".join(map(str, requirements))}
    if not requirements:
        return _holds("silent", **values)
    admitted = set.intersection(
        *(set(offers.matching(need.name, line.specifier)) for line in requirements)
    )
    return _compare(admitted, set(fitting), values)


def _check_replacement(
    fact: model.Replaces, versions: Sequence[Version], offers: Offers
) -> Iterator[Remark]:
    def check(version: Version) -> Remark:
        where, requirements = offers.requirements_on(fact.drop, fact.package, version)
        requirements += offers.replaced_requirements(fact, version)
        values = {
            "file": where,
            "names": ", ".join(fact.drop),
            "line": ", ".join(map(str, requirements)),
        }
        if (
            fact.strength is model.Strength.PRACTICE
            and requirements
            and _is_needless(fact, requirements, offers)
        ):
            return _contradicted("needless", **values)
        return _holds("replaced", **values) if requirements else _contradicted("idle", **values)

    for version in versions:
        yield _check_release(fact, version, check)


def _is_needless(
    practice: model.Replaces, requirements: Sequence[Requirement], offers: Offers
) -> bool:
    """Whether the requirements that a practice drops admit all releases that their replacements do."""
    added = [need for need in practice.add if isinstance(need, Requirement)]
    for need in requirements:
        specifiers = [new.specifier for new in added if new.name == need.name]
        admitted = {
            version for specifier in specifiers for version in offers.matching(need.name, specifier)
        }
        if not specifiers or set(need.specifier.filter(admitted, prereleases=True)) != admitted:
            return False
    return True


def _check_apart(
    fact: model.Collides | model.Absent, versions: Sequence[Version], offers: Offers
) -> Iterator[Remark]:
    """What must not be installed with a release must not be required by the release itself."""
    yield from _check_projects(fact, offers)

    def check(version: Version) -> Remark:
        where, requirements = offers.requirements_on([fact.other], fact.package, version)
        values = {"file": where, "other": fact.other, "line": ", ".join(map(str, requirements))}
        return _contradicted("asks", **values) if requirements else _holds("apart", **values)

    yield from _check_each(fact, versions, check)
    if isinstance(fact, model.Collides):
        yield _unchecked("module", module=fact.module)


def _check_extra(
    fact: model.Warns, versions: Sequence[Version], offers: Offers
) -> Iterator[Remark]:
    """Findings for releases that lack the extra of a warning."""

    def check(version: Version) -> Remark:
        declared = offers.declared(fact.package, version)
        has_it = fact.extra in declared.requirements.extras
        return (
            _WARNING if has_it else _contradicted("no-extra", file=declared.where, extra=fact.extra)
        )

    for version in versions if fact.extra else ():
        remark = _check_release(fact, version, check)
        if remark is not _WARNING:
            yield remark


# --- what an archive has


def _check_archives(fact: model.Builds, offers: Offers) -> Iterator[Remark]:
    """Check that every release that a fact builds has an archive, and open the newest of each set."""
    without: list[Version] = []
    newest: dict[File, None] = {}
    for specifiers in fact.versions:
        versions = offers.matching(fact.package, specifiers)
        archives = [
            [file for file in offers.files(fact.package, version) if not file.is_wheel]
            for version in versions
        ]
        without += [version for version, files in zip(versions, archives, strict=True) if not files]
        newest |= dict.fromkeys([files[0] for files in archives if files][:1])
    if without:
        yield _contradicted("no-archive", releases=f"{fact.package} {some(without)}")
    for file in newest:
        yield from _check_archive(fact, file, offers)


def _check_archive(fact: model.Builds, file: File, offers: Offers) -> Iterator[Remark]:
    values = {"file": file.filename, "member": fact.requires_from}
    try:
        archive = offers.catalog.archive(file)
    except UnusableFile as error:
        yield _unchecked("unreadable", release=file.filename, why=str(error))
        return
    try:
        offers.catalog.member(file, fact.requires_from)
    except UnusableFile:
        yield _contradicted("no-member", **values)
        return
    names = {need.name for need in _readable(archive.build_requires or ())}
    if idle := [name for name in fact.build_drop if name not in names]:
        yield _contradicted("idle", file=file.filename, names=", ".join(idle), line="")
    else:
        yield _holds("archive", **values)


def _check_metadata(fact: model.Metadata, offers: Offers, version: Version) -> Remark:
    """The requirements in a fact compared with those of a wheel, of the archive's metadata or of its other files."""
    wheels = [file for file in offers.files(fact.package, version) if _is_for_linux(file)]
    archives = [file for file in offers.files(fact.package, version) if not file.is_wheel]
    file = next(iter(wheels or archives), offers.release(fact.package, version).file)
    where = file.filename
    metadata = (
        offers.catalog.metadata(file) if file.is_wheel else offers.catalog.archive(file).metadata
    )
    lines = None if metadata is None else metadata.requires_dist
    if lines is None and (noted := informal_requirements(file, offers.catalog)) is not None:
        where, lines = noted.where, noted.lines
    if lines is None:
        return _unchecked("not-static", file=file.filename)
    of_fact, of_release = _without_extras(map(str, fact.requires)), _without_extras(lines)
    if of_fact == of_release:
        return _holds("same", where=where)
    lacking, extra = (
        ", ".join(sorted(lines)) or "-" for lines in (of_release - of_fact, of_fact - of_release)
    )
    return _contradicted("differs", where=where, theirs=lacking, own=extra)


def _is_for_linux(file: File) -> bool:
    """Return whether a file is a wheel for Linux or any system.

    What setup.py computes may differ elsewhere: deepspeed's wheels for Windows require what CUDA
    needs.
    """
    parts = wheel_parts(file.filename)
    return parts is not None and (parts.platform == "any" or "linux" in parts.platform)


def _without_extras(lines: Iterable[str]) -> frozenset[str]:
    """The requirements without those of extras, normalized."""
    return frozenset(str(need) for need in _readable(lines) if "extra" not in str(need.marker))


def _readable(lines: Iterable[str]) -> Iterator[Requirement]:
    for line in lines:
        with suppress(InvalidRequirement):
            yield text.requirement(line)


# --- what exists


def _check_projects(fact: Fact, offers: Offers) -> Iterator[Remark]:
    """Findings for the other projects of a fact that no index has."""
    for name in model.projects_named_by(fact):
        remark = _missing_project(name, offers, name)
        if remark is not None and not offers.catalog.lookup(name).pages:
            yield remark


def _missing_project(name: NormalizedName, offers: Offers, what: str) -> Remark | None:
    """That an index that may have a project did not answer, or that none has it; else None."""
    lookup = offers.catalog.lookup(name)
    if lookup.unreachable:
        return _unchecked("passed-over", index=", ".join(lookup.unreachable), what=what)
    return None if lookup.pages else _gone("no-project", project=name)


def _check_commit(fact: model.Sources, repositories: Repositories) -> Remark:
    address = f"{fact.git}@{fact.commit[:12]}"
    try:
        trust = why_unverified(fact, repositories)
    except ResolverError as error:
        return _contradicted("git-differs", address=address, why=error.why or error.message)
    if trust:
        return _unchecked("git", address=address, why=trust)
    return _holds("git-agrees", address=address)
