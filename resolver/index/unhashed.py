"""A catalog that adds wheels of an index that could not be reached, without their sha256.

Their requirements are known from public files (`cli.answers`), or supposed
(`explain.supposed_files`). It tells what would be locked if the index could be reached.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace
from packaging.utils import NormalizedName

from resolver.errors import IndexFailure
from resolver.index.protocol import Catalog, CatalogWrapper, Lookup
from resolver.model.linkage import Linkage
from resolver.model.problem import Recorded
from resolver.model.release import CoreMetadata, File, Page
from resolver.phrase import phrase


class SupposedWheel(msgspec.Struct, frozen=True):
    """A wheel that an index may have, with what it is supposed to require."""

    # The name of the index.
    index: str
    # The project.
    project: NormalizedName
    # The version.
    version: str
    # The lines of Requires-Dist; empty if nothing is known about the wheel.
    requires: tuple[str, ...] = ()
    # A supposed wheel has no hash, and is for every Python.
    sha256: str = ""
    requires_python: str = ""

    @property
    def filename(self) -> str:
        """Return a file name for the wheel, which is for every machine."""
        return f"{self.project.replace('-', '_')}-{self.version}-py3-none-any.whl"

    @property
    def metadata(self) -> CoreMetadata:
        """Return core metadata with the requirements."""
        return CoreMetadata(self.project, self.version, self.requires)


# A wheel whose sha256 is not known.
UnhashedWheel = Recorded | SupposedWheel


class UnhashedCatalog(CatalogWrapper):
    """A catalog that adds wheels without a sha256 to the answers of another catalog.

    A wheel is added to the page of its index if that index could not be reached. Such a file can be
    solved with, but not locked: `sha256` raises IndexFailure for it.
    """

    def __init__(self, inner: Catalog, wheels: Iterable[UnhashedWheel]) -> None:
        """Add the wheels without a sha256 to the answers of `inner`; ignore the others."""
        super().__init__(inner)
        self._wheels: dict[NormalizedName, list[UnhashedWheel]] = {}
        self._metadata: dict[str, CoreMetadata] = {}
        for wheel in wheels:
            if not wheel.sha256:
                self._wheels.setdefault(wheel.project, []).append(wheel)
                self._metadata[wheel.filename] = wheel.metadata

    def has(self, file: File) -> bool:
        """Return whether a file is one of the added wheels."""
        return not file.url and not file.sha256 and file.filename in self._metadata

    def lookup(self, project: NormalizedName) -> Lookup:
        lookup = self.inner.lookup(project)
        pages = {page.index: page for page in lookup.pages}
        is_changed = False
        for wheel in self._wheels.get(project, ()):
            if wheel.index in lookup.unreachable:
                is_changed = True
                page = pages.get(wheel.index)
                if page is None:
                    page = Page(project=project, index=wheel.index, releases={})
                pages[wheel.index] = _with_wheel(page, wheel)
        if not is_changed:
            return lookup
        fingerprint = f"{lookup.fingerprint}\nunhashed" if lookup.fingerprint else ""
        return Lookup(tuple(pages.values()), lookup.unreachable, fingerprint)

    def metadata(self, file: File) -> CoreMetadata:
        if self.has(file):
            return self._metadata[file.filename]
        return self.inner.metadata(file)

    def sha256(self, file: File) -> File:
        if self.has(file):
            raise IndexFailure(
                phrase(
                    "No public file quotes the sha256 of {file}, and its index is out of reach.",
                    file=file.filename,
                )
            )
        return self.inner.sha256(file)

    def linkage(self, file: File) -> Linkage | None:
        return None if self.has(file) else self.inner.linkage(file)

    def known_linkage(self, file: File) -> Linkage | None:
        return None if self.has(file) else self.inner.known_linkage(file)

    def prefetch_metadata(self, files: Iterable[File]) -> None:
        self.inner.prefetch_metadata(file for file in files if not self.has(file))


def _with_wheel(page: Page, wheel: UnhashedWheel) -> Page:
    """Return a page with a wheel added, unless it has a file of that name already."""
    files = page.releases.get(wheel.version, ())
    if any(file.filename == wheel.filename for file in files):
        return page
    added = File(filename=wheel.filename, sha256="", requires_python=wheel.requires_python)
    return replace(page, releases={**page.releases, wheel.version: (*files, added)})
