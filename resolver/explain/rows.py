"""Whole rows: releases of the projects that tables pair, changed together and nearest first.

Tables say which releases of torch-npu, vllm-ascend and the like go together, and with which CANN. A
stack with a version from another row needs all of them changed, which a search that changes one
more line at a time finds last. So the releases of one project that tables pair with a component,
the anchor, are taken in turn, and the others follow from it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.errors import ResolverError
from resolver.explain.alternatives import open_release
from resolver.explain.changes import Changes
from resolver.explain.proposals import Proposals
from resolver.explain.trial import ChangedStack, Trials, Undecided
from resolver.model import text
from resolver.model.constraint import (
    VERSION_PART,
    BuildLine,
    Constraint,
    Requires,
    StackLine,
    Unavailable,
)
from resolver.model.dependency import Candidate
from resolver.model.edit import Edits, SetLine
from resolver.model.fact import Requires as RequiresFact
from resolver.model.fact import component_requirements
from resolver.model.package import Package, PackageKind
from resolver.model.problem import Problem, RootRequirement
from resolver.model.release import RejectionReason
from resolver.model.requirement import Requirement
from resolver.model.resolution import Resolution
from resolver.resolve.candidates import names_prerelease, pins
from resolver.resolve.clauses import Clauses
from resolver.resolve.solver import Refutation

# archives without static metadata for which a row gets a fact
_ARCHIVES = 3
# rows that are solved; most others are ruled out by clauses at once
_SOLVED = 12
# pins that follow from a release of the anchor, and from these
_DEPTH = 2
_NOTHING = ChangedStack((), 0, risky=False)


class _Row(NamedTuple):
    """A row that the clauses do not rule out."""

    # the line of the anchor with the release
    anchor: SetLine
    # what else changes: the toolkit, if at all
    also: ChangedStack


class SolvedRow(NamedTuple):
    """A row that goes with the other lines of the stack."""

    changed: ChangedStack
    # what it was solved to
    solution: Resolution

    @property
    def practices(self) -> frozenset[str]:
        """Return the practices without which a part of it would not go with another."""
        return frozenset(practice.id for practice in self.solution.used_practices)


class Rows:
    """The rows on offer for one problem."""

    def __init__(
        self, clauses: Clauses, trials: Trials, changes: Changes, proposals: Proposals
    ) -> None:
        self._clauses = clauses
        self._trials = trials
        self._changes = changes
        self._proposals = proposals
        names = _family(clauses, trials.problem)
        family = [
            root
            for root in trials.problem.stack.requirements
            if isinstance(root.need, Requirement) and root.need.name in names
        ]
        # the lines whose versions a row sets
        self._lines = [root for root in family if str(need_of(root).specifier)]
        self._unbound = [SetLine(root.number, without_versions(root)) for root in self._lines]
        self._anchor = _anchor(family, trials.problem)
        self._preferred = _pinned(trials.problem)
        self._named = named_projects(trials.problem)
        # variables that, assumed, rule out what policies did where rows had no solution
        self._excludes: list[int] = []

    def concerns(self, core: Sequence[Constraint]) -> bool:
        """Return whether a line that a row sets is in a core."""
        lines = {root.origin for root in self._lines}
        return any(
            isinstance(constraint, (StackLine, BuildLine)) and constraint.whole in lines
            for constraint in core
        )

    def solved(self) -> Iterator[SolvedRow]:
        """Yield each row that goes with the other lines of the stack, the nearest first.

        Rows for the target's components come before those for another toolkit. One that is not
        decided in time is the last that is tried, as others may take as long.
        """
        for row in islice(self._possible_rows(), _SOLVED):
            if self._trials.clock.expired():
                return
            solved = self._solved(row)
            if isinstance(solved, SolvedRow):
                yield solved
            elif isinstance(solved, Undecided):
                return

    # --- releases of the anchor

    def _possible_rows(self) -> Iterator[_Row]:
        """Yield the rows that the clauses do not rule out, as far as they are known by then."""
        anchor = self._anchor
        if anchor is None:
            return
        releases = self._changes.alternatives.listed_releases(need_of(anchor))
        for release in releases:
            if self._is_possible([release], {}):
                yield _Row(self._pinned_to(anchor, release), _NOTHING)
        for release in releases:
            for name in self._toolkits(release):
                value = self._value_for(anchor.origin, release, name)
                if value is not None:
                    toolkit = self._proposals.component(name, str(value.chosen))
                    yield _Row(self._pinned_to(anchor, release), toolkit)

    def _value_for(self, anchor: Constraint, release: Candidate, name: str) -> Candidate | None:
        """Return the nearest other value of a component that goes with a release, if any does.

        Those with the fewest objections come first.
        """
        package = Package(name, "", PackageKind.COMPONENT)
        self._clauses.add_package(package)
        current = self._trials.problem.component_value(name)
        doubt = self._changes.alternatives.doubt
        # the first is the value that the target has
        values = self._clauses.packages[package][1:]
        for value in sorted(values, key=lambda value: doubt({anchor: release, current: value})):
            if self._is_possible([release, value], {current}):
                return value
        return None

    def _is_possible(self, chosen: Sequence[Candidate], relaxed: Collection[Constraint]) -> bool:
        """Return whether clauses admit a release of the anchor, with what follows from it.

        The versions of the family's lines do not count, nor do the `relaxed` constraints, nor that
        archives do not state what they need.
        """
        self._follow(chosen[0], _DEPTH)
        versions = [replace(root.origin, part=VERSION_PART) for root in self._lines]
        archives = [
            constraint
            for constraint in self._clauses.known
            if isinstance(constraint, Unavailable) and constraint.why is RejectionReason.DYNAMIC
        ]
        assumed = [*self._excludes, *map(self._clauses.variable, chosen)]
        with self._clauses.without([*versions, *archives, *relaxed], reading=False):
            return self._clauses.satisfiable(assumed)

    def _follow(self, release: Candidate, depth: int) -> None:
        """Open a release, and those that it pins."""
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
        """Return the components whose other releases tables may pair with a release.

        They are those that people install as they need them: no driver, and no other machine.
        """
        target = self._trials.problem.target
        about = self._changes.alternatives.component_needs(release)
        names = dict.fromkeys(need.component for need in about)
        return [name for name in names if target.components[name].by_line and name in target.system]

    def _pinned_to(self, anchor: RootRequirement, release: Candidate) -> SetLine:
        need = need_of(anchor)
        line = _with_marker(f"{_named(need)}=={release.version}", need)
        return SetLine(anchor.number, line)

    # --- what goes with one

    def _solved(self, row: _Row) -> SolvedRow | Undecided | None:
        """Return a row with what else changes; None if the stack has no solution with it.

        Archives in its way that note what they need get a fact each. Where there is no solution,
        what was read to prove it becomes known.
        """
        also = row.also
        for archives in range(_ARCHIVES + 1):
            unbound = [line for line in self._unbound if line.number != row.anchor.number]
            edits = (*unbound, row.anchor, *also.edits)
            answer = self._trials.nearest(edits, self._preferred)
            if isinstance(answer, Resolution):
                return SolvedRow(self._row(answer).then(also), answer)
            if isinstance(answer, Undecided):
                return answer
            facts = [] if archives == _ARCHIVES else self._facts_for_archives(edits, answer)
            if not facts:
                self._excludes.append(self._clauses.import_clauses(answer.clauses))
                return None
            for stack in facts:
                also = also.then(stack)
        return None

    def _facts_for_archives(self, edits: Edits, refutation: Refutation) -> list[ChangedStack]:
        """Return the facts about archives in the way of a row whose projects no line names."""
        clauses = refutation.clauses
        trials = self._trials.after(edits, clauses.universe)
        proposals = Proposals(clauses, trials, Changes(clauses, trials))
        return [
            stack
            for stack in proposals.facts_for_archives(refutation.core)
            if stack.changes[0].subject not in self._named
        ]

    def _row(self, solution: Resolution) -> ChangedStack:
        """Return the stack with the releases of a solution in its lines."""
        choice: dict[Constraint, Candidate] = {}
        for root in self._lines:
            need = need_of(root)
            pin = solution.pin(need.name)
            if pin is not None and not need.specifier.contains(pin.version, prereleases=True):
                versions = replace(root.origin, part=VERSION_PART)
                choice[versions] = Candidate(Package(need.name), pin.release)
        return self._changes.apply(list(choice), choice)


def need_of(root: RootRequirement) -> Requirement:
    """Return what a line about a project requires."""
    need = root.need
    assert isinstance(need, Requirement)  # noqa: S101  lines of rows are about projects
    return need


def named_projects(problem: Problem) -> set[NormalizedName]:
    """Return the projects that lines are about."""
    needs = [root.need for root in problem.stack.requirements]
    return {need.name for need in needs if isinstance(need, Requirement)}


def _anchor(family: Sequence[RootRequirement], problem: Problem) -> RootRequirement | None:
    """Return the line from whose release most of the family follows; None if there is none.

    It is about the project that is paired with a component, and whose facts name most of the
    others.
    """
    names = {need_of(root).name for root in family}
    is_paired: set[NormalizedName] = set()
    named: dict[NormalizedName, set[NormalizedName]] = {}
    for fact in problem.facts:
        if isinstance(fact, RequiresFact) and fact.package in names:
            if component_requirements(fact.needs):
                is_paired.add(fact.package)
            named.setdefault(fact.package, set()).update(names & set(fact.named_projects))
    paired = [root for root in family if need_of(root).name in is_paired]
    return max(paired, key=lambda root: len(named[need_of(root).name]), default=None)


def _family(clauses: Clauses, problem: Problem) -> set[NormalizedName]:
    """Return the projects of lines that tables pair with a component, and with each other.

    A project that pins one of them in its metadata belongs to it as well.
    """
    named = named_projects(problem)
    facts = [fact for fact in problem.facts if isinstance(fact, RequiresFact)]
    family = {fact.package for fact in facts if component_requirements(fact.needs)}
    links = {
        (fact.package, name)
        for fact in problem.facts
        for name in fact.named_projects
        if fact.package in named and name in named
    }
    for constraint in clauses.known:
        if isinstance(constraint, Requires) and constraint.is_metadata:
            need = text.requirement(constraint.text)
            if pins(need.specifier) and need.name in named:
                links.add((text.name(constraint.package.name), need.name))
    family &= named
    while True:
        linked = {second for first, second in links if first in family}
        linked |= {first for first, second in links if second in family}
        linked &= named
        if linked <= family:
            return family
        family |= linked


def _pinned(problem: Problem) -> dict[NormalizedName, Version]:
    """Return the versions that lines pin."""
    versions = {}
    for root in problem.stack.requirements:
        need = root.need
        if isinstance(need, Requirement):
            for specifier in need.specifier:
                if text.is_exact(specifier):
                    versions[need.name] = Version(specifier.version)
    return versions


def without_versions(root: RootRequirement) -> str:
    """Return a line about a project without the versions that it admits.

    If it names a pre-release, those of the project count.
    """
    need = need_of(root)
    line = _named(need)
    if names_prerelease(need.specifier):
        line = f"{line}>=0.dev0"
    return _with_marker(line, need)


def _named(need: Requirement) -> str:
    """Return the project of a requirement with its extras."""
    return f"{need.name}[{','.join(need.extras)}]" if need.extras else str(need.name)


def _with_marker(line: str, need: Requirement) -> str:
    """Return a line with the marker of a requirement, if that has one."""
    return f"{line} ; {need.marker}" if need.marker else line
