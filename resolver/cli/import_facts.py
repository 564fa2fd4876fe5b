"""`ascend-lock facts import`: facts and images made from tables of upstream."""

from __future__ import annotations

import re
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
from resolver.cli.console import print_json, print_line
from resolver.cli.options import Settings, settings
from resolver.config.compile import compile_problems
from resolver.config.load import load, stack_names
from resolver.errors import CHANGED_UPSTREAM, InputError, did_you_mean
from resolver.i18n import translate
from resolver.index.parse.distribution import archive_version
from resolver.index.protocol import UnusableFile
from resolver.model import patterns
from resolver.model.message import Message, message
from resolver.model.release import File

_AT = re.compile(r"(?P<name>[^=]+)=(?P<commit>[0-9a-f]{40})")


@click.command("import")
@click.option(
    "--diff", is_flag=True, help="Only say what changed upstream, with status 5; write nothing."
)
@click.option(
    "--at",
    multiple=True,
    metavar="NAME=COMMIT",
    help="Read a repository of upstream.toml as it was at this commit; may be repeated.",
)
@click.option(
    "--anew", is_flag=True, help="Give rows that say the same as before their newest source, too."
)
@settings("own_matrices", "language", "as_json")
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
    made = make(tables.table, rows, given)
    generated = generate(made, run.matrices, anew=anew)
    if not diff:
        try:
            write(generated, run.matrices)
        except OSError as error:
            hint = "name another folder of facts with --matrices DIR"
            raise files.input_error(
                error, "the facts cannot be written", run.matrices, hint
            ) from None
    is_changed = diff and bool(generated.changes)
    if run.as_json:
        print_json(
            {
                "status": "changed" if is_changed else "current" if diff else "imported",
                "facts": generated.facts,
                "images": generated.images,
                "changes": [_json(change) for change in generated.changes],
            }
        )
    else:
        for line in _lines(generated.changes):
            print_line(translate(line, run.language))
        run.print_message(
            "import.count",
            facts=generated.facts,
            images=generated.images,
            count=len(generated.changes),
        )
    return CHANGED_UPSTREAM if is_changed else 0


def _commit(text: str, tables: UpstreamFile) -> tuple[str, str]:
    """Return the repository and the commit of an option. Raises InputError."""
    names = [repository.name for repository in tables.repository]
    match = _AT.fullmatch(text)
    if match is None or not patterns.COMMIT.matches(match["commit"]):
        hint = "name a repository of matrices/upstream.toml and a full commit: --at pytorch=0123…"
        raise InputError(f"`{text}` is no repository with a commit", where="--at", hint=hint)
    if match["name"] not in names:
        hint = did_you_mean(match["name"], names, f"known are {', '.join(names)}")
        raise InputError(
            f"upstream.toml has no repository `{match['name']}`", where="--at", hint=hint
        )
    return match["name"], match["commit"]


def _json(change: ChangedRow) -> dict[str, Any]:
    keys = {
        key: {"before": _plain(old), "now": _plain(new)} for key, (old, new) in change.keys.items()
    }
    return {"how": change.how, "file": change.file, "name": change.name, "keys": keys}


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; a day is a text there."""
    if isinstance(value, (bool, int, str, type(None))):
        return value
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value)


def _lines(changes: Sequence[ChangedRow]) -> Iterator[Message]:
    for change in changes:
        yield message(f"import.{change.how}", name=change.name, file=change.file)
        for key, values in change.keys.items():
            before, now = (
                "-" if value is None else files.json_text(_plain(value), indent=None)
                for value in values
            )
            yield message("import.key", key=key, before=before, now=now)


class _Archives(ExitStack):
    """Reads files of the archives that upstream.toml names, from the indexes of the first stack."""

    def __init__(self, run: Settings) -> None:
        super().__init__()
        self._run = run
        self._files: dict[str, File] = {}

    @cached_property
    def _offers(self) -> Offers:
        """The index; asked only if there are archives. Raises InputError without a stack."""
        names = stack_names(self._run.matrices)
        if not names:
            raise InputError(
                "there is no stack", hint="archives come from the indexes of the first stack"
            )
        problem = compile_problems(load(names[0], self._run.matrices))[0]
        catalogs = self.enter_context(closing(Catalogs(self._run, readings=False)))
        return Offers(problem, self.enter_context(closing(catalogs.live(problem))))

    def read(self, archive: ArchiveRow, path: str) -> str | None:
        """Return the text of a file in an archive; None if it has none.

        Raises InputError and IndexFailure.
        """
        self._run.progress.label("cli.looking-at", fact=archive.file)
        if archive.file not in self._files:
            self._files[archive.file] = self._file(archive)
        try:
            return self._offers.catalog.member(self._files[archive.file], path)
        except UnusableFile:
            return None

    def _file(self, archive: ArchiveRow) -> File:
        release = archive_version(archive.file, archive.project) or ""
        versions = self._offers.matching(archive.project, SpecifierSet(f"=={release}"))
        offered = [
            file for version in versions for file in self._offers.files(archive.project, version)
        ]
        for file in offered:
            if file.filename == archive.file and file.sha256 in ("", archive.sha256):
                return self._offers.catalog.sha256(file)
        hint = "correct the row of [[archive]] in matrices/upstream.toml"
        raise InputError(
            f"no index has {archive.file} with the stated sha256", where=archive.sha256, hint=hint
        )
