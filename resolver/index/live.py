"""The catalog of real indexes, from the cache and the network. Nothing is requested twice.

The network is used by one background thread, started when first needed, so an offline run imports
no HTTP client.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.errors import IndexFailure, ResolverError, Unreachable
from resolver.index.net.pipconfig import PipConfig, read_pip_config
from resolver.index.parse.binaries import Limits
from resolver.index.parse.distribution import FileRelease, release_of
from resolver.index.protocol import (
    UNREACHABLE,
    Catalog,
    LookAhead,
    Lookup,
    Meter,
    Traffic,
    UnusableFile,
)
from resolver.index.store.cache import Cache
from resolver.index.store.file_cache import FileCache
from resolver.index.store.page_cache import PageCache
from resolver.model.linkage import Linkage
from resolver.model.message import Message
from resolver.model.problem import Indexes, Recorded
from resolver.model.release import Archive, CoreMetadata, File, Page
from resolver.owned_folder import OwnedFolder

if TYPE_CHECKING:
    from resolver.index.net.downloads import TransferProgress
    from resolver.index.net.network import Connection, Network
    from resolver.index.net.remote_files import RemoteFiles

T = TypeVar("T")

# What is fetched and unpacked for the binaries of one wheel that nobody has read. A wheel with more
# is read in no run, so that the lock does not depend on what earlier runs have left in the cache.
LINKAGE_LIMITS: Final = Limits(packed=25_000_000, unpacked=128 << 20)
# The same for all wheels of one catalog, as a guard: less than three seconds of CPU.
LINKAGE_BUDGET: Final = Limits(packed=50_000_000, unpacked=256 << 20)
# Not even the list of members of a wheel is fetched for less.
LEAST_LINKAGE: Final = 64 << 10


class CatalogPool:
    """What the catalogs of one run share, so that a page or file needed by several stacks is requested and read once.

    With `offline` the network is not used. `warn` is called with warnings, `progress` for each
    request and answer; both may be called from another thread. `pip` defaults to the configuration
    of pip on this machine.
    """

    def __init__(
        self,
        cache: Cache,
        *,
        offline: bool = False,
        warn: Callable[[Message], None] = lambda _: None,
        progress: Callable[[Traffic], None] | None = None,
        pip: PipConfig | None = None,
        readings: Path | None = None,
        linkage: Path | None = None,
    ) -> None:
        self.cache = cache
        self.offline = offline
        self.warn = warn
        self.meter = Meter(progress)
        self.files = FileCache(cache, readings, linkage)
        self.pages: dict[tuple[str, str], Page] = {}  # by key of the page and name of the index
        self._pip = pip
        self._connection: Connection | None = None

    @cached_property
    def pip(self) -> PipConfig:
        """The configuration of pip on this machine, read when first needed."""
        return self._pip or read_pip_config()

    def connection(self) -> Connection:
        """The connection, started when first needed."""
        if self._connection is None:
            from resolver.index.net.network import Connection

            self._connection = Connection(self.pip, self.meter, self.files, self.warn)
        return self._connection

    def save(
        self,
        files: Sequence[File],
        folder: OwnedFolder,
        progress: Callable[[TransferProgress], None],
    ) -> None:
        """Download files into a folder under their names, each checked by its hash; see `Transfer`."""
        from resolver.index.net.downloads import Transfer

        connection = self.connection()
        connection.worker.wait(lambda: Transfer(connection.client, folder, progress).save(files))

    def close(self) -> None:
        """Release connections and threads."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        self.cache.close()


