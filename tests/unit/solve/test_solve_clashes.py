"""What the search learns of a conflict, and what it does not ask for."""

from __future__ import annotations

from packaging.utils import NormalizedName

from resolver.catalog.protocol import Lookup
from resolver.solve.lookahead import Lookahead
from resolver.solve.solver import search
from resolver.solve.universe import Universe
from tests.datacatalog import DataCatalog
from tests.problems import problem


class Watched(DataCatalog):
    """Notes the projects that are looked up."""

    def __init__(self, releases: dict[str, dict[str, list[str]]]) -> None:
        super().__init__(releases)
        self.looked_up: list[str] = []

    def lookup(self, project: NormalizedName) -> Lookup:
        self.looked_up.append(project)
        return super().lookup(project)


def found(*asks: str, catalog: DataCatalog) -> tuple[dict[str, str], int]:
    """What the search chooses, and in how many rounds."""
    universe = Universe(problem(*asks), catalog)
    resolution = search(universe, Lookahead(universe))
    assert resolution is not None
    return {pin.name: str(pin.version) for pin in resolution.pins}, resolution.rounds


def test_a_long_run_of_releases_costs_one_conflict() -> None:
    releases = {str(number): ["base<5"] for number in range(1, 101)}
    other = {str(number): ["base>=5"] if number > 3 else [] for number in range(1, 101)}
    catalog = DataCatalog({"other": releases, "zone": other, "base": {str(number): [] for number in range(1, 10)}})
    assert found("other", "zone", catalog=catalog) == ({"other": "100", "zone": "3", "base": "4"}, 3)
    catalog = DataCatalog({"zone": releases, "other": other, "base": {str(number): [] for number in range(1, 10)}})
    assert found("other", "zone", catalog=catalog) == ({"zone": "100", "other": "3", "base": "4"}, 5)


def test_a_release_that_nobody_can_take_does_not_hide_what_was_learned() -> None:
    """It was looked at by nobody, and is outside of all that clashes: a clash must not name its project for that."""
    later = {str(number): ["p1[x]<5"] for number in range(8, 13)} | {"13": ["p4>=13"], "14": ["p4>=13"], "18": []}
    extras = {
        "p0": {"8": ["p3<7,>=4 ; extra == 'x'"]},
        "p1": {"3": ["p5[x]<1 ; extra == 'x'"], "4": ["p0[x]<9,>=6"]},
        "p2": {"16": [], "21": []},
        "p3": {"1": [], "18": ["p4[x]<19"]},
        "p4": {number: ["p5[x]>=6", "p5<16 ; extra == 'x'"] for number in ("17", "18")},
        "p5": {
            version: [f"{line} ; extra == 'x'" if line.startswith("p1") else line for line in lines]
            + (["p3>=25 ; extra == 'x'"] if version in ("13", "14") else [])
            for version, lines in later.items()
        },
    }
    rounds = []
    for is_there in (False, True):
        catalog = DataCatalog()
        for name, releases in extras.items():
            for version, lines in releases.items():
                catalog.add_wheel(name, version, lines, extras=["x"])
        if is_there:
            catalog.add_wheel("p0", "7rc1", requires_python=">=3.12")
        chosen, count = found("p2", "p3<19", catalog=catalog)
        assert (chosen["p2"], chosen["p3"]) == ("21", "1")
        rounds.append(count)
    assert rounds[0] == rounds[1] < 100


def test_ranges_that_leave_no_more_than_what_clashed_are_passed_over() -> None:
    catalog = DataCatalog(
        {
            "a": {"4": ["base>=5"], "3": ["base>=7"], "2": ["base>=6,<9"], "1": ["base>=4"]},
            "b": {str(number): ["base<5"] for number in range(1, 41)},
            "base": {str(number): [] for number in range(1, 10)},
        }
    )
    assert found("a", "b", catalog=catalog) == ({"a": "1", "b": "40", "base": "4"}, 5)


def test_learning_looks_up_no_project_that_the_search_did_not() -> None:
    """What else a release needs that clashes is never asked for, and an index may not have it."""
    catalog = Watched(
        {
            "one": {"1": ["base<5"]},
            "two": {str(number): ["base>=5", f"more{number}"] for number in range(2, 30)} | {"1": []},
            "base": {str(number): [] for number in range(1, 10)},
        }
    )
    chosen, _ = found("one", "two", catalog=catalog)
    assert chosen == {"one": "1", "two": "1", "base": "4"}
    assert sorted(set(catalog.looked_up)) == ["base", "one", "two"]


def test_releases_that_may_not_be_taken_do_not_hide_a_clash() -> None:
    """The models want an old hub, the gui a new one; the loaders want any of both, and have no part in that."""
    catalog = DataCatalog({"app": {"1": ["loader<1000", "models<5"]}, "hub": {"1": [], "2": []}})
    for number in range(1, 5):
        catalog.add_wheel("models", str(number), ["hub<2"])
    catalog.add_wheel("models", "3.5", ["hub<2"], yanked="it was broken")
    catalog.add_wheel("models", "4.5rc1", ["hub<2"])
    for number in range(1, 101):
        catalog.add_wheel("loader", str(number), ["hub>=1", "models"])
    catalog.add_wheel("gui", "2", ["hub>=2"])
    catalog.add_wheel("gui", "1", ["hub"])
    chosen, rounds = found("app", "gui", catalog=catalog)
    assert rounds < 15
    assert chosen == {"app": "1", "gui": "1", "hub": "1", "loader": "100", "models": "4"}
