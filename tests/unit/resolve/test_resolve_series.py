"""Facts about series: releases that go with another project's releases of the same X.Y."""

from __future__ import annotations

import pytest
from packaging.utils import canonicalize_name

from resolver.config.fact_rules import compile_facts
from resolver.config.schema import FactFile
from resolver.config.toml_files import read_text
from resolver.errors import InputError
from resolver.model.fact import Series
from tests.datacatalog import DataCatalog
from tests.problems import common, pins, problem, told


def series(package: str, other: str, parts: int = 2) -> Series:
    return Series(**common(package, "", "series"), other=canonicalize_name(other), parts=parts)


def catalog() -> DataCatalog:
    """Return releases of `omni`, which requires nothing, and of `base`."""
    return DataCatalog(
        {
            "omni": {"0.21.0": [], "0.22.0": [], "0.22.1": []},
            "base": {"0.21.4": [], "0.22.0": [], "0.22.3": [], "0.23.0": []},
        }
    )


def test_series_takes_newest_pair_of_one_series() -> None:
    fact = series("omni", "base")
    found = pins(problem("omni", "base", facts=[fact]), catalog())
    assert found == {"omni": "0.22.1", "base": "0.22.3"}


def test_series_follows_the_pinned_project() -> None:
    fact = series("omni", "base")
    found = pins(problem("omni", "base==0.21.4", facts=[fact]), catalog())
    assert found == {"omni": "0.21.0", "base": "0.21.4"}


def test_series_installs_nothing() -> None:
    assert pins(problem("omni", facts=[series("omni", "base")]), catalog()) == {"omni": "0.22.1"}


def test_series_compares_as_many_parts_as_it_says() -> None:
    fact = series("omni", "base", parts=3)
    found = pins(problem("omni", "base", facts=[fact]), catalog())
    assert found == {"omni": "0.22.0", "base": "0.22.0"}


def test_series_without_a_pair_is_a_conflict() -> None:
    lines = told(problem("omni==0.22.1", "base==0.23.0", facts=[series("omni", "base")]), catalog())
    assert any("omni 0.22.1" in line and "base==0.22.*" in line for line in lines), lines


@pytest.mark.parametrize(
    ("row", "where"), [('with = "base"\nparts = 0', "parts"), ('with = "omni"', "with")]
)
def test_series_refuses_rows_that_bound_nothing(row: str, where: str) -> None:
    table = (
        '[[series]]\nreason = "r"\nstrength = "vendor"\nchecked = 2026-11-28\n'
        f'source = "index pypi omni (2026-11-28)"\n{row}\n'
    )
    document = read_text(table, FactFile, "matrices/facts/omni.toml")
    with pytest.raises(InputError) as caught:
        compile_facts([document])
    assert where in caught.value.where
