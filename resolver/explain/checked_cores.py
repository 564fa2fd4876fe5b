"""Find the cores of a refuted stack that a report shows, each of which was checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from resolver.explain.clock import Clock
from resolver.explain.contradictions import cores
from resolver.model.constraint import Constraint
from resolver.resolve.clauses import Clauses
from resolver.resolve.solver import Refutation, faults_of_core


def found_cores(refutation: Refutation, clock: Clock) -> list[Sequence[Constraint]]:
    """Return the cores that are found in time; the core of the refutation if there are none."""
    found: list[Sequence[Constraint]] = []
    with clock.limiting():
        # Not `extend`: if time is up, the cores that were found before must stay.
        for core in checked_cores(refutation.clauses, clock):
            found.append(core)  # noqa: PERF402  an exception leaves those found before
    return found or [refutation.core]


def checked_cores(clauses: Clauses, clock: Clock) -> Iterator[Sequence[Constraint]]:
    """Yield the cores that pass the independent check of `resolve.check_refutation`.

    The core of the refutation passed it before, but a report shows other cores.
    """
    for core in cores(clauses, clock.expired):
        if not faults_of_core(clauses, core):
            yield core
