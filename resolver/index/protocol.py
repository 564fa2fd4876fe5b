"""Define the interface of catalogs, count their traffic, and wait for their answers.

A catalog answers the solver's questions about projects and files. `live` reads the network and the
cache, `snapshot` a recorded file. `recording` and `unhashed` wrap another catalog. Tests use a
catalog that is made of data.
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

# Characters of the text of an UnusableFile; `errors` has the same limit for a part of a message.
_LONGEST: Final = 1000
# The fingerprint of a look-up that failed because an index could not be reached. In other
# fingerprints it stands for an index that was skipped for this reason.
UNREACHABLE: Final = "-"


@dataclass(frozen=True, slots=True)
class Lookup:
    """The pages of a project on the indexes to which it is bound.

    The stack binds each project to indexes in an order, and says whether the first of them that
    has the project is taken, or all (`model.problem.Binding`).
    """

    # The pages in the order of the binding. With "first" there is at most one; without any, no
    # index has the project.
    pages: tuple[Page, ...]
    # The names of the indexes that were skipped because they could not be reached.
    unreachable: tuple[str, ...] = ()
    # Identifies the contents of the pages and the unreachable indexes. Look-ups of one catalog with
    # the same fingerprint are equal. Empty if the catalog has no fingerprints.
    fingerprint: str = field(default="", compare=False)


class UnusableFile(Exception):
    """The content of a file cannot be used. The release is rejected with the text of this error.

    The text may quote the file. So it is cut after _LONGEST characters, and passwords in addresses
    are removed.
    """

    def __init__(self, why: str | Phrase) -> None:
        """Give the reason, as an English clause or a phrase."""
        if isinstance(why, Phrase):
            super().__init__(why.with_values(without_secrets))
            return
        why = without_secrets(why)
        super().__init__(why if len(why) <= _LONGEST else f"{why[:_LONGEST]}…")


class LookAhead(Protocol):
    """Predicts what a solver will probably request next, so that a catalog can request it now.

    The methods must be fast: they are called in the thread of the network. They may call `prefetch`
    and `prefetch_metadata` of the catalog, but none of its blocking methods.
    """

    @property
    def target(self) -> Hashable:
        """Return what identifies the target of the solver."""

    def likely_file(
        self, project: NormalizedName, lookup: Lookup, specifier: SpecifierSet
    ) -> File | None:
        """Return the file of a project whose metadata the solver will most likely need.

        The version is in `specifier`. None if no file can be predicted.
        """

    def next_requirements(
        self, project: NormalizedName, metadata: CoreMetadata
    ) -> Iterable[tuple[NormalizedName, SpecifierSet]]:
        """Return the projects, with specifiers, that the solver will need due to this metadata."""


class Catalog(ABC):
    """Answers a solver's questions about projects and files, from any source.

    Methods block until they have the answer. They raise IndexFailure if an index does not answer,
    or if its answer is invalid. They raise UnusableFile if the content of a file cannot be used.
    """

    @abstractmethod
    def lookup(self, project: NormalizedName) -> Lookup:
        """Return the pages of a project on the indexes to which it is bound."""

    @abstractmethod
    def metadata(self, file: File) -> CoreMetadata:
        """Return the core metadata of a wheel.

        It is checked to be for the project and version in the file name. Raises UnusableFile.
        """

    @abstractmethod
    def archive(self, file: File) -> Archive:
        """Return the static metadata of a source archive, whose sha256 is checked before.

        Raises UnusableFile if the archive cannot be read.
        """

    @abstractmethod
    def member(self, file: File, path: str) -> str:
        """Return the text of the file at `path` below the top folder of a source archive.

        Raises UnusableFile if there is no such file, or if it is not UTF-8.
        """

    @abstractmethod
    def sha256(self, file: File) -> File:
        """Return the file with its sha256.

        If its page has no sha256, the file is downloaded and hashed; then its size is set, too.
        """

    def linkage(self, file: File) -> Linkage | None:  # noqa: ARG002
        """Return what the binaries of a wheel need and offer; None if they were not read.

        Never raises IndexFailure: a lock is possible without this answer, and names the wheels that
        were not read. Raises UnusableFile if the binaries cannot be used.
        """
        return None

    def known_linkage(self, file: File) -> Linkage | None:  # noqa: ARG002
        """Return the linkage of a wheel that was read before, without any request; else None.

        Raises UnusableFile if the binaries cannot be used.
        """
        return None

    def prefetch(  # noqa: B027  a catalog that needs no requests does nothing
        self,
        requests: Iterable[tuple[NormalizedName, SpecifierSet]],
        look_ahead: LookAhead | None = None,
    ) -> None:
        """Start to look up projects, without waiting.

        `requests` are projects with specifiers. With `look_ahead`, also start to read the metadata
        of the file that will likely be needed of each project, then of the projects that it
        requires, and so on. A failure of an index is not reported here; it is raised when the
        answer is needed. Raises InputError if the settings of the network are invalid.
        """

    def prefetch_metadata(self, files: Iterable[File]) -> None:  # noqa: B027
        """Start to read the metadata of wheels, without waiting and without reporting failures."""

    def used_fingerprints(self) -> Mapping[NormalizedName, str] | None:
        """Return the fingerprint of each look-up so far.

        None if equal fingerprints would not prove that a later run gets the same answers: for
        example if the content of a file without a sha256 was used.
        """
        return None

    def fingerprints(self, projects: Sequence[NormalizedName]) -> Mapping[NormalizedName, str]:  # noqa: ARG002
        """Return the fingerprints of what `lookup` would return, requested concurrently.

        A fingerprint is UNREACHABLE if the look-up fails because an index cannot be reached. A
        catalog without fingerprints returns an empty mapping. Raises IndexFailure for other
        failures.
        """
        return {}

    def close(self) -> None:  # noqa: B027
        """Release connections and threads. The catalog must not be used afterwards."""


class CatalogWrapper(Catalog):
    """A catalog that answers as another catalog, `inner`, does. Subclasses change single answers.

    The caller closes `inner`. A wrapper has no fingerprints, since the fingerprints of `inner`
    identify the answers of `inner` alone.
    """

    def __init__(self, inner: Catalog) -> None:
        """Wrap the catalog `inner`."""
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
        """Start to look up projects. `look_ahead` is ignored: it would see `inner`'s answers."""
        self.inner.prefetch(requests, None)

    def prefetch_metadata(self, files: Iterable[File]) -> None:
        self.inner.prefetch_metadata(files)


