"""Locking the targets of a stack, as `lock` does for each of its stacks."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name

from resolver.cli.catalogs import Catalogs, require_an_index, with_sources
from resolver.cli.failures import failure
from resolver.cli.named import chosen
from resolver.cli.page import Page
from resolver.cli.progress import Progress
from resolver.cli.rendered import prepare, rendered
from resolver.cli.upgrade_policy import UpgradePolicy
from resolver.config.compile import compile_problems
from resolver.config.load import Inputs, load
from resolver.errors import InputError, NothingToLock, ResolverError
from resolver.i18n import translate
from resolver.index.protocol import Catalog
from resolver.index.store.cache import Cache
from resolver.lock import diff
from resolver.lock import file as lock_file
from resolver.lock import folder as lock_folder
from resolver.lock.remembered import RememberedLock
from resolver.model.lock import Lock
from resolver.model.message import message
from resolver.model.problem import Problem
from resolver.model.requirement import Requirement
from resolver.model.text import Language
from resolver.report import words

if TYPE_CHECKING:  # a remembered lock needs no explaining
    from resolver.cli.explaining import Explaining
    from resolver.model.explanation import Explanation
    from resolver.resolve.solver import Refutation

_Result = TypeVar("_Result")

_NEEDS_FACTS = ("torch-npu", "vllm-ascend")  # their metadata says nothing of CANN, nor of what to install with them
_TIMES = 20  # attempts to lock a stack, as another run may be faster


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a run was told to do with each of its stacks. Empty `targets` means all.

    `anew` solves even if the result is remembered.
    """

    matrices: Path
    locks: Path
    cutoff: dt.datetime | None
    targets: frozenset[str]
    upgrade_policy: UpgradePolicy
    anew: bool
    seconds: float
    language: Language


class Job(msgspec.Struct, frozen=True):
    """One target to be locked. `known`: it has a conflict report instead of a lock."""

    inputs: Inputs
    problem: Problem
    folder: Path
    previous: Lock | None
    known: bool


