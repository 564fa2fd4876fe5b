"""Look up what the indexes offer of projects today, for one target: releases, files and metadata.

`fact_checks`, `code_scan` and the command `facts import` ask here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final

import msgspec
from packaging.requirements import InvalidRequirement
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.audit.pairs import read_pins
from resolver.errors import InputError
from resolver.index.parse.distribution import Compatibility
from resolver.index.parse.informal import informal_requirements
from resolver.index.protocol import Catalog, UnusableFile
from resolver.index.store.readings import ArchiveReading, WheelReading, archive_reading
from resolver.model import text
from resolver.model.fact import Builds, Fact, Metadata, Replaces, Requires, Sources, needs_kept
from resolver.model.problem import Problem
from resolver.model.release import File, Release
from resolver.model.requirement import Requirement
from resolver.redaction import without_secrets
from resolver.resolve.needs import ReleaseRequirements, requirement_lines
from resolver.resolve.project import OrderedReleases, Project

# How many versions a remark shows.
_FEW: Final = 5


def some(versions: Sequence[Version]) -> str:
    """Return the first few versions as text, with `…` if there are more."""
    shown = [str(version) for version in versions[:_FEW]]
    if len(versions) > _FEW:
        shown.append("…")
    return ", ".join(shown)


class DeclaredRequirements(msgspec.Struct, frozen=True):
    """The requirements that a release declares, and where it does so."""

    # The file with the requirements, as messages name it.
    where: str
    # The file with Requires-Python, as messages name it.
    python: str
    # The requirements, without those of extras.
    requirements: ReleaseRequirements


class Offers:
    """The releases that a catalog has, seen from the target of a problem."""

    def __init__(self, problem: Problem, catalog: Catalog) -> None:
        self.catalog = catalog
        # The values of environment markers on the target.
        self.markers = problem.target.markers
        self._compatibility = Compatibility(problem.target, None)
        self._facts = defaultdict[NormalizedName, list[Fact]](list)
        for fact in problem.facts:
            self._facts[fact.package].append(fact)
        self._projects: dict[NormalizedName, Project] = {}

    def versions(self, name: NormalizedName) -> Sequence[Version]:
        """Return the versions of all releases of a project, newest first."""
        return self._project(name).versions

    def matching(self, name: NormalizedName, specifiers: SpecifierSet) -> list[Version]:
        """Return the versions that a specifier set admits, newest first, pre-releases included."""
        return list(specifiers.filter(self.versions(name), prereleases=True))

    def at_commits(self, name: NormalizedName, specifiers: SpecifierSet) -> list[Version]:
        """Return the versions of commits in `sources` facts that a specifier set admits.

        No index has these versions.
        """
        commits = [fact.recipe.version for fact in self._facts[name] if isinstance(fact, Sources)]
        return list(specifiers.filter(commits, prereleases=True))

    def files(self, name: NormalizedName, version: Version) -> list[File]:
        """Return all files of a release, whether the target can use them or not."""
        project = self._project(name)
        position = project.versions.index(version)
        files: list[File] = []
        for offer in project.ordered.offers[position]:
            files += offer.page.releases[offer.version]
        return files

    def wheels(self, name: NormalizedName, version: Version) -> list[File]:
        """Return all wheels of a release, whether the target can use them or not."""
        return [file for file in self.files(name, version) if file.is_wheel]

    def archives(self, name: NormalizedName, version: Version) -> list[File]:
        """Return all source archives of a release."""
        return [file for file in self.files(name, version) if not file.is_wheel]

    def declared(self, name: NormalizedName, version: Version) -> DeclaredRequirements:
        """Return the requirements that a release declares, or that its archive only notes.

        Raises UnusableFile if there are none that can be read, and IndexFailure.
        """
        release = self.release(name, version)
        file = release.file
        try:
            requirements = requirement_lines(self.catalog, release, ())
        except InputError as error:
            # The release is an archive without static metadata.
            noted = informal_requirements(file, self.catalog)
            if noted is None:
                raise UnusableFile(error.phrases["why"] or error.phrases["message"]) from None
            requirements = ReleaseRequirements(noted.lines, file.requires_python, (), ())
            return DeclaredRequirements(noted.where, file.filename, requirements)
        where = f"{file.filename}: METADATA" if file.is_wheel else file.filename
        return DeclaredRequirements(where, where, requirements)

    def all_requirements(self, name: NormalizedName, version: Version) -> Sequence[str]:
        """Return the requirements of a release for all targets and with all extras.

        Empty if no file declares them statically. Raises UnusableFile and IndexFailure.
        """
        wheels = self.wheels(name, version)
        if wheels:
            return self.catalog.metadata(wheels[0]).requires_dist
        static = self.catalog.archive(self.release(name, version).file).metadata
        return static.requires_dist if static is not None else ()

    def requirements_on(
        self, projects: Collection[NormalizedName], name: NormalizedName, version: Version
    ) -> tuple[str, list[Requirement]]:
        """Return the file with the requirements of a release, and those on the given projects.

        Requirements of extras, and requirements that do not apply to the target, are left out.
        Raises UnusableFile if a requirement is invalid, and IndexFailure.
        """
        declared = self.declared(name, version)
        needs = []
        for line in declared.requirements.requires:
            try:
                need = text.requirement(line)
                if need.name not in projects:
                    continue
                if need.applies(self.markers):
                    needs.append(need)
            except InvalidRequirement:
                why = f"{declared.where} has the invalid requirement `{without_secrets(line)}`"
                raise UnusableFile(why) from None
        return declared.where, needs

    def replaced_requirements(self, practice: Replaces, version: Version) -> list[Requirement]:
        """Return the requirements that other facts state for a release and a practice replaces."""
        replaced: list[Requirement] = []
        for fact in self._facts[practice.package]:
            if isinstance(fact, Requires) and fact.applies_to(version):
                kept = needs_kept(fact, fact.needs, [practice])
                requirements = [need for need in fact.needs if isinstance(need, Requirement)]
                replaced += [need for need in requirements if need not in kept]
        return replaced

    def _project(self, name: NormalizedName) -> Project:
        """Return a project as the target sees it. Raises IndexFailure."""
        if name not in self._projects:
            builds = tuple(fact for fact in self._facts[name] if isinstance(fact, Builds))
            releases = OrderedReleases(self.catalog.lookup(name))
            self._projects[name] = Project(name, releases, self._compatibility, builds)
        return self._projects[name]

    def release(self, name: NormalizedName, version: Version) -> Release:
        """Return a release with the file that the target would use.

        If the target can use no file, it is a wheel or else an archive. Raises IndexFailure.
        """
        project = self._project(name)
        position = project.versions.index(version)
        release = project.release(position)
        if isinstance(release, Release):
            return release
        file = max(self.files(name, version), key=lambda file: (file.is_wheel, file.filename))
        return Release(version=version, file=file, index="", position=position)


def archives_of(
    project: NormalizedName, facts: Sequence[Fact], offers: Offers
) -> Iterator[tuple[File, list[str]]]:
    """Yield the archives that locking reads because of facts about a project, newest first.

    Each archive comes with the members that are read. A `builds` or `metadata` fact needs the
    archives of its releases. Any other fact needs them only if none of its releases has a wheel.
    Raises IndexFailure.
    """
    members: dict[Version, list[str]] = {}
    for fact in facts:
        if fact.package != project or isinstance(fact, Sources):
            continue
        versions: set[Version] = set()
        for specifiers in fact.versions:
            versions.update(offers.matching(project, specifiers))
        is_about_archives = isinstance(fact, Builds | Metadata)
        if not is_about_archives and any(offers.wheels(project, version) for version in versions):
            continue
        for version in versions:
            of_version = members.setdefault(version, [])
            if isinstance(fact, Builds):
                of_version.append(fact.requires_from)
    for version in sorted(members, reverse=True):
        for file in offers.archives(project, version):
            if file.sha256:
                yield file, members[version]


def wheels_of(
    project: NormalizedName,
    releases: Iterable[Version],
    known: Iterable[WheelReading],
    offers: Offers,
) -> Iterator[WheelReading]:
    """Yield the readings of wheels of these releases, newest first.

    A reading has the pins in the metadata of the first wheel. If `known` has a reading of the same
    wheels, it is used again. A wheel that cannot be read is skipped. Raises IndexFailure.
    """
    known_by_wheels = {reading.wheels: reading for reading in known}
    for version in sorted(releases, reverse=True):
        wheels = [file for file in offers.wheels(project, version) if file.sha256]
        wheels.sort(key=lambda file: file.filename)
        names = tuple(file.filename for file in wheels)
        if names in known_by_wheels:
            yield known_by_wheels[names]
        elif wheels:
            first = wheels[0]
            with suppress(UnusableFile):
                pins = read_pins(offers.catalog.metadata(first).requires_dist)
                pinned = tuple(map(str, pins))
                yield WheelReading(str(version), first.filename, first.sha256, pinned, names)


def _has_all(reading: ArchiveReading, file: File, members: Iterable[str]) -> bool:
    """Return whether a reading is of this file and has all these members."""
    return reading.file == file.filename and set(members) <= reading.texts.keys()


def read_all(
    archives: Iterable[tuple[File, list[str]]], known: Iterable[ArchiveReading], catalog: Catalog
) -> Iterator[ArchiveReading]:
    """Yield the readings of archives. Archives that cannot be read are skipped.

    If `known` has a reading of the archive with the wanted members, it is used again. Raise
    IndexFailure.
    """
    known_by_hash = {reading.sha256: reading for reading in known}
    for file, members in archives:
        reading = known_by_hash.get(file.sha256)
        if reading is not None and _has_all(reading, file, members):
            yield reading
            continue
        # If the archive cannot be read, locking reports it.
        with suppress(UnusableFile):
            contents = catalog.archive(file)
            texts = {member: catalog.member(file, member) for member in members}
            yield archive_reading(file, contents, texts)
