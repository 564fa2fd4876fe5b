"""The one interface through which everything else sees the indexes; what was used of them; who waits for an answer.

`live` (network and cache) and `snapshot` (a recorded file, and what records one) implement it. The tests have one made
of plain data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError  # not the built-in one before Python 3.11
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol, TypeVar

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.model.release import Archive, CoreMetadata, File, Page

_LONGEST: Final = 1000  # characters of a reason, the same as of a message's part (`errors`)
UNREACHABLE_MARK: Final = "-"  # the mark of a look-up for which no index could be reached


@dataclass(frozen=True, slots=True)
class Lookup:
    """What the indexes bound to a project answered.

    `pages` are in the order of the binding: one for "first", any number for "all", none if no index has the project.
    `unreachable` names the indexes that were skipped because they could not be reached. Two answers of one catalog with
    the same `mark` are equal; an empty mark says nothing.
    """

    pages: tuple[Page, ...]
    unreachable: tuple[str, ...] = ()
    mark: str = field(default="", compare=False)


class UnusableFile(Exception):
    """A file's metadata cannot be used; the release is set aside with this text and locking continues.

    The text may quote the file, which may be designed to flood a report, so it is truncated beyond any honest length.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why if len(why) <= _LONGEST else f"{why[:_LONGEST]}…")


class LookAhead(Protocol):
    """How a look-ahead continues by itself, provided by the solver. Calls are fast, and come from the catalog's thread.

    They may tell the catalog of more to expect, but must not ask it anything.
    """

    @property
    def target(self) -> Hashable:
        """Whom it picks for: a look-ahead for one target is of no use to another."""

    def likely_file(self, project: NormalizedName, lookup: Lookup, specifier: SpecifierSet) -> File | None:
        """The file whose metadata will most likely be needed, or None."""

    def next_requirements(
        self, project: NormalizedName, metadata: CoreMetadata
    ) -> Iterable[tuple[NormalizedName, SpecifierSet]]:
        """What the solver will need next because of that metadata."""


class Catalog(ABC):
    """Blocking look-ups, answered from memory, cache, snapshot or network.

    They raise IndexFailure if an index does not answer or gives an invalid answer.
    """

    @abstractmethod
    def lookup(self, project: NormalizedName) -> Lookup:
        """All files of a project on the indexes bound to it."""

    @abstractmethod
    def metadata(self, file: File) -> CoreMetadata:
        """The core metadata of a wheel, checked to be that of the release in its file name.

        Raises UnusableFile if it cannot be read.
        """

    @abstractmethod
    def archive(self, file: File) -> Archive:
        """The static contents of a source archive, read after checking its sha256.

        Raises UnusableFile if the archive cannot be read.
        """

    @abstractmethod
    def member(self, file: File, path: str) -> str:
        """The text of one file inside a source archive, `path` relative to its top folder.

        Raises UnusableFile if there is none.
        """

    @abstractmethod
    def sha256(self, file: File) -> File:
        """The file with sha256 and size filled in; it is downloaded and hashed if the page has no hash."""

    def prefetch(  # noqa: B027  one that has everything at hand does nothing
        self, wanted: Iterable[tuple[NormalizedName, SpecifierSet]], look_ahead: LookAhead | None = None
    ) -> None:
        """A hint that these projects will be needed soon. Does not wait, and reports no failure of an index.

        Raises InputError if this starts the network and its settings are wrong.
        With `look_ahead`, continues in the background: page, likely file, its metadata, and so on.
        """

    def prefetch_metadata(self, files: Iterable[File]) -> None:  # noqa: B027
        """The same for the metadata of these wheels."""

    def seen(self) -> Mapping[NormalizedName, str] | None:
        """The marks of everything looked up; None if something was asked that no mark covers."""
        return None

    def marks(self, projects: Sequence[NormalizedName]) -> Mapping[NormalizedName, str]:  # noqa: ARG002
        """The marks of what `lookup` would answer, requested all at once; NOBODY if it would raise Unreachable.

        Empty for a catalog without marks. Otherwise raises IndexFailure as `lookup` does.
        """
        return {}

    def close(self) -> None:  # noqa: B027
        """Release connections and threads; nothing may be asked afterwards."""


class Traffic(NamedTuple):
    """Requests sent, and bytes of bodies received."""

    requests: int = 0
    bytes: int = 0


class Meter:
    """Counters, which only the network's thread changes; it calls `progress` for each change."""

    def __init__(self, progress: Callable[[Traffic], None] | None = None) -> None:
        self.traffic = Traffic()
        self._progress = progress

    def add(self, *, requests: int = 0, received: int = 0) -> None:
        """Add to the counters."""
        self.traffic = Traffic(self.traffic.requests + requests, self.traffic.bytes + received)
        if self._progress is not None:
            self._progress(self.traffic)


T = TypeVar("T")

_INTERVAL: Final = 0.2  # seconds

_POLL: ContextVar[Callable[[], None] | None] = ContextVar("look", default=None)


@contextmanager
def polling(look: Callable[[], None]) -> Iterator[None]:
    """Within this context, waiting for a catalog calls `look` at short intervals; an exception of it ends the wait."""
    token = _POLL.set(look)
    try:
        yield
    finally:
        _POLL.reset(token)


def result_of(future: Future[T]) -> T:
    """The result of a future, waited for as `polling` says. Raises its exception, or that of `look`."""
    look = _POLL.get()
    while look is not None:
        try:
            return future.result(_INTERVAL)
        except FutureTimeoutError:
            if future.done():  # just now, or this is the failure of what was waited for
                break
        look()
    return future.result()
