"""The complete engine on random graphs, and on those that resolvelib is known to get wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from resolver.model.resolution import Conflict, Resolution
from resolver.resolve.complete import CompleteEngine, Unsatisfiable
from resolver.resolve.gather import gather
from resolver.resolve.solver import solve
from resolver.resolve.universe import Universe
from tests.fuzz import graphs
from tests.property.bruteforce import BruteForce
from tests.property.worlds import Version, World

_CYCLIC = Path(__file__).resolve().parents[1] / "recorded" / "cyclic.json"
_KNOWN = 106
_GRAPHS = 500


@pytest.mark.parametrize("first", [0, _GRAPHS, 2 * _GRAPHS])
def test_the_complete_engine_agrees_with_brute_force(first: int) -> None:
    """`make fuzz` does the same with many more."""
    score = graphs.judge(range(first, first + _GRAPHS))
    assert score.wrong == {}
    assert min(score.solved, score.refuted) > _GRAPHS // 10


@dataclass(frozen=True)
class Scenario:
    """A graph, and whether it has a solution."""

    name: str
    world: World
    satisfiable: bool


def scenarios() -> Iterator[Scenario]:
    for name, row in json.loads(_CYCLIC.read_text(encoding="utf-8")).items():
        projects = {
            project: {version: Version(tuple(requires)) for version, requires in versions.items()}
            for project, versions in row["projects"].items()
        }
        yield Scenario(name, World(projects=projects, asks=tuple(row["asks"])), row["satisfiable"])


def complete(world: World) -> Resolution | None:
    engine = CompleteEngine(Universe(world.problem(), world.catalog()))
    try:
        return gather(engine.clauses.universe, engine.solve(), engine="complete", rounds=engine.rounds)
    except Unsatisfiable:
        return None


def test_the_graphs_that_resolvelib_gets_wrong() -> None:
    """By an invalid result, a false "impossible", or without an end; all of them have circles."""
    known = list(scenarios())
    assert len(known) == _KNOWN
    for scenario in known:
        brute = BruteForce(scenario.world)
        assert brute.satisfiable() == scenario.satisfiable, scenario.name
        answer = solve(scenario.world.problem(), scenario.world.catalog())
        assert isinstance(answer, Conflict) != scenario.satisfiable, scenario.name
        found = complete(scenario.world)
        assert (found is not None) == scenario.satisfiable, scenario.name
        for resolution in (answer, found):
            if isinstance(resolution, Resolution):
                assert brute.faults({pin.name: str(pin.version) for pin in resolution.pins}) == [], scenario.name
