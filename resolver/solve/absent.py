"""Must not be installed: the stack's rows, and facts that are in force."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from packaging.utils import NormalizedName

from resolver.model.fact import Absent
from resolver.model.problem import Ask, Problem
from resolver.model.requirement import Requirement
from resolver.solve.project import Project


def kept_out(problem: Problem, project: Callable[[NormalizedName], Project]) -> Mapping[NormalizedName, str]:
    """The projects that are kept out; the value is the fact's id, or the file:line of the stack's row.

    A fact is in force where the stack itself names its project, every release that those lines admit
    is one that it speaks of, and the stack does not ask for the other. So it is known before anything is
    chosen. Facts that are not in force keep the two apart, as those about collisions do.
    """
    found = {row.package: row.where for row in problem.stack.absent}
    for fact in problem.facts:
        if isinstance(fact, Absent) and not problem.asked(fact.other):
            asks = problem.asked(fact.package)
            if asks and _speaks_of_all(fact, project(fact.package), asks):
                found.setdefault(fact.other, fact.id)
    return found


def _speaks_of_all(fact: Absent, project: Project, asks: Iterable[Ask]) -> bool:
    """Whether a fact speaks of every release that these lines admit, and they admit one."""
    mask = project.all
    for ask in asks:
        if isinstance(ask.need, Requirement):
            mask &= project.mask(ask.need.specifier)
    return bool(mask) and all(fact.speaks_of(project.versions[position]) for position in project.positions(mask))
