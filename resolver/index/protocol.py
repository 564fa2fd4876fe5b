"""The interface of all catalogs, counters of their traffic, and how an answer is waited for.

Catalogs are `live` (network and cache) and `snapshot` (answers from a file); `recording` and
`unhashed` change answers of another one. Tests have one of data.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError  # built-in from Python 3.11 on
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol, TypeVar

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.model.linkage import Linkage
from resolver.model.message import Message, message
from resolver.model.release import Archive, CoreMetadata, File, Page
from resolver.phrase import Phrase
from resolver.redaction import without_secrets

# Characters of a reason; `errors` has the same limit for a part of a message.
_LONGEST: Final = 1000
# The fingerprint of a look-up for which no index could be reached.
UNREACHABLE: Final = "-"


@dataclass(frozen=True, slots=True)
class Lookup:
    """A project on the indexes bound to it."""

    # In the order of the binding: one page for "first", any number for "all", none if no index has
    # the project.
    pages: tuple[Page, ...]
    # The names of the indexes that were skipped because they could not be reached.
    unreachable: tuple[str, ...] = ()
    # Look-ups of one catalog with the same fingerprint are equal, unless it is empty.
    fingerprint: str = field(default="", compare=False)


class UnusableFile(Exception):
    """A file's metadata cannot be used; the release is rejected with this text.

    As the text may quote the file, it is truncated beyond any honest length, and shown without the
    secrets of addresses.
    """

    def __init__(self, why: str | Phrase) -> None:
        if isinstance(why, Phrase):
            super().__init__(why.with_values(without_secrets))
            return
        why = without_secrets(why)
        super().__init__(why if len(why) <= _LONGEST else f"{why[:_LONGEST]}…")


class LookAhead(Protocol):
    """What the solver will probably request next.

    Its methods are fast, and are called in the catalog's thread. They may call `prefetch` and
    `prefetch_metadata` of the catalog, but none of its blocking methods.
    """

    @property
    def target(self) -> Hashable:
        """Return the target of the solver."""

    def likely_file(
        self, project: NormalizedName, lookup: Lookup, specifier: SpecifierSet
    ) -> File | None:
        """Return the file whose metadata will most likely be needed, or None."""

    def next_requirements(
        self, project: NormalizedName, metadata: CoreMetadata
    ) -> Iterable[tuple[NormalizedName, SpecifierSet]]:
        """Return what the solver will need next because of that metadata."""


class Catalog(ABC):
    """Pages of projects and contents of files, from memory, cache, snapshot or network.

    Methods block, and raise IndexFailure if an index does not answer or gives an invalid answer.
    """

    @abstractmethod
    def lookup(self, project: NormalizedName) -> Lookup:
        """Return the pages of a project on the indexes bound to it."""

    @abstractmethod
    def metadata(self, file: File) -> CoreMetadata:
        """Return the core metadata of a wheel, which is of the release in its file name.

        Raises UnusableFile.
        """

    @abstractmethod
    def archive(self, file: File) -> Archive:
        """Return the static metadata of a source archive, read after checking its sha256.

        Raises UnusableFile.
        """

    @abstractmethod
    def member(self, file: File, path: str) -> str:
        """Return the text of the file at `path` below the top folder of a source archive.

        Raises UnusableFile.
        """

    @abstractmethod
    def sha256(self, file: File) -> File:
        """Return the file with sha256 and size.

        It is downloaded and hashed if the page has no hash.
        """

    def linkage(self, file: File) -> Linkage | None:  # noqa: ARG002
        """Return what the binaries of a wheel need and offer, None if they are left unread.

        Never raises IndexFailure: a lock is possible without it, and says what was left unread.
        Raises UnusableFile.
        """
        return None

    def known_linkage(self, file: File) -> Linkage | None:  # noqa: ARG002
        """Return what `linkage` does if the wheel was read before, else None.

        Nothing is requested. Raises UnusableFile.
        """
        return None

    def prefetch(  # noqa: B027  one that has everything at hand does nothing
        self,
        requests: Iterable[tuple[NormalizedName, SpecifierSet]],
        look_ahead: LookAhead | None = None,
    ) -> None:
        """Start to look up projects.

        With `look_ahead` also start to read the metadata of their likely files, what that needs,
        and so on. Does not wait, and reports no failure of an index. Raises InputError if the
        settings of the network are wrong.
        """

    def prefetch_metadata(self, files: Iterable[File]) -> None:  # noqa: B027
        """Start to read the metadata of wheels."""

    def used_fingerprints(self) -> Mapping[NormalizedName, str] | None:
        """Return the fingerprints of all look-ups so far.

        None if they do not cover everything that was requested.
        """
        return None

    def fingerprints(self, projects: Sequence[NormalizedName]) -> Mapping[NormalizedName, str]:  # noqa: ARG002
        """Return the fingerprints of what `lookup` would return, requested concurrently.

        A project has UNREACHABLE where no index answers. The result is empty for a catalog without
        fingerprints. Raises IndexFailure as `lookup` does.
        """
        return {}

    def close(self) -> None:  # noqa: B027
        """Release connections and threads; nothing may be called afterwards."""


class CatalogWrapper(Catalog):
    """Answers as `inner` does, which the caller closes. Subclasses change single answers.

    It has no fingerprints, as these are of the answers of `inner`.
    """

    def __init__(self, inner: Catalog) -> None:
        self.inner = inner

    def lookup(self, project: NormalizedName) -> Lookup:
        return self.inner.lookup(project)

    def metadata(self, file: File) -> CoreMetadata:
        return self.inner.metadata(file)

    def archive(self, file: File) -> Archive:
        return self.inner.archive(file)

    def member(self, file: File, path: str) -> str:
        return self.inner.member(file, path)

    def sha256(self, file: File) -> File:
        return self.inner.sha256(file)

    def linkage(self, file: File) -> Linkage | None:
        return self.inner.linkage(file)

    def known_linkage(self, file: File) -> Linkage | None:
        return self.inner.known_linkage(file)

    def prefetch(
        self,
        requests: Iterable[tuple[NormalizedName, SpecifierSet]],
        look_ahead: LookAhead | None = None,  # noqa: ARG002
    ) -> None:
        """See `Catalog`. Without look-ahead, which would see the answers of `inner`."""
        self.inner.prefetch(requests, None)

    def prefetch_metadata(self, files: Iterable[File]) -> None:
        self.inner.prefetch_metadata(files)


class Traffic(NamedTuple):
    """What was sent and received so far."""

    requests: int = 0
    # Bytes of bodies received.
    bytes: int = 0


class Meter:
    """Counts traffic, in the network's thread; calls `progress` for each change.

    `trace` is called with what was read from where, in any thread.
    """

    def __init__(
        self,
        progress: Callable[[Traffic], None] | None = None,
        trace: Callable[[Message], None] | None = None,
    ) -> None:
        self.traffic = Traffic()
        self._progress = progress
        self._trace = trace

    def add(self, *, requests: int = 0, received: int = 0) -> None:
        """Add to the counters."""
        self.traffic = Traffic(self.traffic.requests + requests, self.traffic.bytes + received)
        if self._progress is not None:
            self._progress(self.traffic)

    def answered(self, address: str, status: int, seconds: float) -> None:
        """Tell of an answer of the network. The address must have no secrets."""
        if self._trace is not None:
            values = {"address": address, "status": status, "seconds": f"{seconds:.2f}"}
            self._trace(message("trace.answered", **values))

    def cached(self, what: str) -> None:
        """Tell of something that the cache had."""
        if self._trace is not None:
            self._trace(message("trace.cached", what=what))


T = TypeVar("T")

_INTERVAL: Final = 0.2  # seconds

_POLL: ContextVar[Callable[[], None] | None] = ContextVar("poll", default=None)


@contextmanager
def polling(poll: Callable[[], None]) -> Iterator[None]:
    """Call `poll` at short intervals while a catalog is waited for; its exception ends the wait.

    Long computations that call `poll_once` call it, too.
    """
    token = _POLL.set(poll)
    try:
        yield
    finally:
        _POLL.reset(token)


def poll_once() -> None:
    """Call what `polling` is given, if anything is. Raises its exception."""
    poll = _POLL.get()
    if poll is not None:
        poll()


class _Waits:
    """Counts for how long this process has waited for catalogs."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def result(self, future: Future[T], timeout: float | None = None) -> T:
        """Return the result of a future, and count the time until then. Raise its exception."""
        began = time.monotonic()
        try:
            return future.result(timeout)
        finally:
            self.seconds += time.monotonic() - began


_WAITS: Final = _Waits()


def waited() -> float:
    """Return for how many seconds this process has waited for catalogs."""
    return _WAITS.seconds


def result_of(future: Future[T]) -> T:
    """Return the result of a future, waited for as `polling` says.

    Raises its exception, or the exception of `poll`.
    """
    poll = _POLL.get()
    while poll is not None:
        try:
            return _WAITS.result(future, _INTERVAL)
        except FutureTimeoutError:
            if future.done():  # just now, or this is the exception of the future itself
                break
        poll()
    return _WAITS.result(future)
