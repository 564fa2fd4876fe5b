"""The check of refutations passes what is true of archives, commits and facts."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from packaging.specifiers import SpecifierSet

from tests.datacatalog import DataCatalog
from tests.problems import builds, made, metadata, problem, taken, told, with_sources

LATER = ">=3.12"


# --- Requires-Python of what is not a wheel


@pytest.mark.parametrize("is_built", [False, True])
def test_refutation_by_the_python_of_an_archive(is_built: bool) -> None:
    catalog = DataCatalog()
    catalog.add_archive("a", "1", members={"needs.txt": ""}, metadata_python=LATER)
    facts = [builds("a", "", "needs.txt")] if is_built else []
    assert told(problem("a", facts=facts), catalog) == [
        "the stack asks for a @ stack.toml:5",
        "a 1 cannot be used: Requires-Python >=3.12 @ a-1.tar.gz",
    ]


def test_refutation_by_the_python_that_a_fact_states() -> None:
    catalog = DataCatalog()
    catalog.add_archive("a", "1", None)
    fact = replace(metadata("a", ""), requires_python=SpecifierSet(LATER))
    assert told(problem("a", facts=[fact]), catalog) == [
        "the stack asks for a @ stack.toml:5",
        "a 1 cannot be used: Requires-Python >=3.12 @ a-1.tar.gz",
    ]


def test_refutation_by_the_python_of_a_commit() -> None:
    line, source = taken("a", "1", requires_python=LATER)
    refusal = f"a 1 cannot be used: Requires-Python >=3.12 @ {source.address}"
    assert told(with_sources(problem(line), source), DataCatalog()) == [
        f"the stack asks for {line} @ stack.toml:5",
        refusal,
    ]
    of_release = problem("a", facts=[made("a", "1", requires_python=LATER)])
    assert told(of_release, DataCatalog({"a": {"1": []}})) == [
        "the stack asks for a @ stack.toml:5",
        refusal,
    ]


# --- lines for other targets


def test_refutation_beside_a_commit_for_another_target() -> None:
    line, source = taken("a", "5")
    elsewhere = f"{line} ; platform_machine == 'x86_64'"
    catalog = DataCatalog({"a": {"1": []}})
    assert told(with_sources(problem(elsewhere, "a>=3"), source), catalog) == [
        "the stack asks for a>=3 @ stack.toml:6",
        "no release of a matches `>=3`; the newest is 1 @ looked up on pypi",
    ]
