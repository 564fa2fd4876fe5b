"""Read the rows of upstream's tables from repositories and archives, for `facts import`.

upstream.toml says which files are tables, see `tables`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver import address
from resolver.audit.upstream.entry import Entry, TextFile, Value
from resolver.audit.upstream.parsers import PARSERS
from resolver.audit.upstream.tables import ArchiveRow, Table, Upstream, UpstreamFile
from resolver.audit.upstream.values import NOTHING, READERS
from resolver.errors import IndexFailure, InputError
from resolver.index.git import RepositoryUnreadable
from resolver.index.parse.distribution import archive_version
from resolver.index.references import Place, References
from resolver.phrase import cause, literal, phrase

_HEADS: Final = "refs/heads/"
_TAGS: Final = "refs/tags/"
_PREFIX: Final = ".ascend-lock-"

# A function that reads a member of an archive. It returns the text; None if there is no such
# member.
ReadArchive = Callable[[ArchiveRow, str], str | None]
# A function that reads another file at the same commit, or in the same archive. It returns None if
# there is none.
_ReadFile = Callable[[str], TextFile | None]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A row of one of upstream's tables, as it was read."""

    # The values by their columns.
    values: Mapping[str, Value]
    # The entries of other files at the same place, by the names that the table has for the files.
    others: Mapping[str, tuple[Entry, ...]] = {}
    # References in the form that the `source` of a fact has: first the row itself, then the other
    # files that are cited.
    source: tuple[str, ...]
    # The day that facts get as `checked`: the day of the last commit of the branch, or the day that
    # upstream.toml states for an archive.
    day: date
    # The day of the commit that has the row; None for an archive.
    committed: date | None = None
    # The commit; "" for an archive.
    commit: str = ""

    @property
    def where(self) -> str:
        """Return the reference to the row."""
        return self.source[0]


class _Location(msgspec.Struct, frozen=True, kw_only=True):
    """A commit or an archive in which a table is read."""

    # Further values of each row, from the tag or the name of the archive.
    values: Mapping[str, str]
    # See `Row` for these.
    day: date
    committed: date | None = None
    commit: str = ""

    @property
    def tag(self) -> str:
        """Return the tag of the commit; empty for a branch or an archive."""
        return self.values.get("tag", "")


class Collector:
    """Reads the rows of all tables."""

    def __init__(
        self, file: UpstreamFile, read_archive: ReadArchive, commits: Mapping[str, str]
    ) -> None:
        """Begin with the tables of upstream.toml.

        `commits` has, by the name of a repository, the commit to read in place of the branch's
        newest one.
        """
        self._file = file
        self._read_archive = read_archive
        self._commits = commits

    def rows(self) -> dict[str, list[Row]]:
        """Return the rows of each table, by the name of the table.

        A release that the repository has no row for gets its rows from archives. Raises InputError
        for a row that cannot be read, and IndexFailure if git cannot read a repository.
        """
        rows: dict[str, list[Row]] = {table.name: [] for table in self._file.table}
        for repository in self._file.repository:
            tables = [table for table in self._file.table if table.repository == repository.name]
            if tables:
                rows.update(self._rows_in_repository(repository, tables))
        for table in self._file.table:
            known = {str(row.values.get("release")) for row in rows[table.name]}
            rows[table.name] += self._rows_in_archives(table, known)
        return rows

    def _rows_in_repository(
        self, repository: Upstream, tables: Sequence[Table]
    ) -> dict[str, list[Row]]:
        """Return the rows of the tables in one repository, by the name of the table."""
        commit = self._commits.get(repository.name, "")
        try:
            with TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as temporary:
                fetched = _Fetched(repository, tables, Path(temporary, "git"), commit)
                return {table.name: fetched.rows(table) for table in tables}
        except RepositoryUnreadable as error:
            raise IndexFailure(
                phrase("the repository `{name}` cannot be read", name=repository.name),
                where=repository.git,
                why=cause(error),
                hint=phrase("a mirror will do: git config --global url.MIRROR.insteadOf ADDRESS"),
            ) from None

    def _rows_in_archives(self, table: Table, known: set[str]) -> Iterator[Row]:
        """Yield the rows of a table in archives, one for each release that is not `known` yet.

        The releases of these rows are added to `known`.
        """
        if not table.archives:
            return
        for archive in self._file.archive:
            if archive.project != table.archives:
                continue
            release = archive_version(archive.file, archive.project)
            if release is None:
                raise InputError(
                    phrase(
                        "`{file}` is no archive of {project}",
                        file=archive.file,
                        project=archive.project,
                    )
                )
            read = partial(self._read_member, archive)
            file = read(table.path)
            if file is None:
                continue
            location = _Location(values={"release": release}, day=archive.checked)
            for row in _read_rows(table, location, file, read):
                release_of_row = str(row.values["release"])
                if release_of_row not in known:
                    known.add(release_of_row)
                    yield row

    def _read_member(self, archive: ArchiveRow, path: str) -> TextFile | None:
        """Return a member of an archive as a file; None if there is none."""
        text = self._read_archive(archive, path)
        if text is None:
            return None
        where = f"{archive.file} sha256:{archive.sha256} {path}"
        return TextFile(where=where, path=path, text=text)