class LiveCatalog(Catalog):
    """The catalog of some indexes; `platform` is the target's, for bindings to a single platform.

    `recorded` files stand in for an index that cannot be reached, which a look-up then has a page
    of although it is `unreachable`. Offline, whatever the cache lacks is an IndexFailure.
    """

    def __init__(
        self, indexes: Indexes, platform: str, pool: CatalogPool, recorded: Sequence[Recorded] = ()
    ) -> None:
        self._pool = pool
        self._files = pool.files
        self._pages = PageCache(
            indexes, platform, pool.cache, lambda: pool.pip.index_url, pool.pages, recorded
        )
        self._lookups: dict[NormalizedName, Lookup] = {}
        self._fingerprints: dict[NormalizedName, str] = {}
        self._linkage_left = LINKAGE_BUDGET
        # By sha256 or address. A first answer holds to the end, so that the search and the check
        # see the same.
        self._linkages: dict[str, Linkage | UnusableFile | None] = {}
        self._known_linkages: dict[str, Linkage | UnusableFile | None] = {}
        self._has_fingerprints = (
            True  # every answer so far has a fingerprint, or is of a file with a hash
        )
        self._network: Network | None = None
        self._closed = False
        self._lock = threading.RLock()

    def lookup(self, project: NormalizedName) -> Lookup:
        if project in self._lookups:
            return self._lookups[project]
        try:
            if self._pool.offline:
                lookup = self._pages.lookup(project)
            else:
                lookup = self._wait(lambda network: network.lookup(project))
        except Unreachable:
            self._fingerprints[project] = UNREACHABLE
            raise
        except ResolverError:
            self._has_fingerprints = False  # and the caller may continue without it
            raise
        self._lookups[project] = lookup
        self._fingerprints[project] = lookup.fingerprint
        return lookup

    def used_fingerprints(self) -> Mapping[NormalizedName, str] | None:
        return dict(self._fingerprints) if self._has_fingerprints else None

    def fingerprints(self, projects: Sequence[NormalizedName]) -> Mapping[NormalizedName, str]:
        if self._pool.offline:
            return {project: self._pages.lookup(project).fingerprint for project in projects}
        return dict(
            zip(projects, self._wait(lambda network: network.fingerprints(projects)), strict=True)
        )

    def metadata(self, file: File) -> CoreMetadata:
        if (recorded := self._pages.recorded_metadata(file)) is not None:
            return recorded
        release = self._parse_filename(file)
        stored = partial(self._files.metadata, file, release)
        return self._read(
            file, stored, lambda files: files.metadata(file, release), covered=bool(file.metadata)
        )

    def archive(self, file: File) -> Archive:
        release = self._parse_filename(file)
        return self._read(
            file, partial(self._files.archive, file), lambda files: files.archive(file, release)
        )

    def member(self, file: File, path: str) -> str:
        release = self._parse_filename(file)
        stored = partial(self._files.member, file, path)
        return self._read(
            file, stored, lambda files: files.member(file, release, path), what=f"{path} of "
        )

    def wheel_text(self, file: File, path: str) -> str | None:
        """Return a member of a wheel as text; None if it has no such member.

        For whoever looks something up in it, as it is not stored. Raises UnusableFile and
        IndexFailure.
        """
        release = self._parse_filename(file)
        return self._wait(lambda network: network.files.wheel_text(file, release, path))

    def linkage(self, file: File) -> Linkage | None:
        return _remembered(self._linkages, file, self._find_linkage)

    def known_linkage(self, file: File) -> Linkage | None:
        return _remembered(self._known_linkages, file, self._files.linkage) if file.sha256 else None

    def _find_linkage(self, file: File) -> Linkage | None:
        """Return the linkage of a wheel, None if it is left unread. Raises UnusableFile."""
        known = self.known_linkage(file)
        if known is not None or self._pool.offline or not file.url:
            return known
        limits = LINKAGE_LIMITS.at_most(self._linkage_left)
        if limits.packed < LEAST_LINKAGE:
            self._has_fingerprints = (
                False  # another run, with more in the cache, has something left for the file
            )
            return None
        release = self._parse_filename(file)
        try:
            reading = self._wait(lambda network: network.files.linkage(file, release, limits))
        except ResolverError:
            self._has_fingerprints = False  # another run may reach the file
            return None
        self._linkage_left = self._linkage_left.without(reading.cost)
        if reading.linkage is None and limits != LINKAGE_LIMITS:
            self._has_fingerprints = False
        return reading.linkage

    def read_linkage(self, file: File, limits: Limits) -> Linkage | None:
        """Return the linkage of a wheel of which at most so much is fetched, for whoever records it.

        What is beyond the limits stays unread in it. None if the server has not what is needed for
        that. Raises UnusableFile, and IndexFailure.
        """
        release = self._parse_filename(file)
        return self._wait(
            lambda network: network.files.linkage(file, release, limits, partly=True)
        ).linkage

    def sha256(self, file: File) -> File:
        if file.sha256:
            return file

        def stored() -> File | None:  # online, the server is asked whether the file has changed
            file_hash = self._files.hashed(file) if self._pool.offline else None
            return None if file_hash is None else file_hash.fill(file)

        return self._read(file, stored, lambda files: files.sha256(file), what="the sha256 of ")

    def prefetch(
        self,
        requests: Iterable[tuple[NormalizedName, SpecifierSet]],
        look_ahead: LookAhead | None = None,
    ) -> None:
        rows = list(requests)
        self._in_background(lambda network: network.prefetch(rows, look_ahead))

    def prefetch_metadata(self, files: Iterable[File]) -> None:
        wheels = [(file, self._parse_filename(file)) for file in files if file.url]
        self._in_background(lambda network: network.prefetch_metadata(wheels))

    def close(self) -> None:
        """See `Catalog`. The pool stays open."""
        with self._lock:
            self._closed = True  # a running look-ahead starts nothing more
            network, self._network = self._network, None
        if network is not None:
            network.worker.wait(network.close)

    def _read(
        self,
        file: File,
        stored: Callable[[], T | None],
        read: Callable[[RemoteFiles], Coroutine[Any, Any, T]],
        *,
        what: str = "",
        covered: bool = False,
    ) -> T:
        """What is `stored` of a file, or else `read` from the network, which also stores it.

        `what` is for a failure.

        Fingerprints cover it if the file has a hash, or what was read has one of its own
        (`covered`); an UnusableFile, if the file has one; any other failure never.
        """
        before, self._has_fingerprints = (
            self._has_fingerprints,
            False,
        )  # whichever part of the run read it
        try:
            content = stored()
            if content is None and not self._pool.offline:
                content = self._wait(lambda network: read(network.files))
        except UnusableFile:
            self._has_fingerprints = before and bool(file.sha256)
            raise
        if content is None:
            why, hint = "", "lock once without --offline to fill the cache"
            if not file.sha256:
                why = "Its index gives no sha256, and such files are not cached because they may change."
                hint = (
                    "lock without --offline, or use an index whose pages have hashes; "
                    "for machines without network access make a bundle (ascend-lock bundle)"
                )
            message = f"{what}{file.filename} is not in the cache, and --offline does not use the network."
            raise IndexFailure(message, why=why, hint=hint)
        self._has_fingerprints = before and (covered or bool(file.sha256))
        return content

    def _wait(self, work: Callable[[Network], Coroutine[Any, Any, T]]) -> T:
        network = self._go_online()
        return network.worker.wait(lambda: work(network))

    def _in_background(self, call: Callable[[Network], None]) -> None:
        """Call something in the network's thread without waiting; not offline, and not after `close`."""
        with self._lock:
            if not self._pool.offline and not self._closed:
                network = self._go_online()
                network.worker.call_soon(lambda: call(network))

    def _go_online(self) -> Network:
        """The network side, started when first needed."""
        with self._lock:
            if self._network is None:
                from resolver.index.net.network import Network

                pool = self._pool
                self._network = Network(
                    self._pages, pool.connection(), pool.warn, self._parse_filename
                )
            return self._network

    def _parse_filename(self, file: File) -> FileRelease:
        return release_of(file, self._lookups.__contains__)


def _remembered(
    answers: dict[str, Linkage | UnusableFile | None],
    file: File,
    find: Callable[[File], Linkage | None],
) -> Linkage | None:
    """Return the answer about a file, which `find` gives the first time. Raises UnusableFile."""
    key = file.sha256 or file.url
    if key not in answers:
        try:
            answers[key] = find(file)
        except UnusableFile as error:
            answers[key] = error
    answer = answers[key]
    if isinstance(answer, UnusableFile):
        raise answer
    return answer
