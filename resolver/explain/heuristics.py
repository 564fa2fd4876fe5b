"""Try changed stacks that what is known about projects suggests, without a look at sets of changes.

`fix_search` calls these functions before and after the search over sets of changes. Each is given
the repairs of the refuted stack that it changes. Fixes are found in the repairs' results.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import islice

from msgspec.structs import replace

from resolver.explain import costs
from resolver.explain.candidate_fixes import Refuted
from resolver.explain.changed_stack import ChangedStack
from resolver.explain.changes import Changes
from resolver.explain.loosening import Loosening
from resolver.explain.repairs import EACH, Repairs
from resolver.explain.rows import Rows, SolvedRow
from resolver.explain.shipped import ShippedStacks, lacking_projects
from resolver.model.change import ComponentChanged, PracticesOn, VersionChanged
from resolver.model.constraint import ComponentValue, Constraint, Line
from resolver.model.resolution import Resolution
from resolver.resolve.refutation import Refutation

# At least this many lines that are impossible by themselves are dropped together.
SEVERAL = 2


def try_practices(repairs: Repairs) -> None:
    """Solve the stack with every practice that is about a project which the stack may need.

    A practice is a fact that a stack can turn on, see docs/concepts.md.
    """
    for changed in repairs.proposals.enabled_practices():
        # A failed attempt with practices would tell the reader nothing.
        repairs.propose(repairs.before.then(changed), is_reported=False)


def with_known_commits(repairs: Repairs) -> Repairs | None:
    """Return the repairs of the stack in which lines name no commit that could not be read.

    The result is `repairs` if no line does, or if the changed stack is not decided. None if the
    changed stack has a solution: then it is a fix.
    """
    shipped = ShippedStacks(repairs.trials, repairs.changes, repairs.proposals)
    changed = shipped.readable()
    if changed is None:
        return repairs
    answer = repairs.solve(changed)
    repairs.results.add_attempt(changed, answer)
    if not isinstance(answer, Refutation):
        return None if isinstance(answer, Resolution) else repairs
    readable = repairs.repairs_of(Refuted(changed, answer, repairs.trials))
    repairs.queue.append(readable)
    return readable


def try_rows(repairs: Repairs) -> list[ChangedStack]:
    """Solve the stack with releases that compatibility tables list together, until one is a fix.

    Does nothing if no core is about a line of these projects. See `rows`. If none is a fix because
    no row can be had with the target's Python, return the stack for other Pythons, nearest first.
    """
    clauses = repairs.learned_clauses()
    rows = Rows(clauses, repairs.trials, repairs.changes, repairs.proposals)
    if not any(map(rows.concerns, repairs.cores)):
        return []
    known = len(repairs.results.fixes)
    with repairs.trials.time_for_rows.spending():
        _try_solved_rows(repairs, rows.solved())
        found = repairs.results.fixes[known:]
        if all(_changes_component(fix) for fix, _ in found):
            _try_solved_rows(repairs, rows.solved_with_other_lines())
    return list(rows.other_pythons())


def _changes_component(fix: ChangedStack) -> bool:
    """Return whether a fix changes a component of the target, such as its CANN."""
    return any(isinstance(change, ComponentChanged) for change in fix.changes)


def _try_solved_rows(repairs: Repairs, solved: Iterable[SolvedRow]) -> None:
    """Solve the stack with each row that has a solution, until one is a fix."""
    known = len(repairs.results.fixes)
    for row in solved:
        changed = repairs.before.then(row.changed)
        unused = [
            change
            for change in changed.changes
            if isinstance(change, PracticesOn) and row.practices.isdisjoint(change.names)
        ]
        # First with only the practices that the row needs. The solution may have other releases
        # than the row, for which more practices are needed.
        for stack in (changed.without(unused), changed):
            fewest = _with_fewest_lines(repairs, stack, row.solution)
            repairs.propose(fewest, row.solution)
            if len(repairs.results.fixes) > known:
                return


def _with_fewest_lines(repairs: Repairs, changed: ChangedStack, near: Resolution) -> ChangedStack:
    """Return a changed stack without those new versions of lines that its solution does not need.

    `near` is a solution of the changed stack: its releases are preferred.
    """
    for change in changed.changes:
        if isinstance(change, VersionChanged):
            fewer = changed.without([change])
            if not fewer.changes:
                continue
            if isinstance(repairs.trials.solve(fewer.edits, near), Resolution):
                changed = replace(fewer, price=fewer.price - costs.VERSION)
    return changed


def try_shipped(repairs: Repairs, constraints: Sequence[Constraint]) -> None:
    """Solve the stack with lines of shipped stacks, until one drops nothing that the stack names.

    A shipped stack may have a commit for a project that no index has. If all that a shipped stack
    suggests is refuted, the changed stack that took most from it gets other versions of what
    clashes with that.
    """
    shipped = ShippedStacks(repairs.trials, repairs.changes, repairs.proposals)
    kept = lacking_projects(constraints, repairs.trials.problem)
    for suggested in shipped.stacks(constraints):
        known = len(repairs.results.fixes)
        last = _first_fix(repairs, suggested)
        if last is not None and not repairs.trials.clock.expired():
            _propose_loosened(repairs, *last, kept=kept)
        found = repairs.results.fixes[known:]
        if any(not fix.dropped for fix, _ in found):
            return


def _first_fix(
    repairs: Repairs, suggested: Iterable[ChangedStack]
) -> tuple[ChangedStack, Refutation] | None:
    """Solve changed stacks until one is a fix.

    One is enough: those that come later change more. If none is a fix, return the last one that was
    refuted, with its refutation; None if none was.
    """
    known = len(repairs.results.fixes)
    last: tuple[ChangedStack, Refutation] | None = None
    for changed in suggested:
        answer = repairs.solve(changed)
        repairs.results.add_attempt(changed, answer)
        if len(repairs.results.fixes) > known:
            return None
        if isinstance(answer, Refutation):
            repairs.repair_later(Refuted(changed, answer, repairs.trials))
            last = changed, answer
    return last


def _propose_loosened(
    repairs: Repairs, changed: ChangedStack, refutation: Refutation, *, kept: Collection[str]
) -> None:
    """Propose a refuted changed stack with other versions of the lines in its conflicts.

    `repairs` solves it, and keeps it if it is a fix. Lines about the projects in `kept` stay as
    they are. Changes of components that are not needed then are undone. Nothing is proposed if the
    search for versions finds none.
    """
    clauses = refutation.clauses
    trials = repairs.trials.after(changed.edits, clauses.universe)
    changes = Changes(clauses, trials)
    loosened = Loosening(clauses, trials, changes, kept=kept).changed_stack()
    if loosened is None:
        return
    changed = changed.then(loosened)
    for change in changed.changes:
        if isinstance(change, ComponentChanged):
            fewer = changed.without([change])
            if isinstance(repairs.trials.solve(fewer.edits), Resolution):
                changed = replace(fewer, price=fewer.price - costs.saved_price(change))
    repairs.propose(changed)


def try_dropping_together(repairs: Repairs) -> None:
    """Drop all lines that are impossible by themselves, if there are several; solve the rest.

    As long as the rest is refuted, the last remaining line of its core is dropped as well.
    """
    changes = repairs.changes
    dropping: dict[Line, None] = {}
    for core in repairs.cores:
        lines = changes.lines_of(core)
        if len(lines) == 1 and not any(isinstance(each, ComponentValue) for each in core):
            dropping[lines[0]] = None
    if len(dropping) < SEVERAL:
        return
    while changes.keeps_a_line(list(dropping)):
        changed = changes.apply(list(dropping), {})
        answer = repairs.solve(changed)
        repairs.results.add_attempt(changed, answer)
        if not isinstance(answer, Refutation):
            return
        others = [line for line in changes.lines_of(answer.core) if line not in dropping]
        if not others:
            return
        dropping[others[-1]] = None


def is_about_python(repairs: Repairs, core: Sequence[Constraint]) -> bool:
    """Return whether a core says that one line of the stack needs another Python."""
    lines = repairs.changes.lines_of(core)
    return len(lines) == 1 and any(repairs.proposals.other_pythons(core))


def try_pythons(repairs: Repairs, pythons: Iterable[ChangedStack]) -> None:
    """Solve the stack for other Pythons, in this order, until one is a fix.

    All practices are turned on for it; those that are not needed are turned off again. If none is a
    fix, other versions of lines are looked for with the first Python that is no part of its
    conflict.
    """
    known = len(repairs.results.fixes)
    practices = next(repairs.proposals.enabled_practices(), None)
    suitable: Repairs | None = None
    for changed in islice(pythons, EACH):
        if repairs.trials.clock.expired():
            return
        stack = changed if practices is None else changed.then(practices)
        if repairs.is_known(stack):
            continue
        # A failed attempt with practices would tell the reader nothing.
        answer = repairs.solve(stack)
        if len(repairs.results.fixes) > known:
            return
        if not isinstance(answer, Refutation):
            continue
        further = repairs.repairs_of(Refuted(stack, answer, repairs.trials))
        repairs.queue.append(further)
        if suitable is None:
            (core,) = further.cores
            suitable = None if any(further.proposals.other_pythons(core)) else further
    if suitable is not None:
        try_rows(suitable)
        if len(repairs.results.fixes) == known:
            try_loosening(suitable)


def try_loosening(repairs: Repairs) -> None:
    """Solve the stack with other versions of all lines in its conflicts, see `loosening`."""
    if repairs.trials.clock.expired():
        return
    loosening = Loosening(repairs.clauses, repairs.trials, repairs.changes)
    changed = loosening.changed_stack()
    if changed is not None:
        repairs.propose(repairs.before.then(changed))


def try_dropping(repairs: Repairs, constraints: Iterable[Constraint]) -> None:
    """Solve the stack without one line, for each line among the constraints."""
    for constraint in dict.fromkeys(constraints):
        if costs.drops(constraint) and repairs.changes.keeps_a_line([constraint]):
            changed = repairs.changes.apply([constraint], {})
            repairs.propose(changed)
