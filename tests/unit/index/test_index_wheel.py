"""METADATA inside wheels, whole and in pieces."""

from __future__ import annotations

import io
import struct
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import NormalizedName

from resolver.index.parse.archive import MissingSpanError, RangeFile, wheel_metadata
from resolver.index.parse.metadata import FileRelease
from resolver.index.protocol import UnusableFile

DEMO = FileRelease("demo_x-1.0-py3-none-any.whl", NormalizedName("demo-x"), "1.0")


def make(*names: str, content: bytes = b"Name: demo\n", comment: bytes = b"") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, content)
        archive.comment = comment
    return file.getvalue()


@pytest.mark.parametrize(
    "folder", ["demo_x-1.0.dist-info", "Demo.X-1.0.dist-info", "demo-x-1.dist-info", "demo_x-2.dist-info"]
)
def test_the_folder_may_be_spelled_in_any_way(folder: str) -> None:
    wheel = make("demo_x.py", "demo_x/other-1.0.dist-info/METADATA", f"{folder}/METADATA", f"{folder}/sub/METADATA")
    assert wheel_metadata(io.BytesIO(wheel), DEMO) == b"Name: demo\n"


@pytest.mark.parametrize(
    ("wheel", "why"),
    [
        (make("demo_x.py"), "has no .dist-info folder of demo-x"),
        (make("other-1.0.dist-info/METADATA"), "has no .dist-info folder of demo-x"),
        (
            make("demo_x-0.9.dist-info/METADATA", "demo_x-1.0.dist-info/METADATA"),
            "has 2 .dist-info folders (`demo_x-0.9.dist-info`, `demo_x-1.0.dist-info`), which pip refuses",
        ),
        (make(*(f"{name}-1.0.dist-info/METADATA" for name in ("a", "b", "c", "demo_x"))), "has 4 .dist-info folders"),
        (b"", "is not a readable wheel: File is not a zip file"),
        (make("demo_x-1.0.dist-info/METADATA", content=b"\0" * (1 + (16 << 20))), "is larger than 16 MiB"),
    ],
)
def test_wheels_that_cannot_be_used(wheel: bytes, why: str) -> None:
    with pytest.raises(UnusableFile) as caught:
        wheel_metadata(io.BytesIO(wheel), DEMO)
    assert why in str(caught.value)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=12), st.integers(0, 40), st.integers(0, 40))
def test_a_file_of_ranges_has_what_was_added_and_no_more(spans: list[tuple[int, int]], start: int, length: int) -> None:
    content = bytes(range(40))
    wheel_file = RangeFile(len(content))
    for begin, size in spans:
        wheel_file.add(begin, content[begin : begin + size])
    wheel_file.seek(start)
    end = min(start + length, 40)
    if start >= end or any(begin <= start and end <= begin + size for begin, size in spans):
        assert wheel_file.read(length) == content[start : start + length]
    else:
        with pytest.raises(MissingSpanError):
            wheel_file.read(length)


def test_what_zipfile_would_unpack_without_bounds_is_refused() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("demo_x-1.0.dist-info/METADATA", b"Name: demo\n")
    with pytest.raises(UnusableFile, match="uses an unsupported compression method"):
        wheel_metadata(file, DEMO)


def test_of_two_lists_of_members_the_one_counts_that_pip_goes_by() -> None:
    """ZIP64's end is in the comment of the last member, and its list begins in the content of that member."""
    name = "demo_x-1.0.dist-info/METADATA"
    other = make(name, content=b"Name: other\n")
    hidden = bytearray(other[other.index(b"PK\1\2") : other.index(b"PK\5\6")])
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        file.write(other[: other.index(b"PK\1\2")])
        archive.start_dir = file.tell()
        archive.writestr(name, b"Name: demo\n")
        listed = 46 + len(name) + 46 + len("x")
        struct.pack_into("<H", hidden, 32, listed)  # the list in plain sight is a comment in the hidden one
        archive.writestr("x", hidden)
        begin, length = archive.start_dir - len(hidden), len(hidden) + listed
        end = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, length, begin)
        archive.getinfo("x").comment = end + struct.pack("<4sLQL", b"PK\6\7", 0, begin + length, 1)
    with zipfile.ZipFile(file) as archive:
        assert archive.read(name) == b"Name: other\n"
    assert wheel_metadata(file, DEMO) == b"Name: other\n"
