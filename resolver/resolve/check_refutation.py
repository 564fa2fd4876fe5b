"""The independent check of a refutation, which says whether there is really no solution.

It shares no code with the engines, like the check of a resolution. A refutation is a list of
premises: constraints with the releases that they concern. Each premise is looked up again in the
pages, the metadata and the facts (see `independent_reading`). Then all combinations of releases are
tried against the premises (see `enumeration`). If one of them meets all premises, the refutation is
wrong.

Three things are not checked: which versions of another project binaries need, that an archive was
not opened because others of its project have no static metadata, and which releases permit a yanked
release or a pre-release.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import Final

from packaging.requirements import InvalidRequirement
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.errors import ResolverError
from resolver.index.protocol import Catalog, UnusableFile
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.constraint import (
    VERSION_PART,
    BuildLine,
    ComponentValue,
    Excluded,
    Exclusive,
    NoCandidate,
    RequirementSource,
    Requires,
    StackLine,
    Unavailable,
    extra_part,
)
from resolver.model.problem import Problem
from resolver.model.reason import ConcernedRelease, Premise
from resolver.model.release import RejectionReason, Release
from resolver.model.requirement import ComponentRequirement, Requirement
from resolver.model.resolution import Pin
from resolver.resolve.enumeration import Choice, Need, TooManyError, admits, is_possible, need_of
from resolver.resolve.independent_absence import absent_projects
from resolver.resolve.independent_linkage import BinaryCheck
from resolver.resolve.independent_reading import IndependentReading

# A requirement that nothing meets: no project has an empty name.
_IMPOSSIBLE: Final = Need("", "")
# The reasons that are about the binaries in a wheel.
_OF_BINARIES: Final = (RejectionReason.BINARIES, RejectionReason.GLIBC, RejectionReason.LIBRARY)

# A release: a project and a version.
_Release = tuple[NormalizedName, Version]
# A release with one of its extras; the extra is empty for the release itself.
_WithExtra = tuple[NormalizedName, Version, str]


def check_refutation(problem: Problem, premises: Sequence[Premise], catalog: Catalog) -> list[str]:
    """Return the faults of a refutation as sentences.

    There are none if each premise is true, and no combination of releases meets all premises.
    """
    checked = _Check(problem, catalog)
    faults: list[str] = []
    for premise in premises:
        faults += checked.faults(premise)
    if faults:
        return faults
    try:
        possible = checked.is_possible()
    except TooManyError:
        return ["there are too many combinations of releases to try them all"]
    return ["some releases meet everything that is said to clash"] if possible else []


class _Check:
    """Checks the premises of one refutation one by one, and records what they demand.

    All attributes below are about the premises that were checked so far.
    """

    def __init__(self, problem: Problem, catalog: Catalog) -> None:
        self._problem = problem
        self._catalog = catalog
        self._reading = IndependentReading(problem, catalog)
        # The projects that must not be installed.
        self._absent = set(absent_projects(self._reading))
        # The facts of the problem by id. Several facts of a stack may have the same id.
        self._facts: dict[str, list[facts.Fact]] = defaultdict(list)
        for fact in problem.facts:
            self._facts[fact.id].append(fact)
        # The components whose value is a premise.
        self._components: set[str] = set()
        # The parts of each line that are premises.
        self._lines: dict[object, set[str]] = defaultdict(set)
        # The requirements of releases on components.
        self._component_needs: list[tuple[_WithExtra, ComponentRequirement]] = []
        # The requirements of releases on projects.
        self._needs: dict[_WithExtra, list[Need]] = defaultdict(list)
        # The bounds of releases on projects.
        self._bounds: dict[_Release, list[Need]] = defaultdict(list)
        # The releases that are ruled out.
        self._ruled_out: set[_Release] = set()
        # The releases that are ruled out, since they are yanked, unless something permits them.
        self._yanked: set[_Release] = set()
        # The pre-releases that are admitted only if no final release fits.
        self._doubtful: set[_Release] = set()
        # For each release, the projects whose yanked releases and pre-releases it permits.
        self._permits: dict[_Release, set[str]] = defaultdict(set)
        # The facts that say that two distributions exclude each other.
        self._collisions: list[facts.Collides | facts.Absent] = []

    # --- premises

    def faults(self, premise: Premise) -> Iterator[str]:
        """Yield the faults of a premise as sentences, and record what it demands."""
        constraint = premise.constraint
        match constraint:
            case StackLine() | BuildLine():
                self._lines[constraint.whole].add(constraint.part)
            case ComponentValue():
                yield from self._component(constraint)
            case Exclusive(fact=fact):
                self._collisions.append(fact)
                if not self._is_known(fact):
                    yield f"`{fact.id}` is no fact of this problem"
            case Requires():
                for release in premise.releases:
                    yield from self._requirement(constraint, release)
            case Excluded():
                for release in premise.releases:
                    yield from self._exclusion(constraint, release)
            case Unavailable():
                yield from self._unavailable(constraint, premise)

    def _component(self, constraint: ComponentValue) -> Iterator[str]:
        """Check a premise about the value of a component."""
        name = constraint.component
        self._components.add(name)
        value = self._problem.target.system.get(name)
        if value is None:
            yield f"the target does not say which {name} it has"
        elif str(value) != constraint.value:
            yield f"{name} of the target is {value}"

    def _is_known(self, fact: facts.Fact) -> bool:
        """Return whether a fact is one of the problem's facts."""
        return fact in self._facts[fact.id]

    def _requirement(self, constraint: Requires, concerned: ConcernedRelease) -> Iterator[str]:
        """Check that a release has the requirement of a premise, and record the requirement."""
        who = f"{concerned.project} {concerned.version}"
        release = concerned.release
        if release is None:
            yield f"{who} has requirements, and no file"
            return
        if not self._is_taken(concerned.project, release):
            yield f"{release.file.filename} is not what pip takes"
        need = self._stated_need(constraint, concerned, release)
        key = concerned.project, concerned.version, concerned.extra
        if need is None:
            yield f"{who} does not require {constraint.text}"
        elif isinstance(need, ComponentRequirement):
            self._component_needs.append((key, need))
        elif constraint.fact is not None and need.name in constraint.fact.bounded_projects:
            bound = need_of(need, by_user=True)
            self._bounds[concerned.project, concerned.version].append(bound)
        elif self._is_overridden(constraint, need, concerned.project):
            yield f"the stack overrides what {who} requires of {need.name}"
        elif need.name in self._absent:
            yield f"{need.name} must be absent, so that {who} does not require it"
        else:
            self._needs[key].append(need_of(need, by_user=constraint.is_by_user))

    def _is_taken(self, name: NormalizedName, release: Release) -> bool:
        """Return whether pip takes this file of a release, or the stack or a fact this commit."""
        direct = self._problem.source(name)
        if direct is not None:
            _, source = direct
            return release.source == source
        return self._reading.is_taken(name, release)

    def _stated_need(
        self, constraint: Requires, concerned: ConcernedRelease, release: Release
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

    def _is_overridden(self, constraint: Requires, need: Requirement, requirer: str) -> bool:
        """Return whether the stack overrides a requirement, so that it does not count."""
        is_firm = constraint.source in (RequirementSource.LINKAGE, RequirementSource.OVERRIDE)
        return not is_firm and self._reading.is_overridden(need, requirer)

    def _overriding_need(
        self, constraint: Requires, concerned: ConcernedRelease, release: Release
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
        for fact in () if concerned.extra else self._problem.facts:
            if fact.is_about(concerned.project, concerned.version):
                needs = self._reading.needs_kept(
                    fact, fact.needs_for(release), concerned.project, concerned.version
                )
                required.update(
                    need.name
                    for need in needs
                    if isinstance(need, Requirement) and self._holds(need)
                )
        try:
            sources = [RequirementSource.METADATA]
            if not concerned.extra:
                sources.append(RequirementSource.BUILD)
            for source in sources:
                for need in self._requirements_of(source, concerned, release):
                    required.add(need.name)
        except (UnusableFile, InvalidRequirement):
            return required
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

    def _exclusion(self, constraint: Excluded, concerned: ConcernedRelease) -> Iterator[str]:
        """Check that a fact excludes a release, and record that it is ruled out."""
        fact = constraint.fact
        is_about = self._is_known(fact) and fact.is_about(concerned.project, concerned.version)
        if not is_about or self._has_usable_file(concerned.project, concerned.version):
            yield f"`{fact.id}` does not exclude {concerned.project} {concerned.version}"
        self._ruled_out.add((concerned.project, concerned.version))

    def _unavailable(self, constraint: Unavailable, premise: Premise) -> Iterator[str]:
        """Check that releases cannot be used, and record that they are ruled out."""
        match constraint.why:
            case NoCandidate.PROJECT | NoCandidate.UNREACHABLE:
                yield from self._unknown_project(constraint)
            case NoCandidate.RELEASE | NoCandidate.COMMIT:
                versions = self._reading.versions(constraint.project)
                if any(admits(constraint.wanted, version) for version in versions):
                    yield f"there is a release of {constraint.project}{constraint.wanted}"
            case NoCandidate.FILE | RejectionReason.NEWER:
                for concerned in premise.releases:
                    if self._has_usable_file(concerned.project, concerned.version):
                        yield f"{concerned.project} {concerned.version} has a file for the target"
                    self._ruled_out.add((concerned.project, concerned.version))
            case NoCandidate.PRERELEASE | NoCandidate.NEEDLESS | RejectionReason.YANKED:
                yield from self._policy(constraint, premise)
            case _:
                for concerned in premise.releases:
                    if not self._is_unusable(concerned):
                        yield f"the file of {concerned.project} {concerned.version} can be used"
                    key = concerned.project, concerned.version, concerned.extra
                    self._needs[key].append(_IMPOSSIBLE)

    def _unknown_project(self, constraint: Unavailable) -> Iterator[str]:
        """Yield a fault if the project of a premise exists, or if all its indexes were reached."""
        lookup = self._catalog.lookup(constraint.project)
        if constraint.why is NoCandidate.PROJECT and lookup.pages:
            yield f"{constraint.project} exists"
        if constraint.why is NoCandidate.UNREACHABLE and not lookup.unreachable:
            yield f"every index of {constraint.project} was reached"

    def _policy(self, constraint: Unavailable, premise: Premise) -> Iterator[str]:
        """Yield the faults of a premise that pre-releases or yanked releases are not permitted.

        What the premise says about each release is recorded for the search.
        """
        for concerned in premise.releases:
            key = concerned.project, concerned.version
            if constraint.why is RejectionReason.YANKED:
                if concerned.release is None or concerned.release.file.yanked is None:
                    yield f"{concerned.project} {concerned.version} was not yanked"
                self._yanked.add(key)
                continue
            if not concerned.version.is_prerelease:
                yield f"{concerned.project} {concerned.version} is no pre-release"
            if constraint.why is NoCandidate.PRERELEASE:
                if self._problem.policy.prereleases_for(concerned.project) != "never":
                    yield f"the policy permits pre-releases of {concerned.project}"
                self._ruled_out.add(key)
            else:
                self._doubtful.add(key)
        for permitting in premise.permitting:
            self._permits[permitting.project, permitting.version].add(constraint.project)

    # --- releases

    def _has_usable_file(
        self, name: NormalizedName, version: Version, *, is_yanked_fine: bool = True
    ) -> bool:
        """Return whether an index has a file of a release that can be used.

        `is_yanked_fine` says whether a yanked file counts.
        """
        for page in self._catalog.lookup(name).pages:
            if self._reading.has_usable_file(name, page, version, is_yanked_fine=is_yanked_fine):
                return True
        return False

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
            return any(BinaryCheck(self._problem, {pin.name: pin}, self._catalog).faults(pin))
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

    # --- the enumeration

    def is_possible(self) -> bool:
        """Return whether some combination of releases meets all premises.

        Raises TooManyError if there are too many combinations.
        """
        roots = []
        for line in self._roots():
            if isinstance(line, Need):
                roots.append(line)
            elif not self._is_met(line):
                return False
        required = [*roots, *chain.from_iterable(self._needs.values())]
        specifiers: dict[str, set[str]] = defaultdict(set)
        for need in (*required, *chain.from_iterable(self._bounds.values())):
            specifiers[need.project].add(need.specifier)
        choices = {}
        for name in {need.project for need in required} - {_IMPOSSIBLE.project}:
            choices[name] = self._choices(text.name(name), sorted(specifiers[name]))
        finals: dict[str, list[Version]] = {}
        for name, _ in self._doubtful:
            if name not in finals:
                finals[name] = self._finals(name)
        return is_possible(roots, choices, finals)

    def _finals(self, name: NormalizedName) -> list[Version]:
        """Return the versions of the final releases of a project that the target can use."""
        finals = [version for version in self._reading.versions(name) if not version.is_prerelease]
        return [
            version
            for version in finals
            if self._has_usable_file(name, version, is_yanked_fine=False)
        ]

    def _roots(self) -> Iterator[Need | ComponentRequirement]:
        """Yield the requirements of lines of the stack or of a build that are premises.

        Parts of a line that are no premises are left out.
        """
        for root in self._problem.stack.requirements:
            parts = self._lines.get(root.origin)
            need = root.need
            if not parts:
                continue
            if isinstance(need, ComponentRequirement):
                yield need
            elif self._reading.applies(need, ""):
                specifier = str(need.specifier) if VERSION_PART in parts else ""
                extras = tuple(extra for extra in need.extras if extra_part(extra) in parts)
                yield Need(need.name, specifier, extras, by_user=True)

    def _is_met(self, need: ComponentRequirement) -> bool:
        """Return whether the target meets a requirement on a component.

        The result is True if the value of the component is no premise.
        """
        if need.component not in self._components:
            return True
        return need.allows(self._problem.target.system[need.component])

    def _choices(self, name: NormalizedName, specifiers: Sequence[str]) -> list[Choice]:
        """Return the releases of a project that are not ruled out.

        If several releases are the same for the premises, only one of them is returned.
        `specifiers` are all specifiers in requirements and bounds on the project.
        """
        unmet = {
            release
            for release, need in self._component_needs
            if release[0] == name and not self._is_met(need)
        }
        needs_of: dict[Version, dict[str, tuple[Need, ...]]] = defaultdict(dict)
        for (project, version, extra), stated in self._needs.items():
            if project == name:
                needs_of[version][extra] = tuple(stated)
        for _, version, extra in unmet:
            needs_of[version][extra] = (_IMPOSSIBLE,)
        choices: dict[object, Choice] = {}
        for version in self._reading.versions(name):
            release = name, version
            if release in self._ruled_out or (name, version, "") in unmet:
                continue
            if not self._is_within_constraints(name, version):
                continue
            needs = needs_of[version]
            choice = Choice(
                version=version,
                needs=needs,
                bounds=tuple(self._bounds.get(release, ())),
                modules=frozenset(self._modules(name, version)),
                is_yanked=release in self._yanked,
                is_doubtful=release in self._doubtful,
                permits=frozenset(self._permits.get(release, ())),
            )
            admitted = tuple(admits(specifier, version) for specifier in specifiers)
            alike = (admitted, version.is_prerelease, tuple(sorted(needs.items())), *choice[2:])
            choices.setdefault(alike, choice)
        return list(choices.values())

    def _is_within_constraints(self, name: NormalizedName, version: Version) -> bool:
        """Return whether a release is admitted by the lines of `constraints` that are premises."""
        for root in self._reading.constraints_on(name):
            need = root.need
            if root.origin not in self._lines or not isinstance(need, Requirement):
                continue
            if not admits(str(need.specifier), version):
                return False
        return True

    def _modules(self, name: NormalizedName, version: Version) -> Iterator[str]:
        """Yield the modules that a release owns, by the facts that are premises."""
        for fact in self._collisions:
            if name == fact.other or fact.is_about(name, version):
                yield fact.module
