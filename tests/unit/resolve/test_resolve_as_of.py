"""The day of a stack: which releases are preferred, and where newer ones are taken all the same."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from msgspec.structs import replace
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.errors import IndexFailure, InputError
from resolver.model.as_of import AsOf, DatedRelease
from resolver.model.release import CoreMetadata, File
from resolver.phrase import literal
from resolver.resolve.newer_pins import newer_pins
from resolver.resolve.universe import Universe
from tests.datacatalog import DataCatalog
from tests.problems import constrains, pins, problem, requires, solved, taken, with_sources
from tests.property.worlds import stack_inputs

_DAYS = {"1": "2026-01-10", "2": "2026-02-20", "3": "2026-03-01", "4": "2026-04-01"}


def index(*names: str, **requirements: str) -> DataCatalog:
    """Four releases of each project, a month apart; `requirements` are those of the newest."""
    catalog = DataCatalog()
    for name in names:
        for version, day in _DAYS.items():
            needs = [requirements[name]] if version == "4" and name in requirements else []
            catalog.add_wheel(name, version, needs, uploaded=f"{day}T12:00:00.000000Z")
    return catalog


def as_of(catalog: DataCatalog, *lines: str, facts: Any = (), **policy: Any) -> AsOf:
    return Universe(problem(*lines, facts=facts, **policy), catalog).as_of


def test_as_of_prefers_a_release_of_the_day() -> None:
    assert pins(problem("a", as_of="2026-02-20"), index("a")) == {"a": "2"}


def test_as_of_counts_the_day_to_its_end() -> None:
    catalog = DataCatalog()
    catalog.add_wheel("a", "1", uploaded="2026-02-20T23:59:59Z")
    catalog.add_wheel("a", "2", uploaded="2026-02-21T07:59:59+08:00")  # the same moment
    catalog.add_wheel("a", "3", uploaded="2026-02-21T00:00:00Z")
    assert pins(problem("a", as_of="2026-02-20"), catalog) == {"a": "2"}


def test_as_of_takes_the_oldest_later_release_that_fits() -> None:
    assert pins(problem("a>=3", as_of="2026-02-20"), index("a")) == {"a": "3"}


def test_as_of_counts_undated_releases_as_old_enough() -> None:
    catalog = index("a")
    catalog.add_wheel("a", "5")
    assert pins(problem("a", as_of="2026-02-20"), catalog) == {"a": "5"}


def test_as_of_newest_prefers_the_newest() -> None:
    assert pins(problem("a", "b==1", as_of="newest"), index("a", "b")) == {"a": "4", "b": "1"}


def test_as_of_auto_is_two_weeks_after_the_pins() -> None:
    catalog = index("a", "b")
    latest = DatedRelease(project="b", version="2", day="2026-02-20")
    assert as_of(catalog, "a", "b==2") == AsOf(policy="auto", day="2026-03-06", latest=latest)
    assert pins(problem("a", "b==2"), catalog) == {"a": "3", "b": "2"}


def test_as_of_auto_without_a_pin_prefers_the_newest() -> None:
    assert as_of(index("a"), "a>=2") == AsOf(policy="auto")


def test_as_of_auto_counts_lower_bounds_beside_a_pin() -> None:
    assert as_of(index("a", "b"), "a>=3", "b==1").day == "2026-03-15"


def test_as_of_auto_counts_pins_of_facts() -> None:
    catalog = index("a", "b")
    assert as_of(catalog, "a==1", facts=[requires("a", "==1", "b==3")]).day == "2026-03-15"
    assert as_of(catalog, "a==1", facts=[requires("a", "==1", "b>=3")]).day == "2026-01-24"
    assert as_of(catalog, "a==1", facts=[requires("a", "==2", "b==3")]).day == "2026-01-24"


def test_as_of_auto_leaves_out_lines_for_other_targets() -> None:
    assert as_of(index("a", "b"), "a==1", "b==4 ; platform_machine == 'x86_64'").day == "2026-01-24"


@pytest.mark.parametrize(("committed", "day"), [(dt.date(2026, 3, 1), "2026-03-15"), (None, "")])
def test_as_of_auto_counts_the_day_of_a_commit(committed: dt.date | None, day: str) -> None:
    line, source = taken("b", "7")
    stack = with_sources(problem("a", line), replace(source, committed=committed))
    assert Universe(stack, index("a")).as_of.day == day


def test_as_of_auto_names_undated_pins() -> None:
    catalog = index("a")
    catalog.add_wheel("b", "1")
    assert as_of(catalog, "a==1", "b==1").undated == ("b",)
    assert as_of(catalog, "b==1") == AsOf(policy="auto", undated=("b",))


def test_newer_pins_name_who_needs_them() -> None:
    catalog = index("a", "b", "c", a="b>=4")
    universe = Universe(problem("a==4", "c>=3", as_of="2026-02-20"), catalog)
    resolution = solved(universe.problem, catalog)
    rows = {row.project: (row.version, row.needed_by) for row in newer_pins(universe, resolution)}
    assert rows == {"a": ("4", ("stack",)), "b": ("4", ("a 4",)), "c": ("3", ("stack",))}


def test_newer_pins_name_a_bound_that_needs_them() -> None:
    catalog = index("a", "b")
    stack = problem("a", "b==1", facts=[constrains("b", "", "a>=3")], as_of="2026-02-20")
    rows = list(newer_pins(Universe(stack, catalog), solved(stack, catalog)))
    assert [(row.project, row.version, row.needed_by) for row in rows] == [("a", "3", ("b 1",))]


def test_newer_pins_name_no_bound_for_other_targets() -> None:
    catalog = index("a", "b")
    bound = constrains("b", "", "a>=3 ; platform_machine == 'x86_64'")
    stack = problem("a>=3", "b==1", facts=[bound], as_of="2026-02-20")
    rows = list(newer_pins(Universe(stack, catalog), solved(stack, catalog)))
    assert [(row.project, row.needed_by) for row in rows] == [("a", ("stack",))]


def test_as_of_keeps_what_the_previous_lock_has() -> None:
    catalog = index("a")
    stack = problem("a", as_of="2026-02-20")
    assert pins(stack, catalog, preferred={"a": "4"}) == {"a": "4"}
    universe = Universe(stack, catalog, {canonicalize_name("a"): Version("4")})
    (row,) = newer_pins(universe, solved(stack, catalog, preferred={"a": "4"}))
    assert row.is_kept
    assert not universe.optional_reads.has_failed


def test_newer_pins_are_not_said_to_be_kept_if_an_index_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    catalog = index("a")
    stack = problem("a", as_of="2026-02-20")
    resolution = solved(stack, catalog, preferred={"a": "4"})
    universe = Universe(stack, catalog, {canonicalize_name("a"): Version("4")})

    def fail(file: File) -> CoreMetadata:
        raise IndexFailure(literal("it did not answer"))

    monkeypatch.setattr(catalog, "metadata", fail)
    (row,) = newer_pins(universe, resolution)
    assert not row.is_kept
    assert universe.optional_reads.has_failed


@pytest.mark.parametrize(
    "written", ['"someday"', "2026-03-01T12:00:00Z", "20260301", '"2026-02-30"']
)
def test_as_of_refuses_what_is_no_day(written: str) -> None:
    stack = (
        '[stack]\nname = "a"\nrequires = ["a"]\n'
        '[target]\npython = "3.11"\nplatform = "linux-aarch64"\n'
    )
    with pytest.raises(InputError) as refused:
        stack_inputs(f"{stack}[policy]\nas-of = {written}\n")
    assert refused.value.where == "world.toml:8: policy.as-of"
