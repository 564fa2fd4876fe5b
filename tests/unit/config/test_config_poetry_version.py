"""The version constraints of Poetry: each example of its documentation, and hostile ones."""

from __future__ import annotations

import time

import pytest
from packaging.markers import Marker
from packaging.specifiers import SpecifierSet

from resolver.config.requirement_files.poetry_version import (
    platform_marker,
    python_marker,
    specifier,
    specifiers,
)


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        # "Caret requirements"
        ("^1.2.3", ">=1.2.3,<2.0.0"),
        ("^1.2", ">=1.2.0,<2.0.0"),
        ("^1", ">=1.0.0,<2.0.0"),
        ("^0.2.3", ">=0.2.3,<0.3.0"),
        ("^0.0.3", ">=0.0.3,<0.0.4"),
        ("^0.0", ">=0.0.0,<0.1.0"),
        ("^0", ">=0.0.0,<1.0.0"),
        ("^0.1.13", ">=0.1.13,<0.2.0"),
        # "Tilde requirements"
        ("~1.2.3", ">=1.2.3,<1.3.0"),
        ("~1.2", ">=1.2.0,<1.3.0"),
        ("~1", ">=1.0.0,<2.0.0"),
        ("~0.2.3", ">=0.2.3,<0.3.0"),
        # "Compatible release requirements"
        ("~=1.2.3", ">=1.2.3,<1.3.0"),
        ("~=1.2", ">=1.2.0,<2.0.0"),
        # "Wildcard requirements"
        ("*", ""),
        ("1.*", ">=1.0.0,<2.0.0"),
        ("1.2.*", ">=1.2.0,<1.3.0"),
        # "Inequality requirements", "Multiple requirements", "Exact requirements"
        (">= 1.2.0", ">=1.2.0"),
        ("> 1", ">1"),
        ("< 2", "<2"),
        ("!= 1.2.3", "!=1.2.3"),
        (">= 1.2, < 1.5", ">=1.2,<1.5"),
        (">=1.2 <1.5", ">=1.2,<1.5"),
        ("1.2.3", "==1.2.3"),
        ("==1.2.3", "==1.2.3"),
        # of other pages
        ("^2.0a1", ">=2.0a1,<3.0"),
        ("^v1.2", ">=1.2,<2"),
        ("^1!2.3", ">=1!2.3,<1!3"),
        ("19.10b0", "==19.10b0"),
        ("!=1.5.*", "!=1.5.*"),
    ],
)
def test_poetry_version_is_a_specifier(constraint: str, expected: str) -> None:
    text = specifier(constraint)
    assert text is not None
    candidates = [
        f"{epoch}{major}.{minor}.{patch}"
        for epoch in ("", "1!")
        for major in range(4)
        for minor in (0, 1, 2, 3, 5)
        for patch in (0, 3, 4, 13)
    ]
    candidates += ["2.0a1", "19.10b0", "1.2.3.post1"]
    admitted = list(SpecifierSet(text).filter(candidates, prereleases=True))
    assert admitted == list(SpecifierSet(expected).filter(candidates, prereleases=True))


@pytest.mark.parametrize(
    "constraint", ["^", "~x", "^1 || ^2", ">=1.*", "hunter2", "1..2", "^1 2x", "1" * 2_000, "@1"]
)
def test_poetry_version_of_another_form_is_none(constraint: str) -> None:
    assert specifier(constraint) is None


def test_poetry_version_has_alternatives() -> None:
    assert specifiers("^3.8 || 3.12.*|>=4") == [">=3.8,<4.0", "==3.12.*", ">=4"]
    assert specifiers("^3.8 || hunter2") is None


@pytest.mark.parametrize(
    ("constraint", "holds", "fails"),
    [
        ("<3.11", "3.10", "3.11"),
        ("^3.9", "3.12", "3.8"),
        (">=3.6,<3.8", "3.7", "3.8"),
        ("3.9.*", "3.9", "3.10"),
        ("~3.9", "3.9", "3.10"),
        ("3.8.* || ^3.11", "3.12", "3.10"),
        ("!=3.9.*", "3.8", "3.9"),
        # 3.11.4 is newer than 3.11
        ("<=3.11", "3.10", "3.11"),
        (">3.9,<=3.11", "3.9", "3.11"),
        ("<=3", "2.7", "3.0"),
        ("~3.10", "3.10", "3.11"),
        ("^3.10", "3.12", "4.0"),
    ],
)
def test_poetry_python_is_a_marker(constraint: str, holds: str, fails: str) -> None:
    text = python_marker(constraint)
    assert text is not None
    for python, expected in ((holds, True), (fails, False)):
        environment = {"python_version": python, "python_full_version": f"{python}.4"}
        assert Marker(text).evaluate(environment) is expected


def test_poetry_python_compares_whole_versions() -> None:
    """As poetry-core 2.5.0 writes them. A pre-release gets no zeros behind it."""
    assert python_marker("<=3.11") == "python_full_version <= '3.11.0'"
    assert python_marker(">3") == "python_full_version > '3.0.0'"
    assert python_marker("!=3.9") == "python_full_version != '3.9.0'"
    assert python_marker("<3.11.2") == "python_full_version < '3.11.2'"
    assert python_marker("<3.11") == "python_version < '3.11'"
    assert python_marker("3.10") == "python_version == '3.10'"
    assert python_marker(">3.12rc1") == "python_full_version > '3.12rc1'"


def test_poetry_platform_is_a_marker() -> None:
    assert platform_marker("linux") == "sys_platform == 'linux'"
    assert platform_marker("!=win32") == "sys_platform != 'win32'"
    assert platform_marker("linux||darwin") == "sys_platform == 'linux' or sys_platform == 'darwin'"
    assert platform_marker("x' or 'y") is None
    assert (python_marker("*"), python_marker("x")) == ("", None)


@pytest.mark.parametrize("unit", [" ", "^", "1.", ",", "|", ".*", "=", "1 ", "v"])
def test_poetry_version_of_any_length_takes_little_time(unit: str) -> None:
    begin = time.process_time()
    for text in (unit * 1_000_000, unit * 900, f"^1{unit * 400}x"):
        specifier(text)
        python_marker(text)
        platform_marker(text)
    assert time.process_time() - begin < 1
