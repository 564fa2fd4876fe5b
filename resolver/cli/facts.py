"""`ascend-lock facts check [NAME…]`, `read` and `scan`: facts, the indexes, and what facts are made of.

`facts import` is in `import_facts`, `facts read-linkage` in `read_linkage`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import click
from packaging.requirements import InvalidRequirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver import files
from resolver.audit.cited import Library, Unread
from resolver.audit.code_scan import compare, scan_code
from resolver.audit.compare import DAYS
from resolver.audit.fact_checks import FAILED, CheckedFact, Verdict, check_fact, projects_of
from resolver.audit.offers import Offers, archives_of, read_all, wheels_of
from resolver.audit.pairs import pairings
from resolver.audit.source_checks import CheckedSource, Said, check_source
from resolver.audit.version_checks import Effect
from resolver.cli import import_facts, options, read_linkage
from resolver.cli.catalogs import Catalogs
from resolver.cli.commands import list_commands
from resolver.cli.console import print_json, print_line
from resolver.cli.options import ALL, Settings, settings, today
from resolver.config.compile import compile_problems, known_values
from resolver.config.fact_rules import compile_facts
from resolver.config.load import (
    load,
    load_facts,
    load_systems,
    readings_folder,
    stack_names,
    wheels_folder,
)
from resolver.errors import CHANGED_UPSTREAM, IndexFailure, InputError, did_you_mean
from resolver.i18n import translate
from resolver.index.parse.distribution import release_of
from resolver.index.protocol import UnusableFile
from resolver.index.repositories import Repositories
from resolver.index.store.cache import default_folder
from resolver.index.store.readings import read_archives, read_wheels, write_archives, write_wheels
from resolver.lock import file as lock_file
from resolver.model import text
from resolver.model.fact import Fact, Sources, needs_of
from resolver.model.message import message
from resolver.model.problem import Problem
from resolver.model.release import File
from resolver.model.requirement import Requirement
from resolver.owned_folder import OwnedFolder
from resolver.report.code_scan import bound_lines, drafts, scan_json, unread_lines
from resolver.report.source_checks import source_line, sources_json, sources_summary
from resolver.report.upstream import fact_json, fact_line, facts_summary

_LARGEST: Final = 512 << 20  # bytes of a file whose code is scanned
_SOURCES_STATUS = {0: "true", 1: "false", IndexFailure.exit_status: "out-of-reach"}
_STATUS = {0: "held", IndexFailure.exit_status: "out-of-reach", CHANGED_UPSTREAM: "contradicted"}


@click.group("facts", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> int:
    """Check facts, read archives for them, or scan code for new ones."""
    return list_commands(context)


@command.command("check")
@click.argument("names", metavar="[NAME...]", nargs=-1)
@click.option("--all", "every_line", is_flag=True, help="Print a line for every fact.")
@click.option(
    "--sources",
    "by_sources",
    is_flag=True,
    help="Open the sources of facts instead, and look for what they state.",
)
@options.facts_days
@settings("own_matrices", "locks", "language", "as_json")
def check(
    run: Settings,
    names: tuple[str, ...],
    every_line: bool,
    by_sources: bool,
    facts_days: int | None,
) -> int:
    """Compare facts with what the indexes say today.

    NAME is a stack (for the facts about projects in its locks or, without a lock, about those that
    its lines and such facts require), a project (for the facts about it) or the id of a fact;
    without one, or with `all`, all facts are compared. Prints a line for each fact that somebody
    should look at, or for each one if NAME is a project or a fact, and how many hold. Each fact is
    compared for the first target of the first stack that uses it. Changes nothing.

    With --sources no metadata is compared. Each source is opened instead (files of repositories by
    git, members of wheels and archives by the indexes), and must have the versions and values that
    the fact states, near each other. The exit status is 1 if one does not.
    """
    names = () if ALL in names else names
    if by_sources:
        return _check_sources(run, names, every_line=every_line)
    days = DAYS if facts_days is None else facts_days
    language, progress = run.language, run.progress
    repositories = Repositories(default_folder(), warn=progress.warn)
    every: list[CheckedFact] = []
    rows = []
    failures: set[str] = set()
    every_line |= bool(_names_of_no_stack(names, run.matrices))
    with closing(Catalogs(run, readings=False)) as catalogs:
        for problem, facts in _selected(names, run):
            of_problem = []
            with closing(catalogs.live(problem)) as catalog:
                offers = Offers(problem, catalog)
                looked_up = dict.fromkeys(name for fact in facts for name in projects_of(fact))
                catalog.prefetch((name, SpecifierSet()) for name in looked_up)
                for fact in facts:
                    progress.label("cli.looking-at", fact=fact.id)
                    checked = check_fact(fact, offers, repositories)
                    of_problem.append(checked)
                    old = (today() - fact.checked).days > days
                    rows.append(fact_json(checked, old=old, language=language))
                    needs_a_look = _needs_a_look(checked, failures)
                    if not run.as_json and (every_line or old or needs_a_look):
                        progress.clear()
                        print_line(
                            fact_line(checked, old_after=days if old else None, language=language)
                        )
            progress.clear()
            every += of_problem
            if not run.as_json:
                print_line(facts_summary(of_problem, str(problem.target), language))
    status = max(map(_status, every), default=0)
    if run.as_json:
        print_json({"status": _STATUS[status], "facts": rows})
    elif not every:
        print_line(facts_summary(every, "", language))
    return status


def _check_sources(run: Settings, names: tuple[str, ...], *, every_line: bool) -> int:
    """Open the sources of facts, print what is wrong with them, and return the exit status."""
    repositories = Repositories(default_folder(), blobless=True, warn=run.progress.warn)
    every_line |= bool(_names_of_no_stack(names, run.matrices))
    every: list[tuple[Fact, CheckedSource]] = []
    with closing(Catalogs(run, readings=False)) as catalogs:
        for problem, facts in _selected(names, run):
            with closing(catalogs.live(problem)) as catalog:
                library = Library(catalog, repositories)
                for fact in facts:
                    run.progress.label("cli.looking-at", fact=fact.id)
                    checked = check_source(fact, library)
                    every.append((fact, checked))
                    if not run.as_json and (every_line or checked.said is Said.FALSE):
                        run.progress.clear()
                        print_line(source_line(fact, checked, run.language))
    run.progress.clear()
    status = _status_of_sources([checked for _, checked in every])
    if run.as_json:
        print_json({"status": _SOURCES_STATUS[status], "facts": sources_json(every, run.language)})
    else:
        print_line(sources_summary(every, run.language))
    return status


def _status_of_sources(every: Sequence[CheckedSource]) -> int:
    """Return 1 if a source is false, else that of an index if one or a repository could not be reached."""
    if any(checked.said is Said.FALSE for checked in every):
        return 1
    unread = {reference.unread for checked in every for reference in checked.references}
    return 0 if unread.isdisjoint((Unread.REPOSITORY, Unread.INDEX)) else IndexFailure.exit_status


@command.command("read")
@click.argument("projects", metavar="[PROJECT...]", nargs=-1)
@click.option("--anew", is_flag=True, help="Also read archives that are already recorded.")
@settings("own_matrices")
def read(run: Settings, projects: tuple[str, ...], anew: bool) -> int:
    """Read the source archives that facts are about, and a wheel of each release that they pair.

    Records what locking needs from each archive, by its sha256, in MATRICES/archives/PROJECT.json,
    for each PROJECT or for all, so that nobody has to download the archives in order to lock; and
    in MATRICES/wheels/PROJECT.json what the wheels require, which `ascend-lock pairs` shows.
    """
    archives_folder, folder_of_wheels = readings_folder(run.matrices), wheels_folder(run.matrices)
    every = (
        fact for _, facts in _selected((), run) for fact in facts if not isinstance(fact, Sources)
    )
    names = map(text.name, projects) if projects else sorted({fact.package for fact in every})
    shared = compile_facts(load_facts(run.matrices), known=known_values(load_systems(run.matrices)))
    with closing(Catalogs(run, readings=False)) as catalogs:
        for name in names:
            run.progress.label("cli.looking-at", fact=name)
            for problem, selected in list(_selected([name], run))[:1]:
                # those for other targets as well, such as another SoC
                known = {fact.id for fact in selected}
                facts = [
                    *selected,
                    *(fact for fact in shared if fact.package == name and fact.id not in known),
                ]
                with closing(catalogs.live(problem)) as catalog:
                    offers = Offers(problem, catalog)
                    archives = list(archives_of(name, facts, offers))
                    rows = list(
                        read_all(
                            archives, [] if anew else read_archives(archives_folder, name), catalog
                        )
                    )
                    releases = [pairing.release for pairing in pairings(name, facts)]
                    paired = [release for release in releases if isinstance(release, Version)]
                    wheels = list(
                        wheels_of(
                            name,
                            paired,
                            [] if anew else read_wheels(folder_of_wheels, name),
                            offers,
                        )
                    )
                run.progress.clear()
                try:
                    if rows:
                        write_archives(rows, archives_folder, name)
                    if wheels:
                        write_wheels(wheels, folder_of_wheels, name)
                except OSError as error:
                    what = f"the readings of {name} cannot be written"
                    hint = "name another folder of facts with --matrices DIR"
                    raise files.input_error(error, what, archives_folder, hint) from None
                if rows or wheels or projects:
                    more = f"; releases with wheels that they pair: {len(wheels)}" if wheels else ""
                    print_line(
                        f"{name}: {len(rows)} of {len(archives)} archives that facts refer to{more}"
                    )
    return 0


@command.command("scan")
@click.argument("requirement", metavar="NAME[==VERSION]")
@click.option(
    "--all", "every_check", is_flag=True, help="Also list checks that only decide between two ways."
)
@settings("own_matrices", "language", "as_json")
def scan(run: Settings, requirement: str, every_check: bool) -> int:
    """List the version checks in a project's own code, with drafts of facts.

    Reads a wheel of the release (or its archive), by default of the newest, without running
    anything: calls such as `check_version("vllm<=0.11.0")`, comparisons with the version of another
    project, and messages in compiled code. Says beside each what the metadata and facts have on
    that project. A draft is not a fact: read the code around it first.
    """
    need = _requirement(requirement)
    with (
        closing(Catalogs(run, readings=False)) as catalogs,
        TemporaryDirectory(prefix=".ascend-lock-") as folder,
    ):
        problem = _any_problem(run.matrices)
        with closing(catalogs.live(problem)) as catalog:
            offers = Offers(problem, catalog)
            run.progress.label("cli.looking-at", fact=need.name)
            version, file = _file_to_scan(need, offers)
            with OwnedFolder.open(Path(folder)) as owned:
                catalogs.pool.save([file], owned, lambda _: None)
            try:
                scanned = scan_code(
                    Path(folder) / file.filename, release_of(file, need.name.__eq__)
                )
                requires = offers.all_requirements(need.name, version)
            except UnusableFile as error:
                raise InputError(str(error), hint="scan another release of it") from None
            facts = [
                fact
                for fact in _facts(problem)
                if fact.package == need.name and fact.applies_to(version)
            ]
            shown = [
                check
                for check in scanned.checks
                if every_check or check.effect is not Effect.DECIDES
            ]
            found = list(compare(shown, requires, facts, offers))
    run.progress.clear()
    if run.as_json:
        print_json(scan_json(need.name, str(version), file.filename, scanned, found))
        return 0
    print_line(translate(message("scan.file", file=file.filename, count=len(found)), run.language))
    for line in (*bound_lines(found), *unread_lines(scanned)):
        print_line(translate(line, run.language))
    if text_of_drafts := drafts(need.name, str(version), file.filename, found, today()):
        print_line("")
        print_line(translate("scan.drafts", run.language))
        print_line(text_of_drafts)
    return 0


def _requirement(requirement: str) -> Requirement:
    """Return NAME or NAME==VERSION as a requirement. Raise InputError if it is none."""
    try:
        need = text.requirement(requirement)
    except InvalidRequirement:
        need = None
    if need is None or need.url or need.marker is not None:
        hint = (
            "name a project and, if you like, its release: ascend-lock facts scan pyarrow==26.0.1"
        )
        raise InputError(f"`{requirement}` is no project with a version", hint=hint)
    return need


def _any_problem(matrices: Path) -> Problem:
    """Return the first target of the first stack, for which files are chosen. Raise InputError."""
    names = stack_names(matrices)
    if not names:
        raise InputError("there is no stack", hint="name the folder of one with --matrices DIR")
    return compile_problems(load(names[0], matrices))[0]


def _file_to_scan(need: Requirement, offers: Offers) -> tuple[Version, File]:
    """Return the newest release that a requirement admits, with its wheel or, without one, archive."""
    releases = offers.matching(need.name, need.specifier)
    final = [version for version in releases if not version.is_prerelease]
    if not releases:
        hint = "the indexes of the first stack were asked; see ascend-lock stacks"
        raise InputError(f"no index has a release of `{need}`", hint=hint)
    version = (final or releases)[0]
    file = offers.release(need.name, version).file
    if not file.is_wheel:
        wheels = [each for each in offers.files(need.name, version) if each.is_wheel]
        file = wheels[0] if wheels else file
    if file.size is not None and file.size > _LARGEST:
        raise InputError(
            f"{file.filename} has more than {_LARGEST >> 20} MiB",
            hint="scan a release with a smaller file",
        )
    return version, file


command.add_command(read_linkage.command)
command.add_command(import_facts.command)


def _status(checked: CheckedFact) -> int:
    if checked.verdict in (Verdict.CONTRADICTED, Verdict.GONE):
        return CHANGED_UPSTREAM
    return (
        IndexFailure.exit_status
        if any(remark.message.code == FAILED for remark in checked.remarks)
        else 0
    )


def _needs_a_look(checked: CheckedFact, failures: set[str]) -> bool:
    """Whether an index contradicts the fact, or failed in a way that is not yet in `failures`, to which it is added."""
    messages = (remark.message for remark in checked.remarks)
    new = {str(message.values["why"]) for message in messages if message.code == FAILED} - failures
    failures |= new
    return checked.verdict not in (Verdict.HOLDS, Verdict.UNCHECKED) or bool(new)


def _names_of_no_stack(names: Sequence[str], matrices: Path) -> list[str]:
    """The names of projects and facts."""
    stacks = stack_names(matrices)
    return [name for name in names if not name.endswith(".toml") and name not in stacks]


def _selected(names: Sequence[str], run: Settings) -> Iterator[tuple[Problem, list[Fact]]]:
    """Facts, each once, with the problem for which they are compared."""
    matrices = run.matrices
    shared, others = stack_names(matrices), _names_of_no_stack(names, matrices)
    stacks = [name for name in names if name not in others]
    if others or not names:
        stacks += [name for name in shared if name not in stacks]
    problems = {name: compile_problems(load(name, matrices)) for name in stacks}
    every = [fact for problem, *_ in problems.values() for fact in _facts(problem)]
    names_of_facts = {name for fact in every for name in (fact.id, fact.package)}
    for name in others:
        if names_of_facts.isdisjoint((name, text.name(name))):
            hint = did_you_mean(
                name,
                {*names_of_facts, *shared},
                "facts are named by their `id`, see matrices/facts",
            )
            raise InputError(
                f"there is no stack, no project with facts and no fact `{name}`", hint=hint
            )
    named: set[str] = {text.name(name) for name in others}
    seen: set[str] = set()
    for name, targets in problems.items():
        facts = [fact for fact in _facts(targets[0]) if fact.id not in seen]
        if names:
            projects = named | _projects(targets, run.locks) if name in names else named
            facts = [fact for fact in facts if fact.id in others or fact.package in projects]
        seen |= {fact.id for fact in facts}
        if facts:
            yield targets[0], facts


def _projects(targets: Sequence[Problem], locks: Path) -> set[str]:
    """The projects in the locks of a stack; without one, those that its lines and such facts require."""
    stack = targets[0].stack
    found = [lock_file.read(locks / stack.name / problem.target.name) for problem in targets]
    if projects := {pin.name for lock in found if lock for pin in (*lock.pin, *lock.build_pin)}:
        return projects
    needs = {root.need for root in stack.requirements}
    while new := {need.name for need in needs if isinstance(need, Requirement)} - projects:
        projects |= new
        needs = {
            need for fact in _facts(targets[0]) if fact.package in new for need in needs_of(fact)
        }
    return projects


def _facts(problem: Problem) -> list[Fact]:
    """The facts of a stack; those that it sets aside are included unchanged, and so are practices that are off."""
    relaxed = {row.fact.id: row.fact for row in problem.stack.relaxed}
    return [fact for fact in problem.facts if fact.id not in relaxed] + [
        *relaxed.values(),
        *problem.available_practices,
    ]
