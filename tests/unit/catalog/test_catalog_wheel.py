"""METADATA inside wheels, whole and in pieces."""

from __future__ import annotations

import io
import struct
import warnings
import zipfile
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.utils import NormalizedName

from resolver.catalog.parse import wheel as wheel_module
from resolver.catalog.parse.guarded import Guarded
from resolver.catalog.parse.metadata import Release
from resolver.catalog.parse.wheel import MissingSpanError, Sparse, read_metadata
from resolver.catalog.protocol import UnusableFile

DEMO = Release("demo_x-1.0-py3-none-any.whl", NormalizedName("demo-x"), "1.0")


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
    assert read_metadata(io.BytesIO(wheel), DEMO) == b"Name: demo\n"


@pytest.mark.parametrize(
    ("wheel", "why"),
    [
        (make("demo_x.py"), "demo_x-1.0-py3-none-any.whl has no .dist-info folder of demo-x"),
        (
            make("demo_x-0.8.dist-info/METADATA", "demo_x-0.9.dist-info/METADATA"),
            (
                "demo_x-1.0-py3-none-any.whl has 2 .dist-info folders (`demo_x-0.8.dist-info`, "
                "`demo_x-0.9.dist-info`), which pip refuses"
            ),
        ),
        (
            make(*(f"{name}-1.0.dist-info/METADATA" for name in ("a", "b", "c", "demo_x"))),
            (
                "demo_x-1.0-py3-none-any.whl has 4 .dist-info folders (`a-1.0.dist-info`, `b-1.0.dist-info`, "
                "`c-1.0.dist-info`, …), which pip refuses"
            ),
        ),
        (
            make("demo_x-0.9.dist-info/METADATA", "demo_x-1.0.dist-info/METADATA"),
            (
                "demo_x-1.0-py3-none-any.whl has 2 .dist-info folders (`demo_x-0.9.dist-info`, "
                "`demo_x-1.0.dist-info`), which pip refuses"
            ),
        ),
        (
            make("other-1.0.dist-info/METADATA"),
            "demo_x-1.0-py3-none-any.whl has no .dist-info folder of demo-x",
        ),
        (b"", "demo_x-1.0-py3-none-any.whl is not a readable wheel: File is not a zip file"),
        (
            make("demo_x-1.0.dist-info/METADATA", content=b"\0" * (1 + (16 << 20))),
            "the metadata of demo_x-1.0-py3-none-any.whl is larger than 16 MiB",
        ),
    ],
)
def test_wheels_that_cannot_be_used(wheel: bytes, why: str) -> None:
    with pytest.raises(UnusableFile) as caught:
        read_metadata(io.BytesIO(wheel), DEMO)
    assert str(caught.value) == why


def test_damage_is_noticed() -> None:
    wheel = make("demo_x-1.0.dist-info/METADATA", content=b"Name: demo\n" * 20)
    start = wheel.index(b"METADATA") + len(b"METADATA")
    for at in range(start, start + 10):
        with pytest.raises(UnusableFile):
            read_metadata(io.BytesIO(wheel[:at] + bytes([wheel[at] ^ 255]) + wheel[at + 1 :]), DEMO)


