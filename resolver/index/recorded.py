"""A catalog that, if an index cannot be reached, falls back to what the stack itself says about its files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.errors import Unreachable
from resolver.index.protocol import Catalog, CatalogOver, Follow, Lookup
from resolver.model.problem import Indexes, Recorded
from resolver.model.release import File, Metadata, Page


class RecordedCatalog(CatalogOver):
    """Only if an index does not answer are the stack's rows used, as a page of their own.

    Such an answer names the index as unreachable *and* has a page of it.
    """

    def __init__(self, inner: Catalog, rows: Sequence[Recorded], indexes: Indexes, platform: str) -> None:
        super().__init__(inner)
        self._rows = rows
        self._indexes = indexes
        self._platform = platform
        self._answered: dict[str, Recorded] = {}

    def lookup(self, project: NormalizedName) -> Lookup:
        rows = [row for row in self._rows if row.project == project]
        if not rows:
            return self.inner.lookup(project)
        try:
            found = self.inner.lookup(project)
        except Unreachable:
            indexes = self._indexes.binding(project, self._platform).indexes
            if not any(row.index in indexes for row in rows):
                raise
            found = Lookup((), indexes)  # all unreachable: the catalog skips such indexes for the next one
        return self.completed(project, found)

    def completed(self, project: NormalizedName, found: Lookup) -> Lookup:
        """The answer of `inner` about a project, with pages of rows in place of those that are out of reach."""
        rows = [row for row in self._rows if row.project == project]
        binding = self._indexes.binding(project, self._platform)
        if not rows or not found.unreachable or (found.pages and binding.take == "first"):
            return found
        pages = [*found.pages, *(self._page(project, name, rows) for name in found.unreachable)]
        ranks = {name: at for at, name in enumerate(binding.indexes)}
        kept = sorted((page for page in pages if page.releases), key=lambda page: ranks[page.index])
        return Lookup(tuple(kept[:1] if binding.take == "first" else kept), found.unreachable)

    def is_recorded(self, file: File) -> bool:
        """Whether a file is known from a row only."""
        row = self._answered.get(file.filename)
        return row is not None and row.sha256 == file.sha256

    def metadata(self, file: File) -> Metadata:
        if not self.is_recorded(file):
            return self.inner.metadata(file)
        row = self._answered[file.filename]
        return Metadata(str(row.project), row.version, row.requires, row.requires_python)

    def expect(self, wanted: Iterable[tuple[NormalizedName, SpecifierSet]], follow: Follow | None = None) -> None:
        self.inner.expect(wanted, None if follow is None else _Following(follow, self))

    def expect_metadata(self, files: Iterable[File]) -> None:
        self.inner.expect_metadata(file for file in files if not self.is_recorded(file))

    def _page(self, project: NormalizedName, index: str, rows: Iterable[Recorded]) -> Page:
        releases: dict[str, tuple[File, ...]] = {}
        for row in rows:
            if row.index == index:
                self._answered[row.filename] = row
                file = File(filename=row.filename, sha256=row.sha256, requires_python=row.requires_python)
                releases[row.version] = (*releases.get(row.version, ()), file)
        return Page(project=project, index=index, releases=releases)


class _Following:
    """A look-ahead that sees the pages of a catalog with rows, as what it sees first stays in the universe."""

    def __init__(self, follow: Follow, catalog: RecordedCatalog) -> None:
        self._follow = follow
        self._catalog = catalog
        self.target, self.then = follow.target, follow.then

    def pick(self, project: NormalizedName, lookup: Lookup, specifier: SpecifierSet) -> File | None:
        """See `Follow`."""
        file = self._follow.pick(project, self._catalog.completed(project, lookup), specifier)
        return None if file is None or self._catalog.is_recorded(file) else file
