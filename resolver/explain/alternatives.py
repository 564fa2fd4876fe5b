"""What a line or a component may become, in order of preference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.explain.costs import UNLISTED, UNSURE
from resolver.model import text
from resolver.model.dependency import BuildLine, Candidate, Kind, Package, StackLine
from resolver.model.fact import Fact, Need, Requires, Warns
from resolver.model.problem import Problem
from resolver.model.release import Release
from resolver.model.requirement import ComponentRequirement, Requirement, Value
from resolver.model.resolution import Lack, Resolution
from resolver.resolve.clauses import Clauses
from resolver.resolve.demand import names_prerelease
from resolver.resolve.grounded import Component, Ground, Lacking, Line
from resolver.resolve.project import Project

_YEAR = 365  # days


class Alternatives:
    """The releases and values on offer for the wishes of one problem."""

    def __init__(self, clauses: Clauses, problem: Problem) -> None:
        self._clauses = clauses
        self._problem = problem
        self._needs = {ask.origin: ask.need for ask in problem.stack.asks}
        self._about: dict[str, list[Fact]] = {}
        self._asked = dict.fromkeys(need.name for need in self._needs.values() if isinstance(need, Requirement))
        self._doubts: dict[tuple[Candidate, tuple[tuple[str, Value], ...]], int] = {}
        for fact in problem.facts:
            self._about.setdefault(fact.package, []).append(fact)

    def candidates(self, ground: Ground, *, newest: bool, among: Sequence[Ground] = ()) -> Iterator[Candidate]:
        """What a line or a component may become, nearest to the wish or newest first.

        Objections to a release that depend on components that change as well, `among` others, do not count yet.
        """
        if isinstance(ground, Component):
            yield from self._clauses.packages[Package(ground.name, "", Kind.SYSTEM)][1:]
            return
        assert isinstance(ground, Line)  # noqa: S101  nothing else has candidates
        need = self._need(ground.origin)
        package = Package(need.name)
        self._clauses.introduce(package)
        wish = need.specifier
        releases = [
            one
            for one in self._clauses.packages[package]
            if isinstance(one.chosen, Release)
            and not one.chosen.yanked
            and not wish.contains(one.version, prereleases=True)
        ]
        stable = [one for one in releases if not one.version.is_prerelease]
        further: list[Candidate] = []
        if newest or not names_prerelease(wish):
            further = [] if newest else [one for one in releases if self._is_candidate_of(wish, one)]
            releases = stable or releases
        if newest:
            releases.sort(key=_position)  # ignoring the preferences of the previous lock
        else:
            at = _wished(wish, self._clauses.universe.project(need.name))
            releases.sort(key=lambda one: abs(_position(one) - at) * 2 + (_position(one) > at))
        releases += (one for one in further if one not in releases)
        # releases with objections, and those not in their project's tables, come last
        machine = self._machine(among, {})
        yield from sorted(releases, key=lambda one: self._doubt(one, machine))

    def _is_candidate_of(self, wish: SpecifierSet, candidate: Candidate) -> bool:
        """Whether a release is a pre-release of a pinned one, and facts say which CANN each of them is for."""
        if not candidate.version.is_prerelease or self.is_unsure(candidate):
            return False
        final = Version(candidate.version.base_version)
        pinned = any(one.operator == "==" and one.contains(final) for one in wish)
        return pinned and bool(self._is_listed(candidate.package.name, candidate.version))

    def lacking(self, ground: Ground) -> Ground | None:
        """The ground that a line's project has releases without a file for the target, if there is one."""
        if not isinstance(ground, Line):
            return None
        lack = Lacking(self._need(ground.origin).name, Lack.FILE, "")
        return lack if lack in self._clauses.absent else None

    def steps(self, origin: StackLine | BuildLine, candidate: Candidate) -> int:
        """How many releases newer than a line's wish a candidate is; negative if it is older."""
        need = self._need(origin)
        return _wished(need.specifier, self._clauses.universe.project(need.name)) - _position(candidate)

    def years(self, origin: StackLine | BuildLine, candidate: Candidate) -> int:
        """How many full years after a line's wish a newer candidate was uploaded; before, and negative, an older one.

        0 if an index does not tell, and for an older release that was uploaded later, as of a series still maintained.
        """
        return self._years(self._need(origin), _position(candidate))

    def years_behind(self, found: Resolution) -> int:
        """The full years in all by which a solution's releases are older than the newest that the wish's lines admit.

        Lines that admit no release are left out, and releases that the lines do not admit: those have changed.
        """
        years = 0
        for need in self._needs.values():
            pin = found.pin(need.name) if isinstance(need, Requirement) else None
            if (
                pin is not None
                and isinstance(need, Requirement)
                and need.specifier.contains(pin.version, prereleases=True)
            ):
                versions = self._clauses.universe.project(need.name).versions
                years -= self._years(need, versions.index(pin.version)) if pin.version in versions else 0
        return years

    def _years(self, need: Requirement, position: int) -> int:
        project = self._clauses.universe.project(need.name)
        if not project.mask(need.specifier):
            return 0
        at = _wished(need.specifier, project)
        wished, uploaded = project.uploaded(at), project.uploaded(position)
        if wished is None or uploaded is None:
            return 0
        newer = position < at
        years = (uploaded - wished if newer else wished - uploaded).days // _YEAR
        return max(years, 0) if newer else min(-years, 0)

    def is_unsure(self, candidate: Candidate) -> bool:
        """Whether there are objections to a release, or it is not in its project's tables."""
        return self._doubt(candidate, self._problem.target.system) > 0

    def count_unlisted(self, choice: Mapping[Ground, Candidate]) -> int:
        """How many of these are releases that are not in their project's tables."""
        return sum(map(self._is_unlisted, choice.values()))

    def doubt(self, choice: Mapping[Ground, Candidate]) -> int:
        """The surcharge for these releases, on the machine given by the components among them."""
        machine = self._machine((), choice)
        return sum(self._doubt(candidate, machine) for candidate in choice.values())

    def _machine(self, among: Sequence[Ground], choice: Mapping[Ground, Candidate]) -> Mapping[str, Value]:
        """The target's components, with some changed."""
        changing = {ground.name for ground in among if isinstance(ground, Component)}
        machine = {name: value for name, value in self._problem.target.system.items() if name not in changing}
        for ground, candidate in choice.items():
            if isinstance(ground, Component) and not isinstance(candidate.chosen, Release):
                machine[ground.name] = candidate.chosen
        return machine

    def _doubt(self, candidate: Candidate, machine: Mapping[str, Value]) -> int:
        """The surcharge for a release on this machine; 0 for what is no release."""
        key = candidate, tuple(machine.items())
        if key not in self._doubts:
            unlisted = self._is_unlisted(candidate)
            self._doubts[key] = UNLISTED if unlisted else UNSURE * self._has_faults(candidate, machine)
        return self._doubts[key]

    def unlisted(self, found: Resolution) -> Iterator[str]:
        """The wish's projects whose release in a solution is not in the project's tables."""
        for pin in filter(None, map(found.pin, self._asked)):
            if self._is_listed(pin.name, pin.version) is False:
                yield pin.name

    def _has_faults(self, candidate: Candidate, machine: Mapping[str, Value]) -> bool:
        """Whether a warning says that a release fails, or may fail on this machine; mere notes do not count."""

        def may_hold(need: Need, fact: Warns) -> bool:
            if isinstance(need, Requirement):  # the rest of the lock is not known yet
                return need.name in self._asked or not fact.grave
            return need.component not in machine or need.allows(machine[need.component])

        if not isinstance(candidate.chosen, Release):
            return False
        is_wheel = candidate.chosen.file.is_wheel
        return any(
            isinstance(fact, Warns)
            and (is_wheel or not fact.wheels)
            and not fact.extra
            and not fact.beside  # not known yet
            and (fact.grave or fact.unless)
            and fact.speaks_of(candidate.version)
            and not any(may_hold(need, fact) for need in fact.unless)
            for fact in self._about.get(candidate.package.name, ())
        )

    def _is_unlisted(self, candidate: Candidate) -> bool:
        """Whether facts say which CANN the project's releases need, but not for this one."""
        return (
            isinstance(candidate.chosen, Release)
            and self._is_listed(candidate.package.name, candidate.version) is False
        )

    def _is_listed(self, project: str, version: Version) -> bool | None:
        """Whether facts say which CANN a release needs; None if they do not say it of any release of the project."""
        tables = [
            fact
            for fact in self._about.get(project, ())
            if isinstance(fact, Requires) and any(isinstance(need, ComponentRequirement) for need in fact.needs)
        ]
        return any(fact.speaks_of(version) for fact in tables) if tables else None

    def _need(self, origin: StackLine | BuildLine) -> Requirement:
        need = self._needs[origin]
        assert isinstance(need, Requirement)  # noqa: S101  lines about components have no candidates
        return need


def _wished(wish: SpecifierSet, project: Project) -> int:
    """The position of a wish among the releases."""
    mask = project.mask(wish)
    if mask:
        return next(project.positions(mask))
    bounds = [text.version(one.version.removesuffix(".*")) for one in wish]
    highest = max((bound for bound in bounds if bound is not None), default=None)
    if highest is None:
        return 0
    return sum(1 for version in project.versions if version > highest)


def _position(candidate: Candidate) -> int:
    assert isinstance(candidate.chosen, Release)  # noqa: S101  only releases stand in an order
    return candidate.chosen.position
