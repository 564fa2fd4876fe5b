"""Read matrices/upstream.toml, for `facts import`.

The file names upstream's files that are tables, says how they are read, and has the templates of
the facts that are made of their rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.audit.upstream.parsers import PARSERS
from resolver.audit.upstream.values import READERS
from resolver.config.toml_files import Document, read
from resolver.errors import InputError, known_names
from resolver.model import patterns
from resolver.model.repository import Address, Inside
from resolver.model.text import NOT_EMPTY, Text, matching
from resolver.phrase import cause, phrase

_NAME: Final = "upstream.toml"

# The kinds of facts that templates can make.
_KINDS: Final = ("requires", "constrains", "replaces", "builds", "warns", "sources")


def _one_of(known: Mapping[str, object]) -> Callable[[str], str]:
    """Return a function that raises ValueError unless a text is one of the known names."""

    def check(text: str) -> str:
        if text not in known:
            raise ValueError(known_names(sorted(known)))
        return text

    return check


def _expression(text: str) -> str:
    """Check that a text is a regular expression. Raises ValueError if it is not."""
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(
            phrase("it is not a regular expression: {cause}", cause=cause(error))
        ) from None
    return text


class _Row(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """What the tables of upstream.toml have in common: keys with hyphens."""


class Upstream(_Row, frozen=True, kw_only=True):
    """A repository of upstream that has tables."""

    # The name by which tables refer to the repository.
    name: Text
    # The address from which git fetches it.
    git: Address
    # The branch at whose newest commit its tables are read.
    branch: Text


class ArchiveRow(_Row, frozen=True, kw_only=True):
    """A source archive of a release that has tables as well."""

    # The project of the release.
    project: NormalizedName
    # The name of the archive.
    file: Text
    # The sha256 of the archive.
    sha256: Annotated[str, matching(patterns.SHA256)]
    # The value of `checked` in the facts that are made from the archive.
    checked: date


class Translation(_Row, frozen=True, kw_only=True):
    """A column whose values follow from the values of another column."""

    # The other column.
    of: Text
    # The value for each value of the other column. A row with any other value there is left out.
    is_: dict[str, str] = msgspec.field(name="is")


class LeftOut(_Row, frozen=True, kw_only=True):
    """Rows of a table from which nothing is made."""

    # The column whose values are compared.
    column: Text
    # Regular expressions. A row is left out if its value in the column matches one of them.
    values: Annotated[tuple[Annotated[str, _expression], ...], NOT_EMPTY]
    # Why, for readers of the file.
    because: Text


class OtherFile(_Row, frozen=True, kw_only=True):
    """Another file beside a table. Its values have the names `name.column` in templates."""

    # The path of the file.
    path: Inside
    # The name of the parser that reads the file.
    parser: Annotated[str, _one_of(PARSERS)]
    # The name of the column, by its name in the file.
    columns: dict[str, str] = {}
    # Whether the file may be missing. Its columns then have no values.
    may_lack: bool = False
    # Whether the sources of facts cite the file, too.
    cited: bool = False


class Table(_Row, frozen=True, kw_only=True):
    """A file of upstream that is a table, in a repository, in archives, or in both."""

    # The name of the table.
    name: Text
    # The name of the repository; "" for archives alone.
    repository: str = ""
    # A regular expression for the tags at which the file is read; "" for the branch. Its groups are
    # columns.
    tags: Annotated[str, _expression] = ""
    # The project whose archives have the file, too. Rows from them have a column `release`.
    archives: NormalizedName = NormalizedName("")
    # The releases whose rows are taken, by the column `release`. Without a specifier all are.
    versions: SpecifierSet = SpecifierSet()
    # The path of the file; for the parser `path-names`, of a folder.
    path: Inside
    # The name of the parser that reads the file.
    parser: Annotated[str, _one_of(PARSERS)]
    # The name of the column, by its name in the file.
    columns: dict[str, str] = {}
    # The reader of each column, see `values`. Other columns are text as they are.
    read: dict[str, Annotated[str, _one_of(READERS)]] = {}
    # Columns whose values follow from other columns.
    translate: dict[str, Translation] = {}
    # Values of columns for rows that have none.
    otherwise: dict[str, str] = {}
    # Rows from which nothing is made.
    leave_out: tuple[LeftOut, ...] = ()
    # Other files beside the table, by the names that templates use.
    with_: dict[str, OtherFile] = msgspec.field(name="with", default={})
    # The names of other tables, by the names that templates use. Their row with the same `release`
    # gives further columns.
    join: dict[str, str] = {}
    # Templates of facts; see `facts`.
    fact: tuple[dict[str, Any], ...] = ()
    # The template of an image; None for a table without images.
    image: dict[str, Any] | None = None


class UpstreamFile(_Row, frozen=True, kw_only=True):
    """The content of upstream.toml."""

    # The repositories of upstream.
    repository: tuple[Upstream, ...] = ()
    # The archives that have tables as well.
    archive: tuple[ArchiveRow, ...] = ()
    # The tables.
    table: tuple[Table, ...] = ()
    # Images that are in no table. They are written to images.toml as they are.
    image: tuple[dict[str, Any], ...] = ()


def load_tables(matrices: Path) -> Document[UpstreamFile]:
    """Read upstream.toml. Raises InputError with file, line and key if it has a mistake."""
    document = read(matrices / _NAME, UpstreamFile, f"matrices/{_NAME}")
    names: list[str] = []
    for number, table in enumerate(document.content.table):
        if table.name in names:
            where = document.place("table", number, "name")
            raise InputError(phrase("two tables are named `{name}`", name=table.name), where=where)
        names.append(table.name)
        _check_place(document, number, table)
        _check_kinds(document, number, table)
    for number, table in enumerate(document.content.table):
        for name, other in table.join.items():
            if other not in names:
                place = ("table", number, "join", name)
                raise document.unknown(phrase("there is no table"), other, names, *place)
    return document


def _check_place(document: Document[UpstreamFile], number: int, table: Table) -> None:
    """Raise InputError if a table names an unknown repository or archive, or neither."""
    repositories = {repository.name for repository in document.content.repository}
    projects = {archive.project for archive in document.content.archive}
    if table.repository and table.repository not in repositories:
        where = ("table", number, "repository")
        raise document.unknown(
            phrase("there is no repository"), table.repository, repositories, *where
        )
    if table.archives and table.archives not in projects:
        where = ("table", number, "archives")
        raise document.unknown(phrase("there is no archive of"), table.archives, projects, *where)
    if not table.repository and not table.archives:
        place = document.place("table", number)
        raise InputError(
            phrase("the table is nowhere"), where=place, hint=phrase("name its `repository`")
        )


def _check_kinds(document: Document[UpstreamFile], number: int, table: Table) -> None:
    """Raise InputError if a template is for a kind of fact that tables cannot make."""
    for position, template in enumerate(table.fact):
        kind = template.get("kind", "")
        if kind not in _KINDS:
            where = ("table", number, "fact", position, "kind")
            raise document.unknown(phrase("there is no kind of fact"), kind, _KINDS, *where)
