"""Pre-releases, yanked releases, indexes and previous locks: what is taken where several would do."""

from __future__ import annotations

import datetime as dt

import pytest

from resolver.errors import InputError
from resolver.model.dependency import Package
from resolver.model.problem import PYPI, Index, Indexes
from resolver.resolve.check import check
from resolver.resolve.solver import solve
from resolver.resolve.universe import Universe
from tests.datacatalog import DataCatalog
from tests.problems import builds, collides, excludes, names, pins, problem, refused, requires, solved

# --- pre-releases: "if-necessary" takes them where a requirement names one, or where nothing else fits


@pytest.mark.parametrize(
    ("asks", "taken"),
    [
        (["a"], "2"),
        (["a>1"], "2"),
        (["a>=3rc1"], "3rc1"),  # named
        (["a>=1,!=3rc1"], "2"),  # to rule one out is not to ask for one
        (["a<4rc1"], "3rc1"),
        (["a==3.*"], "3rc1"),  # nothing else fits
        (["a>2"], "3rc1"),
        (["a", "a>2"], "3rc1"),
        (["a", "a>=2rc1"], "3rc1"),  # one requirement that names one is enough
        (["a===3rc1"], "3rc1"),
        (["a~=2.0rc1"], "2"),
    ],
)
def test_prereleases_if_necessary(asks: list[str], taken: str) -> None:
    catalog = DataCatalog({"a": {"1": [], "2": [], "3rc1": []}})
    assert pins(problem(*asks), catalog) == {"a": taken}


@pytest.mark.parametrize(("policy", "taken"), [("allow", "3rc1"), ("never", "2"), ("if-necessary", "2")])
def test_policies(policy: str, taken: str) -> None:
    catalog = DataCatalog({"a": {"2": [], "3rc1": []}})
    assert pins(problem("a", prereleases=policy), catalog) == {"a": taken}
    assert pins(problem("a", prereleases_of={"a": policy}), catalog) == {"a": taken}
    assert pins(problem("a", prereleases=policy, prereleases_of={"b": "allow"}), catalog) == {"a": taken}
    if policy == "never":
        refused(problem("a>=3rc1", prereleases=policy), catalog)


@pytest.mark.parametrize(("stable", "admitted"), [(False, ["3rc1"]), (True, [])])
def test_no_prerelease_where_a_final_release_will_do(stable: bool, admitted: list[str]) -> None:
    """None is taken in the place of a final release that was decided before: what rules that out is gone back on."""
    universe = Universe(problem("a>2"), DataCatalog({"a": {"1": [], "2": [], "3rc1": []}}))
    asked = universe.demand(*universe.roots())
    found = universe.candidates(Package("a"), asked, stable=stable)
    assert [str(one.version) for one in found] == admitted


# Each with what is on the index, what the stack asks for, and the pins; None where there are none.
@pytest.mark.parametrize(
    ("releases", "asks", "taken"),
    [
        # a final release whose needs cannot be met counts: no pre-release sneaks in because something else is wrong
        ({"a": {"1": ["nowhere"], "2rc1": []}}, ["a"], None),
        # metadata may name a pre-release for another
        (
            {"a": {"1": [], "2rc1": []}, "b": {"1": ["a>=2rc1"]}, "c": {"1": ["a"]}},
            ["c", "b"],
            {"a": "2rc1", "b": "1", "c": "1"},
        ),
        # `p 2` cannot be used, and `p[x] 2rc1` asking for `p 2rc1` does not name a pre-release
        ({"p": {"2": ["p==1.*"], "2rc1": []}}, ["p[x]"], None),
        ({"p": {"2": ["p==1.*"], "2rc1": []}}, ["p"], None),
        # the complete engine may not rule out for good what only this answer gave no leave for
        (
            {
                "p": {"1": [], "1.1": [], "2": ["p"], "2.post1": ["p"]},
                "q": {"1": ["p", "p<=1"], "1.1a1": ["r"], "2rc1": ["p"]},
                "r": {"1": ["q>=1,>=1.1a1", "p"], "1.1a1": []},
            },
            ["q", "p", "p!=1.*"],
            {"p": "2.post1", "q": "1.1a1", "r": "1"},
        ),
        # the SAT solver may set `q` though nothing that is chosen needs it
        ({"p": {"3.1": ["q"], "3.dev1": []}, "q": {"1.1": ["p<=3"]}}, ["p"], None),
        # versions are compared as versions
        ({"a": {"1.9": [], "1.10": [], "1.10.dev1": []}}, ["a"], {"a": "1.10"}),
    ],
)
def test_leave_for_prereleases(
    releases: dict[str, dict[str, list[str]]], asks: list[str], taken: dict[str, str] | None
) -> None:
    catalog = DataCatalog(releases)
    if taken is None:
        refused(problem(*asks), catalog)
    else:
        assert pins(problem(*asks), catalog) == taken


