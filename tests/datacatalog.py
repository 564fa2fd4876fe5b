"""An index made of plain data, without network or files.

    catalog = DataCatalog({"a": {"2": ["b<2"], "1": []}, "b": {"2": [], "1": []}})
    catalog.add_wheel("c", "1", ["b"], tags="cp311-cp311-manylinux_2_28_aarch64")

Every release passed to the constructor is one pure-Python wheel; `add_wheel` and `add_archive`
accept everything that a page can say about a file. `tests/problems.py` has matching problems.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace
from packaging.utils import NormalizedName, canonicalize_name

from resolver.index.protocol import Catalog, Lookup, UnusableFile
from resolver.model.problem import PYPI, Binding, Index, Indexes
from resolver.model.release import (
    ACTIVE,
    Archive,
    CoreMetadata,
    File,
    Page,
    ProjectStatus,
    Rejection,
)
from resolver.model.variant import VariantTable
from tests.builders import releases


class DataCatalog(Catalog):
    """A `Catalog` over files that a test adds.

    `asked` lists the metadata that was read, in order.
    """

    def __init__(self, plain: Mapping[str, Mapping[str, Iterable[str]]] | None = None) -> None:
        self._pages: dict[tuple[NormalizedName, str], dict[str, list[File]]] = {}
        self._set_aside: dict[tuple[NormalizedName, str], list[Rejection]] = {}
        self._standing: dict[tuple[NormalizedName, str], ProjectStatus] = {}
        self._metadata: dict[str, CoreMetadata] = {}
        self._archives: dict[str, Archive] = {}
        self._members: dict[tuple[str, str], str] = {}
        self._bindings: dict[NormalizedName, tuple[str, ...]] = {}
        self._variants: dict[tuple[NormalizedName, str], dict[str, VariantTable]] = {}
        self.unreachable: tuple[str, ...] = ()
        self.asked: list[str] = []
        for name, versions in (plain or {}).items():
            for version, requires in versions.items():
                self.add_wheel(name, version, requires)

    # --- what there is

    def serve(self, *rows: str) -> DataCatalog:
        """Add plain wheels; a row is `name version …` or `name version …: requirement, …`."""
        for name, version, requires in releases(rows):
            self.add_wheel(name, version, requires)
        return self

    def add_wheel(
        self,
        name: str,
        version: str,
        requires: Iterable[str] = (),
        *,
        tags: str = "py3-none-any",
        metadata_python: str | None = None,
        readable: bool = True,
        extras: Iterable[str] = (),
        index: str = PYPI,
        **said: Any,
    ) -> File:
        """Add a wheel.

        `tags` may begin with a build tag; METADATA has `metadata_python`, otherwise the page's.

        What else is `said` of it on the page are fields of `File`.
        """
        file = self._add(name, version, f"-{version}-{tags}.whl", index, **said)
        if readable:
            python = file.requires_python if metadata_python is None else metadata_python
            self._metadata[file.filename] = CoreMetadata(
                name, version, tuple(requires), python, tuple(extras)
            )
        return file

    def add_variants(
        self,
        name: str,
        version: str,
        variants: Mapping[str, Mapping[str, Iterable[str]]],
        *,
        index: str = PYPI,
    ) -> None:
        """Add a wheel for each label, with the values of its features.

        The wheel itself states the features, too.
        """
        table = VariantTable(
            ("ascend",), {label: dict(_tuples(row)) for label, row in variants.items()}
        )
        self._variants.setdefault((canonicalize_name(name), index), {})[version] = table
        for label, properties in table.variants.items():
            file = self.add_wheel(name, version, tags=f"py3-none-any-{label}", index=index)
            self._metadata[file.filename] = CoreMetadata(name, version, own_variant=properties)

    def add_archive(
        self,
        name: str,
        version: str,
        requires: Iterable[str] | None = (),
        *,
        ending: str = ".tar.gz",
        build_requires: Iterable[str] | None = ("setuptools",),
        members: Mapping[str, str] | None = None,
        metadata_python: str | None = None,
        index: str = PYPI,
        **said: Any,
    ) -> File:
        """Add a source archive; with `requires` of None it has no static metadata.

        PKG-INFO has `metadata_python`, otherwise the page's.
        """
        file = self._add(name, version, f"-{version}{ending}", index, **said)
        metadata = None
        why = "its PKG-INFO has metadata 2.1, and it has no [project] table"
        if requires is not None:
            python = file.requires_python if metadata_python is None else metadata_python
            metadata = CoreMetadata(name, version, tuple(requires), python)
            why = ""
        builds = None if build_requires is None else tuple(build_requires)
        self._archives[file.filename] = Archive(metadata, builds, why)
        for path, content in (members or {}).items():
            self._members[file.filename, path] = content
        return file

    def add_project(
        self,
        name: str,
        *,
        index: str = PYPI,
        rejections: Iterable[Rejection] = (),
        project_status: ProjectStatus = ACTIVE,
    ) -> None:
        """Make a project known, with files that were set aside and with its status."""
        key = (canonicalize_name(name), index)
        self._pages.setdefault(key, {})
        self._set_aside.setdefault(key, []).extend(rejections)
        if project_status != ACTIVE:
            self._standing[key] = project_status

    def bind(self, name: str, *indexes: str) -> None:
        """Bind a project to all of these indexes."""
        self._bindings[canonicalize_name(name)] = indexes

    def indexes(self) -> Indexes:
        """Return the indexes and bindings that this catalog answers for.

        As the stack's own, so facts may match nothing.
        """
        names = {PYPI, *(index for bound in self._bindings.values() for index in bound)}
        rows = sorted(self._bindings.items())
        bindings = tuple(
            Binding(packages=(name,), indexes=bound, take="all") for name, bound in rows
        )
        indexes = {
            name: Index(name=name, url="" if name == PYPI else f"http://{name}.test/")
            for name in sorted(names)
        }
        return Indexes(indexes=indexes, bindings=bindings, own_only=True)

    def _add(self, name: str, version: str, ending: str, index: str, **said: Any) -> File:
        filename = canonicalize_name(name).replace("-", "_") + ending
        sha256 = _digest(f"{index}/{filename}")
        file = File(filename=filename, **{"sha256": sha256, "size": len(filename), **said})
        self.add_project(name, index=index)
        self._pages[canonicalize_name(name), index].setdefault(version, []).append(file)
        return file

    # --- what the solver asks

    def lookup(self, project: NormalizedName) -> Lookup:
        pages = []
        for index in self._bindings.get(project, (PYPI,)):
            releases = self._pages.get((project, index))
            if releases is not None:
                page = Page(
                    project=project,
                    index=index,
                    releases={version: tuple(files) for version, files in releases.items()},
                    rejections=tuple(self._set_aside[project, index]),
                    project_status=self._standing.get((project, index), ACTIVE),
                    variants=self._variants.get((project, index), {}),
                )
                pages.append(page)
        return Lookup(tuple(pages), self.unreachable)

    def metadata(self, file: File) -> CoreMetadata:
        self.asked.append(file.filename)
        if file.filename not in self._metadata:
            raise UnusableFile("its METADATA cannot be read")
        return self._metadata[file.filename]

    def archive(self, file: File) -> Archive:
        self.asked.append(file.filename)
        if file.filename not in self._archives:
            raise UnusableFile("it cannot be read")
        return self._archives[file.filename]

    def member(self, file: File, path: str) -> str:
        if (file.filename, path) not in self._members:
            raise UnusableFile(f"it has no `{path}`")
        return self._members[file.filename, path]

    def sha256(self, file: File) -> File:
        return file if file.sha256 else replace(file, sha256=_digest(file.filename))


def _tuples(row: Mapping[str, Iterable[str]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    return ((feature, tuple(sorted(values))) for feature, values in row.items())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
