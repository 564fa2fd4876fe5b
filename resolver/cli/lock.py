"""`ascend-lock lock STACK…`."""

from __future__ import annotations

import gc
import shlex
import sys
from collections.abc import Sequence
from contextlib import closing
from functools import partial

import click
from packaging.utils import canonicalize_name

from resolver.cli import options
from resolver.cli.catalogs import Catalogs
from resolver.cli.console import ConflictPage
from resolver.cli.options import ALL, Settings, settings
from resolver.cli.outcome import (
    STATUS_BY_EXIT,
    TargetResult,
    outcome_json,
    print_failures,
    print_results,
    print_targets,
)
from resolver.cli.selection import named_stacks
from resolver.cli.session import Session, attempt
from resolver.errors import ResolverError, StaleLock
from resolver.lock.previous import UpgradePolicy


@click.command("lock")
@options.stacks("stacks", "STACK...")
@click.option("--upgrade", is_flag=True, help="Ignore the pins of the existing lock.")
@click.option(
    "--upgrade-package", "packages", multiple=True, metavar="NAME", help="Ignore this one pin; may be repeated."
)
@click.option("--anew", is_flag=True, help="Solve even if the result for the same inputs and pages is remembered.")
@click.option("--check", is_flag=True, help="Write nothing; exit with status 4 if locking would change anything.")
@click.option("--dry-run", is_flag=True, help="Write nothing, and say what locking would change.")
@settings("offline", "targets", "cutoff", "seconds", "language", "own_matrices", "locks", "as_json")
def command(
    run: Settings,
    stacks: tuple[str, ...],
    upgrade: bool,
    packages: tuple[str, ...],
    anew: bool,
    check: bool,
    dry_run: bool,
) -> int:
    """Lock each STACK for all of its targets.

    STACK is a name in matrices/stacks, the path of a .toml file, or `all`. A stack or target that fails does not keep
    the others from being locked. The exit status is the highest of them; with `all`, a target that so far has a
    conflict report instead of a lock, and still has no solution, counts as done.
    """
    names = named_stacks(stacks, run.matrices)
    # for a single stack contradictions are printed as they become known; for several there is a table
    out = sys.stderr if len(names) == 1 and not run.as_json else None
    with closing(Catalogs(run)) as catalogs:
        policy = UpgradePolicy(upgrade, frozenset(map(canonicalize_name, packages)))
        session = Session(run, catalogs, ConflictPage(out, run.progress, run.again), policy, anew, dry=check or dry_run)
        outcomes = _lock_all(names, session)
    run.progress.clear()
    counted = [outcome for outcome in outcomes if not (ALL in stacks and outcome.is_known)]
    status = max((outcome.exit_status for outcome in counted), default=0)
    stale = check and any(outcome.written for outcome in outcomes)
    if stale:
        status = max(status, StaleLock.exit_status)
    if run.as_json:
        if len(outcomes) == 1 and isinstance(outcomes[0].found, ResolverError):
            print_failures(outcomes, run.language)
        failed = any(isinstance(outcome.found, ResolverError) for outcome in outcomes)
        told = [outcome_json(outcome, run.language) for outcome in outcomes]
        print_targets("error" if failed else STATUS_BY_EXIT[status], told)
        return status
    print_results(outcomes, run.language, together=len(names) > 1)
    if stale:
        again = (word for word in sys.argv[1:] if word not in ("--check", "--dry-run"))
        run.print_message("cli.hint", command=shlex.join(("ascend-lock", *again)))
    return status


def _lock_all(names: Sequence[str], session: Session) -> list[TargetResult]:
    """The outcome for each target of each stack, in order. A failure does not keep others from being locked."""
    prepared = [(name, attempt(partial(session.jobs, name))) for name in names]
    jobs = [job for _, found in prepared if not isinstance(found, ResolverError) for job in found]
    session.policy.check([job.previous for job in jobs if job.previous is not None])
    outcomes: list[TargetResult] = []
    for number, (name, found) in enumerate(prepared, 1):
        session.settings.progress.place(f"{number}/{len(names)} " if len(names) > 1 else "")
        done = found if isinstance(found, ResolverError) else attempt(partial(session.lock, found))
        outcomes += [TargetResult(stack=name, found=done, dry=session.dry)] if isinstance(done, ResolverError) else done
        if number < len(prepared):
            gc.collect()  # a solved stack leaves reference cycles, and collection is disabled
    return outcomes
