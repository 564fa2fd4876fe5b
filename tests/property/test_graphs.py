"""The complete engine on random graphs, and on those that resolvelib is known to get wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import tomli

from resolver.model.conflict import Conflict
from resolver.model.resolution import Resolution
from resolver.solve.complete import CompleteEngine, Unsatisfiable
from resolver.solve.gather import gather
from resolver.solve.solver import solve
from resolver.solve.universe import Universe
from tests.fuzz import graphs
from tests.property.bruteforce import BruteForce
from tests.property.worlds import Version, World

_CYCLIC = Path(__file__).resolve().parents[3] / "shared" / "yardstick" / "scenarios" / "cyclic"
_KNOWN = 106
_GRAPHS = 1_000


@pytest.mark.parametrize("first", [0, _GRAPHS, 2 * _GRAPHS])
def test_the_complete_engine_agrees_with_brute_force(first: int) -> None:
    """`make fuzz` does the same with many more."""
    score = graphs.judge(range(first, first + _GRAPHS))
    assert score.wrong == {}
    assert min(score.solved, score.refuted) > _GRAPHS // 10


@dataclass(frozen=True)
class Scenario:
    """A graph of the yardstick, and whether it has a solution."""

    name: str
    world: World
    satisfiable: bool


def scenarios() -> Iterator[Scenario]:
    for path in sorted(_CYCLIC.glob("*.toml")):
        raw = tomli.loads(path.read_text(encoding="utf-8"))
        projects = {
            name: {version: Version(tuple(row["requires"])) for version, row in package["versions"].items()}
            for name, package in raw["packages"].items()
        }
        world = World(projects=projects, asks=tuple(raw["root"]["requires"]))
        yield Scenario(raw["name"], world, raw["expected"]["satisfiable"])


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
