"""What `plain_zip` reads, zipfile reads alike, whatever the bytes are."""

from __future__ import annotations

import io
import warnings
import zipfile

from hypothesis import example, given
from hypothesis import strategies as st

from resolver.index.parse.guarded import ANYWHERE, DIRECTORY_LIMIT, Guarded, TooLargeError
from resolver.index.parse.plain_zip import PlainZip

NAMES = st.sampled_from(
    ["demo-1.0.dist-info/METADATA", "demo/a.so", "demo/a.so", "bin/tool", "ä", "a" * 300, ""]
)
METHODS = st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
MEMBERS = st.lists(st.tuples(NAMES, st.binary(max_size=60), METHODS), max_size=4)
# A position from the start or the end, and the byte that is put there; where the numbers of the end
# of a zip are, most changes matter.
CHANGES = st.lists(st.tuples(st.integers(-130, 400), st.integers(0, 255)), max_size=3)


def zipped(members: list[tuple[str, bytes, int]]) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w") as archive:
        warnings.simplefilter("ignore")  # names may be there twice
        for name, content, method in members:
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return file.getvalue()


def plain(content: bytes) -> PlainZip | None:
    source = io.BytesIO(content)
    return PlainZip.open(Guarded(source, one_read=DIRECTORY_LIMIT, position=ANYWHERE))


def read_alike(content: bytes) -> None:
    found = plain(content)
    if found is None:
        return
    archive = zipfile.ZipFile(io.BytesIO(content))
    listed = [
        (info.filename, info.header_offset, info.compress_size, info.file_size)
        for info in archive.infolist()
    ]
    members = list(found.members())
    assert [(each.name, each.start, each.packed, each.unpacked) for each in members] == listed
    assert found.names == archive.namelist()
    for name in found.names:
        member = found.member(name)
        assert member is not None
        try:
            text = found.content(member)
        except TooLargeError:  # as a reader of all kinds of zip asks for it, too
            continue
        if text is not None:
            assert archive.read(name) == text


@given(MEMBERS, CHANGES)
@example([("a", b"x", zipfile.ZIP_STORED), ("b", b"", zipfile.ZIP_STORED)], [(-12, 1)])
def test_plain_zip_reads_as_zipfile_does(
    members: list[tuple[str, bytes, int]], changes: list[tuple[int, int]]
) -> None:
    content = bytearray(zipped(members))
    for position, byte in changes:
        if -len(content) <= position < len(content):
            content[position] = byte
    read_alike(bytes(content))


@given(st.lists(st.tuples(NAMES, st.binary(max_size=60), METHODS), max_size=4), st.binary())
def test_plain_zip_leaves_a_tail_and_a_head_to_zipfile(
    members: list[tuple[str, bytes, int]], more: bytes
) -> None:
    content = zipped(members)
    read_alike(more + content)
    read_alike(content + more)


def test_plain_zip_reads_a_wheel() -> None:
    members = [("demo/a.so", b"x" * 99, 8), ("demo-1.dist-info/METADATA", b"y" * 99, 8)]
    found = plain(zipped(members))
    assert found is not None
    assert found.names == ["demo/a.so", "demo-1.dist-info/METADATA"]
    for (name, content, _), member in zip(members, found.members(), strict=True):
        assert member.name == name
        assert found.content(member) == content


def test_plain_zip_leaves_what_is_rare_to_zipfile() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a", b"x")
        archive.comment = b"rare"
    assert plain(file.getvalue()) is None
    assert plain(zipped([("ä", b"x", 0)])) is None, "a name may be in another encoding"
    assert plain(zipped([("a", b"x", zipfile.ZIP_BZIP2)])) is None, "it needs a newer version"
