"""Which files of a release a target can use, in which order, and why not the others."""

from __future__ import annotations

import datetime as dt

import pytest

from resolver.index.parse.distribution import Compatibility, CompatibleFiles
from resolver.model.release import File
from tests.problems import target

PATCH = "needs certain patch releases of Python, and the target states none"
CUTOFF = dt.datetime(2026, 11, 20, tzinfo=dt.timezone.utc)


def screened(*files: File | str, python: str = "3.11", cutoff: dt.datetime | None = None) -> CompatibleFiles:
    given = tuple(file if isinstance(file, File) else File(file) for file in files)
    return Compatibility(target(python), cutoff)(given)


def wheels(*files: File | str, python: str = "3.11") -> list[str]:
    return [file.filename for file in screened(*files, python=python).wheels]


def rejections(*files: File | str, cutoff: dt.datetime | None = None) -> list[str]:
    return list(map(str, screened(*files, cutoff=cutoff).rejections))


def test_wheels_come_in_the_order_of_their_best_tag() -> None:
    best_first = [
        "a-1-cp311-cp311-manylinux_2_28_aarch64.whl",
        "a-1-cp311-cp311-manylinux_2_17_aarch64.manylinux2014_aarch64.whl",
        "a-1-cp311-abi3-manylinux_2_28_aarch64.whl",
        "a-1-cp311-none-manylinux_2_28_aarch64.whl",
        "a-1-cp38-abi3-manylinux_2_28_aarch64.whl",
        "a-1-py3-none-manylinux_2_28_aarch64.whl",
        "a-1-py311-none-any.whl",
        "a-1-py3-none-any.whl",
        "a-1-9-py30-none-any.whl",
    ]
    assert wheels(*reversed(best_first)) == best_first
    assert wheels(*best_first) == best_first


def test_of_equal_tags_the_highest_build_wins_and_a_build_tag_goes_before_none() -> None:
    best_first = [
        "a-1-10-py3-none-any.whl",
        "a-1-9b-py3-none-any.whl",
        "a-1-9a-py3-none-any.whl",
        "a-1-9-py3-none-any.whl",
        "a-1-py3-none-any.whl",
    ]
    assert wheels(*reversed(best_first)) == best_first


@pytest.mark.parametrize(
    ("tags", "python", "usable"),
    [
        ("py2.py3-none-any", "3.11", True),
        ("py2-none-any", "3.11", False),
        ("py3-none-any", "3.11", True),
        ("cp38-abi3-manylinux2014_aarch64", "3.11", True),
        ("cp312-abi3-manylinux2014_aarch64", "3.11", False),
        ("cp310.cp311-cp310.cp311-manylinux2014_aarch64", "3.11", True),
        ("cp310-cp310-manylinux2014_aarch64", "3.11", False),
        ("cp311-cp311-manylinux_2_28_aarch64", "3.11.14", True),
        ("CP311-cp311-Manylinux_2_28_aarch64", "3.11", True),
        ("cp311-cp311-manylinux_2_34_aarch64", "3.11", False),
        ("cp311-cp311-manylinux_2_28_x86_64", "3.11", False),
        ("cp311-cp311-musllinux_1_2_aarch64", "3.11", False),
        ("cp311-cp311-macosx_11_0_arm64", "3.11", False),
        ("cp313-cp313t-manylinux_2_28_aarch64", "3.13", False),
        ("cp311-cp311-manylinux_2_28_aarch64-910b", "3.11", False),
    ],
)
def test_tags(tags: str, python: str, usable: bool) -> None:
    assert bool(wheels(f"a-1-{tags}.whl", python=python)) is usable


def test_archives_are_kept_apart_tar_gz_first() -> None:
    found = screened("a-1.zip", "a-1-py3-none-any.whl", "a-1.tar.gz")
    assert [file.filename for file in found.archives] == ["a-1.tar.gz", "a-1.zip"]
    assert [file.filename for file in found.wheels] == ["a-1-py3-none-any.whl"]


@pytest.mark.parametrize(
    ("requires_python", "predicate"),
    [
        ("", ""),
        (">=3.8", ""),
        (">=3.11,<3.12", ""),
        ("==3.11.*", ""),
        (">=3.11.0", ""),
        ("~=3.11.0", ""),
        (">=3.11.4", f"{PATCH} (Requires-Python >=3.11.4)"),  # a target that says 3.11 may be 3.11.0
        ("<=3.11", f"{PATCH} (Requires-Python <=3.11)"),  # and it may be 3.11.7
        (">=3.8,<3.11.3", f"{PATCH} (Requires-Python >=3.8,<3.11.3)"),
        ("==3.11", f"{PATCH} (Requires-Python ==3.11)"),
        (">=3.8,!=3.11.1", f"{PATCH} (Requires-Python >=3.8,!=3.11.1)"),
        (">=3.12", "needs a different Python (Requires-Python >=3.12)"),
        ("!=3.11.*", "needs a different Python (Requires-Python !=3.11.*)"),
        ("<3.11", "needs a different Python (Requires-Python <3.11)"),
        (">=3.12.*", "needs a different Python (Requires-Python >=3.12.*)"),
        (">=3.8.*", ""),  # in metadata from before packaging 22
        (">= 3.*, !=3.9.*, <4.*", ""),
        ("three", "needs a different Python (Requires-Python `three` cannot be read)"),
        ("~=3.8.*", "needs a different Python (Requires-Python `~=3.8.*` cannot be read)"),
    ],
)
def test_requires_python(requires_python: str, predicate: str) -> None:
    expected = [f"a-1.tar.gz {predicate}"] if predicate else []
    assert rejections(File("a-1.tar.gz", requires_python=requires_python)) == expected


@pytest.mark.parametrize(
    ("uploaded", "told"),
    [
        ("2026-11-19T23:59:59Z", ""),
        ("2026-11-19T23:59:59.999999Z", ""),
        ("2026-11-19T23:59:59.123456789Z", ""),
        ("2026-11-20T00:59:59+01:00", ""),
        ("2026-11-19T23:59:59", ""),
        ("2026-11-20T00:00:00Z", "was uploaded after the cut-off (2026-11-20T00:00:00Z)"),
        ("2026-11-20T00:00:00.1Z", "was uploaded after the cut-off (2026-11-20T00:00:00.1Z)"),
        ("2026-11-19T23:59:59.5-01:00", "was uploaded after the cut-off (2026-11-19T23:59:59.5-01:00)"),
        ("", "has no upload time to compare with the cut-off"),
        ("yesterday", "has no upload time to compare with the cut-off"),
    ],
)
def test_cut_off(uploaded: str, told: str) -> None:
    file = File("a-1-py3-none-any.whl", uploaded=uploaded)
    assert rejections(file, cutoff=CUTOFF) == ([f"{file.filename} {told}"] if told else [])
    assert wheels(file) == [file.filename]  # without a cut-off no time is needed
