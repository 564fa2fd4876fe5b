"""What a lock warns of, and similar cases of which it must not warn."""

from __future__ import annotations

import datetime as dt

from msgspec.structs import replace

from resolver.i18n import translate
from resolver.lock.former_formats import in_this_format
from resolver.lock.warnings import warnings
from resolver.model.lock import FORMAT
from resolver.model.message import Message, message
from resolver.model.problem import PYPI, Policy
from resolver.model.release import ProjectStatus
from resolver.model.resolution import Resolution
from resolver.report.explanation.sentences import sentence
from resolver.resolve.outdated_pins import outdated_pins
from resolver.resolve.solver import decide
from resolver.resolve.universe import Universe
from tests.datacatalog import DataCatalog
from tests.problems import problem, solved


def outdated(
    catalog: DataCatalog, *lines: str, policy: Policy | None = None
) -> list[tuple[str, str, list[str]]]:
    """Return the outdated pins of a stack, the newest release, and what keeps that out."""
    stack = problem(*lines)
    if policy is not None:
        stack = replace(stack, policy=policy)
    universe = Universe(stack, catalog)
    resolution = decide(universe)
    assert isinstance(resolution, Resolution)
    pins = []
    for row in outdated_pins(universe, resolution):
        reasons = [translate(sentence(statement), "en") for statement in row.because]
        pins.append((f"{row.project} {row.version}", row.newest, reasons))
    return pins


def held_back(newest: int, uploaded: str = "") -> DataCatalog:
    """Return an index where `app` needs a new `base` from its second minor release on.

    `low` needs the old one.
    """
    catalog = DataCatalog({"base": {"1": [], "2": []}, "low": {"1": ["base==1"]}})
    for minor in range(1, newest + 1):
        catalog.add_wheel(
            "app",
            f"0.{minor}",
            ["base==2"] if minor > 1 else [],
            uploaded=uploaded if minor > 1 else "2026-01-01T00:00:00Z",
        )
    return catalog


def test_outdated_pins_four_minor_releases_behind() -> None:
    assert outdated(held_back(4), "app", "low") == []
    assert outdated(held_back(5), "app", "low") == [
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


def test_outdated_pins_reasons_are_stable() -> None:
    """A lock has the reasons, so other projects on the indexes must not change them."""
    for seed in range(20):
        catalog = held_back(6)
        for number in range(seed):
            catalog.add_wheel(f"other{number}", "1", ["base"])
            catalog.add_wheel("base", f"0.{number}")
            catalog.add_wheel("lower", f"1.{number}", ["base<2"])
        catalog.add_wheel("lower", "2", ["base<2"])
        others = [f"other{number}" for number in range(seed)]
        (row,) = outdated(catalog, *others, "app", "lower", "low", "base<2")
        assert row[2] == ["the stack asks for base<2", "app 0.2 to 0.6 (5 releases) need base==2"]


def test_outdated_pins_half_a_year_behind() -> None:
    assert outdated(held_back(2, "2026-06-01T00:00:00Z"), "app", "low") == []
    assert [row[:2] for row in outdated(held_back(2, "2026-09-01T00:00:00Z"), "app", "low")] == [
        ("app 0.1", "0.2")
    ]


def test_outdated_pins_by_bound_or_cutoff_are_wanted() -> None:
    assert outdated(held_back(9), "app<0.2", "low") == []
    policy = Policy(exclude_newer=dt.datetime(2026, 2, 1, tzinfo=dt.timezone.utc))
    catalog = held_back(9, "2026-09-01T00:00:00Z")
    catalog.add_wheel("base", "1.0.1", uploaded="2026-01-01T00:00:00Z")
    catalog.add_wheel("low", "1.0.1", ["base==1"], uploaded="2026-01-01T00:00:00Z")
    assert outdated(catalog, "app", policy=policy) == []


def test_outdated_pins_are_judged_by_all_lines_about_them() -> None:
    catalog = held_back(9)
    assert outdated(catalog, "app", "app<0.2", "low") == []
    assert [row[:2] for row in outdated(catalog, "app", "app>=0.1", "low")] == [("app 0.1", "0.9")]
    assert outdated(catalog, "app", "app!=0.5,!=0.6,!=0.7,!=0.8,!=0.9", "low") == []


def test_outdated_pins_are_judged_by_lines_for_the_target() -> None:
    catalog = held_back(9)
    catalog.add_wheel("user", "1", ["app"])
    elsewhere = "platform_machine == 'x86_64'"
    assert outdated(catalog, f"app ; {elsewhere}", "user", "low") == []
    assert [row[0] for row in outdated(catalog, "app", f"app<0.2 ; {elsewhere}", "low")] == [
        "app 0.1"
    ]


def paired() -> DataCatalog:
    """Return an index of `torch` with releases of `torch-npu` and `vision` for each of it."""
    catalog = DataCatalog()
    for minor in range(1, 8):
        catalog.add_wheel("torch", f"2.{minor}")
        catalog.add_wheel("vision", f"0.{minor}", [f"torch==2.{minor}"])
        catalog.add_wheel("torch-npu", f"2.{minor}", [f"torch==2.{minor}"])
    return catalog


def test_outdated_pins_that_a_partner_holds_are_no_matter() -> None:
    """torch is what torch-npu needs, and vision what torch needs."""
    assert outdated(paired(), "torch", "torch-npu==2.1", "vision") == []
    assert outdated(paired(), "torch==2.1", "torch-npu", "vision") == []


def test_outdated_pins_first_cause_alone_is_told() -> None:
    catalog = paired()
    catalog.add_wheel("low", "1", ["torch<2.2"])
    told = outdated(catalog, "torch", "torch-npu", "vision", "low")
    assert [row[0] for row in told] == ["torch-npu 2.1"]
    assert "low 1 needs torch<2.2" in told[0][2]


def test_warnings_of_a_project_quarantined_on_its_index() -> None:
    catalog = DataCatalog()
    catalog.add_wheel("a", "2")
    catalog.add_wheel("a", "1", index="other")
    catalog.bind("a", PYPI, "other")
    catalog.add_project("a", index="other", project_status=ProjectStatus("quarantined"))
    stack = problem("a", indexes=catalog.indexes())
    assert list(warnings(solved(stack, catalog), (), catalog)) == []
    catalog.add_project("a", project_status=ProjectStatus("archived"))
    assert list(warnings(solved(stack, catalog), (), catalog)) == [], "which is no danger"
    catalog.add_project("a", project_status=ProjectStatus("quarantined", "it steals"))
    assert list(warnings(solved(stack, catalog), (), catalog)) == [
        message("lock.quarantined-because", package="a 2", index="pypi", reason="it steals")
    ]


def test_former_warning_names_its_stack() -> None:
    warning = {
        "code": "lock.fell-back",
        "values": {"package": "a 1", "newest": "9", "project": "a"},
    }
    other = {"code": "text", "values": {"en": "it is old"}}
    raw = {"format": FORMAT, "stack": "demo", "warnings": [warning, other]}
    former, unchanged = in_this_format(raw)["warnings"]
    assert "ascend-lock why demo a says" in translate(Message(**former), "en")
    assert unchanged == other
