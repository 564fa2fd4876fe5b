"""Whole rows: releases of the projects that tables pair, changed together and nearest first.

Tables say which releases of torch-npu, vllm-ascend and the like go together, and with which CANN. A
stack with a version from another row needs all of them changed, which a search that changes one
more line at a time finds last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.explain.changes import Changes
from resolver.explain.proposals import Proposals
from resolver.explain.trial import ChangedStack, Trials
from resolver.model import text
from resolver.model.constraint import (
    VERSION_PART,
    BuildLine,
    Constraint,
    Requires,
    StackLine,
)
from resolver.model.dependency import Candidate
from resolver.model.edit import SetLine
from resolver.model.fact import Requires as RequiresFact
from resolver.model.fact import component_requirements
from resolver.model.package import Package
from resolver.model.problem import Problem, RootRequirement
from resolver.model.requirement import Requirement
from resolver.model.resolution import Resolution
from resolver.resolve.candidates import names_prerelease, pins
from resolver.resolve.clauses import Clauses
from resolver.resolve.solver import Refutation

# archives without static metadata for which a row gets a fact
_ARCHIVES = 3
_NOTHING = ChangedStack((), 0, risky=False)


class Rows:
    """The rows on offer for one problem."""

    def __init__(
        self, clauses: Clauses, trials: Trials, changes: Changes, proposals: Proposals
    ) -> None:
        self._trials = trials
        self._changes = changes
        self._proposals = proposals
        names = _family(clauses, trials.problem)
        self._lines = [
            root
            for root in trials.problem.stack.requirements
            if isinstance(root.need, Requirement)
            and root.need.name in names
            and str(root.need.specifier)
        ]
        self._unbound = [
            SetLine(changes.number(root), _without_versions(root)) for root in self._lines
        ]
        self._preferred = _pinned(trials.problem)
        self._named = named_projects(trials.problem)

    def concerns(self, core: Sequence[Constraint]) -> bool:
        """Return whether a line that a row sets is in a core."""
        lines = {root.origin for root in self._lines}
        return any(
            isinstance(constraint, (StackLine, BuildLine)) and constraint.whole in lines
            for constraint in core
        )

    def stacks(self) -> Iterator[ChangedStack]:
        """Yield the stack with the row that is nearest to its lines.

        If none goes without practices, all of them are turned on.
        """
        yield from self._with()
        for practices in self._proposals.enabled_practices():
            yield from self._with(practices)

    def _with(self, also: ChangedStack = _NOTHING) -> Iterator[ChangedStack]:
        """Yield the stack with a row, and with what else changes.

        Archives in its way that note what they need get a fact each.
        """
        for archives in range(_ARCHIVES + 1):
            answer = self._trials.nearest((*self._unbound, *also.edits), self._preferred)
            if isinstance(answer, Resolution):
                yield self._row(answer).then(also)
            if not isinstance(answer, Refutation) or archives == _ARCHIVES:
                return
            clauses = answer.clauses
            trials = self._trials.after((*self._unbound, *also.edits), clauses.universe)
            proposals = Proposals(clauses, trials, Changes(clauses, trials))
            facts = [
                stack
                for stack in proposals.facts_for_archives(answer.core)
                if stack.changes[0].subject not in self._named
            ]
            if not facts:
                return
            for stack in facts:
                also = also.then(stack)

    def _row(self, solution: Resolution) -> ChangedStack:
        """Return the stack with the releases of a solution in its lines."""
        choice: dict[Constraint, Candidate] = {}
        for root in self._lines:
            need = root.need
            assert isinstance(need, Requirement)  # noqa: S101  these are about projects
            pin = solution.pin(need.name)
            if pin is not None and not need.specifier.contains(pin.version, prereleases=True):
                versions = replace(root.origin, part=VERSION_PART)
                choice[versions] = Candidate(Package(need.name), pin.release)
        return self._changes.apply(list(choice), choice)


def named_projects(problem: Problem) -> set[NormalizedName]:
    """Return the projects that lines are about."""
    needs = [root.need for root in problem.stack.requirements]
    return {need.name for need in needs if isinstance(need, Requirement)}


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


def _without_versions(root: RootRequirement) -> str:
    """Return a line about a project without the versions that it admits.

    If it names a pre-release, those of the project count.
    """
    need = root.need
    assert isinstance(need, Requirement)  # noqa: S101  lines of rows are about projects
    line = f"{need.name}[{','.join(need.extras)}]" if need.extras else str(need.name)
    if names_prerelease(need.specifier):
        line = f"{line}>=0.dev0"
    return f"{line} ; {need.marker}" if need.marker else line
