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


def served(stack: str) -> BundledLock:
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


def test_of_an_earlier_bundle_the_other_locks_stay() -> None:
    old = Manifest(
        format=1, locks=(served("one"), served("two")), files=(entry(b"1", "one", "two"),), texts=()
    )
    assert merged(old, [served("one")], []) == (
        [served("one"), served("two")],
        [entry(b"1", "two")],
    )
    other = entry(b"2", "one")
    with pytest.raises(InputError) as refused:
        merged(old, [served("one")], [other])
    assert refused.value.message == "two locks need different files named a-1.whl"
    assert (
        refused.value.why
        == f"locks/one/t has sha256 {other.sha256}, locks/two/t has {old.files[0].sha256}."
    )
    alone = Manifest(format=1, locks=(served("one"),), files=(entry(b"1", "one"),), texts=())
    assert merged(alone, [served("one")], [other]) == ([served("one")], [other])


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"whole", None),
        (b"whol", "bundle.file-content"),
        (b"hole ", "bundle.file-content"),
        (None, "bundle.file-gone"),
    ],
)
def test_a_file_is_there_whole_or_it_is_told(
    content: bytes | None, fault: str | None, tmp_path: Path
) -> None:
    with OwnedFolder.open(tmp_path) as owned:
        manifest = write(owned, [served("one")], [entry(b"whole", "one")], {}, [])
        if content is not None:
            (tmp_path / "a-1.whl").write_bytes(content)
        assert [one.code for one in mismatches(owned, manifest)] == (
            [] if fault is None else [fault]
        )


def test_a_path_is_inside_or_leads_elsewhere_or_is_too_long() -> None:
    long = "/".join(["abc"] * 250)
    inside, outside = (
        ["a", "a/b", "a..b/.c", "é" * 127, long + "d"],
        ["", "/a", "a//b", "a/", "..", "a/../b", "./a"],
    )
    outside += ["a\0", "é" * 128, long + "de"]
    assert [path for path in [*inside, *outside] if is_inside(path)] == inside
