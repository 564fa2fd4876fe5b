"""The catalog that answers from real indexes, over the network or from the cache.

Nothing is requested twice in a run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.errors import IndexFailure, ResolverError, Unreachable
from resolver.index.bindings import BoundIndexes, NotCached
from resolver.index.parse.address import Root
from resolver.index.parse.binaries import Limits
from resolver.index.parse.distribution import FileRelease, release_of
from resolver.index.pool import CatalogPool
from resolver.index.protocol import (
    UNREACHABLE,
    Catalog,
    LookAhead,
    Lookup,
    UnusableFile,
)
from resolver.index.store.page_cache import IndexAnswer
from resolver.model.linkage import Linkage
from resolver.model.problem import Indexes, Recorded
from resolver.model.release import Archive, CoreMetadata, File
from resolver.phrase import EMPTY, Phrase, literal, phrase

if TYPE_CHECKING:
    from resolver.index.net.online import OnlineCatalog
    from resolver.index.net.remote_files import RemoteFiles

T = TypeVar("T")

# The limits for reading the binaries of one wheel. They are the same in every run, so that a lock
# does not depend on what earlier runs left in the cache.
LINKAGE_LIMITS: Final = Limits(packed=25_000_000, unpacked=128 << 20)
# The limits for all wheels that one catalog reads: less than three seconds of CPU.
LINKAGE_BUDGET: Final = Limits(packed=50_000_000, unpacked=256 << 20)
# If fewer bytes are left of the budget, no further wheel is read.
LEAST_LINKAGE: Final = 64 << 10


class LiveCatalog(Catalog):
    """The catalog of the indexes of one problem.

    Offline, it answers from the cache alone, and raises IndexFailure for what the cache lacks.
    """

    def __init__(
        self, indexes: Indexes, platform: str, pool: CatalogPool, recorded: Sequence[Recorded] = ()
    ) -> None:
        """Use the indexes to which projects are bound on the target's `platform`.

        The `recorded` wheels are used if their index cannot be reached. A look-up then has a page
        of that index, and its `unreachable` names the index as well.
        """
        self._pool = pool
        self._files = pool.files
        self._indexes = BoundIndexes(indexes, platform, lambda: pool.pip.index_url, recorded)
        self._lookups: dict[NormalizedName, Lookup] = {}
        self._fingerprints: dict[NormalizedName, str] = {}
        # Whether the fingerprints cover all answers so far: a later run with the same fingerprints
        # gets the same answers. This holds for look-ups, and for files with a hash.
        self._is_covered = True
        self._linkage_left = LINKAGE_BUDGET
        # By sha256 or address of the wheel. The first answer is kept, so that the solver and the
        # check of its result get the same one.
        self._linkages: dict[str, Linkage | UnusableFile | None] = {}
        self._known_linkages: dict[str, Linkage | UnusableFile | None] = {}
        self._online: OnlineCatalog | None = None
        self._closed = False
        self._lock = threading.RLock()

    def close(self) -> None:
        """Cancel the look-ahead. The pool stays open."""
        with self._lock:
            self._closed = True  # so that a running look-ahead starts no more requests
            online, self._online = self._online, None
        if online is not None:
            online.thread.wait(online.close)

    # Look-ups

    def lookup(self, project: NormalizedName) -> Lookup:
        if project in self._lookups:
            return self._lookups[project]
        try:
            if self._pool.offline:
                lookup = self._cached_lookup(project)
            else:
                lookup = self._wait(lambda online: online.lookup(project))
        except Unreachable:
            self._fingerprints[project] = UNREACHABLE
            raise
        except ResolverError:
            # The caller may continue without this answer, which has no fingerprint.
            self._is_covered = False
            raise
        self._lookups[project] = lookup
        self._fingerprints[project] = lookup.fingerprint
        return lookup

    def _cached_lookup(
        self,
        project: NormalizedName,
        load: Callable[[Root, NormalizedName, str], IndexAnswer | None] | None = None,
    ) -> Lookup:
        """Return the look-up of a project from the cache. Raises NotCached.

        `load` returns the last answer from one address of an index; None if it was never asked. By
        default the answer has the complete page.
        """
        load = load or self._pool.pages.load_answer
        answers = self._indexes.answers(project)
        for index in answers.indexes_to_ask():
            try:
                answer = self._cached_answer(index, project, load)
            except NotCached as failure:
                answers.add_failure(index, failure)
            else:
                answers.add(index, answer)
        return answers.lookup()

    def _cached_answer(
        self,
        index: str,
        project: NormalizedName,
        load: Callable[[Root, NormalizedName, str], IndexAnswer | None],
    ) -> IndexAnswer:
        """Return the last answer of an index from the cache.

        The addresses of the index and its mirrors are tried until one has the project. Raises
        NotCached if none of them was ever asked.
        """
        answer: IndexAnswer | None = None
        for root in self._indexes.roots(index):
            loaded = load(root, project, index)
            if loaded is not None:
                answer = loaded
                if answer.page is not None:
                    break
        if answer is None:
            raise NotCached(
                phrase(
                    "{name} is not in the cache, and --offline does not use the network.",
                    name=project,
                ),
                where=phrase("index `{index}`", index=index),
                hint=phrase("lock once without --offline to fill the cache"),
            )
        self._pool.meter.cached(f"{index} {project}")
        return answer

    def used_fingerprints(self) -> Mapping[NormalizedName, str] | None:
        return dict(self._fingerprints) if self._is_covered else None

    def fingerprints(self, projects: Sequence[NormalizedName]) -> Mapping[NormalizedName, str]:
        if self._pool.offline:
            load = self._pool.pages.load_key
            return {project: self._cached_lookup(project, load).fingerprint for project in projects}
        fingerprints = self._wait(lambda online: online.fingerprints(projects))
        return dict(zip(projects, fingerprints, strict=True))

    # Contents of files

    def metadata(self, file: File) -> CoreMetadata:
        recorded = self._indexes.recorded_metadata(file)
        if recorded is not None:
            return recorded
        release = self._parse_filename(file)

        def request(files: RemoteFiles) -> Coroutine[Any, Any, CoreMetadata]:
            self._go_online().run_ahead(file, release)
            return files.metadata(file, release)

        return self._read(
            file,
            lambda: self._files.metadata(file, release),
            request,
            is_covered=bool(file.metadata),
        )

    def archive(self, file: File) -> Archive:
        release = self._parse_filename(file)
        return self._read(
            file,
            lambda: self._files.archive(file),
            lambda files: files.archive(file, release),
        )

    def member(self, file: File, path: str) -> str:
        release = self._parse_filename(file)
        return self._read(
            file,
            lambda: self._files.member(file, path),
            lambda files: files.member(file, release, path),
            content_name=phrase("{path} of {file}", path=path, file=file.filename),
        )

    def sha256(self, file: File) -> File:
        if file.sha256:
            return file

        def cached() -> File | None:
            if not self._pool.offline:
                return None  # so that `_read` asks the server whether the file has changed
            file_hash = self._files.hashed(file)
            return None if file_hash is None else file_hash.fill(file)

        name = phrase("the sha256 of {file}", file=file.filename)
        return self._read(file, cached, lambda files: files.sha256(file), content_name=name)

    def wheel_text(self, file: File, path: str) -> str | None:
        """Return the member at `path` of a wheel as text; None if there is no such member.

        It is read over the network and not cached. Raises UnusableFile if the wheel cannot be read,
        and IndexFailure if its server does not answer.
        """
        release = self._parse_filename(file)
        return self._wait(lambda online: online.files.wheel_text(file, release, path))

    def _read(
        self,
        file: File,
        cached: Callable[[], T | None],
        request: Callable[[RemoteFiles], Coroutine[Any, Any, T]],
        *,
        content_name: Phrase = EMPTY,
        is_covered: bool = False,
    ) -> T:
        """Return a content of a file (its metadata, for example), from the cache or the network.

        `cached` returns the content from the cache, or None. `request` requests it. `content_name`
        names the content in a failure; by default it is the file name.

        Sets `_is_covered` to False unless fingerprints cover the result. They cover a content if
        the file has a sha256, or if the content has its own (`is_covered`). They cover an
        UnusableFile if the file has a sha256, and no other failure.
        """
        name = content_name or literal(file.filename)
        try:
            content = cached()
            if content is not None:
                self._pool.meter.cached(str(name))
            if content is None and not self._pool.offline:
                content = self._wait(lambda online: request(online.files))
            if content is None:
                raise _not_cached(file, name)
        except UnusableFile:
            if not file.sha256:
                self._is_covered = False
            raise
        except BaseException:
            self._is_covered = False
            raise
        if not file.sha256 and not is_covered:
            self._is_covered = False
        return content

    # Binaries of wheels

    def linkage(self, file: File) -> Linkage | None:
        return _first_answer(self._linkages, file, self._find_linkage)

    def known_linkage(self, file: File) -> Linkage | None:
        if not file.sha256:
            return None
        return _first_answer(self._known_linkages, file, self._files.linkage)

    def _find_linkage(self, file: File) -> Linkage | None:
        """Return the linkage of a wheel from the cache or the network; None if it is not read.

        It is not read if it exceeds the limits, or if its server does not answer. Raises
        UnusableFile.
        """
        known = self.known_linkage(file)
        if known is not None or self._pool.offline or not file.url:
            return known
        limits = LINKAGE_LIMITS.at_most(self._linkage_left)
        if limits.packed < LEAST_LINKAGE:
            # A run with more in the cache spends less of the budget, and may read this file.
            self._is_covered = False
            return None
        release = self._parse_filename(file)
        try:
            reading = self._wait(lambda online: online.files.linkage(file, release, limits))
        except ResolverError:
            self._is_covered = False  # another run may reach the server
            return None
        self._linkage_left = self._linkage_left.without(reading.cost)
        if reading.linkage is None and limits != LINKAGE_LIMITS:
            self._is_covered = False
        return reading.linkage

    def read_linkage(self, file: File, limits: Limits) -> Linkage | None:
        """Return the linkage of a wheel for `facts read-linkage`, read within other limits.

        Binaries beyond the limits are listed as unread. None if the server cannot send parts of the
        wheel, and the whole wheel exceeds the limits. Raises UnusableFile if the wheel cannot be
        read, and IndexFailure if its server does not answer.
        """
        release = self._parse_filename(file)
        reading = self._wait(
            lambda online: online.files.linkage(file, release, limits, partly=True)
        )
        return reading.linkage

    # The network

    def prefetch(
        self,
        requests: Iterable[tuple[NormalizedName, SpecifierSet]],
        look_ahead: LookAhead | None = None,
    ) -> None:
        all_requests = list(requests)
        self._in_background(lambda online: online.prefetch(all_requests, look_ahead))

    def prefetch_metadata(self, files: Iterable[File]) -> None:
        wheels = [(file, self._parse_filename(file)) for file in files if file.url]
        self._in_background(lambda online: online.prefetch_metadata(wheels))

    def _wait(self, work: Callable[[OnlineCatalog], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine in the network's thread, and return its result."""
        online = self._go_online()
        return online.thread.wait(lambda: work(online))

    def _in_background(self, call: Callable[[OnlineCatalog], None]) -> None:
        """Call a function in the network's thread, without waiting for it.

        Offline and after `close` it is not called.
        """
        with self._lock:
            if not self._pool.offline and not self._closed:
                online = self._go_online()
                online.thread.call_soon(lambda: call(online))

    def _go_online(self) -> OnlineCatalog:
        """Return the online part of this catalog, which is made when it is first needed."""
        with self._lock:
            if self._online is None:
                from resolver.index.net.online import OnlineCatalog

                self._online = OnlineCatalog(
                    self._indexes,
                    self._pool.connection(),
                    self._pool.warn_daily,
                    self._parse_filename,
                )
            return self._online

    def _parse_filename(self, file: File) -> FileRelease:
        """Return the release of a file.

        If the file name is ambiguous, a project that was looked up before is preferred.
        """
        return release_of(file, self._lookups.__contains__)


def _not_cached(file: File, content_name: Phrase) -> IndexFailure:
    """Return the failure of an offline run that needs a content of a file the cache lacks."""
    why = EMPTY
    hint = phrase("lock once without --offline to fill the cache")
    if not file.sha256:
        why = phrase(
            "Its index gives no sha256, and such files are not cached because they may change."
        )
        hint = phrase(
            "lock without --offline, or use an index whose pages have hashes; for machines "
            "without network access make a bundle (ascend-lock bundle)"
        )
    return IndexFailure(
        phrase(
            "{name} is not in the cache, and --offline does not use the network.", name=content_name
        ),
        why=why,
        hint=hint,
    )


def _first_answer(
    answers: dict[str, Linkage | UnusableFile | None],
    file: File,
    find: Callable[[File], Linkage | None],
) -> Linkage | None:
    """Return the answer about a file from `answers`; the first time, call `find` and keep it.

    An UnusableFile that `find` raises is kept, too, and raised each time.
    """
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
