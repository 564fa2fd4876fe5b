"""Solve changed stacks that may be fixes, and keep those that are.

A changed stack is a fix if it has a solution for all targets, needs all of its changes, and loses
nothing that another fix keeps (docs/explaining.md).
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from resolver.explain import costs
from resolver.explain.alternatives import Alternatives
from resolver.explain.changed_stack import ChangedStack, EditSet
from resolver.explain.paired_lines import paired_projects
from resolver.explain.search_results import FixSearchResults, attempt
from resolver.explain.trials import Answer, Trials
from resolver.lock.applied_facts import applied_facts
from resolver.model.change import PracticesOn, ShippedTaken, VersionChanged
from resolver.model.explanation import Attempt
from resolver.model.resolution import Resolution


class CandidateFixes:
    """The changed stacks that the repairs of one refuted stack consider."""

    def __init__(
        self,
        trials: Trials,
        results: FixSearchResults,
        alternatives: Alternatives,
        before: ChangedStack | None,
        repair: Callable[[ChangedStack, Answer, Trials], object],
    ) -> None:
        """Begin with no candidate. Found fixes go into `results`.

        `before` has the changes that made the refuted stack from the original one; None if it is
        the original one. `repair` is called with a changed stack that has a solution for the target
        of `trials`, and none for another target: with its answer and the trials of that target.
        """
        self._trials = trials
        self._results = results
        self._alternatives = alternatives
        self._before = before
        self._repair = repair

    def outcome(self, changed: ChangedStack) -> bool | None:
        """Return whether a changed stack has a solution, if that is known; None if not.

        A stack that includes all changes of a fix counts as one that has.
        """
        if self._has_fix_within(changed):
            return True
        for useless, _ in self._results.useless.values():
            is_within = self._before is not None and changed.includes(useless)
            if is_within and useless.dropped == changed.dropped:
                return True
        return self._results.seen.get(self._key(changed))

    def _key(self, changed: ChangedStack) -> tuple[int, EditSet]:
        return self._trials.current_target, changed.key

    def solve(
        self, changed: ChangedStack, attempts: list[Attempt], near: Resolution | None = None
    ) -> Answer:
        """Solve a changed stack and return the answer.

        If it has a solution for every target, and no fix makes it needless, it is added to the
        fixes. If it has none, it is added to `attempts`. `near` is the lock of a similar stack.
        """
        results, key = self._results, self._key(changed)
        answer = self._trials.solve(changed.edits, near)
        results.seen[key] = isinstance(answer, Resolution)
        if not isinstance(answer, Resolution):
            attempts.append(attempt(changed, answer))
            return answer
        changed, answer = self._with_fewest_practices(changed, answer)
        if changed.idle(answer) or self._is_needless(changed) or results.is_lesser(changed, answer):
            return answer
        if self._has_solution_elsewhere(changed):
            explained = self._trials.explained(changed.edits)
            changed = self._with_doubts(changed, answer)
            if any(costs.broken_without(changed.dropped, applied_facts(explained))):
                results.useless[changed.key] = changed, explained
            else:
                results.add(changed, explained)
        return answer

    def _has_solution_elsewhere(self, changed: ChangedStack) -> bool:
        """Return whether a changed stack has a solution for the stack's other targets as well.

        If it has none for one of them, and contradicts no fact or metadata, it is repaired for that
        target.
        """
        failure = self._trials.elsewhere(changed.edits)
        if failure is None:
            return True
        trials, answer = failure
        self._results.refused.add(changed.key)
        if not self._trials.target:
            self._results.attempts.append(attempt(changed, answer, trials.name))
        if not changed.risky:
            self._repair(changed, answer, trials)
        return False

    def _with_doubts(self, changed: ChangedStack, resolution: Resolution) -> ChangedStack:
        """Return a changed stack with the doubts about its lock.

        These are releases in no table, soft requirements that are not met, and old releases.

        Releases from a shipped stack are old on purpose, so their age does not count. Nor do those
        of a stack whose day is earlier: see `Alternatives.years_behind`.
        """
        alternatives = self._alternatives
        lines = {change.subject for change in changed.changes if isinstance(change, VersionChanged)}
        unlisted = alternatives.unlisted(resolution)
        unmet = [*resolution.unmet_bounds, *resolution.unloadable_pins]
        unnamed = [name for name in unlisted if name not in lines]
        is_shipped = any(isinstance(change, ShippedTaken) for change in changed.changes)
        years = {} if is_shipped else alternatives.years_behind(resolution)
        paired = paired_projects(resolution.problem)
        return replace(
            changed,
            price=changed.price + costs.UNLISTED * len(unnamed),
            unproven=changed.unproven + len(unlisted) + len(unmet),
            years_older=sum(older for name, older in years.items() if name in paired),
            others_older=max((years[name] for name in years if name not in paired), default=0),
        )

    def _with_fewest_practices(
        self, changed: ChangedStack, resolution: Resolution
    ) -> tuple[ChangedStack, Resolution]:
        """Return a changed stack with no more practices than its solution needs, and that solution.

        A practice is a fact that a stack can turn on, see docs/concepts.md.
        """
        practices = [change for change in changed.changes if isinstance(change, PracticesOn)]
        if not practices:
            return changed, resolution
        used = {practice.id for practice in resolution.used_practices}
        unused = [practice for practice in practices if used.isdisjoint(practice.names)]
        for removed in (unused, *([practice] for practice in practices if practice not in unused)):
            fewer = changed.without(removed)
            answer = self._trials.solve(fewer.edits, resolution)
            if isinstance(answer, Resolution):
                changed, resolution = fewer, answer
        needed = [practice for practice in practices if practice in changed.changes]
        price = changed.price + costs.FREE * (len(needed) - 1)
        return replace(changed, price=price), resolution

    def _is_needless(self, changed: ChangedStack) -> bool:
        """Return whether a fix has some of the same changes, or one earlier change can be undone.

        Earlier changes are the changes that the refuted stack was made with. An undone change is
        one without which the changed stack has a solution for all targets.
        """
        if self._has_fix_within(changed):
            return True
        if self._before is None:
            return False
        earlier = self._before.subjects
        for change in changed.changes:
            subject = change.kind, change.subject, change.target
            if subject in earlier and costs.saved_price(change):
                undone = changed.without([change])
                if isinstance(self._trials.solve_all(undone.edits), Resolution):
                    return True
        return False

    def _has_fix_within(self, changed: ChangedStack) -> bool:
        """Return whether a changed stack includes all changes of a fix.

        Always False for changes of the original stack.
        """
        if self._before is None:
            return False
        return any(changed.includes(fix) for fix, _ in self._results.fixes)
