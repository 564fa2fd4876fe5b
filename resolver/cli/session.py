"""Lock or explain the targets of stacks, and write all results at once.

The commands `lock`, `add`, `remove`, `import --lock`, `explain` and `why` use a `Session`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from resolver.ascend.names import NEEDING_FACTS
from resolver.cli.catalogs import Catalogs
from resolver.cli.commands import failure
from resolver.cli.console import ConflictPage
from resolver.cli.options import Settings
from resolver.cli.outcome import Job, TargetResult
from resolver.cli.selection import chosen_targets, is_outdated
from resolver.cli.shared_versions import SharedVersions
from resolver.config.compile import StackCompiler, compile_problems
from resolver.config.find_stack import find_stack
from resolver.config.load import Inputs, load, load_edited, read_stack
from resolver.config.toml_files import as_text
from resolver.errors import InputError, NothingToLock, ResolverError
from resolver.i18n import translate
from resolver.index.protocol import Catalog
from resolver.lock import file as lock_file
from resolver.lock import folder as lock_folder
from resolver.lock.folder import ReportedFix, StackEdit
from resolver.lock.previous import (
    KEEP_ALL,
    UpgradePolicy,
    replaced_files,
    same_decisions,
    with_changes,
)
from resolver.lock.remembered import RememberedFixes, RememberedLock, StackOfFix, rendered
from resolver.model.lock import Lock
from resolver.model.message import message
from resolver.model.problem import Problem
from resolver.model.requirement import Requirement
from resolver.phrase import literal, phrase
from resolver.report import render

# A run without conflicts does not need these types.
if TYPE_CHECKING:
    from resolver.model.explanation import Explanation
    from resolver.resolve.refutation import Refutation

_Result = TypeVar("_Result")


def _is_commit_unread(lock: Lock, problem: Problem) -> bool:
    """Return whether requirements from a commit that only a fact names could not be verified.

    The next run may be able to do so. So such a lock is not remembered.
    """
    commits_of_lines = {source.commit for source in problem.sources.values()}
    for pin in lock.pin:
        if pin.git is None or pin.git.trust is None:
            continue
        if pin.git.commit not in commits_of_lines:
            return True
    return False


class _OvertakenError(Exception):
    """Another run wrote a lock after this run had read it."""


def result_or_error(work: Callable[[], _Result]) -> _Result | ResolverError:
    """Return the result of `work`, or the error if it fails."""
    try:
        return work()
    except Exception as error:
        return failure(error)


def finish_edit(stack: str, run: Settings) -> bool:
    """Finish an edit of a stack that a killed run had begun, and say so on stderr.

    Return whether there was such an edit. Raises ResolverError if it cannot be finished.
    """
    path = find_stack(stack, run.matrices)
    name = read_stack(stack, run.matrices).content.stack.name
    is_finished = lock_folder.finish_edit(run.locks / name, path.resolve())
    if is_finished:
        run.progress.say(translate("edit.finished", run.language, path=path))
    return is_finished


def is_outdated_for(job: Job, lock: Lock) -> bool:
    """Return whether the stack or the facts have changed since the lock of a target was made."""
    inputs = job.compiler.inputs
    (problem,) = chosen_targets(compile_problems(inputs), (job.problem.target.name,))
    return is_outdated(lock, inputs, problem)


@dataclass(frozen=True)
class Session:
    """A run that locks or explains the targets of stacks."""

    # The options of the run.
    settings: Settings
    # The indexes; offline the cache or snapshots.
    catalogs: Catalogs
    # Where conflicts are written.
    page: ConflictPage
    # Which pins of the existing locks are kept.
    policy: UpgradePolicy = KEEP_ALL
    # Whether to solve again even if the result for the same inputs and pages is remembered.
    ignore_remembered: bool = False
    # Whether the folders of locks stay as they are.
    dry_run: bool = False
    # Whether to write nothing unless every target has a lock.
    all_or_none: bool = False
    # A change of the stack's file, which is written together with the locks.
    edit: StackEdit | None = None

    def jobs(self, stack: str, *, together: bool = False) -> list[Job]:
        """Return the targets of a stack as jobs, each with its existing lock.

        Each group of a stack has its own target, unless `together` takes all groups as one
        environment. Raises ResolverError if a file of the stack or a lock cannot be read.
        """
        run = self.settings
        if self.edit is not None:
            text = as_text(self.edit.new, str(self.edit.file))
            inputs = load_edited(stack, text, run.matrices)
        else:
            if not self.dry_run:
                finish_edit(stack, run)
            inputs = load(stack, run.matrices)
        compiler = StackCompiler(inputs, together=together)
        problems = compiler.problems(options=run.policy_options)
        shared = self._shared(inputs, problems)
        chosen = chosen_targets(problems, run.targets)
        self._warn_without_facts(chosen)
        jobs = []
        for problem in self.catalogs.with_sources(chosen):
            folder = run.lock_folder(problem)
            if not self.dry_run:
                lock_folder.recover(folder)
            previous = self._previous(folder)
            has_lock = (folder / lock_file.NAME).exists()
            has_report = not has_lock and bool(lock_folder.reports(folder))
            versions = shared.get(problem.target_number)
            jobs.append(Job(compiler, problem, folder, previous, has_report, versions))
        return jobs

    def _shared(self, inputs: Inputs, problems: Sequence[Problem]) -> dict[int, SharedVersions]:
        """Return the versions that the groups of a stack share, by the number of the target."""
        if not any(problem.stack.group for problem in problems):
            return {}
        options = self.settings.policy_options
        of_all_groups = StackCompiler(inputs, together=True).problems(options=options)
        shared = {}
        for together in self.catalogs.with_sources(of_all_groups):
            number = together.target_number
            previous = {
                problem.stack.group: self._previous(self.settings.lock_folder(problem))
                for problem in problems
                if problem.target_number == number
            }
            shared[number] = SharedVersions.of(together, previous, self.policy)
        return shared

    def _warn_without_facts(self, problems: Sequence[Problem]) -> None:
        """Warn if a stack names a project that needs facts, and there are none about it."""
        facts = self.settings.matrices / "facts"
        projects: set[str] = set()
        for problem in problems:
            needs = [root.need for root in problem.stack.requirements]
            projects |= {need.name for need in needs if isinstance(need, Requirement)}
        for name in NEEDING_FACTS:
            if name in projects and not (facts / f"{name}.toml").is_file():
                self.settings.progress.warn(message("cli.no-facts", name=name, folder=facts))

    def lock_stack(self, stack: str) -> list[TargetResult]:
        """Lock or explain each target of a stack, as `lock` does. Errors are results."""
        results = result_or_error(lambda: self.lock(self.jobs(stack)))
        if isinstance(results, ResolverError):
            return [TargetResult(stack=stack, answer=results, dry_run=self.dry_run)]
        return results

    def lock(self, jobs: Sequence[Job]) -> list[TargetResult]:
        """Lock or explain each target. Then write all locks at once, and the reports.

        If another run writes one of the locks meanwhile, all targets are locked again, with that
        lock as the previous one. Otherwise a run that started before an upgrade would undo it.
        """
        while True:
            results = [self._result(job) for job in jobs]
            try:
                return self._write(results)
            except _OvertakenError:
                jobs = self._reread(jobs)

    def _reread(self, jobs: Sequence[Job]) -> list[Job]:
        """Return the jobs with the locks that exist now."""
        if not jobs:
            return []
        inputs = jobs[0].compiler.inputs
        problems = jobs[0].compiler.problems(options=self.settings.policy_options)
        shared = self._shared(inputs, problems)
        return [
            replace(
                job,
                previous=self._previous(job.folder),
                shared=shared.get(job.problem.target_number),
            )
            for job in jobs
        ]

    def _previous(self, folder: Path) -> Lock | None:
        """Return the lock in a folder; None if there is none.

        Raises InputError if it cannot be read. In an upgrade, such a lock counts as none.
        """
        try:
            return lock_file.read_own(folder)
        except InputError:
            if self.policy.upgrade:
                return None
            raise

    def _result(self, job: Job) -> TargetResult:
        """Solve a target, and return the result with the time it took. Errors are results."""
        stack = job.problem.stack.name
        self.settings.progress.label("cli.locking", stack=stack, target=job.problem.target.name)
        began = time.monotonic()
        answer = result_or_error(partial(self._answer, job))
        if job.shared is not None and isinstance(answer, Lock):
            job.shared.add(answer)
        seconds = time.monotonic() - began
        return TargetResult(
            stack=stack, job=job, answer=answer, dry_run=self.dry_run, seconds=seconds
        )

    def _answer(self, job: Job) -> Lock | Explanation:
        """Return the lock of a target with the changes since the previous one, or the explanation.

        Raises NothingToLock if no line of the stack applies to the target.
        """
        answer = self.catalogs.ask(job.problem, partial(self._lock_or_explain, job))
        if not isinstance(answer, Lock):
            return answer
        if not answer.pin:
            language = self.settings.language
            notes = "; ".join(translate(note, language) for note in answer.notes)
            raise NothingToLock(
                phrase(
                    "no line of {stack} applies to {target}, so there is nothing to lock",
                    stack=answer.stack,
                    target=answer.target.name,
                ),
                where=job.problem.stack.where,
                why=literal(notes) if notes else phrase("its `requires` names no project"),
                hint=phrase(
                    "correct the markers in `requires`, or remove the target from the stack"
                ),
            )
        if job.previous is not None:
            for old, new in replaced_files(job.previous, answer):
                replaced = message("cli.replaced", file=new.name, was=old.sha256, now=new.sha256)
                self.settings.progress.warn(replaced)
        return self._kept(job, with_changes(answer, job.previous))

    def _kept(self, job: Job, lock: Lock) -> Lock:
        """Return the previous lock of a target in place of a new one that upgrades nothing.

        So options such as --as-of leave no trace in a lock on which they had no effect. A lock is
        new if the stack or the facts have changed.
        """
        previous = job.previous
        if previous is None or not self.policy.packages or not same_decisions(previous, lock):
            return lock
        return lock if is_outdated_for(job, previous) else previous

    def _lock_or_explain(self, job: Job, catalog: Catalog) -> Lock | Explanation:
        """Return the lock of a target, remembered or solved, or the explanation.

        The changes since the previous lock are not set yet.
        """
        remembered = self._memory_of_lock(job)
        if not self.ignore_remembered:
            lock = remembered.get(catalog, self.policy.preferences(job.previous))
            if lock is not None:
                self.settings.progress.trace(message("trace.remembered"))
                return lock
        return self._solved(job, catalog, remembered)

    def _solved(self, job: Job, catalog: Catalog, remembered: RememberedLock) -> Lock | Explanation:
        """Solve a target and return the lock, or the explanation. A lock is remembered.

        The changes since the previous lock are not set yet.
        """
        problem, own_preferences = job.problem, self.policy.preferences(job.previous)
        # A remembered lock does not need the solver.
        from resolver.cli.answers import lock_or_refutation
        from resolver.resolve.refutation import Refutation
        from resolver.resolve.universe import Universe

        progress = self.settings.progress.solving
        preferences = own_preferences
        if job.shared is not None:
            preferences = job.shared.preferences(problem.stack.group, catalog, progress)
        universe = Universe(problem, catalog, preferences.pins)
        answer = lock_or_refutation(universe, preferences, progress, self.catalogs.verified)
        if isinstance(answer, Refutation):
            return self.explanation(answer, job)
        if not universe.optional_reads.has_failed and not _is_commit_unread(answer, problem):
            remembered.keep(catalog, answer, own_preferences)
            # If the pins of a lock are preferred, solving gives the same lock again.
            remembered.keep(catalog, answer, KEEP_ALL.preferences(answer))
        return answer

    def remembered_fixes(self, jobs: Sequence[Job]) -> dict[str, tuple[StackOfFix, ...]] | None:
        """Return the ways out of each target that has no solution, by the name of the target.

        `lock` or `explain` has shown them for the same inputs and pages. None if a target has
        neither remembered ways out nor a remembered lock.
        """
        found: dict[str, tuple[StackOfFix, ...]] = {}
        for job in jobs:
            fixes = self.catalogs.ask(job.problem, self._memory_of_fixes(job).get)
            if fixes is not None:
                found[job.problem.target.name] = fixes
                continue
            preferences = self.policy.preferences(job.previous)
            known = partial(self._memory_of_lock(job).get, preferences=preferences)
            if self.catalogs.ask(job.problem, known) is None:
                return None
        return found or None

    def shown_fixes(self, jobs: Sequence[Job]) -> list[ReportedFix]:
        """Return the ways out that were shown for the same inputs, whatever indexes say today.

        They are read from the conflict reports, or from the cache if a report is missing. They are
        not searched again: a search that is limited by time may find more when it is repeated.
        """
        shown: list[ReportedFix] = []
        for job in jobs:
            if lock_folder.report_inputs(job.folder).digest == job.problem.digest:
                shown += lock_folder.reported_fixes(job.folder)
                continue
            for fix in self._memory_of_fixes(job).shown():
                shown.append(ReportedFix(fix.name, translate(fix.changes, "en"), fix.files))
        return shown

    def explanation(self, refutation: Refutation, job: Job) -> Explanation:
        """Explain why a target has no solution, and remember the ways out.

        The explanation is written to the session's page. Raises IndexFailure if an index seems to
        have a wrong address.
        """
        # A run without conflicts does not need this module.
        from resolver.cli.answers import explanation_of_refutation, stack_of_fix

        explanation = explanation_of_refutation(refutation, job.compiler, self)
        catalog = refutation.clauses.universe.catalog
        fixes = (*explanation.fixes, *explanation.awaiting)
        self._memory_of_fixes(job).keep(catalog, map(stack_of_fix, fixes))
        return explanation

    def _memory_of_lock(self, job: Job) -> RememberedLock:
        """Return the memory of a target's locks."""
        beside = () if job.shared is None else job.shared.beside
        return RememberedLock(self.catalogs.pool.cache, job.problem, beside)

    def _memory_of_fixes(self, job: Job) -> RememberedFixes:
        """Return the memory of a target's ways out."""
        text = job.compiler.inputs.stack.text
        return RememberedFixes(self.catalogs.pool.cache, job.problem, text)

    def _write(self, results: list[TargetResult]) -> list[TargetResult]:
        """Write the locks and reports, and return the results with the names of written files.

        Raise _OvertakenError if another run changed a lock that this one had read.
        """
        if self.all_or_none and not all(isinstance(result.answer, Lock) for result in results):
            return results
        changed: dict[Path, dict[str, str]] = {}
        written: dict[Path, tuple[str, ...]] = {}
        for result in results:
            folder, answer = result.folder, result.answer
            if isinstance(answer, Lock):
                texts = rendered(answer, self.catalogs.pool.cache, render)
                names = (
                    *lock_folder.outdated(texts, folder),
                    *lock_folder.reports(folder),
                )
                if names:
                    changed[folder], written[folder] = texts, names
            elif not isinstance(answer, ResolverError) and not self.dry_run:
                written[folder] = write_report(answer, folder)
        if not self.dry_run:
            previous = {result.folder: result.job.previous for result in results if result.job}

            def require_unchanged(folder: Path) -> None:
                """Raise _OvertakenError if another run changed the lock in a folder."""
                if self._previous(folder) == previous[folder]:
                    return
                if lock_folder.outdated(changed[folder], folder):
                    raise _OvertakenError

            lock_folder.replace(changed, require_unchanged, self.edit)
        return [replace(result, written=written.get(result.folder, ())) for result in results]


def write_report(explanation: Explanation, folder: Path) -> tuple[str, ...]:
    """Write the report of a conflict, and return the names of its files."""
    from resolver.report.explanation.conflict import report_files

    report = report_files(explanation)
    lock_folder.add(folder, report)
    return tuple(report)
