"""Run `ascend-lock facts scan NAME`: find version checks in a project's own code."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import click
from packaging.requirements import InvalidRequirement
from packaging.version import Version

from resolver.audit.code_scan import compare, scan_code
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
from resolver.model.message import message
from resolver.model.release import File
from resolver.model.requirement import Requirement
from resolver.owned_folder import OwnedFolder
from resolver.phrase import cause, phrase
from resolver.report.code_scan import bound_lines, drafts, scan_json, unread_lines

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
@settings()
def command(run: Settings, requirement: str, every_check: bool) -> int:
    """List the version checks in a project's own code, with drafts of facts.

    Reads a wheel of the release (or its archive), by default of the newest, without running
    anything: calls such as `check_version("vllm<=0.11.0")`, comparisons with the version of another
    project, and messages in compiled code. Says beside each what the metadata and facts have on
    that project. A draft is not a fact: read the code around it first.
    """
    need = _requirement(requirement)
    catalogs = Catalogs(run, readings=False)
    with closing(catalogs), TemporaryDirectory(prefix=".ascend-lock-") as folder:
        problem = first_problem(run, phrase("name the folder of one with --matrices DIR"))
        with closing(catalogs.live(problem)) as catalog:
            offers = Offers(problem, catalog)
            run.progress.label("cli.looking-at", fact=need.name)
            version, file = _file_to_scan(need, offers)
            with OwnedFolder.open(Path(folder)) as owned:
                catalogs.pool.save([file], owned, lambda _: None)
            path = Path(folder) / file.filename
            try:
                scanned = scan_code(path, release_of(file, need.name.__eq__))
                requires = offers.all_requirements(need.name, version)
            except UnusableFile as error:
                raise InputError(
                    cause(error),
                    hint=phrase("scan another release of it"),
                ) from None
            facts = [fact for fact in facts_of(problem) if fact.package == need.name]
            facts = [fact for fact in facts if fact.applies_to(version)]
            checks = [
                check
                for check in scanned.checks
                if every_check or check.effect is not Effect.DECIDES
            ]
            found = list(compare(checks, requires, facts, offers))
    run.progress.clear()
    if run.as_json:
        print_json(scan_json(need.name, str(version), file.filename, scanned, found))
        return 0
    lines = [message("scan.file", file=file.filename, count=len(found))]
    lines += [*bound_lines(found), *unread_lines(scanned)]
    for line in lines:
        print_line(translate(line, run.language))
    text_of_drafts = drafts(need.name, str(version), file.filename, found, today())
    if text_of_drafts:
        print_line("")
        print_line(translate("scan.drafts", run.language))
        print_line(text_of_drafts)
    return 0


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
