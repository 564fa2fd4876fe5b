"""Source archives that facts speak of, read for `catalog.readings`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.catalog.protocol import UnusableFile
from resolver.catalog.readings import Reading, reading
from resolver.model.fact import Builds, Fact, Metadata, Sources
from resolver.model.release import File
from resolver.upstream.offers import Offers


def archives_of(project: NormalizedName, facts: Sequence[Fact], offers: Offers) -> Iterator[tuple[File, list[str]]]:
    """The archives that locking reads for these facts, the newest first, each with the files in it that it reads.

    Those are the archives of releases that a `builds` or `metadata` fact speaks of, or any other fact, where all
    releases that it speaks of are archives. Raises IndexFailure.
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
    """What is in each archive; those `known` are not read again, and what cannot be read is left out.

    `tell` is told of each that is read. Raises IndexFailure.
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
            continue  # who locks is told
        yield reading(file, archive, texts)
