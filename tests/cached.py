"""The contents of a cache, for tests that damage them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec

from resolver.index.store.cache import FILE
from resolver.index.store.page_cache import StoredPage, zstd


def entries(folder: Path, kind: str = "") -> dict[int, bytes]:
    """Return the contents of a kind, or of all, by the numbers of their entries."""
    with closing(sqlite3.connect(folder / FILE)) as connection:
        query = "SELECT id, content FROM entries JOIN contents USING (id) WHERE ? IN ('', kind)"
        return dict(connection.execute(query, (kind,)).fetchall())


def unpacked(folder: Path) -> Iterator[bytes]:
    """Yield the rows of all pages, which are compressed there."""
    for content in entries(folder, "page").values():
        stored = msgspec.msgpack.decode(content, type=StoredPage)
        yield from (zstd.decompress(piece) for _, piece in stored.pieces)


def damage(folder: Path, change: Callable[[bytes], bytes], kind: str = "") -> int:
    """Change each content of a kind, or of all; return their number."""
    contents = entries(folder, kind)
    with closing(sqlite3.connect(folder / FILE)) as connection, connection:
        changed = [(change(content), number) for number, content in contents.items()]
        connection.executemany("UPDATE contents SET content = ? WHERE id = ?", changed)
    return len(contents)


def require_sound_cache(folder: Path, where: str = "") -> None:
    """Assert that the file is whole, has what its entries name, and is alone in the folder."""
    names = {path.name for path in folder.glob("*")}
    assert names <= {FILE, f"{FILE}-wal", f"{FILE}-shm", "git"}, where
    if not (folder / FILE).exists():
        return
    with closing(sqlite3.connect(folder / FILE)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)], where
        # The process may have been killed before there was a table.
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
            return
        entries = set(connection.execute("SELECT id, size FROM entries"))
        assert set(connection.execute("SELECT id, length(content) FROM contents")) == entries, where