class _Fetched:
    """A repository of upstream, with the files of its tables."""

    def __init__(
        self, repository: Upstream, tables: Sequence[Table], folder: Path, commit: str
    ) -> None:
        """Fetch the commits and files that the tables need into a folder.

        `commit` is read in place of the branch's newest one, unless it is empty. Raise
        RepositoryUnreadable.
        """
        self._name = _shown(repository.git)
        self._references = References(repository.git, folder)
        self._is_past = bool(commit)
        references = self._references.listed()
        self._head = commit or references.get(f"{_HEADS}{repository.branch}", "")
        if not self._head:
            raise RepositoryUnreadable(
                phrase("it has no branch `{branch}`", branch=repository.branch)
            )
        self._tags: dict[str, str] = {}
        for reference, tagged in references.items():
            tag = reference.removeprefix(_TAGS)
            if tag != reference and any(_is_tag_of(table, tag) for table in tables):
                self._tags[tag] = tagged
        commits = {self._head, *self._tags.values()}
        self._references.fetch(commits)
        self._days = {each: self._references.day(each) for each in commits}
        self._content = self._references.read(self._places(tables))

    def rows(self, table: Table) -> list[Row]:
        """Return the rows of a table. Raises InputError and RepositoryUnreadable."""
        rows: list[Row] = []
        for location in self._locations(table):
            for path in self._paths(table, location.commit):
                rows += self._rows_at(table, location, path)
        # A commit of the past may be older than all tags.
        if not rows and not (table.tags and self._is_past):
            where = f"{self._name} {table.path} @{self._head}"
            raise InputError(phrase("the table `{name}` has no rows", name=table.name), where=where)
        return rows

    def _rows_at(self, table: Table, location: _Location, path: str) -> Iterator[Row]:
        """Yield the rows of a table in one file at one commit.

        A tag may lack the file. Raises RepositoryUnreadable if a branch lacks it.
        """
        read = partial(self._read, location)
        file = read(path)
        if file is not None:
            yield from _read_rows(table, location, file, read)
        # A tag need not have the file.
        elif not table.tags:
            raise RepositoryUnreadable(
                phrase(
                    "it has no file `{path}` at {commit}", path=path, commit=location.commit[:12]
                )
            )

    def _read(self, location: _Location, path: str) -> TextFile | None:
        """Return a file at a commit; None if there is none.

        Raises InputError if it is not UTF-8.
        """
        commit = location.commit
        raw = self._content.get(Place(commit, path))
        if raw is None:
            return None
        tag = f" ({location.tag})" if location.tag else ""
        where = f"{self._name} {path} @{commit}{tag}"
        return TextFile(
            where=where,
            path=path,
            text=_decoded(raw, where),
            submodules=self._references.submodules(commit),
        )

    def _places(self, tables: Sequence[Table]) -> Iterator[Place]:
        """Yield the files that tables need, so that all of them are fetched at once."""
        for table in tables:
            others = [other.path for other in table.with_.values()]
            for location in self._locations(table):
                for path in (*self._paths(table, location.commit), *others):
                    yield Place(location.commit, path)

    def _paths(self, table: Table, commit: str) -> list[str]:
        """Return the path of a table's file, or all paths in a folder of `path-names`."""
        if table.parser != "path-names":
            return [table.path]
        folder = f"{table.path}/"
        return sorted(path for path in self._references.paths(commit) if path.startswith(folder))

    def _locations(self, table: Table) -> Iterator[_Location]:
        """Yield the commits at which a table is read: the branch's commit, or its tags.

        The oldest tag comes first. If a commit was given in place of the branch's newest one, tags
        of later commits are left out.
        """
        day = self._days[self._head]
        if not table.tags:
            yield _Location(values={}, day=day, committed=day, commit=self._head)
            return
        for tag, commit in sorted(self._tags.items(), key=self._age):
            match = re.fullmatch(table.tags, tag)
            committed = self._days[commit]
            if match is None or (self._is_past and committed > day):
                continue
            groups = match.groupdict().items()
            columns = {name: value for name, value in groups if value is not None}
            values = {"tag": tag, **columns}
            yield _Location(values=values, day=day, committed=committed, commit=commit)

    def _age(self, tag: tuple[str, str]) -> tuple[date, str]:
        """Return a key that sorts tags by the day of their commit, then by name."""
        name, commit = tag
        return self._days[commit], name


