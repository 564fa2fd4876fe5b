"""File names of wheels and source archives."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.utils import NormalizedName

from resolver.catalog.parse.filename import (
    WheelParts,
    archive_version,
    are_printable,
    is_readable,
    plain_runs,
    wheel_parts,
    wheel_release,
)
from resolver.model import text

ALLOWED = string.ascii_letters + string.digits + "._+!-"


@pytest.mark.parametrize(
    ("filename", "parts"),
    [
        ("trl-1.6.0-py3-none-any.whl", WheelParts("trl", "1.6.0", (), "py3", "none", "any")),
        (
            "torch-2.8.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl",
            WheelParts("torch", "2.8.0+cpu", (), "cp311", "cp311", "manylinux_2_28_x86_64"),
        ),
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
    "filename",
    [
        "demo-1.tar.gz",
        "demo-1.whl",
        "demo-1-py3-none.whl",
        "demo-1-x-y-py3-none-any.whl",
        "demo--py3-none-any.whl",
        "-1-py3-none-any.whl",
        "demo-1-py3-none-.whl",
        "d mo-1-py3-none-any.whl",
        "demo-1-1-2-3-py3-none-any.whl",
        ".whl",
    ],
)
def test_what_is_no_wheel(filename: str) -> None:
    assert wheel_parts(filename) is None


@pytest.mark.parametrize(
    ("filename", "project", "version"),
    [
        ("antlr4-python3-runtime-4.9.3.tar.gz", "antlr4-python3-runtime", "4.9.3"),
        ("antlr4_python3_runtime-4.9.3.tar.gz", "antlr4-python3-runtime", "4.9.3"),
        ("Zope.Interface-5.0.zip", "zope-interface", "5.0"),
        ("demo-1.0-1.tar.gz", "demo", "1.0-1"),
        ("demo-extra-1.0.tar.gz", "demo", "extra-1.0"),
        ("demo-1.0.tar.bz2", "demo", None),
        ("other-1.0.tar.gz", "demo", None),
        ("demo.tar.gz", "demo", None),
        ("demo-.tar.gz", "demo", None),
    ],
)
def test_the_version_of_an_archive(filename: str, project: str, version: str | None) -> None:
    assert archive_version(filename, NormalizedName(project)) == version


@pytest.mark.parametrize(
    "filename",
    [
        "",
        ".",
        "..",
        "\ud800",
        "x" * 256,
        *(f"demo-1.0{char}.zip" for char in map(chr, range(256)) if char not in ALLOWED),
    ],
)
def test_names_of_other_characters(filename: str) -> None:
    assert not is_readable(filename)


def test_names_of_the_characters_of_the_specifications() -> None:
    assert is_readable("Demo_a.b-1!1.0+cpu-7x-cp311-cp311-manylinux_2_28_x86_64.whl")
    assert is_readable(f"demo-{ALLOWED}.tar.gz")


_PIECES = [
    "a",
    "A",
    "b",
    "-",
    "-",
    "-",
    "_",
    ".",
    "1",
    "2.0",
    "py3",
    "none",
    "any",
    "ſ",
    "\x7f",
    "é",
    ".whl",
    ".zip",
    ".tar.gz",
]


@settings(max_examples=500)
@given(
    st.lists(st.lists(st.sampled_from(_PIECES), min_size=3, max_size=14).map("".join), min_size=1, max_size=6),
    st.sampled_from([NormalizedName("a"), NormalizedName("a-b"), NormalizedName("a-1")]),
)
def test_many_names_at_once_are_read_as_each_alone(filenames: list[str], project: NormalizedName) -> None:
    filenames += [f"{project.replace('-', '_')}-{row}" for row in filenames]
    filenames += [f"{row}-py3-none-any.whl" for row in filenames]
    readable = [filename for filename in filenames if is_readable(filename)]
    versions = [version for version, count in plain_runs(readable, project) for _ in range(count)]
    for filename, version in zip(readable, versions, strict=True):
        wheel = wheel_release(filename) if filename.endswith(".whl") else None
        ours = wheel is not None and text.name(wheel[0]) == project
        alone = (
            (wheel[1] if wheel and ours else None) if filename.endswith(".whl") else archive_version(filename, project)
        )
        assert version in ("", alone), filename
        common = ours and filename.count("-") == 4
        assert version == alone or not common, filename  # what is common is told at once


@given(st.lists(st.text(max_size=6) | st.just("\x7f") | st.just("\x1f"), max_size=5))
def test_texts_are_printable_as_python_has_it(texts: list[str]) -> None:
    assert are_printable("".join(texts)) == "".join(texts).isprintable()
