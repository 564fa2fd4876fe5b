"""The check of a refutation: is there really no solution? Written apart from the engine, like that of a resolution.

An engine says which constraints clash, and which releases each of them concerns. Here each of these
reasons is looked up again, in the pages, the metadata and the facts (see `independent_reading`), and
what is confirmed is enumerated: if some choice of releases meets all of it, the refutation is
wrong.

Three things are taken as the engine says them: that binaries need a version of another project, that an archive
was not opened as others of its project had no static metadata, and which releases permit a yanked
release or a pre-release.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from packaging.requirements import InvalidRequirement
from packaging.utils import NormalizedName
from packaging.version import InvalidVersion, Version

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
from resolver.resolve.independent_linkage import BinaryCheck
from resolver.resolve.independent_reading import IndependentReading, parsed_version

_IMPOSSIBLE = Need("", "")  # a project without releases
_BINARIES = (RejectionReason.BINARIES, RejectionReason.GLIBC, RejectionReason.LIBRARY)


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
        # those of a stack may share an id
        self._facts: dict[str, list[facts.Fact]] = defaultdict(list)
        for fact in problem.facts:
            self._facts[fact.id].append(fact)
        self._components: set[str] = set()
        self._component_needs: list[tuple[NormalizedName, Version, str, ComponentRequirement]] = []
        # the parts of each line that are among the reasons
        self._lines: dict[object, set[str]] = defaultdict(set)
        self._root_components: list[ComponentRequirement] = []
        self._needs: dict[tuple[NormalizedName, Version, str], list[Need]] = defaultdict(list)
        self._bounds: dict[tuple[NormalizedName, Version], list[Need]] = defaultdict(list)
        self._ruled_out: set[tuple[NormalizedName, Version]] = set()
        self._yanked: set[tuple[NormalizedName, Version]] = set()
        self._doubtful: set[tuple[NormalizedName, Version]] = set()
        self._permits: dict[tuple[NormalizedName, Version], set[str]] = defaultdict(set)
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
            self._component_needs.append((*key, need))
        elif constraint.fact is not None and need.name in constraint.fact.bounded_projects:
            bound = need_of(need, by_user=True)
            self._bounds[concerned.project, concerned.version].append(bound)
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
        fact = constraint.fact
        if fact is not None and self._counts(fact, concerned):
            for need in (*fact.needs_for(release), *fact.bounds_for(release)):
                if str(need) == constraint.text and self._holds(need):
                    return need
        try:
            for requirement in self._requirements_of(constraint, concerned, release):
                if requirement.without_marker() == constraint.text:
                    return requirement
        except (UnusableFile, InvalidRequirement):
            return None
        return None

    def _counts(self, fact: facts.Fact, concerned: ConcernedRelease) -> bool:
        """Return whether a fact is one of the problem's, and about a release."""
        return self._is_known(fact) and fact.is_about(concerned.project, concerned.version)

    def _holds(self, need: facts.Need) -> bool:
        return isinstance(need, ComponentRequirement) or self._reading.applies(need, "")

    def _requirements_of(
        self, constraint: Requires, concerned: ConcernedRelease, release: Release
    ) -> Iterator[Requirement]:
        """Yield what the metadata of a release, or its build, requires on the target."""
        is_build = constraint.source is RequirementSource.BUILD
        if is_build:
            lines = self._reading.build_lines(concerned.project, release)
        else:
            lines = self._reading.lines_for(concerned.project, release, concerned.extra)
        for line in lines:
            requirement = text.requirement(line)
            if self._reading.applies(requirement, "" if is_build else concerned.extra):
                yield requirement

    def _exclusion(self, constraint: Excluded, concerned: ConcernedRelease) -> Iterator[str]:
        fact = constraint.fact
        is_about = self._is_known(fact) and fact.is_about(concerned.project, concerned.version)
        if not is_about or self._has_usable_file(concerned):
            yield f"`{fact.id}` does not exclude {concerned.project} {concerned.version}"
        self._ruled_out.add((concerned.project, concerned.version))

    def _unavailable(self, constraint: Unavailable, reason: Reason) -> Iterator[str]:
        name = constraint.project
        match constraint.why:
            case NoCandidate.PROJECT:
                if self._catalog.lookup(name).pages:
                    yield f"{name} exists"
            case NoCandidate.UNREACHABLE:
                if not self._catalog.lookup(name).unreachable:
                    yield f"every index of {name} was reached"
            case NoCandidate.RELEASE | NoCandidate.COMMIT:
                if any(admits(constraint.wanted, version) for version in self._versions(name)):
                    yield f"there is a release of {name}{constraint.wanted}"
            case NoCandidate.FILE | RejectionReason.NEWER:
                for concerned in reason.releases:
                    if self._has_usable_file(concerned):
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

    def _has_usable_file(self, concerned: ConcernedRelease) -> bool:
        pages = self._catalog.lookup(concerned.project).pages
        return any(
            self._reading.has_usable_file(
                concerned.project, page, concerned.version, is_yanked_fine=True
            )
            for page in pages
        )

    def _is_unusable(self, concerned: ConcernedRelease) -> bool:
        """Return whether the file of a release cannot be used, for a reason of the same kind."""
        release = concerned.release
        if release is None:
            return False
        if concerned.rejection is RejectionReason.UNOPENED:
            return not release.file.is_wheel
        if concerned.rejection in _BINARIES:
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
            if release.file.is_wheel:
                requires_python = self._catalog.metadata(release.file).requires_python
                if any(self._reading.python_faults(release.file, requires_python)):
                    return True
                table = self._reading.table(concerned.project, concerned.version, release.index)
                if any(self._reading.own_faults(release.file, table)):
                    return True
            lines = self._reading.lines_for(concerned.project, release, concerned.extra)
            lines += self._reading.build_lines(concerned.project, release)
            return any(self._is_refused(concerned, line) for line in lines)
        except (UnusableFile, ResolverError):
            return True

    def _is_refused(self, concerned: ConcernedRelease, line: str) -> bool:
        """Return whether a line of a release cannot be followed."""
        try:
            need = text.requirement(line)
        except InvalidRequirement:
            return True
        if not self._reading.applies(need, concerned.extra):
            return False
        is_of_itself = need.name == concerned.project
        return bool(need.url) or (
            is_of_itself and not need.specifier.contains(concerned.version, prereleases=True)
        )

    # --- the enumeration

    def is_possible(self) -> bool:
        """Return whether some releases meet every reason. Raises TooManyError."""
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
        """Return what the lines of the stack, or of a build environment, require, as far as they are reasons."""
        roots = []
        for root in self._problem.stack.requirements:
            parts = self._lines.get(root.origin)
            if not parts or (
                isinstance(root.need, Requirement) and not self._reading.applies(root.need, "")
            ):
                continue
            if isinstance(root.need, ComponentRequirement):
                self._root_components.append(root.need)
                continue
            specifier = str(root.need.specifier) if VERSION_PART in parts else ""
            extras = tuple(extra for extra in root.need.extras if extra_part(extra) in parts)
            roots.append(Need(root.need.name, specifier, extras, by_user=True))
        return roots

    def _is_met(self, need: ComponentRequirement) -> bool:
        """Return whether the target meets a requirement, or what it has is no reason."""
        if need.component not in self._components:
            return True
        return need.allows(self._problem.target.system[need.component])

    def _choices(self, name: NormalizedName, specifiers: Sequence[str]) -> list[Choice]:
        """Return the releases of a project that are not ruled out, one for all that the reasons do not tell apart."""
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
        """Yield what a release shares with others by facts that are reasons."""
        for fact in self._collisions:
            if name == fact.other or fact.is_about(name, version):
                yield fact.module
