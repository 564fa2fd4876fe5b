"""The rows of upstream's tables, from repositories and archives."""

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
from resolver.audit.upstream.tables import ArchiveRow, OtherFile, Table, Upstream, UpstreamFile
from resolver.audit.upstream.values import NOTHING, READERS
from resolver.errors import IndexFailure, InputError
from resolver.index.git import RepositoryUnreadable
from resolver.index.parse.distribution import archive_version
from resolver.index.references import Place, References

_HEADS: Final = "refs/heads/"
_TAGS: Final = "refs/tags/"
_PREFIX: Final = ".ascend-lock-"

# The text of a file in an archive; None if it has none.
ReadArchive = Callable[[ArchiveRow, str], str | None]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a table, as it was read."""

    values: Mapping[str, Value]
    # The entries of other files at the same place, by the names that the table has for the files.
    others: Mapping[str, tuple[Entry, ...]] = {}
    # Where it is, as sources of facts have it: the row first, then the other files that are cited.
    source: tuple[str, ...]
    # When it was checked: on the day of the branch's last commit, or as upstream.toml states for an
    # archive.
    day: date
    # The day of the commit that has the row; None for an archive.
    committed: date | None = None
    # The commit; "" for an archive.
    commit: str = ""

    @property
    def where(self) -> str:
        """The place of the row."""
        return self.source[0]


class _Location(msgspec.Struct, frozen=True, kw_only=True):
    """One commit, or archive, where a table is read."""

    values: Mapping[str, str]
    day: date
    committed: date | None = None
    commit: str = ""

    @property
    def tag(self) -> str:
        """The tag; empty for a branch or an archive."""
        return self.values.get("tag", "")


class Collector:
    """Reads tables.

    `at` has commits to take in the place of branches' newest ones, by repositories' names.
    """

    def __init__(
        self, file: UpstreamFile, read_archive: ReadArchive, at: Mapping[str, str]
    ) -> None:
        self._file = file
        self._read_archive = read_archive
        self._at = at

    def rows(self) -> dict[str, list[Row]]:
        """Return the rows of each table, by its name.

        Raises InputError and, if git cannot read it, IndexFailure.
        """
        rows: dict[str, list[Row]] = {table.name: [] for table in self._file.table}
        for repository in self._file.repository:
            tables = [table for table in self._file.table if table.repository == repository.name]
            if not tables:
                continue
            try:
                for table, found in self._of_repository(repository, tables):
                    rows[table.name] += found
            except RepositoryUnreadable as error:
                hint = "a mirror will do: git config --global url.MIRROR.insteadOf ADDRESS"
                what = f"the repository `{repository.name}` cannot be read"
                raise IndexFailure(what, where=repository.git, why=str(error), hint=hint) from None
        for table in self._file.table:
            rows[table.name] += self._of_archives(
                table, {str(row.values.get("release")) for row in rows[table.name]}
            )
        return rows

    # --- repositories

    def _of_repository(
        self, repository: Upstream, tables: Sequence[Table]
    ) -> Iterator[tuple[Table, list[Row]]]:
        with TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as temporary:
            references = References(repository.git, Path(temporary, "git"))
            listed = references.listed()
            head = self._at.get(repository.name) or listed.get(f"{_HEADS}{repository.branch}", "")
            if not head:
                raise RepositoryUnreadable(f"it has no branch `{repository.branch}`")
            tags = {
                name.removeprefix(_TAGS): commit
                for name, commit in listed.items()
                if name.startswith(_TAGS)
            }
            wanted = {
                tag: commit
                for tag, commit in tags.items()
                if any(_is_of(table, tag) for table in tables)
            }
            references.fetch({head, *wanted.values()})
            day = references.day(head)
            days = {commit: references.day(commit) for commit in wanted.values()}
            locations = {
                table.name: list(
                    _locations(table, head, day, wanted, days, is_past=repository.name in self._at)
                )
                for table in tables
            }
            places = [
                Place(location.commit, path)
                for table in tables
                for location in locations[table.name]
                for path in _paths(table, references, location.commit)
            ]
            content = references.read(places)

            def file_at(location: _Location, path: str) -> TextFile | None:
                commit = location.commit
                raw = content.get(Place(commit, path))
                if raw is None:
                    return None
                tag = f" ({location.tag})" if location.tag else ""
                where = f"{_shown(repository.git)} {path} @{commit}{tag}"
                submodules = references.submodules(commit)
                return TextFile(
                    where=where, path=path, text=_decoded(raw, where), submodules=submodules
                )

            for table in tables:
                rows: list[Row] = []
                for location in locations[table.name]:
                    for path in _main_paths(table, references, location.commit):
                        rows += self._rows_at(table, location, path, file_at)
                is_past = repository.name in self._at  # when there may have been no such tag yet
                if not rows and not (table.tags and is_past):
                    where = f"{_shown(repository.git)} {table.path} @{head}"
                    raise InputError(f"the table `{table.name}` has no rows", where=where)
                yield table, rows

    def _rows_at(
        self,
        table: Table,
        location: _Location,
        path: str,
        file_at: Callable[[_Location, str], TextFile | None],
    ) -> list[Row]:
        file = file_at(location, path)
        if file is None:
            if table.tags:
                return []  # not every release has it
            raise RepositoryUnreadable(f"it has no file `{path}` at {location.commit[:12]}")
        return list(_read_rows(table, location, file, lambda other: file_at(location, other)))

    # --- archives

    def _of_archives(self, table: Table, known: set[str]) -> Iterator[Row]:
        """Yield the rows in archives; not of a release that has one in the repository."""
        if not table.archives:
            return
        for archive in self._file.archive:
            if archive.project != table.archives:
                continue
            release = archive_version(archive.file, archive.project)
            if release is None:
                raise InputError(f"`{archive.file}` is no archive of {archive.project}")
            file = self._file_of(archive, table.path)
            if file is None:
                continue
            location = _Location(values={"release": release}, day=archive.checked)
            for row in _read_rows(table, location, file, partial(self._file_of, archive)):
                if str(row.values["release"]) not in known:
                    known.add(str(row.values["release"]))
                    yield row

    def _file_of(self, archive: ArchiveRow, path: str) -> TextFile | None:
        text = self._read_archive(archive, path)
        where = f"{archive.file} sha256:{archive.sha256} {path}"
        return None if text is None else TextFile(where=where, path=path, text=text)


def _is_of(table: Table, tag: str) -> bool:
    return bool(table.tags) and re.fullmatch(table.tags, tag) is not None


def _locations(
    table: Table,
    head: str,
    day: date,
    tags: Mapping[str, str],
    days: Mapping[str, date],
    *,
    is_past: bool,
) -> Iterator[_Location]:
    """Yield where a table is read: at the branch, or at its tags; with `is_past`, at those of that day or before."""
    if not table.tags:
        yield _Location(values={}, day=day, committed=day, commit=head)
        return
    for tag, commit in sorted(tags.items(), key=lambda pair: (days[pair[1]], pair[0])):
        match = re.fullmatch(table.tags, tag)
        if match is None or (is_past and days[commit] > day):
            continue
        values = {
            "tag": tag,
            **{name: value for name, value in match.groupdict().items() if value is not None},
        }
        yield _Location(values=values, day=day, committed=days[commit], commit=commit)


def _main_paths(table: Table, references: References, commit: str) -> list[str]:
    """Return the table's file or, of names of paths, what is in its folder."""
    if table.parser != "path-names":
        return [table.path]
    return sorted(path for path in references.paths(commit) if path.startswith(f"{table.path}/"))


