"""Run `ascend-lock lock STACK…`: lock stacks for their targets."""

from __future__ import annotations

import datetime as dt
import shlex
import sys
from collections.abc import Collection, Sequence
from contextlib import closing, suppress
from functools import partial
from itertools import chain
from typing import Final

import click
from click.core import ParameterSource
from msgspec.structs import replace
from packaging.utils import NormalizedName, canonicalize_name

from resolver.cli import options
from resolver.cli.catalogs import Catalogs
from resolver.cli.common import Command, other_checks
from resolver.cli.console import ConflictPage
from resolver.cli.options import ALL, Settings, settings, ships
from resolver.cli.outcome import TargetResult, print_failures, print_result_json, print_results
from resolver.cli.selection import named_locks, print_stacks, stacks_to_lock
from resolver.cli.session import Session, result_or_error
from resolver.cli.unmoved import print_unmoved
from resolver.cli.workers import LockOptions, lock_stacks
from resolver.config.find_stack import find_stack
from resolver.errors import IndexFailure, InputError, ResolverError, StaleLock
from resolver.index.protocol import Catalog
from resolver.lock.previous import UpgradePolicy
from resolver.model.as_of import AUTO, NEWEST
from resolver.model.lock import Lock
from resolver.model.problem import Problem
from resolver.model.requirement import Requirement
from resolver.model.text import pinned_version
from resolver.phrase import literal, phrase

# A day that is so long before the newest release is no choice that a user made by a pin.
_LONG: Final = dt.timedelta(days=365)
# The time limit for an explanation that is recorded, in seconds. It is long, because the snapshot
# must have all requests.
_SECONDS_TO_RECORD: Final = 900.0
# Parameters that have no meaning with --record.
_LOCK_ONLY: Final = ("upgrade", "packages", "anew", "check", "dry_run")


@click.command("lock", cls=Command, epilog=other_checks("lock --check"))
@options.stacks("stacks", "[STACK...]", required=False)
@click.option("-U", "--upgrade", is_flag=True, help="Ignore the pins of the existing lock.")
@click.option(
    "-P",
    "--upgrade-package",
    "packages",
    multiple=True,
    metavar="NAME",
    shell_complete=options.completed("projects"),
    help="Ignore the pin of this project; may be repeated.",
)
@click.option(
    "--anew",
    is_flag=True,
    help="Solve again even if the cache has the result for the same inputs.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Write nothing; exit with status 4 if locking would change anything.",
)
@click.option("--dry-run", is_flag=True, help="Write nothing, and say what locking would change.")
@click.option(
    "--record",
    "is_recorded",
    is_flag=True,
    help="Write no lock, but record what locking asks the indexes, for use offline.",
)
@settings("targets", "cutoff", "as_of", "seconds")
def command(
    run: Settings,
    stacks: tuple[str, ...],
    upgrade: bool,
    packages: tuple[str, ...],
    anew: bool,
    check: bool,
    dry_run: bool,
    is_recorded: bool,
) -> int:
    """Lock each STACK for all of its targets.

    Without a STACK, the stacks are listed. STACK is a name in matrices/stacks, the path of a .toml
    file, or `all`. If there is none of a name, nothing is locked. A stack or target that fails does
    not keep the others from being locked. The exit status is the highest of all targets; with
    `all`, a target that so far has a conflict report instead of a lock, and still has no solution,
    counts as done.
    """
    if is_recorded:
        return _record(run, stacks)
    if not stacks:
        _require_only_listed()
        print_stacks(run)
        return 0
    names = stacks_to_lock(stacks, run)
    if len(names) > 1:
        _require_stacks(names, run, is_upgrade=upgrade)
    policy = UpgradePolicy(upgrade, frozenset(map(canonicalize_name, packages)))
    dry_run = check or dry_run
    results = _lock(names, LockOptions(run, policy, anew, dry_run))
    run.progress.clear()
    counted = [result for result in results if not (ALL in stacks and result.is_known_conflict)]
    status = max((result.exit_status for result in counted), default=0)
    is_stale = check and any(result.written for result in results)
    if is_stale:
        status = max(status, StaleLock.exit_status)
    if run.as_json:
        print_result_json(results, status, run.language)
        return status
    if run.is_quiet and not dry_run:
        print_failures(results, run.language)
        return status
    print_results(results, run.language, together=len(names) > 1)
    _print_day_hint(results, run, policy)
    _print_pinned(results, policy.packages, run)
    if not upgrade:
        _print_old_day(results, run)
    print_unmoved(results, policy.packages, run)
    if is_stale:
        arguments = [word for word in sys.argv[1:] if word not in ("--check", "--dry-run")]
        run.print_note("cli.hint", command=shlex.join(("ascend-lock", *arguments)))
    return status


