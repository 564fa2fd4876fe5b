"""The check counts what could be taken, and nothing else: odd files beside good ones are no reason to doubt a lock."""

from __future__ import annotations

import datetime as dt

import pytest
from msgspec.structs import replace
from packaging.utils import canonicalize_name

from resolver.model.problem import PYPI
from resolver.model.release import File
from resolver.resolve.check import check
from resolver.resolve.solver import solve_builds
from tests.datacatalog import DataCatalog
from tests.problems import pins, problem, solved

_BEST = "cp311-cp311-manylinux_2_28_aarch64"
_MANY = ".".join(f"manylinux_2_{number}_aarch64" for number in range(5, 40))


def add(catalog: DataCatalog, name: str, *files: File) -> None:
    """Put further files of its release 1 on a project's page."""
    catalog._pages[canonicalize_name(name), PYPI]["1"] += files


def file(filename: str, digest: str = "b", **more: str) -> File:
    return File(filename=filename, sha256=digest * 64, **more)


@pytest.mark.parametrize(
    "odd",
    [
        [file(f"a_b-1-{_BEST}.whl", "b"), file(f"a_b-1-{_BEST}.whl", "c")],
        [file(f"a__b-1-{_BEST}.whl")],
        [file("a_b-1-py3..cp3-none-any.whl")],
        [file("a_b-1-.py3-none-linux_aarch64.whl")],
        [file(f"a_b-1-{'.'.join(['cp311'] * 6)}-{'.'.join(['cp311'] * 6)}-{_MANY}.whl")],
    ],
    ids=["there twice", "no name", "an empty tag", "a tag that begins with a dot", "more tags than there are"],
)
def test_a_better_wheel_that_nobody_can_take(odd: list[File]) -> None:
    catalog = DataCatalog({"a-b": {"1": []}})
    add(catalog, "a-b", *odd)
    assert pins(problem("a-b"), catalog) == {"a-b": "1"}
    assert solved(problem("a-b"), catalog).pins[0].release.file.filename == "a_b-1-py3-none-any.whl"


@pytest.mark.parametrize("filename", ["a- 1.tar.gz", "a-1 .tar.gz", "a-1.tar.gz\n"])
def test_an_archive_with_white_space_in_its_name(filename: str) -> None:
    wanted = problem("a")
    answer = solved(wanted, DataCatalog({"a": {"1": []}}))
    (pin,) = answer.pins
    odd = replace(pin.release, file=file(filename))
    assert f"{filename} has characters that no name of a wheel or source archive has" in check(
        wanted, replace(answer, pins=(replace(pin, release=odd),)), DataCatalog({"a": {"1": []}})
    )


@pytest.mark.parametrize(
    "uploaded", ["2026-01-31", "20260131T235959Z", "2026-01-31T23:59Z", "2026-W05-6", "2026-02-01T00:00:00.7Z", ""]
)
def test_a_better_wheel_of_a_time_that_is_none_or_not_before_the_cut_off(uploaded: str) -> None:
    cutoff = dt.datetime(2026, 2, 1, 0, 0, 0, 500_000, tzinfo=dt.timezone.utc)
    catalog = DataCatalog()
    catalog.add_wheel("a", "1", uploaded="2026-02-01t00:00:00.4z")
    add(catalog, "a", file(f"a-1-{_BEST}.whl", uploaded=uploaded))
    (pin,) = solved(problem("a", exclude_newer=cutoff), catalog).pins
    assert pin.release.file.filename == "a-1-py3-none-any.whl"


def test_a_final_release_that_nobody_can_take_is_none_that_fits() -> None:
    catalog = DataCatalog({"a": {"1": [], "2a1": []}})
    (known,) = catalog._pages[canonicalize_name("a"), PYPI]["1"]
    add(catalog, "a", replace(known, sha256="c" * 64))
    assert pins(problem("a"), catalog) == {"a": "2a1"}


def test_a_build_tool_of_which_a_pre_release_alone_has_a_wheel() -> None:
    catalog = DataCatalog({"tool": {"2rc1": []}})
    catalog.add_archive("tool", "1")
    catalog.add_archive("made", "1", build_requires=["tool"])
    (build,) = solve_builds(solved(problem("made"), catalog), catalog)
    assert [(pin.name, str(pin.version)) for pin in getattr(build.answer, "pins", ())] == [("tool", "2rc1")]
