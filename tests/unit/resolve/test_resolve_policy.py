"""Pre-releases, yanked releases, indexes and previous locks: what is taken where several would do."""

from __future__ import annotations

import datetime as dt

import pytest
from packaging.version import Version

from resolver.errors import FactError
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


@pytest.mark.parametrize(("stable", "admitted"), [(False, ["3rc1"]), (True, [])])
def test_no_prerelease_where_a_final_release_will_do(stable: bool, admitted: list[str]) -> None:
    """None is taken in the place of a final release that was decided before: what rules that out is gone back on."""
    universe = Universe(problem("a>2"), DataCatalog({"a": {"1": [], "2": [], "3rc1": []}}))
    asked = universe.demand(*universe.roots())
    found = universe.candidates(Package("a"), asked, stable=stable)
    assert [str(one.version) for one in found] == admitted


def test_the_complete_engine_tries_what_was_yanked_last() -> None:
    catalog = DataCatalog({"a": {"1": [], "3rc1": []}})
    catalog.add_wheel("a", "2", yanked="broken")
    universe = Universe(problem("a"), catalog)
    assert [str(one.version) for one in universe.every(Package("a"))] == ["1", "3rc1", "2"]


def test_never_means_never() -> None:
    catalog = DataCatalog({"a": {"3rc1": []}})
    refused(problem("a>=3rc1", prereleases="never"), catalog)


def test_a_stable_release_without_a_file_for_the_target_does_not_count() -> None:
    catalog = DataCatalog({"a": {"1rc1": []}})
    catalog.add_wheel("a", "1", tags="cp312-none-any")
    assert pins(problem("a"), catalog) == {"a": "1rc1"}


def test_nor_does_one_that_a_fact_excludes() -> None:
    catalog = DataCatalog({"a": {"1": [], "2rc1": []}})
    assert pins(problem("a", facts=[excludes("a", "==1")]), catalog) == {"a": "2rc1"}


def test_a_stable_release_whose_needs_cannot_be_met_does_count() -> None:
    """No pre-release sneaks in because something else is wrong."""
    catalog = DataCatalog({"a": {"1": ["nowhere"], "2rc1": []}})
    refused(problem("a"), catalog)


def test_metadata_may_name_a_prerelease_for_another() -> None:
    catalog = DataCatalog({"a": {"1": []}, "b": {"1": ["a>=2rc1"]}, "c": {"1": ["a"]}})
    catalog.add_wheel("a", "2rc1")
    assert pins(problem("c", "b"), catalog) == {"a": "2rc1", "b": "1", "c": "1"}


def test_an_extra_gives_no_leave_for_a_prerelease_of_its_own_project() -> None:
    """`p 2` cannot be used, and `p[x] 2rc1` asking for `p 2rc1` does not name a pre-release."""
    catalog = DataCatalog({"p": {"2": ["p==1.*"], "2rc1": []}})
    refused(problem("p[x]"), catalog)
    refused(problem("p"), catalog)


def test_leave_may_come_from_another_branch_of_the_search() -> None:
    """The complete engine may not rule out for good what only this answer gave no leave for."""
    catalog = DataCatalog(
        {
            "p": {"1": [], "1.1": [], "2": ["p"], "2.post1": ["p"]},
            "q": {"1": ["p", "p<=1"], "1.1a1": ["r"], "2rc1": ["p"]},
            "r": {"1": ["q>=1,>=1.1a1", "p"], "1.1a1": []},
        }
    )
    assert pins(problem("q", "p", "p!=1.*"), catalog) == {"p": "2.post1", "q": "1.1a1", "r": "1"}


def test_a_prerelease_that_nothing_gives_leave_for_is_no_endless_search() -> None:
    """The SAT solver may set `q` though nothing that is chosen needs it."""
    catalog = DataCatalog({"p": {"3.1": ["q"], "3.dev1": []}, "q": {"1.1": ["p<=3"]}})
    refused(problem("p"), catalog)


# --- yanked releases: where the stack or a fact pins them, never by metadata


def yanked() -> DataCatalog:
    catalog = DataCatalog({"a": {"1": []}, "b": {"1": ["a==2"], "0": ["a"]}})
    catalog.add_wheel("a", "2", yanked="broken")
    return catalog


@pytest.mark.parametrize(
    ("ask", "taken"), [("a", "1"), ("a>=1", "1"), ("a==2", "2"), ("a===2", "2"), ("a!=1.*,==2", "2")]
)
def test_yanked(ask: str, taken: str) -> None:
    assert pins(problem(ask), yanked()) == {"a": taken}