class Traffic(NamedTuple):
    """The traffic of a run so far."""

    # The number of requests sent.
    requests: int = 0
    # Bytes of bodies received, as sent by the servers (compressed or not).
    bytes: int = 0


class Meter:
    """Counts the traffic of a run.

    `progress` is called in the thread of the network for each change of the counters. `trace` is
    called in any thread, with a message for each answer of a server or of the cache.
    """

    def __init__(
        self,
        progress: Callable[[Traffic], None] | None = None,
        trace: Callable[[Message], None] | None = None,
    ) -> None:
        """Begin with no traffic. A function that is None is not called."""
        self.traffic = Traffic()
        self._progress = progress
        self._trace = trace

    def add(self, *, requests: int = 0, received: int = 0) -> None:
        """Add sent requests, and received bytes, to the counters."""
        self.traffic = Traffic(self.traffic.requests + requests, self.traffic.bytes + received)
        if self._progress is not None:
            self._progress(self.traffic)

    def answered(self, address: str, status: int, seconds: float) -> None:
        """Trace the answer of a server: its address, HTTP status, and seconds until it was read.

        The address must have no secrets.
        """
        if self._trace is not None:
            values = {"address": address, "status": status, "seconds": f"{seconds:.2f}"}
            self._trace(message("trace.answered", **values))

    def cached(self, name: str) -> None:
        """Trace an answer of the cache; `name` says what it is."""
        if self._trace is not None:
            self._trace(message("trace.cached", what=name))


T = TypeVar("T")

_INTERVAL: Final = 0.2  # seconds between calls of `poll`

# The function that `polling` was given.
_POLL: ContextVar[Callable[[], None] | None] = ContextVar("poll", default=None)


@contextmanager
def polling(poll: Callable[[], None]) -> Iterator[None]:
    """Call `poll` every 0.2 seconds while the body of `with` waits for a catalog.

    An exception of `poll` ends the wait and is raised there. Long computations call `poll` through
    `poll_once`.
    """
    token = _POLL.set(poll)
    try:
        yield
    finally:
        _POLL.reset(token)


def poll_once() -> None:
    """Call the function that was given to `polling`, if there is one. Raises its exception."""
    poll = _POLL.get()
    if poll is not None:
        poll()


class _Waits:
    """Counts the seconds that this process has waited for catalogs."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def result(self, future: Future[T], timeout: float | None = None) -> T:
        """Return the result of a future, and count the time of waiting.

        Raises the exception of the future, and TimeoutError after `timeout` seconds.
        """
        began = time.monotonic()
        try:
            return future.result(timeout)
        finally:
            self.seconds += time.monotonic() - began


_WAITS: Final = _Waits()


def waited() -> float:
    """Return the number of seconds that this process has waited for catalogs so far."""
    return _WAITS.seconds


def result_of(future: Future[T]) -> T:
    """Wait for a future, and return its result.

    The function that was given to `polling` is called meanwhile. Raises the exception of the
    future, or of that function.
    """
    poll = _POLL.get()
    while poll is not None:
        try:
            return _WAITS.result(future, _INTERVAL)
        except FutureTimeoutError:
            # It was done just now, or the TimeoutError is the exception of the future itself.
            if future.done():
                break
        poll()
    return _WAITS.result(future)
