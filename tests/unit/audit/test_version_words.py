"""Versions and names as documents write them."""

from __future__ import annotations

import pytest
from packaging.specifiers import SpecifierSet

from resolver.audit.version_words import (
    Wanted,
    has_name,
    same_version,
    stated_versions,
    versions_in,
)


@pytest.mark.parametrize(
    ("text", "versions"),
    [
        ("| v0.13.0rc3 | CANN8.5.1 |", ["0.13.0rc3", "8.5.1"]),
        ("cann:8.3.rc1-910b-ubuntu22.04-py3.11", ["8.3.rc1", "22.04", "3.11"]),
        (
            "2.9.0.post1+git4c901a4, 3.2.0.dev20260322.",
            ["2.9.0.post1+git4c901a4", "3.2.0.dev20260322"],
        ),
        ("25.0.X and 8.5.0.B160", ["25.0.X", "8.5.0.B160"]),
        ("release 8.5.1.", ["8.5.1"]),
        ("8.5.0x, 1a2b and 8.5.1beta", []),
        ("v1.2.3.4", ["1.2.3.4"]),
        ("libjpeg.so.8.2", []),
    ],
)
def test_versions_in_has_whole_versions(text: str, versions: list[str]) -> None:
    assert versions_in(text) == versions


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("8.3.rc1", "8.3.RC1", True),
        ("2", "2.0", True),
        ("0.13.0-rc3", "0.13.0rc3", True),
        ("2.8.0+cpu", "2.8.0", True),
        ("2.8.0", "2.8.0+cpu", False),
        ("8.5.0.B160", "8.5.0", False),
        ("8.5.1", "8.5.10", False),
        ("2.8.0.post2", "2.8.0", False),
    ],
)
def test_same_version_compares_versions_and_not_texts(first: str, second: str, same: bool) -> None:
    assert same_version(first, second) is same


@pytest.mark.parametrize(
    ("wanted", "token", "met"),
    [
        (Wanted("8.5", is_line=True), "8.5.1", True),
        (Wanted("8.5", is_line=True), "8.50", False),
        (Wanted("25.0.rc1"), "25.0.X", True),
        (Wanted("25.0.1"), "25.0.X", False),
        (Wanted("<2", admitted=SpecifierSet("<2"), bounds=("2",)), "1.9", True),
        (Wanted("<2", admitted=SpecifierSet("<2"), bounds=("2",)), "2.0", True),
        (Wanted("<2", admitted=SpecifierSet("<2"), bounds=("2",)), "2.1", False),
    ],
)
def test_wanted_line_and_range(wanted: Wanted, token: str, met: bool) -> None:
    assert wanted.is_met_by(token) is met


@pytest.mark.parametrize(
    ("text", "name", "there"),
    [
        ("torch_npu 2.8", "torch-npu", True),
        ("vLLM Ascend", "vllm-ascend", True),
        ("torch-npu", "torch", False),
        ("intel-torch", "torch", False),
        ("pytorch", "torch", False),
        ("import torch.nn", "torch", True),
        ("ARG VLLM_TAG=v1", "vllm", True),
        ("MIN_TORCH_VERSION = 2", "torch", True),
        ("cann:8.5.0-910b-ubuntu", "soc:A2", True),
        ("cann:8.5.0-910b-ubuntu", "soc:A3", False),
        ("DATA2", "soc:A2", False),
    ],
)
def test_has_name_finds_names_and_no_parts_of_them(text: str, name: str, there: bool) -> None:
    assert has_name(text, [name]) is there


@pytest.mark.parametrize(
    ("text", "versions"),
    [
        ("torch==2.8.0", ["2.8.0"]),
        ("torch[a] >= 2.1, <3, !=2.5", ["2.1", "3", "2.5"]),
        ('torch = "2.6"', ["2.6"]),
        ("torch-npu==2.8.0", []),
        ("torch and lib==2.8.0", []),
    ],
)
def test_stated_versions_are_those_of_the_name(text: str, versions: list[str]) -> None:
    assert stated_versions(text, ["torch"]) == versions
