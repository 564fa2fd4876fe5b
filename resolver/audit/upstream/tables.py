"""matrices/upstream.toml: which files of upstream are tables, how they are read, and what is made of their rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.audit.upstream.parsers import PARSERS
from resolver.audit.upstream.values import READERS
from resolver.config.load import Document, read
from resolver.errors import InputError
from resolver.model.repository import Address, Inside
from resolver.model.text import NOT_EMPTY, Text

NAME: Final = "upstream.toml"
_SHA256: Final = re.compile(r"[0-9a-f]{64}")

Kind = Literal["requires", "constrains", "replaces", "builds", "warns", "sources"]
KINDS: Final[tuple[str, ...]] = get_args(Kind)


def _one_of(known: Mapping[str, object]) -> Callable[[str], str]:
    def check(text: str) -> str:
        if text not in known:
            raise ValueError(f"known are {', '.join(sorted(known))}")
        return text

    return check


def _expression(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"it is not a regular expression: {error}") from None
    return text


def _sha256(text: str) -> str:
    if not _SHA256.fullmatch(text):
        raise ValueError("a sha256 has 64 hexadecimal digits, in lower case")
    return text


class _Row(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    pass


class Upstream(_Row, frozen=True, kw_only=True):
    """A repository. Its tables are read where `branch` is, and its tags as they are then."""

    name: Text
    git: Address
    branch: Text


class ArchiveRow(_Row, frozen=True, kw_only=True):
    """A source archive of a release, which has tables of its day."""

    project: NormalizedName
    file: Text
    sha256: Annotated[str, _sha256]
    # The day on which it was chosen, for the facts that are made of it.
    checked: date


class Translation(_Row, frozen=True, kw_only=True):
    """A column whose values follow from those of another one; a row whose value is not there is left out."""

    of: Text
    is_: dict[str, str] = msgspec.field(name="is")


class LeftOut(_Row, frozen=True, kw_only=True):
    """Rows of which nothing is made: those whose value in a column matches one of these regular expressions."""

    column: Text
    values: Annotated[tuple[Annotated[str, _expression], ...], NOT_EMPTY]
    because: Text


class OtherFile(_Row, frozen=True, kw_only=True):
    """Another file at the same place, whose values are there as `name.column`."""

    path: Inside
    parser: Annotated[str, _one_of(PARSERS)]
    columns: dict[str, str] = {}
    # Whether rows may lack the file, and then its values.
    may_lack: bool = False
    # Whether the source of a row names the file.
    cited: bool = False


class Table(_Row, frozen=True, kw_only=True):
    """A file that is a table, in a repository, in archives, or in both."""

    name: Text
    # The repository; "" for archives alone.
    repository: str = ""
    # A regular expression of the tags at which the file is read, with groups as columns; "" for the
    # branch.
    tags: Annotated[str, _expression] = ""
    # The project whose archives have the file as well. `release` is then a column.
    archives: NormalizedName = NormalizedName("")
    # The releases that count, by the column `release`.
    versions: SpecifierSet = SpecifierSet()
    # The file, or for `path-names` a folder.
    path: Inside
    parser: Annotated[str, _one_of(PARSERS)]
    # Names in the file -> columns here.
    columns: dict[str, str] = {}
    # How columns are read: see `values`. One without a row is text.
    read: dict[str, Annotated[str, _one_of(READERS)]] = {}
    # Columns that follow from others.
    translate: dict[str, Translation] = {}
    # Values of columns that a row does not have.
    otherwise: dict[str, str] = {}
    leave_out: tuple[LeftOut, ...] = ()
    # Other files: name -> file.
    with_: dict[str, OtherFile] = msgspec.field(name="with", default={})
    # Other tables, whose row of the same `release` has further columns: name -> table.
    join: dict[str, str] = {}
    # Templates of facts; see `facts`.
    fact: tuple[dict[str, Any], ...] = ()
    # The template of an image.
    image: dict[str, Any] | None = None


class UpstreamFile(_Row, frozen=True, kw_only=True):
    """upstream.toml. Rows of `image` are in no table; they go to images.toml as they are."""

    repository: tuple[Upstream, ...] = ()
    archive: tuple[ArchiveRow, ...] = ()
    table: tuple[Table, ...] = ()
    image: tuple[dict[str, Any], ...] = ()


def load_tables(matrices: Path) -> Document[UpstreamFile]:
    """Read upstream.toml. Raises InputError with file:line:key."""
    document = read(matrices / NAME, UpstreamFile, f"matrices/{NAME}")
    repositories = {row.name for row in document.content.repository}
    projects = {row.project for row in document.content.archive}
    tables: list[str] = []
    for number, table in enumerate(document.content.table):
        place = ("table", number)
        if table.name in tables:
            raise InputError(
                f"two tables are named `{table.name}`", where=document.place(*place, "name")
            )
        tables.append(table.name)
        if table.repository and table.repository not in repositories:
            raise document.unknown(
                "there is no repository", table.repository, repositories, *place, "repository"
            )
        if table.archives and table.archives not in projects:
            raise document.unknown(
                "there is no archive of", table.archives, projects, *place, "archives"
            )
        if not table.repository and not table.archives:
            raise InputError(
                "the table is nowhere", where=document.place(*place), hint="name its `repository`"
            )
        for at, template in enumerate(table.fact):
            if template.get("kind") not in KINDS:
                where = (*place, "fact", at, "kind")
                raise document.unknown(
                    "there is no kind of fact", template.get("kind", ""), KINDS, *where
                )
    for number, table in enumerate(document.content.table):
        for name, other in table.join.items():
            if other not in tables:
                raise document.unknown(
                    "there is no table", other, tables, "table", number, "join", name
                )
    return document
