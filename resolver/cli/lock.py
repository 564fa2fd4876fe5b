"""`ascend-lock lock STACK…`, and the run over stacks by which other commands, too, come to targets and their locks."""

from __future__ import annotations

import gc
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click
from msgspec.structs import replace
from packaging.utils import canonicalize_name

from resolver.cli import options
from resolver.cli.catalogs import Catalogs
from resolver.cli.commands import failure
from resolver.cli.console import ConflictPage
from resolver.cli.options import ALL, Settings, settings
from resolver.cli.outcome import TOLD_AS, Job, Outcome, outcome_json, print_targets, tell_failures, tell_outcomes
from resolver.cli.stacks import chosen, named
from resolver.config.compile import compile_problems
from resolver.config.load import load
from resolver.errors import InputError, NothingToLock, ResolverError, StaleLock
from resolver.i18n import translate
from resolver.index.protocol import Catalog
from resolver.lock import file as lock_file
from resolver.lock import folder as lock_folder
from resolver.lock.previous import KEEP_ALL, UpgradePolicy, replaced_files, same_decisions, with_changes
from resolver.lock.remembered import RememberedLock, rendered
from resolver.model.lock import Lock
from resolver.model.message import message
from resolver.model.requirement import Requirement
from resolver.report.rendering import render

if TYPE_CHECKING:  # a remembered lock needs no explaining
    from resolver.model.explanation import Explanation

_Result = TypeVar("_Result")

_NEEDS_FACTS = ("torch-npu", "vllm-ascend")  # their metadata says nothing of CANN, nor of what to install with them


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
    names = named(stacks, run.matrices)
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
            tell_failures(outcomes, run.language)
        failed = any(isinstance(outcome.found, ResolverError) for outcome in outcomes)
        told = [outcome_json(outcome, run.language) for outcome in outcomes]
        print_targets("error" if failed else TOLD_AS[status], told)
        return status
    tell_outcomes(outcomes, run.language, together=len(names) > 1)
    if stale:
        again = (word for word in sys.argv[1:] if word not in ("--check", "--dry-run"))
        run.tell("cli.hint", command=shlex.join(("ascend-lock", *again)))
    return status


def _lock_all(names: Sequence[str], session: Session) -> list[Outcome]:
    """The outcome for each target of each stack, in order. A failure does not keep others from being locked."""
    prepared = [(name, _attempt(partial(session.jobs, name))) for name in names]
    jobs = [job for _, found in prepared if not isinstance(found, ResolverError) for job in found]
    session.policy.check([job.previous for job in jobs if job.previous is not None])
    outcomes: list[Outcome] = []
    for number, (name, found) in enumerate(prepared, 1):
        session.settings.progress.place(f"{number}/{len(names)} " if len(names) > 1 else "")
        done = found if isinstance(found, ResolverError) else _attempt(partial(session.lock, found))
        outcomes += [Outcome(stack=name, found=done, dry=session.dry)] if isinstance(done, ResolverError) else done
        if number < len(prepared):
            gc.collect()  # a solved stack leaves reference cycles, and collection is disabled
    return outcomes


class _OvertakenError(Exception):
    """Another run wrote a lock since this one read it."""


def _attempt(work: Callable[[], _Result]) -> _Result | ResolverError:
    """The result of `work`, or why it failed."""
    try:
        return work()
    except Exception as error:
        return failure(error)


