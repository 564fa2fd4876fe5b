"""What the solver and the complete engine find, as brute force judges it."""

from __future__ import annotations

from resolver.index.protocol import Catalog
from resolver.model.problem import Problem
from resolver.model.resolution import Resolution
from resolver.resolve.complete import CompleteEngine, Unsatisfiable
from resolver.resolve.gather import gather
from resolver.resolve.universe import Universe


def complete(problem: Problem, catalog: Catalog) -> Resolution | None:
    """Return what the complete engine finds by itself; None if there is no solution."""
    universe = Universe(problem, catalog)
    engine = CompleteEngine(universe)
    try:
        return gather(universe, engine.solve())
    except Unsatisfiable:
        return None
    finally:
        engine.clauses.close()


def pins(resolution: Resolution) -> dict[str, str]:
    return {pin.name: str(pin.version) for pin in resolution.pins}


def extras(resolution: Resolution) -> dict[str, set[str]]:
    return {pin.name: set(pin.extras) for pin in resolution.pins}
