"""Run `ascend-lock facts read`: record the contents of archives and wheels that facts are about."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import NamedTuple

import click
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver import files
from resolver.audit.offers import Offers, archives_of, read_all, wheels_of
from resolver.audit.pairs import pairings
from resolver.cli.catalogs import Catalogs
from resolver.cli.common import Command
from resolver.cli.console import print_json, print_line
from resolver.cli.fact_selection import Compiled, compile_stacks, facts_among
from resolver.cli.options import Settings, settings
from resolver.config.fact_rules import compile_facts
from resolver.config.find_stack import stack_names
from resolver.config.load import load_components, load_facts, readings_folder, wheels_folder
from resolver.i18n import translate_phrase
from resolver.index.store.readings import (
    read_archives,
    read_wheels,
    write_archives,
    write_wheels,
)
from resolver.model import text
from resolver.model.fact import Fact, Sources
from resolver.phrase import phrase


@click.command("read", cls=Command)
@click.argument("projects", metavar="[PROJECT...]", nargs=-1)
@click.option("--anew", is_flag=True, help="Also read archives that are already recorded.")
@settings()
def command(run: Settings, projects: tuple[str, ...], anew: bool) -> int:
    """Read the source archives that facts are about, and a wheel of each release that they pair.

    Records what locking needs from each archive, by its sha256, in MATRICES/archives/PROJECT.json,
    for each PROJECT or for all, so that nobody has to download the archives in order to lock; and
    in MATRICES/wheels/PROJECT.json what the wheels require, which `ascend-lock matrix show` shows.
    """
    compiled = compile_stacks(stack_names(run.matrices), run)
    names = [text.name(project) for project in projects] or _projects_of_facts(compiled, run)
    components = load_components(run.matrices)
    shared = compile_facts(load_facts(run.matrices), components=components)
    rows: list[dict[str, object]] = []
    with closing(Catalogs(run, readings=False)) as catalogs:
        for name in names:
            run.progress.label("cli.looking-at", fact=name)
            selection = list(facts_among([name], compiled, run))
            if not selection:
                continue
            problem, facts = selection[0]
            # Facts for other targets count as well, such as those for another SoC.
            known = {fact.id for fact in facts}
            facts += [fact for fact in shared if fact.package == name and fact.id not in known]
            with closing(catalogs.live(problem)) as catalog:
                counts = _read_project(name, facts, Offers(problem, catalog), run, anew=anew)
            if not (counts.read or counts.paired or projects):
                continue
            rows.append({"name": name, **counts._asdict()})
            if not run.as_json:
                _print_counts(name, counts, run)
    if run.as_json:
        print_json({"status": "read", "projects": rows})
    return 0


class _Counts(NamedTuple):
    """What was read of a project."""

    # How many of its archives were read.
    read: int
    # How many archives facts refer to.
    archives: int
    # How many releases with wheels facts pair with others.
    paired: int


def _read_project(
    name: NormalizedName, facts: Sequence[Fact], offers: Offers, run: Settings, *, anew: bool
) -> _Counts:
    """Read the archives and wheels of a project, and write what was read.

    What is recorded already is not read again, unless `anew` is set. Raises InputError if the
    readings cannot be written.
    """
    archives_folder = readings_folder(run.matrices)
    wheel_readings_folder = wheels_folder(run.matrices)
    archives = list(archives_of(name, facts, offers))
    known_archives = [] if anew else read_archives(archives_folder, name)
    archive_readings = list(read_all(archives, known_archives, offers.catalog))
    known_wheels = [] if anew else read_wheels(wheel_readings_folder, name)
    paired = _paired_releases(name, facts)
    wheel_readings = list(wheels_of(name, paired, known_wheels, offers))
    run.progress.clear()
    try:
        if archive_readings:
            write_archives(archive_readings, archives_folder, name)
        if wheel_readings:
            write_wheels(wheel_readings, wheel_readings_folder, name)
    except OSError as error:
        message = phrase("the readings of {name} cannot be written", name=name)
        hint = phrase("name another folder of facts with --matrices DIR")
        raise files.input_error(error, message, archives_folder, hint) from None
    return _Counts(len(archive_readings), len(archives), len(wheel_readings))


def _print_counts(name: str, counts: _Counts, run: Settings) -> None:
    """Print what was read of a project."""
    line = phrase(
        "{name}: {read} of {count} archives that facts refer to",
        name=name,
        read=counts.read,
        count=counts.archives,
    )
    if counts.paired:
        line = phrase(
            "{line}; releases with wheels that they pair: {count}", line=line, count=counts.paired
        )
    print_line(translate_phrase(line, run.language))


def _projects_of_facts(compiled: Compiled, run: Settings) -> list[NormalizedName]:
    """Return the projects that facts are about, sorted by name.

    Facts that only name commits are left out.
    """
    projects: set[NormalizedName] = set()
    for _, facts in facts_among((), compiled, run):
        projects.update(fact.package for fact in facts if not isinstance(fact, Sources))
    return sorted(projects)


def _paired_releases(project: NormalizedName, facts: Sequence[Fact]) -> list[Version]:
    """Return the releases of a project that facts pair with others. Branches are left out."""
    releases = [pairing.release for pairing in pairings(project, facts)]
    return [release for release in releases if isinstance(release, Version)]
