"""Pre-releases, indexes and previous locks: what is taken where several would do."""

from __future__ import annotations

import pytest

from resolver.resolve.independent_check import check
from tests.datacatalog import DataCatalog
from tests.problems import (
    builds,
    excludes,
    names,
    pins,
    problem,
    refused,
    requires,
    solved,
)

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


# --- a release cannot permit itself: what it requires of its own project permits nothing


_OWN = "demo[x]==3rc1 ; extra == 'all'"


@pytest.mark.parametrize(
    ("final", "prerelease"),
    [
        (["gone"], [_OWN]),
        (["gone ; extra == 'all'"], [_OWN]),
        (["gone ; extra == 'all'"], ["demo[a,b]==3rc1 ; extra == 'all'", "base ; extra == 'a'"]),
    ],
)
def test_extra_does_not_permit_its_own_prerelease(final: list[str], prerelease: list[str]) -> None:
    catalog = DataCatalog({"base": {"1": []}, "demo": {"2": final, "3rc1": prerelease}})
    assert refused(problem("demo[all]"), catalog)
    assert pins(problem("demo[all]>=3rc1"), catalog)["demo"] == "3rc1"


def test_fact_does_not_permit_its_own_yanked_release() -> None:
    catalog = DataCatalog()
    catalog.add_wheel("demo", "1", yanked="broken")
    fact = requires("demo", "", "demo[x]==1")
    assert refused(problem("demo", facts=[fact]), catalog)
    assert pins(problem("demo==1", facts=[fact]), catalog) == {"demo": "1"}


def test_refutation_in_which_an_extra_requires_its_own_prerelease() -> None:
    """The pre-release is needed as a premise, and its own requirement must not permit it there."""
    catalog = DataCatalog(
        {
            "app": {"1": ["demo>=3rc1", "base>=2"], "2": []},
            "base": {"1": [], "2": []},
            "demo": {"2": ["gone"], "3rc1": [_OWN, "base<2 ; extra == 'x'"]},
        }
    )
    assert refused(problem("demo[all]", "app"), catalog)
    catalog = DataCatalog({"demo": {"2": [], "3rc1": [_OWN]}})
    assert pins(problem("demo[all]"), catalog) == {"demo": "2"}


def test_check_lets_no_release_permit_itself() -> None:
    catalog = DataCatalog({"demo": {"2": [], "3rc1": [_OWN]}})
    resolution = solved(problem("demo[all]", prereleases="allow"), catalog)
    assert check(problem("demo[all]"), resolution, catalog) == [
        "demo 3rc1 is a pre-release, and 2 fits"
    ]
    catalog = DataCatalog()
    catalog.add_wheel("demo", "1", yanked="broken")
    facts = [requires("demo", "", "demo[x]==1")]
    resolution = solved(problem("demo==1", facts=facts), catalog)
    assert check(problem("demo", facts=facts), resolution, catalog) == [
        "demo 1 was yanked, and neither the stack nor a fact pins it"
    ]


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