def _is_tag_of(table: Table, tag: str) -> bool:
    """Return whether a table is read at a tag."""
    return bool(table.tags) and re.fullmatch(table.tags, tag) is not None


def _read_rows(table: Table, location: _Location, file: TextFile, read: _ReadFile) -> Iterator[Row]:
    """Yield the rows that a table takes from one file. Rows that it leaves out are skipped."""
    others: dict[str, tuple[Entry, ...]] | None = None
    cited: list[str] = []
    for entry in PARSERS[table.parser](file, table.columns):
        where = file.at(entry.first, entry.last)
        values = _values(table, {**location.values, **entry.values}, where)
        if values is None:
            continue
        # The other files are needed only if a row is taken.
        if others is None:
            others, cited = _read_others(table, file, read)
        yield Row(
            values=values,
            others=others,
            source=(where, *cited),
            day=location.day,
            committed=location.committed,
            commit=location.commit,
        )


def _read_others(
    table: Table, beside: TextFile, read: _ReadFile
) -> tuple[dict[str, tuple[Entry, ...]], list[str]]:
    """Return the entries of a table's other files, by name, and references to the cited ones.

    Raises InputError if a file is missing that must be there.
    """
    entries: dict[str, tuple[Entry, ...]] = {}
    cited: list[str] = []
    for name, other in table.with_.items():
        file = read(other.path)
        if file is None:
            if not other.may_lack:
                raise InputError(
                    phrase(
                        "the table `{name}` lacks the file `{path}`",
                        name=table.name,
                        path=other.path,
                    ),
                    where=beside.where,
                    hint=phrase("set `may-lack = true` if rows may lack it"),
                )
            entries[name] = ()
            continue
        entries[name] = tuple(PARSERS[other.parser](file, other.columns))
        if other.cited:
            cited.append(file.at(1, len(file.lines())))
    return entries, cited


def _values(table: Table, raw: Mapping[str, Value], where: str) -> dict[str, Value] | None:
    """Return the values of a row in normal form; None if the table leaves the row out.

    Raises InputError if a value cannot be read.
    """
    values = {column: value for column, value in raw.items() if value not in NOTHING}
    if _is_left_out(table, values):
        return None
    values = {**table.otherwise, **values}
    for column, reader in table.read.items():
        value = values.get(column)
        if isinstance(value, str):
            try:
                values[column] = READERS[reader](value)
            except ValueError as error:
                problem = phrase("the column `{column}` cannot be read", column=column)
                raise InputError(problem, where=where, why=cause(error)) from None
    if str(table.versions) and not _contains(table.versions, values.get("release")):
        return None
    for column, translation in table.translate.items():
        translated = translation.is_.get(str(values.get(translation.of)))
        if translated is None:
            return None
        values[column] = translated
    return values


def _is_left_out(table: Table, values: Mapping[str, Value]) -> bool:
    """Return whether a value of a row matches a pattern of `leave-out`."""
    for left_out in table.leave_out:
        value = values.get(left_out.column)
        if not isinstance(value, str):
            continue
        if any(re.fullmatch(pattern, value) for pattern in left_out.values):
            return True
    return False


def _contains(versions: SpecifierSet, release: Value | None) -> bool:
    """Return whether a release is text and a version that a specifier set admits."""
    return isinstance(release, str) and versions.contains(Version(release), prereleases=True)


def _decoded(raw: bytes, where: str) -> str:
    """Return the text of a file with line feeds at the ends of lines.

    Raises InputError if it is not UTF-8.
    """
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InputError(
            phrase("the file is not UTF-8"), where=where, why=literal(error.reason)
        ) from None


def _shown(url: str) -> str:
    """Return a repository as sources name it: OWNER/REPO, with the host before it if not GitHub."""
    parts = address.split(url)
    path = "/".join(parts.path.strip("/").removesuffix(".git").split("/")[-2:])
    return path if parts.host in ("github.com", "") else f"{parts.host}/{path}"


def by_release(rows: Mapping[str, Sequence[Row]]) -> dict[str, dict[str, Row]]:
    """Return the rows of each table by their column `release`.

    Of several rows with the same release, the first is taken. Rows without a release are left out.
    """
    found: dict[str, dict[str, Row]] = defaultdict(dict)
    for name, of_table in rows.items():
        for row in of_table:
            release = row.values.get("release")
            if isinstance(release, str):
                found[name].setdefault(release, row)
    return found
