"""`ascend-lock check [STACK…]`: whether locks still match their inputs and, on request, their indexes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click
from msgspec import structs

from resolver.audit.compare import DAYS, compare, is_grave, locked_indexes, old_facts
from resolver.cli import options
from resolver.cli.binaries import from_index, judge_lock
from resolver.cli.catalogs import Catalogs
from resolver.cli.commands import failure
from resolver.cli.console import print_json, print_line, print_to_stderr
from resolver.cli.options import ALL, Settings, settings, today
from resolver.cli.selection import chosen_targets, locked_stacks, unknown_locks
from resolver.config.compile import compile_problems
from resolver.config.load import Inputs, load
from resolver.errors import CHANGED_UPSTREAM, IndexFailure, InputError, StaleLock, escaped
from resolver.i18n import translate
from resolver.lock import file as lock_file
from resolver.lock import folder as lock_folder
from resolver.model.lock import Lock
from resolver.model.message import Message, message, verbatim
from resolver.model.problem import NO_OPTIONS, Policy, PolicyOptions, Problem
from resolver.report import render
from resolver.report.linkage import fault_sentence
from resolver.report.upstream import change_lines, compared_json, old_facts_sentence

_CURRENT = ("state.current", "state.conflict-current")
# The outcome in --json, by exit status.
_STATUS = {
    0: "current",
    IndexFailure.exit_status: "out-of-reach",
    StaleLock.exit_status: "stale",
    CHANGED_UPSTREAM: "changed",
}


@click.command("check", short_help="Check whether locks still match their inputs.")
@options.stacks("stacks", "[STACK...]", required=False)
@click.option(
    "--upstream", is_flag=True, help="Also ask the indexes what has happened to each file since."
)
@click.option(
    "--files",
    "binaries",
    is_flag=True,
    help="Also judge whether the binaries in the wheels can be loaded.",
)
@click.option(
    "--solve",
    "anew",
    is_flag=True,
    help="Also solve anew, and tell what the inputs would not give.",
)
@options.facts_days
@settings("targets", "own_matrices", "locks", "language", "as_json")
def command(
    run: Settings,
    stacks: tuple[str, ...],
    upstream: bool,
    binaries: bool,
    anew: bool,
    facts_days: int | None,
) -> int:
    """Check whether the locks of each STACK, or of all, still match their inputs.

    Without STACK, or with `all`, that is every stack of the checkout; in another folder, every
    stack that has a lock there. A stack file of your own is found if it is beside the locks folder
    and named after the stack.

    Compares them with their stacks, facts and rendered files; with --upstream, also with their
    indexes, over the network. With --files, judges what the binaries of each wheel need: other
    libraries, a glibc, symbols of PyTorch; what is not known of a wheel yet is fetched. With
    --solve, solves the stack again without the pins of its lock, from its snapshot if it has one,
    else from the indexes, and compares. Changes nothing. A stack that cannot be read does not stop
    the others; the exit status is the highest of all.
    """
    names = locked_stacks(stacks or (ALL,), run.matrices, run.locks)
    unknown = unknown_locks(run.matrices, run.locks)
    if not names:
        why, hint = "", "lock a stack first, or give the folder of locks by --locks DIR"
        if unknown:
            why = f"The stack of {', '.join(unknown)} is neither in {run.matrices} nor beside the folder."
            hint = run.command("check", f"path/to/{unknown[0]}.toml")
        raise InputError("there is nothing to check", where=str(run.locks), why=why, hint=hint)
    days = facts_days if facts_days is not None or not upstream else DAYS
    results: list[_Result] = []
    stray: list[Path] = []
    with closing(Catalogs(run)) as catalogs:
        for name in names:
            try:
                inputs = load(name, run.matrices)
                problems = compile_problems(inputs)
                of_stack = [
                    _check(name, inputs, problem, days, catalogs if upstream else None, run)
                    for problem in chosen_targets(problems, run.targets)
                ]
                if anew:
                    of_stack = [
                        _with_solution(result, inputs, problems, catalogs, run)
                        for result in of_stack
                    ]
                if binaries:
                    of_stack = [
                        _with_binaries(result, problems, catalogs, run) for result in of_stack
                    ]
                stray += _stray_folders(problems, run.locks)
            except Exception as exception:
                if len(names) == 1:
                    raise
                error = failure(exception)
                print_to_stderr(f"{escaped(name)}: error: {error}")
                state = verbatim(error.message)
                of_stack = [_Result(name, name, "", state, error.exit_status, more=error.parts())]
            if not run.as_json:
                _print_results(of_stack, run, together=len(names) > 1)
            results += of_stack
    status = max((result.status for result in results), default=0)
    if run.as_json:
        print_json(
            {"status": _STATUS.get(status, "error"), "locks": [result.json() for result in results]}
        )
        return status
    _print_hints(results, run)
    for folder in stray:
        print_to_stderr(
            f"hint: {folder} belongs to no target of its stack any more; remove it if it is not needed"
        )
    for name in unknown if not stacks or ALL in stacks else ():
        belongs = f"{run.locks / name} belongs to a stack that is not in {run.matrices}"
        again = run.command("check", f"path/to/{name}.toml")
        print_to_stderr(f"hint: {belongs}; give the path of its file: {again}")
    return status


@dataclass(frozen=True)
class _Result:
    """The result for one target of a stack, with exit status; without a target, for a stack that cannot be read.

    `argument` names the stack on a command line. `more` are further keys of the row in --json,
    `lines` the same for people. `hint` says what to do about a lock that cannot be read.
    """

    argument: str
    stack: str
    target: str
    state: Message
    status: int
    more: Mapping[str, Any] = field(default_factory=dict)
    lines: Sequence[Message] = ()
    hint: str = ""

    @property
    def is_stale(self) -> bool:
        """Whether a target has to be locked again."""
        return bool(self.target) and self.state.code not in _CURRENT

    def json(self) -> dict[str, Any]:
        """The row in --json."""
        state = translate(self.state, "en")
        stale = state if self.is_stale else ""
        return {
            "stack": self.stack,
            "target": self.target,
            "stale": stale,
            "state": state,
            **self.more,
        }


def _check(
    argument: str,
    inputs: Inputs,
    problem: Problem,
    days: int | None,
    catalogs: Catalogs | None,
    run: Settings,
) -> _Result:
    """Whether a target's lock matches its inputs, and with `days` or `catalogs`, what is old or changed upstream."""
    stack, target = problem.stack.name, problem.target.name
    folder = run.locks / stack / target
    try:
        lock = lock_file.read_own(folder)
    except InputError as error:
        state = verbatim(": ".join(filter(None, (error.message, error.why))))
        return _Result(
            argument,
            stack,
            target,
            state,
            StaleLock.exit_status,
            hint=f"{error.where}: {error.hint}",
        )
    made_from = lock_folder.report_inputs(folder) if lock is None else lock_folder.lock_inputs(lock)
    options = _options_given(made_from, problem.policy)
    if options != NO_OPTIONS:
        (problem,) = chosen_targets(compile_problems(inputs, options=options), (target,))
    more, lines, is_altered = ({}, [], False) if lock is None else _of_files(lock, folder)
    state = message(_state(lock, made_from.digest, problem, is_altered=is_altered))
    status = 0 if state.code in _CURRENT else StaleLock.exit_status
    if lock is None or days is None:
        return _Result(argument, stack, target, state, status, more, lines)
    old = old_facts(lock, today(), days)
    more["old_facts"] = [{"id": fact.id, "checked": fact.checked} for fact in old]
    if catalogs is not None:
        run.progress.label("cli.asking-indexes", stack=stack, target=target)
        indexes = locked_indexes(lock, problem.indexes)
        with closing(catalogs.live(structs.replace(problem, indexes=indexes))) as catalog:
            compared = compare(lock, catalog)
        run.progress.clear()
        more["upstream"] = compared_json(compared)
        lines += change_lines(compared, old, days)
        if any(map(is_grave, compared.changes)):
            status = max(status, CHANGED_UPSTREAM)
        elif compared.out_of_reach:
            status = max(status, IndexFailure.exit_status)
    elif old:
        lines.append(old_facts_sentence(old, days))
    return _Result(argument, stack, target, state, status, more, lines)


