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
    """The oldest other has a place beside any zone."""
    base = {str(number): [] for number in range(1, 10)}
    zone = {str(number): ["base<5"] for number in range(1, 101)}
    other = {str(number): ["base>=5"] if number > 40 else [] for number in range(1, 101)}
    catalog = DataCatalog({"other": other, "zone": zone, "base": base})
    assert found("other", "zone", catalog=catalog)[0] == {"zone": "100", "other": "40", "base": "4"}
    assert len([name for name in catalog.asked if name.startswith("zone")]) == 40


def test_a_release_from_long_ago_that_does_not_know_of_the_clash_is_no_way_around_it() -> None:
    """As of transformers, which older releases of trl want below a bound: those of 2019 need no huggingface-hub."""
    hub = {str(number): [] for number in range(1, 3)}
    data = {"5.2": ["hub>=2"], "5.1": ["hub>=2"], "5.0": ["hub>=1"]}
    former = {f"{number}": ["hub<2"] if number > 20 else [] for number in range(1, 101)}
    catalog = DataCatalog({"trainer": {"1": ["data>=1", "former<100"]}, "data": data, "former": former, "hub": hub})
    chosen, _ = found("trainer", catalog=catalog)
    assert (chosen["data"], chosen["former"], chosen["hub"]) == ("5.0", "99", "1")
    assert "former-20-py3-none-any.whl" not in catalog.asked
    few = {version: lines for version, lines in former.items() if int(version) < 40}
    catalog = DataCatalog({"trainer": {"1": ["data>=1", "former<100"]}, "data": data, "former": few, "hub": hub})
    chosen, _ = found("trainer", catalog=catalog)
    assert (chosen["data"], chosen["former"], chosen["hub"]) == ("5.2", "20", "2")


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
