"""The edges of releases that follow from the binaries in their wheels.

Only releases that a `links` fact with `to` is about are judged, by the wheel that pip would take,
before they are chosen. If the binaries need libraries or symbols of other projects, the release
gets edges on these projects. docs/solving.md ("Linkage") describes the rules.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

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
from resolver.model.constraint import ReleaseRequires, RequirementSource
from resolver.model.dependency import Candidate, Edge
from resolver.model.linkage import TORCH, Linkage
from resolver.model.package import Package
from resolver.model.release import RejectionReason, Release
from resolver.resolve.candidates import Candidates
from resolver.resolve.needs import UnusableReleaseError


class _BinaryNeed(NamedTuple):
    """A project that the binaries of a wheel need."""

    # The project.
    project: NormalizedName
    # The specifier set of the versions that have all needed libraries and symbols.
    specifier: str


class LinkageRules:
    """Judges the binaries of the candidates of one problem. Verdicts are cached."""

    def __init__(self, candidates: Candidates) -> None:
        """Take the candidates of the problem."""
        self._candidates = candidates
        self._problem = candidates.problem
        self._links = [fact for fact in self._problem.facts if isinstance(fact, facts.Links)]
        # The verdict on each wheel, by its file name, its sha256, and the names of libraries that
        # count as present.
        self._verdicts: dict[
            tuple[str, str, frozenset[str]], tuple[_BinaryNeed, ...] | UnusableReleaseError
        ] = {}

    def edges(
        self,
        candidate: Candidate,
        torch_specifiers: Sequence[SpecifierSet],
        assumed: frozenset[str] | None = None,
    ) -> Iterator[Edge]:
        """Yield the edges of a release that follow from its binaries.

        There are none if no fact says with which projects the binaries are linked, or if the wheel
        was not read. If `assumed` is not None, they are judged even without a fact: it has the
        names of libraries of other projects that count as present. `torch_specifiers` are the
        requirements on torch in the release's metadata. If the target can use no such torch, the
        wheel is not read.

        Raises UnusableReleaseError if the binaries cannot be loaded on the target.
        """
        if not is_judged(candidate.release):
            return
        if assumed is None:
            links = self._candidates.facts_about(candidate, facts.Links)
            if not any(fact.to for fact in links):
                return
        if torch_specifiers and not self._has_torch(torch_specifiers):
            return
        for need in self._needs(candidate, assumed or frozenset()):
            line = f"{need.project}{need.specifier}"
            constraint = ReleaseRequires(candidate.package, line, RequirementSource.LINKAGE)
            yield Edge(Package(need.project), SpecifierSet(need.specifier), constraint)

    def fault(self, candidate: Candidate, torch: Version, present: frozenset[str]) -> str:
        """Return why the binaries of a release cannot be loaded with a version of torch.

        Empty if they can be loaded, or were not read. `present` has the names of libraries of other
        projects that count as present.
        """
        try:
            needs = self._needs(candidate, present)
        except UnusableReleaseError as error:
            return error.detail
        for need in needs:
            admitted = SpecifierSet(need.specifier)
            if need.project == TORCH and not admitted.contains(torch, prereleases=True):
                if not any(map(admitted.contains, self._torch)):
                    return "its binaries load with no torch that is known"
                return f"its binaries are linked with torch{need.specifier}"
        return ""

    def _needs(self, candidate: Candidate, present: frozenset[str]) -> tuple[_BinaryNeed, ...]:
        """Return the projects that the binaries of a release need (see `_judge`)."""
        release = candidate.release
        key = release.file.filename, release.file.sha256, present
        if key not in self._verdicts:
            try:
                links = self._candidates.facts_about(candidate, facts.Links)
                self._verdicts[key] = self._judge(release, links, present)
            except UnusableReleaseError as error:
                self._verdicts[key] = error
        verdict = self._verdicts[key]
        if isinstance(verdict, UnusableReleaseError):
            raise verdict.with_traceback(None)
        return verdict

    def _judge(
        self, release: Release, links: Sequence[facts.Links], present: frozenset[str]
    ) -> tuple[_BinaryNeed, ...]:
        """Return the projects that the binaries of a wheel need; none if it was not read.

        `links` are the facts about the release, and `present` the libraries that count as present.
        A library that neither the target nor a project of a fact has must be in torch, or be needed
        by torch itself. Only a torch that somebody has read can have it: such libraries mostly
        belong to CUDA, which a target with NPUs does not have. The independent check has the same
        rule. Raises UnusableReleaseError if nothing on the target provides a library.
        """
        linkage = self._loadable(release)
        if linkage is None:
            return ()
        missing = missing_libraries(linkage, present.union(self._problem.libraries), links)
        missing_names = {fault.library for fault in missing}
        linked_with: set[NormalizedName] = set()
        for fact in links:
            linked_with.update(fact.to)
        if not linked_with:
            linked_with.add(TORCH)
        by_fact = {name: self._provided_by(name) & missing_names for name in sorted(linked_with)}
        by_nobody = missing_names.difference(*by_fact.values())
        foreign = [fault for fault in missing if fault.library in by_nobody]
        if foreign and TORCH not in linked_with:
            raise _nothing_provides(foreign)
        symbols = TakenSymbols(linkage)
        needs = []
        for name, libraries in by_fact.items():
            if name == TORCH and (libraries or foreign or symbols):
                needs.append(_BinaryNeed(name, self._torch_bounds(symbols, libraries, foreign)))
            elif name != TORCH and libraries:
                needs.append(_BinaryNeed(name, self._bounds(name, libraries, missing)))
        return tuple(needs)

    def _loadable(self, release: Release) -> Linkage | None:
        """Return the linkage of a release's wheel; None if it was not read.

        Raises UnusableReleaseError if it cannot be read, or if it needs a newer glibc than the
        target has.
        """
        try:
            linkage = self._candidates.catalog.linkage(release.file)
        except UnusableFile as error:
            raise UnusableReleaseError(RejectionReason.BINARIES, str(error)) from None
        if linkage is None:
            return None
        newer = newer_glibc(linkage, self._problem.target.glibc)
        if newer is not None:
            why = f"{newer.path} needs GLIBC_{newer.needed}, and the target has {newer.has}"
            raise UnusableReleaseError(RejectionReason.GLIBC, why)
        return linkage

    def _about(self, project: NormalizedName) -> list[facts.Links]:
        """Return the `links` facts about any release of a project."""
        return [fact for fact in self._links if fact.package == project]

    def _provided_by(self, project: NormalizedName) -> set[str]:
        """Return the names of the libraries that any release of a project provides, by facts."""
        libraries: set[str] = set()
        for fact in self._about(project):
            libraries.update(fact.provides)
        return libraries

    def _lacks(
        self, project: NormalizedName, version: Version, libraries: Iterable[str]
    ) -> set[str]:
        """Return the libraries among these that no fact says this release provides."""
        lacking = set(libraries)
        for fact in self._about(project):
            if fact.applies_to(version):
                lacking.difference_update(fact.provides)
        return lacking

    def _bounds(
        self, project: NormalizedName, libraries: Collection[str], missing: Sequence[MissingLibrary]
    ) -> str:
        """Return a specifier set of the versions of a project that provide all of these libraries.

        `missing` are all missing libraries of the wheel, for the error. Raises UnusableReleaseError
        if no version provides them.
        """
        provides = [
            (release.version, not self._lacks(project, release.version, libraries))
            for release in self._usable(project)
        ]
        if not any(is_provided for _, is_provided in provides):
            raise _nothing_provides([fault for fault in missing if fault.library in libraries])
        return bounds(provides)

    def _torch_bounds(
        self, symbols: TakenSymbols, libraries: Collection[str], foreign: Sequence[MissingLibrary]
    ) -> str:
        """Return a specifier set of the versions of torch with which a wheel can be loaded.

        `symbols` are the symbols that the wheel uses. `libraries` are libraries that facts say some
        torch provides, and `foreign` are libraries that no fact is about. Raises
        UnusableReleaseError if there are foreign libraries and no torch has everything.
        """
        foreign_libraries = {fault.library for fault in foreign}
        loads = []
        for release in self._usable(TORCH):
            version = release.version
            needed = self._lacks(TORCH, version, libraries) | foreign_libraries
            torch = self._torch.get(version)
            if torch is not None:
                has_symbols = torch.offers is None or not symbols.missing_in(torch.offers)
                loads.append((version, has_symbols and needed <= torch.libraries))
            elif needed:
                loads.append((version, False))
        if foreign and not any(is_loading for _, is_loading in loads):
            raise _nothing_provides(foreign)
        return bounds(load for load in loads if not load[0].is_prerelease)

    def _usable(self, name: NormalizedName, mask: int = -1) -> Iterator[Release]:
        """Yield the releases in a mask that the target can use, newest first."""
        project = self._candidates.project(name)
        for position in project.positions(project.all & mask):
            release = project.release(position)
            if isinstance(release, Release):
                yield release

    def _has_torch(self, specifiers: Iterable[SpecifierSet]) -> bool:
        """Return whether the target can use a release of torch that all these specifiers admit."""
        project = self._candidates.project(TORCH)
        mask = project.all
        for specifier in specifiers:
            mask &= project.mask(specifier)
        return next(self._usable(TORCH, mask), None) is not None

    @cached_property
    def _torch(self) -> Mapping[Version, TorchRelease]:
        """Return the releases of torch whose wheels somebody has read, by version.

        Only releases that the target can use are among them.
        """
        read = {}
        for release in self._usable(TORCH):
            if release.source is not None or not release.file.is_wheel:
                continue
            try:
                linkage = self._candidates.catalog.known_linkage(release.file)
            except UnusableFile:
                continue
            if linkage is not None:
                read[release.version] = torch_release(release.version, linkage)
        return read


def is_judged(release: Release) -> bool:
    """Return whether the binaries of a release can be judged: it is a wheel of an index."""
    return release.source is None and release.builds is None and release.file.is_wheel


def _nothing_provides(missing: Sequence[MissingLibrary]) -> UnusableReleaseError:
    """Return the error for libraries that nothing on the target provides."""
    shown = ", ".join([fault.library for fault in missing[:3]])
    if len(missing) > 3:
        shown += ", …"
    why = f"{missing[0].path} needs {shown}, which nothing on this target provides"
    return UnusableReleaseError(RejectionReason.LIBRARY, why)
