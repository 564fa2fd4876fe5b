"""The catalog of real indexes: cache first, then network, each asked at most once for the same thing.

Whatever is on disk is answered in the caller's thread. Everything else happens on
one background thread, started when first needed, so an offline or fully cached run
imports no HTTP client.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.errors import IndexFailure, ResolverError, Unreachable
from resolver.index.net.pipconfig import PipConfig
from resolver.index.parse.metadata import Release
from resolver.index.pool import Pool
from resolver.index.protocol import NOBODY, Follow, Lookup, Traffic, UnusableFile
from resolver.index.store.cache import Cache
from resolver.index.store.page_cache import PageCache
from resolver.index.store.stored import release_of
from resolver.model.index import Indexes
from resolver.model.release import Archive, File, Metadata

if TYPE_CHECKING:
    from resolver.index.net.files import Files
    from resolver.index.net.network import Network

T = TypeVar("T")


class LiveCatalog:
    """Implements `protocol.Catalog` and `protocol.Marked`.

    `platform` is the target's, for bindings to a single platform. With
    `offline` the network is not used, and anything missing from the cache is an
    IndexFailure. `warn` is called with what a user should know, `progress` for each
    request and answer; both may be called from another thread. `pip` defaults
    to the configuration of pip on this machine.

    With a `pool`, its cache and settings apply, and whoever made it closes it.
    """

    def __init__(
        self,
        indexes: Indexes,
        platform: str,
        cache: Cache,
        *,
        offline: bool = False,
        warn: Callable[[str], None] = lambda _: None,
        progress: Callable[[Traffic], None] | None = None,
        pip: PipConfig | None = None,
        pool: Pool | None = None,
    ) -> None:
        self._alone = pool is None
        self._pool = pool = pool or Pool(cache, offline=offline, warn=warn, progress=progress, pip=pip)
        self._offline = pool.offline
        self._stored = pool.stored
        self._page_cache = PageCache(indexes, platform, pool.cache, lambda: pool.pip.index_url, pool.meter, pool.pages)
        self._lookups: dict[NormalizedName, Lookup] = {}
        self._seen: dict[NormalizedName, str] = {}
        self._covered = True
        self._network: Network | None = None
        self._closed = False
        self._lock = threading.RLock()

    @property
    def traffic(self) -> Traffic:
        """The requests made so far."""
        return self._pool.meter.traffic

    def lookup(self, project: NormalizedName) -> Lookup:
        """See `protocol.Catalog`."""
        if (known := self._lookups.get(project)) is not None:
            return known
        try:
            found = self._page_cache.lookup(project) if self._offline else self._go_online().lookup(project)
        except Unreachable:
            self._seen[project] = NOBODY
            raise
        except ResolverError:
            self._covered = False  # and the caller may continue without it
            raise
        self._lookups[project] = found
        self._seen[project] = found.mark
        return found

    def seen(self) -> Mapping[NormalizedName, str] | None:
        """See `protocol.Marked`."""
        return dict(self._seen) if self._covered else None

    def marks(self, projects: Sequence[NormalizedName]) -> Mapping[NormalizedName, str]:
        """See `protocol.Marked`."""
        if not self._offline:
            return dict(zip(projects, self._go_online().marks(projects), strict=True))
        return {project: self._page_cache.mark(project) for project in projects}

    def metadata(self, file: File) -> Metadata:
        """See `protocol.Catalog`."""
        self._covered &= bool(file.sha256 or file.metadata)  # whichever part of the run read it
        release = self._release(file)
        found = self._stored.metadata(file, release)
        if found is None:
            found = self._read(file.filename, file, lambda files: files.metadata(file, release))
        return found

    def archive(self, file: File) -> Archive:
        """See `protocol.Catalog`."""
        release = self._release(file)
        self._covered &= bool(file.sha256)
        found = self._stored.archive(file)
        if found is None:
            found = self._read(file.filename, file, lambda files: files.archive(file, release))
        return found

    def member(self, file: File, path: str) -> str:
        """See `protocol.Catalog`."""
        release = self._release(file)
        self._covered &= bool(file.sha256)
        found = self._stored.member(file, path)
        if found is None:
            found = self._read(f"{path} of {file.filename}", file, lambda files: files.member(file, release, path))
        return found

    def sha256(self, file: File) -> File:
        """See `protocol.Catalog`."""
        if file.sha256:
            return file
        self._covered = False
        if self._offline and (known := self._stored.hashed(file)) is not None:
            return known.fill(file)
        return self._read(f"the sha256 of {file.filename}", file, lambda files: files.sha256(file))

    def expect(self, wanted: Iterable[tuple[NormalizedName, SpecifierSet]], follow: Follow | None = None) -> None:
        """See `protocol.Catalog`."""
        if (network := self._ahead()) is not None:
            network.expect(list(wanted), follow)

    def expect_metadata(self, files: Iterable[File]) -> None:
        """See `protocol.Catalog`."""
        if not self._offline:
            missing = [(file, self._release(file)) for file in files if not self._stored.has_metadata(file)]
            if missing and (network := self._ahead()) is not None:
                network.expect_metadata(missing)

    def close(self) -> None:
        """See `protocol.Catalog`."""
        with self._lock:
            self._closed = True  # running look-aheads start nothing more
            network, self._network = self._network, None
        if network is not None:
            network.close()
        if self._alone:
            self._pool.close()

    def __enter__(self) -> LiveCatalog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self, what: str, file: File, work: Callable[[Files], Coroutine[Any, Any, T]]) -> T:
        """What the network has of a file, which is kept. Other failures are not: no mark covers a run that met one."""
        if self._offline:
            why, hint = "", "lock once without --offline to fill the cache"
            if not file.sha256:
                why = "Its index gives no sha256, and such files are not cached because they may change."
                hint = (
                    "lock without --offline, or use an index whose pages have hashes; "
                    "for machines without network access make a bundle (ascend-lock bundle)"
                )
            raise IndexFailure(
                f"{what} is not in the cache, and --offline does not use the network.",
                where=self._index_of(file),
                why=why,
                hint=hint,
            )
        covered, self._covered = self._covered, False
        try:
            found = self._go_online().read(work)
        except UnusableFile:  # a reason that lies in the bytes of the file is kept like an answer
            self._covered = covered and bool(file.sha256)
            raise
        self._covered = covered
        return found

    def _index_of(self, file: File) -> str:
        """The index on whose page a file is, for messages; empty if it was not looked up here."""
        found = self._lookups.get(self._release(file).project)
        pages = found.pages if found is not None else ()
        name = next((page.index for page in pages if any(file in files for files in page.releases.values())), "")
        return name and f"index `{name}`"

    def _ahead(self) -> Network | None:
        """The network for look-ahead; None offline, and after `close`."""
        with self._lock:
            return None if self._offline or self._closed else self._go_online()

    def _go_online(self) -> Network:
        """The network side, started when first needed."""
        with self._lock:
            if self._network is None:
                from resolver.index.net.network import Network

                connection, meter = self._pool.connection(), self._pool.meter
                self._network = Network(
                    self._page_cache, connection, self._stored, meter, self._pool.warn, self._release
                )
            return self._network

    def _release(self, file: File) -> Release:
        return release_of(file, self._lookups.__contains__)
