"""What asking for another release of a locked project would move."""

from __future__ import annotations

from packaging.version import Version

from resolver.explain.trial import Clock
from resolver.explain.why import why
from resolver.model import text
from resolver.model.resolution import Resolution
from resolver.solve.solver import decide
from resolver.solve.universe import Universe
from tests.datacatalog import DataCatalog
from tests.problems import problem


def test_only_what_must_move_moves() -> None:
    """The lock's other pins stay, though newer releases are there."""
    catalog = DataCatalog(
        {
            "app": {"1": ["a", "b", "c"]},
            "a": {"2": ["c==2"], "1": []},
            "b": {"2": [], "1": []},
            "c": {"3": [], "2": [], "1": []},
        }
    )
    locked = {name: Version("1") for name in ("app", "a", "b", "c")}
    universe = Universe(problem("app"), catalog, locked)
    answer = decide(universe)
    assert isinstance(answer, Resolution)
    assert {str(pin.version) for pin in answer.pins} == {"1"}
    found = why(answer, universe, text.requirement("a==2"), Clock(60))
    assert found.moves == (("a", "1", "2"), ("c", "1", "2"))
