"""Compare facts with what the indexes offer today, for the command `facts check`.

Each kind of fact is compared in its own way. A finding is a remark with a verdict; nothing is
changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from enum import Enum
from functools import partial
from typing import Final

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
from resolver.phrase import cause

# The code of a remark that an index is out of reach.
FAILED: Final = "upstream.remark-failed"
# How many digits of a commit's hash a remark shows.
_SHORT_COMMIT: Final = 12
# The releases of Python that are compared with Requires-Python.
_PYTHONS: Final = tuple(Version(f"3.{minor}") for minor in range(6, 21))


class Verdict(Enum):
    """The outcome for a fact, the gravest first."""

    # An index says otherwise.
    CONTRADICTED = "contradicted"
    # The fact is about something that does not exist.
    GONE = "gone"
    # No release meets what the fact requires. The fact may be right, but then its release cannot be
    # locked.
    UNMET = "unmet"
    # Everything that can be compared agrees.
    HOLDS = "holds"
    # No index has anything to compare the fact with.
    UNCHECKED = "unchecked"


class Remark(msgspec.Struct, frozen=True):
    """A finding about a fact."""

    # The verdict on the fact if this were the only finding.
    verdict: Verdict
    # The finding. Its values may be texts of indexes.
    message: Message


class CheckedFact(msgspec.Struct, frozen=True):
    """A fact and the findings about it."""

    # The fact.
    fact: Fact
    # The findings, the gravest first; at least one.
    remarks: tuple[Remark, ...]

    @property
    def verdict(self) -> Verdict:
        """Return the verdict of the gravest remark."""
        return self.remarks[0].verdict


def _remark(verdict: Verdict, code: str, **values: object) -> Remark:
    """Return a remark whose message has the code `upstream.remark-` and the given suffix."""
    return Remark(verdict, message(f"upstream.remark-{code}", **values))


_contradicted = partial(_remark, Verdict.CONTRADICTED)
_gone = partial(_remark, Verdict.GONE)
_unmet = partial(_remark, Verdict.UNMET)
_holds = partial(_remark, Verdict.HOLDS)
_unchecked = partial(_remark, Verdict.UNCHECKED)


def check_fact(fact: Fact, offers: Offers, repositories: Repositories) -> CheckedFact:
    """Return a fact with the findings about it, the gravest first.

    A failing index or repository is a finding, never an error.
    """
    gravest_first = list(Verdict)
    remarks = sorted(
        _remarks(fact, offers, repositories),
        key=lambda remark: gravest_first.index(remark.verdict),
    )
    return CheckedFact(fact, tuple(remarks))


def projects_of(fact: Fact) -> tuple[NormalizedName, ...]:
    """Return the projects whose pages are needed to check a fact."""
    if isinstance(fact, model.Sources) or _is_about_no_version(fact):
        return ()
    return (fact.package, *fact.named_projects)


def _is_about_no_version(fact: Fact) -> bool:
    """Return whether a fact is about a branch or another name that is no version."""
    return isinstance(fact, model.Pairs) and bool(fact.release)


def _remarks(fact: Fact, offers: Offers, repositories: Repositories) -> Iterator[Remark]:
    """Yield the findings about a fact, in no order."""
    if isinstance(fact, model.Sources):
        yield _check_commit(fact, repositories)
        return
    if _is_about_no_version(fact):
        yield _unchecked("pairing")
        return
    try:
        if _is_on_no_index(fact, offers):
            yield _holds("no-project", project=fact.package)
            return
        versions, remarks = _sample(fact, offers)
        yield from remarks
        if versions:
            yield from _Checker(fact.package, versions, offers).check(fact)
    except IndexFailure as error:
        yield _unchecked("failed", why=error.phrases["why"] or error.phrases["message"])


def _is_on_no_index(fact: Fact, offers: Offers) -> bool:
    """Return whether a fact is about the name of a project that no index has. Raise IndexFailure.

    False if an index that may have the project did not answer.
    """
    if not isinstance(fact, model.Names) or not fact.is_about_all:
        return False
    lookup = offers.catalog.lookup(fact.package)
    return not lookup.pages and not lookup.unreachable


def _check_commit(fact: model.Sources, repositories: Repositories) -> Remark:
    """Compare a `sources` fact with the commit in its repository."""
    address = f"{fact.git}@{fact.commit[:_SHORT_COMMIT]}"
    try:
        why = why_unverified(fact, repositories)
    except ResolverError as error:
        return _contradicted(
            "git-differs", address=address, why=error.phrases["why"] or error.phrases["message"]
        )
    if why:
        return _unchecked("git", address=address, why=why)
    return _holds("git-agrees", address=address)


def _sample(fact: Fact, offers: Offers) -> tuple[list[Version], list[Remark]]:
    """Return releases that a fact is about: of each set of versions, the newest and the oldest.

    Also return remarks on the sets of which no index has a release.
    """
    sample: dict[Version, None] = {}
    at_commits: dict[Version, None] = {}
    unmatched: list[SpecifierSet] = []
    for specifiers in fact.versions:
        matching = offers.matching(fact.package, specifiers)
        if matching:
            sample[matching[0]] = None
            sample[matching[-1]] = None
            continue
        commits = offers.at_commits(fact.package, specifiers)
        at_commits |= dict.fromkeys(commits)
        if not commits:
            unmatched.append(specifiers)
    remarks = []
    if at_commits:
        releases = f"{fact.package} {some(list(at_commits))}"
        remarks.append(_unchecked("at-commit", releases=releases))
    if unmatched:
        remarks.append(_missing_releases(fact.package, unmatched, offers))
    return list(sample), remarks


def _missing_releases(
    package: NormalizedName, versions: Iterable[SpecifierSet], offers: Offers
) -> Remark:
    """Return the remark that no index has a release in these sets of versions."""
    releases = f"{package} {', '.join(map(str, versions))}"
    is_listed = bool(offers.catalog.lookup(package).pages)
    missing = _missing_project(package, offers, releases if is_listed else package)
    return missing or _gone("no-release", what=releases)


def _missing_project(name: NormalizedName, offers: Offers, what: str) -> Remark | None:
    """Return a remark if an index that may have a project did not answer, or if no index has it.

    `what` is what was looked for, as the remark names it. None if an index has the project.
    """
    lookup = offers.catalog.lookup(name)
    if lookup.unreachable:
        return _unchecked("passed-over", index=", ".join(lookup.unreachable), what=what)
    return None if lookup.pages else _gone("no-project", project=name)


class _Checker:
    """Compares a fact with some releases of its project. See `_sample` for which."""

    def __init__(
        self, package: NormalizedName, versions: Sequence[Version], offers: Offers
    ) -> None:
        self._package = package
        self._versions = versions
        self._offers = offers

    def check(self, fact: Fact) -> Iterator[Remark]:
        """Yield the findings about a fact of any kind but `sources`. Raises IndexFailure."""
        match fact:
            case model.Requires(needs=needs) | model.Constrains(bounds=needs):
                yield from self._check_needs(needs)
            case model.Replaces():
                yield from self._each(partial(self._check_replacement, fact))
                yield from self._check_needs(fact.add, dropped=fact.drop)
            case model.Metadata():
                yield from self._each(partial(self._check_metadata, fact))
            case model.Builds():
                yield from self._check_archives(fact)
            case model.Collides() | model.Absent():
                yield from self._check_apart(fact)
            case model.Warns():
                yield from self._check_warning(fact)
            case model.Excludes() | model.Names():
                yield from self._check_existence(fact)
            case _:
                yield from self._check_projects(fact)
                yield from self._check_needs(fact.added_needs)
                if not fact.added_needs:
                    yield Remark(Verdict.UNCHECKED, fact.unconfirmed)

    def _check_projects(self, fact: Fact) -> Iterator[Remark]:
        """Yield a remark for each other project of a fact that no index has."""
        for name in fact.named_projects:
            if not self._offers.catalog.lookup(name).pages:
                remark = _missing_project(name, self._offers, name)
                if remark is not None:
                    yield remark

    def _check_existence(self, fact: model.Excludes | model.Names) -> Iterator[Remark]:
        """Yield which releases a fact that only names releases covers, and which it leaves out."""
        versions = self._offers.versions(self._package)
        covered = [version for version in versions if fact.applies_to(version)]
        yield _holds("there", releases=some(covered))
        beyond = [version for version in versions if not fact.applies_to(version)]
        if beyond and isinstance(fact, model.Names):
            yield _holds("beyond", releases=some(beyond))

    def _each(self, check: Callable[[Version], Remark | None]) -> Iterator[Remark]:
        """Yield what a check finds in each release. A release that cannot be read is a finding."""
        for version in self._versions:
            try:
                remark = check(version)
            except UnusableFile as error:
                release = f"{self._package} {version}"
                remark = _unchecked("unreadable", release=release, why=cause(error))
            if remark is not None:
                yield remark

    # --- what a release needs

    def _check_needs(
        self, needs: Sequence[Need], dropped: Collection[NormalizedName] = ()
    ) -> Iterator[Remark]:
        """Compare the requirements that a fact states with the metadata of each release.

        Requirements on `dropped` projects are not compared, because the fact replaces what the
        metadata says about these. Requirements on components of the machine are only listed,
        because metadata has none.
        """
        machine = []
        for need in needs:
            match need:
                case Requirement():
                    yield from self._check_requirement(need, is_dropped=need.name in dropped)
                case ComponentRequirement(component="python"):
                    yield from _agreeing_once(self._each(partial(self._check_python, need)))
                case ComponentRequirement():
                    machine.append(str(need))
        if machine:
            yield _unchecked("machine", needs=", ".join(machine))

    def _check_python(self, need: ComponentRequirement, version: Version) -> Remark:
        """Compare a fact's requirement on Python with the Requires-Python of a release.

        Raises UnusableFile if Requires-Python is invalid.
        """
        declared = self._offers.declared(self._package, version)
        specifiers = text.python_specifiers(declared.requirements.requires_python)
        if specifiers is None:
            raise UnusableFile(f"{declared.python} has an invalid Requires-Python")
        values = {"need": str(need), "file": declared.python, "line": f"Python {specifiers}"}
        if not specifiers:
            return _holds("silent", **values)
        admitted = set(specifiers.filter(_PYTHONS, prereleases=True))
        return _compare(admitted, set(filter(need.allows, _PYTHONS)), values)

    def _check_requirement(self, need: Requirement, *, is_dropped: bool) -> Iterator[Remark]:
        """Compare a fact's requirement on a project with the metadata of each release.

        If no release meets the requirement, that is the only finding.
        """
        needed = self._offers.matching(need.name, need.specifier)
        if not needed:
            missing = _missing_project(need.name, self._offers, str(need))
            yield missing or _unmet("nothing-fits", need=str(need), project=self._package)
        elif not is_dropped:
            check = partial(self._compare_requirement, need, set(needed))
            yield from _agreeing_once(self._each(check))

    def _compare_requirement(
        self, need: Requirement, needed: Set[Version], version: Version
    ) -> Remark:
        """Compare a fact's requirement on a project with the metadata of one release.

        `needed` are the releases of that project that meet it.
        """
        where, requirements = self._offers.requirements_on([need.name], self._package, version)
        values = {"need": str(need), "file": where, "line": _joined(requirements)}
        if not requirements:
            return _holds("silent", **values)
        admitted = set(self._offers.versions(need.name))
        for requirement in requirements:
            admitted &= set(self._offers.matching(need.name, requirement.specifier))
        return _compare(admitted, needed, values)

    def _check_replacement(self, fact: model.Replaces, version: Version) -> Remark:
        """Compare a `replaces` fact with a release.

        The fact is contradicted if nothing that it drops is required; for a practice also if the
        dropped requirements admit what it adds. Requirements that other facts state for the release
        count, too.
        """
        where, requirements = self._offers.requirements_on(fact.drop, self._package, version)
        requirements += self._offers.replaced_requirements(fact, version)
        values = {"file": where, "names": ", ".join(fact.drop), "line": _joined(requirements)}
        if not requirements:
            return _contradicted("idle", **values)
        is_practice = fact.strength is model.Strength.PRACTICE
        if is_practice and self._is_needless(fact, requirements):
            return _contradicted("needless", **values)
        return _holds("replaced", **values)

    def _is_needless(self, practice: model.Replaces, requirements: Sequence[Requirement]) -> bool:
        """Return whether the dropped requirements admit each release that a practice adds."""
        for requirement in requirements:
            added: set[Version] = set()
            is_replaced = False
            for need in practice.add:
                if isinstance(need, Requirement) and need.name == requirement.name:
                    is_replaced = True
                    added.update(self._offers.matching(need.name, need.specifier))
            admitted = set(requirement.specifier.filter(added, prereleases=True))
            if not is_replaced or admitted != added:
                return False
        return True

    def _check_apart(self, fact: model.Collides | model.Absent) -> Iterator[Remark]:
        """Check that no release requires the project that must not be installed beside it."""
        yield from self._check_projects(fact)
        yield from _agreeing_once(self._each(partial(self._check_no_requirement, fact.other)))
        if isinstance(fact, model.Collides):
            yield _unchecked("module", module=fact.module)

    def _check_no_requirement(self, other: NormalizedName, version: Version) -> Remark:
        """Return whether a release requires another project, which contradicts the fact."""
        where, requirements = self._offers.requirements_on([other], self._package, version)
        values = {"file": where, "other": other, "line": _joined(requirements)}
        return _contradicted("asks", **values) if requirements else _holds("apart", **values)

    def _check_warning(self, fact: model.Warns) -> Iterator[Remark]:
        """Check that the projects and the extra that a warning is about exist."""
        yield from self._check_projects(fact)
        if fact.extra:
            yield from self._each(partial(self._check_extra, fact.extra))
        yield _unchecked("warning")

    def _check_extra(self, extra: NormalizedName, version: Version) -> Remark | None:
        """Return a remark if a release does not have an extra; None if it does."""
        declared = self._offers.declared(self._package, version)
        if extra in declared.requirements.extras:
            return None
        return _contradicted("no-extra", file=declared.where, extra=extra)

    # --- what an archive has

    def _check_archives(self, fact: model.Builds) -> Iterator[Remark]:
        """Check that each release of a `builds` fact has a source archive, and open some archives.

        The newest archive of each set of versions is opened.
        """
        without: list[Version] = []
        newest: dict[File, None] = {}
        for specifiers in fact.versions:
            archives = []
            for version in self._offers.matching(self._package, specifiers):
                of_release = self._offers.archives(self._package, version)
                archives += of_release
                if not of_release:
                    without.append(version)
            newest |= dict.fromkeys(archives[:1])
        if without:
            yield _contradicted("no-archive", releases=f"{self._package} {some(without)}")
        for file in newest:
            yield self._check_archive(fact, file)

    def _check_archive(self, fact: model.Builds, file: File) -> Remark:
        """Return whether an archive has the file and the build requirements that a fact names."""
        catalog = self._offers.catalog
        try:
            archive = catalog.archive(file)
        except UnusableFile as error:
            return _unchecked("unreadable", release=file.filename, why=cause(error))
        try:
            catalog.member(file, fact.requires_from)
        except UnusableFile:
            return _contradicted("no-member", file=file.filename, member=fact.requires_from)
        required = {need.name for need in _readable(archive.build_requires or ())}
        idle = [name for name in fact.build_drop if name not in required]
        if idle:
            return _contradicted("idle", file=file.filename, names=", ".join(idle), line="")
        return _holds("archive", file=file.filename, member=fact.requires_from)

    def _check_metadata(self, fact: model.Metadata, version: Version) -> Remark:
        """Compare the requirements in a `metadata` fact with the requirements of a release's file.

        If the file has no static metadata, they are compared with what the file notes in other
        places.
        """
        file = self._file_with_metadata(version)
        catalog = self._offers.catalog
        metadata = catalog.metadata(file) if file.is_wheel else catalog.archive(file).metadata
        if metadata is not None:
            where, lines = file.filename, metadata.requires_dist
        else:
            noted = informal_requirements(file, catalog)
            if noted is None:
                return _unchecked("not-static", file=file.filename)
            where, lines = noted.where, noted.lines
        of_fact = _without_extras(map(str, fact.requires))
        of_file = _without_extras(lines)
        if of_fact == of_file:
            return _holds("same", where=where)
        lacking = ", ".join(sorted(of_file - of_fact)) or "-"
        added = ", ".join(sorted(of_fact - of_file)) or "-"
        return _contradicted("differs", where=where, theirs=lacking, own=added)

    def _file_with_metadata(self, version: Version) -> File:
        """Return the file of a release to compare with: a wheel for Linux, or else an archive.

        If there is neither, it is the file that the target takes.
        """
        for file in self._offers.wheels(self._package, version):
            if _is_for_linux(file):
                return file
        archives = self._offers.archives(self._package, version)
        if archives:
            return archives[0]
        return self._offers.release(self._package, version).file


def _agreeing_once(remarks: Iterable[Remark]) -> Iterator[Remark]:
    """Yield remarks. Of several remarks with the verdict HOLDS, only the first is yielded."""
    has_agreeing = False
    for remark in remarks:
        agrees = remark.verdict is Verdict.HOLDS
        if not (agrees and has_agreeing):
            yield remark
        has_agreeing |= agrees


def _compare(admitted: Set[Version], needed: Set[Version], values: Mapping[str, str]) -> Remark:
    """Compare the versions that metadata admits with the versions that a fact admits."""
    if not admitted & needed:
        return _contradicted("clashes", **values)
    return _holds("says-so" if admitted <= needed else "agrees", **values)


def _is_for_linux(wheel: File) -> bool:
    """Return whether a wheel is for Linux or for any system.

    Wheels for other systems may require something else, as setup.py can compute requirements:
    deepspeed's wheels for Windows require what CUDA needs.
    """
    parts = wheel_parts(wheel.filename)
    return parts is not None and (parts.platform == "any" or "linux" in parts.platform)


def _without_extras(lines: Iterable[str]) -> frozenset[str]:
    """Return the valid requirements in normal form. Requirements of extras are left out."""
    return frozenset(str(need) for need in _readable(lines) if "extra" not in str(need.marker))


def _readable(lines: Iterable[str]) -> Iterator[Requirement]:
    """Yield the valid requirements among lines. Invalid lines are skipped."""
    for line in lines:
        with suppress(InvalidRequirement):
            yield text.requirement(line)


def _joined(requirements: Iterable[Requirement]) -> str:
    """Return requirements as one text, separated by commas."""
    return ", ".join(map(str, requirements))
