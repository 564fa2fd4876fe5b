"""What a release's binaries need, judged before the release is chosen.

Only releases that a `links` fact is about are judged, by their own wheel. What it takes from others
becomes edges.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.index.protocol import UnusableFile
from resolver.linkage.judgement import (
    MissingLibrary,
    TakenSymbols,
    TorchRelease,
    bounds,
    missing_libraries,
    newer_glibc,
    torch_release,
)
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.constraint import RequirementSource, Requires
from resolver.model.dependency import Candidate, Edge
from resolver.model.linkage import TORCH
from resolver.model.package import Package
from resolver.model.release import RejectionReason, Release
from resolver.resolve.candidates import Candidates


class UnloadableError(Exception):
    """A release's binaries cannot be loaded on the target; the arguments are the reason and what it says."""


# The projects that the binaries of a wheel need, each with the versions that have what they need of
# it.
_Needs = tuple[tuple[NormalizedName, str], ...]


class LinkageRules:
    """Judges the binaries of the candidates of one problem, those of each wheel once."""

    def __init__(self, candidates: Candidates) -> None:
        self._candidates = candidates
        self._problem = candidates.problem
        self._links = [fact for fact in self._problem.facts if isinstance(fact, facts.Links)]
        # by file name, sha256, and libraries that are there
        self._verdicts: dict[tuple[str, str, frozenset[str]], _Needs | UnloadableError] = {}

    def edges(
        self,
        candidate: Candidate,
        of_torch: Iterable[SpecifierSet],
        assumed: frozenset[str] | None = None,
    ) -> tuple[Edge, ...]:
        """Return what a release requires because its binaries are linked with those of other projects.

        Empty if its wheel is left unread, and if no fact says that they are, unless that is
        `assumed`: then these are libraries of other projects that count as there. `of_torch` is
        what its metadata requires of torch: if the target can use no such release, that is reason
        enough, and nothing is read.

        Raises UnloadableError.
        """
        if not is_judged(candidate.release) or not (
            assumed is not None or self.is_linked(candidate)
        ):
            return ()
        specifiers = tuple(of_torch)
        if specifiers and not self._has_torch(specifiers):
            return ()
        return tuple(
            self._edge(candidate, *need) for need in self._needs(candidate, assumed or frozenset())
        )

    def is_linked(self, candidate: Candidate) -> bool:
        """Return whether a fact says that the binaries of a release are linked with those of other projects."""
        return any(fact.to for fact in self._links_of(candidate))

    def fault(self, candidate: Candidate, torch: Version, there: frozenset[str]) -> str:
        """Return why the binaries of a release cannot be loaded with a torch; empty if they can, or are unread.

        `there` are libraries of other projects.
        """
        try:
            needs = self._needs(candidate, there)
        except UnloadableError as error:
            return str(error.args[1])
        for project, specifier in needs:
            if project == TORCH and not SpecifierSet(specifier).contains(torch, prereleases=True):
                return f"its binaries are linked with torch{specifier}"
        return ""

    def _links_of(self, candidate: Candidate) -> list[facts.Links]:
        project = self._candidates.project(text.name(candidate.package.name))
        return project.facts_about(candidate.release.position, facts.Links)

    def _needs(self, candidate: Candidate, there: frozenset[str]) -> _Needs:
        """Return what the binaries of a release need. Raises UnloadableError."""
        release = candidate.release
        key = release.file.filename, release.file.sha256, there
        if key not in self._verdicts:
            try:
                self._verdicts[key] = self._judge(release, self._links_of(candidate), there)
            except UnloadableError as error:
                self._verdicts[key] = error
        verdict = self._verdicts[key]
        if isinstance(verdict, UnloadableError):
            raise verdict.with_traceback(None)
        return verdict

    def _edge(self, candidate: Candidate, project: NormalizedName, specifier: str) -> Edge:
        line = f"{project}{specifier}"
        needs = Requires(candidate.package, line, RequirementSource.LINKAGE)
        return Edge(Package(project), SpecifierSet(specifier), needs)

    def _judge(
        self, release: Release, links: Sequence[facts.Links], there: frozenset[str]
    ) -> _Needs:
        """Return what the binaries of a wheel need, nothing if it is left unread.

        Raises UnloadableError.

        A library that neither the target nor a fact is known to have must be around a torch that
        somebody has read. A torch that nobody has read is known to have what facts say, and no
        more: what is left are mostly libraries of CUDA, and a target with NPUs has none. The
        independent check sees it in the same way.
        """
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
        provided = there.union(self._problem.libraries)
        missing = missing_libraries(linkage, provided, links)
        taken = TakenSymbols(linkage)
        to = sorted({name for fact in links for name in fact.to}) or [TORCH]
        by_fact = {
            name: self._provided_by(name).intersection(fault.library for fault in missing)
            for name in to
        }
        foreign = [
            fault
            for fault in missing
            if not any(fault.library in found for found in by_fact.values())
        ]
        if foreign and TORCH not in to:
            raise _nothing_provides(foreign)
        needs = []
        for name, libraries in by_fact.items():
            if name == TORCH:
                if libraries or foreign or taken:
                    needs.append((name, self._torch_bounds(taken, libraries, foreign)))
            elif libraries:
                needs.append((name, self._bounds(name, libraries, missing)))
        return tuple(needs)

    def _provided_by(self, project: NormalizedName) -> frozenset[str]:
        """Return the libraries that some release of a project provides, as facts say."""
        return frozenset(library for fact in self._about(project) for library in fact.provides)

    def _about(self, project: NormalizedName) -> list[facts.Links]:
        return [fact for fact in self._links if fact.package == project]

    def _lacks(
        self, project: NormalizedName, version: Version, libraries: Iterable[str]
    ) -> frozenset[str]:
        """Return those of the libraries that no fact says this release to provide."""
        holding = [fact.provides for fact in self._about(project) if fact.applies_to(version)]
        return frozenset(libraries).difference(*holding)

    def _bounds(
        self, project: NormalizedName, libraries: Collection[str], missing: Sequence[MissingLibrary]
    ) -> str:
        """Return the versions of a project that provide all of the libraries.

        Raises UnloadableError if none does.
        """
        provides = [
            (version, not self._lacks(project, version, libraries))
            for version in self._versions(project)
        ]
        if not any(is_provided for _, is_provided in provides):
            raise _nothing_provides([fault for fault in missing if fault.library in libraries])
        return bounds(provides)

    def _torch_bounds(
        self, taken: TakenSymbols, libraries: Collection[str], foreign: Sequence[MissingLibrary]
    ) -> str:
        """Return the versions of torch that have what a wheel needs, as far as that is known.

        `libraries` are those that facts say some torch to provide, `foreign` those that nobody
        does. Raises UnloadableError if no torch has the latter.
        """
        around = {fault.library for fault in foreign}
        loads = []
        for version in self._versions(TORCH):
            needed = self._lacks(TORCH, version, libraries) | around
            torch = self._torch.get(version)
            if torch is not None:
                has_symbols = torch.offers is None or not taken.missing_in(torch.offers)
                loads.append((version, has_symbols and needed <= torch.libraries))
            elif needed:
                loads.append((version, False))
        if foreign and not any(is_loading for _, is_loading in loads):
            raise _nothing_provides(foreign)
        return bounds(
            (version, is_loading) for version, is_loading in loads if not version.is_prerelease
        )

    def _versions(self, name: NormalizedName) -> Iterator[Version]:
        """Yield the versions of a project that the target can use."""
        project = self._candidates.project(name)
        for position in project.positions(project.all):
            release = project.release(position)
            if isinstance(release, Release):
                yield release.version

    def _has_torch(self, specifiers: Iterable[SpecifierSet]) -> bool:
        """Return whether the target can use a release of torch that all of these admit."""
        project = self._candidates.project(TORCH)
        mask = project.all
        for specifier in specifiers:
            mask &= project.mask(specifier)
        return any(
            isinstance(project.release(position), Release) for position in project.positions(mask)
        )

    @cached_property
    def _torch(self) -> Mapping[Version, TorchRelease]:
        """Return what the releases of torch have that the target can use and somebody has read."""
        project = self._candidates.project(TORCH)
        read = {}
        for position in project.positions(project.all):
            release = project.release(position)
            if (
                not isinstance(release, Release)
                or release.source is not None
                or not release.file.is_wheel
            ):
                continue
            try:
                linkage = self._candidates.catalog.known_linkage(release.file)
            except UnusableFile:
                continue
            if linkage is not None:
                read[release.version] = torch_release(release.version, linkage)
        return read


def is_judged(release: Release) -> bool:
    """Return whether a release is installed from a wheel of an index."""
    return release.source is None and release.builds is None and release.file.is_wheel


def _nothing_provides(missing: Sequence[MissingLibrary]) -> UnloadableError:
    libraries = [fault.library for fault in missing]
    shown = ", ".join(libraries[:3]) + (", …" if len(libraries) > 3 else "")
    why = f"{missing[0].path} needs {shown}, which nothing on this target provides"
    return UnloadableError(RejectionReason.LIBRARY, why)
