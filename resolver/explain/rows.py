"""Change the releases of several projects together, as compatibility tables list them.

A row of such a table says which releases of torch-npu, vllm-ascend and similar projects go
together, and with which CANN. In this program, tables are facts of the kind `requires`. A stack
with one release from another row needs all of them changed. A search that changes one more line at
a time would find that last. So one project that the tables pair with a component is the anchor: its
releases are taken in turn, nearest to its line first, and the releases of the other projects follow
from it. `repairs` locks the rows that are found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace
from packaging.version import Version

from resolver.errors import ResolverError
from resolver.explain.alternatives import open_release
from resolver.explain.changed_stack import ChangedStack
from resolver.explain.changes import Changes
from resolver.explain.companions import Companions
from resolver.explain.paired_lines import (
    anchor_of,
    decisions,
    family_of,
    named_projects,
    need_of,
    pinned_versions,
    with_version,
    without_versions,
)
from resolver.explain.proposals import Proposals
from resolver.explain.trials import SHARE_OF_FIRST_ROW, SHARE_OF_ROW, Trials, Undecided
from resolver.model import text
from resolver.model.component import Value, are_of_one_line
from resolver.model.constraint import (
    VERSION_PART,
    BuildLine,
    ComponentValue,
    Constraint,
    Exclusive,
    StackLine,
    Unavailable,
)
from resolver.model.dependency import Candidate
from resolver.model.edit import Edits, SetLine
from resolver.model.fact import Absent, Requires
from resolver.model.package import Package, PackageKind
from resolver.model.problem import RootRequirement
from resolver.model.release import RejectionReason, Release
from resolver.model.requirement import Requirement
from resolver.model.resolution import Resolution
from resolver.resolve.candidates import pins
from resolver.resolve.clauses import Clauses
from resolver.resolve.refutation import Refutation

# For so many archives without static metadata, a row gets a fact.
_ARCHIVES = 3
# How many rows are solved. Most others are ruled out by the clauses at once.
_SOLVED = 12
# After so many refuted rows, it is asked whether there can be another one.
_REFUTED = 2
# How many rows are solved with other lines changed, and how often such lines are loosened for one.
_WITH_OTHER_LINES = 2
_LOOSENED = 6
# How many steps pins are followed from a release of the anchor.
_DEPTH = 2
# The component that decides which files of a release can be used. No table has another one.
_PYTHON = "python"
# No further change.
_NOTHING = ChangedStack((), 0, risky=False)


class _Row(NamedTuple):
    """A row of the compatibility tables that the clauses do not rule out."""

    # The edit that sets the anchor's line to the release.
    anchor: SetLine
    # The change of a component such as CANN; no change if the row is for the target's own value.
    also: ChangedStack
    # The edits of lines that lose more than their versions, see `companions`.
    companions: tuple[SetLine, ...]


class SolvedRow(NamedTuple):
    """A row of the compatibility tables for which the stack has a solution."""

    # The stack with the releases of the row.
    changed: ChangedStack
    # The solution. It is without builds, and may have other releases than the lock will.
    solution: Resolution

    @property
    def practices(self) -> frozenset[str]:
        """Return the ids of the practices that the solution uses."""
        return frozenset(practice.id for practice in self.solution.used_practices)


class Rows:
    """The rows of compatibility tables that can be tried for one problem."""

    def __init__(
        self, clauses: Clauses, trials: Trials, changes: Changes, proposals: Proposals
    ) -> None:
        self._clauses = clauses
        self._trials = trials
        self._changes = changes
        self._proposals = proposals
        graph = decisions(clauses, trials.problem)
        family = family_of(graph, trials.problem)
        # The lines that get the releases of a row.
        self._lines = [root for root in family if str(need_of(root).specifier)]
        self._unbound = [SetLine(root.number, without_versions(root)) for root in self._lines]
        self._companions = Companions(family, clauses, changes)
        self._roots = {root.number: root for root in family}
        self._anchor = anchor_of(family, graph, trials.problem)
        self._preferred = pinned_versions(trials.problem)
        self._named = named_projects(trials.problem)
        # One variable for each row that was refuted, by the row's edits of companions. If it is
        # assumed true, policies rule out here what they ruled out there.
        self._excludes: dict[tuple[SetLine, ...], list[int]] = {}
        # The refutation of the stack with any release of the anchor; None if there is none, or if
        # no row was refuted so far.
        self._shared: Refutation | None = None
        # Whether the clauses admitted a row.
        self._was_possible = False

    def concerns(self, core: Sequence[Constraint]) -> bool:
        """Return whether a core has a line that gets a release of a row."""
        lines = {root.origin for root in self._lines}
        return any(
            isinstance(constraint, (StackLine, BuildLine)) and constraint.whole in lines
            for constraint in core
        )

    def solved(self) -> Iterator[SolvedRow]:
        """Yield each row for which the stack has a solution, the nearest to the stack first.

        Rows for the target's own components come before those for another CANN, unless that is of
        the same release line and the anchor's line pins a release. If a row is not
        decided in time, no further row is tried, as others may take as long. After a few rows that
        were refuted, the stack is solved with any release of the anchor: what refutes that refutes
        all rows, apart from those that change a component which it rests on.
        """
        refuted = 0
        share = SHARE_OF_FIRST_ROW
        for row in islice(self._possible_rows(), _SOLVED):
            self._was_possible = True
            if self._is_late():
                return
            solved = self._solved(row, share)
            share = SHARE_OF_ROW
            if isinstance(solved, SolvedRow):
                yield solved
                continue
            if isinstance(solved, Undecided):
                return
            refuted += 1
            if refuted == _REFUTED:
                self._shared = self._shared_refutation()

    def solved_with_other_lines(self) -> Iterator[SolvedRow]:
        """Yield each row for the target's machine that has a solution if other lines change, too.

        These are lines that no table is about, such as the many pins of a freeze, and only those
        that are part of what refutes the row. The row that is nearest to the stack comes first.
        """
        anchor = self._anchor
        if anchor is None:
            return
        refuting_all: list[RootRequirement] = []
        if self._shared is not None:
            refuting_all = self._bound_lines(self._shared, self._roots)
            if not refuting_all:
                return
        lines = self._trials.problem.stack.requirements
        versions = {replace(root.origin, part=VERSION_PART) for root in lines}
        tried = 0
        for release in self._listed_releases(anchor):
            if tried == _WITH_OTHER_LINES or self._is_late():
                return
            companions = self._companions_of(release)
            if self._is_possible([release], versions, companions):
                tried += 1
                row = _Row(self._pinned_to(anchor, release), _NOTHING, companions)
                solved = self._solved(row, SHARE_OF_ROW, refuting_all, loosened=_LOOSENED)
                if isinstance(solved, SolvedRow):
                    yield solved

    def _is_late(self) -> bool:
        """Return whether time is up, or the time for rows is."""
        if self._trials.time_for_rows.is_spent:
            self._trials.clock.limited = True
            return True
        return self._trials.clock.expired()

    # --- what all rows share

    def other_pythons(self) -> Iterator[ChangedStack]:
        """Yield the stack for other Pythons, nearest first, if Python is why no row can be had.

        These are the Pythons on which the refutation of all rows depends. If no row was possible at
        all, they are those that the facts about the first release of the anchor admit which would
        be possible with another Python.
        """
        if self._shared is not None:
            yield from self._proposals_for((), self._shared).other_pythons(self._shared.core)
        elif not self._was_possible and self._anchor is not None:
            for release in self._listed_releases(self._anchor):
                self._follow(release, _DEPTH)
                pythons = self._pythons_for(release)
                if pythons:
                    yield from pythons
                    return

    def _pythons_for(self, release: Candidate) -> list[ChangedStack]:
        """Return the stack for each other Python that a release of the anchor goes with.

        The components that may change with the release have any value.
        """
        problem = self._trials.problem
        package = Package(_PYTHON, "", PackageKind.COMPONENT)
        self._clauses.add_package(package)
        names = [_PYTHON, *self._toolkits(release)]
        relaxed = {problem.component_value(name) for name in names}
        companions = self._companions_of(release)
        # The first candidate is the value that the target has.
        return [
            self._proposals.component(_PYTHON, str(value.chosen))
            for value in self._clauses.packages[package][1:]
            if self._is_possible([release, value], relaxed, companions)
        ]

    def _shared_refutation(self) -> Refutation | None:
        """Return why the stack has no solution with any release of the anchor; None if it may have.

        A refutation that rests on a line which a row may change further is none of all rows, and
        neither is one for want of a fact about an archive.
        """
        answer = self._trials.solve_near(tuple(self._unbound), self._preferred)
        if not isinstance(answer, Refutation):
            return None
        may_change = {
            line.text for line in self._unbound if line.number in self._companions.numbers
        }
        for constraint in answer.core:
            if isinstance(constraint, StackLine) and constraint.text in may_change:
                return None
            if self._may_end(constraint):
                return None
        self._clauses.learn_from(answer.clauses)
        return answer

    def _is_refuted(self, component: str = "") -> bool:
        """Return whether all rows are refuted, or those that change the value of a component."""
        if self._shared is None:
            return False
        return not any(
            isinstance(constraint, ComponentValue) and constraint.component == component
            for constraint in self._shared.core
        )

    # --- releases of the anchor

    def _possible_rows(self) -> Iterator[_Row]:
        """Yield the rows that the clauses do not rule out at the time when they are asked for."""
        anchor = self._anchor
        if anchor is None:
            return
        releases = self._listed_releases(anchor)
        near: set[Candidate] = set()
        # Without a pin there is no release that is near to the line.
        is_pinned = need_of(anchor).name in self._preferred
        for release in releases:
            if self._is_refuted():
                break
            self._follow(release, _DEPTH)
            companions = self._companions_of(release)
            if self._is_possible([release], {}, companions):
                yield _Row(self._pinned_to(anchor, release), _NOTHING, companions)
            elif is_pinned:
                for row in self._rows_with_other(anchor, release, is_near=True):
                    near.add(release)
                    yield row
        for release in releases:
            if release not in near:
                self._follow(release, _DEPTH)
                yield from self._rows_with_other(anchor, release)

    def _rows_with_other(
        self, anchor: RootRequirement, release: Candidate, *, is_near: bool = False
    ) -> Iterator[_Row]:
        """Yield the row of a release with another value of each component that may change with it.

        `is_near` is as in `_row_with_other`.
        """
        for name in self._toolkits(release):
            if not self._is_refuted(name):
                row = self._row_with_other(anchor, release, name, is_near=is_near)
                if row is not None:
                    yield row

    def _listed_releases(self, anchor: RootRequirement) -> list[Candidate]:
        """Return the releases of the anchor that its tables list, in the order of their rows.

        The nearest to its line comes first. If the line pins none, the releases come first whose
        facts agree with most of the versions that other lines pin, and of several the one whose
        facts name the nearest versions.
        """
        need = need_of(anchor)
        releases = self._changes.alternatives.listed_releases(need)
        if need.name in self._preferred:
            return releases
        project = self._clauses.universe.project(need.name)

        def disagreement(release: Candidate) -> tuple[int, int]:
            about = project.facts_about(release.release.position, Requires)
            steps: list[int] = []
            for fact in about:
                for needed in fact.needs:
                    if isinstance(needed, Requirement) and needed.name in self._preferred:
                        pinned = self._preferred[needed.name]
                        if not needed.specifier.contains(pinned, prereleases=True):
                            steps.append(self._steps_between(needed, pinned))
            return len(steps), sum(steps)

        return sorted(releases, key=disagreement)

    def _steps_between(self, needed: Requirement, pinned: Version) -> int:
        """Return how many releases are between a pinned version and the one that a need pins.

        All releases of the project, if the need pins none, or if an index has not both.
        """
        ordered = self._clauses.universe.project(needed.name).ordered
        wanted = text.pinned_version(needed.specifier)
        position = ordered.position(pinned)
        other = None if wanted is None else ordered.position(wanted)
        if position is None or other is None:
            return len(ordered.versions)
        return abs(position - other)

    def _companions_of(
        self, release: Candidate, values: Mapping[str, Value] | None = None
    ) -> tuple[SetLine, ...]:
        """Return the edits of companions' lines for a release of the anchor.

        The row is for the target's machine with other `values` of components.
        """
        machine = {**self._trials.problem.target.system, **(values or {})}
        return tuple(self._companions.edits(release, machine))

    def _row_with_other(
        self, anchor: RootRequirement, release: Candidate, name: str, *, is_near: bool = False
    ) -> _Row | None:
        """Return the row of a release with the nearest other value of a component.

        Values with the smallest surcharge for the release come first. With `is_near`, only values
        of the release line that the target has are considered. None if no value goes with it.
        """
        package = Package(name, "", PackageKind.COMPONENT)
        self._clauses.add_package(package)
        current = self._trials.problem.component_value(name)
        doubt = self._changes.alternatives.doubt
        # The first candidate is the value that the target has.
        present, *values = self._clauses.packages[package]
        if is_near:
            values = [value for value in values if _are_near(value, present)]
        line = anchor.origin
        for value in sorted(values, key=lambda value: doubt({line: release, current: value})):
            chosen = value.chosen
            assert not isinstance(chosen, Release)  # noqa: S101  a component has values
            companions = self._companions_of(release, {name: chosen})
            if self._is_possible([release, value], {current}, companions):
                toolkit = self._proposals.component(name, str(chosen))
                return _Row(self._pinned_to(anchor, release), toolkit, companions)
        return None

    def _is_possible(
        self,
        chosen: Sequence[Candidate],
        relaxed: Collection[Constraint],
        companions: tuple[SetLine, ...],
    ) -> bool:
        """Return whether the clauses admit the chosen release of the anchor and what it pins.

        The first of `chosen` is that release; a value of a component may follow. The versions of
        the lines that a row sets are ignored, and so are lines that `companions` drop, `relaxed`
        constraints, and constraints that a row may end.
        """
        dropped = [self._roots[edit.number].origin for edit in companions if not edit.text]
        changing = [root.origin for root in self._lines] + dropped
        versions = [replace(line, part=VERSION_PART) for line in changing]
        undecided = [constraint for constraint in self._clauses.known if self._may_end(constraint)]
        assumed = [*self._excludes.get(companions, ()), *map(self._clauses.variable, chosen)]
        with self._clauses.without([*versions, *dropped, *undecided, *relaxed], reading=False):
            return self._clauses.satisfiable(assumed)

    def _may_end(self, constraint: Constraint) -> bool:
        """Return whether a constraint may not hold in the stack that has a row.

        An archive without static metadata may get a fact. An `absent` fact excludes a project, and
        is in force instead if it is about all releases that a line admits in the row.
        """
        match constraint:
            case Unavailable(why=RejectionReason.DYNAMIC):
                return True
            case Exclusive(fact=Absent(package=package)):
                return any(need_of(root).name == package for root in self._lines)
            case _:
                return False

    def _follow(self, release: Candidate, depth: int) -> None:
        """Open a release and, up to `depth` steps away, the releases that it pins."""
        open_release(self._clauses, release)
        universe = self._clauses.universe
        if depth == 0 or not universe.opened(release):
            return
        for edge in universe.edges(release):
            if edge.package.kind is PackageKind.PROJECT and pins(edge.allows):
                with suppress(ResolverError):
                    self._clauses.add_package(edge.package.base)
                    for pinned in universe.candidates(edge.package.base, universe.demand(edge)):
                        self._follow(pinned, depth - 1)

    def _toolkits(self, release: Candidate) -> list[str]:
        """Return the components of the target that may get another value with a release.

        Facts about the release require them, and their values come in release lines
        (`Component.by_line`). So they are components such as CANN, which users install themselves:
        no driver and no chip.
        """
        target = self._trials.problem.target
        about = self._changes.alternatives.component_needs(release)
        names = dict.fromkeys(need.component for need in about)
        return [name for name in names if target.components[name].by_line and name in target.system]

    def _pinned_to(self, anchor: RootRequirement, release: Candidate) -> SetLine:
        """Return the edit that pins the anchor's line to a release."""
        return SetLine(anchor.number, with_version(anchor, release.version))

    # --- what goes with one

    def _solved(
        self,
        row: _Row,
        share: float,
        free: Sequence[RootRequirement] = (),
        *,
        loosened: int = 0,
    ) -> SolvedRow | Undecided | None:
        """Solve the stack with a row, and return the row with all that changes.

        None if there is no solution, Undecided if time is up or an index failed. One attempt takes
        at most this `share` of the whole time. If archives without static metadata are in the way,
        each gets a fact with what it notes. If other lines are, they may get another release, as
        those in `free` may from the beginning: that is tried at most `loosened` times. What a
        refutation has read is added to the clauses.
        """
        also = row.also
        lines = {line.number: line for line in (*self._unbound, *row.companions, row.anchor)}
        roots = dict(self._roots)
        further = list(free)
        archives = _ARCHIVES
        for _ in range(_ARCHIVES + loosened + 1):
            for root in further:
                roots[root.number] = root
                lines[root.number] = SetLine(root.number, without_versions(root))
            edits = (*lines.values(), *also.edits)
            answer = self._trials.solve_near(edits, self._preferred, share)
            if isinstance(answer, Resolution):
                return SolvedRow(self._row(answer, roots, row.companions).then(also), answer)
            if isinstance(answer, Undecided):
                return answer
            facts = self._facts_for_archives(edits, answer) if archives else []
            further = self._bound_lines(answer, roots) if loosened and not facts else []
            if not facts and not further:
                excludes = self._clauses.learn_from(answer.clauses)
                self._excludes.setdefault(row.companions, []).append(excludes)
                return None
            if facts:
                archives -= 1
            for stack in facts:
                also = also.then(stack)
        return None

    def _bound_lines(self, refutation: Refutation, free: Collection[int]) -> list[RootRequirement]:
        """Return the lines in the core of a refutation that bound a project's versions.

        Lines whose numbers are in `free` are left out.
        """
        refuting = {each.whole for each in refutation.core if isinstance(each, StackLine)}
        return [
            root
            for root in self._trials.problem.stack.requirements
            if root.origin in refuting
            and root.number not in free
            and isinstance(root.need, Requirement)
            and str(root.need.specifier)
        ]

    def _facts_for_archives(self, edits: Edits, refutation: Refutation) -> list[ChangedStack]:
        """Return the changed stacks that add facts about archives in the core of a refutation.

        Archives of projects that a line names are left out: for them the row has the release.
        """
        proposals = self._proposals_for(edits, refutation)
        return [
            stack
            for stack in proposals.facts_for_archives(refutation.core)
            if stack.changes[0].subject not in self._named
        ]

    def _proposals_for(self, edits: Edits, refutation: Refutation) -> Proposals:
        """Return the proposals for a refuted stack that has these edits."""
        clauses = refutation.clauses
        trials = self._trials.after_further(edits, clauses.universe)
        return Proposals(clauses, trials, Changes(clauses, trials))

    def _row(
        self,
        solution: Resolution,
        roots: Mapping[int, RootRequirement],
        companions: Sequence[SetLine],
    ) -> ChangedStack:
        """Return the stack with the releases that a solution has for the lines that a row sets.

        `roots` are these lines, by number. Lines that `companions` drop are dropped.
        """
        choice: dict[Constraint, Candidate] = {}
        dropped = {edit.number for edit in companions if not edit.text}
        pinned = {edit.number for edit in companions if edit.text}
        for number, root in roots.items():
            need = need_of(root)
            pin = solution.pin(need.name)
            if pin is None or number in dropped:
                continue
            if number in pinned or not need.specifier.contains(pin.version, prereleases=True):
                versions = replace(root.origin, part=VERSION_PART)
                choice[versions] = Candidate(Package(need.name), pin.release)
        lines = [self._roots[number].origin for number in dropped]
        changed = self._changes.apply([*choice, *lines], choice)
        without_final = {need_of(self._roots[number]).name for number in pinned}
        changes = [
            replace(change, has_no_final=change.subject in without_final)
            for change in changed.changes
        ]
        return replace(changed, changes=tuple(changes))


def _are_near(first: Candidate, second: Candidate) -> bool:
    """Return whether two values of a component are of one release line."""
    value, other = first.chosen, second.chosen
    if isinstance(value, Release) or isinstance(other, Release):
        return False
    return are_of_one_line(value, other)
