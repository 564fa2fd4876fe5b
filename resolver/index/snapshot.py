"""A recorded piece of the indexes: what they answered on one day, and the catalog that answers from it alone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

import msgspec
from msgspec.structs import replace
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.errors import IndexFailure
from resolver.index.protocol import Catalog, Lookup, UnusableFile
from resolver.model import text
from resolver.model.release import Archive, File, Metadata, Page, Rejection

_K = TypeVar("_K")
_V = TypeVar("_V")


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """What the indexes answered on one day while a stack was locked and explained.

    Files have no address, no hash of their `.metadata` and upload times in whole
    seconds. `lookups` are by project and platform; a lookup without pages says
    that no index has the project. The other answers are keyed as `key_of` does, and a
    text among them is the reason why the file cannot be used (the text of a member is in a tuple);
    `hashed` holds sha256 and size where the page left one out.
    """

    stack: str
    date: dt.date
    lookups: Mapping[NormalizedName, Mapping[str, Lookup]]
    metadata: Mapping[str, Metadata | str]
    archives: Mapping[str, Archive | str]
    members: Mapping[tuple[str, str], tuple[str] | str]
    hashed: Mapping[str, tuple[str, int | None]]

    def merged(self, other: Snapshot) -> Snapshot:
        """Both recordings of one stack (its targets) as one; where they differ, the other's answer stays.

        Where both have a page, it has the rows of both. Raises ValueError for
        recordings of two stacks or days.
        """
        if (self.stack, self.date) != (other.stack, other.date):
            raise ValueError(f"{self.stack} of {self.date} and {other.stack} of {other.date} do not match")
        return Snapshot(
            stack=self.stack,
            date=self.date,
            lookups={
                project: _merged_lookups(self.lookups.get(project, {}), other.lookups.get(project, {}))
                for project in {**self.lookups, **other.lookups}
            },
            metadata={**self.metadata, **other.metadata},
            archives={**self.archives, **other.archives},
            members={**self.members, **other.members},
            hashed={**self.hashed, **other.hashed},
        )


def key_of(file: File) -> str:
    """What answers about a file are remembered by: its sha256, or its name where the page has no hash."""
    return file.sha256 or file.filename


def sorted_page(
    project: NormalizedName,
    index: str,
    releases: Mapping[str, Iterable[File]],
    rejections: Iterable[Rejection],
) -> Page:
    """A page in the one order that a snapshot keeps."""
    return Page(
        project=project,
        index=index,
        releases={
            version: tuple(sorted(releases[version], key=lambda file: file.filename))
            for version in sorted(releases, key=lambda each: (text.version(each) or Version("0"), each))
        },
        rejections=tuple(sorted(set(rejections), key=lambda row: (row.filename, row.reason.name, row.detail))),
    )


def _merged_lookups(ours: Mapping[str, Lookup], theirs: Mapping[str, Lookup]) -> dict[str, Lookup]:
    pages: dict[str, Page] = {}
    for lookup in (*ours.values(), *theirs.values()):
        for page in lookup.pages:
            known = pages.get(page.index)
            pages[page.index] = page if known is None or known == page else _merged_page(known, page)
    return {
        platform: Lookup(tuple(pages[page.index] for page in lookup.pages), lookup.unreachable)
        for platform, lookup in {**ours, **theirs}.items()
    }


def _merged_page(ours: Page, theirs: Page) -> Page:
    spelled = {text.version(version): version for version in ours.releases}
    releases = {version: {file.filename: file for file in files} for version, files in ours.releases.items()}
    for version, files in theirs.releases.items():
        key = spelled.get(text.version(version), version)
        releases.setdefault(key, {}).update((file.filename, file) for file in files)
    rows = {version: files.values() for version, files in releases.items()}
    return sorted_page(ours.project, ours.index, rows, (*ours.rejections, *theirs.rejections))


class SnapshotCatalog(Catalog):
    """Answers from a snapshot, as its recording was answered on one platform.

    Raises IndexFailure for whatever was not recorded: that says nothing about
    what the indexes have.
    """

    def __init__(self, snapshot: Snapshot, platform: str) -> None:
        self._snapshot = snapshot
        self._platform = platform

    def lookup(self, project: NormalizedName) -> Lookup:
        lookups = self._snapshot.lookups.get(project, {})
        if self._platform not in lookups:
            raise self._missing(f"`{project}` for {self._platform}")
        return lookups[self._platform]

    def metadata(self, file: File) -> Metadata:
        return self._answer(self._snapshot.metadata, self._keys(file), f"the metadata of `{file.filename}`")

    def archive(self, file: File) -> Archive:
        return self._answer(self._snapshot.archives, self._keys(file), f"the content of `{file.filename}`")

    def member(self, file: File, path: str) -> str:
        keys = ((key, path) for key in self._keys(file))
        return self._answer(self._snapshot.members, keys, f"`{path}` of `{file.filename}`")[0]

    def sha256(self, file: File) -> File:
        if key_of(file) in self._snapshot.hashed:
            sha256, size = self._snapshot.hashed[key_of(file)]
            return replace(file, sha256=sha256, size=size)
        if not file.sha256:
            raise self._missing(f"the sha256 of `{file.filename}`")
        return file

    def _keys(self, file: File) -> Iterator[str]:
        """The file's own key, and the other one of a file that was asked for before and after it was hashed."""
        yield key_of(file)
        hashed = self._snapshot.hashed.get(file.filename)
        if hashed is not None and file.sha256 in ("", hashed[0]):
            yield file.filename if file.sha256 else hashed[0]

    def _answer(self, answers: Mapping[_K, _V | str], keys: Iterable[_K], what: str) -> _V:
        for key in keys:
            answer = answers.get(key)
            if isinstance(answer, str):
                raise UnusableFile(answer)
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
