"""What lines and components may become, several of them together, in order of preference."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.errors import ResolverError
from resolver.explain.costs import NEARBY, UNLISTED, UNSURE
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.constraint import (
    VERSION_PART,
    BuildLine,
    ComponentValue,
    Constraint,
    Line,
    NoCandidate,
    StackLine,
    Unavailable,
)
from resolver.model.dependency import Candidate
from resolver.model.fact import Need, Warns, component_requirements
from resolver.model.package import Package, PackageKind
from resolver.model.release import Release
from resolver.model.requirement import Requirement, Value
from resolver.model.resolution import Resolution
from resolver.resolve.candidates import names_prerelease
from resolver.resolve.clauses import Clauses
from resolver.resolve.project import Project, highest_bound

_LOOKS = 4_000  # candidates looked at for one set and one direction
_YEAR = 365  # days
_AHEAD = {
    0: 4,
    4: 12,
    16: 16,
    32: 16,
    48: 16,
}  # after so many candidates -> how many are requested at once

Choice = Mapping[Constraint, Candidate]


class Alternatives:
    """The releases and values on offer for the lines and components of one problem.

    `unreadable` are releases whose file cannot be fetched: trying them again is useless.
    `met_unlisted` are sets of changes that only unlisted releases meet: with more changes than
    that, another unlisted one would be nothing new.
    """

    def __init__(self, clauses: Clauses, expired: Callable[[], bool]) -> None:
        self.unreadable: set[Candidate] = set()
        self.met_unlisted: list[frozenset[Constraint]] = []
        self._clauses = clauses
        self._expired = expired
        problem = clauses.universe.problem
        self._system = problem.target.system
        requirements = problem.stack.requirements
        self._needs = {
            root.origin: root.need for root in requirements if isinstance(root.need, Requirement)
        }
        self._requested = dict.fromkeys(need.name for need in self._needs.values())
        # the projects of which facts say which CANN each release needs
        self._tabulated = {
            fact.package
            for fact in problem.facts
            if isinstance(fact, facts.Requires) and component_requirements(fact.needs)
        }

    # --- of several changes together

    def choices(self, changing: Sequence[Constraint], *, newest: bool) -> Iterator[Choice]:
        """Releases and values for a set of changes, in order of preference, that are not known to clash.

        What is learned while one choice is tried applies to the next. Whatever has the fewest
        candidates is chosen first, components last; the number of looks is limited.
        """
        looks = takewhile(lambda _: not self._expired(), range(_LOOKS))
        options = self.options(changing, newest=newest)
        undecided = sorted(
            options,
            key=lambda constraint: (
                isinstance(constraint, ComponentValue),
                len(options[constraint]),
            ),
        )
        for choice in self._complete(options, undecided, {}, looks):
            if self.unreadable.isdisjoint(choice.values()):
                yield choice

    def options(
        self, changing: Sequence[Constraint], *, newest: bool
    ) -> Mapping[Constraint, Sequence[Candidate]]:
        """What each of a set of changes may become."""
        listed_only = any(changes.issubset(changing) for changes in self.met_unlisted)
        return {
            constraint: [
                candidate
                for candidate in self._candidates(constraint, changing, newest=newest)
                if candidate not in self.unreadable
                and not (listed_only and self._is_unlisted(candidate))
            ]
            for constraint in free_of(changing)
        }

    def _complete(
        self,
        options: Mapping[Constraint, Sequence[Candidate]],
        free: Sequence[Constraint],
        choice: Choice,
        looks: Iterator[int],
    ) -> Iterator[Choice]:
        """Every way to complete a choice, as long as there are looks left.

        Of a component come first the values with the fewest objections to the releases chosen.
        """
        if not free:
            yield choice
            return
        clauses, constraint = self._clauses, free[0]
        candidates = options[constraint]
        if isinstance(constraint, ComponentValue):
            candidates = sorted(
                candidates, key=lambda value: self.doubt({**choice, constraint: value})
            )
        chosen = [*map(clauses.variable, choice.values())]
        opened = 0
        for at, candidate in enumerate(candidates):
            if next(looks, None) is None:
                return
            if not clauses.satisfiable([*chosen, clauses.variable(candidate)]):
                continue
            if opened in _AHEAD:  # most candidates ruled out without being opened are never read
                clauses.prefetch.prefetch_releases(candidates[at : at + _AHEAD[opened]])
            opened += 1
            _open(clauses, candidate)
            if clauses.satisfiable([*chosen, clauses.variable(candidate)]):
                yield from self._complete(
                    options, free[1:], {**choice, constraint: candidate}, looks
                )
            if not clauses.satisfiable(chosen):
                return  # no option for this constraint can work any more

    # --- of one

    def _candidates(
        self, constraint: Constraint, changing: Collection[Constraint], *, newest: bool
    ) -> Sequence[Candidate]:
        """What a line or a component may become, nearest to the original one or newest first.

        Last come releases with objections, and those not in their project's tables. Objections that
        depend on components that are `changing` as well do not count yet.
        """
        if isinstance(constraint, ComponentValue):
            return self._clauses.packages[Package(constraint.component, "", PackageKind.COMPONENT)][
                1:
            ]
        assert isinstance(constraint, (StackLine, BuildLine))  # noqa: S101  nothing else has candidates
        need = self._needs[constraint.whole]
        package, specifiers = Package(need.name), need.specifier
        self._clauses.add_package(package)
        releases = [
            candidate
            for candidate in self._clauses.packages[package]
            if not candidate.release.yanked
            and not specifiers.contains(candidate.version, prereleases=True)
        ]
        further: list[Candidate] = []
        if newest or not names_prerelease(specifiers):
            if not newest:
                further = [
                    candidate
                    for candidate in releases
                    if self._is_prerelease_of_pin(specifiers, candidate)
                ]
            releases = [
                candidate for candidate in releases if not candidate.version.is_prerelease
            ] or releases
        if newest:  # ignoring the preferences of the previous lock
            releases.sort(key=lambda candidate: candidate.release.position)
        else:
            at = _position(specifiers, self._clauses.universe.project(need.name))
            releases.sort(
                key=lambda candidate: (
                    abs(candidate.release.position - at),
                    candidate.release.position > at,
                )
            )
        releases += (candidate for candidate in further if candidate not in releases)
        machine = {
            name: value for name, value in self._system.items() if name not in _components(changing)
        }
        return sorted(releases, key=lambda candidate: self._doubt(candidate, machine) // UNSURE)

    def _is_prerelease_of_pin(self, specifiers: SpecifierSet, candidate: Candidate) -> bool:
        """Whether a release is a pre-release of a pinned one, and facts say which CANN each of them is for."""
        final = Version(candidate.version.base_version)
        return (
            candidate.version.is_prerelease
            and candidate.package.name in self._tabulated
            and not self._is_unlisted(candidate)
            and any(
                specifier.operator == "==" and specifier.contains(final) for specifier in specifiers
            )
        )

    def lacking(self, constraint: Constraint) -> Constraint | None:
        """The constraint that a line's project has releases without a file for the target, if there is one."""
        if not isinstance(constraint, (StackLine, BuildLine)):
            return None
        lack = Unavailable(self._needs[constraint.whole].name, NoCandidate.FILE)
        return lack if lack in self._clauses.ruled_out_releases else None

    # --- how far from the original stack

    def distance(self, line: Line, candidate: Candidate) -> tuple[int, int]:
        """How many releases, and full years, newer than a line admits a candidate is; negative if it is older.

        No years if an index does not tell, and for an older release that was uploaded later, as of
        a series still maintained.
        """
        need, position = self._needs[line], candidate.release.position
        newer = _position(need.specifier, self._clauses.universe.project(need.name)) - position
        return newer, self._years(need, position)

    def years_behind(self, resolution: Resolution) -> int:
        """The full years in all by which a solution's releases are older than the newest that the lines admit.

        Lines that admit no release are left out, and releases that the lines do not admit: those
        have changed.
        """
        years = 0
        for need in self._needs.values():
            pin = resolution.pin(need.name)
            if pin is not None and need.specifier.contains(pin.version, prereleases=True):
                years -= self._years(need, pin.release.position)
        return years

    def _years(self, need: Requirement, position: int) -> int:
        project = self._clauses.universe.project(need.name)
        if not project.mask(need.specifier):
            return 0
        at = _position(need.specifier, project)
        original, uploaded = project.uploaded(at), project.uploaded(position)
        if original is None or uploaded is None:
            return 0
        if position < at:
            return max((uploaded - original).days // _YEAR, 0)
        return min(-((original - uploaded).days // _YEAR), 0)

    # --- objections

    def count_unlisted(self, choice: Choice) -> int:
        """How many of these are releases that are not in their project's tables."""
        return sum(map(self._is_unlisted, choice.values()))

    def unlisted(self, resolution: Resolution) -> Iterator[str]:
        """The projects of the stack's lines whose release in a solution is not in the project's tables."""
        pins = filter(None, map(resolution.pin, self._requested))
        return (
            pin.name for pin in pins if self._is_unlisted(Candidate(Package(pin.name), pin.release))
        )

    def doubt(self, choice: Choice) -> int:
        """The surcharge for these releases, on the machine given by the components among them."""
        machine = dict(self._system)
        for constraint, candidate in choice.items():
            if isinstance(constraint, ComponentValue) and not isinstance(candidate.chosen, Release):
                machine[constraint.component] = candidate.chosen
        return sum(self._doubt(candidate, machine) for candidate in choice.values())

    def _doubt(self, candidate: Candidate, machine: Mapping[str, Value]) -> int:
        """The surcharge for a release on this machine; 0 for what is no release."""
        return UNLISTED if self._is_unlisted(candidate) else self._faults(candidate, machine)

    def _faults(self, candidate: Candidate, machine: Mapping[str, Value]) -> int:
        """The surcharge for what a warning says: that a release fails, or may fail on this machine.

        Mere notes cost nothing, and little that it was made for another release of the same CANN
        line.
        """

        def may_hold(need: Need, fact: Warns) -> bool:
            if isinstance(need, Requirement):  # other projects are not known yet
                return need.name in self._requested or not fact.grave
            return need.component not in machine or need.allows(machine[need.component])

        if not isinstance(candidate.chosen, Release):
            return 0
        project = self._clauses.universe.project(text.name(candidate.package.name))
        faults = [
            NEARBY if fact.is_averted_on_release_line(machine) else UNSURE
            for fact in project.facts_about(candidate.chosen.position, Warns)
            if fact.counts_for(candidate.chosen)
            and not fact.extra
            and not fact.together_with  # not known yet
            and (fact.grave or fact.unless)
            and not any(may_hold(need, fact) for need in fact.unless)
        ]
        return max(faults, default=0)

    def _is_unlisted(self, candidate: Candidate) -> bool:
        """Whether facts say which CANN the project's releases need, but not for this one."""
        name = candidate.package.name
        if not isinstance(candidate.chosen, Release) or name not in self._tabulated:
            return False
        project = self._clauses.universe.project(text.name(name))
        about = project.facts_about(candidate.release.position, facts.Requires)
        return not any(component_requirements(fact.needs) for fact in about)


def _components(changing: Iterable[Constraint]) -> set[str]:
    """Return the components among a set of changes."""
    return {
        constraint.component for constraint in changing if isinstance(constraint, ComponentValue)
    }


def free_of(changing: Sequence[Constraint]) -> list[Constraint]:
    """The components and lines of a set of changes that become something else."""
    free: list[Constraint] = [
        constraint for constraint in changing if isinstance(constraint, ComponentValue)
    ]
    return free + [
        constraint
        for constraint in changing
        if isinstance(constraint, (StackLine, BuildLine)) and constraint.part == VERSION_PART
    ]


def _position(specifiers: SpecifierSet, project: Project) -> int:
    """The position of the newest release that specifiers admit, or, if there is none, that it would have."""
    if mask := project.mask(specifiers):
        return next(project.positions(mask))
    highest = highest_bound(specifiers)
    return 0 if highest is None else sum(version > highest for version in project.versions)


def _open(clauses: Clauses, candidate: Candidate) -> None:
    """Open a release with those of its extras that matter and are available."""
    for package, candidates in list(clauses.packages.items()):
        if package.base == candidate.package.base:
            for same in candidates:
                if same.chosen is candidate.chosen:
                    with suppress(ResolverError):  # it stays unknown until it is locked
                        clauses.open(same)