def _of_files(lock: Lock, folder: Path) -> tuple[dict[str, Any], list[Message], bool]:
    """Return which files of a lock's folder are not as it has them, or not its own, for --json and for people.

    Last whether any is not as the lock has it.
    """
    texts = render(lock)
    unstartable = lock_folder.not_executable(texts, folder)
    groups = {
        "differing": tuple(
            name for name in lock_folder.outdated(texts, folder) if name not in unstartable
        ),
        "not-executable": unstartable,
        "foreign": lock_folder.foreign(texts, folder),
    }
    found = {kind: names for kind, names in groups.items() if names}
    lines = [
        message(f"check.{kind}", count=len(names), names=names) for kind, names in found.items()
    ]
    in_json = {kind.replace("-", "_"): list(names) for kind, names in found.items()}
    return ({"files": in_json} if found else {}), lines, bool(found.keys() - {"foreign"})


def _with_solution(
    result: _Result, inputs: Inputs, problems: Sequence[Problem], catalogs: Catalogs, run: Settings
) -> _Result:
    """Return the result for a target with what its lock has and its inputs would not give, if it is else current."""
    folder = run.locks / result.stack / result.target
    if result.state.code != "state.current":
        return result
    lock = lock_file.read_own(folder)
    assert lock is not None  # noqa: S101  it is current
    problem = next(problem for problem in problems if problem.target.name == result.target)
    given = _options_given(lock_folder.lock_inputs(lock), problem.policy)
    (problem,) = chosen_targets(compile_problems(inputs, options=given), (result.target,))
    from resolver.cli.anew import difference_from_solution  # which loads the solver

    run.progress.label("cli.locking", stack=result.stack, target=result.target)
    (problem,) = catalogs.with_sources((problem,))
    solved = difference_from_solution(problem, lock, catalogs, run.progress.solving)
    run.progress.clear()
    more = {**result.more, "solved": solved.json()}
    if solved.is_same:
        return replace(result, more=more)
    return replace(
        result,
        state=message("state.not-given"),
        status=max(result.status, StaleLock.exit_status),
        more=more,
        lines=(*result.lines, *solved.lines()),
        hint=run.command("lock", result.argument, "--upgrade", "--dry-run"),
    )