def _print_day_hint(results: Sequence[TargetResult], run: Settings, policy: UpgradePolicy) -> None:
    """Print how to keep a day of the command line, or how to upgrade beyond the stack's own day.

    The next run takes the day from the stack's file again. Nothing is printed of a day without any
    effect on the projects to upgrade.
    """
    for result in results:
        if result.job is None or not isinstance(result.answer, Lock):
            continue
        if policy.packages and not result.pins_changed:
            continue
        own_day = result.job.compiler.inputs.stack.content.policy.as_of
        if run.as_of and run.as_of != own_day:
            is_word = run.as_of in (AUTO, NEWEST)
            value = f'"{run.as_of}"' if is_word else run.as_of
            stack = result.job.problem.stack.argument
            path = find_stack(stack, run.matrices)
            code = "lock.keep-day-shipped" if ships(path) else "lock.keep-day"
            run.print_note(code, value=value, stack=stack, path=path)
            if not policy.upgrade and run.as_of == NEWEST and _keeps_day(result):
                command = shlex.join(("ascend-lock", *sys.argv[1:], "--upgrade"))
                run.print_note("lock.kept-pins", command=command)
            return
        if policy.upgrade and result.answer.as_of.day and not run.as_of:
            arguments = ("ascend-lock", *sys.argv[1:], "--as-of", NEWEST)
            day = result.answer.as_of.day
            run.print_note("lock.beyond-day", day=day, command=shlex.join(arguments))
            return


def _print_pinned(
    results: Sequence[TargetResult], packages: Collection[NormalizedName], run: Settings
) -> None:
    """Print which projects of --upgrade-package stay because a line of the stack pins them."""
    printed: set[tuple[str, str]] = set()
    for result in results:
        if result.job is None:
            continue
        problem = result.job.problem
        for name in sorted(packages):
            for root in problem.requirements_on(name):
                assert isinstance(root.need, Requirement)  # noqa: S101  it is about a project
                version = pinned_version(root.need.specifier)
                if version is None or (name, root.origin.where) in printed:
                    continue
                printed.add((name, root.origin.where))
                words = ("ascend-lock", "add", problem.stack.argument, f"{name}==…")
                values = {"project": name, "where": root.origin.where, "version": str(version)}
                run.print_note("lock.pinned", **values, command=shlex.join(words))


def _keeps_day(result: TargetResult) -> bool:
    """Return whether a lock kept all pins of a lock that preferred the releases of a day."""
    previous, lock = _previous(result), result.answer
    if previous is None or not isinstance(lock, Lock) or not previous.as_of.day:
        return False
    return _versions(previous) == _versions(lock)


def _print_old_day(results: Sequence[TargetResult], run: Settings) -> None:
    """Print how to leave the day of a first lock, if what the stack asks for is far newer by now.

    Only pages that were read for the lock count. The clock only saves reading them: nothing can be
    far newer than a day that is not long ago.
    """
    for result in results:
        lock, job = result.answer, result.job
        if job is None or job.previous is not None or not isinstance(lock, Lock):
            continue
        if lock.as_of.latest is None:
            continue
        long_after = dt.date.fromisoformat(lock.as_of.day) + _LONG
        if long_after >= options.today():
            continue
        with closing(Catalogs(replace(run, offline=True))) as catalogs, suppress(IndexFailure):
            release, day = catalogs.ask(job.problem, partial(_newest, job.problem))
            if day > long_after.isoformat():
                stack = job.problem.stack.argument
                words = ("ascend-lock", "lock", stack, "--as-of", NEWEST, "--upgrade")
                values = {"day": lock.as_of.day, "release": release, "uploaded": day}
                run.print_note("lock.old-day", **values, command=shlex.join(words), stack=stack)
                return


def _newest(problem: Problem, catalog: Catalog) -> tuple[str, str]:
    """Return the final release of the stack's lines that was uploaded last, and its day.

    Both are empty if no day is known. Raises IndexFailure.
    """
    # It is not needed otherwise.
    from resolver.resolve.project import OrderedReleases

    newest = ("", "")
    for root in problem.stack.requirements:
        need = root.need
        if not isinstance(need, Requirement) or need.url:
            continue
        releases = OrderedReleases(catalog.lookup(need.name))
        admitted = releases.stable & releases.mask(need.specifier)
        # The release of the highest version is at the lowest position.
        position = (admitted & -admitted).bit_length() - 1
        if position >= 0 and releases.day(position) > newest[1]:
            newest = (f"{need.name} {releases.versions[position]}", releases.day(position))
    return newest


