"""Projects (pyproject.toml): PEP 621 and PEP 735."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import msgspec
from packaging.requirements import InvalidRequirement

from resolver.config.lines import TomlText
from resolver.config.load import toml_tables
from resolver.config.requirement_files.file_requirements import (
    FileLine,
    FileRequirements,
    require_known,
)
from resolver.errors import InputError
from resolver.model import text as texts

_Rows = Sequence[str | dict[str, str]]


class _Project(msgspec.Struct, rename="kebab"):
    name: str = ""
    requires_python: str = ""
    dependencies: tuple[str, ...] = ()
    optional_dependencies: dict[str, tuple[str, ...]] = {}
    dynamic: tuple[str, ...] = ()


class _Pyproject(msgspec.Struct, rename="kebab"):
    project: _Project = msgspec.field(default_factory=_Project)
    dependency_groups: dict[str, tuple[str | dict[str, str], ...]] = {}


def read_pyproject(
    document: TomlText, result: FileRequirements, extras: Sequence[str], groups: Sequence[str]
) -> None:
    """Add what a project, these extras of it and these groups require. Raises InputError."""
    try:
        content = msgspec.convert(toml_tables(document.text, document.name), _Pyproject)
    except msgspec.ValidationError as error:
        raise InputError(
            "the file is no pyproject.toml", where=document.name, why=str(error)
        ) from None
    project = content.project
    result.admit(project.requires_python)
    _ProjectTables(document, content, result).take(extras, groups)
    if "dependencies" in project.dynamic:
        result.leave_out(
            FileLine("dynamic", document.line("project", "dynamic"), "dynamic"), "import.dynamic"
        )


class _TableRow(NamedTuple):
    """A row of a list of requirements in a pyproject.toml, and its place as file:line."""

    row: str | dict[str, str]
    where: str


class _ProjectTables:
    """The lists of requirements of a pyproject.toml, of which extras and groups may include others of their kind."""

    def __init__(self, document: TomlText, content: _Pyproject, result: FileRequirements) -> None:
        self._document = document
        self._project = content.project
        self._result = result
        self._tables: Mapping[str, tuple[tuple[str, ...], Mapping[str, _Rows]]] = {
            "extra": (("project", "optional-dependencies"), content.project.optional_dependencies),
            "dependency group": (("dependency-groups",), content.dependency_groups),
        }
        self._keys = {
            kind: {texts.name(key): key for key in table}
            for kind, (_, table) in self._tables.items()
        }
        self._seen: set[tuple[str, str]] = set()

    def take(self, extras: Sequence[str], groups: Sequence[str]) -> None:
        """Add what the project, these extras and these groups require, each once.

        Raises InputError.
        """
        self._take_all(self._rows(("project", "dependencies"), self._project.dependencies))
        self._take_all(self._included("extra", extras, self._document.name))
        self._take_all(self._included("dependency group", groups, self._document.name))

    def _take_all(self, rows: Iterator[_TableRow]) -> None:
        """Take rows, and those of each included list in its place, however deep lists include each other."""
        pending = [rows]
        while pending:
            row = next(pending[-1], None)
            if row is None:
                pending.pop()
            elif isinstance(row.row, dict):
                group = row.row.get("include-group")
                if group is None:
                    hint = '{ include-group = "NAME" }, or a requirement as a string'
                    raise InputError(
                        "a row of a dependency group cannot be read", where=row.where, hint=hint
                    )
                pending.append(self._included("dependency group", [group], row.where))
            elif nested := _own_extras(row.row, self._project.name):
                pending.append(self._included("extra", nested, row.where))
            else:
                self._result.lines.append(FileLine(row.row, row.where))

    def _included(self, kind: str, names: Sequence[str], where: str) -> Iterator[_TableRow]:
        """Return the rows of extras or groups that were not taken before.

        Raises InputError for an unknown one.
        """
        path, table = self._tables[kind]
        keys = self._keys[kind]
        require_known(kind, names, keys, where)
        rows: list[Iterator[_TableRow]] = []
        for name in map(texts.name, names):
            if (kind, name) not in self._seen:
                self._seen.add((kind, name))
                rows.append(self._rows((*path, keys[name]), table[keys[name]]))
        return chain.from_iterable(rows)

    def _rows(self, path: tuple[str, ...], rows: _Rows) -> Iterator[_TableRow]:
        """Yield the rows of a list with their places."""
        for number, row in enumerate(rows):
            yield _TableRow(row, self._document.line(*path, number))


def _own_extras(line: str, project: str) -> Sequence[str]:
    """The extras of the project itself that a line names, as one extra includes others."""
    try:
        requirement = texts.requirement(line)
    except InvalidRequirement:
        return ()
    return requirement.extras if requirement.name == texts.name(project) else ()
