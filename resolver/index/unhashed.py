"""A catalog with wheels of which public files give the requirements, but not the sha256."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.errors import IndexFailure
from resolver.index.protocol import Catalog, LookAhead, Lookup
from resolver.model.linkage import Linkage
from resolver.model.problem import Recorded
from resolver.model.release import Archive, CoreMetadata, File, Page


class UnhashedCatalog(Catalog):
    """Adds recorded wheels without a sha256 to the answers of another catalog.

    A wheel is added to the page of its index where that index could not be reached. No lock can be
    made of such a file, so `sha256` raises IndexFailure for it. It is for the question what would
    be locked where the index answers.
    """

    def __init__(self, inner: Catalog, recorded: Iterable[Recorded]) -> None:
        """Add the rows without a sha256 to `inner`, which the caller closes."""
        self._inner = inner
        self._rows: dict[NormalizedName, list[Recorded]] = {}
        for row in recorded:
            if not row.sha256:
                self._rows.setdefault(row.project, []).append(row)
        self._metadata = {
            row.filename: row.metadata for rows in self._rows.values() for row in rows
        }

    def has(self, file: File) -> bool:
        """Return whether a file is one of the added wheels."""
        return not file.url and not file.sha256 and file.filename in self._metadata

    def lookup(self, project: NormalizedName) -> Lookup:
        """See `Catalog`."""
        answer = self._inner.lookup(project)
        rows = [row for row in self._rows.get(project, ()) if row.index in answer.unreachable]
        if not rows:
            return answer
        pages = {page.index: page for page in answer.pages}
        for row in rows:
            page = pages.get(row.index) or Page(project=project, index=row.index, releases={})
            pages[row.index] = _with_file(page, row)
        fingerprint = f"{answer.fingerprint}\nunhashed" if answer.fingerprint else ""
        return Lookup(tuple(pages.values()), answer.unreachable, fingerprint)

    def metadata(self, file: File) -> CoreMetadata:
        """See `Catalog`."""
        if self.has(file):
            return self._metadata[file.filename]
        return self._inner.metadata(file)

    def archive(self, file: File) -> Archive:
        """See `Catalog`."""
        return self._inner.archive(file)

    def member(self, file: File, path: str) -> str:
        """See `Catalog`."""
        return self._inner.member(file, path)

    def sha256(self, file: File) -> File:
        """See `Catalog`."""
        if self.has(file):
            raise IndexFailure(
                f"No public file quotes the sha256 of {file.filename}, and its index is out of reach."
            )
        return self._inner.sha256(file)

    def linkage(self, file: File) -> Linkage | None:
        """See `Catalog`."""
        return None if self.has(file) else self._inner.linkage(file)

    def known_linkage(self, file: File) -> Linkage | None:
        """See `Catalog`."""
        return None if self.has(file) else self._inner.known_linkage(file)

    def prefetch(
        self,
        requests: Iterable[tuple[NormalizedName, SpecifierSet]],
        look_ahead: LookAhead | None = None,  # noqa: ARG002
    ) -> None:
        """See `Catalog`. Without look-ahead, which would see the pages of the inner catalog."""
        self._inner.prefetch(requests, None)

    def prefetch_metadata(self, files: Iterable[File]) -> None:
        """See `Catalog`."""
        self._inner.prefetch_metadata(file for file in files if not self.has(file))


def _with_file(page: Page, row: Recorded) -> Page:
    """Return a page with a recorded wheel, unless the page has the file with its sha256."""
    files = page.releases.get(row.version, ())
    if any(file.filename == row.filename for file in files):
        return page
    added = File(filename=row.filename, sha256="", requires_python=row.requires_python)
    releases: Mapping[str, Sequence[File]] = {**page.releases, row.version: (*files, added)}
    return replace(page, releases=releases)
