"""The one interface through which everything else sees the indexes.

Three catalogs implement it: `live` (network and cache), `snapshot` (a recorded
file) and, in tests, one made of plain data.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, runtime_checkable

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.model.release import Archive, File, Metadata, Page

_LONGEST: Final = 1000  # characters of what a reason says, as of one part of a message (`errors`)
NOBODY: Final = "-"  # the mark of a look-up that no index could be reached for


@dataclass(frozen=True, slots=True)
class Lookup:
    """What the indexes bound to a project answered.

    `pages` in the order of the binding: one for "first", any number for "all",
    none where no index has the project. `unreachable` names the indexes that
    were passed over because they could not be reached. Two answers of one catalog
    with the same `mark` are equal; an empty one tells nothing.
    """

    pages: tuple[Page, ...]
    unreachable: tuple[str, ...] = ()
    mark: str = field(default="", compare=False)


class UnusableFile(Exception):
    """A file's metadata cannot be used; the release is set aside with this text and the lock goes on.

    The text may quote the file, which may be made to fill a report: it is cut off where no honest one ends.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why if len(why) <= _LONGEST else f"{why[:_LONGEST]}…")


class Follow(Protocol):
    """How a look-ahead goes on by itself, given by the solver. The calls are fast, and come from the catalog's thread.

    They may tell the catalog of more to look ahead for, and ask it nothing.
    """

    @property
    def target(self) -> Hashable:
        """Whom it picks for: what was looked ahead for one is not what another needs."""
        ...

    def pick(self, project: NormalizedName, lookup: Lookup, specifier: SpecifierSet) -> File | None:
        """The file whose metadata will most likely be asked for, or None."""
        ...

    def then(self, project: NormalizedName, metadata: Metadata) -> Iterable[tuple[NormalizedName, SpecifierSet]]:
        """What that metadata will make the solver ask for next."""
        ...

    def built(self, project: NormalizedName, lines: Sequence[str]) -> None:
        """What the archive that was picked is built with."""
        ...


class Catalog(Protocol):
    """Blocking look-ups, answered from memory, cache, snapshot or network.

    Raise IndexFailure where an index does not answer or answers wrongly.
    """

    def lookup(self, project: NormalizedName) -> Lookup:
        """All files of a project on the indexes bound to it."""
        ...

    def metadata(self, file: File) -> Metadata:
        """The core metadata of a wheel, checked to be of the release that its name says.

        Raises UnusableFile where it cannot be read.
        """
        ...

    def archive(self, file: File) -> Archive:
        """What is static in a source archive, read after its sha256 was checked.

        Raises UnusableFile where the archive cannot be read.
        """
        ...

    def member(self, file: File, path: str) -> str:
        """The text of one file inside a source archive, `path` relative to its top folder.

        Raises UnusableFile where there is none.
        """
        ...

    def sha256(self, file: File) -> File:
        """The file with sha256 and size filled in: downloaded and hashed where the page has no hash."""
        ...

    def expect(self, wanted: Iterable[tuple[NormalizedName, SpecifierSet]], follow: Follow | None = None) -> None:
        """A hint that these projects will be asked for soon: waits for no answer, and tells of no failure.

        What is wrong with the settings for the network is told here where it is begun by this (InputError).
        With `follow`, goes on in the background: page, likely file, its metadata, and so on.
        """
        ...

    def expect_metadata(self, files: Iterable[File]) -> None:
        """The same for the metadata of these wheels."""
        ...

    def close(self) -> None:
        """Let go of connections and threads; nothing may be asked afterwards."""
        ...


@runtime_checkable
class Marked(Protocol):
    """A catalog that can tell whether it would answer as it did before."""

    def seen(self) -> Mapping[NormalizedName, str] | None:
        """The marks of all that was looked up; None where something was asked for that no mark covers."""
        ...

    def marks(self, projects: Sequence[NormalizedName]) -> Mapping[NormalizedName, str]:
        """The marks of what `lookup` would answer, asked for at once; NOBODY where that would raise Unreachable.

        Raises IndexFailure otherwise as `lookup` does.
        """
        ...


class MarkedCatalog(Catalog, Marked, Protocol):
    """Both."""
