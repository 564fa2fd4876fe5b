"""What the search learns of a conflict, and what it does not ask for."""

from __future__ import annotations

from packaging.utils import NormalizedName

from resolver.catalog.protocol import Lookup
from resolver.solve.lookahead import Lookahead
from resolver.solve.provider import Provider
from resolver.solve.search import Search
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
    search = Search(Provider(universe, Lookahead(universe)))
    chosen = search.run(universe.roots())
    return {str(package): str(one.version) for package, one in chosen.items()}, search.rounds


def test_a_long_run_of_releases_costs_one_conflict() -> None:
    releases = {str(number): ["base<5"] for number in range(1, 101)}
    other = {str(number): ["base>=5"] if number > 3 else [] for number in range(1, 101)}
    catalog = DataCatalog({"other": releases, "zone": other, "base": {str(number): [] for number in range(1, 10)}})
    assert found("other", "zone", catalog=catalog) == ({"other": "100", "zone": "3", "base": "4"}, 3)
    catalog = DataCatalog({"zone": releases, "other": other, "base": {str(number): [] for number in range(1, 10)}})
    assert found("other", "zone", catalog=catalog) == ({"zone": "100", "other": "3", "base": "4"}, 5)


def test_a_run_that_is_likely_to_be_in_vain_to_the_end_is_not_read() -> None:
    """Even the oldest zone has no place beside the newest other, and the oldest other has one beside any zone."""
    base = {str(number): [] for number in range(1, 10)}
    zone = {str(number): ["base<5"] for number in range(1, 101)}
    other = {str(number): ["base>=5"] if number > 40 else [] for number in range(1, 101)}
    catalog = DataCatalog({"other": other, "zone": zone, "base": base})
    assert found("other", "zone", catalog=catalog)[0] == {"zone": "100", "other": "40", "base": "4"}
    assert len([name for name in catalog.asked if name.startswith("zone")]) == 41


def test_what_the_stack_asks_for_does_not_give_way_to_what_only_metadata_asks_for() -> None:
    """Though it costs all of the run: of what is asked for, the newest release that has a resolution is found."""
    base = {str(number): [] for number in range(1, 10)}
    zone = {str(number): ["base<5"] if number != 50 else [] for number in range(1, 101)}
    other = {str(number): ["base>=5"] if number > 40 else [] for number in range(1, 101)}
    catalog = DataCatalog({"other": other, "more": {"1": ["zone"]}, "zone": zone, "base": base})
    chosen, _ = found("other", "more", catalog=catalog)
    assert (chosen["other"], chosen["zone"]) == ("100", "50")


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