def _paths(table: Table, references: References, commit: str) -> Iterator[str]:
    yield from _main_paths(table, references, commit)
    for other in table.with_.values():
        yield other.path


def _read_rows(
    table: Table, location: _Location, file: TextFile, file_at: Callable[[str], TextFile | None]
) -> Iterator[Row]:
    """Yield the rows that a table takes from one file, and skip the others."""
    entries = PARSERS[table.parser](file, table.columns)
    others: dict[str, tuple[Entry, ...]] | None = None
    sources: list[str] = []
    for entry in entries:
        values = _values(
            table, {**location.values, **entry.values}, file.at(entry.first, entry.last)
        )
        if values is None:
            continue
        if others is None:  # a place of which nothing is wanted may lack them
            others = {}
            for name, other in table.with_.items():
                others[name] = _other(table, other, file, file_at)
                found = file_at(other.path)
                if found is not None and other.cited:
                    sources.append(found.at(1, len(found.lines())))
        yield Row(
            values=values,
            others=others,
            source=(file.at(entry.first, entry.last), *sources),
            day=location.day,
            committed=location.committed,
            commit=location.commit,
        )


def _other(
    table: Table, other: OtherFile, beside: TextFile, file_at: Callable[[str], TextFile | None]
) -> tuple[Entry, ...]:
    file = file_at(other.path)
    if file is None and other.may_lack:
        return ()
    if file is None:
        what = f"the table `{table.name}` lacks the file `{other.path}`"
        raise InputError(what, where=beside.where, hint="set `may-lack = true` if rows may lack it")
    return tuple(PARSERS[other.parser](file, other.columns))


def _values(table: Table, raw: Mapping[str, Value], where: str) -> dict[str, Value] | None:
    """Return the values of a row as they are read; None if it is left out. Raises InputError."""
    values = {
        column: value
        for column, value in raw.items()
        if not isinstance(value, str) or value not in NOTHING
    }
    for row in table.leave_out:
        value = values.get(row.column)
        if isinstance(value, str) and any(re.fullmatch(pattern, value) for pattern in row.values):
            return None
    values = {**table.otherwise, **values}
    for column, reader in table.read.items():
        value = values.get(column)
        if isinstance(value, str):
            try:
                values[column] = READERS[reader](value)
            except ValueError as error:
                raise InputError(
                    f"the column `{column}` cannot be read", where=where, why=str(error)
                ) from None
    if str(table.versions) and not _contains(table.versions, values.get("release")):
        return None
    for column, translation in table.translate.items():
        translated = translation.is_.get(str(values.get(translation.of)))
        if translated is None:
            return None
        values[column] = translated
    return values


def _contains(versions: SpecifierSet, release: Value | None) -> bool:
    return isinstance(release, str) and versions.contains(Version(release), prereleases=True)


def _decoded(raw: bytes, where: str) -> str:
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InputError("the file is not UTF-8", where=where, why=error.reason) from None


def _shown(url: str) -> str:
    """Return a repository as sources of facts name it: OWNER/REPO on GitHub, with the host elsewhere."""
    parts = address.split(url)
    path = "/".join(parts.path.strip("/").removesuffix(".git").split("/")[-2:])
    return path if parts.host in ("github.com", "", None) else f"{parts.host}/{path}"


def by_release(rows: Mapping[str, Sequence[Row]]) -> dict[str, dict[str, Row]]:
    """Return the rows of each table by their `release`; the first one of several."""
    found: dict[str, dict[str, Row]] = defaultdict(dict)
    for name, of_table in rows.items():
        for row in of_table:
            release = row.values.get("release")
            if isinstance(release, str):
                found[name].setdefault(release, row)
    return found