@dataclass(frozen=True)
class Session:
    """What a run works with. Conflicts are told on the `page`; `anew` solves even if the result is remembered.

    A `dry` one leaves the folders of locks as they are. With `all_or_none` nothing is written unless every target has a
    lock.
    """

    settings: Settings
    catalogs: Catalogs
    page: ConflictPage
    policy: UpgradePolicy = KEEP_ALL
    anew: bool = False
    dry: bool = False
    all_or_none: bool = False

    def jobs(self, stack: str) -> list[Job]:
        """The targets of a stack, each with its existing lock. Raises ResolverError."""
        run, progress = self.settings, self.settings.progress
        inputs = load(stack, run.matrices)
        problems = chosen(compile_problems(inputs, exclude_newer=run.cutoff), run.targets)
        needs = [ask.need for problem in problems for ask in problem.stack.asks]
        asked = {need.name for need in needs if isinstance(need, Requirement)}
        for name in _NEEDS_FACTS:
            if name in asked and not (run.matrices / "facts" / f"{name}.toml").is_file():
                progress.warn(message("cli.no-facts", name=name, folder=run.matrices / "facts"))
        jobs = []
        for problem in self.catalogs.with_sources(problems):
            folder = run.locks / problem.stack.name / problem.target.name
            if not self.dry:
                lock_folder.tidy(folder)
            previous = self._previous(folder)
            has_report = not (folder / lock_file.NAME).exists() and bool(lock_folder.reports(folder))
            jobs.append(Job(inputs, problem, folder, previous, has_report))
        return jobs

    def lock(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Lock each target, with conflicts on the page; then write the locks, all at once, and the reports.

        If another run writes a lock meanwhile, that becomes the previous lock and locking starts over from it.
        Otherwise an upgrade would be undone by a run that started before it and finished after it.
        """
        while True:
            try:
                return self._write([self._outcome(job) for job in jobs])
            except _OvertakenError:
                jobs = [replace(job, previous=self._previous(job.folder)) for job in jobs]

    def _previous(self, folder: Path) -> Lock | None:
        """The lock in a folder; None if there is none.

        Raises InputError if it cannot be read; for an upgrade, which keeps nothing of it, that is None, too.
        """
        try:
            return lock_file.read_own(folder)
        except InputError:
            if self.policy.upgrade:
                return None
            raise

    def _outcome(self, job: Job) -> Outcome:
        stack, target = job.problem.stack.name, job.problem.target.name
        progress = self.settings.progress
        progress.label("cli.locking", stack=stack, target=target)
        began = time.monotonic()
        found = _attempt(partial(self._answer, job))
        moved = isinstance(found, Lock) and (job.previous is None or not same_decisions(job.previous, found))
        return Outcome(stack=stack, job=job, found=found, dry=self.dry, seconds=time.monotonic() - began, moved=moved)

    def _answer(self, job: Job) -> Lock | Explanation:
        answer = self.catalogs.ask(job.problem, partial(self._lock_or_explain, job))
        if not isinstance(answer, Lock):
            return answer
        progress, language = self.settings.progress, self.settings.language
        if not answer.pin:
            notes = [translate(note, language) for note in answer.notes]
            raise NothingToLock(
                translate("cli.nothing-applies", language, stack=answer.stack, target=answer.target.name),
                where=job.problem.stack.where,
                why="; ".join(notes) or translate("cli.nothing-applies-why", language),
                hint=translate("cli.nothing-applies-hint", language),
            )
        for was, now in replaced_files(job.previous, answer) if job.previous is not None else ():
            progress.warn(message("cli.replaced", file=now.name, was=was.sha256, now=now.sha256))
        return with_changes(answer, job.previous)

    def _lock_or_explain(self, job: Job, catalog: Catalog) -> Lock | Explanation:
        """The lock, regardless of what changed; without a solution, the explanation."""
        problem, kept = job.problem, self.policy.keep(job.previous)
        remembered = RememberedLock(self.catalogs.pool.cache, problem)
        lock = None if self.anew else remembered.recall(catalog, kept)
        if lock is not None:
            return lock
        from resolver.cli.answers import explained, solved
        from resolver.resolve.solver import Refutation
        from resolver.resolve.universe import Universe

        universe = Universe(problem, catalog, kept.pins)
        answer = solved(universe, kept, self.settings.progress.solving)
        if isinstance(answer, Refutation):
            return explained(answer, job.inputs, self)
        # a lock is a fixed point: solving with its own pins preferred gives it again
        for preferences in (kept, KEEP_ALL.keep(answer)):
            remembered.keep(catalog, answer, preferences)
        return answer

    def _write(self, outcomes: list[Outcome]) -> list[Outcome]:
        if self.all_or_none and not all(isinstance(outcome.found, Lock) for outcome in outcomes):
            return outcomes
        before = {outcome.folder: outcome.job.previous for outcome in outcomes if outcome.job}
        changed: dict[Path, dict[str, str]] = {}
        names: dict[Path, tuple[str, ...]] = {}
        for outcome in outcomes:
            folder, found = outcome.folder, outcome.found
            if isinstance(found, Lock):
                texts = rendered(found, self.catalogs.pool.cache, render)
                if old := (*lock_folder.outdated(texts, folder), *lock_folder.reports(folder)):
                    changed[folder], names[folder] = texts, old
            elif not isinstance(found, ResolverError) and not self.dry:
                from resolver.report.explanation.conflict import report_files

                report = report_files(found)
                lock_folder.add(folder, report)
                names[folder] = tuple(report)

        def require_the_same(folder: Path) -> None:
            if self._previous(folder) != before[folder] and lock_folder.outdated(changed[folder], folder):
                raise _OvertakenError

        if not self.dry:
            lock_folder.replace(changed, require_the_same)
        return [replace(outcome, written=names.get(outcome.folder, ())) for outcome in outcomes]
