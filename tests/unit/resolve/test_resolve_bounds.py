"""Bounds on projects that nothing requires: they hold only if the project is installed anyway."""

from __future__ import annotations

from resolver.model.fact import Constrains
from resolver.resolve.independent_check import check
from tests.datacatalog import DataCatalog
from tests.problems import constrains, pins, problem, solved, told


def bound() -> Constrains:
    return constrains("arrow", ">=26", "numpy>=2")


def index() -> DataCatalog:
    return DataCatalog({"arrow": {"26": [], "25": []}, "numpy": {"2": [], "1": []}})


def test_bound_decides_between_releases() -> None:
    assert pins(problem("arrow", "numpy<2", facts=[bound()]), index()) == {
        "arrow": "25",
        "numpy": "1",
    }


def test_bound_holds_whichever_project_is_decided_first() -> None:
    taken = pins(
        problem("arrow==26", "numpy", facts=[constrains("arrow", ">=26", "numpy<2")]), index()
    )
    assert taken == {"arrow": "26", "numpy": "1"}


def test_bound_installs_nothing() -> None:
    catalog = DataCatalog({"arrow": {"26": []}})  # without a page of numpy
    assert pins(problem("arrow", facts=[bound()]), catalog) == {"arrow": "26"}


def test_bound_opens_no_release_beyond_it() -> None:
    catalog = index()
    pins(problem("arrow==26", "numpy", facts=[constrains("arrow", ">=26", "numpy<2")]), catalog)
    assert not any(name.startswith("numpy-2") for name in catalog.asked)


def test_bound_makes_no_prerelease_necessary() -> None:
    catalog = DataCatalog({"arrow": {"26": [], "25": []}, "numpy": {"2rc1": [], "1": []}})
    facts = [constrains("arrow", ">=26", "numpy>=2rc1")]
    assert pins(problem("arrow", "numpy", facts=facts), catalog) == {"arrow": "25", "numpy": "1"}


def test_bound_with_a_marker_of_another_target() -> None:
    facts = [constrains("arrow", ">=26", "numpy>=2 ; platform_machine == 'x86_64'")]
    assert pins(problem("arrow", "numpy<2", facts=facts), index()) == {"arrow": "26", "numpy": "1"}


def test_bound_is_named_by_a_conflict() -> None:
    assert told(problem("arrow==26", "numpy<2", facts=[bound()]), index()) == [
        "the stack asks for arrow==26 @ stack.toml:5",
        "the stack asks for numpy<2 @ stack.toml:6",
        "arrow 26 works only with numpy>=2 @ facts/arrow.toml:7 (vendor/table#1, vendor)",
    ]


def test_check_finds_a_pin_beyond_a_bound() -> None:
    catalog = index()
    resolution = solved(problem("arrow", "numpy<2"), catalog)
    faults = check(problem("arrow", "numpy<2", facts=[bound()]), resolution, catalog)
    assert faults == ["arrow 26 works only with numpy>=2, and 1 is pinned"]
