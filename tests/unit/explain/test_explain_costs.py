"""The prices of the search are those that docs/explaining.md has, and cheapest sets are found."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from resolver.errors import UndecidedError
from resolver.explain import costs
from resolver.index.protocol import polling
from resolver.model.constraint import ComponentValue
from resolver.model.fact import Strength
from tests.components import COMPONENTS

DOCUMENT = Path(__file__).parents[3] / "docs" / "explaining.md"
PRICES = [costs.component_price(COMPONENTS[name]) for name in ("glibc", "cann", "hdk", "python")]
STRENGTHS = (Strength.OBSERVED, Strength.DOCUMENTED, Strength.VENDOR)


@pytest.mark.parametrize(
    ("change", "price"),
    [
        ("nothing is lost", f"{costs.FREE} each"),
        ("a new fact says what an archive needs, though", f"{costs.BUILD:,}"),
        ("another version of a line", f"{costs.VERSION}"),
        ("a line loses an extra", f"{costs.EXTRA}"),
        ("an existing fact that the stack leaves out", f"{costs.ADD}"),
        ("another glibc, CANN, driver, Python", ", ".join(map(str, PRICES))),
        ("another SoC", f"{costs.component_price(COMPONENTS['soc'])}"),
        ("no cut-off", f"{costs.POLICY}"),
        ("a change selects a release that, according to a warning", f"{costs.UNSURE} more"),
        ("a change selects a release that was built for another", f"{costs.NEARBY} more"),
        ("a change selects a release that the compatibility tables", f"{costs.UNLISTED} more"),
        ("a line is dropped", f"{costs.DROP}"),
        ("an `observed`, `documented`", ", ".join(str(costs.RELAX[row]) for row in STRENGTHS)),
        ("a requirement is removed from metadata", f"{costs.OVERRIDE}"),
    ],
)
def test_prices_are_as_documented(change: str, price: str) -> None:
    lines = DOCUMENT.read_text(encoding="utf-8").splitlines()
    (row,) = [line for line in lines if line.startswith(f"| {change}")]
    assert row.endswith(f" | {price} |")


A, B, C = (ComponentValue(name, "1", "") for name in "abc")


def test_corrections_meet_every_core_at_the_lowest_price() -> None:
    corrections = costs.Corrections()
    corrections.add_core({A: 3, B: 2})
    assert corrections.cheapest() == [B]
    corrections.add_core({A: 3, C: 2})
    assert corrections.cheapest() == [A]


def test_corrections_demand_more_only_with_what_is_given() -> None:
    corrections = costs.Corrections()
    corrections.add_core({A: 1, B: 3})
    corrections.add_core({C: 1}, only_with=[A])
    assert corrections.cheapest() == [A, C]
    corrections.exclude([A, C], exactly=True)
    assert corrections.cheapest() == [B]


def test_corrections_exclude_a_set_and_its_supersets() -> None:
    corrections = costs.Corrections()
    corrections.add_core({A: 1, B: 2})
    corrections.exclude([A])
    assert corrections.cheapest() == [B]
    corrections.exclude([B])
    assert corrections.cheapest() is None


@pytest.mark.parametrize(("demands", "is_decided"), [(8, True), (9, False)])
def test_corrections_give_up_on_what_is_too_hard(demands: int, is_decided: bool) -> None:
    """Pigeons and holes: no clause is long, and the proof grows exponentially with them."""
    holes = range(demands - 1)
    rows = [[ComponentValue(f"{at}-{hole}", "1", "") for hole in holes] for at in range(demands)]
    corrections = costs.Corrections()
    for row in rows:
        corrections.add_core(dict.fromkeys(row, 1))
    for hole in holes:
        for first, second in combinations(rows, 2):
            corrections.exclude([first[hole], second[hole]])
    if is_decided:
        assert corrections.cheapest() is None
    else:
        with pytest.raises(UndecidedError, match="within the search limits"):
            corrections.cheapest()


def test_corrections_look_at_the_clock_before_each_question() -> None:
    """Time that is up ends a search for the cheapest set of changes."""

    class LateError(Exception):
        pass

    def look() -> None:
        raise LateError

    corrections = costs.Corrections()
    corrections.add_core({A: 3, B: 2})
    with polling(look), pytest.raises(LateError):
        corrections.cheapest()