@given(
    st.integers(0, 60),
    st.integers(0, 3000),
    st.integers(1, 400),
    st.integers(0, 300),
    st.sampled_from([b"", b"a comment"]),
)
@settings(deadline=None, max_examples=60)
def test_pieces_give_what_the_whole_gives(before: int, length: int, tail: int, slack: int, comment: bytes) -> None:
    names = [f"demo_x/{n}.py" for n in range(before)]
    content = bytes((n * 7919) % 251 for n in range(length))
    wheel = make(*names, "demo_x-1.0.dist-info/METADATA", "demo_x/last.py", content=content, comment=comment)
    sparse = Sparse(len(wheel))
    sparse.add(max(0, len(wheel) - tail), wheel[-tail:])
    for _ in range(8):
        try:
            assert read_metadata(sparse, DEMO) == content
            return
        except MissingSpanError as missing:
            start = max(0, missing.start - slack)
            sparse.add(start, wheel[start : missing.end])
    pytest.fail("more than eight pieces were asked for")


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of members are long from 600 bytes on, and 500 of them are read first."""
    monkeypatch.setattr(wheel_module, "_LONG_LIST", 600)
    monkeypatch.setattr(wheel_module, "_END_OF_LIST", 500)


def pieces(wheel: bytes) -> tuple[bytes, list[tuple[int, int]]]:
    """METADATA, and the spans that were asked for to find it."""
    sparse = Sparse(len(wheel))
    spans = []
    for _ in range(8):
        try:
            return read_metadata(sparse, DEMO), spans
        except MissingSpanError as missing:
            spans.append((missing.start, missing.end))
            sparse.add(missing.start, wheel[missing.start : missing.end])
    pytest.fail("more than eight pieces were asked for")


METADATA = "demo_x-1.0.dist-info/METADATA"
OTHER = "other-1.0.dist-info/METADATA"
MANY = [f"demo_x/{n}.py" for n in range(50)]


@pytest.mark.parametrize(
    ("names", "is_whole_list_read"),
    [
        ([*MANY, METADATA, "demo_x-1.0.dist-info/RECORD"], False),
        ([*MANY, "demo_x/PK\1\2.py", METADATA], False),
        ([METADATA, *MANY], True),
        ([METADATA, *MANY, "demo_x/other-1.0.dist-info/METADATA"], True),
        ([*MANY, METADATA, "demo_x/" + "x" * 600], True),
        ([*MANY[:3], METADATA], True),
    ],
)
@pytest.mark.usefixtures("short")
def test_of_a_long_list_only_the_end_is_read_if_metadata_is_there(names: list[str], is_whole_list_read: bool) -> None:
    wheel = make(*names)
    listed, end = wheel.index(b"PK\1\2\x14"), len(wheel) - 22
    found, spans = pieces(wheel)
    assert found == read_metadata(io.BytesIO(wheel), DEMO) == b"Name: demo\n"
    assert ((listed, end) in spans) == is_whole_list_read


@pytest.mark.parametrize("names", [[METADATA, *MANY, OTHER], [*MANY, OTHER, METADATA]])
@pytest.mark.usefixtures("short")
def test_two_folders_are_found_in_a_long_list(names: list[str]) -> None:
    with pytest.raises(UnusableFile, match="has 2 "):
        pieces(make(*names))


@pytest.mark.parametrize("change", ["a later version", "encrypted", "a patch", "checksum", "twice", "hidden"])
@pytest.mark.usefixtures("short")
def test_an_end_of_a_list_that_is_not_plain_is_read_as_zipfile_reads_it(change: str) -> None:
    """With METADATA changed in the list, the pieces give what the whole file gives, be it a refusal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a name that is there already
        more = {"twice": [METADATA], "hidden": [f"{METADATA}?x"]}.get(change, [])
        content = bytearray(make(*MANY, METADATA, *more).replace(b"METADATA?x", b"METADATA\0x"))
    row = content.rindex(METADATA.encode()) - 46
    match change:
        case "a later version":
            content[row + 6] = 64
        case "encrypted":
            content[row + 8] |= 0x1
        case "a patch":
            content[row + 8] |= 0x20
        case "checksum":
            content[row + 16] ^= 1
        case _:
            pass
    wheel = bytes(content)
    assert outcome(lambda: pieces(wheel)[0]) == outcome(lambda: read_metadata(io.BytesIO(wheel), DEMO))


def outcome(read: Callable[[], bytes]) -> bytes | str:
    """What is read, or why nothing is."""
    try:
        return read()
    except UnusableFile as refusal:
        return str(refusal)


