"""What an extra says of a project that is there anyway is preferred, and told where it cannot be met."""

from __future__ import annotations

import pytest

from resolver.model.fact import Fact
from tests.datacatalog import DataCatalog
from tests.problems import constrains, pins, problem, requires, solved


def index(newest: str = 'torch>=2.6; extra == "torch"') -> DataCatalog:
    catalog = DataCatalog({"torch": {"2.6": [], "2.5": []}})
    catalog.add_wheel("models", "5", [newest], extras=["torch"])
    catalog.add_wheel("models", "4", ['torch>=2.2; extra == "torch"'], extras=["torch"])
    return catalog


def unmet(*lines: str, catalog: DataCatalog, facts: tuple[Fact, ...] = ()) -> list[tuple[str, str, str]]:
    resolution = solved(problem(*lines, facts=facts), catalog)
    return [(row.project, row.bound, row.other_version) for row in resolution.unmet_bounds]


def test_a_release_whose_extra_admits_the_other_project_is_taken() -> None:
    assert pins(problem("models", "torch==2.5"), index()) == {"models": "4", "torch": "2.5"}


def test_the_extra_installs_nothing() -> None:
    assert pins(problem("models"), index()) == {"models": "5"}


def test_where_no_release_fits_the_lock_is_made_and_says_so() -> None:
    assert pins(problem("models==5", "torch==2.5"), index()) == {"models": "5", "torch": "2.5"}
    assert unmet("models==5", "torch==2.5", catalog=index()) == [("models", "torch>=2.6", "2.5")]


def test_one_bound_that_cannot_be_met_keeps_no_other_from_being_met() -> None:
    catalog = index()
    catalog.add_wheel("arrays", "2", ['torch<2; extra == "torch"'], extras=["torch"])
    lines = ("models", "arrays", "torch==2.5")
    assert pins(problem(*lines), catalog) == {"arrays": "2", "models": "4", "torch": "2.5"}
    assert unmet(*lines, catalog=catalog) == [("arrays", "torch<2", "2.5")]


def test_a_marker_of_another_target_makes_no_bound() -> None:
    catalog = index('torch>=2.6; extra == "torch" and platform_machine == "x86_64"')
    assert pins(problem("models", "torch==2.5"), catalog) == {"models": "5", "torch": "2.5"}


def test_an_extra_of_another_name_makes_no_bound() -> None:
    catalog = DataCatalog({"torch": {"2.6": [], "2.5": []}})
    catalog.add_wheel("models", "5", ['torch>=2.6; extra == "all"'], extras=["all"])
    assert unmet("models", "torch==2.5", catalog=catalog) == []


@pytest.mark.parametrize("fact", [constrains("models", "", "torch>=2.1"), requires("torch", "", "models")])
def test_a_fact_that_speaks_of_both_goes_before_it(fact: Fact) -> None:
    catalog = index()
    assert pins(problem("models", "torch==2.5", facts=[fact]), catalog) == {"models": "5", "torch": "2.5"}
    assert unmet("models", "torch==2.5", catalog=catalog, facts=(fact,)) == []


def test_locking_again_gives_the_same() -> None:
    stack = problem("models", "torch==2.5")
    assert pins(stack, index(), preferred={"models": "4", "torch": "2.5"}) == {"models": "4", "torch": "2.5"}
