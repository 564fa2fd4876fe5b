"""A live catalog's cache, filled from a snapshot."""

from __future__ import annotations

from resolver.index.protocol import UnusableFile
from resolver.index.snapshot import Snapshot
from resolver.index.store.cache import Cache
from resolver.index.store.file_cache import FileCache
from resolver.model.release import File


def seed_cache(snapshot: Snapshot, cache: Cache) -> None:
    """Put what is known about the contents of files into a live catalog's cache.

    An index made from a snapshot can serve pages and the metadata of wheels, but no files; with
    this, it need not.
    """
    stored = FileCache(cache)

    def sha256(key: str) -> str:
        return snapshot.hashed.get(key, (key, None))[0]

    for key, archive in snapshot.archives.items():
        told = UnusableFile(archive) if isinstance(archive, str) else archive
        stored.store_archive(File("", sha256=sha256(key)), told)
    for key, path, member in snapshot.members:
        content = UnusableFile(member) if isinstance(member, str) else member[0]
        stored.store_member(File("", sha256=sha256(key)), path, content)
