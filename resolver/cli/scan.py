"""Run `ascend-lock facts scan NAME`: find version checks and imports in a project's code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import click
from packaging.requirements import InvalidRequirement
from packaging.version import Version

from resolver.audit.code_scan import compare, scan_code
from resolver.audit.import_scan import missing_imports
from resolver.audit.module_names import ProjectModules
from resolver.audit.offers import Offers
from resolver.audit.version_checks import Effect
from resolver.cli.catalogs import Catalogs
from resolver.cli.common import Command
from resolver.cli.console import print_json, print_line
from resolver.cli.fact_selection import facts_of, first_problem
from resolver.cli.options import Settings, settings, today
from resolver.errors import InputError
from resolver.i18n import translate
from resolver.index.parse.distribution import release_of
from resolver.index.protocol import UnusableFile
from resolver.model import text
from resolver.model.fact import Fact
from resolver.model.message import Message, message
from resolver.model.release import File
from resolver.model.requirement import Requirement
from resolver.owned_folder import OwnedFolder
from resolver.phrase import cause, phrase
from resolver.report.code_scan import (
    bound_lines,
    drafts,
    import_lines,
    imports_json,
    scan_json,
    unread_lines,
)

# The size in bytes of the largest file whose code is scanned.
_LARGEST: Final = 512 << 20


@click.command("scan", cls=Command)
@click.argument("requirement", metavar="NAME[==VERSION]")
@click.option(
    "--all",
    "every_check",
    is_flag=True,
    help="Also list checks that only decide between two ways.",
)
@click.option(
    "--beside",
    "others",
    metavar="OTHER[==VERSION]",
    multiple=True,
    help="Instead list the imports of NAME that this release of OTHER does not have.",
)
@settings()
def command(run: Settings, requirement: str, every_check: bool, others: tuple[str, ...]) -> int:
    """List the version checks in a project's own code, with drafts of facts.

    Reads a wheel of the release (or its archive), by default of the newest, without running
    anything: calls such as `check_version("vllm<=0.11.0")`, comparisons with the version of another
    project, and messages in compiled code. Says beside each what the metadata and facts have on
    that project. A draft is not a fact: read the code around it first.

    With --beside, which can be repeated, no version checks are listed, but each import of a module
    or name that the code expects in OTHER and that this release of OTHER does not have, with the
    conditions under which it is run.
    """
    need = _requirement(requirement)
    needs_beside = [_requirement(other) for other in others]
    catalogs = Catalogs(run, readings=False)
    with closing(catalogs), TemporaryDirectory(prefix=".ascend-lock-") as folder:
        problem = first_problem(run, phrase("name the folder of one with --matrices DIR"))
        with closing(catalogs.live(problem)) as catalog:
            offers = Offers(problem, catalog)
            scanner = _Scanner(run, catalogs, offers, Path(folder))
            if needs_beside:
                return scanner.imports(need, needs_beside)
            facts = [fact for fact in facts_of(problem) if fact.package == need.name]
            return scanner.checks(need, facts, every_check=every_check)


class _Scanner:
    """Downloads releases to a folder, scans them, and prints what it finds."""

    def __init__(self, run: Settings, catalogs: Catalogs, offers: Offers, folder: Path) -> None:
        self._run = run
        self._catalogs = catalogs
        self._offers = offers
        self._folder = folder

    def checks(self, need: Requirement, facts: Sequence[Fact], *, every_check: bool) -> int:
        """Print the version checks of a release. Return the exit status."""
        version, file, path = self._download(need)
        with _told_as_input_error():
            scanned = scan_code(path, release_of(file, need.name.__eq__))
            requires = self._offers.all_requirements(need.name, version)
        checks = [
            check for check in scanned.checks if every_check or check.effect is not Effect.DECIDES
        ]
        about_release = [fact for fact in facts if fact.applies_to(version)]
        found = list(compare(checks, requires, about_release, self._offers))
        self._run.progress.clear()
        if self._run.as_json:
            print_json(scan_json(need.name, str(version), file.filename, scanned, found))
            return 0
        self._print(message("scan.file", file=file.filename, count=len(found)))
        for line in [*bound_lines(found), *unread_lines(scanned)]:
            self._print(line)
        text_of_drafts = drafts(need.name, str(version), file.filename, found, today())
        if text_of_drafts:
            print_line("")
            self._print(message("scan.drafts"))
            print_line(text_of_drafts)
        return 0

    def imports(self, need: Requirement, others: Sequence[Requirement]) -> int:
        """Print the imports of a release that releases of others lack. Return the exit status."""
        file, code = self._modules(need)
        beside = {}
        for other in others:
            other_file, modules = self._modules(other)
            beside[other_file] = missing_imports(code, modules)
        self._run.progress.clear()
        if self._run.as_json:
            print_json(imports_json(file, beside))
            return 0
        for other_file, missing in beside.items():
            for line in import_lines(file, other_file, missing):
                self._print(line)
        return 0

    def _modules(self, need: Requirement) -> tuple[str, ProjectModules]:
        """Return the name of a release's file, and its modules."""
        _, file, path = self._download(need)
        with _told_as_input_error():
            return file.filename, ProjectModules(path, release_of(file, need.name.__eq__))

    def _download(self, need: Requirement) -> tuple[Version, File, Path]:
        """Download the file to scan of the newest release that a requirement admits."""
        self._run.progress.label("cli.looking-at", fact=need.name)
        version, file = _file_to_scan(need, self._offers)
        with OwnedFolder.open(self._folder) as owned:
            self._catalogs.pool.save([file], owned, lambda _: None)
        return version, file, self._folder / file.filename

    def _print(self, line: Message) -> None:
        """Print a line in the language of the run."""
        print_line(translate(line, self._run.language))


@contextmanager
def _told_as_input_error() -> Iterator[None]:
    """Raise UnusableFile as InputError, with a hint."""
    try:
        yield
    except UnusableFile as error:
        raise InputError(cause(error), hint=phrase("scan another release of it")) from None


def _requirement(requirement: str) -> Requirement:
    """Return NAME or NAME==VERSION as a requirement. Raises InputError if it is neither."""
    example = "ascend-lock facts scan pyarrow==26.0.1"
    refusal = InputError(
        phrase("`{name}` is no project with a version", name=requirement),
        hint=phrase("name a project and, if you like, its release: {example}", example=example),
    )
    try:
        need = text.requirement(requirement)
    except InvalidRequirement:
        raise refusal from None
    if need.url or need.marker is not None:
        raise refusal
    return need


def _file_to_scan(need: Requirement, offers: Offers) -> tuple[Version, File]:
    """Return the newest release that a requirement admits, and its wheel or else its archive.

    A pre-release is taken only if there is no other release. Raises InputError if there is no
    release, or if the file is too large.
    """
    releases = offers.matching(need.name, need.specifier)
    if not releases:
        raise InputError(
            phrase("no index has a release of `{name}`", name=need),
            hint=phrase("the indexes of the first stack were asked; see ascend-lock lock"),
        )
    final = [version for version in releases if not version.is_prerelease]
    version = (final or releases)[0]
    file = offers.release(need.name, version).file
    if not file.is_wheel:
        wheels = [other for other in offers.files(need.name, version) if other.is_wheel]
        file = wheels[0] if wheels else file
    if file.size is not None and file.size > _LARGEST:
        raise InputError(
            phrase("{file} has more than {limit} MiB", file=file.filename, limit=_LARGEST >> 20),
            hint=phrase("scan a release with a smaller file"),
        )
    return version, file
