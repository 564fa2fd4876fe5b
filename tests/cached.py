"""The contents of a cache's volumes, for tests that damage them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from resolver.catalog.store.cache import kind_of
from resolver.catalog.store.volume import DATA, ROWS, Place, Row, Volume


def entries(folder: Path, kind: str = "") -> Iterator[tuple[Path, Row]]:
    """The contents of a kind, or of all: the file of each, and its place there."""
    for path in sorted(folder.glob(f"v*/*{ROWS}")):
        volume = Volume.open(str(path).removesuffix(ROWS))
        for row in volume.rows():
            if row.name.startswith(kind_of(kind) if kind else b""):
                yield path.with_suffix(DATA), row


def damage(folder: Path, change: Callable[[bytes], bytes], kind: str = "") -> int:
    """Change each content of a kind, or of all, in place. Returns their number. Short ones are padded with zeros."""
    found = list(entries(folder, kind))
    for path, row in found:
        with path.open("r+b") as file:
            file.seek(row.offset)
            content = change(file.read(row.length))
            file.seek(row.offset)
            file.write(content.ljust(row.length, b"\0")[: row.length])
    return len(found)


def require_sound_cache(folder: Path, where: str = "") -> None:
    """Assert that every row leads to what was written, and that there are only volumes."""
    assert {path.name for path in folder.glob("*")} <= {"v2", "git"}, where
    for path in folder.glob("v2/*"):
        assert path.suffix in (DATA, ROWS), (where, path)
    for path in folder.glob(f"v2/*{ROWS}"):
        volume = Volume.open(str(path).removesuffix(ROWS))
        for row in volume.rows():
            assert Place(volume, row).content() is not None, (where, path, row)
