"""The independent check of a refutation, which says whether there is really no solution.

It shares no code with the engines, like the check of a resolution. A refutation is a list of
premises: constraints with the releases that they concern. Each premise is looked up again in the
pages, the metadata and the facts (see `independent_reading`). Then all combinations of releases are
tried against the premises (see `combinations`). If one of them meets all premises, the refutation
is wrong.

Three things are not checked: which versions of another project binaries need, that an archive was
not opened because others of its project have no static metadata, and which releases permit a yanked
release or a pre-release.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Final

from packaging.requirements import InvalidRequirement
from packaging.utils import NormalizedName

from resolver.errors import ResolverError
from resolver.index.protocol import Catalog, UnusableFile
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.constraint import (
    BuildLine,
    ComponentValue,
    Excluded,
    Exclusive,
    NoCandidate,
    ReleaseRequires,
    RequirementSource,
    StackLine,
    Unavailable,
)
from resolver.model.problem import Problem
from resolver.model.reason import ConcernedRelease, Premise
from resolver.model.release import RejectionReason, Release
from resolver.model.requirement import ComponentRequirement, Requirement
from resolver.model.resolution import Pin
from resolver.resolve.combinations import IMPOSSIBLE, Combinations, ExtraKey, ReleaseKey
from resolver.resolve.enumeration import Permission, TooManyError, admits, need_of
from resolver.resolve.independent_absence import absent_projects
from resolver.resolve.independent_linkage import BinaryCheck
from resolver.resolve.independent_reading import IndependentReading

# The reasons that are about the binaries in a wheel.
_OF_BINARIES: Final = (RejectionReason.BINARIES, RejectionReason.GLIBC, RejectionReason.LIBRARY)


def check_refutation(problem: Problem, premises: Sequence[Premise], catalog: Catalog) -> list[str]:
    """Return the faults of a refutation as sentences.

    There are none if each premise is true, and no combination of releases meets all premises.
    """
    reading = IndependentReading(problem, catalog)
    combinations = Combinations(problem, reading)
    checker = _PremiseChecker(problem, reading, combinations)
    faults: list[str] = []
    for premise in premises:
        faults += checker.faults(premise)
    if faults:
        return faults
    try:
        possible = combinations.is_possible()
    except TooManyError:
        return ["there are too many combinations of releases to try them all"]
    return ["some releases meet everything that is said to clash"] if possible else []


class _PremiseChecker:
    """Checks the premises of one refutation one by one.

    Its methods about a premise return the faults as sentences, and record in the combinations what
    the premise demands.
    """

    def __init__(
        self, problem: Problem, reading: IndependentReading, combinations: Combinations
    ) -> None:
        self._problem = problem
        self._reading = reading
        self._combinations = combinations
        # The projects that must not be installed.
        self._absent = set(absent_projects(reading))
        # The facts of the problem by id. Several facts of a stack may have the same id.
        self._facts: dict[str, list[facts.Fact]] = defaultdict(list)
        for fact in problem.facts:
            self._facts[fact.id].append(fact)

    # --- premises

    def faults(self, premise: Premise) -> list[str]:
        """Check a premise of any kind."""
        constraint = premise.constraint
        match constraint:
            case StackLine() | BuildLine():
                self._combinations.lines[constraint.whole].add(constraint.part)
                return []
            case ComponentValue():
                return self._check_component(constraint)
            case Exclusive(fact=fact):
                self._combinations.collisions.append(fact)
                return [] if self._is_known(fact) else [f"`{fact.id}` is no fact of this problem"]
            case ReleaseRequires():
                return self._of_each(partial(self._check_requirement, constraint), premise)
            case Excluded():
                return self._of_each(partial(self._check_exclusion, constraint), premise)
            case Unavailable():
                return self._check_unavailable(constraint, premise)

    @staticmethod
    def _of_each(check: Callable[[ConcernedRelease], list[str]], premise: Premise) -> list[str]:
        """Return the faults that a check finds in the releases of a premise."""
        return list(chain.from_iterable(map(check, premise.releases)))

    def _check_component(self, constraint: ComponentValue) -> list[str]:
        """Check that the target has the value of a component."""
        name = constraint.component
        self._combinations.components.add(name)
        value = self._problem.target.system.get(name)
        if value is None:
            return [f"the target does not say which {name} it has"]
        if str(value) != constraint.value:
            return [f"{name} of the target is {value}"]
        return []

    def _is_known(self, fact: facts.Fact) -> bool:
        """Return whether a fact is one of the problem's facts."""
        return fact in self._facts[fact.id]

    def _check_requirement(
        self, constraint: ReleaseRequires, concerned: ConcernedRelease
    ) -> list[str]:
        """Check that a release has a requirement."""
        who = f"{concerned.project} {concerned.version}"
        release = concerned.release
        if release is None:
            return [f"{who} has requirements, and no file"]
        faults = []
        if not self._is_taken(concerned.project, release):
            faults.append(f"{release.file.filename} is not what pip takes")
        need = self._stated_need(constraint, concerned, release)
        if need is None:
            faults.append(f"{who} does not require {constraint.text}")
        elif isinstance(need, ComponentRequirement):
            self._combinations.component_needs.append((_extra_key(concerned), need))
        elif constraint.fact is not None and need.name in constraint.fact.bounded_projects:
            bound = need_of(need, concerned.project, by_user=True)
            self._combinations.bounds[_key(concerned)].append(bound)
        elif self._is_overridden(constraint, need, concerned.project):
            faults.append(f"the stack overrides what {who} requires of {need.name}")
        elif need.name in self._absent:
            faults.append(f"{need.name} must be absent, so that {who} does not require it")
        else:
            simple_need = need_of(need, concerned.project, by_user=constraint.is_by_user)
            self._combinations.needs[_extra_key(concerned)].append(simple_need)
        return faults

    def _is_taken(self, name: NormalizedName, release: Release) -> bool:
        """Return whether pip takes this file of a release, or the stack or a fact this commit."""
        direct = self._problem.source(name)
        if direct is not None:
            _, source = direct
            return release.source == source
        return self._reading.is_taken(name, release)

    def _stated_need(
        self, constraint: ReleaseRequires, concerned: ConcernedRelease, release: Release
    ) -> facts.Need | None:
        """Return the requirement of a release with the text of a constraint.

        None if the release has no such requirement that applies to the target.
        """
        if constraint.source is RequirementSource.LINKAGE:
            return text.requirement(constraint.text)
        if constraint.source is RequirementSource.OVERRIDE:
            return self._overriding_need(constraint, concerned, release)
        fact = constraint.fact
        if fact is not None and self._counts(fact, concerned):
            needs = self._reading.needs_kept(
                fact, fact.needs_for(release), concerned.project, concerned.version
            )
            for need in (*needs, *fact.bounds_for(release)):
                if str(need) == constraint.text and self._holds(need):
                    return need
        try:
            for requirement in self._requirements_of(constraint.source, concerned, release):
                if requirement.without_marker() == constraint.text:
                    return requirement
        except (UnusableFile, InvalidRequirement):
            return None
        return None

    def _is_overridden(self, constraint: ReleaseRequires, need: Requirement, requirer: str) -> bool:
        """Return whether the stack overrides a requirement, so that it does not count."""
        is_firm = constraint.source in (RequirementSource.LINKAGE, RequirementSource.OVERRIDE)
        return not is_firm and self._reading.is_overridden(need, requirer)

    def _overriding_need(
        self, constraint: ReleaseRequires, concerned: ConcernedRelease, release: Release
    ) -> Requirement | None:
        """Return the override of the stack that a constraint is about.

        None if the stack has no such line, or the release does not require the project.
        """
        for root in self._problem.stack.overrides:
            need = root.need
            if root.origin != constraint.override or not isinstance(need, Requirement):
                continue
            has_text = need.without_marker() == constraint.text
            if not has_text or not self._reading.applies(need, ""):
                continue
            if need.name in self._required_projects(concerned, release):
                return need
        return None

    def _required_projects(self, concerned: ConcernedRelease, release: Release) -> set[str]:
        """Return the projects that a release requires by its metadata, its build or facts."""
        required: set[str] = set()
        sources = [RequirementSource.METADATA]
        # An extra adds only what the metadata says of it.
        if not concerned.extra:
            required |= self._projects_of_facts(concerned, release)
            sources.append(RequirementSource.BUILD)
        try:
            for source in sources:
                for need in self._requirements_of(source, concerned, release):
                    required.add(need.name)
        except (UnusableFile, InvalidRequirement):
            return required
        return required

    def _projects_of_facts(self, concerned: ConcernedRelease, release: Release) -> set[str]:
        """Return the projects that a release requires by facts."""
        name, version = _key(concerned)
        required: set[str] = set()
        for fact in self._reading.facts_about(name, version):
            for need in self._reading.needs_kept(fact, fact.needs_for(release), name, version):
                if isinstance(need, Requirement) and self._holds(need):
                    required.add(need.name)
        return required

    def _counts(self, fact: facts.Fact, concerned: ConcernedRelease) -> bool:
        """Return whether a fact is one of the problem's facts, and about a release."""
        return self._is_known(fact) and fact.is_about(concerned.project, concerned.version)

    def _holds(self, need: facts.Need) -> bool:
        """Return whether the marker of a requirement is true; True for one on a component."""
        return isinstance(need, ComponentRequirement) or self._reading.applies(need, "")

    def _requirements_of(
        self, source: RequirementSource, concerned: ConcernedRelease, release: Release
    ) -> Iterator[Requirement]:
        """Yield the requirements of a release's metadata or build that apply to the target.

        Requirements that facts drop are left out. Raises UnusableFile and InvalidRequirement.
        """
        if source is RequirementSource.BUILD:
            lines = self._reading.build_lines(concerned.project, release)
            extra = ""
            dropped: set[str] = set()
        else:
            lines = self._reading.lines_for(concerned.project, release, concerned.extra)
            extra = concerned.extra
            dropped = self._reading.dropped(concerned.project, concerned.version)
        for line in lines:
            requirement = text.requirement(line)
            if requirement.name not in dropped and self._reading.applies(requirement, extra):
                yield requirement

    def _check_exclusion(self, constraint: Excluded, concerned: ConcernedRelease) -> list[str]:
        """Check that a fact excludes a release."""
        self._combinations.ruled_out.add(_key(concerned))
        fact = constraint.fact
        if self._counts(fact, concerned) and not self._is_usable(concerned):
            return []
        return [f"`{fact.id}` does not exclude {concerned.project} {concerned.version}"]

    def _check_unavailable(self, constraint: Unavailable, premise: Premise) -> list[str]:
        """Check that releases cannot be used."""
        match constraint.why:
            case NoCandidate.PROJECT | NoCandidate.UNREACHABLE:
                return self._check_unknown_project(constraint)
            case NoCandidate.RELEASE | NoCandidate.COMMIT:
                versions = self._reading.versions(constraint.project)
                if any(admits(constraint.wanted, version) for version in versions):
                    return [f"there is a release of {constraint.project}{constraint.wanted}"]
                return []
            case NoCandidate.FILE | RejectionReason.NEWER:
                return self._of_each(self._check_without_file, premise)
            case NoCandidate.PRERELEASE | NoCandidate.NEEDLESS | RejectionReason.YANKED:
                for permitting in premise.permitting:
                    is_of_yanked = constraint.why is RejectionReason.YANKED
                    permission = Permission(constraint.project, permitting.extra, is_of_yanked)
                    self._combinations.permits[_key(permitting)].add(permission)
                return self._of_each(partial(self._check_policy, constraint), premise)
            case _:
                return self._of_each(self._check_unusable_file, premise)

    def _check_unknown_project(self, constraint: Unavailable) -> list[str]:
        """Check that a project does not exist, or that an index of it was not reached.

        A project that the stack takes from a commit of which nothing is known does not exist.
        """
        at_commit = self._problem.source(constraint.project)
        if at_commit is not None and at_commit[1].unknown is not None:
            return []
        lookup = self._reading.catalog.lookup(constraint.project)
        if constraint.why is NoCandidate.PROJECT and lookup.pages:
            return [f"{constraint.project} exists"]
        if constraint.why is NoCandidate.UNREACHABLE and not lookup.unreachable:
            return [f"every index of {constraint.project} was reached"]
        return []

    def _check_without_file(self, concerned: ConcernedRelease) -> list[str]:
        """Check that no index has a file of a release that the target can use."""
        self._combinations.ruled_out.add(_key(concerned))
        if self._is_usable(concerned):
            return [f"{concerned.project} {concerned.version} has a file for the target"]
        return []

    def _check_unusable_file(self, concerned: ConcernedRelease) -> list[str]:
        """Check that the file of a release cannot be used."""
        self._combinations.needs[_extra_key(concerned)].append(IMPOSSIBLE)
        if self._is_unusable(concerned):
            return []
        return [f"the file of {concerned.project} {concerned.version} can be used"]

    def _check_policy(self, constraint: Unavailable, concerned: ConcernedRelease) -> list[str]:
        """Check that a release is one that needs a permission: yanked, or a pre-release."""
        who = f"{concerned.project} {concerned.version}"
        if constraint.why is RejectionReason.YANKED:
            self._combinations.yanked.add(_key(concerned))
            if concerned.release is None or concerned.release.file.yanked is None:
                return [f"{who} was not yanked"]
            return []
        faults = []
        if not concerned.version.is_prerelease:
            faults.append(f"{who} is no pre-release")
        if constraint.why is NoCandidate.PRERELEASE:
            self._combinations.ruled_out.add(_key(concerned))
            if self._problem.policy.prereleases_for(concerned.project) != "never":
                faults.append(f"the policy permits pre-releases of {concerned.project}")
        else:
            self._combinations.doubtful.add(_key(concerned))
        return faults

    # --- releases

    def _is_usable(self, concerned: ConcernedRelease) -> bool:
        """Return whether an index has a file of a release that can be used, even if yanked."""
        name, version = _key(concerned)
        return self._reading.is_usable(name, version, is_yanked_fine=True)

    def _is_unusable(self, concerned: ConcernedRelease) -> bool:
        """Return whether the file of a release cannot be used.

        A premise about binaries must be confirmed by the binaries. An archive that was not opened
        only has to be an archive. For all other premises, any fault of the file or its requirements
        is enough.
        """
        release = concerned.release
        if release is None:
            return False
        if concerned.rejection is RejectionReason.UNOPENED:
            return not release.file.is_wheel
        if concerned.rejection in _OF_BINARIES:
            pin = Pin(
                name=concerned.project,
                release=release,
                extras=(),
                unknown_extras=(),
                because=(),
                needs=(),
            )
            binaries = BinaryCheck(self._problem, {pin.name: pin}, self._reading.catalog)
            return any(binaries.faults(pin))
        try:
            if self._is_file_refused(concerned, release):
                return True
            lines = self._reading.lines_for(concerned.project, release, concerned.extra)
            build_lines = self._reading.build_lines(concerned.project, release)
        except (UnusableFile, InvalidRequirement, ResolverError):
            return True
        dropped = self._reading.dropped(concerned.project, concerned.version)
        if any(self._is_refused(concerned, line, dropped) for line in lines):
            return True
        return any(self._is_refused(concerned, line, ()) for line in build_lines)

    def _is_file_refused(self, concerned: ConcernedRelease, release: Release) -> bool:
        """Return whether a file cannot be used, apart from its requirements.

        It is not for the target's Python, or it is a variant wheel with other properties than the
        index says. Raises UnusableFile if it cannot be read.
        """
        requires_python = self._reading.requires_python(concerned.project, release)
        if any(self._reading.python_faults(release.file, requires_python)):
            return True
        if not release.file.is_wheel:
            return False
        table = self._reading.table(concerned.project, concerned.version, release.index)
        return any(self._reading.own_faults(release.file, table))

    def _is_refused(self, concerned: ConcernedRelease, line: str, dropped: Collection[str]) -> bool:
        """Return whether a requirement line makes the file of a release unusable.

        It does if it is invalid, names an address, or requires another version of the release's own
        project. A requirement on a `dropped` project only has to be valid.
        """
        try:
            need = text.requirement(line)
            applies = self._reading.applies(need, concerned.extra)
        except InvalidRequirement:
            return True
        if not applies or need.name in dropped:
            return False
        if need.url:
            return True
        is_of_itself = need.name == concerned.project
        return is_of_itself and not need.specifier.contains(concerned.version, prereleases=True)


def _key(concerned: ConcernedRelease) -> ReleaseKey:
    """Return the key of a release in `Combinations`."""
    return concerned.project, concerned.version


def _extra_key(concerned: ConcernedRelease) -> ExtraKey:
    """Return the key of a release with its extra in `Combinations`."""
    return concerned.project, concerned.version, concerned.extra
