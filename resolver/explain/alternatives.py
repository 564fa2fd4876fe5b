"""What lines and components may become, several of them together, in order of preference."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.errors import ResolverError
from resolver.explain.costs import NEARBY, UNLISTED, UNSURE
from resolver.model import text
from resolver.model.dependency import Candidate, NeedLine, Package, PackageKind, StackLine
from resolver.model.fact import Need, Requires, Warns, component_requirements
from resolver.model.release import Release
from resolver.model.requirement import Requirement, Value
from resolver.model.resolution import Lack, Resolution
from resolver.resolve.candidates import names_prerelease
from resolver.resolve.clauses import Clauses
from resolver.resolve.grounded import ComponentGround, Ground, LackGround, LineGround
from resolver.resolve.project import Project

_LOOKS = 4_000  # candidates looked at for one set and one direction
_YEAR = 365  # days
_AHEAD = {0: 4, 4: 12, 16: 16, 32: 16, 48: 16}  # after so many candidates -> how many are requested at once

Choice = Mapping[Ground, Candidate]


class Alternatives:
    """The releases and values on offer for the wishes of one problem.

    `unreadable` are releases whose file cannot be fetched: trying them again is useless. `met_unlisted` are sets of
    changes that only unlisted releases meet: with more changes than that, another unlisted one would be nothing new.
    """

    def __init__(self, clauses: Clauses, expired: Callable[[], bool]) -> None:
        self.unreadable: set[Candidate] = set()
        self.met_unlisted: list[frozenset[Ground]] = []
        self._clauses = clauses
        self._expired = expired
        problem = clauses.universe.problem
        self._system = problem.target.system
        requirements = problem.stack.requirements
        self._needs = {root.origin: root.need for root in requirements if isinstance(root.need, Requirement)}
        self._asked = dict.fromkeys(need.name for need in self._needs.values())
        # the projects of which facts say which CANN each release needs
        self._tabulated = {
            one.package for one in problem.facts if isinstance(one, Requires) and component_requirements(one.needs)
        }

    # --- of several changes together

    def choices(self, wanted: Sequence[Ground], *, newest: bool) -> Iterator[Choice]:
        """Releases and values for what may change, in order of preference, that are not known to clash.

        What is learned while one choice is tried applies to the next. Whatever has the fewest candidates is chosen
        first, components last; the number of looks is limited.
        """
        looks = takewhile(lambda _: not self._expired(), range(_LOOKS))
        options = self.options(wanted, newest=newest)
        free = sorted(options, key=lambda ground: (isinstance(ground, ComponentGround), len(options[ground])))
        for choice in self._complete(options, free, {}, looks):
            if self.unreadable.isdisjoint(choice.values()):
                yield choice

    def options(self, wanted: Sequence[Ground], *, newest: bool) -> Mapping[Ground, Sequence[Candidate]]:
        """What each of a set of changes may become."""
        listed_only = any(met.issubset(wanted) for met in self.met_unlisted)
        return {
            ground: [
                one
                for one in self._candidates(ground, wanted, newest=newest)
                if one not in self.unreadable and not (listed_only and self._is_unlisted(one.package.name, one.chosen))
            ]
            for ground in free_of(wanted)
        }

    def _complete(
        self,
        options: Mapping[Ground, Sequence[Candidate]],
        free: Sequence[Ground],
        choice: Choice,
        looks: Iterator[int],
    ) -> Iterator[Choice]:
        """Every way to complete a choice, as long as there are looks left.

        Of a component come first the values with the fewest objections to the releases chosen.
        """
        if not free:
            yield choice
            return
        clauses, ground = self._clauses, free[0]
        rows = options[ground]
        if isinstance(ground, ComponentGround):
            rows = sorted(rows, key=lambda value: self.doubt({**choice, ground: value}))
        chosen = [clauses.variable(one) for one in choice.values()]
        opened = 0
        for at, row in enumerate(rows):
            if next(looks, None) is None:
                return
            if not clauses.satisfiable([*chosen, clauses.variable(row)]):
                continue
            if opened in _AHEAD:  # most candidates ruled out without being opened are never read
                clauses.prefetch.prefetch_releases(rows[at : at + _AHEAD[opened]])
            opened += 1
            _open(clauses, row)
            if clauses.satisfiable([*chosen, clauses.variable(row)]):
                yield from self._complete(options, free[1:], {**choice, ground: row}, looks)
            if not clauses.satisfiable(chosen):
                return  # no option for this one can work any more

    # --- of one

    def _candidates(self, ground: Ground, wanted: Collection[Ground], *, newest: bool) -> Sequence[Candidate]:
        """What a line or a component may become, nearest to the wish or newest first.

        Last come releases with objections, and those not in their project's tables. Objections that depend on
        components that change as well, because they are `wanted` to, do not count yet.
        """
        if isinstance(ground, ComponentGround):
            return self._clauses.packages[Package(ground.name, "", PackageKind.COMPONENT)][1:]
        assert isinstance(ground, LineGround)  # noqa: S101  nothing else has candidates
        need = self._needs[ground.origin]
        package, wish = Package(need.name), need.specifier
        self._clauses.introduce(package)
        releases = [
            one
            for one in self._clauses.packages[package]
            if isinstance(one.chosen, Release)
            and not one.chosen.yanked
            and not wish.contains(one.version, prereleases=True)
        ]
        final = [one for one in releases if not one.version.is_prerelease]
        further: list[Candidate] = []
        if newest or not names_prerelease(wish):
            further = [] if newest else [one for one in releases if self._is_candidate_of(wish, one)]
            releases = final or releases
        if newest:
            releases.sort(key=lambda one: one.release.position)  # ignoring the preferences of the previous lock
        else:
            at = _wanted_position(wish, self._clauses.universe.project(need.name))
            releases.sort(key=lambda one: abs(one.release.position - at) * 2 + (one.release.position > at))
        releases += (one for one in further if one not in releases)
        machine = {name: value for name, value in self._system.items() if ComponentGround(name) not in wanted}
        return sorted(releases, key=lambda one: self._doubt(one, machine) // UNSURE)

    def _is_candidate_of(self, wish: SpecifierSet, candidate: Candidate) -> bool:
        """Whether a release is a pre-release of a pinned one, and facts say which CANN each of them is for."""
        if not candidate.version.is_prerelease or self._is_unlisted(candidate.package.name, candidate.chosen):
            return False
        final = Version(candidate.version.base_version)
        pinned = any(one.operator == "==" and one.contains(final) for one in wish)
        return pinned and candidate.package.name in self._tabulated

    def lacking(self, ground: Ground) -> Ground | None:
        """The ground that a line's project has releases without a file for the target, if there is one."""
        if not isinstance(ground, LineGround):
            return None
        lack = LackGround(self._needs[ground.origin].name, Lack.FILE, "")
        return lack if lack in self._clauses.absent else None

    # --- how far from the wish

    def distance(self, origin: StackLine | NeedLine, candidate: Candidate) -> tuple[int, int]:
        """How many releases newer than a line's wish a candidate is, and how many full years; negative if it is older.

        No years if an index does not tell, and for an older release that was uploaded later, as of a series still
        maintained.
        """
        need, position = self._needs[origin], candidate.release.position
        newer = _wanted_position(need.specifier, self._clauses.universe.project(need.name)) - position
        return newer, self._years(need, position)

    def years_behind(self, found: Resolution) -> int:
        """The full years in all by which a solution's releases are older than the newest that the wish's lines admit.

        Lines that admit no release are left out, and releases that the lines do not admit: those have changed.
        """
        years = 0
        for need in self._needs.values():
            pin = found.pin(need.name)
            if pin is not None and need.specifier.contains(pin.version, prereleases=True):
                years -= self._years(need, pin.release.position)
        return years

    def _years(self, need: Requirement, position: int) -> int:
        project = self._clauses.universe.project(need.name)
        if not project.mask(need.specifier):
            return 0
        at = _wanted_position(need.specifier, project)
        wished, uploaded = project.uploaded(at), project.uploaded(position)
        if wished is None or uploaded is None:
            return 0
        newer = position < at
        years = (uploaded - wished if newer else wished - uploaded).days // _YEAR
        return max(years, 0) if newer else min(-years, 0)

    # --- objections

    def count_unlisted(self, choice: Choice) -> int:
        """How many of these are releases that are not in their project's tables."""
        return sum(self._is_unlisted(one.package.name, one.chosen) for one in choice.values())

    def unlisted(self, found: Resolution) -> Iterator[str]:
        """The wish's projects whose release in a solution is not in the project's tables."""
        pins = filter(None, map(found.pin, self._asked))
        return (pin.name for pin in pins if self._is_unlisted(pin.name, pin.release))

    def doubt(self, choice: Choice) -> int:
        """The surcharge for these releases, on the machine given by the components among them."""
        machine = dict(self._system)
        for ground, candidate in choice.items():
            if isinstance(ground, ComponentGround) and not isinstance(candidate.chosen, Release):
                machine[ground.name] = candidate.chosen
        return sum(self._doubt(candidate, machine) for candidate in choice.values())

    def _doubt(self, candidate: Candidate, machine: Mapping[str, Value]) -> int:
        """The surcharge for a release on this machine; 0 for what is no release."""
        is_unlisted = self._is_unlisted(candidate.package.name, candidate.chosen)
        return UNLISTED if is_unlisted else self._faults(candidate, machine)

    def _faults(self, candidate: Candidate, machine: Mapping[str, Value]) -> int:
        """The surcharge for what a warning says: that a release fails, or may fail on this machine.

        Mere notes cost nothing, and little that it was made for another release of the same CANN line.
        """

        def may_hold(need: Need, fact: Warns) -> bool:
            if isinstance(need, Requirement):  # the rest of the lock is not known yet
                return need.name in self._asked or not fact.grave
            return need.component not in machine or need.allows(machine[need.component])

        if not isinstance(candidate.chosen, Release):
            return 0
        project = self._clauses.universe.project(text.name(candidate.package.name))
        faults = [
            NEARBY if fact.is_averted_on_release_line(machine) else UNSURE
            for fact in project.facts_about(candidate.chosen.position, Warns)
            if fact.counts_for(candidate.chosen.file)
            and not fact.extra
            and not fact.together_with  # not known yet
            and (fact.grave or fact.unless)
            and not any(may_hold(need, fact) for need in fact.unless)
        ]
        return max(faults, default=0)

    def _is_unlisted(self, name: str, release: object) -> bool:
        """Whether facts say which CANN the project's releases need, but not for this one."""
        if not isinstance(release, Release) or name not in self._tabulated:
            return False
        stated = self._clauses.universe.project(text.name(name)).facts_about(release.position, Requires)
        return not any(component_requirements(one.needs) for one in stated)


def free_of(wanted: Sequence[Ground]) -> list[Ground]:
    """The components and lines of a set of changes that become something else."""
    free: list[Ground] = [ground for ground in wanted if isinstance(ground, ComponentGround)]
    return free + [ground for ground in wanted if isinstance(ground, LineGround) and ground.aspect == "version"]


def _wanted_position(wish: SpecifierSet, project: Project) -> int:
    """The position of a wish among the releases."""
    mask = project.mask(wish)
    if mask:
        return next(project.positions(mask))
    bounds = [text.version(one.version.removesuffix(".*")) for one in wish]
    highest = max((bound for bound in bounds if bound is not None), default=None)
    if highest is None:
        return 0
    return sum(1 for version in project.versions if version > highest)


def _open(clauses: Clauses, candidate: Candidate) -> None:
    """Open a release with those of its extras that matter and are available."""
    for package, known in list(clauses.packages.items()):
        if package.name == candidate.package.name and package.kind is candidate.package.kind:
            for other in known:
                if other.chosen is candidate.chosen:
                    with suppress(ResolverError):  # it stays unknown; locking will tell
                        clauses.open(other)
