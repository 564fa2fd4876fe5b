"""What a lock warns of, where a neighbour of the case must not be warned of."""

from __future__ import annotations

import datetime as dt

from msgspec.structs import replace

from resolver.i18n import translate
from resolver.lock.warnings import warnings
from resolver.model.message import message
from resolver.model.problem import PYPI, Policy
from resolver.model.release import ProjectStatus
from resolver.model.resolution import Resolution
from resolver.report.explanation.sentences import sentence
from resolver.resolve.shortfalls import outdated_pins
from resolver.resolve.solver import decide
from resolver.resolve.universe import Universe
from tests.datacatalog import DataCatalog
from tests.problems import problem, solved


def fallen(
    catalog: DataCatalog, *lines: str, policy: Policy | None = None
) -> list[tuple[str, str, list[str]]]:
    asked = problem(*lines)
    universe = Universe(asked if policy is None else replace(asked, policy=policy), catalog)
    found = decide(universe)
    assert isinstance(found, Resolution)
    return [
        (
            f"{row.project} {row.version}",
            row.newest,
            [translate(sentence(one), "en") for one in row.because],
        )
        for row in outdated_pins(universe, found)
    ]


def held_back(newest: int, uploaded: str = "") -> DataCatalog:
    """`app` needs an old `base` from its second minor release on."""
    catalog = DataCatalog({"base": {"1": [], "2": []}, "low": {"1": ["base==1"]}})
    for minor in range(1, newest + 1):
        catalog.add_wheel(
            "app",
            f"0.{minor}",
            ["base==2"] if minor > 1 else [],
            uploaded=uploaded if minor > 1 else "2026-01-01T00:00:00Z",
        )
    return catalog


def test_a_wish_more_than_three_minor_releases_behind_is_told_with_what_keeps_newer_ones_out() -> (
    None
):
    assert fallen(held_back(4), "app", "low") == []
    assert fallen(held_back(5), "app", "low") == [
        (
            "app 0.1",
            "0.5",
            [
                "the stack asks for low",
                "app 0.2 to 0.5 (4 releases) need base==2",
                "low 1 needs base==1",
            ],
        )
    ]


def test_the_reasons_are_the_same_whatever_else_is_on_the_indexes_or_was_read() -> None:
    """A lock tells them: of several that would do, the first by name of what people can change."""
    for seed in range(20):
        catalog = held_back(6)
        for number in range(seed):
            catalog.add_wheel(f"other{number}", "1", ["base"])
            catalog.add_wheel("base", f"0.{number}")
            catalog.add_wheel("lower", f"1.{number}", ["base<2"])
        catalog.add_wheel("lower", "2", ["base<2"])
        others = [f"other{number}" for number in range(seed)]
        (row,) = fallen(catalog, *others, "app", "lower", "low", "base<2")
        assert row[2] == ["the stack asks for base<2", "app 0.2 to 0.6 (5 releases) need base==2"]


def test_so_is_one_half_a_year_behind() -> None:
    assert fallen(held_back(2, "2026-06-01T00:00:00Z"), "app", "low") == []
    assert [row[:2] for row in fallen(held_back(2, "2026-09-01T00:00:00Z"), "app", "low")] == [
        ("app 0.1", "0.2")
    ]


def test_what_has_an_upper_bound_or_comes_after_the_cut_off_is_as_it_was_wanted() -> None:
    assert fallen(held_back(9), "app<0.2", "low") == []
    policy = Policy(exclude_newer=dt.datetime(2026, 2, 1, tzinfo=dt.timezone.utc))
    catalog = held_back(9, "2026-09-01T00:00:00Z")
    for name in ("base", "low"):
        catalog.add_wheel(
            name, "1.0.1", ["base==1"] if name == "low" else [], uploaded="2026-01-01T00:00:00Z"
        )
    assert fallen(catalog, "app", policy=policy) == []


def test_a_project_is_unsafe_where_its_own_index_says_so() -> None:
    catalog = DataCatalog()
    catalog.add_wheel("a", "2")
    catalog.add_wheel("a", "1", index="other")
    catalog.bind("a", PYPI, "other")
    catalog.add_project("a", index="other", project_status=ProjectStatus("quarantined"))
    asked = problem("a", indexes=catalog.indexes())
    assert list(warnings(solved(asked, catalog), (), catalog)) == []
    catalog.add_project("a", project_status=ProjectStatus("archived"))
    assert list(warnings(solved(asked, catalog), (), catalog)) == [], "which is no danger"
    catalog.add_project("a", project_status=ProjectStatus("quarantined", "it steals"))
    assert list(warnings(solved(asked, catalog), (), catalog)) == [
        message("lock.quarantined-because", package="a 2", index="pypi", reason="it steals")
    ]
