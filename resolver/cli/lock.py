"""`ascend-lock lock STACK…`, and the run over stacks by which other commands, too, come to targets and their locks."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec
from msgspec.structs import replace
from packaging.utils import canonicalize_name

from resolver.cli import options
from resolver.cli.catalogs import Catalogs
from resolver.cli.commands import failure
from resolver.cli.console import Page, columns, complain
from resolver.cli.options import ALL, Settings, settings
from resolver.cli.stacks import chosen, named
from resolver.config.compile import compile_problems
from resolver.config.load import Inputs, load
from resolver.errors import InputError, NothingToLock, ResolverError
from resolver.i18n import translate
from resolver.index.protocol import Catalog
from resolver.json_text import json_text
from resolver.lock import file as lock_file
from resolver.lock import folder as lock_folder
from resolver.lock.previous import KEEP_ALL, UpgradePolicy, replaced_files, same_decisions, with_changes
from resolver.lock.remembered import RememberedLock, rendered
from resolver.model.lock import Lock
from resolver.model.message import Message, joined, message
from resolver.model.problem import Problem
from resolver.model.requirement import Requirement
from resolver.model.text import Language
from resolver.report.rendering import render
from resolver.report.sanitize import COLUMNS
from resolver.report.summary import Row, closing_line, lock_json, summary, table

if TYPE_CHECKING:  # a remembered lock needs no explaining
    from resolver.model.explanation import Explanation

_Result = TypeVar("_Result")

_NEEDS_FACTS = ("torch-npu", "vllm-ascend")  # their metadata says nothing of CANN, nor of what to install with them
CONFLICT = 1
UNDECIDED = 3  # as for a failure of an index, since it depends on one
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
    counted = [outcome for outcome in outcomes if not (ALL in stacks and outcome.is_known)]
    status = max((outcome.exit_status for outcome in counted), default=0)
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
    rows = [_row(outcome, run.language) for outcome in outcomes]
    if len(names) > 1:
        sys.stdout.write(table(rows, run.language) + closing_line(rows, run.language))
    elif len(rows) > 1:
        sys.stdout.write("\n" + table(rows, run.language))
    return status


def _lock_all(names: Sequence[str], session: Session) -> list[_Outcome]:
    """The outcome for each target of each stack, in order. A failure does not keep others from being locked."""
    prepared = [(name, _attempt(partial(session.jobs, name))) for name in names]
    jobs = [job for _, found in prepared if not isinstance(found, ResolverError) for job in found]
    session.policy.check([job.previous for job in jobs if job.previous is not None])
    outcomes: list[_Outcome] = []
    for number, (name, found) in enumerate(prepared, 1):
        session.settings.progress.place(f"{number}/{len(names)} " if len(names) > 1 else "")
        done = found if isinstance(found, ResolverError) else _attempt(partial(session.lock, found))
        outcomes += [_Outcome(stack=name, found=done)] if isinstance(done, ResolverError) else done
        if number < len(prepared):
            gc.collect()  # a solved stack leaves reference cycles, and collection is disabled
    return outcomes


class Job(msgspec.Struct, frozen=True):
    """One target to be locked. `known`: it has a conflict report instead of a lock."""

    inputs: Inputs
    problem: Problem
    folder: Path
    previous: Lock | None
    known: bool


class _Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result for a target, its `job`; or for a whole stack, if its files could not be read.

    `moved` tells whether any decision changed, `written` whether the folder of the lock did.
    """

    stack: str
    job: Job | None = None
    found: Lock | Explanation | ResolverError
    seconds: float = 0.0
    moved: bool = False
    written: bool = False

    @property
    def target(self) -> str:
        """The name of the target; empty for a whole stack."""
        return self.job.problem.target.name if self.job is not None else ""

    @property
    def folder(self) -> Path:
        """Where the lock and the report of the target are."""
        return self.job.folder if self.job is not None else Path()

    @property
    def exit_status(self) -> int:
        """That of a run that comes to this alone."""
        match self.found:
            case Lock():
                return 0
            case ResolverError() as error:
                return error.exit_status
            case explanation:
                return UNDECIDED if explanation.awaited else CONFLICT

    @property
    def is_known(self) -> bool:
        """Whether there is no solution, and the target's conflict report said so before."""
        return not isinstance(self.found, (Lock, ResolverError)) and self.job is not None and self.job.known


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
    """What a run works with. Conflicts are told on the `page`; `anew` solves even if the result is remembered."""

    settings: Settings
    catalogs: Catalogs
    page: Page
    policy: UpgradePolicy = KEEP_ALL
    anew: bool = False

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
            lock_folder.tidy(folder)
            previous = self._previous(folder)
            known = not (folder / lock_file.NAME).exists() and lock_folder.has_report(folder)
            jobs.append(Job(inputs, problem, folder, previous, known))
        return jobs

    def lock(self, jobs: Sequence[Job]) -> list[_Outcome]:
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

    def _outcome(self, job: Job) -> _Outcome:
        stack, target = job.problem.stack.name, job.problem.target.name
        progress = self.settings.progress
        progress.label("cli.locking", stack=stack, target=target)
        began = time.monotonic()
        found = _attempt(partial(self._answer, job))
        moved = isinstance(found, Lock) and (job.previous is None or not same_decisions(job.previous, found))
        return _Outcome(stack=stack, job=job, found=found, seconds=time.monotonic() - began, moved=moved)

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

    def _write(self, outcomes: Sequence[_Outcome]) -> list[_Outcome]:
        before = {outcome.folder: outcome.job.previous for outcome in outcomes if outcome.job}
        changed: dict[Path, dict[str, str]] = {}
        for outcome in outcomes:
            folder, found = outcome.folder, outcome.found
            if isinstance(found, Lock):
                texts = rendered(found, self.catalogs.pool.cache, render)
                if not lock_folder.current(texts, folder) or lock_folder.has_report(folder):
                    changed[folder] = texts
            elif not isinstance(found, ResolverError):
                from resolver.report.explanation.conflict import report_files

                lock_folder.add(folder, report_files(found))

        def require_the_same(folder: Path) -> None:
            if self._previous(folder) != before[folder] and not lock_folder.current(changed[folder], folder):
                raise _OvertakenError

        lock_folder.replace(changed, require_the_same)
        return [replace(outcome, written=outcome.folder in changed) for outcome in outcomes]


