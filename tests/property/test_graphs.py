"""The complete engine on random graphs, and on those that resolvelib is known to get wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from resolver.model.resolution import Resolution
from resolver.resolve.solver import solve
from tests.fuzz import graphs
from tests.property.bruteforce import BruteForce
from tests.property.found import complete, pins
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


def test_the_graphs_that_resolvelib_gets_wrong() -> None:
    """By an invalid result, a false "impossible", or without an end; all of them have circles."""
    known = json.loads(_CYCLIC.read_text(encoding="utf-8"))
    assert len(known) == _KNOWN
    for name, row in known.items():
        projects = {
            project: {version: Version(tuple(requires)) for version, requires in versions.items()}
            for project, versions in row["projects"].items()
        }
        world = World(projects=projects, asks=tuple(row["asks"]))
        brute = BruteForce(world)
        assert brute.satisfiable() == row["satisfiable"], name
        for found in (solve(world.problem(), world.catalog()), complete(world.problem(), world.catalog())):
            assert isinstance(found, Resolution) == row["satisfiable"], name
            assert not isinstance(found, Resolution) or brute.faults(pins(found)) == [], name