@pytest.mark.usefixtures("short")
def test_the_end_of_a_list_costs_in_proportion_to_its_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name may be full of signatures, each of which might begin a member."""
    monkeypatch.setattr(wheel_module, "_END_OF_LIST", 60_000)
    wheel = make(*MANY, METADATA, *(f"{n}" + "PK\1\2" * 10_000 for n in range(3)))
    reads = 0
    unpack = wheel_module.directory._LENGTHS.unpack_from

    class Counting:
        def unpack_from(self, listed: bytes, at: int) -> tuple[int, ...]:
            nonlocal reads
            reads += 1
            return unpack(listed, at)

    monkeypatch.setattr(wheel_module.directory, "_LENGTHS", Counting())
    assert pieces(wheel)[0] == b"Name: demo\n"
    assert reads < 3 * 15_000  # it is looked at again once the whole list is there


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=12), st.integers(0, 40), st.integers(0, 40))
def test_a_sparse_file_has_what_was_added_and_no_more(spans: list[tuple[int, int]], start: int, length: int) -> None:
    content = bytes(range(40))
    sparse = Sparse(len(content))
    here = set()
    for begin, size in spans:
        sparse.add(begin, content[begin : begin + size])
        here |= set(range(begin, min(begin + size, 40)))
    sparse.seek(start)
    wanted = set(range(start, min(start + length, 40)))
    if wanted <= here:
        assert sparse.read(length) == content[start : start + length]
    else:
        with pytest.raises(MissingSpanError):
            sparse.read(length)


# --- the quick way, which must never say anything else than zipfile


def look_quickly(content: bytes, release: Release) -> bytes | None:
    file = io.BytesIO(content)
    return wheel_module._quickly(file, Guarded(file, one_read=1 << 20, position=1 << 62), release, print)


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
@pytest.mark.parametrize(
    "change",
    [
        *("none", "comment", "cut", "front", "other name", "checksum", "hidden", "twice", "a name that is cut"),
        *("encrypted", "a patch", "strongly encrypted", "a later version"),
        *("a later version of another", "a name of another that is no UTF-8"),
        *("an extra field", "an extra field that is cut", "an extra field of another that is cut"),
    ],
)
def test_a_quick_look_finds_what_zipfile_finds(change: str, compression: int) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a name that is there already
        other = zipfile.ZipInfo("demo/__init__.py")
        metadata = zipfile.ZipInfo("demo-1.0.dist-info/METADATA")
        for info in (other, metadata):
            info.compress_type = compression
        if "extra field" in change:
            info = other if "of another" in change else metadata
            info.extra = b"UT\x01\0x" if change == "an extra field" else b"UT\xff\0x"
        archive.writestr(other, b"x" * 1000)
        archive.writestr(metadata, b"Name: demo\n" * 50)
        if change == "twice":
            archive.writestr("demo-1.0.dist-info/METADATA", b"Name: other\n")
        if change == "hidden":
            archive.writestr("demo-1.0.dist-info/METADATA?x", b"Name: other\n")
        archive.comment = b"!" if change == "comment" else b""
    content = bytearray(stream.getvalue().replace(b"METADATA?x", b"METADATA\0x"))
    listed = content.rindex(b"demo-1.0.dist-info/METADATA", 0, content.rindex(b"PK"))
    match change:
        case "cut":
            del content[50]
        case "front":
            content[:0] = b"#!/bin/sh\n"
        case "other name":
            content[content.index(b"demo-1.0.dist-info")] = ord("x")
        case "a name that is cut":
            content = content.replace(b"demo-1.0.dist-info", b"demo-1\x000.dist-info")
        case "checksum":
            content[listed - 46 + 16] ^= 1
        case "encrypted":
            content[listed - 46 + 8] |= 0x1
        case "a patch":
            content[listed - 46 + 8] |= 0x20
        case "strongly encrypted":
            content[listed - 46 + 8] |= 0x40
        case "a later version":
            content[listed - 46 + 6] = 64
        case "a later version of another":
            content[content.index(b"PK\1\2") + 6] = 64
        case "a name of another that is no UTF-8":
            content[content.index(b"PK\1\2") + 9] |= 0x8
            content[content.index(b"demo/__init__.py", content.index(b"PK\1\2"))] = 0xFF
        case _:
            pass
    release = Release("demo-1.0-py3-none-any.whl", NormalizedName("demo"), "1.0")
    quick = look_quickly(bytes(content), release)
    assert (quick is not None) == (change in ("none", "twice", "an extra field") and compression != zipfile.ZIP_LZMA)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            expected = archive.read("demo-1.0.dist-info/METADATA")
        if compression == zipfile.ZIP_LZMA:
            raise zipfile.BadZipFile("zipfile unpacks it without bounds")
    except (zipfile.BadZipFile, KeyError, RuntimeError, UnicodeDecodeError):  # NotImplementedError is one
        with pytest.raises(UnusableFile):
            read_metadata(io.BytesIO(content), release)
    else:
        assert quick in (None, expected)
        assert read_metadata(io.BytesIO(content), release) == expected


def test_a_quick_look_leaves_members_that_overlap_to_zipfile() -> None:
    """Another member is said to begin within METADATA, or where it does: newer versions of Python refuse both."""
    whole = make("demo_x-1.0.dist-info/METADATA", "demo_x.py", content=b"Name: demo\n" * 50)
    row = whole.rindex(b"demo_x.py") - 46
    for begin in (0, 40):
        content = bytearray(whole)
        content[row + 42 : row + 46] = begin.to_bytes(4, "little")
        assert look_quickly(bytes(content), DEMO) is None


def test_a_quick_look_leaves_a_second_list_to_zipfile() -> None:
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
    assert look_quickly(file.getvalue(), DEMO) is None
    assert read_metadata(file, DEMO) == b"Name: other\n"


def test_the_list_of_members_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = make("demo_x-1.0.dist-info/METADATA", *(f"demo_x/{n}.py" for n in range(100)))
    sparse = Sparse(len(wheel))
    sparse.add(200, wheel[200:])
    with pytest.raises(MissingSpanError) as missing:
        read_metadata(sparse, DEMO)
    assert missing.value.start == 0, "the list is there, METADATA is not"
    sparse.add(0, wheel)
    monkeypatch.setattr(wheel_module.directory, "entries", pytest.fail)
    assert read_metadata(sparse, DEMO) == b"Name: demo\n"
