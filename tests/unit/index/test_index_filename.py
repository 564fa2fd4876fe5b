"""File names of wheels and source archives, and which files of a release a target can use."""

from __future__ import annotations

import datetime as dt

import pytest
from packaging.utils import NormalizedName

from resolver.index.parse.distribution import (
    Compatibility,
    CompatibleFiles,
    WheelParts,
    archive_version,
    is_readable,
    wheel_parts,
)
from resolver.model.release import File
from tests.problems import target


@pytest.mark.parametrize(
    ("filename", "parts"),
    [
        (
            "vllm-0.23.0-2-cp38-abi3-any.whl",
            WheelParts("vllm", "0.23.0", (2, ""), "cp38", "abi3", "any"),
        ),
        (
            "demo-1-03b_x-py2.py3-none-any.whl",
            WheelParts("demo", "1", (3, "b_x"), "py2.py3", "none", "any"),
        ),
        (
            "vllm_ascend-0.22.1rc1-cp311-cp311-manylinux_2_24_x86_64-910b.whl",
            WheelParts(
                "vllm_ascend", "0.22.1rc1", (), "cp311", "cp311", "manylinux_2_24_x86_64", "910b"
            ),
        ),
        (
            "demo-1-7-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64-a.any.whl",
            WheelParts(
                "demo",
                "1",
                (7, ""),
                "cp311",
                "cp311",
                "manylinux_2_17_x86_64.manylinux2014_x86_64",
                "a.any",
            ),
        ),
    ],
)
def test_wheel_parts(filename: str, parts: WheelParts) -> None:
    assert wheel_parts(filename) == parts


@pytest.mark.parametrize(
    ("filename", "project", "version"),
    [
        ("antlr4-python3-runtime-4.9.3.tar.gz", "antlr4-python3-runtime", "4.9.3"),
        ("antlr4_python3_runtime-4.9.3.tar.gz", "antlr4-python3-runtime", "4.9.3"),
        ("Zope.Interface-5.0.zip", "zope-interface", "5.0"),
        ("demo-1.0-1.tar.gz", "demo", "1.0-1"),
        ("demo-extra-1.0.tar.gz", "demo", "extra-1.0"),
        *(
            (name, "demo", None)
            for name in ("demo-1.0.tar.bz2", "other-1.0.tar.gz", "demo.tar.gz", "demo-.tar.gz")
        ),
    ],
)
def test_archive_version(filename: str, project: str, version: str | None) -> None:
    assert archive_version(filename, NormalizedName(project)) == version


@pytest.mark.parametrize(
    "filename",
    [
        *(
            "",
            ".",
            "..",
            "c- 1.0.tar.gz",
            "c-1.0 .tar.gz",
            "中文-1.0.tar.gz",
            "$a",
            "a`b",
            "a/b",
            "a\\b",
        ),
        *("a\nb", "a\x1b[31mb", "a\u202eb", "a\u2028b", "\ud800", "x" * 256),
    ],
)
def test_is_readable_refuses(filename: str) -> None:
    assert not is_readable(filename)


def test_is_readable_accepts() -> None:
    assert is_readable("demo-1.0+cpu-py3-none-any.whl")
    assert is_readable(
        "demo-1!1.0.post1-1a-cp311.cp312-abi3-manylinux_2_28_x86_64.manylinux2014_x86_64.whl"
    )


# --- which files of a release a target can use, in which order, and why not the others


PATCH = "needs certain patch releases of Python, and the target states none"
CUTOFF = dt.datetime(2026, 11, 20, tzinfo=dt.timezone.utc)


def screened(
    *files: File | str, python: str = "3.11", cutoff: dt.datetime | None = None
) -> CompatibleFiles:
    given = tuple(file if isinstance(file, File) else File(file) for file in files)
    return Compatibility(target(python), cutoff)(given)


def wheels(*files: File | str, python: str = "3.11") -> list[str]:
    return [file.filename for file in screened(*files, python=python).wheels]


def rejections(*files: File | str, cutoff: dt.datetime | None = None) -> list[str]:
    return list(map(str, screened(*files, cutoff=cutoff).rejections))


def test_compatibility_orders_wheels_by_best_tag() -> None:
    tags = [
        "cp311-cp311-manylinux_2_28_aarch64",
        "cp311-cp311-manylinux_2_17_aarch64.manylinux2014_aarch64",
    ]
    tags += [
        f"{begin}-manylinux_2_28_aarch64"
        for begin in ("cp311-abi3", "cp311-none", "cp38-abi3", "py3-none")
    ]
    best_first = [
        f"a-1-{one}.whl" for one in (*tags, "py311-none-any", "py3-none-any", "9-py30-none-any")
    ]
    assert wheels(*reversed(best_first)) == best_first
    assert wheels(*best_first) == best_first


def test_compatibility_orders_equal_tags_by_build() -> None:
    best_first = [f"a-1-{build}py3-none-any.whl" for build in ("10-", "9b-", "9a-", "9-", "")]
    assert wheels(*reversed(best_first)) == best_first


@pytest.mark.parametrize(
    ("requires_python", "predicate"),
    [
        *((text, "") for text in ("", ">=3.8", ">=3.11,<3.12", "==3.11.*", ">=3.11.0", "~=3.11.0")),
        *(
            (text, "") for text in (">=3.8.*", ">= 3.*, !=3.9.*, <4.*")
        ),  # in metadata from before packaging 22
        # a target that says 3.11 may be 3.11.0, and it may be 3.11.7
        *(
            (text, PATCH)
            for text in (">=3.11.4", "<=3.11", ">=3.8,<3.11.3", "==3.11", ">=3.8,!=3.11.1")
        ),
        *(
            (text, "needs a different Python")
            for text in (">=3.12", "!=3.11.*", "<3.11", ">=3.12.*")
        ),
    ],
)
def test_compatibility_requires_python(requires_python: str, predicate: str) -> None:
    expected = [f"a-1.tar.gz {predicate} (Requires-Python {requires_python})"] if predicate else []
    assert rejections(File("a-1.tar.gz", requires_python=requires_python)) == expected


@pytest.mark.parametrize("odd", ["three", "~=3.8.*"])
def test_compatibility_unreadable_requires_python(odd: str) -> None:
    told = f"a-1.tar.gz needs a different Python (Requires-Python `{odd}` cannot be read)"
    assert rejections(File("a-1.tar.gz", requires_python=odd)) == [told]


@pytest.mark.parametrize(
    ("uploaded", "told"),
    [
        *((f"2026-11-19T23:59:59{more}", "") for more in ("Z", ".999999Z", ".123456789Z", "")),
        ("2026-11-20T00:59:59+01:00", ""),
        *(
            (uploaded, f"was uploaded after the cut-off ({uploaded})")
            for uploaded in (
                "2026-11-20T00:00:00Z",
                "2026-11-20T00:00:00.1Z",
                "2026-11-19T23:59:59.5-01:00",
            )
        ),
        *(
            (uploaded, "has no upload time to compare with the cut-off")
            for uploaded in ("", "yesterday")
        ),
    ],
)
def test_compatibility_cut_off(uploaded: str, told: str) -> None:
    file = File("a-1-py3-none-any.whl", uploaded=uploaded)
    assert rejections(file, cutoff=CUTOFF) == ([f"{file.filename} {told}"] if told else [])
    assert wheels(file) == [file.filename]  # without a cut-off no time is needed
