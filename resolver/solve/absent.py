"""What must not be installed, by the stack's rows and applicable facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from packaging.utils import NormalizedName

from resolver.model.fact import Absent
from resolver.model.problem import Ask, Problem
from resolver.model.requirement import Requirement
from resolver.solve.project import Project


def kept_out(problem: Problem, project: Callable[[NormalizedName], Project]) -> Mapping[NormalizedName, str]:
    """The excluded projects; the value is the fact's id, or the file:line of the stack's row.

    A fact applies if the stack itself names its project, the fact is about every release that those lines admit, and
    the stack does not require the other project. So this is known before anything is chosen. Facts that do not apply
    make the two exclude each other, as those about collisions do.
    """
    found = {row.package: row.where for row in problem.stack.absent}
    for fact in problem.facts:
        if isinstance(fact, Absent) and not problem.asked(fact.other):
            asks = problem.asked(fact.package)
            if asks and _speaks_of_all(fact, project(fact.package), asks):
                found.setdefault(fact.other, fact.id)
    return found


def _speaks_of_all(fact: Absent, project: Project, asks: Iterable[Ask]) -> bool:
    """Whether a fact is about every release that these lines admit, of which there is at least one."""
    mask = project.all
    for ask in asks:
        if isinstance(ask.need, Requirement):
            mask &= project.mask(ask.need.specifier)
    return bool(mask) and all(fact.speaks_of(project.versions[position]) for position in project.positions(mask))
