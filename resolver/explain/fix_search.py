"""Search for fixes: changes after which a refuted stack locks. `explain/explain` calls it.

The search tries what is known to lock first (`heuristics`), then sets of changes, the cheapest next
(`repairs`). A changed stack that is refuted is repaired as well, in the same search.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

from resolver.explain import heuristics
from resolver.explain.changed_stack import ChangedStack
from resolver.explain.heuristics import SEVERAL
from resolver.explain.repairs import Repairs, Step
from resolver.explain.search_results import FixSearchResults
from resolver.explain.shipped import lacking_projects
from resolver.explain.trials import Trials
from resolver.model.change import Change
from resolver.model.constraint import Constraint
from resolver.resolve.clauses import Clauses

# At most this many steps are taken in one search for fixes.
_STEPS = 240


class FixSearch:
    """The search for the fixes of one refuted stack.

    First comes what is known about its projects (`try_known`), then sets of changes
    (`try_changes`). Each ends when the clock of the trials does: then `results` is incomplete, and
    `trials.clock.limited` is set. From the first fix on that contradicts nothing and drops only
    lines about projects that no index has, the clock is shortened.
    """

    def __init__(
        self,
        clauses: Clauses,
        cores: Sequence[Sequence[Constraint]],
        trials: Trials,
        report: Callable[[tuple[Change, ...]], None] = lambda _: None,
    ) -> None:
        """Begin with the contradictions of the stack, given by their cores.

        `report` is called with the changes of the first fix that contradicts no fact and no
        metadata.
        """
        self.trials = trials
        # The fixes in the order found, and the attempts that failed.
        self.results = FixSearchResults(self._report)
        self._report_first = report
        self._cores = cores
        self._constraints = list(chain.from_iterable(cores))
        self._lacking = lacking_projects(self._constraints, trials.problem)
        # The repairs of the original stack, followed by those of changed stacks.
        self._queue: list[Repairs] = []
        self._first = Repairs(clauses, cores, trials, self.results, self._queue)
        self._queue.append(self._first)

    def _report(self, changed: ChangedStack) -> None:
        """Take note of a fix that contradicts nothing."""
        if not self.results.safe:
            self._report_first(changed.reported)
        if changed.dropped <= self._lacking:
            self.trials.clock.shorten()

    def try_known(self) -> None:
        """Try the changed stacks that facts, tables and shipped stacks suggest."""
        with self.trials.clock.limiting():
            _try_what_is_known(self._first, self._queue, self._constraints)

    def try_changes(self) -> None:
        """Try sets of changes, the cheapest first. `try_known` was called before."""
        first, results = self._first, self.results
        with self.trials.clock.limiting():
            first.suggest(self._constraints)
            _take_steps(self._queue, self.trials, results)
            if not results.fixes and len(self._cores) < SEVERAL:
                heuristics.try_loosening(first)
            if not results.fixes:
                # If many lines are pinned, there are more sets of changes than can be tried.
                heuristics.try_dropping(first, self._constraints)


def _try_what_is_known(
    first: Repairs, search: Sequence[Repairs], constraints: Sequence[Constraint]
) -> None:
    """Try the changed stacks that facts, tables and shipped stacks suggest.

    `search` has the repairs of the original stack, `first`, and gets those of changed stacks.
    """
    readable = heuristics.with_known_commits(first)
    if readable is None:
        return
    heuristics.try_practices(readable)
    with_practices = list(search)
    heuristics.try_shipped(first, constraints)
    heuristics.try_dropping_together(first)
    is_about_python = any(heuristics.is_about_python(first, core) for core in first.cores)
    if is_about_python:
        # One other Python may mend several conflicts. Otherwise all that follows is tried with a
        # Python that a line of the stack cannot have.
        heuristics.try_pythons(first, first.proposals.other_pythons(constraints))
    # With practices turned on, releases nearer to the stack's lines may be enough.
    pythons: list[ChangedStack] = []
    for repairs in reversed(with_practices):
        pythons = pythons or heuristics.try_rows(repairs)
    if pythons and not is_about_python and not first.results.fixes:
        heuristics.try_pythons(first, pythons)
    if len(first.cores) >= SEVERAL and all(fix.dropped for fix, _ in first.results.fixes):
        heuristics.try_loosening(first)


def _take_steps(search: Sequence[Repairs], trials: Trials, results: FixSearchResults) -> None:
    """Take the cheapest step of all repairs next, until there are enough fixes or no more steps."""
    for _ in range(_STEPS):
        if results.is_enough() or trials.clock.expired():
            return
        steps: list[Step] = []
        for repairs in search:
            steps += repairs.next_steps()
        if not steps:
            return
        cheapest = min(steps, key=lambda step: step.price)
        cheapest.take()
