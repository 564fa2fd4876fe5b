"""Pre-releases, indexes and previous locks: what is taken where several would do."""

from __future__ import annotations

import pytest

from resolver.resolve.independent_check import check
from tests.datacatalog import DataCatalog
from tests.problems import builds, excludes, names, pins, problem, solved

# --- pre-releases: "if-necessary" takes them if a requirement names one, or if nothing else fits


def test_policy_counts_no_final_release_without_files() -> None:
    catalog = DataCatalog({"a": {"2rc1": [], "0.9": []}})
    catalog.add_wheel("a", "3", tags="cp312-none-any")
    catalog.add_wheel("a", "2", requires_python=">=3.12")
    catalog.add_wheel("a", "1", yanked="")
    assert pins(problem("a", facts=[excludes("a", "==0.9")]), catalog) == {"a": "2rc1"}


@pytest.mark.parametrize(
    ("ask", "before", "taken"),
    [
        ("a", "1", "1"),
        ("a>1", "1", "2"),  # what does not fit gives way
        ("a", "7", "2"),
        ("a", "3", "2"),  # a lock before gives no leave for yanked releases
        ("a", "4rc1", "2"),  # nor for pre-releases
    ],
)
def test_policy_keeps_what_still_fits(ask: str, before: str, taken: str) -> None:
    catalog = DataCatalog({"a": {"1": [], "2": [], "4rc1": []}})
    catalog.add_wheel("a", "3", yanked="broken")
    assert pins(problem(ask), catalog, preferred={"a": before}) == {"a": taken}


def test_extra_counts_though_it_is_not_declared() -> None:
    """Old tools left Provides-Extra out. uv takes what the markers say, and so does this."""
    catalog = DataCatalog({"b": {"1": []}})
    catalog.add_wheel("a", "1", ["b ; extra == 'x'", "c ; extra == 'y' and os_name == 'nt'"])
    pin = solved(problem("a[x,y,z]"), catalog).pin("a")
    assert pin is not None
    assert (pin.extras, pin.unknown_extras) == (("x", "y", "z"), ("y", "z"))


def test_release_is_from_one_index() -> None:
    catalog = DataCatalog()
    catalog.add_wheel("a", "9", index="elsewhere")
    catalog.add_wheel("a", "1", index="pypi")
    assert pins(problem("a", indexes=catalog.indexes()), catalog) == {"a": "1"}
    catalog.bind("a", "elsewhere", "pypi")
    assert pins(problem("a", indexes=catalog.indexes()), catalog) == {"a": "9"}
    fact = names("a", ">=0", "elsewhere")
    assert pins(problem("a", indexes=catalog.indexes(), facts=[fact]), catalog) == {"a": "1"}


def test_check_reads_facts_indexes_and_metadata() -> None:
    catalog = DataCatalog({"a": {"1": []}})
    catalog.add_archive("a", "1", members={"requirements.txt": ""})
    resolution = solved(problem("a"), catalog)
    built = problem("a", facts=[builds("a", "==1")])
    assert "a 1 is a wheel, and a fact builds it from source" in check(built, resolution, catalog)
    broken = DataCatalog({"a": {"1": ["not a requirement!"]}})
    assert any(
        line.startswith("a-1-py3-none-any.whl: ")
        for line in check(problem("a"), resolution, broken)
    )
    other = DataCatalog()
    other.add_wheel("a", "1", metadata_python=">=3.12")
    assert check(problem("a"), resolution, other) == ["a-1-py3-none-any.whl needs Python >=3.12"]
    elsewhere = DataCatalog()
    elsewhere.add_wheel("a", "1", index="elsewhere")
    elsewhere.bind("a", "elsewhere")
    resolution = solved(problem("a", indexes=elsewhere.indexes()), elsewhere)
    assert check(problem("a"), resolution, elsewhere) == [
        "a comes from `elsewhere`, which it is not bound to"
    ]