def _options_given(made_from: lock_folder.MadeFrom, policy: Policy) -> PolicyOptions:
    """Return the options of the command line with which a lock or report was made, where the stack says otherwise."""
    cutoff = ""
    if policy.exclude_newer is None:
        cutoff = made_from.exclude_newer
    return PolicyOptions(
        exclude_newer=dt.datetime.fromisoformat(cutoff) if cutoff else None,
        as_of="" if made_from.as_of == policy.as_of else made_from.as_of,
    )


def _with_binaries(
    result: _Result, problems: Sequence[Problem], catalogs: Catalogs, run: Settings
) -> _Result:
    """Return the result for a target with what is known of the binaries of its lock, if it has one."""
    problem = next(problem for problem in problems if problem.target.name == result.target)
    try:
        lock = lock_file.read_own(run.locks / result.stack / result.target)
    except InputError:  # it is told already
        return result
    if lock is None:
        return result
    run.progress.label("cli.judging", stack=result.stack, target=result.target)
    indexes = locked_indexes(lock, problem.indexes)
    with closing(catalogs.live(structs.replace(problem, indexes=indexes))) as catalog:
        judged = judge_lock(lock, problem, from_index(catalog))
    run.progress.clear()
    sentences = [fault_sentence(wheel, fault) for wheel, fault in judged.faults]
    summary = message("linkage.judged", count=judged.wheels)
    unread = [message("linkage.unread", names=judged.unread)] if judged.unread else []
    in_json = {
        "faults": [translate(sentence, "en") for sentence in sentences],
        "unread": list(judged.unread),
    }
    return replace(
        result,
        status=max(result.status, StaleLock.exit_status) if judged.faults else result.status,
        more={**result.more, "binaries": in_json},
        lines=(*result.lines, *sentences, *unread, summary),
    )


def _stray_folders(problems: Sequence[Problem], locks: Path) -> list[Path]:
    """The folders of locks of targets that their stack does not have."""
    targets = {problem.target.name for problem in problems}
    folders = sorted(
        path.parent for path in (locks / problems[0].stack.name).glob(f"[!.]*/{lock_file.NAME}")
    )
    return [folder for folder in folders if folder.name not in targets]


def _state(lock: Lock | None, reported: str, problem: Problem, *, is_altered: bool) -> str:
    """The code of what a target's lock is, or the conflict report in its place, made from inputs of this digest.

    `is_altered` says whether a file beside the lock is not as the lock has it.
    """
    if lock is None and reported:
        return "state.conflict-current" if reported == problem.digest else "state.conflict-stale"
    if lock is None:
        return "state.missing"
    if lock.inputs != problem.digest:
        return "state.stale"
    return "state.altered" if is_altered else "state.current"


def _print_results(results: Sequence[_Result], run: Settings, *, together: bool) -> None:
    """Print a line for each target of a stack, or one for all where they are alike; or that it cannot be read."""
    states = [escaped(translate(result.state, run.language)) for result in results]
    has_lines = any(result.lines for result in results)
    if together and not has_lines and len(results) > 1 and len(set(states)) == 1:
        run.print_message(
            "cli.checked-alike", stack=results[0].stack, count=len(results), state=states[0]
        )
        return
    for result, state in zip(results, states, strict=True):
        stack = escaped(result.stack)
        if result.target:
            run.print_message("cli.checked", stack=stack, target=result.target, state=state)
        else:
            run.print_message(
                "cli.checked-not", stack=stack, failed=message("cli.row-failed", message=state)
            )
        for line in result.lines:
            print_line(f"  {translate(line, run.language)}")


def _print_hints(results: Sequence[_Result], run: Settings) -> None:
    """Print what to do about locks that cannot be read, and the command that locks the other stale stacks again."""
    hints = [result.hint for result in results if result.hint]
    unreadable = {result.argument for result in results if result.hint}
    stale = dict.fromkeys(result.argument for result in results if result.is_stale)
    if names := [name for name in stale if name not in unreadable]:
        hints.append(run.command("lock", *names))
    for hint in hints:
        run.print_message("cli.hint", command=hint)
