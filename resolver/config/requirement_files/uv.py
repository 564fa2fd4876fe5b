"""Reader of the table `tool.uv` of a pyproject.toml: constraints, overrides and sources of uv."""

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
    NamedIndex,
    OtherSource,
    require_included,
)
from resolver.errors import InputError
from resolver.model import text as texts
from resolver.phrase import cause, phrase
from resolver.redaction import shown_address

# Other keys that influence what uv installs. A stack has nothing for them, so they are reported.
_OTHER_KEYS: Final = (
    "build-constraint-dependencies",
    "conflicts",
    "dependency-metadata",
    "dev-dependencies",
    "environments",
    "exclude-newer",
    "extra-index-url",
    "find-links",
    "index-url",
    "no-index",
    "prerelease",
    "required-environments",
    "resolution",
    "workspace",
)


class _GitSource(msgspec.Struct):
    """An entry of `tool.uv.sources` that takes a project from a git repository."""

    git: str
    rev: str = ""
    tag: str = ""
    branch: str = ""
    subdirectory: str = ""


class _Settings(msgspec.Struct, rename="kebab"):
    """The keys of `tool.uv` that are read."""

    # `"all"`, or the names of groups.
    default_groups: str | tuple[str, ...] = ()
    # Bounds on projects, which do not require them.
    constraint_dependencies: tuple[str, ...] = ()
    # Requirements that replace all other requirements on the same projects.
    override_dependencies: tuple[str, ...] = ()
    # The source of each project, or a list of sources for different machines.
    sources: dict[str, Any] = {}
    # The indexes.
    index: Any = ()


class UvSettings:
    """The table `tool.uv` of a project. Without the table, there are no settings."""

    def __init__(self, document: TomlText, table: Any) -> None:
        """Take the table, or None. Raises InputError if it does not have the types of uv."""
        self._document = document
        self._keys = table.keys() if isinstance(table, dict) else ()
        try:
            self._content = msgspec.convert({} if table is None else table, _Settings)
        except msgspec.ValidationError as error:
            raise InputError(
                phrase("the table `tool.uv` cannot be read"),
                where=document.line("tool", "uv"),
                why=cause(error),
            ) from None

    def default_groups(self, groups: Iterable[str]) -> tuple[str, ...]:
        """Return the groups that are installed by default.

        `groups` are the names of all groups. The group `dev`, which uv installs by default, counts
        only if the table names it, since its tools do not run on the target. Raises InputError for
        an unknown group.
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
        """Add the constraints, the overrides and the sources of the table to a result.

        A source that is a commit or a tag replaces the lines about its project. Other sources and
        settings are recorded as ones that a stack cannot have.
        """
        content = self._content
        for key, lines, into in (
            ("constraint-dependencies", content.constraint_dependencies, result.constraints),
            ("override-dependencies", content.override_dependencies, result.overrides),
        ):
            for number, line in enumerate(lines):
                into.append(FileLine(line, self._document.line("tool", "uv", key, number)))
        references = dict(self._references(result))
        result.lines = [from_source(line, references) for line in result.lines]
        for key in _OTHER_KEYS:
            if key in self._keys:
                result.leave_out(self._line(key), "import.uv")
        for number, table in enumerate(_items(content.index) if content.index else ()):
            where = self._document.line("tool", "uv", "index", number)
            place = FileLine("tool.uv.index", where, "tool.uv.index")
            name, is_explicit = str(table.get("name", "")), table.get("explicit") is True
            result.indexes.append(NamedIndex(place, name, is_explicit))

    def _references(self, result: FileRequirements) -> Iterable[tuple[str, str]]:
        """Yield each project with a commit or tag as its source, as name and `git+URL@REVISION`.

        All other sources are added to `other_sources` of the result.
        """
        for name, source in self._content.sources.items():
            reference = git_reference(source)
            if reference:
                yield texts.name(name), reference
            else:
                line = self._line("sources", name)
                result.other_sources[texts.name(name)] = other_source(line, _items(source))

    def _line(self, key: str, *further: str) -> FileLine:
        """Return a key of the table as a line, with its place. Its value is not shown.

        `further` are more keys that lead to the place.
        """
        shown = f"tool.uv.{key}"
        return FileLine(shown, self._document.line("tool", "uv", key, *further), shown)


def _items(source: Any) -> list[dict[str, Any]]:
    """Return the tables of a key that may have one or several, such as the source of a project.

    What is no table is returned as an empty table.
    """
    items = source if isinstance(source, list) and source else [source]
    return [item if isinstance(item, dict) else {} for item in items]


def other_source(line: FileLine, items: Sequence[Mapping[str, Any]]) -> OtherSource:
    """Return a source that a stack cannot have. `items` are its tables in `tool.uv.sources`."""
    if all("git" in item for item in items):
        return OtherSource(line, repository=shown_address(str(items[0]["git"])))
    if all("index" in item for item in items):
        return OtherSource(line, indexes=tuple(str(item["index"]) for item in items))
    return OtherSource(line)


def git_reference(source: Any) -> str:
    """Return a source as `git+URL@REVISION`; empty if it is not a single commit or tag."""
    try:
        git = msgspec.convert(source, _GitSource)
    except msgspec.ValidationError:
        return ""
    revision = git.rev or git.tag
    if not revision:
        return ""
    folder = f"#subdirectory={git.subdirectory}" if git.subdirectory else ""
    return f"git+{git.git}@{revision}{folder}"


def from_source(line: FileLine, references: Mapping[str, str]) -> FileLine:
    """Return a line with the direct reference that replaces it, if its project has one.

    `references` has the direct references by project.
    """
    try:
        need = texts.requirement(line.text)
    except InvalidRequirement:
        return line
    if need.url or need.name not in references:
        return line
    return replace(line, instead=str(replace(need, url=references[need.name])))
