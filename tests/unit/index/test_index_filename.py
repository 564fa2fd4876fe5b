"""File names of wheels and source archives."""

from __future__ import annotations

import pytest
from packaging.utils import NormalizedName

from resolver.index.parse.distribution import WheelParts, archive_version, is_readable, wheel_parts


@pytest.mark.parametrize(
    ("filename", "parts"),
    [
        ("vllm-0.23.0-2-cp38-abi3-any.whl", WheelParts("vllm", "0.23.0", (2, ""), "cp38", "abi3", "any")),
        ("demo-1-03b_x-py2.py3-none-any.whl", WheelParts("demo", "1", (3, "b_x"), "py2.py3", "none", "any")),
        (
            "vllm_ascend-0.22.1rc1-cp311-cp311-manylinux_2_24_x86_64-910b.whl",
            WheelParts("vllm_ascend", "0.22.1rc1", (), "cp311", "cp311", "manylinux_2_24_x86_64-910b"),
        ),
        (
            "demo-1-7-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64-a.any.whl",
            WheelParts(
                "demo", "1", (7, ""), "cp311", "cp311", "manylinux_2_17_x86_64-a_any.manylinux2014_x86_64-a_any"
            ),
        ),
    ],
)
def test_the_parts_of_a_wheel(filename: str, parts: WheelParts) -> None:
    assert wheel_parts(filename) == parts


@pytest.mark.parametrize(
    ("filename", "project", "version"),
    [
        ("antlr4-python3-runtime-4.9.3.tar.gz", "antlr4-python3-runtime", "4.9.3"),
        ("antlr4_python3_runtime-4.9.3.tar.gz", "antlr4-python3-runtime", "4.9.3"),
        ("Zope.Interface-5.0.zip", "zope-interface", "5.0"),
        ("demo-1.0-1.tar.gz", "demo", "1.0-1"),
        ("demo-extra-1.0.tar.gz", "demo", "extra-1.0"),
        *((name, "demo", None) for name in ("demo-1.0.tar.bz2", "other-1.0.tar.gz", "demo.tar.gz", "demo-.tar.gz")),
    ],
)
def test_the_version_of_an_archive(filename: str, project: str, version: str | None) -> None:
    assert archive_version(filename, NormalizedName(project)) == version


@pytest.mark.parametrize(
    "filename",
    [
        *("", ".", "..", "c- 1.0.tar.gz", "c-1.0 .tar.gz", "中文-1.0.tar.gz", "$a", "a`b", "a/b", "a\\b"),
        *("a\nb", "a\x1b[31mb", "a\u202eb", "a\u2028b", "\ud800", "x" * 256),
    ],
)
def test_names_not_fit_to_be_shown(filename: str) -> None:
    assert not is_readable(filename)


def test_names_fit_to_be_shown() -> None:
    assert is_readable("demo-1.0+cpu-py3-none-any.whl")
    assert is_readable("demo-1!1.0.post1-1a-cp311.cp312-abi3-manylinux_2_28_x86_64.manylinux2014_x86_64.whl")
