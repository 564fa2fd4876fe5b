"""What lies in a cache's volumes, for tests that damage it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from resolver.catalog.cache import kind_of
from resolver.catalog.volume import DATA, ROWS, Place, Row, Volume


def entries(folder: Path, kind: str = "") -> Iterator[tuple[Path, Row]]:
    """Each content of a kind, or of any: the file that it is in, and where."""
    for path in sorted(folder.glob(f"v*/*{ROWS}")):
        volume = Volume.open(str(path).removesuffix(ROWS))
        for row in volume.rows():
            if row.name.startswith(kind_of(kind) if kind else b""):
                yield path.with_suffix(DATA), row


def damage(folder: Path, change: Callable[[bytes], bytes], kind: str = "") -> int:
    """Change each content of a kind, or of any, in its place; how many there are. What is cut off becomes zeros."""
    found = list(entries(folder, kind))
    for path, row in found:
        with path.open("r+b") as file:
            file.seek(row.offset)
            content = change(file.read(row.length))
            file.seek(row.offset)
            file.write(content.ljust(row.length, b"\0")[: row.length])
    return len(found)


def require_sound_cache(folder: Path, where: str = "") -> None:
    """Every row leads to what was written, and nothing but volumes is there."""
    assert {path.name for path in folder.glob("*")} <= {"v2", "git"}, where
    for path in folder.glob("v2/*"):
        assert path.suffix in (DATA, ROWS), (where, path)
    for path in folder.glob(f"v2/*{ROWS}"):
        volume = Volume.open(str(path).removesuffix(ROWS))
        for row in volume.rows():
            assert Place(volume, row).content() is not None, (where, path, row)
