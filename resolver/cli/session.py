"""A run over stacks: the targets of each, their locks or explanations, and the writing of all at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from resolver.cli.catalogs import Catalogs
from resolver.cli.commands import failure
from resolver.cli.console import ConflictPage, print_to_stderr
from resolver.cli.options import Settings
from resolver.cli.outcome import Job, TargetResult
from resolver.cli.selection import chosen_targets
from resolver.config.compile import compile_problems
from resolver.config.load import find_stack, load, load_edited, read_stack
from resolver.errors import InputError, NothingToLock, ResolverError
from resolver.i18n import translate
from resolver.index.protocol import Catalog
from resolver.lock import file as lock_file
from resolver.lock import folder as lock_folder
from resolver.lock.folder import StackEdit
from resolver.lock.previous import KEEP_ALL, UpgradePolicy, replaced_files, with_changes
from resolver.lock.remembered import RememberedLock, rendered
from resolver.model.lock import Lock
from resolver.model.message import message
from resolver.model.problem import Problem
from resolver.model.requirement import Requirement
from resolver.report import render

if TYPE_CHECKING:  # a remembered lock needs no explaining
    from resolver.model.explanation import Explanation

_Result = TypeVar("_Result")

_NEEDS_FACTS = (
    "torch-npu",
    "vllm-ascend",
)  # their metadata says nothing of CANN, nor of what to install with them


def _is_commit_unread(lock: Lock, problem: Problem) -> bool:
    """Return whether a release from a commit, which no line names, was not compared with it: the next run may be."""
    direct = {source.commit for source in problem.sources.values()}
    return any(
        pin.git.trust is not None and pin.git.commit not in direct
        for pin in lock.pin
        if pin.git is not None
    )


class _OvertakenError(Exception):
    """Another run wrote a lock since this one read it."""


def result_or_error(work: Callable[[], _Result]) -> _Result | ResolverError:
    """The result of `work`, or why it failed."""
    try:
        return work()
    except Exception as error:
        return failure(error)


def finish_edit(stack: str, run: Settings) -> bool:
    """Finish an edit of a stack that a killed run had begun to write, and tell of it.

    Raises ResolverError.
    """
    path = find_stack(stack, run.matrices)
    name = read_stack(stack, run.matrices).content.stack.name
    is_finished = lock_folder.finish_edit(run.locks / name, path.resolve())
    if is_finished:
        print_to_stderr(translate("edit.finished", run.language, path=path))
    return is_finished


@dataclass(frozen=True)
class Session:
    """The settings and catalogs of a run. Conflicts are written to the `page`.

    With `ignore_remembered` even remembered locks are solved again. A `dry_run` leaves the folders
    of locks as they are. With `all_or_none` nothing is written unless every target has a lock; then
    an `edit` of the stack is, too.
    """

    settings: Settings
    catalogs: Catalogs
    page: ConflictPage
    policy: UpgradePolicy = KEEP_ALL
    ignore_remembered: bool = False
    dry_run: bool = False
    all_or_none: bool = False
    edit: StackEdit | None = None

    def jobs(self, stack: str) -> list[Job]:
        """The targets of a stack, each with its existing lock. Raises ResolverError."""
        run, progress = self.settings, self.settings.progress
        if self.edit is not None:
            inputs = load_edited(stack, self.edit.new.decode(), run.matrices)
        else:
            if not self.dry_run:
                finish_edit(stack, run)
            inputs = load(stack, run.matrices)
        problems = chosen_targets(compile_problems(inputs, options=run.policy_options), run.targets)
        needs = [root.need for problem in problems for root in problem.stack.requirements]
        projects = {need.name for need in needs if isinstance(need, Requirement)}
        for name in _NEEDS_FACTS:
            if name in projects and not (run.matrices / "facts" / f"{name}.toml").is_file():
                progress.warn(message("cli.no-facts", name=name, folder=run.matrices / "facts"))
        jobs = []
        for problem in self.catalogs.with_sources(problems):
            folder = run.locks / problem.stack.name / problem.target.name
            if not self.dry_run:
                lock_folder.recover(folder)
            previous = self._previous(folder)
            has_report = not (folder / lock_file.NAME).exists() and bool(
                lock_folder.reports(folder)
            )
            jobs.append(Job(inputs, problem, folder, previous, has_report))
        return jobs

    def lock(self, jobs: Sequence[Job]) -> list[TargetResult]:
        """Lock each target, with conflicts on the page; then write the locks, all at once, and the reports.

        If another run writes a lock meanwhile, that becomes the previous lock and locking starts
        over from it. Otherwise an upgrade would be undone by a run that started before it and
        finished after it.
        """
        while True:
            try:
                return self._write([self._result(job) for job in jobs])
            except _OvertakenError:
                jobs = [replace(job, previous=self._previous(job.folder)) for job in jobs]

    def _previous(self, folder: Path) -> Lock | None:
        """The lock in a folder; None if there is none.

        Raises InputError if it cannot be read, except for an upgrade, which does without it.
        """
        try:
            return lock_file.read_own(folder)
        except InputError:
            if self.policy.upgrade:
                return None
            raise

    def _result(self, job: Job) -> TargetResult:
        stack = job.problem.stack.name
        self.settings.progress.label("cli.locking", stack=stack, target=job.problem.target.name)
        began = time.monotonic()
        answer = result_or_error(partial(self._answer, job))
        seconds = time.monotonic() - began
        return TargetResult(
            stack=stack, job=job, answer=answer, dry_run=self.dry_run, seconds=seconds
        )

    def _answer(self, job: Job) -> Lock | Explanation:
        answer = self.catalogs.ask(job.problem, partial(self._lock_or_explain, job))
        if not isinstance(answer, Lock):
            return answer
        progress, language = self.settings.progress, self.settings.language
        if not answer.pin:
            notes = [translate(note, language) for note in answer.notes]
            raise NothingToLock(
                translate(
                    "cli.nothing-applies", language, stack=answer.stack, target=answer.target.name
                ),
                where=job.problem.stack.where,
                why="; ".join(notes) or translate("cli.nothing-applies-why", language),
                hint=translate("cli.nothing-applies-hint", language),
            )
        for old, new in replaced_files(job.previous, answer) if job.previous is not None else ():
            progress.warn(message("cli.replaced", file=new.name, was=old.sha256, now=new.sha256))
        return with_changes(answer, job.previous)

    def _lock_or_explain(self, job: Job, catalog: Catalog) -> Lock | Explanation:
        """The lock, regardless of what changed; without a solution, the explanation."""
        problem, preferences = job.problem, self.policy.preferences(job.previous)
        remembered = RememberedLock(self.catalogs.pool.cache, problem)
        lock = None if self.ignore_remembered else remembered.get(catalog, preferences)
        if lock is not None:
            return lock
        from resolver.cli.answers import explanation_of_refutation, lock_or_refutation
        from resolver.resolve.solver import Refutation
        from resolver.resolve.universe import Universe

        universe = Universe(problem, catalog, preferences.pins)
        answer = lock_or_refutation(
            universe, preferences, self.settings.progress.solving, self.catalogs.verified
        )
        if isinstance(answer, Refutation):
            return explanation_of_refutation(answer, job.inputs, self)
        # a lock is a fixed point: solving with its own pins preferred gives it again
        if universe.is_answer_final and not _is_commit_unread(answer, problem):
            for key in (preferences, KEEP_ALL.preferences(answer)):
                remembered.keep(catalog, answer, key)
        return answer

    def _write(self, results: list[TargetResult]) -> list[TargetResult]:
        if self.all_or_none and not all(isinstance(result.answer, Lock) for result in results):
            return results
        previous = {result.folder: result.job.previous for result in results if result.job}
        changed: dict[Path, dict[str, str]] = {}
        written: dict[Path, tuple[str, ...]] = {}
        for result in results:
            folder, answer = result.folder, result.answer
            if isinstance(answer, Lock):
                texts = rendered(answer, self.catalogs.pool.cache, render)
                if names := (*lock_folder.outdated(texts, folder), *lock_folder.reports(folder)):
                    changed[folder], written[folder] = texts, names
            elif not isinstance(answer, ResolverError) and not self.dry_run:
                from resolver.report.explanation.conflict import report_files

                report = report_files(answer)
                lock_folder.add(folder, report)
                written[folder] = tuple(report)

        def require_unchanged(folder: Path) -> None:
            if self._previous(folder) != previous[folder] and lock_folder.outdated(
                changed[folder], folder
            ):
                raise _OvertakenError

        if not self.dry_run:
            lock_folder.replace(changed, require_unchanged, self.edit)
        return [replace(result, written=written.get(result.folder, ())) for result in results]
