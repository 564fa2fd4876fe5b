"""Clauses near a resolution contradict each other if and only if all clauses do."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import assume, event, given
from packaging.utils import NormalizedName

from resolver.errors import ResolverError
from resolver.model.package import Package
from resolver.model.requirement import Requirement
from resolver.model.resolution import Resolution
from resolver.resolve.clauses import Clauses
from resolver.resolve.pinned_clauses import PinnedClauses
from resolver.resolve.solver import decide
from resolver.resolve.universe import Universe
from tests.datacatalog import DataCatalog
from tests.problems import problem
from tests.property.worlds import World, worlds


def _is_satisfiable(clauses: Clauses, opened: set[NormalizedName]) -> bool:
    """Open all releases of some projects, and return whether the clauses can be satisfied."""
    try:
        for name in sorted(opened):
            for candidate in list(clauses.packages.get(Package(name), ())):
                with suppress(ResolverError):
                    clauses.open(candidate)
        return bool(clauses.satisfiable([]))
    finally:
        clauses.close()


@given(worlds())
def test_pinned_clauses_are_as_strong_as_all(world: World) -> None:
    universe = Universe(world.problem(), world.catalog())
    resolution = decide(universe)
    assume(isinstance(resolution, Resolution))
    assert isinstance(resolution, Resolution)
    stack = universe.problem.stack
    named = {root.need.name for root in stack.requirements if isinstance(root.need, Requirement)}
    for pin in resolution.pins:
        if pin.name not in named:
            continue
        for operator in (">", "<"):
            line = f"{pin.name}{operator}{pin.version.public}"
            asked = universe.with_line(line, "here")
            near = _is_satisfiable(PinnedClauses(asked, resolution, named), named)
            assert near == _is_satisfiable(Clauses(asked), named)
            event(f"satisfiable: {near}")


def _catalog(other_bound: str) -> DataCatalog:
    """Return an index where a newer `app` bounds `helper`, which the stack does not name."""
    return DataCatalog(
        {
            "app": {"1": ["helper"], "2": [f"helper{other_bound}"]},
            "low": {"1": ["helper<2"]},
            "helper": {"1": [], "2": []},
        }
    )


def _near(catalog: DataCatalog) -> PinnedClauses:
    """Return the clauses of `app` and `low`, with app 2 asked for and both opened."""
    universe = Universe(problem("app<2", "low"), catalog)
    resolution = decide(universe)
    assert isinstance(resolution, Resolution)
    named = {pin.name for pin in resolution.pins} - {"helper"}
    asked = Universe(problem("app", "low"), catalog).with_line("app>1", "here")
    clauses = PinnedClauses(asked, resolution, named)
    for name in ("app", "low"):
        for candidate in list(clauses.packages[Package(name)]):
            clauses.open(candidate)
    return clauses


def test_pinned_clauses_leave_out_what_its_pin_meets() -> None:
    clauses = _near(_catalog("<3"))
    assert Package("helper") not in clauses.packages
    assert clauses.satisfiable([])


def test_pinned_clauses_add_what_its_pin_does_not_meet() -> None:
    clauses = _near(_catalog(">=2"))
    assert Package("helper") in clauses.packages
    assert not clauses.satisfiable([])