@pytest.mark.parametrize("ask", ["a>1", "a==2.*", "a~=2.0", "b==1"])
def test_a_yanked_release_is_not_taken_without_a_pin(ask: str) -> None:
    refused(problem(ask), yanked())


def test_metadata_that_pins_one_is_passed_over() -> None:
    assert pins(problem("b"), yanked()) == {"a": "1", "b": "0"}


def test_a_fact_may_pin_one() -> None:
    assert pins(problem("b==0", facts=[requires("b", "==0", "a==2")]), yanked()) == {"a": "2", "b": "0"}


def test_a_pin_of_the_stack_serves_everyone() -> None:
    assert pins(problem("b", "a==2"), yanked()) == {"a": "2", "b": "1"}


def test_of_what_a_pin_admits_a_release_that_was_not_yanked_is_taken() -> None:
    """PEP 592: a yanked release is to be ignored if another one meets the constraints."""
    catalog = DataCatalog({"a": {"1": []}, "b": {"1": ["a>=1"]}})
    catalog.add_wheel("a", "1+cpu", yanked="broken")
    assert pins(problem("a==1", "b"), catalog) == {"a": "1", "b": "1"}
    assert pins(problem("a==1+cpu"), catalog) == {"a": "1+cpu"}


# --- the lock before


def test_what_still_fits_is_kept() -> None:
    catalog = DataCatalog({"a": {"1": [], "2": []}, "b": {"1": [], "2": []}})
    assert pins(problem("a", "b"), catalog, preferred={"a": "1"}) == {"a": "1", "b": "2"}


def test_what_does_not_fit_gives_way() -> None:
    catalog = DataCatalog({"a": {"1": [], "2": []}})
    assert pins(problem("a>1"), catalog, preferred={"a": "1"}) == {"a": "2"}
    assert pins(problem("a"), catalog, preferred={"a": "7"}) == {"a": "2"}


def test_a_lock_before_gives_no_leave_for_prereleases_and_yanked_releases() -> None:
    catalog = yanked()
    catalog.add_wheel("a", "3rc1")
    assert pins(problem("a"), catalog, preferred={"a": "3rc1"}) == {"a": "1"}
    assert pins(problem("a"), catalog, preferred={"a": "2"}) == {"a": "1"}


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
    with pytest.raises(FactError) as caught:
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


def test_the_check_finds_a_wheel_that_a_fact_builds() -> None:
    catalog = DataCatalog({"a": {"1": []}})
    catalog.add_archive("a", "1", members={"requirements.txt": ""})
    plain = problem("a")
    resolution = solved(plain, catalog)
    built = problem("a", facts=[builds("a", "==1")])
    assert "a 1 is a wheel, and a fact builds it from source" in check(built, resolution, catalog)


def test_the_check_finds_an_index_that_a_project_is_not_bound_to() -> None:
    catalog = DataCatalog()
    catalog.add_wheel("a", "1", index="elsewhere")
    catalog.bind("a", "elsewhere")
    resolution = solved(problem("a", indexes=catalog.indexes()), catalog)
    assert check(problem("a"), resolution, catalog) == ["a comes from `elsewhere`, which it is not bound to"]


def test_the_check_reports_metadata_that_cannot_be_read() -> None:
    catalog = DataCatalog({"a": {"1": []}})
    resolution = solved(problem("a"), catalog)
    broken = DataCatalog({"a": {"1": ["not a requirement!"]}})
    assert any(line.startswith("a-1-py3-none-any.whl: ") for line in check(problem("a"), resolution, broken))


def test_the_check_knows_the_python_that_metadata_asks_for() -> None:
    catalog = DataCatalog({"a": {"1": []}})
    resolution = solved(problem("a"), catalog)
    other = DataCatalog()
    other.add_wheel("a", "1", metadata_python=">=3.12")
    assert check(problem("a"), resolution, other) == ["a-1-py3-none-any.whl needs Python >=3.12"]


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


def test_the_check_lets_a_prerelease_be_where_no_final_release_is_usable() -> None:
    catalog = DataCatalog({"a": {"2rc1": [], "0.9": []}})
    catalog.add_wheel("a", "3", tags="cp312-none-any")
    catalog.add_wheel("a", "2", requires_python=">=3.12")
    catalog.add_wheel("a", "1", yanked="")
    solved(problem("a", facts=[excludes("a", "==0.9")]), catalog)


def test_versions_are_compared_as_versions() -> None:
    catalog = DataCatalog({"a": {"1.9": [], "1.10": [], "1.10.dev1": []}})
    (pin,) = solved(problem("a"), catalog).pins
    assert pin.version == Version("1.10")


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
