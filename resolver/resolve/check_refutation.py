"""The check of a refutation: is there really no solution? Written apart from the engine, like that of a resolution.

An engine says which grounds clash, and which releases each of them is about. Here each of these
claims is looked up again, in the pages, the metadata and the facts (see `independent_reading`), and
what is confirmed is enumerated: if some choice of releases meets all of it, the refutation is
wrong.

Three claims are taken as they are: that binaries need a version of another project, that an archive
was not opened as others of its project had no static metadata, and which releases permit a yanked
release or a pre-release.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from packaging.requirements import InvalidRequirement
from packaging.utils import NormalizedName
from packaging.version import InvalidVersion, Version

from resolver.errors import ResolverError
from resolver.index.protocol import Catalog, UnusableFile
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.dependency import NeedSource
from resolver.model.problem import Problem
from resolver.model.release import RejectionReason, Release
from resolver.model.requirement import ComponentRequirement, Requirement
from resolver.model.resolution import Lack, Pin
from resolver.resolve.enumeration import Choice, Need, TooManyError, admits, is_possible, need_of
from resolver.resolve.grounds import (
    CollisionGround,
    ComponentGround,
    ExclusionGround,
    Ground,
    LackGround,
    LineGround,
    RequirementGround,
)
from resolver.resolve.independent_linkage import BinaryCheck
from resolver.resolve.independent_reading import IndependentReading, parsed_version

_IMPOSSIBLE = Need("", "")  # a project without releases
_BINARIES = (RejectionReason.BINARIES, RejectionReason.GLIBC, RejectionReason.LIBRARY)


class ClaimedRelease(NamedTuple):
    """A release that a claim is about."""

    project: NormalizedName
    version: Version
    # the extra that has the requirement; empty for none
    extra: str = ""
    # the release as the target would take it; None if it cannot
    release: Release | None = None
    # with `Lack.UNUSABLE`: why its file cannot be used
    reason: RejectionReason | None = None


class Claim(NamedTuple):
    """A ground of a refutation, and the releases that it is about: with a requirement, or ruled out."""

    ground: Ground
    releases: tuple[ClaimedRelease, ...] = ()
    # the releases that permit those which are ruled out
    permitting: tuple[ClaimedRelease, ...] = ()


def check_refutation(problem: Problem, claims: Sequence[Claim], catalog: Catalog) -> list[str]:
    """Return every fault of a refutation as a sentence; nothing if its claims hold and exclude each other."""
    checked = _Check(problem, catalog)
    faults = [fault for claim in claims for fault in checked.faults(claim)]
    if faults:
        return faults
    try:
        possible = checked.is_possible()
    except TooManyError:
        return ["there are too many combinations of releases to try them all"]
    return ["some releases meet everything that is said to clash"] if possible else []


class _Check:
    """Confirms claims one by one, and keeps what they say of releases."""

    def __init__(self, problem: Problem, catalog: Catalog) -> None:
        self._problem = problem
        self._catalog = catalog
        self._reading = IndependentReading(problem, catalog)
        self._facts: dict[str, list[facts.Fact]] = defaultdict(
            list
        )  # those of a stack may share an id
        for fact in problem.facts:
            self._facts[fact.id].append(fact)
        self._components: set[str] = set()
        self._component_needs: list[tuple[NormalizedName, Version, str, ComponentRequirement]] = []
        self._lines: dict[object, set[str]] = defaultdict(
            set
        )  # the aspects of each line, by its origin
        self._root_components: list[ComponentRequirement] = []
        self._needs: dict[tuple[NormalizedName, Version, str], list[Need]] = defaultdict(list)
        self._bounds: dict[tuple[NormalizedName, Version], list[Need]] = defaultdict(list)
        self._ruled_out: set[tuple[NormalizedName, Version]] = set()
        self._yanked: set[tuple[NormalizedName, Version]] = set()
        self._doubtful: set[tuple[NormalizedName, Version]] = set()
        self._permits: dict[tuple[NormalizedName, Version], set[str]] = defaultdict(set)
        self._collisions: list[facts.Collides | facts.Absent] = []

    # --- claims

    def faults(self, claim: Claim) -> Iterator[str]:
        """Yield what is wrong with a claim, and keep what it says."""
        ground = claim.ground
        match ground:
            case LineGround():
                self._lines[ground.origin].add(ground.aspect)
            case ComponentGround():
                self._components.add(ground.name)
                if ground.name not in self._problem.target.system:
                    yield f"the target does not say which {ground.name} it has"
            case CollisionGround():
                known = self._facts.get(ground.fact, ())
                excluding = [
                    fact for fact in known if isinstance(fact, (facts.Collides, facts.Absent))
                ]
                self._collisions += excluding
                if not excluding:
                    yield f"`{ground.fact}` is no fact about what excludes each other"
            case RequirementGround():
                for claimed in claim.releases:
                    yield from self._requirement(ground, claimed)
            case ExclusionGround():
                for claimed in claim.releases:
                    yield from self._exclusion(ground, claimed)
            case LackGround():
                yield from self._lack(ground, claim)

    def _requirement(self, ground: RequirementGround, claimed: ClaimedRelease) -> Iterator[str]:
        who = f"{claimed.project} {claimed.version}"
        release = claimed.release
        if release is None:
            yield f"{who} has requirements, and no file"
            return
        if not self._is_taken(claimed.project, release):
            yield f"{release.file.filename} is not what pip takes"
        about = [
            fact
            for fact in self._facts.get(ground.fact, ())
            if fact.is_about(claimed.project, claimed.version)
        ]
        fact = about[0] if about else None
        need = self._stated_need(ground, claimed, release, about)
        if need is None:
            yield f"{who} does not require {ground.text}"
        elif isinstance(need, ComponentRequirement):
            self._component_needs.append((claimed.project, claimed.version, claimed.extra, need))
        elif isinstance(fact, facts.Constrains):
            self._bounds[claimed.project, claimed.version].append(need_of(need, by_user=True))
        else:
            by_user = ground.source is NeedSource.FACT
            self._needs[claimed.project, claimed.version, claimed.extra].append(
                need_of(need, by_user=by_user)
            )

    def _is_taken(self, name: NormalizedName, release: Release) -> bool:
        """Return whether the target takes a release from this file, or from this commit."""
        direct = self._problem.source(name)
        if direct is not None:
            _, source = direct
            return release.source == source
        return self._reading.is_taken(name, release)

    def _stated_need(
        self,
        ground: RequirementGround,
        claimed: ClaimedRelease,
        release: Release,
        about: Iterable[facts.Fact],
    ) -> facts.Need | None:
        """Return the requirement of a release that reads like a claim; None if it has none."""
        if ground.source is NeedSource.LINKAGE:
            return text.requirement(ground.text)
        for fact in about:
            if isinstance(fact, facts.Requires) and not fact.counts_for(release):
                continue
            for need in (*facts.needs_of(fact), *facts.bounds_of(fact)):
                if str(need) == ground.text and self._holds(need):
                    return need
        try:
            for requirement in self._requirements_of(ground, claimed, release):
                if requirement.without_marker() == ground.text:
                    return requirement
        except (UnusableFile, InvalidRequirement):
            return None
        return None

    def _holds(self, need: facts.Need) -> bool:
        return isinstance(need, ComponentRequirement) or self._reading.applies(need, "")

    def _requirements_of(
        self, ground: RequirementGround, claimed: ClaimedRelease, release: Release
    ) -> Iterator[Requirement]:
        """Yield what the metadata of a release, or its build, requires on the target."""
        is_build = ground.source is NeedSource.BUILD
        if is_build:
            lines = self._reading.build_lines(claimed.project, release)
        else:
            lines = self._reading.lines_for(claimed.project, release, claimed.extra)
        for line in lines:
            requirement = text.requirement(line)
            if self._reading.applies(requirement, "" if is_build else claimed.extra):
                yield requirement

    def _exclusion(self, ground: ExclusionGround, claimed: ClaimedRelease) -> Iterator[str]:
        known = self._facts.get(ground.fact, ())
        is_about = any(fact.is_about(claimed.project, claimed.version) for fact in known)
        if not is_about or self._has_usable_file(claimed):
            yield f"`{ground.fact}` does not exclude {claimed.project} {claimed.version}"
        self._ruled_out.add((claimed.project, claimed.version))

    def _lack(self, ground: LackGround, claim: Claim) -> Iterator[str]:
        pages = self._catalog.lookup(ground.name)
        match ground.lack:
            case Lack.PROJECT:
                if pages.pages:
                    yield f"{ground.name} exists"
            case Lack.UNREACHABLE:
                if not pages.unreachable:
                    yield f"every index of {ground.name} was reached"
            case Lack.RELEASE | Lack.SOURCE:
                if any(admits(ground.detail, version) for version in self._versions(ground.name)):
                    yield f"there is a release of {ground.name}{ground.detail}"
            case Lack.FILE | Lack.CUTOFF:
                for claimed in claim.releases:
                    if self._has_usable_file(claimed):
                        yield f"{claimed.project} {claimed.version} has a file for the target"
                    self._ruled_out.add((claimed.project, claimed.version))
            case Lack.UNUSABLE:
                for claimed in claim.releases:
                    if not self._is_unusable(claimed):
                        yield f"the file of {claimed.project} {claimed.version} can be used"
                    self._needs[claimed.project, claimed.version, claimed.extra].append(_IMPOSSIBLE)
            case Lack.PRERELEASE | Lack.NEEDLESS | Lack.YANKED:
                yield from self._policy(ground, claim)

    def _policy(self, ground: LackGround, claim: Claim) -> Iterator[str]:
        for claimed in claim.releases:
            key = claimed.project, claimed.version
            if ground.lack is Lack.YANKED:
                if claimed.release is None or claimed.release.file.yanked is None:
                    yield f"{claimed.project} {claimed.version} was not yanked"
                self._yanked.add(key)
                continue
            if not claimed.version.is_prerelease:
                yield f"{claimed.project} {claimed.version} is no pre-release"
            if ground.lack is Lack.PRERELEASE:
                if self._problem.policy.prereleases_for(claimed.project) != "never":
                    yield f"the policy permits pre-releases of {claimed.project}"
                self._ruled_out.add(key)
            else:
                self._doubtful.add(key)
        for permitting in claim.permitting:
            self._permits[permitting.project, permitting.version].add(ground.name)

    # --- releases

    def _versions(self, name: NormalizedName) -> list[Version]:
        """Return the versions of a project: that of the commit if the stack names one, else those on its pages."""
        for root in self._problem.stack.requirements:
            need = root.need
            if (
                isinstance(need, Requirement)
                and need.name == name
                and need.url in self._problem.sources
            ):
                return [self._problem.sources[need.url].version]
        versions: dict[Version, None] = {}
        for page in self._catalog.lookup(name).pages:
            for spelled in page.releases:
                try:
                    versions[parsed_version(spelled)] = None
                except InvalidVersion:
                    continue
        return list(versions)

    def _has_usable_file(self, claimed: ClaimedRelease) -> bool:
        pages = self._catalog.lookup(claimed.project).pages
        return any(
            self._reading.has_usable_file(
                claimed.project, page, claimed.version, is_yanked_fine=True
            )
            for page in pages
        )

    def _is_unusable(self, claimed: ClaimedRelease) -> bool:
        """Return whether the file of a release cannot be used, for a reason of the claimed kind."""
        release = claimed.release
        if release is None:
            return False
        if claimed.reason is RejectionReason.UNOPENED:
            return not release.file.is_wheel
        if claimed.reason in _BINARIES:
            pin = Pin(
                name=claimed.project,
                release=release,
                extras=(),
                unknown_extras=(),
                because=(),
                needs=(),
            )
            return any(BinaryCheck(self._problem, {pin.name: pin}, self._catalog).faults(pin))
        try:
            if release.file.is_wheel:
                requires_python = self._catalog.metadata(release.file).requires_python
                if any(self._reading.python_faults(release.file, requires_python)):
                    return True
                table = self._reading.table(claimed.project, claimed.version, release.index)
                if any(self._reading.own_faults(release.file, table)):
                    return True
            lines = self._reading.lines_for(claimed.project, release, claimed.extra)
            lines += self._reading.build_lines(claimed.project, release)
            return any(self._is_refused(claimed, line) for line in lines)
        except (UnusableFile, ResolverError):
            return True

    def _is_refused(self, claimed: ClaimedRelease, line: str) -> bool:
        """Return whether a line of a release cannot be followed."""
        try:
            need = text.requirement(line)
        except InvalidRequirement:
            return True
        if not self._reading.applies(need, claimed.extra):
            return False
        is_of_itself = need.name == claimed.project
        return bool(need.url) or (
            is_of_itself and not need.specifier.contains(claimed.version, prereleases=True)
        )

    # --- the enumeration

    def is_possible(self) -> bool:
        """Return whether some releases meet everything that was claimed. Raises TooManyError."""
        roots = self._roots()
        if any(not self._is_met(need) for need in self._root_components):
            return False
        names = {need.project for need in roots}
        names.update(need.project for needs in self._needs.values() for need in needs)
        names.discard(_IMPOSSIBLE.project)
        specifiers: dict[str, set[str]] = defaultdict(set)
        for need in (
            *roots,
            *(need for needs in (*self._needs.values(), *self._bounds.values()) for need in needs),
        ):
            specifiers[need.project].add(need.specifier)
        choices = {name: self._choices(text.name(name), sorted(specifiers[name])) for name in names}
        doubtful = sorted({project for project, _ in self._doubtful})
        finals: dict[str, list[Version]] = {}
        for project in doubtful:
            finals[project] = [
                version for version in self._versions(project) if self._is_final(project, version)
            ]
        return is_possible(roots, choices, finals)

    def _is_final(self, name: NormalizedName, version: Version) -> bool:
        """Return whether a release is a final one that the target can use."""
        if version.is_prerelease:
            return False
        return any(
            self._reading.has_usable_file(name, page, version, is_yanked_fine=False)
            for page in self._catalog.lookup(name).pages
        )

    def _roots(self) -> list[Need]:
        """Return what the lines of the stack, or of a build environment, require, as far as they are claimed."""
        roots = []
        for root in self._problem.stack.requirements:
            aspects = self._lines.get(root.origin)
            if not aspects or (
                isinstance(root.need, Requirement) and not self._reading.applies(root.need, "")
            ):
                continue
            if isinstance(root.need, ComponentRequirement):
                self._root_components.append(root.need)
                continue
            specifier = str(root.need.specifier) if "version" in aspects else ""
            extras = tuple(extra for extra in root.need.extras if f"extra {extra}" in aspects)
            roots.append(Need(root.need.name, specifier, extras, by_user=True))
        return roots

    def _is_met(self, need: ComponentRequirement) -> bool:
        """Return whether the target meets a requirement, or it is not claimed that it has this value."""
        if need.component not in self._components:
            return True
        return need.allows(self._problem.target.system[need.component])

    def _choices(self, name: NormalizedName, specifiers: Sequence[str]) -> list[Choice]:
        """Return the releases of a project that are not ruled out, one for all that the claims do not tell apart."""
        unmet = {
            (project, version, extra)
            for project, version, extra, need in self._component_needs
            if project == name and not self._is_met(need)
        }
        extras = {extra for project, _, extra in (*self._needs, *unmet) if project == name}
        choices: dict[object, Choice] = {}
        for version in self._versions(name):
            key = name, version
            if key in self._ruled_out or (name, version, "") in unmet:
                continue
            needs = {}
            for extra in extras:
                rows = list(self._needs.get((name, version, extra), ()))
                if (name, version, extra) in unmet:
                    rows.append(_IMPOSSIBLE)
                if rows:
                    needs[extra] = tuple(rows)
            choice = Choice(
                version=version,
                needs=needs,
                bounds=tuple(self._bounds.get(key, ())),
                modules=frozenset(self._modules(name, version)),
                is_yanked=key in self._yanked,
                is_doubtful=key in self._doubtful,
                permits=frozenset(self._permits.get(key, ())),
            )
            admitted = tuple(admits(specifier, version) for specifier in specifiers)
            alike = (admitted, version.is_prerelease, tuple(sorted(needs.items())), *choice[2:])
            choices.setdefault(alike, choice)
        return list(choices.values())

    def _modules(self, name: NormalizedName, version: Version) -> Iterator[str]:
        """Yield what a release shares with others by facts that are claimed."""
        for fact in self._collisions:
            if name == fact.other or fact.is_about(name, version):
                yield fact.module