def test_final_releases_that_cannot_be_had_do_not_count() -> None:
    catalog = DataCatalog({"a": {"2rc1": [], "0.9": []}})
    catalog.add_wheel("a", "3", tags="cp312-none-any")
    catalog.add_wheel("a", "2", requires_python=">=3.12")
    catalog.add_wheel("a", "1", yanked="")
    assert pins(problem("a", facts=[excludes("a", "==0.9")]), catalog) == {"a": "2rc1"}


# --- yanked releases: where the stack or a fact pins them, never by metadata


def yanked() -> DataCatalog:
    catalog = DataCatalog({"a": {"1": []}, "b": {"1": ["a==2"], "0": ["a"]}})
    catalog.add_wheel("a", "2", yanked="broken")
    return catalog


@pytest.mark.parametrize(
    ("asks", "taken"),
    [
        (["a"], {"a": "1"}),
        (["a>=1"], {"a": "1"}),
        (["a==2"], {"a": "2"}),
        (["a===2"], {"a": "2"}),
        (["a!=1.*,==2"], {"a": "2"}),
        (["a>1"], None),
        (["a==2.*"], None),
        (["a~=2.0"], None),
        (["b==1"], None),
        (["b"], {"a": "1", "b": "0"}),  # metadata that pins one is passed over
        (["b", "a==2"], {"a": "2", "b": "1"}),  # a pin of the stack serves everyone
    ],
)
def test_yanked(asks: list[str], taken: dict[str, str] | None) -> None:
    if taken is None:
        refused(problem(*asks), yanked())
    else:
        assert pins(problem(*asks), yanked()) == taken


def test_a_fact_may_pin_one() -> None:
    assert pins(problem("b==0", facts=[requires("b", "==0", "a==2")]), yanked()) == {"a": "2", "b": "0"}


def test_of_what_a_pin_admits_a_release_that_was_not_yanked_is_taken() -> None:
    """PEP 592: a yanked release is to be ignored if another one meets the constraints."""
    catalog = DataCatalog({"a": {"1": []}, "b": {"1": ["a>=1"]}})
    catalog.add_wheel("a", "1+cpu", yanked="broken")
    assert pins(problem("a==1", "b"), catalog) == {"a": "1", "b": "1"}
    assert pins(problem("a==1+cpu"), catalog) == {"a": "1+cpu"}


# --- the lock before


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
def test_what_still_fits_is_kept(ask: str, before: str, taken: str) -> None:
    catalog = DataCatalog({"a": {"1": [], "2": [], "4rc1": []}})
    catalog.add_wheel("a", "3", yanked="broken")
    assert pins(problem(ask), catalog, preferred={"a": before}) == {"a": taken}


# --- extras


def test_an_extra_brings_its_needs_and_holds_to_its_project() -> None:
    catalog = DataCatalog({"a": {"2": ["b==2 ; extra == 'x'"], "1": ["b==1 ; extra == 'x'"]}, "b": {"1": [], "2": []}})
    resolution = solved(problem("a[x]", "b<2"), catalog)
    assert {pin.name: (str(pin.version), pin.extras) for pin in resolution.pins} == {"a": ("1", ("x",)), "b": ("1", ())}
    assert [str(origin) for origin in resolution.pins[1].because] == ["the stack asks for b<2", "a[x] 1 needs b==1"]


def test_an_extra_of_extras() -> None:
    catalog = DataCatalog({"a": {"1": ["a[x,Y_z] ; extra == 'all'", "b ; extra == 'x'", "c ; extra == 'y-z'"]}})
    for name in ("b", "c"):
        catalog.add_wheel(name, "1")
    assert pins(problem("A[ALL]"), catalog) == {"a": "1", "b": "1", "c": "1"}


def test_an_extra_that_requirements_name_is_known_though_it_is_not_declared() -> None:
    """Old tools left Provides-Extra out. uv takes what the markers say, and so does this."""
    catalog = DataCatalog({"b": {"1": []}})
    catalog.add_wheel("a", "1", ["b ; extra == 'x'", "c ; extra == 'y' and os_name == 'nt'"])
    pin = solved(problem("a[x,y,z]"), catalog).pin("a")
    assert pin is not None
    assert (pin.extras, pin.unknown_extras) == (("x", "y", "z"), ("y", "z"))


# --- facts


def test_a_fact_about_a_release_that_is_not_on_the_index_is_a_mistake() -> None:
    catalog = DataCatalog({"a": {"1": []}})
    shared = Indexes(indexes={PYPI: Index(name=PYPI)}, bindings=())
    with pytest.raises(InputError) as caught:
        solve(problem("a", facts=[excludes("a", "==2")], indexes=shared), catalog)
    assert str(caught.value) == (
        "the fact `a-excludes` refers to a ==2, but there is no such release\n"
        "  at facts/a.toml:7\n"
        "hint: correct `versions`, or remove what is no longer on the index; an index with only selected "
        "releases needs `complete = false` in its row of indexes.toml"
    )
    chosen = Indexes(indexes={PYPI: Index(name=PYPI, complete=False)}, bindings=())
    assert pins(problem("a", facts=[excludes("a", "==2")], indexes=chosen), catalog) == {"a": "1"}
    catalog.unreachable = ("huawei",)  # it may be on the index that did not answer
    assert pins(problem("a", facts=[excludes("a", "==2")], indexes=shared), catalog) == {"a": "1"}


