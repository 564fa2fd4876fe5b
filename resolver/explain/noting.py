"""Trials in which the notes of archives without static metadata are taken as true.

No lock rests on a note that nobody has confirmed. So a stack that has a solution this way is locked once more with a
`metadata` fact for each such archive in it, and that is the way out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from packaging.requirements import InvalidRequirement
from packaging.utils import NormalizedName

from resolver.errors import ResolverError
from resolver.index.parse.filename import archive_version
from resolver.index.parse.noted import Noted, noted_in
from resolver.index.protocol import Catalog, CatalogOver, UnusableFile
from resolver.model import text
from resolver.model.fact import Builds, Fact
from resolver.model.fact import Metadata as MetadataFact
from resolver.model.release import Archive, File, Metadata
from resolver.model.resolution import Pin, Resolution


class NotingCatalog(CatalogOver):
    """A catalog over `inner` in which notes count as static metadata if there is none; all else is as there.

    Archives are not inspected if `facts` say what they need or how they are built.
    """

    def __init__(self, inner: Catalog, facts: Iterable[Fact] = ()) -> None:
        super().__init__(inner)
        self._noted: dict[File, Noted | None] = {}
        self._stated: dict[NormalizedName, list[Fact]] = {}
        for fact in facts:
            if isinstance(fact, (MetadataFact, Builds)):
                self._stated.setdefault(NormalizedName(fact.package), []).append(fact)

    def noted(self, file: File) -> Noted | None:
        """The notes of an archive without static metadata, if a fact can express them."""
        if file not in self._noted:
            static = self._is_stated(file) or self.inner.archive(file).metadata is not None
            self._noted[file] = None if static else _sayable(file, self.inner)
        return self._noted[file]

    def _is_stated(self, file: File) -> bool:
        for project, facts in self._stated.items():
            version = text.version(archive_version(file.filename, project) or "")
            if version is not None and any(fact.speaks_of(version) for fact in facts):
                return True
        return False

    def archive(self, file: File) -> Archive:
        own = self.inner.archive(file)
        noted = self.noted(file)
        if noted is None:
            return own
        metadata = Metadata("", "", noted.lines, file.requires_python, text.all_extras(noted.lines))
        return Archive(metadata, own.build_requires)

    def close(self) -> None:
        """Do nothing: somebody else owns the inner catalog."""


def rests_on_notes(resolution: Resolution, catalog: NotingCatalog) -> Iterator[tuple[Pin, Noted]]:
    """The pins of a resolution that need a fact, each with its archive's notes."""
    stated = [fact for fact in resolution.problem.facts if isinstance(fact, MetadataFact)]
    for pin in resolution.pins:
        release = pin.release
        if release.file.is_wheel or release.source is not None or release.builds is not None:
            continue
        if not _spoken_of(pin, stated) and (noted := catalog.noted(release.file)) is not None:
            yield pin, noted


def _spoken_of(pin: Pin, stated: Sequence[MetadataFact]) -> bool:
    return any(fact.package == pin.name and fact.speaks_of(pin.version) for fact in stated)


def _sayable(file: File, catalog: Catalog) -> Noted | None:
    try:
        noted = noted_in(file, catalog)
        if noted is None or any(text.requirement(line).url for line in noted.lines):
            return None
    except (UnusableFile, ResolverError, InvalidRequirement):
        return None
    return noted
