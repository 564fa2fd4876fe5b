"""The cache on disk: damaged entries are absent, what cannot be written is no error."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from resolver.catalog.cache import Cache, default_folder


@pytest.fixture
def warnings() -> list[str]:
    return []


@pytest.fixture
def cache(tmp_path: Path, warnings: list[str]) -> Cache:
    return Cache(tmp_path / "cache", warnings.append)


def entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_what_was_put_is_got(cache: Cache, warnings: list[str], tmp_path: Path) -> None:
    assert cache.get("page", "a") is None
    cache.put("page", "a", b"1")
    cache.put("page", "b", b"")
    cache.put("metadata", "a", b"3")
    cache.put("page", "a", b"4")
    again = Cache(tmp_path / "cache", warnings.append)
    assert [again.get("page", "a"), again.get("page", "b"), again.get("metadata", "a")] == [b"4", b"", b"3"]
    assert warnings == []


@pytest.mark.parametrize("damage", range(4))
def test_a_damaged_entry_is_absent(cache: Cache, tmp_path: Path, damage: int) -> None:
    cache.put("page", "a", b"content")
    (entry,) = entries(tmp_path)
    content = entry.read_bytes()
    for at in range(len(content)):
        flipped = bytes([*content[:at], content[at] ^ (1 << damage), *content[at + 1 :]])
        for broken in (content[:at], flipped):
            entry.write_bytes(broken)
            assert cache.get("page", "a") is None
    entry.write_bytes(content + b"\0")
    assert cache.get("page", "a") is None
    cache.put("page", "a", b"content")
    assert cache.get("page", "a") == b"content"


def test_an_entry_in_the_place_of_another_is_absent(cache: Cache, tmp_path: Path) -> None:
    cache.put("page", "a", b"1")
    (first,) = entries(tmp_path)
    cache.put("page", "b", b"2")
    (second,) = (path for path in entries(tmp_path) if path != first)
    second.write_bytes(first.read_bytes())
    assert cache.get("page", "b") is None


def test_no_key_is_in_clear(cache: Cache, tmp_path: Path) -> None:
    cache.put("page", "https://a.example/secret", b"1")
    (entry,) = entries(tmp_path)
    assert "secret" not in str(entry)
    assert b"secret" not in entry.read_bytes()
    assert stat.S_IMODE(entry.parent.stat().st_mode) == 0o700


def test_a_folder_that_is_a_file(tmp_path: Path, warnings: list[str]) -> None:
    (tmp_path / "cache").write_text("")
    cache = Cache(tmp_path / "cache", warnings.append)
    cache.put("page", "a", b"1")
    cache.put("page", "b", b"1")
    assert cache.get("page", "a") is None
    assert warnings == [
        (
            f"The cache in {tmp_path}/cache/v1 cannot be written (Not a directory); going on without."
            "\nhint: set ASCEND_LOCK_CACHE to a folder of yours"
        )
    ]


def test_a_place_that_is_taken(cache: Cache, tmp_path: Path, warnings: list[str]) -> None:
    """As a full disk: the entry cannot be put in place, and nothing unfinished stays behind."""
    cache.put("page", "a", b"1")
    (entry,) = entries(tmp_path)
    entry.unlink()
    entry.mkdir()
    cache.put("page", "a", b"1")
    assert len(warnings) == 1
    assert entries(tmp_path) == []


def test_a_cache_of_nothing(warnings: list[str]) -> None:
    cache = Cache(None, warnings.append)
    cache.put("page", "a", b"1")
    assert cache.get("page", "a") is None
    assert warnings == []


def test_unfinished_entries_of_dead_processes_are_removed(tmp_path: Path, warnings: list[str]) -> None:
    unfinished = tmp_path / "v1" / "unfinished"
    unfinished.mkdir(parents=True)
    (unfinished / "1-old").write_bytes(b"x")
    (unfinished / "1-new").write_bytes(b"x")
    yesterday = time.time() - 25 * 3600
    os.utime(unfinished / "1-old", (yesterday, yesterday))
    Cache(tmp_path, warnings.append).put("page", "a", b"1")
    assert [path.name for path in unfinished.iterdir()] == ["1-new"]


def test_several_processes_at_once(tmp_path: Path) -> None:
    """Whoever reads sees one of the whole entries, never a mixture."""
    script = (
        "import sys; from pathlib import Path; from resolver.catalog.cache import Cache\n"
        "c = Cache(Path(sys.argv[1]), sys.exit)\n"
        "for n in range(150):\n"
        "    c.put('page', 'k', sys.argv[2].encode() * (1000 + n))\n"
        "    got = c.get('page', 'k')\n"
        "    assert got is not None and len(set(got)) == 1, got\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path), letter]) for letter in "abcd"]
    assert [process.wait(60) for process in running] == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"ASCEND_LOCK_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, "/a"),
        ({"ASCEND_LOCK_CACHE": "", "XDG_CACHE_HOME": "/b"}, "/b/ascend-lock"),
        ({"XDG_CACHE_HOME": "relative"}, "~/.cache/ascend-lock"),
        ({}, "~/.cache/ascend-lock"),
    ],
)
def test_where_it_is(environ: dict[str, str], folder: str) -> None:
    assert default_folder(environ) == Path(folder).expanduser()
