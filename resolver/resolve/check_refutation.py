"""The check of a refutation, which says whether there is really no solution.

It is written apart from the engine, like the check of a resolution. An engine says which
constraints clash, and which releases each of them concerns. Here each of these reasons is looked up
again, in the pages, the metadata and the facts (see `independent_reading`), and what is confirmed
is enumerated: if some choice of releases meets all of it, the refutation is wrong.

Three things are taken as the engine says them: that binaries need a version of another project,
that an archive was not opened as others of its project had no static metadata, and which releases
permit a yanked release or a pre-release.
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
from resolver.model.reason import ConcernedRelease, Reason
from resolver.model.release import RejectionReason, Release
from resolver.model.requirement import ComponentRequirement, Requirement
from resolver.model.resolution import Pin
from resolver.resolve.enumeration import Choice, Need, TooManyError, admits, is_possible, need_of
from resolver.resolve.independent_absence import absent_projects
from resolver.resolve.independent_linkage import BinaryCheck
from resolver.resolve.independent_reading import IndependentReading

# A project without releases.
_IMPOSSIBLE: Final = Need("", "")
_OF_BINARIES: Final = (RejectionReason.BINARIES, RejectionReason.GLIBC, RejectionReason.LIBRARY)

# A project and a version of it; and one of its extras, or "" for none.
_Release = tuple[NormalizedName, Version]
_WithExtra = tuple[NormalizedName, Version, str]


def check_refutation(problem: Problem, reasons: Sequence[Reason], catalog: Catalog) -> list[str]:
    """Return every fault of a refutation as a sentence.

    There is none if each reason holds, and no releases meet all of them.
    """
    checked = _Check(problem, catalog)
    faults = [fault for reason in reasons for fault in checked.faults(reason)]
    if faults:
        return faults
    try:
        possible = checked.is_possible()
    except TooManyError:
        return ["there are too many combinations of releases to try them all"]
    return ["some releases meet everything that is said to clash"] if possible else []


class _Check:
    """Confirms reasons one by one, and keeps what they say of releases."""

    def __init__(self, problem: Problem, catalog: Catalog) -> None:
        self._problem = problem
        self._catalog = catalog
        self._reading = IndependentReading(problem, catalog)
        self._absent = set(absent_projects(self._reading))
        # facts of a stack may share an id
        self._facts: dict[str, list[facts.Fact]] = defaultdict(list)
        for fact in problem.facts:
            self._facts[fact.id].append(fact)
        # the components whose value is a reason
        self._components: set[str] = set()
        # the parts of each line that are reasons
        self._lines: dict[object, set[str]] = defaultdict(set)
        # what releases require of components, and of projects
        self._component_needs: list[tuple[_WithExtra, ComponentRequirement]] = []
        self._needs: dict[_WithExtra, list[Need]] = defaultdict(list)
        self._bounds: dict[_Release, list[Need]] = defaultdict(list)
        self._ruled_out: set[_Release] = set()
        self._yanked: set[_Release] = set()
        # pre-releases that are taken only if no final release fits
        self._doubtful: set[_Release] = set()
        # the projects of which a release permits yanked releases and pre-releases
        self._permits: dict[_Release, set[str]] = defaultdict(set)
        self._collisions: list[facts.Collides | facts.Absent] = []

    # --- reasons

    def faults(self, reason: Reason) -> Iterator[str]:
        """Yield what is wrong with a reason, and keep what it says."""
        constraint = reason.constraint
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
                for release in reason.releases:
                    yield from self._requirement(constraint, release)
            case Excluded():
                for release in reason.releases:
                    yield from self._exclusion(constraint, release)
            case Unavailable():
                yield from self._unavailable(constraint, reason)

    def _component(self, constraint: ComponentValue) -> Iterator[str]:
        name = constraint.component
        self._components.add(name)
        value = self._problem.target.system.get(name)
        if value is None:
            yield f"the target does not say which {name} it has"
        elif str(value) != constraint.value:
            yield f"{name} of the target is {value}"

    def _is_known(self, fact: facts.Fact) -> bool:
        """Return whether a fact is one of the problem's."""
        return fact in self._facts[fact.id]

    def _requirement(self, constraint: Requires, concerned: ConcernedRelease) -> Iterator[str]:
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
        """Return whether the target takes a release from this file, or from this commit."""
        direct = self._problem.source(name)
        if direct is not None:
            _, source = direct
            return release.source == source
        return self._reading.is_taken(name, release)

    def _stated_need(
        self, constraint: Requires, concerned: ConcernedRelease, release: Release
    ) -> facts.Need | None:
        """Return the requirement of a release that reads like a constraint; None if it has none."""
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
        """Return whether the stack says something else in place of a requirement."""
        is_firm = constraint.source in (RequirementSource.LINKAGE, RequirementSource.OVERRIDE)
        return not is_firm and self._reading.is_overridden(need, requirer)

    def _overriding_need(
        self, constraint: Requires, concerned: ConcernedRelease, release: Release
    ) -> Requirement | None:
        """Return what the stack says in place of a requirement of a release.

        None if it does not say so, or the release does not require the project.
        """
        for root in self._problem.stack.overrides:
            need = root.need
            if root.origin != constraint.override or not isinstance(need, Requirement):
                continue
            is_said = need.without_marker() == constraint.text and self._reading.applies(need, "")
            if is_said and need.name in self._required_projects(concerned, release):
                return need
        return None

    def _required_projects(self, concerned: ConcernedRelease, release: Release) -> set[str]:
        """Return the projects that the metadata, the build or facts of a release require."""
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
        """Return whether a fact is one of the problem's, and about a release."""
        return self._is_known(fact) and fact.is_about(concerned.project, concerned.version)

    def _holds(self, need: facts.Need) -> bool:
        return isinstance(need, ComponentRequirement) or self._reading.applies(need, "")

    def _requirements_of(
        self, source: RequirementSource, concerned: ConcernedRelease, release: Release
    ) -> Iterator[Requirement]:
        """Yield what the metadata of a release, or its build, requires on the target."""
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
        fact = constraint.fact
        is_about = self._is_known(fact) and fact.is_about(concerned.project, concerned.version)
        if not is_about or self._has_usable_file(concerned.project, concerned.version):
            yield f"`{fact.id}` does not exclude {concerned.project} {concerned.version}"
        self._ruled_out.add((concerned.project, concerned.version))

    def _unavailable(self, constraint: Unavailable, reason: Reason) -> Iterator[str]:
        match constraint.why:
            case NoCandidate.PROJECT | NoCandidate.UNREACHABLE:
                yield from self._unknown_project(constraint)
            case NoCandidate.RELEASE | NoCandidate.COMMIT:
                versions = self._reading.versions(constraint.project)
                if any(admits(constraint.wanted, version) for version in versions):
                    yield f"there is a release of {constraint.project}{constraint.wanted}"
            case NoCandidate.FILE | RejectionReason.NEWER:
                for concerned in reason.releases:
                    if self._has_usable_file(concerned.project, concerned.version):
                        yield f"{concerned.project} {concerned.version} has a file for the target"
                    self._ruled_out.add((concerned.project, concerned.version))
            case NoCandidate.PRERELEASE | NoCandidate.NEEDLESS | RejectionReason.YANKED:
                yield from self._policy(constraint, reason)
            case _:
                for concerned in reason.releases:
                    if not self._is_unusable(concerned):
                        yield f"the file of {concerned.project} {concerned.version} can be used"
                    key = concerned.project, concerned.version, concerned.extra
                    self._needs[key].append(_IMPOSSIBLE)

    def _unknown_project(self, constraint: Unavailable) -> Iterator[str]:
        """Yield that a project exists, or that all of its indexes were reached."""
        lookup = self._catalog.lookup(constraint.project)
        if constraint.why is NoCandidate.PROJECT and lookup.pages:
            yield f"{constraint.project} exists"
        if constraint.why is NoCandidate.UNREACHABLE and not lookup.unreachable:
            yield f"every index of {constraint.project} was reached"

    def _policy(self, constraint: Unavailable, reason: Reason) -> Iterator[str]:
        for concerned in reason.releases:
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
        for permitting in reason.permitting:
            self._permits[permitting.project, permitting.version].add(constraint.project)

    # --- releases

    def _has_usable_file(
        self, name: NormalizedName, version: Version, *, is_yanked_fine: bool = True
    ) -> bool:
        """Return whether an index has a file of a release that can be used."""
        for page in self._catalog.lookup(name).pages:
            if self._reading.has_usable_file(name, page, version, is_yanked_fine=is_yanked_fine):
                return True
        return False

    def _is_unusable(self, concerned: ConcernedRelease) -> bool:
        """Return whether the file of a release cannot be used, for a reason of the same kind."""
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
        """Return whether a file is not for the target's Python, or a wheel not what its index says.

        Raises UnusableFile.
        """
        requires_python = self._reading.requires_python(concerned.project, release)
        if any(self._reading.python_faults(release.file, requires_python)):
            return True
        if not release.file.is_wheel:
            return False
        table = self._reading.table(concerned.project, concerned.version, release.index)
        return any(self._reading.own_faults(release.file, table))

    def _is_refused(self, concerned: ConcernedRelease, line: str, dropped: Collection[str]) -> bool:
        """Return whether a line of a release cannot be followed.

        A requirement on a `dropped` project is not followed: it only has to be valid.
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
        """Return whether some releases meet every reason. Raises TooManyError."""
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
        """Return the final releases of a project that the target can use."""
        finals = [version for version in self._reading.versions(name) if not version.is_prerelease]
        return [
            version
            for version in finals
            if self._has_usable_file(name, version, is_yanked_fine=False)
        ]

    def _roots(self) -> Iterator[Need | ComponentRequirement]:
        """Yield what the lines of the stack, or of a build, require, as far as they are reasons."""
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
        """Return whether the target meets a requirement, or what it has is no reason."""
        if need.component not in self._components:
            return True
        return need.allows(self._problem.target.system[need.component])

    def _choices(self, name: NormalizedName, specifiers: Sequence[str]) -> list[Choice]:
        """Return the releases of a project that are not ruled out.

        There is one for all that the reasons do not tell apart.
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
        """Return whether the constraints of the stack that are reasons admit a release."""
        for root in self._reading.constraints_on(name):
            need = root.need
            if root.origin not in self._lines or not isinstance(need, Requirement):
                continue
            if not admits(str(need.specifier), version):
                return False
        return True

    def _modules(self, name: NormalizedName, version: Version) -> Iterator[str]:
        """Yield what a release shares with others by facts that are reasons."""
        for fact in self._collisions:
            if name == fact.other or fact.is_about(name, version):
                yield fact.module