class Failure(msgspec.Struct, frozen=True):
    """Why a target, or a whole stack, was neither locked nor explained."""

    cause: Exception
    told: ResolverError
    status: int


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result for a target; or for a whole stack, without a `job`, if its files could not be read.

    `written` tells whether the folder of the lock changed.
    """

    stack: str
    target: str = ""
    job: Job | None = None
    found: Lock | Explanation | Failure
    seconds: float = 0.0
    written: bool = False


def jobs_of(stack: str, order: Order, progress: Progress, *, offline: bool) -> list[Job]:
    """The targets of a stack, each with its existing lock. Raises ResolverError."""
    inputs = load(stack, order.matrices)
    jobs = []
    problems = chosen(compile_problems(inputs, exclude_newer=order.cutoff), order.targets)
    _warn_of_missing_facts(problems, order.matrices, progress)
    for problem in with_sources(problems, offline=offline, progress=progress):
        folder = order.locks / problem.stack.name / problem.target.name
        previous = _previous(folder, upgrade=order.upgrade_policy.upgrade)
        known = not (folder / lock_file.NAME).exists() and lock_folder.has_report(folder)
        jobs.append(Job(inputs, problem, folder, previous, known))
    return jobs


def _warn_of_missing_facts(problems: Sequence[Problem], matrices: Path, progress: Progress) -> None:
    """Somebody with a folder of facts of their own may expect those that ship with the program to apply as well."""
    asked = {ask.need.name for problem in problems for ask in problem.stack.asks if isinstance(ask.need, Requirement)}
    for name in _NEEDS_FACTS:
        if name in asked and not (matrices / "facts" / f"{name}.toml").is_file():
            progress.warn(message("cli.no-facts", name=name, folder=matrices / "facts"))


def lock_stack(jobs: Sequence[Job], order: Order, catalogs: Catalogs, progress: Progress, page: Page) -> list[Outcome]:
    """Lock each target, with conflicts on the page; then write the locks, all at once, and the reports.

    If another run writes a lock meanwhile, that becomes the previous lock and locking starts over from it. Otherwise
    an upgrade would be undone by a run that started before it and finished after it.
    """
    for _ in range(_TIMES):
        try:
            return _write(_locked(jobs, order, catalogs, progress, page), order, catalogs.pool.cache)
        except _OvertakenError:
            upgrade = order.upgrade_policy.upgrade
            jobs = [replace(job, previous=_previous(job.folder, upgrade=upgrade)) for job in jobs]
    raise InputError(
        "other runs keep changing the lock; what they wrote was kept",
        where=str(jobs[0].folder.parent),
        hint="wait until they have finished and run the command again",
    )


def _locked(jobs: Sequence[Job], order: Order, catalogs: Catalogs, progress: Progress, page: Page) -> list[Outcome]:
    outcomes = []
    for job in jobs:
        problem = job.problem
        progress.label(words.LOCKING(progress.language, stack=problem.stack.name, target=problem.target.name))
        began = time.monotonic()
        found = attempt(partial(_answer, job, order, catalogs, progress, page))
        seconds = time.monotonic() - began
        outcomes.append(
            Outcome(stack=problem.stack.name, target=problem.target.name, job=job, found=found, seconds=seconds)
        )
    return outcomes


def attempt(work: Callable[[], _Result]) -> _Result | Failure:
    """The result of `work`, or why it failed."""
    try:
        return work()
    except Exception as error:
        return Failure(error, *failure(error))


def _previous(folder: Path, *, upgrade: bool) -> Lock | None:
    """The lock in a folder, once what a killed run left there is tidied up; None if there is none.

    Raises InputError if it cannot be read; with `upgrade`, which keeps nothing of it, that is None, too.
    """
    lock_folder.tidy(folder)
    return _read(folder, upgrade=upgrade)


def _read(folder: Path, *, upgrade: bool) -> Lock | None:
    try:
        return lock_file.read_own(folder)
    except InputError:
        if upgrade:
            return None
        raise


def _answer(job: Job, order: Order, catalogs: Catalogs, progress: Progress, page: Page) -> Lock | Explanation:
    store = catalogs.pool.cache

    @cache
    def explaining() -> Explaining:
        from resolver.cli.explaining import Explaining  # loaded where there is a conflict

        return Explaining(job.inputs, order.cutoff, order.seconds, catalogs, progress, page)

    answer = catalogs.ask(
        job.problem,
        partial(
            _lock,
            job,
            order,
            store,
            progress,
            partial(catalogs.address_of, job.problem),
            lambda no: explaining().explain(no),
        ),
    )
    return answer if isinstance(answer, Lock) else explaining().finish(answer)


def _lock(
    job: Job,
    order: Order,
    store: Cache,
    progress: Progress,
    address_of: Callable[[str], str],
    explain: Callable[[Refutation], Explanation],
    catalog: Catalog,
) -> Lock | Explanation:
    previous = job.previous
    keep, keep_builds = order.upgrade_policy.keep(previous)
    passed = order.upgrade_policy.passed_over(previous)
    remembered = RememberedLock(store, job.problem)
    lock = None if order.anew else remembered.recall(catalog, keep, keep_builds, passed)
    if lock is None:
        before = (*previous.pin, *previous.build_pin) if previous else ()
        hints = [canonicalize_name(pin.name) for pin in before if pin.git is None]
        # Their pages arrive while the modules below are loaded.
        catalog.expect([(name, SpecifierSet()) for name in _certain(job.problem)])
        if previous is None:  # otherwise most rendered files are likely to be unchanged, and known
            prepare()
        from resolver.cli.solving import solved
        from resolver.resolve.solver import Refutation
        from resolver.resolve.universe import Universe

        universe = Universe(job.problem, catalog, keep)
        answer = solved(universe, keep_builds, progress, passed=passed, hints=hints)
        if isinstance(answer, Refutation):
            require_an_index(universe, address_of)
            return explain(answer)
        lock = answer
        remembered.keep(catalog, lock, keep, keep_builds, passed)
        # A lock is a fixed point: solving with its own pins preferred gives it again.
        itself = UpgradePolicy(upgrade=False, upgrade_packages=frozenset())
        remembered.keep(catalog, lock, *itself.keep(lock), itself.passed_over(lock))
    if not lock.pin:
        raise _nothing_applies(job.problem, lock, order.language)
    lock = diff.after(previous, lock)
    for was, now in diff.replaced(previous, lock) if previous is not None else ():
        progress.warn(words.REPLACED(progress.language, file=now.name, was=was.sha256, now=now.sha256))
    return lock


def _nothing_applies(problem: Problem, lock: Lock, language: Language) -> NothingToLock:
    notes = [translate(note, language) for note in lock.notes]
    return NothingToLock(
        words.NOTHING_APPLIES(language, stack=lock.stack, target=lock.target.name),
        where=problem.stack.where,
        why="; ".join(notes) or words.NOTHING_APPLIES_WHY(language),
        hint=words.NOTHING_APPLIES_HINT(language),
    )


def _certain(problem: Problem) -> list[NormalizedName]:
    """The projects that the stack's lines need from an index whatever the target: those without address and marker."""
    needs = [ask.need for ask in problem.stack.asks]
    return [need.name for need in needs if isinstance(need, Requirement) and not need.url and need.marker is None]


class _OvertakenError(Exception):
    """Another run wrote a lock since this one read it."""


def _write(outcomes: Sequence[Outcome], order: Order, store: Cache) -> list[Outcome]:
    before: dict[Path, Lock | None] = {}
    changed: dict[Path, dict[str, str]] = {}
    reports: list[tuple[Path, Explanation]] = []
    for outcome in outcomes:
        if outcome.job is None:
            continue
        folder = outcome.job.folder
        match outcome.found:
            case Lock() as lock:
                texts = rendered(lock, store)
                before[folder] = outcome.job.previous
                if not lock_folder.current(texts, folder) or lock_folder.has_report(folder):
                    changed[folder] = texts
            case Failure():
                pass
            case explanation:
                reports.append((folder, explanation))
    if reports:
        from resolver.cli.explaining import write_reports

        write_reports(reports)

    def require_the_same(folder: Path) -> None:
        now = _read(folder, upgrade=order.upgrade_policy.upgrade)
        if now != before[folder] and not lock_folder.current(changed[folder], folder):
            raise _OvertakenError

    lock_folder.replace(changed, require_the_same)
    return [replace(outcome, written=outcome.job is not None and outcome.job.folder in changed) for outcome in outcomes]
