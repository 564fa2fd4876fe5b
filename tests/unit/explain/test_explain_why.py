"""What asking for another release of a locked project would move."""

from __future__ import annotations

from packaging.version import Version

from resolver.explain.trial import Clock
from resolver.explain.why import why
from resolver.model import text
from resolver.model.resolution import Needs, Resolution
from resolver.resolve.solver import decide
from resolver.resolve.universe import Universe
from tests.datacatalog import DataCatalog
from tests.problems import problem


def test_only_what_must_move_moves() -> None:
    """The lock's other pins stay, though newer releases are there."""
    catalog = DataCatalog().serve("app 1: a, b, c", "a 2: c==2", "a 1", "b 2 1", "c 3 2 1")
    locked = {name: Version("1") for name in ("app", "a", "b", "c")}
    universe = Universe(problem("app"), catalog, locked)
    answer = decide(universe)
    assert isinstance(answer, Resolution)
    assert {str(pin.version) for pin in answer.pins} == {"1"}
    assert why(answer, universe, text.requirement("a==2"), Clock(60)).moves == (("a", "1", "2"), ("c", "1", "2"))


def test_lines_of_one_file_about_one_project_are_one_statement() -> None:
    """opencv-python requires numpy once for each Python, and several of those lines hold for the newest."""
    lines = ["n>=1.21.2", 'n>=1.9; python_version >= "3.9"', "n!=1.23,<3", "n[x]>=1"]
    catalog = DataCatalog({"app": {"1": [*lines, "b"]}, "b": {"1": ["n>=1"]}, "n": {"2": [], "1.22": []}})
    universe = Universe(problem("app"), catalog)
    answer = decide(universe)
    assert isinstance(answer, Resolution)
    found = why(answer, universe, text.requirement("n"), Clock(60))
    needs = [(one.subject, one.needs) for one in found.asked if isinstance(one, Needs)]
    assert needs == [("app", "n!=1.23,<3,>=1.21.2"), ("app", "n[x]>=1"), ("b", "n>=1")]
