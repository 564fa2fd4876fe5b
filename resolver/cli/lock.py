"""`ascend-lock lock STACK…`."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import Any

import click
from packaging.utils import canonicalize_name

from resolver.cli import options
from resolver.cli.catalogs import Catalogs
from resolver.cli.console import Page, columns, complain
from resolver.cli.options import ALL, Settings, settings
from resolver.cli.session import Outcome, Session, attempt
from resolver.cli.stacks import named
from resolver.errors import ResolverError
from resolver.i18n import translate
from resolver.json_text import json_text
from resolver.lock.previous import UpgradePolicy
from resolver.model.lock import Lock
from resolver.model.message import Message
from resolver.model.text import Language
from resolver.report.sanitize import COLUMNS
from resolver.report.summary import Row, closing_line, lock_json, summary, table

CONFLICT = 1
UNDECIDED = 3  # as for a failure of an index, since it depends on one
_STATUS = {"locked": 0, "without-a-solution": CONFLICT, "undecided": UNDECIDED}  # of each kind of row
_TOLD_AS = {0: "locked", CONFLICT: "conflict", UNDECIDED: "undecided"}  # in --json, by exit status


@click.command("lock")
@options.stacks("stacks", "STACK...")
@click.option("--upgrade", is_flag=True, help="Ignore the pins of the existing lock.")
@click.option(
    "--upgrade-package", "packages", multiple=True, metavar="NAME", help="Ignore this one pin; may be repeated."
)
@click.option("--anew", is_flag=True, help="Solve even if the result for the same inputs and pages is remembered.")
@settings("offline", "targets", "cutoff", "seconds", "language", "own_matrices", "locks", "as_json")
def command(run: Settings, stacks: tuple[str, ...], upgrade: bool, packages: tuple[str, ...], anew: bool) -> int:
    """Lock each STACK for all of its targets.

    STACK is a name in matrices/stacks, the path of a .toml file, or `all`. A stack or target that fails does not keep
    the others from being locked. The exit status is the highest of them; with `all`, a target that so far has a
    conflict report instead of a lock, and still has no solution, counts as done.
    """
    names = named(stacks, run.matrices)
    # for a single stack contradictions are printed as they become known; for several there is a table
    out = sys.stderr if len(names) == 1 and not run.as_json else None
    with closing(Catalogs(run)) as catalogs:
        policy = UpgradePolicy(upgrade, frozenset(map(canonicalize_name, packages)))
        session = Session(run, catalogs, Page(out, run.progress, run.again), policy, anew)
        outcomes = _lock_all(names, session)
    run.progress.clear()
    rows = [_row(outcome, run.language) for outcome in outcomes]
    status = 0
    for outcome, row in zip(outcomes, rows, strict=True):
        if not (ALL in stacks and outcome.is_known):
            found = outcome.found
            status = max(status, found.exit_status if isinstance(found, ResolverError) else _STATUS[row.kind])
    if run.as_json:
        if len(outcomes) == 1 and isinstance(outcomes[0].found, ResolverError):
            _tell_failures(outcomes, run.language)
        failed = any(isinstance(outcome.found, ResolverError) for outcome in outcomes)
        told = [_json(outcome, run.language) for outcome in outcomes]
        print_json("error" if failed else _TOLD_AS[status], told)
        return status
    if len(names) == 1:
        _tell(outcomes, run.language)
    _tell_failures(outcomes, run.language)
    if len(names) > 1:
        sys.stdout.write(table(rows, run.language) + closing_line(rows, run.language))
    elif len(rows) > 1:
        sys.stdout.write("\n" + table(rows, run.language))
    return status


def _lock_all(names: Sequence[str], session: Session) -> list[Outcome]:
    """The outcome for each target of each stack, in order. A failure does not keep others from being locked."""
    prepared = [(name, attempt(partial(session.jobs, name))) for name in names]
    jobs = [job for _, found in prepared if not isinstance(found, ResolverError) for job in found]
    session.policy.check([job.previous for job in jobs if job.previous is not None])
    outcomes: list[Outcome] = []
    for number, (name, found) in enumerate(prepared, 1):
        session.settings.progress.place(f"{number}/{len(names)} " if len(names) > 1 else "")
        done = found if isinstance(found, ResolverError) else attempt(partial(session.lock, found))
        outcomes += [Outcome(stack=name, found=done)] if isinstance(done, ResolverError) else done
        if number < len(prepared):
            gc.collect()  # a solved stack leaves reference cycles, and collection is disabled
    return outcomes


def print_json(status: str, targets: Sequence[dict[str, Any]]) -> None:
    """Print one shape, described in docs/lock.md; the keys of an only target are also at the top."""
    only = targets[0] if len(targets) == 1 else {}
    sys.stdout.write(json_text({**only, "status": status, "targets": targets}) + "\n")


def _json(outcome: Outcome, language: Language) -> dict[str, Any]:
    match outcome.found:
        case Lock() as lock:
            return lock_json(lock, outcome.folder, moved=outcome.moved)
        case ResolverError() as error:
            return {"status": "error", "stack": outcome.stack, "target": outcome.target, **error.parts()}
        case explanation:
            from resolver.report.explanation.json import explanation_json  # loaded where there is a conflict

            return explanation_json(explanation, language)


def _tell(outcomes: Sequence[Outcome], language: Language) -> None:
    """Print everything about the locks of one stack, each warning once."""
    warned: set[Message] = set()
    for outcome in outcomes:
        if isinstance(lock := outcome.found, Lock) and outcome.job is not None:
            sys.stdout.write(
                summary(
                    lock,
                    outcome.job.problem,
                    outcome.folder,
                    language,
                    written=outcome.written,
                    moved=outcome.moved,
                    told=warned,
                    columns=columns(sys.stdout, COLUMNS),
                )
            )
            warned.update(lock.all_warnings)


def _tell_failures(outcomes: Sequence[Outcome], language: Language) -> None:
    """Print what failed, and where the reports of conflicts are."""
    for outcome in outcomes:
        match outcome.found:
            case ResolverError() as error:
                who = outcome.stack
                if outcome.target:
                    who = translate("cli.failure-of", language, stack=outcome.stack, target=outcome.target)
                complain(f"{who}: error: {error}" if len(outcomes) > 1 else f"error: {error}")
            case Lock():
                pass
            case _:
                complain(translate("conflict.report-in", language, folder=outcome.folder))


def _row(outcome: Outcome, language: Language) -> Row:
    stack, target, seconds = outcome.stack, outcome.target, outcome.seconds
    match outcome.found:
        case Lock() as lock:
            told = translate("cli.row-locked", language, pins=translate("cli.pins", language, len(lock.pin)))
            if lock.all_warnings:
                told += translate(
                    "cli.row-warned", language, warnings=translate("cli.warnings", language, len(lock.all_warnings))
                )
            changes = translate("cli.no-change", language)
            if outcome.moved and (lock.first or lock.change):
                changes = (
                    translate("cli.first-lock", language)
                    if lock.first
                    else translate("cli.pins", language, len(lock.change))
                )
            return Row(stack, target, seconds, changes, told, "locked")
        case ResolverError() as error:
            return Row(
                stack, target, seconds, "-", translate("cli.row-failed", language, message=error.message), "failed"
            )
        case explanation if explanation.awaited:
            indexes = dict.fromkeys(name for one in explanation.awaited for name in one.indexes)
            told = translate("cli.row-undecided", language, names=translate("comma", language).join(indexes))
            return Row(stack, target, seconds, "-", told, "undecided")
        case _:
            conflict = "cli.row-conflict-before" if outcome.is_known else "cli.row-conflict"
            return Row(stack, target, seconds, "-", translate(conflict, language), "without-a-solution")