def print_json(status: str, targets: Sequence[dict[str, Any]]) -> None:
    """Print one shape, described in docs/lock.md; the keys of an only target are also at the top."""
    only = targets[0] if len(targets) == 1 else {}
    sys.stdout.write(json_text({**only, "status": status, "targets": targets}) + "\n")


def _json(outcome: _Outcome, language: Language) -> dict[str, Any]:
    match outcome.found:
        case Lock() as lock:
            return lock_json(lock, outcome.folder, moved=outcome.moved)
        case ResolverError() as error:
            return {"status": "error", "stack": outcome.stack, "target": outcome.target, **error.parts()}
        case explanation:
            from resolver.report.explanation.json import explanation_json  # loaded where there is a conflict

            return explanation_json(explanation, language)


def _tell(outcomes: Sequence[_Outcome], language: Language) -> None:
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


def _tell_failures(outcomes: Sequence[_Outcome], language: Language) -> None:
    """Print what failed, and where the reports of conflicts are."""
    for outcome in outcomes:
        match outcome.found:
            case ResolverError() as error:
                who = outcome.stack
                if outcome.target:
                    who = translate("cli.for", language, stack=outcome.stack, target=outcome.target)
                complain(f"{who}: error: {error}" if len(outcomes) > 1 else f"error: {error}")
            case Lock():
                pass
            case _:
                complain(translate("conflict.report-in", language, folder=outcome.folder))


def _row(outcome: _Outcome, language: Language) -> Row:
    changes = ""
    match outcome.found:
        case Lock() as lock:
            pins, warnings = (
                message("cli.pins", count=len(lock.pin)),
                message("cli.warnings", count=len(lock.all_warnings)),
            )
            told = message("cli.row-warned" if lock.all_warnings else "cli.row-locked", pins=pins, warnings=warnings)
            kind = "locked"
            if outcome.moved and lock.first:
                changes = translate("cli.first-lock", language)
            elif outcome.moved and lock.change:
                changes = translate("cli.pins", language, len(lock.change))
            else:
                changes = translate("cli.no-change", language)
        case ResolverError() as error:
            told, kind = message("cli.row-failed", message=error.message), "failed"
        case explanation if explanation.awaited:
            indexes = dict.fromkeys(name for one in explanation.awaited for name in one.indexes)
            told, kind = message("cli.row-undecided", names=joined("comma", indexes)), "undecided"
        case _:
            told = message("cli.row-conflict-before" if outcome.is_known else "cli.row-conflict")
            kind = "without-a-solution"
    return Row(outcome.stack, outcome.target, outcome.seconds, changes or "-", translate(told, language), kind)
