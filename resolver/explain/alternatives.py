"""Find the releases and values that lines and components may change to, preferred ones first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import NamedTuple

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.errors import ResolverError
from resolver.explain.costs import NEARBY, UNLISTED, UNSURE
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.component import Value
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
from resolver.model.requirement import ComponentRequirement, Requirement
from resolver.model.resolution import Resolution, UnmetBound
from resolver.resolve.candidates import names_prerelease
from resolver.resolve.clauses import Clauses
from resolver.resolve.project import Project, highest_bound

# How many candidates are looked at for one set of changes and one order of releases.
_LOOKS = 4_000
# Days of a year.
_YEAR = 365
# After so many opened candidates, metadata of so many further ones is requested at once.
_AHEAD = {0: 4, 4: 12, 16: 16, 32: 16, 48: 16}


class Distance(NamedTuple):
    """How much newer a release is than the one that a line asked for; negative for an older one."""

    # The number of releases from one to the other.
    releases: int
    # The days between their uploads. They are 0 if unknown, or if an older version was uploaded
    # later, as happens in a series that is still maintained.
    days: int

    @property
    def years(self) -> int:
        """Return the full years between the uploads, with the same sign as the days."""
        years = abs(self.days) // _YEAR
        return years if self.days > 0 else -years


# The distance of a line that keeps its version.
NO_DISTANCE = Distance(0, 0)

# The release or value that each changed line or component gets.
Replacements = Mapping[Constraint, Candidate]


class Alternatives:
    """The releases and values on offer for the lines and components of one problem.

    A project's tables are the facts that say which values of components each of its releases needs.
    A release is unlisted if its project has tables, and none of them is about the release.
    """

    def __init__(self, clauses: Clauses, expired: Callable[[], bool]) -> None:
        # Releases that could not be read: trying them again is useless.
        self.unreadable: set[Candidate] = set()
        # Sets of changes with which the stack locks, but only with unlisted releases. For larger
        # sets, unlisted releases are left out: they would give no better fix.
        self.met_unlisted: list[frozenset[Constraint]] = []
        self._clauses = clauses
        self._expired = expired
        problem = clauses.universe.problem
        self._system = problem.target.system
        self._needs = {
            root.origin: root.need
            for root in problem.stack.requirements
            if isinstance(root.need, Requirement)
        }
        self._requested = {need.name for need in self._needs.values()}
        # The projects that have tables.
        self._tabulated = {
            fact.package
            for fact in problem.facts
            if isinstance(fact, facts.Requires) and component_requirements(fact.needs)
        }

    # --- of several changes together

    def all_of(self, changing: Sequence[Constraint], *, newest: bool) -> Iterator[Replacements]:
        """Yield releases and values for a set of changes, the preferred ones first.

        Nothing is yielded that the clauses rule out, and what they learn while some are tried
        applies to the next. The line with the fewest candidates is decided first, components last.
        The number of candidates that are looked at is limited, and so is the time. With `newest`,
        newest releases are preferred; without it, releases that are nearest to what a line asks
        for.
        """
        looks = takewhile(lambda _: not self._expired(), range(_LOOKS))
        options = self.options(changing, newest=newest)

        def urgency(constraint: Constraint) -> tuple[bool, int]:
            return isinstance(constraint, ComponentValue), len(options[constraint])

        for replacements in self._complete(options, sorted(options, key=urgency), {}, looks):
            if self.unreadable.isdisjoint(replacements.values()):
                yield replacements

    def options(
        self, changing: Sequence[Constraint], *, newest: bool
    ) -> Mapping[Constraint, Sequence[Candidate]]:
        """Return the candidates of each line and component that a set of changes gives a new value.

        Releases that could not be read are left out. `newest` is as in `all_of`.
        """
        listed_only = any(changes.issubset(changing) for changes in self.met_unlisted)
        options = {}
        for constraint in free_of(changing):
            candidates = self._candidates(constraint, changing, newest=newest)
            options[constraint] = [
                candidate
                for candidate in candidates
                if candidate not in self.unreadable
                and not (listed_only and self._is_unlisted(candidate))
            ]
        return options

    def _complete(
        self,
        options: Mapping[Constraint, Sequence[Candidate]],
        free: Sequence[Constraint],
        replacements: Replacements,
        looks: Iterator[int],
    ) -> Iterator[Replacements]:
        """Yield all replacements that begin with the given ones and leave nothing free.

        `free` are the lines and components that have no candidate yet. One item of `looks` is taken
        for each candidate that is looked at; without further items, nothing more is yielded. Values
        of a component are tried in the order of the surcharge that they mean for the chosen
        releases.
        """
        if not free:
            yield replacements
            return
        clauses, constraint = self._clauses, free[0]
        candidates = options[constraint]
        if isinstance(constraint, ComponentValue):
            candidates = sorted(
                candidates, key=lambda value: self.doubt({**replacements, constraint: value})
            )
        chosen = [clauses.variable(candidate) for candidate in replacements.values()]
        opened = 0
        for number, candidate in enumerate(candidates):
            if next(looks, None) is None:
                return
            variables = [*chosen, clauses.variable(candidate)]
            if not clauses.satisfiable(variables):
                continue
            # Most candidates are ruled out before this, so that their metadata is never requested.
            if opened in _AHEAD:
                clauses.prefetch.prefetch_releases(candidates[number : number + _AHEAD[opened]])
            opened += 1
            open_release(clauses, candidate)
            if clauses.satisfiable(variables):
                completed = {**replacements, constraint: candidate}
                yield from self._complete(options, free[1:], completed, looks)
            if not clauses.satisfiable(chosen):
                # By what was read, no candidate of this line or component is possible any more.
                return

    # --- of one

    def _candidates(
        self, constraint: Constraint, changing: Collection[Constraint], *, newest: bool
    ) -> Sequence[Candidate]:
        """Return what a line or a component may become, the preferred ones first.

        Releases with a grave warning come later, and unlisted releases last. Unlisted releases that
        seem to be for other machines are left out. Warnings about components that are `changing` as
        well are not considered yet. `newest` is as in `all_of`.
        """
        if isinstance(constraint, ComponentValue):
            package = Package(constraint.component, "", PackageKind.COMPONENT)
            # The first candidate is the value that the target has.
            return self._clauses.packages[package][1:]
        # Only lines and components get another release or value.
        assert isinstance(constraint, (StackLine, BuildLine))  # noqa: S101
        releases = self._releases(self._needs[constraint.whole], newest=newest)
        components = _components(changing)
        machine = {name: value for name, value in self._system.items() if name not in components}
        releases = [
            candidate for candidate in releases if not self._is_among_others(candidate, machine)
        ]
        return sorted(releases, key=lambda candidate: self._doubt(candidate, machine) // UNSURE)

    def _releases(self, need: Requirement, *, newest: bool) -> list[Candidate]:
        """Return the releases that a line does not admit, nearest to the admitted ones first.

        With `newest`, newest releases come first. Yanked releases are left out, and pre-releases as
        well unless the project has no others. Without `newest`, pre-releases are also included if
        the line names one, each after its final release; and pre-releases of a version that the
        line pins come last, if they are listed.
        """
        package, specifiers = Package(need.name), need.specifier
        self._clauses.add_package(package)
        releases = [
            candidate
            for candidate in self._clauses.packages[package]
            if not candidate.release.yanked
            and not specifiers.contains(candidate.version, prereleases=True)
        ]
        final = [candidate for candidate in releases if not candidate.version.is_prerelease]
        if newest:
            # By version alone: the releases of a previous lock are not preferred here.
            return sorted(final or releases, key=lambda candidate: candidate.release.position)
        requested = _position(specifiers, self._clauses.universe.project(need.name))

        def distance(candidate: Candidate) -> tuple[int, bool]:
            position = candidate.release.position
            return abs(position - requested), position > requested

        if not final:
            return sorted(releases, key=distance)
        if names_prerelease(specifiers):
            return _finals_first(sorted(releases, key=distance))
        further = [
            candidate for candidate in releases if self._is_prerelease_of_pin(specifiers, candidate)
        ]
        return sorted(final, key=distance) + further

    def listed_releases(self, need: Requirement) -> list[Candidate]:
        """Return the releases that a project's tables list, nearest to what a line asks for first.

        Releases that the line admits are included. Releases with a grave warning come later. If the
        line names a pre-release, other pre-releases come after their final releases. If not, only
        pre-releases of a version that it pins are included; they come last. Yanked releases are
        left out.
        """
        package = Package(need.name)
        self._clauses.add_package(package)
        requested = _position(need.specifier, self._clauses.universe.project(need.name))
        takes_prereleases = names_prerelease(need.specifier)

        def order(candidate: Candidate) -> tuple[bool, int, int, bool]:
            position = candidate.release.position
            return (
                candidate.version.is_prerelease and not takes_prereleases,
                self._doubt(candidate, self._system) // UNSURE,
                abs(position - requested),
                position > requested,
            )

        releases = [
            candidate
            for candidate in self._clauses.packages[package]
            if not candidate.release.yanked and not self._is_unlisted(candidate)
        ]
        if not takes_prereleases:
            releases = [
                candidate
                for candidate in releases
                if not candidate.version.is_prerelease
                or self._is_prerelease_of_pin(need.specifier, candidate)
            ]
        ordered = sorted(releases, key=order)
        if not takes_prereleases:
            return ordered
        admitted = [
            each for each in ordered if need.specifier.contains(each.version, prereleases=True)
        ]
        others = [each for each in ordered if each not in admitted]
        return [*admitted, *_finals_first(others)]

    def component_needs(self, candidate: Candidate) -> list[ComponentRequirement]:
        """Return the requirements on components that facts state for a release."""
        project = self._clauses.universe.project(text.name(candidate.package.name))
        about = project.facts_about(candidate.release.position, facts.Requires)
        needs: list[ComponentRequirement] = []
        for fact in about:
            needs += component_requirements(fact.needs)
        return needs

    def _is_prerelease_of_pin(self, specifiers: SpecifierSet, candidate: Candidate) -> bool:
        """Return whether a release is a listed pre-release of a version that the specifiers pin."""
        name, version = candidate.package.name, candidate.version
        if not version.is_prerelease:
            return False
        if name not in self._tabulated or self._is_unlisted(candidate):
            return False
        final = Version(version.base_version)
        return any(
            specifier.operator == "==" and specifier.contains(final) for specifier in specifiers
        )

    def without_file(self, changing: Iterable[Constraint]) -> list[Constraint]:
        """Return constraints that say that releases of lines have no file which the target can use.

        Only projects of lines in `changing` are considered, and only constraints that the clauses
        have.
        """
        lines = [line for line in changing if isinstance(line, (StackLine, BuildLine))]
        needs = [self._needs[line.whole] for line in lines if line.whole in self._needs]
        lacks = [Unavailable(Package(need.name), NoCandidate.FILE) for need in needs]
        return [lack for lack in lacks if lack in self._clauses.ruled_out_releases]

    # --- how far from the original stack

    def distance(self, line: Line, candidate: Candidate) -> Distance:
        """Return how far a candidate is from the newest release that a line admits.

        If the line admits none, or if an upload time is unknown, only the releases are counted.
        """
        return self.distance_from(self._needs[line], candidate)

    def distance_from(self, need: Requirement, candidate: Candidate) -> Distance:
        """Return how far a candidate is from the newest release that a requirement admits.

        As for `distance`.
        """
        position = candidate.release.position
        project = self._clauses.universe.project(need.name)
        requested = _position(need.specifier, project)
        releases = requested - position
        if not project.mask(need.specifier):
            return Distance(releases, 0)
        return Distance(releases, _days_newer(project, position, requested))

    def is_about_lines(self, unmet: UnmetBound) -> bool:
        """Return whether a bound that is not met is about a project that a line asks for."""
        return not self._requested.isdisjoint((unmet.project, unmet.other))

    def years_behind(self, resolution: Resolution) -> Mapping[NormalizedName, int]:
        """Return by how many full years releases in a lock are older than lines would allow.

        The years count from the newest release that the line admits, and the releases that other
        lines pin, and that was uploaded by the day of the lock. So an early day makes no release
        old. The result has only releases that are older by at least a year. Lines that a fix
        changed, and that no longer admit their release, are ignored.
        """
        bounds = self._bounds_of_pinned_lines(resolution)
        years = {}
        day = resolution.as_of.day
        for need in self._needs.values():
            pin = resolution.pin(need.name)
            if pin is None or not need.specifier.contains(pin.version, prereleases=True):
                continue
            project = self._clauses.universe.project(need.name)
            admitted = project.positions(project.mask(need.specifier) & bounds.get(need.name, -1))
            newest = next((each for each in admitted if not project.is_later(each, day)), None)
            if newest is None:
                continue
            older = -_days_newer(project, pin.release.position, newest) // _YEAR
            if older > 0:
                years[need.name] = older
        return years

    def _bounds_of_pinned_lines(self, resolution: Resolution) -> Mapping[str, int]:
        """Return the masks of releases that the releases pinned by lines admit, by project.

        Only lines count that pin the release which the lock has.
        """
        universe = self._clauses.universe
        bounds: dict[str, int] = {}
        for need in self._needs.values():
            pin = resolution.pin(need.name)
            if pin is None or text.pinned_version(need.specifier) != pin.version:
                continue
            candidate = universe.candidate(Package(need.name), pin.release.position)
            if candidate is None or not universe.opened(candidate):
                continue
            for edge in universe.edges(candidate):
                if edge.package.kind is PackageKind.PROJECT:
                    mask = universe.demand(edge).mask
                    bounds[edge.package.name] = bounds.get(edge.package.name, -1) & mask
        return bounds

    # --- objections

    def count_unlisted(self, replacements: Replacements) -> int:
        """Return how many of the replacements are unlisted releases."""
        return sum(self._is_unlisted(candidate) for candidate in replacements.values())

    def unlisted(self, resolution: Resolution) -> list[str]:
        """Return the projects of lines whose release in a lock is unlisted."""
        return [
            pin.name
            for pin in resolution.pins
            if pin.name in self._requested
            and self._is_unlisted(Candidate(Package(pin.name), pin.release))
        ]

    def doubt(self, replacements: Replacements) -> int:
        """Return the surcharge for the doubtful releases among replacements.

        They are judged on the target with the component values among them. See `costs` for the
        amounts.
        """
        machine = dict(self._system)
        for constraint, candidate in replacements.items():
            if isinstance(constraint, ComponentValue) and not isinstance(candidate.chosen, Release):
                machine[constraint.component] = candidate.chosen
        return sum(self._doubt(candidate, machine) for candidate in replacements.values())

    def _doubt(self, candidate: Candidate, machine: Mapping[str, Value]) -> int:
        """Return the surcharge for a release on a machine with these values; 0 for a component."""
        return UNLISTED if self._is_unlisted(candidate) else self._faults(candidate, machine)

    def _faults(self, candidate: Candidate, machine: Mapping[str, Value]) -> int:
        """Return the surcharge for the worst warning about a release on this machine.

        It is UNSURE for a warning that the release fails or may fail; NEARBY if it was only made
        for another release of the release line that a component has; 0 without such warnings or for
        a component. Warnings about extras and about combinations of packages are left out.
        """
        release = candidate.chosen
        if not isinstance(release, Release):
            return 0
        project = self._clauses.universe.project(text.name(candidate.package.name))
        surcharge = 0
        for fact in project.facts_about(release.position, Warns):
            # Which extras and other packages will be installed is not known yet.
            is_known = fact.counts_for(release) and not fact.extra and not fact.together_with
            if is_known and self._is_fault(fact, machine):
                is_near = self._is_made_nearby(fact, machine)
                surcharge = max(surcharge, NEARBY if is_near else UNSURE)
        return surcharge

    def _is_fault(self, fact: Warns, machine: Mapping[str, Value]) -> bool:
        """Return whether a warning says that a release may fail, and nothing prevents that here."""
        if not fact.grave and not fact.unless:
            return False
        return not any(self._may_hold(need, fact, machine) for need in fact.unless)

    def _is_made_nearby(self, fact: Warns, machine: Mapping[str, Value]) -> bool:
        """Return whether a release was made for a near release of a component of this machine.

        That is another release of a release line that the machine has, such as CANN 8.5.
        """
        components = self._clauses.universe.problem.target.components
        releases = {name: value for name, value in machine.items() if components[name].by_line}
        return fact.is_averted_on_release_line(releases)

    def _may_hold(self, need: Need, fact: Warns, machine: Mapping[str, Value]) -> bool:
        """Return whether a requirement that makes a warning moot may be met."""
        if isinstance(need, Requirement):
            # Whether other projects will be installed is not known yet.
            return need.name in self._requested or not fact.grave
        return need.component not in machine or need.allows(machine[need.component])

    def _is_among_others(self, candidate: Candidate, machine: Mapping[str, Value]) -> bool:
        """Return whether the listed neighbours of an unlisted release are for other machines.

        That is so if neither the next older nor the next newer listed release goes with the
        machine. False if one of the two does not exist.
        """
        if not self._is_unlisted(candidate):
            return False
        listed = [
            other
            for other in self._clauses.packages[candidate.package]
            if not self._is_unlisted(other)
        ]
        older = [other for other in listed if other.version < candidate.version]
        newer = [other for other in listed if other.version > candidate.version]
        if not older or not newer:
            return False
        neighbours = (
            max(older, key=lambda other: other.version),
            min(newer, key=lambda other: other.version),
        )
        return not any(self._goes_with(other, machine) for other in neighbours)

    def _goes_with(self, candidate: Candidate, machine: Mapping[str, Value]) -> bool:
        """Return whether the tables say that a release goes with these values of components."""
        return all(
            need.component not in machine or need.allows(machine[need.component])
            for need in self.component_needs(candidate)
        )

    def _is_unlisted(self, candidate: Candidate) -> bool:
        """Return whether a release is unlisted; False for a component."""
        name = candidate.package.name
        if not isinstance(candidate.chosen, Release) or name not in self._tabulated:
            return False
        return not self.component_needs(candidate)


def _finals_first(releases: Iterable[Candidate]) -> list[Candidate]:
    """Return releases in the given order, but final ones before their pre-releases."""
    by_version: dict[str, list[Candidate]] = {}
    for candidate in releases:
        version = candidate.version
        final = version.base_version if version.is_prerelease else version.public
        by_version.setdefault(final, []).append(candidate)
    ordered: list[Candidate] = []
    for alike in by_version.values():
        ordered += sorted(alike, key=lambda candidate: candidate.version.is_prerelease)
    return ordered


def _components(changing: Iterable[Constraint]) -> set[str]:
    """Return the names of the components in a set of changes."""
    return {
        constraint.component for constraint in changing if isinstance(constraint, ComponentValue)
    }


def free_of(changing: Sequence[Constraint]) -> list[Constraint]:
    """Return the components of a set of changes, then the lines that get another version."""
    components: list[Constraint] = []
    lines = []
    for constraint in changing:
        match constraint:
            case ComponentValue():
                components.append(constraint)
            case StackLine(part=part) | BuildLine(part=part) if part == VERSION_PART:
                lines.append(constraint)
    return [*components, *lines]


def _position(specifiers: SpecifierSet, project: Project) -> int:
    """Return the position of the newest release that specifiers admit.

    Positions count from 0 for the newest release of the project. If they admit none, it is the
    position that such a release would have.
    """
    if mask := project.mask(specifiers):
        return next(project.positions(mask))
    highest = highest_bound(specifiers)
    return 0 if highest is None else sum(version > highest for version in project.versions)


def _days_newer(project: Project, position: int, other: int) -> int:
    """Return the days by which a release is newer than another one; negative if it is older.

    0 if an upload time is unknown, or if the older version was uploaded later.
    """
    uploaded, uploaded_other = project.uploaded(position), project.uploaded(other)
    if uploaded is None or uploaded_other is None:
        return 0
    # Positions count from 0 for the newest release.
    if position < other:
        return max((uploaded - uploaded_other).days, 0)
    return min(-(uploaded_other - uploaded).days, 0)


def open_release(clauses: Clauses, candidate: Candidate) -> None:
    """Open a release and its extras, as far as the clauses know them.

    A release that cannot be read is skipped: locking it gives the error.
    """
    for package, candidates in list(clauses.packages.items()):
        if package.base != candidate.package.base:
            continue
        for same_release in candidates:
            if same_release.chosen is candidate.chosen:
                # If it cannot be read, this shows when it is locked.
                with suppress(ResolverError):
                    clauses.open(same_release)
