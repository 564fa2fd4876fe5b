"""The cache on disk: damaged entries are absent, what cannot be written is no error."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from resolver.index.store import cache as module
from resolver.index.store.cache import DAMAGED, FILE, Cache, default_folder
from resolver.model.message import Message
from tests.cached import require_sound_cache

BYTES = msgspec.msgpack.Decoder(bytes)


@pytest.fixture
def warnings() -> list[Message]:
    return []


@pytest.fixture
def cache(tmp_path: Path, warnings: list[Message]) -> Cache:
    return Cache(tmp_path / "cache", warnings.append)


def test_cache_damaged_content_is_absent(
    cache: Cache, tmp_path: Path, warnings: list[Message]
) -> None:
    cache.save("page", "a", b"content")
    for wrong in (
        msgspec.msgpack.encode(b"contenu"),
        msgspec.msgpack.encode(b"content")[:-1],
        b"",
        "contenu",
        7,
        None,
    ):
        with closing(sqlite3.connect(tmp_path / "cache" / FILE)) as connection, connection:
            connection.execute("UPDATE contents SET content = ?", (wrong,))
        assert cache.load("page", "a", BYTES) is None
        cache.save("page", "a", b"content")
        assert cache.load("page", "a", BYTES) == b"content"
    assert warnings == []


def test_cache_misplaced_content_is_absent(cache: Cache, tmp_path: Path) -> None:
    cache.save("page", "a", b"1")
    cache.save("page", "b", b"2")
    with closing(sqlite3.connect(tmp_path / "cache" / FILE)) as connection, connection:
        (a, one), (b, other) = connection.execute("SELECT id, digest FROM entries").fetchall()
        contents = dict(connection.execute("SELECT id, content FROM contents").fetchall())
        for id_, digest, content in ((a, other, contents[b]), (b, one, contents[a])):
            connection.execute("UPDATE entries SET digest = ? WHERE id = ?", (digest, id_))
            connection.execute("UPDATE contents SET content = ? WHERE id = ?", (content, id_))
    assert (cache.load("page", "a", BYTES), cache.load("page", "b", BYTES)) == (None, None)


def require_it_works(folder: Path, warnings: list[Message]) -> None:
    with closing(Cache(folder, warnings.append)) as cache:
        cache.save("page", "a", b"1")
        assert cache.load("page", "a", BYTES) == b"1"


def test_cache_sets_aside_a_file_of_others(tmp_path: Path, warnings: list[Message]) -> None:
    text = "A file of somebody else, which is longer than the header of a database, twice."
    (tmp_path / FILE).write_text(text)
    require_it_works(tmp_path, warnings)
    assert sorted(path.name for path in tmp_path.iterdir()) == [FILE, DAMAGED]
    assert (tmp_path / DAMAGED).read_text() == text
    (warning,) = warnings
    assert (warning.code, warning.values["folder"], warning.values["name"]) == (
        "cache.damaged",
        str(tmp_path),
        DAMAGED,
    )


@pytest.mark.parametrize("name", [FILE, f"{FILE}-journal", f"{FILE}-wal", f"{FILE}-shm"])
@pytest.mark.parametrize(
    "make",
    [
        os.mkfifo,
        os.mkdir,
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.symlink_to(path.with_name("other")),
    ],
    ids=["pipe", "folder", "device", "link"],
)
def test_cache_sets_aside_what_is_no_plain_file(
    tmp_path: Path, warnings: list[Message], make: Callable[[Path], object], name: str
) -> None:
    """sqlite opens each of these names by itself, and waits for a pipe if the file is not empty."""
    if name != FILE:
        require_it_works(tmp_path, warnings)
    make(tmp_path / name)
    require_it_works(tmp_path, warnings)
    assert sorted(path.name for path in tmp_path.iterdir()) == [FILE, f"{name}.damaged"]
    told = {"name": name, "folder": str(tmp_path), "aside": f"{name}.damaged"}
    assert [(warning.code, warning.values) for warning in warnings] == [("cache.set-aside", told)]


@pytest.mark.parametrize("name", [FILE, f"{FILE}-journal", f"{FILE}-wal", f"{FILE}-shm"])
def test_cache_sets_aside_a_hard_linked_file(
    tmp_path: Path, warnings: list[Message], name: str
) -> None:
    """sqlite would write to a database of others, or remove it as a journal of its own."""
    foreign = tmp_path / "foreign.db"
    connection = sqlite3.connect(foreign)
    connection.execute("CREATE TABLE theirs (x)")
    connection.commit()
    connection.close()
    foreign.chmod(0o640)
    before = foreign.read_bytes()
    folder = tmp_path / "cache"
    folder.mkdir()
    if name != FILE:
        require_it_works(folder, warnings)
    (folder / name).hardlink_to(foreign)
    require_it_works(folder, warnings)
    assert (foreign.read_bytes(), stat.S_IMODE(foreign.stat().st_mode)) == (before, 0o640)
    assert sorted(path.name for path in folder.iterdir()) == [FILE, f"{name}.damaged"]
    assert [warning.code for warning in warnings] == ["cache.set-aside"]


def test_cache_contains_no_key(cache: Cache, tmp_path: Path) -> None:
    cache.save("page", "https://a.example/secret", b"1")
    cache.close()
    (path,) = (tmp_path / "cache").iterdir()
    assert b"secret" not in path.read_bytes()
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (
        0o600,
        0o700,
    )


def test_cache_that_cannot_be_written_is_read(
    cache: Cache, tmp_path: Path, warnings: list[Message], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.save("page", "a", b"1")
    cache.close()
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write everywhere
    again = Cache(tmp_path / "cache", warnings.append)
    assert again.load("page", "a", BYTES) == b"1"
    assert warnings == []
    for key in "ab":
        again.save("page", key, b"2")
    again.close()
    assert again.load("page", "a", BYTES) == b"1"
    (warning,) = warnings
    assert (warning.code, warning.values["why"]) == (
        "cache.readonly",
        "attempt to write a readonly database",
    )


def test_cache_evicts_what_was_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIMIT", 100_000)
    day = 20_000
    monkeypatch.setattr(module, "_today", lambda: day)
    for day in range(20_000, 20_030):
        cache = Cache(tmp_path, pytest.fail)
        assert day == 20_000 or cache.load("page", "first", BYTES) == b"1" * 5000
        cache.save("page", str(day) if day > 20_000 else "first", b"1" * 5000)
        cache.close()
    cache = Cache(tmp_path, pytest.fail)
    there = [day for day in range(20_001, 20_030) if cache.load("page", str(day), BYTES)]
    assert there == list(range(there[0], 20_030))
    assert 10 < len(there) < 20
    cache.close()
    require_sound_cache(tmp_path)
    assert (tmp_path / FILE).stat().st_size < 200_000
    cache.clear()
    cache.close()
    assert (tmp_path / FILE).stat().st_size < 20_000


def test_cache_cleared_while_in_use(cache: Cache, tmp_path: Path) -> None:
    cache.save("page", "a", b"1")
    other = Cache(tmp_path / "cache", pytest.fail)
    other.clear()
    assert cache.load("page", "a", BYTES) is None
    cache.save("page", "a", b"2")
    assert other.load("page", "a", BYTES) == b"2"


def test_default_folder_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a folder named `~` wherever the command is run."""
    for name in ("HOME", "ASCEND_LOCK_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.getuid", lambda: 2**31 - 7)
    assert default_folder() == Path("/.cache/ascend-lock")


def test_cache_of_several_processes(tmp_path: Path) -> None:
    """Whoever reads sees one of the whole entries, never a mixture; nobody is turned away."""
    script = (
        "import sys, msgspec; from pathlib import Path\n"
        "from resolver.index.store.cache import Cache\n"
        "c = Cache(Path(sys.argv[1]), sys.exit)\n"
        "for n in range(150):\n"
        "    c.save('page', 'k', sys.argv[2].encode() * (1000 + n))\n"
        "    c.save('page', f'{n} {sys.argv[2]}', b'1')\n"
        "    got = c.load('page', 'k', msgspec.msgpack.Decoder(bytes))\n"
        "    assert got is not None and len(set(got)) == 1, got\n"
        "    if n % 40 == 0: c.close()\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path), letter]) for letter in "abcd"
    ]
    assert [process.wait(60) for process in running] == [0, 0, 0, 0]
    cache = Cache(tmp_path, pytest.fail)
    assert all(cache.load("page", f"{n} {letter}", BYTES) for n in range(150) for letter in "abcd")
