"""Run `ascend-lock facts import`: make facts and images from tables of upstream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import cached_property
from typing import Any

import click
from packaging.specifiers import SpecifierSet

from resolver import files
from resolver.audit.offers import Offers
from resolver.audit.upstream.collect import Collector
from resolver.audit.upstream.facts import make
from resolver.audit.upstream.generated import ChangedRow, generate, write
from resolver.audit.upstream.tables import ArchiveRow, UpstreamFile, load_tables
from resolver.cli.catalogs import Catalogs
from resolver.cli.common import Command
from resolver.cli.console import print_json, print_line
from resolver.cli.fact_selection import first_problem
from resolver.cli.options import Settings, settings
from resolver.config.load import load_components
from resolver.errors import CHANGED_UPSTREAM, InputError, did_you_mean, known_names
from resolver.i18n import translate
from resolver.index.parse.distribution import archive_version
from resolver.index.protocol import UnusableFile
from resolver.model import patterns
from resolver.model.message import Message, message
from resolver.model.release import File
from resolver.phrase import phrase


@click.command("import", cls=Command)
@click.option(
    "--diff",
    is_flag=True,
    help="Only say what changed upstream, with status 5; write nothing.",
)
@click.option(
    "--at",
    multiple=True,
    metavar="NAME=COMMIT",
    help="Read a repository of upstream.toml as it was at this commit; may be repeated.",
)
@click.option(
    "--anew",
    is_flag=True,
    help="Give rows that say the same as before their newest source, too.",
)
@settings()
def command(run: Settings, diff: bool, at: tuple[str, ...], anew: bool) -> int:
    """Make facts from tables of upstream.

    MATRICES/upstream.toml names the tables. Their rows become MATRICES/facts/generated/*.toml and
    images.toml, each with its source and line. Says which rows are new, gone or other than before.
    git fetches the repositories, so a mirror can stand for them (url.….insteadOf).
    """
    tables = load_tables(run.matrices).content
    commits = dict(_commit(text, tables) for text in at)
    with _Archives(run) as archives:
        rows = Collector(tables, archives.read, commits).rows()
    run.progress.clear()
    given = [{**row, "source": row.get("source", "")} for row in tables.image]
    made = make(tables.table, rows, load_components(run.matrices), given)
    generated = generate(made, run.matrices, anew=anew)
    if not diff:
        try:
            write(generated, run.matrices)
        except OSError as error:
            message = phrase("the facts cannot be written")
            hint = phrase("name another folder of facts with --matrices DIR")
            raise files.input_error(error, message, run.matrices, hint) from None
    status = "imported"
    if diff:
        status = "changed" if generated.changes else "current"
    counts = {"facts": generated.facts, "images": generated.images}
    if run.as_json:
        changes = [_json(change) for change in generated.changes]
        print_json({"status": status, "changes": changes, **counts})
    else:
        for line in _lines(generated.changes):
            print_line(translate(line, run.language))
        run.print_note("import.count", count=len(generated.changes), **counts)
    return CHANGED_UPSTREAM if status == "changed" else 0


def _commit(text: str, tables: UpstreamFile) -> tuple[str, str]:
    """Return the repository and the commit in a value of --at.

    Raises InputError if the value has another form, or if upstream.toml has no such repository.
    """
    name, _, commit = text.partition("=")
    if not name or not patterns.COMMIT.matches(commit):
        raise InputError(
            phrase("`{text}` is no repository with a commit", text=text),
            where="--at",
            hint=(
                phrase(
                    "name a repository of matrices/upstream.toml and a full commit: --at "
                    "pytorch=0123…"
                )
            ),
        )
    names = [repository.name for repository in tables.repository]
    if name not in names:
        raise InputError(
            phrase("upstream.toml has no repository `{name}`", name=name),
            where="--at",
            hint=did_you_mean(name, names, known_names(names)),
        )
    return name, commit


def _json(change: ChangedRow) -> dict[str, Any]:
    """Return a changed fact or image as an object for JSON."""
    keys = {
        key: {"before": _plain(old), "now": _plain(new)} for key, (old, new) in change.keys.items()
    }
    return {"how": change.how, "file": change.file, "name": change.name, "keys": keys}


def _plain(value: Any) -> Any:
    """Return a TOML value as JSON has it: a date becomes a text."""
    if isinstance(value, (bool, int, str, type(None))):
        return value
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value)


def _lines(changes: Sequence[ChangedRow]) -> Iterator[Message]:
    """Yield a line for each changed fact or image, and for each of its changed keys."""
    for change in changes:
        yield message(f"import.{change.how}", name=change.name, file=change.file)
        for key, (old, new) in change.keys.items():
            yield message("import.key", key=key, before=_value_text(old), now=_value_text(new))


def _value_text(value: Any) -> str:
    """Return a TOML value as text for people; `-` if there is none."""
    return "-" if value is None else files.json_text(_plain(value), indent=None)


class _Archives(ExitStack):
    """Reads members of the archives that upstream.toml names.

    They come from the indexes of the first stack.
    """

    def __init__(self, run: Settings) -> None:
        super().__init__()
        self._run = run
        self._files: dict[str, File] = {}

    @cached_property
    def _offers(self) -> Offers:
        """Return what the indexes offer. They are opened only if archives are read.

        Raises InputError if there is no stack.
        """
        hint = phrase("archives come from the indexes of the first stack")
        problem = first_problem(self._run, hint)
        catalogs = self.enter_context(closing(Catalogs(self._run, readings=False)))
        return Offers(problem, self.enter_context(closing(catalogs.live(problem))))

    def read(self, archive: ArchiveRow, path: str) -> str | None:
        """Return the text of a member of an archive; None if there is no such member.

        Raises InputError if no index has the archive, and IndexFailure if an index is out of reach.
        """
        self._run.progress.label("cli.looking-at", fact=archive.file)
        if archive.file not in self._files:
            self._files[archive.file] = self._file(archive)
        try:
            return self._offers.catalog.member(self._files[archive.file], path)
        except UnusableFile:
            return None

    def _file(self, archive: ArchiveRow) -> File:
        """Return the file of an archive on an index.

        Raises InputError if no index has it with the stated sha256.
        """
        release = archive_version(archive.file, archive.project) or ""
        for version in self._offers.matching(archive.project, SpecifierSet(f"=={release}")):
            for file in self._offers.files(archive.project, version):
                if file.filename == archive.file and file.sha256 in (
                    "",
                    archive.sha256,
                ):
                    return self._offers.catalog.sha256(file)
        raise InputError(
            phrase("no index has {file} with the stated sha256", file=archive.file),
            where=archive.sha256,
            hint=phrase("correct the row of [[archive]] in matrices/upstream.toml"),
        )
