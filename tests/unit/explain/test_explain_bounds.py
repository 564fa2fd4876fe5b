"""The bounds of the search are those that docs/explaining.md has: a report depends on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from resolver.explain import (
    alternatives,
    contradiction,
    cores,
    costs,
    explain,
    fix_search,
    fixes,
    heuristics,
    loosening,
    nearby_releases,
    proposals,
    repairs,
    rows,
    search_results,
    shipped,
    split,
    trials,
)

DOCUMENT = Path(__file__).parents[3] / "docs" / "explaining.md"


@pytest.mark.parametrize(
    ("bound", "value"),
    [
        ("steps of the look around", nearby_releases._DEPTH),
        ("releases that it looks at", nearby_releases._LOOKED_AT),
        ("sets of user constraints, and contradictions", cores._MOST),
        ("contradictions with the same user constraints", cores._SAME_USER_SET),
        ("reasons, beside lines and components", cores._COUNTED),
        ("questions to the solver", cores._QUESTIONS),
        ("cases within cases", contradiction._DEEPEST),
        ("contradictions that the search for ways out adds", repairs._FURTHER),
        ("reasons of such a contradiction", repairs._READABLE),
        ("conflicts in the solver between two looks", costs._CONFLICTS_AT_ONCE),
        ("such looks for one cheapest set", costs._CHUNKS),
        ("steps of the search for fixes in all", fix_search._STEPS),
        ("sets of changes of each stack", repairs._ROUNDS),
        ("sets of them with a search for releases", repairs._SETS),
        ("looks at releases for a set", alternatives._LOOKS),
        ("stacks that are solved for a set", repairs._TRIES),
        ("proposals of a kind", repairs.EACH),
        ("archives of a project that are read", proposals._ARCHIVES),
        ("rows that are solved", rows._SOLVED),
        ("refuted rows after which it is asked", rows._REFUTED),
        ("archives that get a fact for one row", rows._ARCHIVES),
        ("pins that are followed from an anchor", rows._DEPTH),
        ("shipped stacks that are tried", shipped._STACKS),
        ("lines impossible by themselves", heuristics.SEVERAL),
        ("conflicts after which no more lines are loosened", loosening._CONFLICTS),
        ("archives of a project that get a fact when lines are loosened", loosening._ARCHIVES),
        ("refutations that are tried", trials._REFUTATIONS),
        ("fixes", search_results._FIXES),
        ("fixes that go against nothing, after which", repairs._WHOLE),
        ("price at which sets of changes end", repairs._DEAR),
        ("fixes that go against a fact or metadata", search_results._AGAINST),
        ("divisions into two environments", split._DIVISIONS),
        ("attempts that are reported", explain._ATTEMPTS),
        ("pins that are shown of a fix", fixes._SHOWN),
    ],
)
def test_bounds_are_as_documented(bound: str, value: int) -> None:
    lines = DOCUMENT.read_text(encoding="utf-8").splitlines()
    found = [line for line in lines if line.startswith(f"| {bound}")]
    (row,) = [line for line in found if line.startswith(f"| {bound} |")] or found
    assert row.endswith(f" | {value:,} |")