def _previous(result: TargetResult) -> Lock | None:
    """Return the lock that was there before the run; None if there was none."""
    return None if result.job is None else result.job.previous


def _versions(lock: Lock) -> dict[str, str]:
    """Return the versions of a lock's pins by their names."""
    return {pin.name: pin.version for pin in lock.pin}


def _require_stacks(names: Sequence[str], run: Settings, *, is_upgrade: bool) -> None:
    """Raise InputError if there is no stack of a name, before any other stack is locked.

    `pip install --upgrade NAME` takes a project. So if all pins would be upgraded, and the unknown
    names are projects of the other stacks' locks, the hint has --upgrade-package.
    """
    unknown: dict[str, InputError] = {}
    for name in names:
        try:
            find_stack(name, run.matrices)
        except InputError as error:
            unknown[name] = error
    if not unknown:
        return
    refusal = next(iter(unknown.values()))
    known = [name for name in names if name not in unknown]
    projects = {canonicalize_name(name) for name in unknown}
    if is_upgrade and projects <= _locked_projects(known, run):
        chosen = chain.from_iterable(("-P", project) for project in sorted(projects))
        refusal.phrases["hint"] = literal(run.command("lock", *known, *chosen))
        raise InputError(**refusal.phrases)
    raise refusal


def _locked_projects(stacks: Sequence[str], run: Settings) -> set[str]:
    """Return the projects of the locks of stacks. Stacks without a lock are skipped."""
    projects: set[str] = set()
    for stack in stacks:
        with suppress(InputError):
            for named in named_locks(stack, run):
                projects.update(pin.name for pin in named.lock.pin)
    return projects


def _lock(names: Sequence[str], lock_options: LockOptions) -> list[TargetResult]:
    """Lock stacks, and return the results of their targets. Raises ResolverError."""
    run, policy, ignore_remembered, dry_run = lock_options
    # For a single stack, conflicts are printed as they become known. For several there is a table.
    out = sys.stderr if len(names) == 1 and not run.as_json else None
    page = ConflictPage(out, run.progress, run.repeated_options)
    results: list[TargetResult] = []
    with closing(Catalogs(run)) as catalogs:
        session = Session(run, catalogs, page, policy, ignore_remembered, dry_run=dry_run)
        if policy.packages:
            policy.check(_previous_locks(names, session))
        if len(names) == 1:
            results += session.lock_stack(names[0])
    if len(names) > 1:
        for of_stack in lock_stacks(names, lock_options):
            results += of_stack
    return results


def _require_only_listed() -> None:
    """Raise InputError if an option is given that has a meaning only for stacks to lock.

    A job of CI that only lists the stacks would succeed whatever their locks are.
    """
    context = click.get_current_context()
    for name in _LOCK_ONLY:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise InputError(
                phrase("a stack is needed"),
                where=_option(name),
                hint=phrase("name stacks, or lock all of them: {command}", command=_with_all()),
            )


def _with_all() -> str:
    """Return the command line of this run with `all` as its stack."""
    return shlex.join(("ascend-lock", *sys.argv[1:], ALL))


def _option(parameter: str) -> str:
    """Return the option of a parameter of this command."""
    return "--" + parameter.replace("packages", "upgrade-package").replace("_", "-")


def _record(run: Settings, stacks: Sequence[str]) -> int:
    """Record what locking stacks requests from the indexes. Return the exit status.

    Raise click.UsageError if no stack is named, or if an option is given that only locking has.
    """
    if not stacks:
        raise click.MissingParameter(param_hint="'STACK...'", param_type="argument")
    context = click.get_current_context()
    for name in _LOCK_ONLY:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--record writes no lock, so {_option(name)} has no meaning.")
    # Only for this option.
    from resolver.cli.record import record

    if context.get_parameter_source("seconds") is not ParameterSource.COMMANDLINE:
        run = replace(run, seconds=_SECONDS_TO_RECORD)
    record(stacks_to_lock(stacks, run), run)
    return 0


def _previous_locks(names: Sequence[str], session: Session) -> list[Lock]:
    """Return the existing locks of stacks. Stacks that cannot be read are skipped."""
    locks = []
    for name in names:
        jobs = result_or_error(partial(session.jobs, name))
        if not isinstance(jobs, ResolverError):
            locks += [job.previous for job in jobs if job.previous is not None]
    return locks
