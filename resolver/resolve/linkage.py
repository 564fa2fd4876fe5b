"""What a release's binaries need, judged before the release is chosen.

Only releases that a `links` fact is about are judged, by their own wheel. What it takes from torch becomes an edge.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.index.protocol import UnusableFile
from resolver.linkage.judgement import bounds, loads_with, missing_libraries, newer_glibc
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.dependency import Candidate, Edge, NeedLine, NeedSource, Package
from resolver.model.linkage import Linkage
from resolver.model.release import RejectionReason, Release
from resolver.resolve.candidates import Candidates

TORCH = text.name("torch")


class UnloadableError(Exception):
    """A release's binaries cannot be loaded on the target; the arguments are the reason and what it says."""


class LinkageRules:
    """Judges the binaries of the candidates of one problem."""

    def __init__(self, candidates: Candidates) -> None:
        self._candidates = candidates
        self._problem = candidates.problem
        self._provided: dict[str, frozenset[str]] = {}
        for fact in self._problem.facts:
            if isinstance(fact, facts.Links):
                known = self._provided.get(fact.package, frozenset())
                self._provided[fact.package] = known.union(fact.provides)

    def edges(self, candidate: Candidate, of_torch: Iterable[SpecifierSet]) -> tuple[Edge, ...]:
        """Return what a release requires because its binaries are linked with those of other projects.

        Empty if no fact says that they are, or if its wheel is left unread. `of_torch` is what its metadata requires of
        torch: if the target can use no such release, that is reason enough, and nothing is read.

        Raises UnloadableError.
        """
        release = candidate.release
        project = self._candidates.project(text.name(candidate.package.name))
        links = project.facts_about(release.position, facts.Links)
        to = {name for fact in links for name in fact.to}
        if not to or release.source is not None or release.builds is not None or not release.file.is_wheel:
            return ()
        specifiers = tuple(of_torch)
        if specifiers and not self._has_torch(specifiers):
            return ()
        try:
            linkage = self._candidates.catalog.linkage(release.file)
        except UnusableFile as error:
            raise UnloadableError(RejectionReason.BINARIES, str(error)) from None
        if linkage is None:
            return ()
        newer = newer_glibc(linkage, self._problem.target.glibc)
        if newer is not None:
            why = f"{newer.path} needs GLIBC_{newer.needed}, and the target has {newer.has}"
            raise UnloadableError(RejectionReason.GLIBC, why)
        provided = self._problem.libraries.union(*(self._provided.get(name, frozenset()) for name in to))
        missing = missing_libraries(linkage, provided.__contains__, links)
        foreign = [fault.library for fault in missing]
        if TORCH not in to or not (foreign or linkage.takes or self._needs_torch(linkage)):
            if missing:
                raise _nothing_provides(missing[0].path, foreign)
            return ()
        loads = [(version, loads_with(linkage, torch, foreign)) for version, torch in self._torch]
        if foreign and not any(is_loading for _, is_loading in loads):
            raise _nothing_provides(missing[0].path, foreign)
        specifier = bounds((version, is_loading) for version, is_loading in loads if not version.is_prerelease)
        need = f"torch{specifier}"
        origin = NeedLine(NeedSource.LINKAGE, str(candidate), need, release.file.filename)
        return (Edge(Package(TORCH), SpecifierSet(specifier), origin),)

    def _has_torch(self, specifiers: Iterable[SpecifierSet]) -> bool:
        """Return whether the target can use a release of torch that all of these admit."""
        project = self._candidates.project(TORCH)
        mask = project.all
        for specifier in specifiers:
            mask &= project.mask(specifier)
        return any(isinstance(project.release(position), Release) for position in project.positions(mask))

    def _needs_torch(self, linkage: Linkage) -> bool:
        of_torch = self._provided.get(TORCH, frozenset())
        return any(of_torch.intersection(part.needs) for part in linkage.objects)

    @cached_property
    def _torch(self) -> tuple[tuple[Version, Linkage], ...]:
        """Return the releases of torch that the target can use and somebody has read."""
        project = self._candidates.project(TORCH)
        read = []
        for position in project.positions(project.all):
            release = project.release(position)
            if not isinstance(release, Release) or release.source is not None or not release.file.is_wheel:
                continue
            try:
                linkage = self._candidates.catalog.known_linkage(release.file)
            except UnusableFile:
                continue
            if linkage is not None:
                read.append((release.version, linkage))
        return tuple(read)


def _nothing_provides(path: str, libraries: list[str]) -> UnloadableError:
    shown = ", ".join(libraries[:3]) + (", …" if len(libraries) > 3 else "")
    return UnloadableError(RejectionReason.LIBRARY, f"{path} needs {shown}, which nothing on this target provides")
