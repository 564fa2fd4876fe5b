"""Practices in force: which of them make a difference to a resolution."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from resolver.model.fact import Fact, Strength
from tests.datacatalog import DataCatalog
from tests.problems import problem, replaces, requires, solved

PRACTICE = replace(replaces("app", "", ["b"], "b"), strength=Strength.PRACTICE)


def is_used(
    app_needs: Sequence[str], facts: Sequence[Fact] = (), *, is_built: bool = False
) -> bool:
    """Return whether a resolution of app 1 and b 2 uses a practice that lets app go with any b."""
    catalog = DataCatalog({"b": {"2": []}})
    if is_built:
        catalog.add_archive("app", "1", app_needs)
    else:
        catalog.add_wheel("app", "1", app_needs)
    resolution = solved(problem("app", facts=[*facts, PRACTICE]), catalog)
    assert {pin.name: str(pin.version) for pin in resolution.pins} == {"app": "1", "b": "2"}
    return PRACTICE in resolution.used_practices


@pytest.mark.parametrize(
    ("line", "used"),
    [
        ("b<2", True),
        ("b<3", False),
        ("b<2 ; platform_machine == 'x86_64'", False),
        ("b<2 ; extra == 'x'", False),
    ],
)
def test_practice_is_used_against_metadata(line: str, used: bool) -> None:
    assert is_used([line]) is used


@pytest.mark.parametrize(
    ("fact", "used"),
    [
        (requires("app", "", "b<2"), True),
        (requires("app", "", "b<3"), False),
        (requires("app", "", "b<2 ; platform_machine == 'x86_64'"), False),
        (requires("app", "==2", "b<2"), False),
    ],
)
def test_practice_is_used_against_facts(fact: Fact, used: bool) -> None:
    assert is_used([], [fact]) is used


@pytest.mark.parametrize("is_built", [True, False])
def test_practice_is_used_against_facts_about_wheels(is_built: bool) -> None:
    fact = replace(requires("app", "", "b<2"), wheels=True)
    assert is_used([], [fact], is_built=is_built) is not is_built
