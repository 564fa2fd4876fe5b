"""Run `ascend-lock facts`: the group of its commands, and `facts check`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import chain

import click
from packaging.specifiers import SpecifierSet

from resolver.audit.cited import Library, Unread
from resolver.audit.compare import DAYS
from resolver.audit.fact_checks import (
    FAILED,
    CheckedFact,
    Verdict,
    check_fact,
    projects_of,
)
from resolver.audit.offers import Offers
from resolver.audit.source_checks import CheckedSource, Said, check_source
from resolver.cli import import_facts, options, read_archives, read_linkage, scan, show_facts
from resolver.cli.catalogs import Catalogs
from resolver.cli.commands import list_commands
from resolver.cli.common import Group, other_checks
from resolver.cli.console import print_json, print_line
from resolver.cli.fact_selection import names_of_no_stack, selected_facts
from resolver.cli.options import ALL, Settings, settings, today
from resolver.errors import CHANGED_UPSTREAM, IndexFailure
from resolver.index.repositories import Repositories
from resolver.index.store.cache import default_folder
from resolver.model.fact import Fact
from resolver.report.explanation.sentences import target_line
from resolver.report.source_checks import source_line, sources_json, sources_summary
from resolver.report.upstream import fact_json, fact_line, facts_summary

# The `status` in --json, by exit status.
_STATUS = {
    0: "held",
    IndexFailure.exit_status: "out-of-reach",
    CHANGED_UPSTREAM: "contradicted",
}
_STATUS_OF_SOURCES = {0: "true", 1: "false", IndexFailure.exit_status: "out-of-reach"}


@click.group("facts", cls=Group, invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> int:
    """Show or check facts, read archives, or scan code for new ones."""
    return list_commands(context)


@command.command("check", epilog=other_checks("facts check"))
@click.argument("names", metavar="[NAME...]", nargs=-1)
@click.option("--all", "every_line", is_flag=True, help="Print a line for every fact.")
@click.option(
    "--sources",
    "by_sources",
    is_flag=True,
    help="Open the sources of facts instead, and look for what they state.",
)
@options.facts_days
@settings()
def check(
    run: Settings,
    names: tuple[str, ...],
    every_line: bool,
    by_sources: bool,
    facts_days: int | None,
) -> int:
    """Compare facts with what the indexes say today.

    NAME is a stack, a project or the id of a fact. For a project, the facts about it are compared.
    For a stack, they are the facts about the projects in its locks or, without a lock, about the
    projects that its lines and these facts require. Without NAME, or with `all`, every fact is
    compared, for the first target of the first stack that uses it. Nothing is changed.

    Prints the number of facts that hold, and a line for each fact that needs attention. If NAME is
    a project or a fact, each fact that was compared has a line.

    With --sources, no metadata is compared. Instead the sources of the facts are opened: files of
    repositories with git, members of wheels and archives through the indexes. Each source must
    contain the versions and values of its fact, close to each other. The exit status is 1 if one
    does not.
    """
    if ALL in names:
        names = ()
    every_line = every_line or bool(names_of_no_stack(names, run))
    if by_sources:
        return _check_sources(run, names, every_line=every_line)
    days = DAYS if facts_days is None else facts_days
    repositories = Repositories(default_folder(), warn=run.progress.warn)
    all_checked: list[CheckedFact] = []
    rows = []
    failures: set[str] = set()
    with closing(Catalogs(run, readings=False)) as catalogs:
        for problem, facts in selected_facts(names, run):
            checked_for_problem: list[CheckedFact] = []
            with closing(catalogs.live(problem)) as catalog:
                for checked in _checked(facts, Offers(problem, catalog), repositories, run):
                    checked_for_problem.append(checked)
                    is_old = (today() - checked.fact.checked).days > days
                    needs_a_look = _needs_a_look(checked, failures)
                    if run.as_json:
                        rows.append(fact_json(checked, old=is_old, language=run.language))
                    elif every_line or is_old or needs_a_look:
                        _print_checked(checked, days if is_old else None, run)
            run.progress.clear()
            all_checked += checked_for_problem
            if not run.as_json:
                print_line(facts_summary(checked_for_problem, target_line(problem), run.language))
    status = max(map(_status, all_checked), default=0)
    if run.as_json:
        print_json({"status": _STATUS[status], "facts": rows})
    elif not all_checked:
        print_line(facts_summary(all_checked, "", run.language))
    return status


def _checked(
    facts: Sequence[Fact], offers: Offers, repositories: Repositories, run: Settings
) -> Iterator[CheckedFact]:
    """Yield the facts with the findings about them. Their pages are requested at once."""
    projects = dict.fromkeys(chain.from_iterable(map(projects_of, facts)))
    offers.catalog.prefetch((project, SpecifierSet()) for project in projects)
    for fact in facts:
        run.progress.label("cli.looking-at", fact=fact.id)
        yield check_fact(fact, offers, repositories)


def _print_checked(checked: CheckedFact, old_after: int | None, run: Settings) -> None:
    """Print the line of a fact.

    `old_after` is after how many days a fact is old, if this one is; else None.
    """
    run.progress.clear()
    print_line(fact_line(checked, old_after=old_after, language=run.language))


def _check_sources(run: Settings, names: tuple[str, ...], *, every_line: bool) -> int:
    """Open the sources of facts, print what is wrong with them, and return the exit status."""
    repositories = Repositories(default_folder(), blobless=True, warn=run.progress.warn)
    every: list[tuple[Fact, CheckedSource]] = []
    with closing(Catalogs(run, readings=False)) as catalogs:
        for problem, facts in selected_facts(names, run):
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
        rows = sources_json(every, run.language)
        print_json({"status": _STATUS_OF_SOURCES[status], "facts": rows})
    else:
        print_line(sources_summary(every, run.language))
    return status


def _status_of_sources(every: Sequence[CheckedSource]) -> int:
    """Return the exit status: 1 if a source is false, 3 if one is unreachable, else 0."""
    if any(checked.said is Said.FALSE for checked in every):
        return 1
    for reference in chain.from_iterable(checked.references for checked in every):
        if reference.unread in (Unread.REPOSITORY, Unread.INDEX):
            return IndexFailure.exit_status
    return 0


def _status(checked: CheckedFact) -> int:
    """Return the exit status of a run with this fact alone."""
    if checked.verdict in (Verdict.CONTRADICTED, Verdict.GONE):
        return CHANGED_UPSTREAM
    if any(remark.message.code == FAILED for remark in checked.remarks):
        return IndexFailure.exit_status
    return 0


def _needs_a_look(checked: CheckedFact, failures: set[str]) -> bool:
    """Return whether a fact needs attention.

    It does if an index contradicts it, or fails in a way that is not in `failures` yet. New
    failures are added to `failures`.
    """
    is_new = False
    for remark in checked.remarks:
        if remark.message.code == FAILED:
            why = str(remark.message.values["why"])
            is_new = is_new or why not in failures
            failures.add(why)
    return is_new or checked.verdict not in (Verdict.HOLDS, Verdict.UNCHECKED)


for subcommand in (show_facts, read_archives, scan, read_linkage, import_facts):
    command.add_command(subcommand.command)
