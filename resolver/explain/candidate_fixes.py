"""Solve changed stacks that may be fixes, and keep those that are.

A changed stack is a fix if it has a solution for all targets, needs all of its changes, and loses
nothing that another fix keeps (docs/explaining.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace
from packaging.specifiers import SpecifierSet

from resolver.explain import costs
from resolver.explain.alternatives import Alternatives
from resolver.explain.changed_stack import ChangedStack, EditSet
from resolver.explain.failing_pairs import failing_pairs, newer_that_work
from resolver.explain.paired_lines import paired_projects
from resolver.explain.search_results import FixSearchResults
from resolver.explain.trials import Answer, NoLock, Trials
from resolver.lock.applied_facts import applied_facts
from resolver.model.change import PracticesOn, ShippedTaken, VersionChanged
from resolver.model.dependency import Candidate
from resolver.model.fact import Warns
from resolver.model.message import Message, message, verbatim
from resolver.model.resolution import Resolution
from resolver.resolve.refutation import Refutation
from resolver.resolve.soft_requirements import releases_for

# How many later releases are tried where they speak against the one that a line gets.
_LATER_TRIED = 3


class Refuted(NamedTuple):
    """A changed stack that a target of the stack has no solution for."""

    # The changed stack.
    changed: ChangedStack
    # Why it has no solution.
    refutation: Refutation
    # The trials for the target.
    trials: Trials


class Tried(NamedTuple):
    """What came of a changed stack that may be a fix."""

    # The answer for the target of the repairs.
    answer: Answer
    # The stack, with no more practices than it needs, if another target refutes it and a repair of
    # it contradicts no fact or metadata yet; None otherwise.
    elsewhere: Refuted | None = None


class CandidateFixes:
    """The changed stacks that the repairs of one refuted stack consider."""

    def __init__(
        self,
        trials: Trials,
        results: FixSearchResults,
        alternatives: Alternatives,
        before: ChangedStack | None,
    ) -> None:
        """Begin with no candidate. Found fixes go into `results`.

        `before` has the changes that made the refuted stack from the original one; None if it is
        the original one.
        """
        self._trials = trials
        self._results = results
        self._alternatives = alternatives
        self._before = before

    def outcome(self, changed: ChangedStack) -> bool | None:
        """Return whether a changed stack has a solution, if that is known; None if not.

        A stack that includes all changes of a fix counts as one that has.
        """
        if self._has_fix_within(changed):
            return True
        for useless in self._results.useless:
            is_within = self._before is not None and changed.includes(useless)
            if is_within and useless.dropped == changed.dropped:
                return True
        return self._results.seen.get(self._key(changed))

    def _key(self, changed: ChangedStack) -> tuple[int, EditSet]:
        return self._trials.current_target, changed.key

    def solve(self, changed: ChangedStack, near: Resolution | None = None) -> Tried:
        """Solve a changed stack, and say what came of it.

        If it has a solution for every target, and no fix makes it needless, it is added to the
        fixes. `near` is the lock of a similar stack.
        """
        results = self._results
        answer = self._trials.solve(changed.edits, near)
        results.seen[self._key(changed)] = isinstance(answer, Resolution)
        if not isinstance(answer, Resolution):
            return Tried(answer)
        changed, answer = self._without_needless(changed, answer)
        changed, answer = self._with_fewest_practices(changed, answer)
        changed, answer = self._without_objections(changed, answer)
        changed, answer = self._without_failing_pairs(changed, answer)
        if changed.idle(answer) or self._has_fix_within(changed):
            return Tried(answer)
        if results.is_lesser(changed, answer):
            return Tried(answer)
        explained = self._trials.solve_all(changed.edits)
        if isinstance(explained, NoLock):
            return Tried(answer, self._refused(changed, explained))
        changed = self._with_doubts(changed, answer)
        warning = next(_failures(changed, explained), None)
        if warning is None:
            results.add(changed, explained)
        else:
            results.add_useless(changed, warning)
        return Tried(answer)

    def _refused(self, changed: ChangedStack, failure: NoLock) -> Refuted | None:
        """Record that a changed stack does not lock for another target.

        Return it if it can be repaired for that target: it is refuted there, and contradicts no
        fact or metadata.
        """
        trials, answer = failure
        self._results.refused.add(changed.key)
        if not self._trials.target:
            self._results.add_attempt(changed, answer, trials.name)
        if changed.risky or not isinstance(answer, Refutation):
            return None
        return Refuted(changed, answer, trials)

    def _with_doubts(self, changed: ChangedStack, resolution: Resolution) -> ChangedStack:
        """Return a changed stack with the doubts about its lock.

        A doubt is a release in no table, a bound that is not met between projects of which a line
        names one, a grave warning that one of two releases fails beside the other, of which a line
        got one, or an old release. Age does not count if the changes leave the lines as they are,
        for releases of a shipped stack, and for projects that a used practice names: these are old
        on purpose. `Alternatives.years_behind` measures it by the day of the lock.
        """
        alternatives = self._alternatives
        lines = {change.subject for change in changed.changes if isinstance(change, VersionChanged)}
        unlisted = alternatives.unlisted(resolution)
        unmet = [bound for bound in resolution.unmet_bounds if alternatives.is_about_lines(bound)]
        unnamed = [name for name in unlisted if name not in lines]
        failing = [fact for fact in failing_pairs(resolution) if lines & _paired_by(fact)]
        years = dict(alternatives.years_behind(resolution))
        if _is_old_on_purpose(changed):
            years.clear()
        for practice in resolution.used_practices:
            for name in practice.named_projects:
                years.pop(name, None)
        paired = paired_projects(resolution.problem)
        return replace(
            changed,
            price=changed.price + costs.UNLISTED * len(unnamed),
            unproven=changed.unproven + len(unlisted) + len(unmet) + len(failing),
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
        fewer = changed.without(unused)
        reused = self._trials.reuse(fewer.edits, resolution)
        if reused is not None:
            changed, resolution = fewer, reused
        for practice in practices:
            if practice in unused:
                continue
            fewer = changed.without([practice])
            answer = self._trials.solve(fewer.edits, resolution)
            if isinstance(answer, Resolution):
                changed, resolution = fewer, answer
        needed = [practice for practice in practices if practice in changed.changes]
        price = changed.price + costs.FREE * (len(needed) - 1)
        return replace(changed, price=price), resolution

    def _without_objections(
        self, changed: ChangedStack, resolution: Resolution
    ) -> tuple[ChangedStack, Resolution]:
        """Return a changed stack with other releases where later ones speak against its own.

        A line may have got an old release whose metadata does not bound another project, while
        later releases do, and do not go with the locked release of that project (see
        `soft_requirements`). Then the line gets the next release that says that it does, if the
        stack locks with that.
        """
        for unmet in resolution.unmet_bounds:
            for change in changed.changes:
                is_concerned = unmet.stated_by and change.subject == unmet.project
                if not is_concerned or not isinstance(change, VersionChanged):
                    continue
                later = releases_for(self._trials.universe, unmet)
                locked = self._first_locked(changed, change, later, resolution)
                if locked is not None:
                    return locked
        return changed, resolution

    def _without_failing_pairs(
        self, changed: ChangedStack, resolution: Resolution
    ) -> tuple[ChangedStack, Resolution]:
        """Return a changed stack whose changed lines get no release that fails beside another one.

        If a grave warning says that a new release of a line fails beside another pin, the line gets
        the next newer release of which no fact says so, if the stack locks with that.
        """
        for warning in failing_pairs(resolution):
            pin = resolution.pin(warning.package)
            for change in changed.changes:
                if pin is None or change.subject != pin.name:
                    continue
                if not isinstance(change, VersionChanged):
                    continue
                extras = change.after.extras
                working = newer_that_work(self._trials.universe, pin, extras, resolution)
                locked = self._first_locked(changed, change, working, resolution)
                if locked is not None:
                    return locked
        return changed, resolution

    def _first_locked(
        self,
        changed: ChangedStack,
        change: VersionChanged,
        candidates: Iterator[Candidate],
        near: Resolution,
    ) -> tuple[ChangedStack, Resolution] | None:
        """Return `changed` with the first release for a line that locks, and its solution.

        The line is that of `change`. The first `_LATER_TRIED` candidates are tried, with the
        releases of `near` preferred. None if none of them locks.
        """
        for candidate in islice(candidates, _LATER_TRIED):
            later = self._with_release(changed, change, candidate)
            answer = self._trials.solve(later.edits, near)
            self._results.seen[self._key(later)] = isinstance(answer, Resolution)
            if isinstance(answer, Resolution):
                return later, answer
        return None

    def _with_release(
        self, changed: ChangedStack, change: VersionChanged, candidate: Candidate
    ) -> ChangedStack:
        """Return `changed` with the line of its `change` pinned to the release of `candidate`."""
        after = replace(change.after, specifier=SpecifierSet(f"=={candidate.version}"))
        distance = self._alternatives.distance_from(change.asked, candidate)
        other = replace(
            change,
            after=after,
            steps=distance.releases,
            years=distance.years,
            days=distance.days,
        )
        changes = tuple(other if each is change else each for each in changed.changes)
        return replace(changed, changes=changes)

    def _without_needless(
        self, changed: ChangedStack, resolution: Resolution
    ) -> tuple[ChangedStack, Resolution]:
        """Return a changed stack without the earlier changes that it does not need, and its lock.

        Earlier changes are the changes that the refuted stack was made with. One is needless if the
        changed stack has a solution for all targets without it. What a shipped stack has is kept
        together: it is known to work so.
        """
        if self._before is None or self._has_fix_within(changed):
            return changed, resolution
        for change in changed.changes:
            subject = change.kind, change.subject, change.target
            saved = costs.saved_price(change)
            is_shipped = isinstance(change, VersionChanged) and change.shipped
            if subject not in self._before.subjects or is_shipped or not saved:
                continue
            fewer = changed.without([change])
            if isinstance(self._trials.solve_all(fewer.edits), Resolution):
                answer = self._trials.solve(fewer.edits)
                assert isinstance(answer, Resolution)  # noqa: S101  it was solved for all targets
                changed, resolution = replace(fewer, price=fewer.price - saved), answer
        return changed, resolution

    def _has_fix_within(self, changed: ChangedStack) -> bool:
        """Return whether a changed stack includes all changes of a fix.

        Always False for changes of the original stack.
        """
        if self._before is None:
            return False
        return any(changed.includes(fix) for fix, _ in self._results.fixes)


def _failures(changed: ChangedStack, resolution: Resolution) -> Iterator[Message]:
    """Yield the warnings of a lock that something in it does not work because of the changes.

    It does not work without a dropped line, or the binaries of a release that a line did not ask
    for cannot be loaded.
    """
    for fact in costs.broken_without(changed.dropped, applied_facts(resolution)):
        yield verbatim(fact.text, fact.text_zh)
    changed_lines = {change.subject for change in changed.changes}
    for pin in resolution.unloadable_pins:
        if pin.project in changed_lines:
            package = f"{pin.project} {pin.version}"
            yield message("conflict.unloadable", package=package, why=pin.why)


def _paired_by(warning: Warns) -> set[str]:
    """Return the projects that a warning says do not go together."""
    return {warning.package, *(need.name for need in warning.together_with)}


def _is_old_on_purpose(changed: ChangedStack) -> bool:
    """Return whether old releases are those of a shipped stack, or of the lines as they are."""
    is_shipped = any(isinstance(change, ShippedTaken) for change in changed.changes)
    return is_shipped or all(map(costs.keeps_intent, changed.changes))
