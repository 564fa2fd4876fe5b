"""Reader of the table `tool.poetry` of a pyproject.toml: dependencies, groups, extras, sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from resolver.config.lines import Path, TomlText
from resolver.config.requirement_files.file_requirements import (
    FileLine,
    FileRequirements,
    OtherSource,
    require_included,
    shown_requirement,
)
from resolver.config.requirement_files.poetry_version import (
    platform_marker,
    python_marker,
    specifier,
    specifiers,
)
from resolver.config.requirement_files.uv import from_source, git_reference, other_source
from resolver.errors import InputError
from resolver.model import text as texts
from resolver.model.message import message
from resolver.phrase import cause, phrase

_TABLE: Final = ("tool", "poetry")
# The group that Poetry had before it had groups.
_DEV: Final = "dev"
# The source that Poetry itself has. It is the index that pip is configured with.
_PYPI: Final = "pypi"
# The address of a repository as ssh has it: USER@HOST:PATH.
_SSH: Final = re.compile(r"([\w.-]+@[\w.-]+):(?!/)(.+)")


class _Dependency(msgspec.Struct):
    """A dependency that is written as a table."""

    version: str = "*"
    extras: tuple[str, ...] = ()
    optional: bool = False
    markers: str = ""
    python: str = ""
    platform: str = ""
    # The name of an index in `tool.poetry.source`.
    source: str = ""
    # The address of a repository.
    git: str = ""
    rev: str = ""
    tag: str = ""
    subdirectory: str = ""
    # A folder, a file, and an address.
    path: str = ""
    file: str = ""
    url: str = ""


class _Group(msgspec.Struct, rename="kebab"):
    """A group of dependencies."""

    dependencies: dict[str, Any] = {}
    # The names of groups that are parts of this one.
    include_groups: tuple[str, ...] = ()


class _Settings(msgspec.Struct, rename="kebab"):
    """The keys of `tool.poetry` that are read."""

    name: str = ""
    dependencies: dict[str, Any] = {}
    dev_dependencies: dict[str, Any] = {}
    group: dict[str, _Group] = {}
    # The names of the optional dependencies of each extra.
    extras: dict[str, tuple[str, ...]] = {}


class _Placed(NamedTuple):
    """A dependency with its project and place."""

    # The name of the project as it is written.
    name: str
    # The dependency; None if it cannot be read.
    dependency: _Dependency | None
    # file:line of the dependency.
    where: str


class PoetrySettings:
    """The table `tool.poetry` of a project. Without the table, it has no dependencies."""

    def __init__(self, document: TomlText, table: Any, *, is_complete: bool) -> None:
        """Take the table, or None. Raises InputError if it does not have the types of Poetry.

        `is_complete` says that it has the dependencies of the project. Otherwise `[project]` has
        them, and the table has only their sources.
        """
        self._document = document
        self._is_complete = is_complete
        self._keys = table.keys() if isinstance(table, dict) else ()
        try:
            self._content = msgspec.convert({} if table is None else table, _Settings)
        except msgspec.ValidationError as error:
            raise InputError(
                phrase("the table `tool.poetry` cannot be read"),
                where=document.line(*_TABLE),
                why=cause(error),
            ) from None
        self._extras = {texts.name(key): names for key, names in self._content.extras.items()}
        # The groups by normalised name, each with the keys that lead to its dependencies.
        self._groups: dict[str, tuple[Path, _Group]] = {}
        if self._content.dev_dependencies:
            group = _Group(self._content.dev_dependencies)
            self._groups[_DEV] = ((*_TABLE, "dev-dependencies"), group)
        for key, group in self._content.group.items():
            self._groups[texts.name(key)] = ((*_TABLE, "group", key, "dependencies"), group)

    @property
    def name(self) -> str:
        """Return the name of the project; empty if the table has none."""
        return self._content.name

    @property
    def extras(self) -> Iterable[str]:
        """Return the normalised names of the extras."""
        return self._extras

    @property
    def groups(self) -> Iterable[str]:
        """Return the normalised names of the groups."""
        return self._groups

    def apply(self, result: FileRequirements, extras: Sequence[str], groups: Sequence[str]) -> None:
        """Add the dependencies of the project, of some extras and of some groups to a result.

        Names that are not among `extras` and `groups` of this object are ignored. Raises
        InputError if a group includes one that does not exist.
        """
        optional: set[str] = set()
        for extra in map(texts.name, extras):
            optional.update(map(_project, self._extras.get(extra, ())))
        references: dict[str, str] = {}
        path = (*_TABLE, "dependencies")
        for placed in self._placed(path, self._content.dependencies):
            if texts.name(placed.name) == "python":
                _admit(result, placed.dependency)
            elif not self._is_complete:
                references.update(_source(placed, result))
            elif _is_asked(placed, optional):
                _take(placed, result)
        if references:
            result.lines = [from_source(line, references) for line in result.lines]
        for group_path, group in self._included(groups):
            for placed in self._placed(group_path, group.dependencies):
                _take(placed, result)
        if "source" in self._keys:
            shown = "tool.poetry.source"
            line = FileLine(shown, self._document.line(*_TABLE, "source"), shown)
            result.leave_out(line, "import.poetry-setting")

    def _included(self, names: Sequence[str]) -> Iterator[tuple[Path, _Group]]:
        """Yield groups and those that they include, each once, with the keys that lead to them."""
        pending = [name for name in map(texts.name, names) if name in self._groups]
        seen: set[str] = set()
        # The list grows while it is read.
        for name in pending:
            if name in seen:
                continue
            seen.add(name)
            path, group = self._groups[name]
            yield path, group
            where = self._document.line(*path)
            require_included(phrase("dependency group"), group.include_groups, self._groups, where)
            pending += map(texts.name, group.include_groups)

    def _placed(self, path: Path, table: Mapping[str, Any]) -> Iterator[_Placed]:
        """Yield the dependencies of a table with their places. `path` are the keys that lead to it.

        A project may have several dependencies, for different machines.
        """
        for name, value in table.items():
            where = self._document.line(*path, name)
            for item in value if isinstance(value, list) else [value]:
                yield _Placed(name, _dependency(item), where)


def _dependency(value: Any) -> _Dependency | None:
    """Return a dependency that is written as a version or a table; None for another value."""
    if isinstance(value, str):
        return _Dependency(value)
    try:
        dependency = msgspec.convert(value, _Dependency)
    except msgspec.ValidationError:
        return None
    address = _SSH.fullmatch(dependency.git)
    if address is not None:
        return replace(dependency, git=f"ssh://{address[1]}/{address[2]}")
    return dependency


def _project(name: str) -> str:
    """Return the normalised name of a project in an extra, which may have extras itself."""
    return texts.name(name.partition("[")[0].strip())


def _is_asked(placed: _Placed, optional: set[str]) -> bool:
    """Return whether a dependency is asked for. `optional` are the names in the chosen extras."""
    dependency = placed.dependency
    is_optional = dependency is not None and dependency.optional
    return not is_optional or texts.name(placed.name) in optional


def _admit(result: FileRequirements, dependency: _Dependency | None) -> None:
    """Take the Python of a result from the constraint on it."""
    for alternative in specifiers(dependency.version if dependency else "") or ():
        if alternative:
            result.admit(alternative)


def _source(placed: _Placed, result: FileRequirements) -> dict[str, str]:
    """Return the commit or tag of a dependency by its project, whose lines are in `[project]`.

    Any other source is recorded in the result, and nothing is returned.
    """
    dependency = placed.dependency
    if dependency is None:
        return {}
    if reference := _reference(dependency):
        return {texts.name(placed.name): reference}
    _record_source(placed, dependency, result)
    return {}


def _take(placed: _Placed, result: FileRequirements) -> None:
    """Add a dependency to the lines of a result, or leave it out if it cannot be read."""
    dependency = placed.dependency
    condition = _condition(dependency) if dependency is not None else None
    if dependency is None or condition is None:
        result.leave_out(FileLine("", placed.where), "import.unread")
        return
    versions = specifier(dependency.version)
    if versions is None:
        has_alternatives = specifiers(dependency.version) is not None
        shown = _shown(placed.name, dependency.version) if has_alternatives else ""
        code = "import.alternatives" if has_alternatives else "import.unread"
        result.leave_out(FileLine("", placed.where, shown), code)
        return
    extras = f"[{','.join(dependency.extras)}]" if dependency.extras else ""
    marker = f" ; {condition}" if condition else ""
    reference = _reference(dependency)
    if reference:
        text = f"{placed.name}{extras} @ {reference}{marker}"
        result.lines.append(FileLine(text, placed.where))
        return
    _record_source(placed, dependency, result)
    text = f"{placed.name}{extras}{versions}{marker}"
    is_same = versions in (dependency.version.replace(" ", ""), "")
    why = None if is_same else message("import.poetry")
    shown = "" if is_same else _shown(f"{placed.name}{extras}", dependency.version)
    result.lines.append(FileLine(text, placed.where, shown, why=why))


def _shown(project: str, version: str) -> str:
    """Return a project with a version that was read; empty if it is no name of a project.

    Then it may be a secret.
    """
    return f"{project} {version}" if shown_requirement(project) == project else ""


def _condition(dependency: _Dependency) -> str | None:
    """Return the marker for the conditions of a dependency; empty for none.

    None if one of them cannot be read.
    """
    python = python_marker(dependency.python) if dependency.python else ""
    platform = platform_marker(dependency.platform) if dependency.platform else ""
    if python is None or platform is None:
        return None
    markers = [marker for marker in (dependency.markers, python, platform) if marker]
    return markers[0] if len(markers) == 1 else " and ".join(f"({marker})" for marker in markers)


def _reference(dependency: _Dependency) -> str:
    """Return the commit or tag of a dependency as `git+URL@REVISION`; empty if it has none."""
    return git_reference(_git(dependency)) if dependency.git else ""


def _git(dependency: _Dependency) -> dict[str, str]:
    return {
        "git": dependency.git,
        "rev": dependency.rev,
        "tag": dependency.tag,
        "subdirectory": dependency.subdirectory,
    }


def _record_source(placed: _Placed, dependency: _Dependency, result: FileRequirements) -> None:
    """Record the source of a dependency if a stack cannot have it.

    It is a folder, a file, an address, an index or a repository without a commit or tag.
    """
    line = FileLine("", placed.where, "tool.poetry.dependencies")
    source: OtherSource | None = None
    if dependency.git:
        source = other_source(line, [_git(dependency)])
    elif dependency.path or dependency.file or dependency.url:
        source = OtherSource(line)
    elif dependency.source and dependency.source.lower() != _PYPI:
        source = OtherSource(line, indexes=(dependency.source,))
    if source is not None:
        result.other_sources[texts.name(placed.name)] = source
