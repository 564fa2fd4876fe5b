"""A catalog that, if an index cannot be reached, falls back to what the stack itself says about its files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.catalog.protocol import Follow, Lookup, MarkedCatalog
from resolver.errors import Unreachable
from resolver.model.index import Indexes
from resolver.model.problem import Recorded
from resolver.model.release import Archive, File, Metadata, Page


class RecordedCatalog:
    """Asks `inner`. Only if an index does not answer are the stack's rows used, as a page of their own.

    Such an answer names the index as unreachable *and* has a page of it.
    """

    def __init__(self, inner: MarkedCatalog, rows: Sequence[Recorded], indexes: Indexes, platform: str) -> None:
        self._inner = inner
        self._rows = rows
        self._indexes = indexes
        self._platform = platform
        self._answered: dict[str, Recorded] = {}

    def lookup(self, project: NormalizedName) -> Lookup:
        """See `Catalog`."""
        rows = [row for row in self._rows if row.project == project]
        if not rows:
            return self._inner.lookup(project)
        binding = self._indexes.binding(project, self._platform)
        try:
            found = self._inner.lookup(project)
        except Unreachable:
            if not any(row.index in binding.indexes for row in rows):
                raise
            found = Lookup((), binding.indexes)  # all unreachable: the catalog skips such indexes for the next one
        if found.pages and binding.take == "first":
            return found
        pages = [*found.pages, *(self._page(project, name, rows) for name in found.unreachable)]
        ranks = {name: at for at, name in enumerate(binding.indexes)}
        kept = sorted((page for page in pages if page.releases), key=lambda page: ranks[page.index])
        return Lookup(tuple(kept[:1] if binding.take == "first" else kept), found.unreachable)

    def metadata(self, file: File) -> Metadata:
        """See `Catalog`."""
        row = self._answered.get(file.filename)
        if row is None or row.sha256 != file.sha256:
            return self._inner.metadata(file)
        return Metadata(str(row.project), row.version, row.requires, row.requires_python)

    def archive(self, file: File) -> Archive:
        """See `Catalog`."""
        return self._inner.archive(file)

    def member(self, file: File, path: str) -> str:
        """See `Catalog`."""
        return self._inner.member(file, path)

    def sha256(self, file: File) -> File:
        """See `Catalog`."""
        return self._inner.sha256(file)

    def expect(self, wanted: Iterable[tuple[NormalizedName, SpecifierSet]], follow: Follow | None = None) -> None:
        """See `Catalog`."""
        self._inner.expect(wanted, follow)

    def expect_metadata(self, files: Iterable[File]) -> None:
        """See `Catalog`."""
        self._inner.expect_metadata(file for file in files if file.filename not in self._answered)

    def seen(self) -> Mapping[NormalizedName, str] | None:
        """See `Marked`. Rows need no mark, as they are part of the stack."""
        return self._inner.seen()

    def marks(self, projects: Sequence[NormalizedName]) -> Mapping[NormalizedName, str]:
        """See `Marked`."""
        return self._inner.marks(projects)

    def close(self) -> None:
        """See `Catalog`."""
        self._inner.close()

    def _page(self, project: NormalizedName, index: str, rows: Iterable[Recorded]) -> Page:
        releases: dict[str, tuple[File, ...]] = {}
        for row in rows:
            if row.index == index:
                self._answered[row.filename] = row
                file = File(filename=row.filename, sha256=row.sha256, requires_python=row.requires_python)
                releases[row.version] = (*releases.get(row.version, ()), file)
        return Page(project=project, index=index, releases=releases)
