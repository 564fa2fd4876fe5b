"""What the indexes offer today of projects, for one target: releases, files, their metadata, and archives to read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress

import msgspec
from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
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
from resolver.resolve.needs import ReleaseRequirements, requirement_lines
from resolver.resolve.project import OrderedReleases, Project

_FEW = 5


def some(versions: Sequence[Version]) -> str:
    """The first few, for a remark."""
    return ", ".join(map(str, versions[:_FEW])) + (", …" if len(versions) > _FEW else "")


class DeclaredRequirements(msgspec.Struct, frozen=True):
    """The requirements of a release; `where` is the file that has them, `python` the one with its Requires-Python."""

    where: str
    python: str
    requirements: ReleaseRequirements


class Offers:
    """Answers from a catalog for the target of a problem, whose markers are `markers`."""

    def __init__(self, problem: Problem, catalog: Catalog) -> None:
        self.catalog = catalog
        self.markers = problem.target.markers
        self._compatibility = Compatibility(problem.target, None)
        self._facts = defaultdict[NormalizedName, list[Fact]](list)
        for fact in problem.facts:
            self._facts[fact.package].append(fact)
        self._projects: dict[NormalizedName, Project] = {}

    def versions(self, name: NormalizedName) -> Sequence[Version]:
        """All releases, newest first."""
        return self._project(name).versions

    def matching(self, name: NormalizedName, specifiers: SpecifierSet) -> list[Version]:
        """The releases that a specifier set admits, pre-releases too, newest first."""
        return list(specifiers.filter(self.versions(name), prereleases=True))

    def at_commits(self, name: NormalizedName, specifiers: SpecifierSet) -> list[Version]:
        """The versions of commits that a specifier set admits; they exist although no index has them."""
        commits = [fact.recipe.version for fact in self._facts[name] if isinstance(fact, Sources)]
        return list(specifiers.filter(commits, prereleases=True))

    def files(self, name: NormalizedName, version: Version) -> list[File]:
        """All files of a release, usable on the target or not."""
        offers = self._project(name).ordered.offers[self.versions(name).index(version)]
        return [file for offer in offers for file in offer.page.releases[offer.version]]

    def declared(self, name: NormalizedName, version: Version) -> DeclaredRequirements:
        """The requirements of a release by its files. Raises UnusableFile and IndexFailure."""
        release = self.release(name, version)
        try:
            where = (
                f"{release.file.filename}: METADATA"
                if release.file.is_wheel
                else release.file.filename
            )
            return DeclaredRequirements(where, where, requirement_lines(self.catalog, release, ()))
        except InputError as error:  # an archive without static metadata
            noted = informal_requirements(release.file, self.catalog)
            if noted is None:
                raise UnusableFile(error.why or error.message) from None
            requirements = ReleaseRequirements(noted.lines, release.file.requires_python, (), ())
            return DeclaredRequirements(noted.where, release.file.filename, requirements)

    def all_requirements(self, name: NormalizedName, version: Version) -> Sequence[str]:
        """Return the requirements of a release by its files, for any target and with all extras.

        Empty if no file says them. Raise UnusableFile and IndexFailure.
        """
        wheels = [file for file in self.files(name, version) if file.is_wheel]
        if wheels:
            return self.catalog.metadata(wheels[0]).requires_dist
        static = self.catalog.archive(self.release(name, version).file).metadata
        return static.requires_dist if static is not None else ()

    def requirements_on(
        self, projects: Collection[NormalizedName], name: NormalizedName, version: Version
    ) -> tuple[str, list[Requirement]]:
        """The file with the requirements of a release, and those on these projects that apply without any extra."""
        declared = self.declared(name, version)
        needs = []
        for line in declared.requirements.requires:
            try:
                need = text.requirement(line)
                if need.name in projects and (
                    need.marker is None or need.marker.evaluate(self.markers)
                ):
                    needs.append(need)
            except (InvalidRequirement, UndefinedComparison, UndefinedEnvironmentName):
                raise UnusableFile(
                    f"{declared.where} has the invalid requirement `{line}`"
                ) from None
        return declared.where, needs

    def replaced_requirements(self, practice: Replaces, version: Version) -> list[Requirement]:
        """The requirements in other facts that a practice replaces."""
        return [
            need
            for fact in self._facts[practice.package]
            if isinstance(fact, Requires) and fact.applies_to(version)
            for need in fact.needs
            if isinstance(need, Requirement) and need not in needs_kept(fact, [practice])
        ]

    def _project(self, name: NormalizedName) -> Project:
        if name not in self._projects:
            builds = tuple(fact for fact in self._facts[name] if isinstance(fact, Builds))
            self._projects[name] = Project(
                name, OrderedReleases(self.catalog.lookup(name)), self._compatibility, builds
            )
        return self._projects[name]

    def release(self, name: NormalizedName, version: Version) -> Release:
        """The release as usable on the target, otherwise as it is, with a wheel if it has one.

        Raises IndexFailure.
        """
        position = self.versions(name).index(version)
        release = self._project(name).release(position)
        if isinstance(release, Release):
            return release
        file = max(self.files(name, version), key=lambda file: (file.is_wheel, file.filename))
        return Release(version=version, file=file, index="", position=position)


def archives_of(
    project: NormalizedName, facts: Sequence[Fact], offers: Offers
) -> Iterator[tuple[File, list[str]]]:
    """The archives that locking reads because of these facts, newest first, each with the members that it reads.

    These are the archives of releases that a `builds` or `metadata` fact is about; for any other
    fact only if all its releases are archives. Raises IndexFailure.
    """
    paths: dict[Version, list[str]] = {}
    for fact in facts:
        if fact.package != project or isinstance(fact, Sources):
            continue
        versions = {
            version
            for specifiers in fact.versions
            for version in offers.matching(project, specifiers)
        }
        has_wheels = any(
            file.is_wheel for version in versions for file in offers.files(project, version)
        )
        if isinstance(fact, Builds | Metadata) or not has_wheels:
            for version in versions:
                paths.setdefault(version, []).extend(
                    [fact.requires_from] if isinstance(fact, Builds) else []
                )
    for version in sorted(paths, reverse=True):
        for file in offers.files(project, version):
            if not file.is_wheel and file.sha256:
                yield file, paths[version]


def wheels_of(
    project: NormalizedName,
    releases: Iterable[Version],
    known: Iterable[WheelReading],
    offers: Offers,
) -> Iterator[WheelReading]:
    """The pins in wheels of these releases, newest first.

    A release `known` with the same wheels is not read again.

    Raises IndexFailure.
    """
    rows = {row.wheels: row for row in known}
    for version in sorted(releases, reverse=True):
        wheels = sorted(
            (file for file in offers.files(project, version) if file.is_wheel and file.sha256),
            key=lambda file: file.filename,
        )
        names = tuple(file.filename for file in wheels)
        if names in rows:
            yield rows[names]
        elif wheels:
            with suppress(UnusableFile):
                pins = read_pins(offers.catalog.metadata(wheels[0]).requires_dist)
                yield WheelReading(
                    str(version), names[0], wheels[0].sha256, tuple(map(str, pins)), names
                )


def read_all(
    archives: Iterable[tuple[File, list[str]]], known: Iterable[ArchiveReading], catalog: Catalog
) -> Iterator[ArchiveReading]:
    """The contents of each archive. Those `known` are not read again; unreadable ones are left out.

    Raises IndexFailure.
    """
    rows = {row.sha256: row for row in known}
    for file, paths in archives:
        row = rows.get(file.sha256)
        if row is not None and row.file == file.filename and set(paths) <= row.texts.keys():
            yield row
            continue
        with suppress(UnusableFile):  # reported when locking
            yield archive_reading(
                file, catalog.archive(file), {path: catalog.member(file, path) for path in paths}
            )
