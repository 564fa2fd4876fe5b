"""The requirement lines of a release, from its file or the fact in its place, and which of them apply on a target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache

import msgspec
from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement

from resolver.errors import InputError
from resolver.index.parse.metadata import LEGACY_BUILD
from resolver.index.protocol import Catalog, UnusableFile
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.release import Archive, CoreMetadata, Release
from resolver.model.requirement import Requirement
from resolver.model.variant import property_lines

DYNAMIC = "it is a source archive without static metadata, and locking never runs a package's code"


class DynamicArchiveError(InputError):
    """The source archive of `release` has no static metadata, and no fact has it either."""

    def __init__(self, release: Release, why: str) -> None:
        self.release = release
        super().__init__(
            f"`{release.file.filename}`: {DYNAMIC}", where=f"index `{release.index}`", why=why
        )


class ReleaseRequirements(msgspec.Struct, frozen=True):
    """PEP 508 lines, including markers and extras. `build_requires` is empty for wheels."""

    requires: tuple[str, ...]
    requires_python: str
    build_requires: tuple[str, ...]
    extras: tuple[str, ...]


def requirement_lines(
    catalog: Catalog, release: Release, metadata: Sequence[facts.Metadata]
) -> ReleaseRequirements:
    """Read what a release needs from the first of: its source, its `builds` fact, its file, its `metadata` fact.

    Raises UnusableFile if a file cannot be read, DynamicArchiveError if an archive has no static
    metadata and no fact.
    """
    file = release.file
    if release.source is not None:
        recipe = release.source.recipe
        return ReleaseRequirements(
            recipe.requires, recipe.requires_python, recipe.build_requires, release.source.extras
        )
    if file.is_wheel:
        wheel = catalog.metadata(file)
        _require_own_properties(release, wheel)
        return ReleaseRequirements(
            wheel.requires_dist, wheel.requires_python, (), wheel.provides_extra
        )
    archive = catalog.archive(file)
    if release.builds is not None:
        requires = requirements_file(catalog.member(file, release.builds.requires_from))
        static = archive.metadata or CoreMetadata("", "", (), file.requires_python)
        # the fact says what is always needed; extras are taken from the archive itself
        optional = [
            line for line in static.requires_dist if text.extras_in_marker(line) != frozenset()
        ]
        build = build_lines(archive, release.builds)
        return ReleaseRequirements(
            (*requires, *optional), static.requires_python, build, static.provides_extra
        )
    if metadata:
        fact = metadata[0]
        python = (
            str(fact.requires_python) if fact.requires_python is not None else file.requires_python
        )
        build = (
            build_lines(archive, None)
            if fact.build_requires is None
            else tuple(map(str, fact.build_requires))
        )
        requires = tuple(map(str, fact.requires))
        return ReleaseRequirements(requires, python, build, text.all_extras(requires))
    if archive.metadata is None:
        raise DynamicArchiveError(release, archive.why_dynamic)
    static = archive.metadata
    build = build_lines(archive, None)
    return ReleaseRequirements(
        static.requires_dist, static.requires_python, build, static.provides_extra
    )


def _require_own_properties(release: Release, wheel: CoreMetadata) -> None:
    """Raise UnusableFile if a variant wheel has other properties than its index says, by which it was chosen."""
    if release.variant is None or wheel.own_variant is None:
        return
    own = property_lines(wheel.own_variant)
    if own != release.variant.properties:
        said = ", ".join(release.variant.properties) or "no properties"
        raise UnusableFile(
            f"{release.file.filename} has {', '.join(own) or 'no properties'}, its index says {said}"
        )


def is_built_here(release: Release) -> bool:
    """Whether a fact says that a release is built in the target environment."""
    if release.source is not None:
        return not release.source.recipe.isolation
    return release.builds is not None and not release.builds.isolation


def build_lines(archive: Archive, builds: facts.Builds | None) -> tuple[str, ...]:
    """What building an archive needs: according to its pyproject.toml, corrected by the fact."""
    lines = archive.build_requires if archive.build_requires is not None else LEGACY_BUILD
    if builds is None:
        return lines
    corrected = []
    for line in lines:
        try:
            if text.requirement(line).name not in builds.build_drop:
                corrected.append(line)
        except InvalidRequirement:
            raise UnusableFile(
                f"`{line}` in its build-system.requires is not a requirement"
            ) from None
    return (*corrected, *map(str, builds.build_add))


def requirements_file(content: str) -> tuple[str, ...]:
    """The requirement lines of a requirements file. Options in it are refused, never followed."""
    lines = tuple(line for _, line in text.file_lines(content))
    for line in lines:
        if line.startswith("-"):
            raise UnusableFile(
                f"the requirements file has the option `{line}`, which is not supported"
            )
    return lines


class MarkerEvaluator:
    """Tells which lines apply. `markers` is the target's environment (PEP 508)."""

    def __init__(self, markers: Mapping[str, str]) -> None:
        self._markers = markers
        self._cached = cache(self._evaluate)
        # by file: lines that may apply for any extra, and lines by extra
        self._by_extra: dict[str, tuple[list[str], dict[str, list[str]]]] = {}

    def lines_for(self, filename: str, lines: Sequence[str], extra: str) -> Sequence[str]:
        """The lines of a file that may apply for an extra, or without one: a file may have thousands of either."""
        if filename not in self._by_extra:
            unclear: list[str] = []
            by_extra: dict[str, list[str]] = {}
            for line in lines:
                names = text.extras_in_marker(line)
                if names is None:
                    unclear.append(line)
                for name in names or ():
                    by_extra.setdefault(name, []).append(line)
            self._by_extra[filename] = unclear, by_extra
        unclear, by_extra = self._by_extra[filename]
        return [*unclear, *by_extra.get(extra, ())] if extra else lines

    def requirements(
        self, filename: str, lines: Sequence[str], extra: str
    ) -> Iterator[Requirement]:
        """The requirements among the lines of a file that apply; invalid lines are left out."""
        for line in self.lines_for(filename, lines, extra):
            with suppress(InvalidRequirement):
                if (requirement := self.evaluate(line, extra)) is not None:
                    yield requirement

    def evaluate(self, line: str, extra: str) -> Requirement | None:
        """The requirement of a line if it applies on the target with `extra`, otherwise None.

        With an extra, only if the extra makes it apply. Raises InvalidRequirement.
        """
        return self._cached(line, extra) if len(line) <= text.LONG else self._evaluate(line, extra)

    def _evaluate(self, line: str, extra: str) -> Requirement | None:
        requirement = text.requirement(line)
        if requirement.marker is None:
            return None if extra else requirement
        try:
            applies = requirement.marker.evaluate(self._markers)
            if extra:
                applies = not applies and requirement.marker.evaluate(
                    {**self._markers, "extra": extra}
                )
        except (UndefinedComparison, UndefinedEnvironmentName) as error:
            raise InvalidRequirement(str(error)) from None
        return requirement if applies else None
