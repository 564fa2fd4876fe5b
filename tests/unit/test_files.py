"""Files that others have changed into something else, or left behind."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from resolver import files


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (os.mkfifo, "it is not a regular file"),
        (os.mkdir, "it is not a regular file"),
        (lambda path: path.symlink_to("/dev/zero"), "it is not a regular file"),
        (lambda path: path.write_bytes(b"x" * (files.MIB + 1)), "it is larger than 1 MiB"),
        (lambda path: None, "No such file or directory"),
    ],
)
def test_what_cannot_be_read_is_not_waited_for(tmp_path: Path, make: Callable[[Path], object], why: str) -> None:
    make(tmp_path / "a")
    with pytest.raises(OSError, match=why) as caught:
        files.read(tmp_path / "a", files.MIB)
    assert caught.value.strerror == why


def test_a_link_in_the_place_where_a_file_grows_leads_nowhere(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("theirs")
    (tmp_path / ".a.partial").symlink_to(other)
    files.write(tmp_path / "a", b"ours")
    assert (other.read_text(), (tmp_path / "a").read_text()) == ("theirs", "ours")
    assert not (tmp_path / "a").is_symlink()


def test_where_it_cannot_be_put_in_place_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    with pytest.raises(OSError, match="Is a directory"):
        files.write(tmp_path / "a", b"ours")
    assert [one.name for one in tmp_path.iterdir()] == ["a"]
