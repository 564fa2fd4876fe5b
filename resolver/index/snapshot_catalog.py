"""A catalog that answers from a snapshot, and from nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.errors import IndexFailure
from resolver.index.protocol import Follow, Lookup, UnusableFile
from resolver.index.snapshot import Snapshot, Unusable, key_of
from resolver.model.release import Archive, File, Metadata

_K = TypeVar("_K")
_V = TypeVar("_V")


class SnapshotCatalog:
    """Answers from a snapshot, as its recording was answered on one platform.

    Raises IndexFailure for whatever was not recorded: that says nothing about
    what the indexes have.
    """

    def __init__(self, snapshot: Snapshot, platform: str) -> None:
        self._snapshot = snapshot
        self._platform = platform

    def lookup(self, project: NormalizedName) -> Lookup:
        """See `Catalog`."""
        lookups = self._snapshot.lookups.get(project, {})
        if self._platform not in lookups:
            raise self._missing(f"`{project}` for {self._platform}")
        return lookups[self._platform]

    def metadata(self, file: File) -> Metadata:
        """See `Catalog`."""
        return self._answer(self._snapshot.metadata, self._keys(file), f"the metadata of `{file.filename}`")

    def archive(self, file: File) -> Archive:
        """See `Catalog`."""
        return self._answer(self._snapshot.archives, self._keys(file), f"the content of `{file.filename}`")

    def member(self, file: File, path: str) -> str:
        """See `Catalog`."""
        keys = ((key, path) for key in self._keys(file))
        return self._answer(self._snapshot.members, keys, f"`{path}` of `{file.filename}`")

    def sha256(self, file: File) -> File:
        """See `Catalog`."""
        if key_of(file) in self._snapshot.hashed:
            sha256, size = self._snapshot.hashed[key_of(file)]
            return msgspec.structs.replace(file, sha256=sha256, size=size)
        if not file.sha256:
            raise self._missing(f"the sha256 of `{file.filename}`")
        return file

    def expect(self, wanted: Iterable[tuple[NormalizedName, SpecifierSet]], follow: Follow | None = None) -> None:
        """Do nothing: everything is here."""

    def expect_metadata(self, files: Iterable[File]) -> None:
        """Nothing: all is here."""

    def close(self) -> None:
        """See `Catalog`."""

    def _keys(self, file: File) -> Iterator[str]:
        """The file's own key, and the other one of a file that was asked for before and after it was hashed."""
        yield key_of(file)
        hashed = self._snapshot.hashed.get(file.filename)
        if hashed is not None and file.sha256 in ("", hashed[0]):
            yield file.filename if file.sha256 else hashed[0]

    def _answer(self, answers: Mapping[_K, _V | Unusable], keys: Iterable[_K], what: str) -> _V:
        for key in keys:
            answer = answers.get(key)
            if isinstance(answer, Unusable):
                raise UnusableFile(answer.why)
            if answer is not None:
                return answer
        raise self._missing(what)

    def _missing(self, what: str) -> IndexFailure:
        return IndexFailure(
            f"The snapshot of {self._snapshot.date} does not contain {what}.",
            why="It contains only what was requested while it was made.",
            hint=f"run online, or make it again on a machine with network access: make snapshot "
            f"STACK={self._snapshot.stack}",
        )
