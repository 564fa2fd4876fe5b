"""The requirement lines of a release, and which of them apply on a target.

They are from its file, or from the fact in its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache

import msgspec
from packaging.requirements import InvalidRequirement

from resolver.errors import InputError
from resolver.index.parse.metadata import LEGACY_BUILD
from resolver.index.protocol import Catalog, UnusableFile
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.release import Archive, CoreMetadata, RejectionReason, Release
from resolver.model.requirement import Requirement
from resolver.model.variant import property_lines
from resolver.phrase import literal, phrase
from resolver.redaction import without_secrets

# Why such an archive cannot be used.
DYNAMIC = phrase(
    "it is a source archive without static metadata, and locking never runs a package's code"
)


class UnusableReleaseError(Exception):
    """A release cannot be used, which shows when its file is opened.

    The detail may quote the file, and so an address with a password: it is shown without.
    """

    def __init__(self, reason: RejectionReason, detail: str) -> None:
        self.reason = reason
        self.detail = without_secrets(detail)
        super().__init__(self.detail)


class DynamicArchiveError(InputError):
    """The source archive of `release` has no static metadata, and no fact has it either."""

    def __init__(self, release: Release, why: str) -> None:
        self.release = release
        super().__init__(
            phrase("`{file}`: {why}", file=release.file.filename, why=DYNAMIC),
            where=phrase("index `{index}`", index=release.index),
            why=literal(why),
        )


class ReleaseRequirements(msgspec.Struct, frozen=True):
    """What a release requires, as PEP 508 lines with markers."""

    # for any extra
    requires: tuple[str, ...]
    requires_python: str
    # what its build requires; empty for wheels
    build_requires: tuple[str, ...]
    # the extras that it declares (Provides-Extra)
    extras: tuple[str, ...]


def requirement_lines(
    catalog: Catalog, release: Release, metadata: Sequence[facts.Metadata]
) -> ReleaseRequirements:
    """Return what a release requires.

    It is read from the first of these that there is: the commit that the release is built from, its
    wheel, its `builds` fact, its `metadata` fact, its archive. Raises UnusableFile if a file cannot
    be read, and DynamicArchiveError if an archive has no static metadata and no fact.
    """
    if release.source is not None:
        recipe = release.source.recipe
        return ReleaseRequirements(
            recipe.requires, recipe.requires_python, recipe.build_requires, release.source.extras
        )
    if release.file.is_wheel:
        wheel = catalog.metadata(release.file)
        _check_own_properties(release, wheel)
        return ReleaseRequirements(
            wheel.requires_dist, wheel.requires_python, (), wheel.provides_extra
        )
    archive = catalog.archive(release.file)
    if release.builds is not None:
        return _lines_of_build(catalog, release, release.builds, archive)
    if metadata:
        return _lines_of_fact(release, metadata[0], archive)
    if archive.metadata is None:
        raise DynamicArchiveError(release, archive.why_dynamic)
    static = archive.metadata
    return ReleaseRequirements(
        static.requires_dist,
        static.requires_python,
        build_lines(archive, None),
        static.provides_extra,
    )


def _lines_of_build(
    catalog: Catalog, release: Release, builds: facts.Builds, archive: Archive
) -> ReleaseRequirements:
    """Return what a release requires that a fact has built.

    The fact says what is always needed; extras are taken from the archive itself.
    """
    requires = requirements_file(catalog.member(release.file, builds.requires_from))
    static = archive.metadata or CoreMetadata("", "", (), release.file.requires_python)
    optional = [line for line in static.requires_dist if text.extras_in_marker(line) != frozenset()]
    return ReleaseRequirements(
        (*requires, *optional),
        static.requires_python,
        build_lines(archive, builds),
        static.provides_extra,
    )


def _lines_of_fact(release: Release, fact: facts.Metadata, archive: Archive) -> ReleaseRequirements:
    """Return what a fact says that an archive without static metadata requires."""
    requires = tuple(map(str, fact.requires))
    requires_python = release.file.requires_python
    if fact.requires_python is not None:
        requires_python = str(fact.requires_python)
    if fact.build_requires is None:
        build = build_lines(archive, None)
    else:
        build = tuple(map(str, fact.build_requires))
    return ReleaseRequirements(requires, requires_python, build, text.all_extras(requires))


def _check_own_properties(release: Release, wheel: CoreMetadata) -> None:
    """Raise UnusableFile if a variant wheel has other properties than its index says.

    It was chosen by what its index says.
    """
    if release.variant is None or wheel.own_variant is None:
        return
    own = property_lines(wheel.own_variant)
    stated = release.variant.properties
    if own != stated:
        own_text = ", ".join(own) or "no properties"
        stated_text = ", ".join(stated) or "no properties"
        raise UnusableFile(f"{release.file.filename} has {own_text}, its index says {stated_text}")


def is_built_here(release: Release) -> bool:
    """Return whether a fact says that a release is built in the target environment."""
    if release.source is not None:
        return not release.source.recipe.isolation
    return release.builds is not None and not release.builds.isolation


def build_lines(archive: Archive, builds: facts.Builds | None) -> tuple[str, ...]:
    """Return what the build of an archive requires by its pyproject.toml, corrected by a fact.

    Raises UnusableFile if a line that the fact may correct is not a requirement.
    """
    lines = archive.build_requires if archive.build_requires is not None else LEGACY_BUILD
    if builds is None:
        return lines
    corrected = []
    for line in lines:
        try:
            name = text.requirement(line).name
        except InvalidRequirement:
            raise UnusableFile(
                f"`{line}` in its build-system.requires is not a requirement"
            ) from None
        if name not in builds.build_drop:
            corrected.append(line)
    return (*corrected, *map(str, builds.build_add))


def requirements_file(content: str) -> tuple[str, ...]:
    """Return the requirement lines of a requirements file.

    Raises UnusableFile for an option in it, which is never followed.
    """
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
        """Return the lines of a file that may apply for an extra, or all lines without one.

        A file may have thousands of lines, and of extras.
        """
        if not extra:
            return lines
        if filename not in self._by_extra:
            self._by_extra[filename] = _sorted_by_extra(lines)
        unclear, by_extra = self._by_extra[filename]
        return [*unclear, *by_extra.get(extra, ())]

    def requirements(
        self, filename: str, lines: Sequence[str], extra: str
    ) -> Iterator[Requirement]:
        """Yield the requirements among the lines of a file that apply, without invalid lines."""
        for line in self.lines_for(filename, lines, extra):
            with suppress(InvalidRequirement):
                requirement = self.evaluate(line, extra)
                if requirement is not None:
                    yield requirement

    def evaluate(self, line: str, extra: str) -> Requirement | None:
        """Return the requirement of a line if it applies on the target with `extra`, else None.

        With an extra, only if the extra makes it apply. Raises InvalidRequirement.
        """
        if len(line) > text.LONG:
            return self._evaluate(line, extra)
        return self._cached(line, extra)

    def _evaluate(self, line: str, extra: str) -> Requirement | None:
        requirement = text.requirement(line)
        applies = requirement.applies(self._markers)
        if extra:
            applies = not applies and requirement.applies({**self._markers, "extra": extra})
        return requirement if applies else None


def _sorted_by_extra(lines: Sequence[str]) -> tuple[list[str], dict[str, list[str]]]:
    """Return the lines that may apply for any extra, and those that apply for each."""
    unclear: list[str] = []
    by_extra: dict[str, list[str]] = {}
    for line in lines:
        names = text.extras_in_marker(line)
        if names is None:
            unclear.append(line)
            continue
        for name in names:
            by_extra.setdefault(name, []).append(line)
    return unclear, by_extra
