"""The requirement lines of a release, and which of them apply to a target.

They are read from the file of the release, or from a fact that replaces its metadata.
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

# Why a source archive without static metadata cannot be used.
DYNAMIC = phrase(
    "it is a source archive without static metadata, and locking never runs a package's code"
)


class UnusableReleaseError(Exception):
    """A release cannot be used, as was found when its file was opened.

    `detail` is a clause that says why. Secrets of addresses are removed from it, since it may quote
    the file.
    """

    def __init__(self, reason: RejectionReason, detail: str) -> None:
        self.reason = reason
        self.detail = without_secrets(detail)
        super().__init__(self.detail)


class DynamicArchiveError(InputError):
    """The source archive of a release has no static metadata, and no fact states it."""

    def __init__(self, release: Release, why: str) -> None:
        self.release = release
        super().__init__(
            phrase("`{file}`: {why}", file=release.file.filename, why=DYNAMIC),
            where=phrase("index `{index}`", index=release.index),
            why=literal(why),
        )


class ReleaseRequirements(msgspec.Struct, frozen=True):
    """The requirements of a release, as lines with markers (PEP 508)."""

    # The requirements, including the requirements of all extras.
    requires: tuple[str, ...]
    # Requires-Python; empty if there is none.
    requires_python: str
    # The requirements of its build; empty for a wheel.
    build_requires: tuple[str, ...]
    # The extras that it declares (Provides-Extra).
    extras: tuple[str, ...]


def requirement_lines(
    catalog: Catalog, release: Release, metadata: Sequence[facts.Metadata]
) -> ReleaseRequirements:
    """Return the requirements of a release.

    They are read from the first of these that exists: the commit that the release is built from,
    its wheel, the file that its `builds` fact names, its `metadata` fact, its archive. `metadata`
    are the `metadata` facts about it. Raises UnusableFile if a file cannot be read, and
    DynamicArchiveError if an archive has no static metadata and there is no fact about it.
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
    """Return the requirements of a release that a `builds` fact says is built from its archive.

    The fact names the requirements file. Requirements of extras are taken from the metadata of the
    archive.
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
    """Return the requirements that a `metadata` fact states for an archive."""
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
    """Raise UnusableFile if a variant wheel has other properties than its index says (PEP 825).

    The wheel was chosen by what the index says.
    """
    if release.variant is None or wheel.own_variant is None:
        return
    own = property_lines(wheel.own_variant)
    on_index = release.variant.properties
    if own != on_index:
        own_text = ", ".join(own) or "no properties"
        index_text = ", ".join(on_index) or "no properties"
        raise UnusableFile(f"{release.file.filename} has {own_text}, its index says {index_text}")


def is_built_here(release: Release) -> bool:
    """Return whether a release is built without isolation, in the target environment."""
    if release.source is not None:
        return not release.source.recipe.isolation
    return release.builds is not None and not release.builds.isolation


def build_lines(archive: Archive, builds: facts.Builds | None) -> tuple[str, ...]:
    """Return the build requirements of an archive's pyproject.toml, corrected by a `builds` fact.

    Without such a file, the build needs setuptools (PEP 517). Raises UnusableFile if there is a
    fact, and a line is no requirement.
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

    Raises UnusableFile if it has an option such as `-r`, since options are never followed.
    """
    lines = tuple(line for _, line in text.file_lines(content))
    for line in lines:
        if line.startswith("-"):
            raise UnusableFile(
                f"the requirements file has the option `{line}`, which is not supported"
            )
    return lines


class MarkerEvaluator:
    """Finds the requirement lines whose markers are true on a target. Results are cached."""

    def __init__(self, markers: Mapping[str, str]) -> None:
        """Take the marker environment of the target (PEP 508)."""
        self._markers = markers
        self._cached = cache(self._evaluate)
        # For each file, the lines that may apply for any extra, and the lines by extra.
        self._by_extra: dict[str, tuple[list[str], dict[str, list[str]]]] = {}

    def lines_for(self, filename: str, lines: Sequence[str], extra: str) -> Sequence[str]:
        """Return the lines of a file that may apply for an extra.

        If `extra` is empty, all lines are returned. The lines are sorted by extra once for each
        file, since a file may have thousands of lines and of extras.
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
        """Yield the requirements of a file that apply for an extra. Invalid lines are left out.

        `extra` is empty for no extra.
        """
        for line in self.lines_for(filename, lines, extra):
            with suppress(InvalidRequirement):
                requirement = self.evaluate(line, extra)
                if requirement is not None:
                    yield requirement

    def evaluate(self, line: str, extra: str) -> Requirement | None:
        """Return the requirement in a line if it applies to the target, else None.

        With an extra, it is returned only if it applies because of the extra, and would not apply
        without it. Raises InvalidRequirement.
        """
        if len(line) > text.LONG:
            return self._evaluate(line, extra)
        return self._cached(line, extra)

    def _evaluate(self, line: str, extra: str) -> Requirement | None:
        """Return what `evaluate` returns, without caching it."""
        requirement = text.requirement(line)
        applies = requirement.applies(self._markers)
        if extra:
            applies = not applies and requirement.applies({**self._markers, "extra": extra})
        return requirement if applies else None


def _sorted_by_extra(lines: Sequence[str]) -> tuple[list[str], dict[str, list[str]]]:
    """Return the lines that may apply for any extra, and the lines by the extra that they name."""
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
