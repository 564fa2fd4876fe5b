"""Targets: markers and tags as pip has them on the machine, and what wheels need beyond them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging import _manylinux
from packaging.markers import default_environment

from resolver.index.parse.distribution import Compatibility
from resolver.model.release import File
from resolver.model.target import Target, missing_on_machine, tag_values
from tests.problems import target


def test_target_markers_are_complete() -> None:
    markers = target("3.11", "linux-aarch64").markers
    assert markers.keys() == {*default_environment(), "extra"}
    stated = (
        "platform_machine",
        "python_full_version",
        "python_version",
        "implementation_name",
        "platform_release",
    )
    assert [markers[key] for key in stated] == ["aarch64", "3.11.0", "3.11", "cpython", ""]


def _platforms_of_packaging(here: Target, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The platform tags that packaging, and so pip, finds on a machine with this glibc."""
    monkeypatch.setattr(_manylinux, "_get_glibc_version", lambda: here.glibc)
    monkeypatch.setattr(_manylinux, "_have_compatible_abi", lambda *_: True)
    monkeypatch.setattr(_manylinux, "_is_compatible", lambda *_: True)
    return [*_manylinux.platform_tags([here.machine]), f"linux_{here.machine}"]


_PIP = """
import sys
from pip._internal.models.target_python import TargetPython
python = TargetPython(sys.argv[1].split(","), tuple(map(int, sys.argv[2].split("."))), None, "cp")
print(*(getattr(python, "get_sorted_tags", None) or python.get_tags)())
"""


@pytest.mark.parametrize(
    ("python", "glibc"), [("3.11", "2.28"), ("3.13.1", "2.17"), ("3.9", "2.34")]
)
def test_target_tags_are_in_the_order_of_pip(
    python: str, glibc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = target(python, "linux-aarch64", glibc)
    platforms = ",".join(_platforms_of_packaging(here, monkeypatch))
    run = subprocess.run(
        [sys.executable, "-c", _PIP, platforms, python], capture_output=True, text=True, check=True
    )
    assert list(here.tags) == list(dict.fromkeys(run.stdout.split()))


# --- what a wheel's name says it needs and a target lacks, compared with the target's tags

TARGET = target()
MACHINE = tag_values(TARGET)


@pytest.mark.parametrize(
    ("tags", "needs"),
    [
        ("cp312-cp312-manylinux_2_17_aarch64.manylinux2014_aarch64", {"python": "3.12"}),
        ("cp311-cp311-manylinux_2_31_aarch64", {"glibc": "2.31"}),
        ("cp311-cp311-manylinux_2_31_x86_64", {"processor": "x86_64"}),
        ("cp39-cp39-linux_ppc64le", {"processor": "ppc64le", "python": "3.9"}),
        ("cp39-abi3-manylinux_2_31_aarch64", {"glibc": "2.31"}),
        ("cp312-abi3-manylinux2014_aarch64", {"python": "3.12"}),
        ("cp311-cp311t-linux_aarch64", {"python": "3.11 (free-threaded)"}),
        ("pp310-pypy310_pp73-manylinux2014_aarch64", {"python": "PyPy 3.10"}),
        ("py2-none-any", {"python": "2"}),
        ("cp311-cp311-macosx_11_0_arm64", {"system": "macOS"}),
        ("cp311-cp311-win_amd64", {"system": "Windows"}),
        ("cp311-cp311-musllinux_1_1_aarch64", {"system": "musl"}),
        ("cp311-cp311-manylinux_2_28_aarch64-910b", {}),
    ],
)
def test_missing_on_machine_names_what_a_wheel_needs(tags: str, needs: dict[str, str]) -> None:
    assert missing_on_machine(f"a-1-{tags}.whl", MACHINE) == needs


def test_missing_on_machine_is_empty_for_other_files() -> None:
    names = ("a-1.tar.gz", "a.whl", "a-1-cp312-cp312-\u2603.whl")
    assert [missing_on_machine(name, MACHINE) for name in names] == [{}, {}, {}]


@settings(max_examples=150)
@given(
    st.sampled_from(
        ["cp311", "cp312", "cp39", "cp310.cp311", "py3", "py2.py3", "py2", "pp310", "cp313"]
    ),
    st.sampled_from(["none", "abi3", "cp311", "cp312", "cp311t", "pypy310_pp73"]),
    st.sampled_from(
        [
            *(
                "any",
                "linux_aarch64",
                "manylinux2014_x86_64",
                "manylinux_2_17_aarch64.manylinux2014_aarch64",
            ),
            *("manylinux_2_31_aarch64", "win_amd64", "macosx_11_0_arm64.macosx_12_0_arm64"),
        ]
    ),
)
def test_missing_on_machine_is_empty_for_usable_wheels(
    python: str, abi: str, platform: str
) -> None:
    """Law: only of a wheel that the target does not take something is told."""
    name = f"a-1-{python}-{abi}-{platform}.whl"
    if Compatibility(TARGET, None)((File(filename=name),)).wheels:
        assert missing_on_machine(name, MACHINE) == {}
