"""The cache on disk: damaged entries are absent, what cannot be written is no error."""

from __future__ import annotations

import os
import random
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from resolver.catalog.store import volumes
from resolver.catalog.store.cache import Cache, default_folder
from resolver.catalog.store.volume import DATA, ROWS
from resolver.render.quoted import heard


@pytest.fixture
def warnings() -> list[str]:
    return []


@pytest.fixture
def cache(tmp_path: Path, warnings: list[str]) -> Cache:
    return Cache(tmp_path / "cache", warnings.append)


def files(folder: Path) -> list[Path]:
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
def test_a_damaged_entry_is_absent(cache: Cache, tmp_path: Path, warnings: list[str], damage: int) -> None:
    """Whatever byte of whichever file is another, or the last one that is there."""
    cache.put("page", "a", b"content")
    for path in files(tmp_path):
        content = path.read_bytes()
        for at in range(len(content)):
            flipped = bytes([*content[:at], content[at] ^ (1 << damage), *content[at + 1 :]])
            for broken in (content[:at], flipped):
                path.write_bytes(broken)
                assert cache.get("page", "a") in (None, b"content")
                again = Cache(tmp_path / "cache", warnings.append)
                assert again.get("page", "a") is None
        path.write_bytes(content)
        assert Cache(tmp_path / "cache", warnings.append).get("page", "a") == b"content"
    assert warnings == []


@pytest.mark.parametrize("ending", [DATA, ROWS])
def test_what_is_put_after_damage_is_got(cache: Cache, tmp_path: Path, warnings: list[str], ending: str) -> None:
    cache.put("page", "a", b"content")
    (path,) = tmp_path.rglob(f"*{ending}")
    path.write_bytes(bytes(len(path.read_bytes())))
    again = Cache(tmp_path / "cache", warnings.append)
    assert again.get("page", "a") is None
    again.put("page", "a", b"content")
    assert again.get("page", "a") == b"content"
    assert Cache(tmp_path / "cache", warnings.append).get("page", "a") == b"content"


def test_parts_are_of_the_content_that_was_meant(cache: Cache, tmp_path: Path, warnings: list[str]) -> None:
    seal = cache.put("files", "a", b"0123456789")
    again = Cache(tmp_path / "cache", warnings.append)
    read = again.part("files", "a", seal)
    assert [read(2, 3), read(10, 0), read(0, 10)] == [b"234", b"", b"0123456789"]
    assert [read(9, 0), read(8, 3), read(10, 1)] == [None] * 3
    new = again.put("files", "a", b"another")
    assert read(2, 3) == b"234"  # of what it was begun with
    assert again.part("files", "a", seal)(0, 1) is None
    assert again.part("files", "a", new)(0, 7) == b"another"
    assert again.part("files", "b", new)(0, 7) is None


def test_the_same_content_is_written_once(cache: Cache, tmp_path: Path, warnings: list[str]) -> None:
    cache.put("page", "a", b"content")
    before = [path.read_bytes() for path in files(tmp_path)]
    for again in (cache, Cache(tmp_path / "cache", warnings.append)):
        again.put("page", "a", b"content")
    assert [path.read_bytes() for path in files(tmp_path)] == before
    cache.discard("page", "a")
    cache.put("page", "a", b"content")
    assert [path.read_bytes() for path in files(tmp_path)] != before


def test_no_key_is_in_clear(cache: Cache, tmp_path: Path) -> None:
    cache.put("page", "https://a.example/secret", b"1")
    for path in files(tmp_path):
        assert "secret" not in str(path)
        assert b"secret" not in path.read_bytes()
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_folder_that_is_a_file(tmp_path: Path, warnings: list[str]) -> None:
    (tmp_path / "cache").write_text("")
    cache = Cache(tmp_path / "cache", warnings.append)
    cache.put("page", "a", b"1")
    cache.put("page", "b", b"1")
    assert cache.get("page", "a") is None
    assert warnings == [
        (
            f"The cache in {tmp_path}/cache/v2 is not writable (Not a directory); continuing without it."
            "\nhint: set ASCEND_LOCK_CACHE to a folder that you can write to"
        )
    ]
    assert heard(warnings[0], "zh") == (
        f"无法写入缓存目录 {tmp_path}/cache/v2（Not a directory）；将不使用缓存继续。"
        "\n提示：请将 ASCEND_LOCK_CACHE 设为您自己的目录"
    )


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_a_volume_that_is_no_file_is_not_waited_for(
    tmp_path: Path, warnings: list[str], make: Callable[[Path], object]
) -> None:
    (tmp_path / "v2").mkdir()
    for ending in (DATA, ROWS):
        make(tmp_path / "v2" / f"0000000001-0123456789abcdef{ending}")
    for _ in range(2):
        Cache(tmp_path, warnings.append).put("page", "a", b"1")
        assert Cache(tmp_path, warnings.append).get("page", "a") == b"1"
    assert warnings == []


def test_rows_beyond_all_measure_are_none(tmp_path: Path, warnings: list[str]) -> None:
    """As a disk that lost power may leave a file."""
    (tmp_path / "v2").mkdir()
    for ending in (DATA, ROWS):
        with (tmp_path / "v2" / f"0000000001-0123456789abcdef{ending}").open("wb") as file:
            file.truncate(10 << 30)
    cache = Cache(tmp_path, warnings.append)
    cache.put("page", "a", b"1")
    assert (cache.get("page", "a"), cache.has("page", "b"), warnings) == (b"1", False, [])