def test_of_two_owners_of_a_module_one_is_avoided_where_that_is_possible() -> None:
    catalog = DataCatalog({"a": {"2": ["triton"], "1": []}, "triton": {"3": []}, "triton-ascend": {"3.2": []}})
    facts = [collides("triton-ascend", ">=3", "triton", "triton")]
    assert pins(problem("a", "triton-ascend", facts=facts), catalog) == {"a": "1", "triton-ascend": "3.2"}


def test_indexes_are_not_mixed() -> None:
    catalog = DataCatalog()
    catalog.add_wheel("a", "9", index="elsewhere")
    catalog.add_wheel("a", "1", index="pypi")
    assert pins(problem("a", indexes=catalog.indexes()), catalog) == {"a": "1"}
    catalog.bind("a", "elsewhere", "pypi")
    assert pins(problem("a", indexes=catalog.indexes()), catalog) == {"a": "9"}
    fact = names("a", ">=0", "elsewhere")
    assert pins(problem("a", indexes=catalog.indexes(), facts=[fact]), catalog) == {"a": "1"}


def test_the_cut_off() -> None:
    catalog = DataCatalog()
    catalog.add_wheel("a", "1", uploaded="2026-01-01T00:00:00Z")
    catalog.add_wheel("a", "2", uploaded="2026-02-01T00:00:00Z")
    catalog.add_wheel("a", "3")
    moment = dt.datetime(2026, 1, 31, tzinfo=dt.timezone.utc)
    assert pins(problem("a", exclude_newer=moment), catalog) == {"a": "1"}


def test_metadata_is_read_of_what_is_tried_only() -> None:
    catalog = DataCatalog({"a": {str(number): [] for number in range(50)}})
    assert pins(problem("a"), catalog) == {"a": "49"}
    assert set(catalog.asked) == {"a-49-py3-none-any.whl"}


# --- the check by itself


def test_the_check_reads_facts_indexes_and_metadata_itself() -> None:
    catalog = DataCatalog({"a": {"1": []}})
    catalog.add_archive("a", "1", members={"requirements.txt": ""})
    resolution = solved(problem("a"), catalog)
    built = problem("a", facts=[builds("a", "==1")])
    assert "a 1 is a wheel, and a fact builds it from source" in check(built, resolution, catalog)
    broken = DataCatalog({"a": {"1": ["not a requirement!"]}})
    assert any(line.startswith("a-1-py3-none-any.whl: ") for line in check(problem("a"), resolution, broken))
    other = DataCatalog()
    other.add_wheel("a", "1", metadata_python=">=3.12")
    assert check(problem("a"), resolution, other) == ["a-1-py3-none-any.whl needs Python >=3.12"]
    elsewhere = DataCatalog()
    elsewhere.add_wheel("a", "1", index="elsewhere")
    elsewhere.bind("a", "elsewhere")
    resolution = solved(problem("a", indexes=elsewhere.indexes()), elsewhere)
    assert check(problem("a"), resolution, elsewhere) == ["a comes from `elsewhere`, which it is not bound to"]


@pytest.mark.parametrize("stable", ["py3-none-any", "cp311-cp311-manylinux_2_28_aarch64", "archive"])
@pytest.mark.parametrize("version", ["1", "3"])
def test_the_check_finds_a_needless_prerelease(version: str, stable: str) -> None:
    catalog = DataCatalog({"a": {"2rc1": []}})
    taken = solved(problem("a"), catalog)
    assert [str(pin.version) for pin in taken.pins] == ["2rc1"]
    if stable == "archive":
        catalog.add_archive("a", version)
    else:
        catalog.add_wheel("a", version, tags=stable)
    assert check(problem("a"), taken, catalog) == [f"a 2rc1 is a pre-release, and {version} fits"]


def test_a_component_is_there_whether_anything_needs_it_or_not() -> None:
    """The engine must not forbid the target's CANN when it rules out a pre-release that nobody gave leave to."""
    catalog = DataCatalog(
        {
            "r": {"3rc1": ["p"], "2": ["s>=2a1"]},
            "p": {"2": ["q>=2a1"], "1": ["r>=2a1"]},
            "q": {"1": ["s<2"], "2a1": ["t"]},
            "s": {"1.1": [], "3rc1": ["q<1.1", "p==1"]},
            "t": {"2a1": ["s>=1.1"], "2": [], "1": []},
        }
    )
    facts = [requires("s", "==1.1", "cann < 8.5.0"), requires("t", "==2", "cann in 8.3.*")]
    assert pins(problem("r", facts=facts), catalog) == {"p": "1", "r": "3rc1"}
