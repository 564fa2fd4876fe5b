"""A project's releases in order, as bit masks, and which file of a release is taken."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.index.parse.distribution import Compatibility
from resolver.model.dependency import ModuleOwner, ReleaseMask
from resolver.model.problem import PYPI
from resolver.model.release import Release
from resolver.resolve.project import OrderedReleases, Project
from tests.datacatalog import DataCatalog
from tests.problems import pins, problem, target


def project(catalog: DataCatalog) -> Project:
    name = NormalizedName("a")
    return Project(name, OrderedReleases(catalog.lookup(name)), Compatibility(target(), None), ())


def of_versions(versions: Iterable[str]) -> Project:
    return project(DataCatalog({"a": dict.fromkeys(versions, ())}))


_numbers = st.lists(st.integers(0, 3), min_size=1, max_size=3).map(
    lambda parts: ".".join(map(str, parts))
)
_version_texts = st.builds(
    "{}{}{}{}{}".format,
    _numbers,
    st.sampled_from(("", "", "a1", "rc2")),
    st.sampled_from(("", "", ".post1")),
    st.sampled_from(("", "", "", ".dev2")),
    st.sampled_from(("", "", "", "+cpu", "+cpu.2")),
)
_public = _version_texts.map(lambda text: text.partition("+")[0])
_specifiers = st.one_of(
    st.builds("{}{}".format, st.sampled_from((">=", "<=", ">", "<")), _public),
    st.builds("{}{}".format, st.sampled_from(("==", "!=", "===")), _version_texts),
    st.builds("{}{}.*".format, st.sampled_from(("==", "!=")), _numbers),
    st.builds("~={}.{}".format, st.integers(0, 3), _public),
)


@given(
    st.lists(_version_texts, unique_by=Version, max_size=12),
    st.lists(_specifiers, max_size=3).map(",".join),
)
def test_mask_is_what_the_specifier_contains(versions: list[str], specifier: str) -> None:
    some, specifiers = of_versions(versions), SpecifierSet(specifier)
    expected = [
        version for version in some.versions if specifiers.contains(version, prereleases=True)
    ]
    assert [
        some.versions[position] for position in some.positions(some.mask(specifiers))
    ] == expected
    assert some.versions == sorted(map(Version, versions), reverse=True)
    assert some.stable == sum(
        1 << at for at, version in enumerate(some.versions) if not version.is_prerelease
    )
    assert all(some.position(version) == at for at, version in enumerate(some.versions))


def test_mask_of_a_module_owner_is_empty() -> None:
    some = of_versions(["1"])
    assert (
        some.mask(ReleaseMask(0)) == some.mask(ModuleOwner("a")) == some.mask(ReleaseMask(2)) == 0
    )


def taken(project: Project, version: str) -> Release:
    release = project.release(project.versions.index(Version(version)))
    assert isinstance(release, Release), list(map(str, release))
    return release


def test_release_is_from_the_first_index_that_has_it() -> None:
    catalog = DataCatalog()
    catalog.bind("a", "huawei", "pypi")
    catalog.add_wheel("a", "1.0", index="pypi")
    catalog.add_wheel("a", "1", index="huawei")
    catalog.add_wheel("a", "2", index="pypi")
    some = project(catalog)
    assert [str(version) for version in some.versions] == ["2", "1"]
    assert (taken(some, "1").index, taken(some, "1").file.filename) == (
        "huawei",
        "a-1-py3-none-any.whl",
    )
    assert taken(some, "2").index == "pypi"


def test_yanked_files_give_way_to_others() -> None:
    catalog = DataCatalog()
    catalog.add_wheel("a", "1", tags="cp311-cp311-manylinux_2_17_aarch64", yanked="broken")
    catalog.add_wheel("a", "1")
    catalog.add_wheel("a", "2", yanked="")
    catalog.add_wheel("a", "3", yanked="broken")
    catalog.add_archive("a", "3")
    catalog.add_wheel("a", "4", yanked="broken")
    catalog.add_archive("a", "4", yanked="broken")
    some = project(catalog)
    assert (taken(some, "3").file.filename, taken(some, "3").yanked) == ("a-3.tar.gz", False)
    assert (taken(some, "4").file.filename, taken(some, "4").yanked) == (
        "a-4-py3-none-any.whl",
        True,
    )
    assert (taken(some, "1").file.filename, taken(some, "1").yanked) == (
        "a-1-py3-none-any.whl",
        False,
    )
    assert taken(some, "2").yanked


def test_release_yanked_on_one_index_is_from_another() -> None:
    catalog = DataCatalog()
    for version, yanked in (("1", None), ("2", "broken")):
        catalog.add_wheel("a", version, yanked="broken")
        catalog.add_wheel("a", version, index="two", yanked=yanked)
    catalog.bind("a", PYPI, "two")
    some = project(catalog)
    assert [(taken(some, one).index, taken(some, one).yanked) for one in "12"] == [
        ("two", False),
        (PYPI, True),
    ]
    catalog.add_wheel("a", "3rc1")
    assert pins(problem("a", indexes=catalog.indexes()), catalog) == {"a": "1"}