def test_a_full_disk(tmp_path: Path) -> None:
    """What cannot be written whole leaves nothing behind; what was there before stays."""
    script = (
        "import resource, signal, sys; from pathlib import Path; from resolver.catalog.store.cache import Cache\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
        "c = Cache(Path(sys.argv[1]), print)\n"
        "for n in range(9): c.put('page', str(n), bytes([n]) * 1000)\n"
        "assert [c.get('page', str(n)) for n in range(9)] == [bytes([n]) * 1000 for n in range(5)] + [None] * 4\n"
    )
    run = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, text=True, stdout=subprocess.PIPE)
    assert (
        run.stdout.splitlines()[0]
        == f"The cache in {tmp_path}/v2 is not writable (File too large); continuing without it."
    )
    assert sorted(path.stat().st_size for path in files(tmp_path)) == [5 * 52, 5000]


def test_a_cache_of_nothing(warnings: list[str]) -> None:
    cache = Cache(None, warnings.append)
    cache.put("page", "a", b"1")
    assert cache.get("page", "a") is None
    assert warnings == []


def test_what_killed_processes_left_is_removed(tmp_path: Path, warnings: list[str]) -> None:
    folder = tmp_path / "v2"
    folder.mkdir()
    old, new, gone = (folder / f"000000000{n}-0123456789abcdef" for n in range(3))
    for path in (old, new):
        path.with_suffix(".data").write_bytes(b"x")
    gone.with_suffix(".rows").write_bytes(b"")
    yesterday = time.time() - 25 * 3600
    os.utime(old.with_suffix(".data"), (yesterday, yesterday))
    cache = Cache(tmp_path, warnings.append)
    cache.put("page", "a", b"1")
    assert [path.name for path in files(tmp_path)][:-2] == [new.with_suffix(".data").name]
    assert cache.get("page", "a") == b"1"


def test_a_process_killed_while_it_writes_costs_what_it_wrote_last_at_most(tmp_path: Path, warnings: list[str]) -> None:
    script = (
        "import sys; from pathlib import Path; from resolver.catalog.store.cache import Cache\n"
        "c = Cache(Path(sys.argv[1]), sys.exit)\n"
        "for n in range(10**9):\n"
        "    c.put('page', str(n), str(n).encode() * 3000)\n"
        "    print(n, flush=True)\n"
    )
    for _ in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            told = [process.stdout.readline() for _ in range(40)]
            process.kill()
            told += process.stdout.read().splitlines(keepends=True)
        cache = Cache(tmp_path, warnings.append)
        for row in told:
            if row.endswith("\n"):
                assert cache.get("page", row.strip()) == row.strip().encode() * 3000


def test_many_volumes_become_few_and_the_latest_content_counts(tmp_path: Path, warnings: list[str]) -> None:
    said: dict[tuple[str, str], bytes] = {}
    chance = random.Random(5)
    writers: list[Cache] = []
    for step in range(150):
        if chance.random() < 0.7:
            writers = [*writers[-2:], Cache(tmp_path, warnings.append)]  # some still write when others begin
        key = chance.choice("ab"), str(chance.randrange(40))
        content = said[key] = str(step).encode() * chance.randrange(1, 2000)
        writers[-1].put(*key, content)
        assert len(files(tmp_path)) <= 2 * 40
    again = Cache(tmp_path, warnings.append)
    assert {key: again.get(*key) for key in said} == said
    assert warnings == []


def test_what_was_replaced_is_given_up(tmp_path: Path, warnings: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(volumes, "_MOST_DEAD", 1 << 20)
    for step in range(30):
        cache = Cache(tmp_path, warnings.append)
        cache.put("page", "a", bytes([step]) * (200 << 10))
        cache.put("page", str(step), bytes([step]))
        del cache
        assert sum(path.stat().st_size for path in files(tmp_path)) < 2 << 20
    again = Cache(tmp_path, warnings.append)
    assert again.get("page", "a") == bytes([29]) * (200 << 10)
    assert [again.get("page", str(step)) for step in range(30)] == [bytes([step]) for step in range(30)]


def test_who_reads_goes_on_when_another_makes_one_volume_of_many(tmp_path: Path, warnings: list[str]) -> None:
    for step in range(32):
        Cache(tmp_path, warnings.append).put("page", str(step), str(step).encode())
    reader = Cache(tmp_path, warnings.append)
    assert reader.get("page", "0") == b"0"
    before = set(files(tmp_path))
    for step in range(32, 35):
        Cache(tmp_path, warnings.append).put("page", str(step), b"x")
    assert len(before - set(files(tmp_path))) > 20
    assert [reader.get("page", str(step)) for step in range(32)] == [str(step).encode() for step in range(32)]


def test_several_processes_at_once(tmp_path: Path) -> None:
    """Whoever reads sees one of the whole entries, never a mixture."""
    script = (
        "import sys; from pathlib import Path; from resolver.catalog.store.cache import Cache\n"
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


def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a folder named `~` wherever the command is run."""
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("os.getuid", lambda: 2**31 - 7)
    assert default_folder({}) == Path("/.cache/ascend-lock")
