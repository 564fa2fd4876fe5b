"""The manifest of a bundle: what two locks share, what differs on disk, which paths it may name."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from resolver.errors import InputError
from resolver.lock.bundle import (
    BundledFile,
    BundledLock,
    Manifest,
    is_inside,
    merged,
    mismatches,
    write,
)
from resolver.owned_folder import OwnedFolder


def bundled(stack: str) -> BundledLock:
    return BundledLock(
        stack=stack, target="t", platform="linux-aarch64", python="3.11", folder=f"locks/{stack}/t"
    )


def entry(content: bytes, *stacks: str) -> BundledFile:
    return BundledFile(
        path="a-1.whl",
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
        index="pypi",
        pins=("a==1",),
        locks=tuple(f"locks/{stack}/t" for stack in stacks),
    )


def test_merged_keeps_the_other_locks() -> None:
    old = Manifest(
        format=1,
        locks=(bundled("one"), bundled("two")),
        files=(entry(b"1", "one", "two"),),
        texts=(),
    )
    locks, files = merged(old, [bundled("one")], [])
    assert locks == [bundled("one"), bundled("two")]
    assert files == [entry(b"1", "two")]
    other = entry(b"2", "one")
    with pytest.raises(InputError) as refused:
        merged(old, [bundled("one")], [other])
    assert refused.value.message == "two locks need different files named a-1.whl"
    assert (
        refused.value.why
        == f"locks/one/t has sha256 {other.sha256}, locks/two/t has {old.files[0].sha256}."
    )
    alone = Manifest(format=1, locks=(bundled("one"),), files=(entry(b"1", "one"),), texts=())
    assert merged(alone, [bundled("one")], [other]) == ([bundled("one")], [other])


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"whole", None),
        (b"whol", "bundle.file-content"),
        (b"hole ", "bundle.file-content"),
        (None, "bundle.file-gone"),
    ],
)
def test_mismatches_tells_a_file_that_is_not_whole(
    content: bytes | None, fault: str | None, tmp_path: Path
) -> None:
    with OwnedFolder.open(tmp_path) as owned:
        manifest = write(owned, [bundled("one")], [entry(b"whole", "one")], {}, [])
        if content is not None:
            (tmp_path / "a-1.whl").write_bytes(content)
        codes = [message.code for message in mismatches(owned, manifest)]
    assert codes == ([] if fault is None else [fault])


def test_is_inside_by_the_text_of_a_path() -> None:
    long = "/".join(["abc"] * 250)
    for path in ("a", "a/b", "a..b/.c", "é" * 127, long + "d"):
        assert is_inside(path)
    for path in ("", "/a", "a//b", "a/", "..", "a/../b", "./a", "a\0", "é" * 128, long + "de"):
        assert not is_inside(path)
