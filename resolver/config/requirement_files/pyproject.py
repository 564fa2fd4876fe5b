"""Reader of the requirements in pyproject.toml (PEP 621, PEP 735, Poetry)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from packaging.requirements import InvalidRequirement

from resolver.config.lines import TomlText
from resolver.config.requirement_files.file_requirements import (
    FileLine,
    FileRequirements,
    require_included,
    require_known,
)
from resolver.config.requirement_files.poetry import PoetrySettings
from resolver.config.requirement_files.uv import UvSettings
from resolver.config.toml_files import toml_tables
from resolver.errors import InputError
from resolver.model import text as texts
from resolver.phrase import cause, phrase

# An element of a dependency group: a requirement, or `{ include-group = "NAME" }`.
_Element = str | dict[str, str]

# The kinds of lists that can include each other.
# A normalised name. A key that is none may be anything, and is not shown.
_NAME: Final = re.compile("[a-z0-9]+(-[a-z0-9]+)*")
_EXTRA: Final = "extra"
_GROUP: Final = "dependency group"
# The names of these kinds in errors.
_TITLES: Final = {_EXTRA: phrase("extra"), _GROUP: phrase("dependency group")}


class _Project(msgspec.Struct, rename="kebab"):
    """The keys of the table `project` that are read."""

    name: str = ""
    requires_python: str = ""
    dependencies: tuple[str, ...] = ()
    optional_dependencies: dict[str, tuple[str, ...]] = {}
    dynamic: tuple[str, ...] = ()


class _Pyproject(msgspec.Struct, rename="kebab"):
    """The tables of pyproject.toml that are read."""

    project: _Project = msgspec.field(default_factory=_Project)
    dependency_groups: dict[str, tuple[_Element, ...]] = {}
    tool: dict[str, Any] = {}


def read_pyproject(
    document: TomlText, result: FileRequirements, extras: Sequence[str], groups: Sequence[str]
) -> None:
    """Add the requirements of a project, of some of its extras and of some groups to `result`.

    `extras` and `groups` are the names that the user gave. Raises InputError.
    """
    try:
        content = msgspec.convert(toml_tables(document.text, document.name), _Pyproject)
    except msgspec.ValidationError as error:
        complaint = phrase("the file is no pyproject.toml")
        raise InputError(complaint, where=document.name, why=cause(error)) from None
    project = content.project
    result.admit(project.requires_python)
    is_dynamic = "dependencies" in project.dynamic
    poetry = PoetrySettings(
        document,
        content.tool.get("poetry"),
        is_complete=is_dynamic or not project.dependencies,
    )
    result.name = project.name or poetry.name
    settings = UvSettings(document, content.tool.get("uv"))
    all_groups = (*settings.default_groups(content.dependency_groups), *groups)
    reader = _ProjectReader(document, content, result)
    reader.take(extras, all_groups, {_EXTRA: poetry.extras, _GROUP: poetry.groups})
    before = len(result.lines)
    poetry.apply(result, extras, groups)
    settings.apply(result)
    if is_dynamic and len(result.lines) == before:
        line = FileLine("dynamic", document.line("project", "dynamic"), "dynamic")
        result.leave_out(line, "import.dynamic")


class _PlacedElement(NamedTuple):
    """An element of a list of requirements, with its place."""

    # The element.
    content: _Element
    # The place of the element, as file:line.
    where: str


class _NamedLists(NamedTuple):
    """A table of lists of requirements: the extras of a project, or dependency groups."""

    # The keys that lead to the table.
    path: tuple[str, ...]
    # The lists by key.
    lists: Mapping[str, Sequence[_Element]]
    # The key of each list by its normalised name.
    keys: Mapping[str, str]


class _ProjectReader:
    """Reads the requirements of a project, whose extras and groups may include each other."""

    def __init__(self, document: TomlText, content: _Pyproject, result: FileRequirements) -> None:
        """Take the file, its content, and the result to which requirements are added."""
        self._document = document
        self._project = content.project
        self._result = result
        extras = content.project.optional_dependencies
        groups = content.dependency_groups
        self._lists = {
            _EXTRA: _named_lists(("project", "optional-dependencies"), extras),
            _GROUP: _named_lists(("dependency-groups",), groups),
        }
        # The kinds and names of the lists that were read.
        self._seen: set[tuple[str, str]] = set()

    def take(
        self,
        extras: Sequence[str],
        groups: Sequence[str],
        others: Mapping[str, Iterable[str]],
    ) -> None:
        """Add the requirements of the project, of these extras and of these groups.

        Each extra and each group is read only once. `others` has, by kind, the names of those that
        another reader adds. Raises InputError for an unknown name.
        """
        self._take_all(self._elements(("project", "dependencies"), self._project.dependencies))
        for kind, names in ((_EXTRA, extras), (_GROUP, groups)):
            keys = self._lists[kind].keys
            require_known(_TITLES[kind], names, {*keys, *others[kind]}, self._document.name)
            own = [name for name in names if texts.name(name) in keys]
            self._take_all(self._included(kind, own, self._document.name))
            self._leave_out_others(kind)

    def _leave_out_others(self, kind: str) -> None:
        """Record the extras or groups that nobody asked for, in one row."""
        lists = self._lists[kind]
        names = [name for name in lists.keys if (kind, name) not in self._seen]
        shown = ", ".join(name for name in names if _NAME.fullmatch(name))
        if shown:
            code = "import.extras-not-taken" if kind == _EXTRA else "import.groups-not-taken"
            self._result.leave_out(FileLine(shown, self._document.line(*lists.path), shown), code)

    def _take_all(self, elements: Iterator[_PlacedElement]) -> None:
        """Add requirements in their order. An included list replaces the element that includes it.

        The method is not recursive, since lists may include each other to any depth.
        """
        pending = [elements]
        while pending:
            element = next(pending[-1], None)
            if element is None:
                pending.pop()
            elif isinstance(element.content, dict):
                pending.append(self._included_group(element.content, element.where))
            elif own_extras := _own_extras(element.content, self._project.name):
                pending.append(self._included(_EXTRA, own_extras, element.where))
            else:
                self._result.lines.append(FileLine(element.content, element.where))

    def _included_group(self, element: Mapping[str, str], where: str) -> Iterator[_PlacedElement]:
        """Return the elements of the group that an element includes. Raises InputError."""
        group = element.get("include-group")
        if group is None:
            raise InputError(
                phrase("a row of a dependency group cannot be read"),
                where=where,
                hint=phrase('{{ include-group = "NAME" }}, or a requirement as a string'),
            )
        return self._included(_GROUP, [group], where)

    def _included(self, kind: str, names: Sequence[str], where: str) -> Iterator[_PlacedElement]:
        """Return the elements of extras or groups, except for elements that were read before.

        `kind` is _EXTRA or _GROUP. `where` is the place that names them. Raises InputError for an
        unknown name.
        """
        lists = self._lists[kind]
        require_included(_TITLES[kind], names, lists.keys, where)
        elements: list[_PlacedElement] = []
        for name in map(texts.name, names):
            if (kind, name) not in self._seen:
                self._seen.add((kind, name))
                key = lists.keys[name]
                elements += self._elements((*lists.path, key), lists.lists[key])
        return iter(elements)

    def _elements(
        self, path: tuple[str, ...], elements: Sequence[_Element]
    ) -> Iterator[_PlacedElement]:
        """Yield the elements of a list with their places. `path` are the keys that lead to it."""
        for number, element in enumerate(elements):
            yield _PlacedElement(element, self._document.line(*path, number))


def _named_lists(path: tuple[str, ...], lists: Mapping[str, Sequence[_Element]]) -> _NamedLists:
    return _NamedLists(path, lists, {texts.name(key): key for key in lists})


def _own_extras(line: str, project: str) -> Sequence[str]:
    """Return the extras in a requirement of a project on itself: such a line includes them.

    Empty for a requirement on another project, and for a line that is no requirement.
    """
    try:
        requirement = texts.requirement(line)
    except InvalidRequirement:
        return ()
    return requirement.extras if requirement.name == texts.name(project) else ()
