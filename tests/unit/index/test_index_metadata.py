"""Core metadata, from bytes."""

from __future__ import annotations

import re
import time

import pytest
from packaging.utils import NormalizedName

from resolver.errors import IndexFailure
from resolver.index.parse.distribution import FileRelease
from resolver.index.parse.metadata import check_texts, read, read_pyproject
from resolver.index.protocol import UnusableFile
from resolver.model.release import CoreMetadata

DEMO = FileRelease("demo_x-1.0-py3-none-any.whl", NormalizedName("demo-x"), "1.0")
URL = "https://mirror.example/demo_x-1.0-py3-none-any.whl"


def text(*lines: str, name: str = "Demo.X", version: str = "1", form: str = "2.1") -> bytes:
    return "\n".join(
        [f"Metadata-Version: {form}", f"Name: {name}", f"Version: {version}", *lines]
    ).encode()


def test_metadata_fields() -> None:
    content = text(
        "Requires-Python: >=3.9",
        "Provides-Extra: Test_All",
        "Requires-Dist: numpy (>=1.20)",
        "Requires-Dist: pytest>=8;\n        extra == 'Test_All'",
        "",
        "Requires-Dist: nothing-from-the-description",
    )
    assert read(content, DEMO, URL).metadata == CoreMetadata(
        "Demo.X", "1", ("numpy (>=1.20)", "pytest>=8; extra == 'Test_All'"), ">=3.9", ("Test_All",)
    )


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "has no Name"),
        (b"Name: demo-x\n", "has no Version"),
        (b"<html></html>", "has no Name"),
        (text(form="3.0"), "has the version '3.0'"),
        (text().replace(b"Demo", b"D\xffmo"), "has an unreadable field Name"),
        (
            text("Requires-Dist: a\xff").decode().encode("latin-1"),
            "has an unreadable field Requires-Dist",
        ),
        (
            text("Requires-Python: >=3", "Requires-Python: >=4"),
            "has an unreadable field Requires-Python",
        ),
        (
            text("Requires-Dist: pytz (>dev)"),
            "has the invalid requirement `pytz (>dev)`: Expected matching RIGHT_PAREN",
        ),
        (text("Requires-Python: ~=3.6.*"), "has the invalid Requires-Python `~=3.6.*`"),
        (
            text(f"Requires-Python: >=3.{'9' * 5000}"),
            "has the invalid Requires-Python `…`",
        ),
        (text(*["Provides-Extra: x"] * 10_001), "has 10001 extras; more than 10000 are not read"),
        (text(*["Classifier: x"] * 100_000), "has a header of more than 50000 lines"),
    ],
)
def test_metadata_that_cannot_be_used(content: bytes, why: str) -> None:
    with pytest.raises(UnusableFile, match=rf"demo_x-1\.0-py3-none-any\.whl {re.escape(why)}"):
        read(content, DEMO, URL)


@pytest.mark.parametrize(
    ("name", "version"),
    [("demo", "1.0"), ("demo-x", "1.1"), ("demo-x", "1.0+cpu"), ("demo-x", "1." + "9" * 250)],
)
def test_metadata_of_another_release(name: str, version: str) -> None:
    with pytest.raises(IndexFailure) as caught:
        read(text(name=name, version=version), DEMO, URL)
    assert caught.value.why == f"It says {name} {version}; expected was demo-x 1.0."


HUGE = "/" * 4_000_000


def test_metadata_of_a_huge_name_is_refused_at_once() -> None:
    begin = time.process_time()
    for content in (text(name=HUGE), text(version=HUGE)):
        with pytest.raises(IndexFailure) as caught:
            read(content, DEMO, URL)
        assert len(str(caught.value)) < 2_000
    with pytest.raises(UnusableFile, match="has the version '…'"):
        read(text(form=HUGE), DEMO, URL)
    assert time.process_time() - begin < 1


def test_pyproject_of_a_huge_name_is_told_in_short() -> None:
    content = f'[project]\nname = "{HUGE[:200_000]}"\nversion = "1"\n'
    assert len(read_pyproject(content.encode(), DEMO).why_dynamic) < 400


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (
            [f"a{at}; os_name != '{'x' * 3000}'" for at in range(800)],
            "more than 2097152 are not read",
        ),
        (
            [f"a{at}; extra >= 'x'" for at in range(101)],
            "`a100; extra >= 'x'`, which is about too many extras",
        ),
        (
            ["a; " + " or ".join(f"extra == 'e{at}'" for at in range(101))],
            "which is about too many extras",
        ),
    ],
)
def test_metadata_with_too_many_extras(lines: list[str], why: str) -> None:
    with pytest.raises(UnusableFile, match=re.escape(why)):
        check_texts(CoreMetadata("demo", "1", tuple(lines)), "demo.whl")


def test_metadata_at_the_limits() -> None:
    extras = " or ".join(f"extra == 'e{at}'" for at in range(100))
    lines = (f"a; {extras}", *(f"a{at}; extra in 'x'" for at in range(100)))
    check_texts(CoreMetadata("demo", "1", lines), "demo.whl")
