"""What uv has in a pyproject.toml beside the standards: the table `tool.uv`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace
from packaging.requirements import InvalidRequirement

from resolver.config.lines import TomlText
from resolver.config.requirement_files.file_requirements import (
    FileLine,
    FileRequirements,
    OtherSource,
    require_included,
)
from resolver.errors import InputError
from resolver.model import text as texts
from resolver.phrase import cause, phrase
from resolver.redaction import shown_address

# Further keys that decide what uv installs. None of them has a place in a stack.
_OTHER_KEYS: Final = (
    "build-constraint-dependencies",
    "conflicts",
    "dependency-metadata",
    "dev-dependencies",
    "environments",
    "exclude-newer",
    "extra-index-url",
    "find-links",
    "index",
    "index-url",
    "no-index",
    "prerelease",
    "required-environments",
    "resolution",
    "workspace",
)


class _GitSource(msgspec.Struct):
    git: str
    rev: str = ""
    tag: str = ""
    branch: str = ""
    subdirectory: str = ""


class _Settings(msgspec.Struct, rename="kebab"):
    # `"all"`, or the names of groups.
    default_groups: str | tuple[str, ...] = ()
    constraint_dependencies: tuple[str, ...] = ()
    override_dependencies: tuple[str, ...] = ()
    # Where projects are from, by name.
    sources: dict[str, Any] = {}


class UvSettings:
    """The table `tool.uv` of a project; without it, nothing is taken over."""

    def __init__(self, document: TomlText, table: Any) -> None:
        """Read the table. Raises InputError if its shape is another."""
        self._document = document
        self._keys = table.keys() if isinstance(table, dict) else ()
        try:
            self._content = msgspec.convert({} if table is None else table, _Settings)
        except msgspec.ValidationError as error:
            where = document.line("tool", "uv")
            what = phrase("the table `tool.uv` cannot be read")
            raise InputError(what, where=where, why=cause(error)) from None

    def default_groups(self, groups: Iterable[str]) -> tuple[str, ...]:
        """Return the groups that are installed unless others are asked for.

        uv's own default, the group `dev`, counts only if the table names it: its tools are not what
        runs on the target. Raises InputError for an unknown group.
        """
        named = self._content.default_groups
        if isinstance(named, str):
            return tuple(groups) if named == "all" else ()
        if not named:
            return ()
        where = self._document.line("tool", "uv", "default-groups")
        require_included(phrase("dependency group"), named, [*map(texts.name, groups)], where)
        return named

    def apply(self, result: FileRequirements) -> None:
        """Add constraints and overrides, and put sources in the place of lines that they are for.

        What a stack cannot have of the table is left out.
        """
        content = self._content
        for key, lines, into in (
            ("constraint-dependencies", content.constraint_dependencies, result.constraints),
            ("override-dependencies", content.override_dependencies, result.overrides),
        ):
            for number, line in enumerate(lines):
                into.append(FileLine(line, self._document.line("tool", "uv", key, number)))
        references = dict(self._references(result))
        result.lines = [_from_source(line, references) for line in result.lines]
        for key in _OTHER_KEYS:
            if key in self._keys:
                result.leave_out(self._line(key), "import.uv")

    def _references(self, result: FileRequirements) -> Iterable[tuple[str, str]]:
        """Yield the commits that projects are from, as direct references (PEP 508), by project."""
        for name, source in self._content.sources.items():
            reference = _reference(source)
            if reference:
                yield texts.name(name), reference
            else:
                line = self._line("sources", name)
                result.other_sources[texts.name(name)] = _other_source(line, _items(source))

    def _line(self, key: str, *further: str) -> FileLine:
        """Return a key of the table, and its place. What is below it is not shown."""
        shown = f"tool.uv.{key}"
        return FileLine(shown, self._document.line("tool", "uv", key, *further), shown)


def _items(source: Any) -> list[dict[str, Any]]:
    """Return the sources of a project: one, or several for different machines.

    What is no table counts as a table without keys.
    """
    items = source if isinstance(source, list) and source else [source]
    return [item if isinstance(item, dict) else {} for item in items]


def _other_source(line: FileLine, items: Sequence[Mapping[str, Any]]) -> OtherSource:
    """Return a source that is no single commit or tag, from the tables that say it."""
    if all("git" in item for item in items):
        return OtherSource(line, repository=shown_address(str(items[0]["git"])))
    return OtherSource(line, is_index=all("index" in item for item in items))


def _reference(source: Any) -> str:
    """Return a source as a direct reference; empty for one that is no single commit or tag."""
    try:
        git = msgspec.convert(source, _GitSource)
    except msgspec.ValidationError:
        return ""
    revision = git.rev or git.tag
    if not revision:
        return ""
    folder = f"#subdirectory={git.subdirectory}" if git.subdirectory else ""
    return f"git+{git.git}@{revision}{folder}"


def _from_source(line: FileLine, references: Mapping[str, str]) -> FileLine:
    """Return a line with the commit that its project is from."""
    try:
        need = texts.requirement(line.text)
    except InvalidRequirement:
        return line
    if need.url or need.name not in references:
        return line
    return replace(line, instead=str(replace(need, url=references[need.name])))
