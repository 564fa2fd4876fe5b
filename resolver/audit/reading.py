"""Source archives that facts are about, read for `index.store.readings`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.audit.offers import Offers
from resolver.index.protocol import UnusableFile
from resolver.index.store.readings import Reading, reading
from resolver.model.fact import Builds, Fact, Metadata, Sources
from resolver.model.release import File


def archives_of(project: NormalizedName, facts: Sequence[Fact], offers: Offers) -> Iterator[tuple[File, list[str]]]:
    """The archives that locking reads because of these facts, newest first, each with the members that it reads.

    These are the archives of releases that a `builds` or `metadata` fact is about; for any other fact only if all
    its releases are archives. Raises IndexFailure.
    """
    paths: dict[Version, list[str]] = {}
    for fact in facts:
        if fact.package != project or isinstance(fact, Sources):
            continue
        found = {version for versions in fact.versions for version in offers.matching(project, versions)}
        wheels = any(file.is_wheel for version in found for file in offers.files(project, version))
        if isinstance(fact, Builds | Metadata) or not wheels:
            for version in found:
                paths.setdefault(version, []).extend([fact.requires_from] if isinstance(fact, Builds) else [])
    for version in sorted(paths, reverse=True):
        for file in offers.files(project, version):
            if not file.is_wheel and file.sha256:
                yield file, paths[version]


def read_all(
    found: Sequence[tuple[File, list[str]]], known: Iterable[Reading], offers: Offers, tell: Callable[[str], None]
) -> Iterator[Reading]:
    """The contents of each archive. Those `known` are not read again; unreadable ones are left out.

    `tell` is called for each one that is read. Raises IndexFailure.
    """
    rows = {row.sha256: row for row in known}
    for file, paths in found:
        row = rows.get(file.sha256)
        if row is not None and row.file == file.filename and set(paths) <= row.texts.keys():
            yield row
            continue
        tell(file.filename)
        try:
            archive = offers.catalog.archive(file)
            texts = {path: offers.catalog.member(file, path) for path in paths}
        except UnusableFile:
            continue  # reported when locking
        yield reading(file, archive, texts)
