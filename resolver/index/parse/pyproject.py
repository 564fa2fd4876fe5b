"""What a pyproject.toml says about build and requirements (PEP 518, PEP 621). Pure."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec
import tomli
from packaging.markers import Marker
from packaging.requirements import InvalidRequirement, Requirement

from resolver.index.parse.metadata import Release, check_texts
from resolver.index.protocol import UnusableFile
from resolver.model import text
from resolver.model.release import Metadata

# The build requirements of a source tree without build-system.requires (PEP 518: setuptools and wheel).
LEGACY_BUILD: Final = ("setuptools>=40.8.0", "wheel")

_NEEDED = ("dependencies", "optional-dependencies", "requires-python")


class Pyproject(NamedTuple):
    """`metadata` is None if [project] leaves requirements open; `why_dynamic` then says how."""

    metadata: Metadata | None
    build_requires: tuple[str, ...] | None
    why_dynamic: str = ""


class _BuildSystem(msgspec.Struct):
    requires: list[str] | None = None


class _Project(msgspec.Struct, rename="kebab"):
    name: str
    version: str = ""
    dynamic: list[str] = []
    dependencies: list[str] = []
    optional_dependencies: dict[str, list[str]] = {}
    requires_python: str = ""


def read(content: bytes, release: Release) -> Pyproject:
    """Read a pyproject.toml. Raises UnusableFile if it is invalid."""
    try:
        document = tomli.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # besides tomli's own: bytes that are not text, `int` of 5,000 digits
        raise UnusableFile(f"pyproject.toml in {release.filename} is invalid: {error}") from None
    build = _convert(document, "build-system", _BuildSystem, release)
    build_requires = tuple(build.requires) if build and build.requires is not None else None
    project = _convert(document, "project", _Project, release)
    if project is None:
        return Pyproject(None, build_requires, "its pyproject.toml has no [project] table")
    if dynamic := [field for field in _NEEDED if field in project.dynamic]:
        return Pyproject(None, build_requires, f"its pyproject.toml calls {' and '.join(dynamic)} dynamic")
    if text.name(project.name) != release.project:
        why = f"its pyproject.toml is that of {project.name}"
        return Pyproject(None, build_requires, why)
    lines = list(project.dependencies)
    for extra, requirements in project.optional_dependencies.items():
        lines += [_of_extra(line, extra, release) for line in requirements]
    metadata = Metadata(
        project.name,
        project.version or release.version,
        tuple(lines),
        project.requires_python,
        tuple(project.optional_dependencies),
    )
    check_texts(metadata, release.filename)
    return Pyproject(metadata, build_requires)


def _convert(document: dict[str, Any], table: str, shape: type[Any], release: Release) -> Any:
    if table not in document:
        return None
    try:
        return msgspec.convert(document[table], shape)
    except msgspec.ValidationError as error:
        raise UnusableFile(f"[{table}] of pyproject.toml in {release.filename} is invalid: {error}") from None


def _of_extra(line: str, extra: str, release: Release) -> str:
    """The requirement as in core metadata: with a marker for the extra."""
    try:
        text.requirement(line)
        requirement = Requirement(line)
        marker = f'extra == "{text.name(extra)}"'
        requirement.marker = Marker(f"({requirement.marker}) and {marker}" if requirement.marker else marker)
    except (InvalidRequirement, ValueError) as error:
        raise UnusableFile(f"{release.filename} has the invalid requirement `{line}`: {error}") from None
    return str(requirement)
