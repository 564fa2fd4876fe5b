"""Run `ascend-lock check [STACK…]`: compare locks with their inputs and with their indexes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from resolver.audit.compare import DAYS, compare, is_grave, locked_indexes, old_facts
from resolver.cli import options
from resolver.cli.binaries import from_index, judge_lock
from resolver.cli.catalogs import Catalogs
from resolver.cli.commands import failure
from resolver.cli.common import Command, other_checks
from resolver.cli.console import print_error, print_json, print_line
from resolver.cli.options import ALL, Settings, settings, today
from resolver.cli.selection import (
    chosen_targets,
    locked_stacks,
    unknown_locks,
    with_options_of,
)
from resolver.cli.shared_versions import SharedVersions
from resolver.config.compile import StackCompiler, compile_problems
from resolver.config.load import Inputs, load
from resolver.errors import (
    CHANGED_UPSTREAM,
    IndexFailure,
    InputError,
    ResolverError,
    StaleLock,
    escaped,
)
from resolver.i18n import translate, translate_phrase
from resolver.index.live import LiveCatalog
from resolver.lock import file as lock_file
from resolver.lock import folder as lock_folder
from resolver.lock.previous import KEEP_ALL
from resolver.model.lock import Lock
from resolver.model.message import Message, message, of_phrase
from resolver.model.problem import PolicyOptions, Problem
from resolver.phrase import EMPTY, Phrase, literal, phrase
from resolver.report import render
from resolver.report.linkage import fault_sentence
from resolver.report.upstream import change_lines, compared_json, old_facts_sentence

# The codes of the states in which a target need not be locked again.
_CURRENT = ("state.current", "state.conflict-current")
# The `status` in --json, by exit status.
_STATUS = {
    0: "current",
    IndexFailure.exit_status: "out-of-reach",
    StaleLock.exit_status: "stale",
    CHANGED_UPSTREAM: "changed",
}


@click.command(
    "check",
    cls=Command,
    epilog=other_checks("check", "check --upstream"),
    short_help="Check whether locks still match their inputs.",
)
@options.stacks("stacks", "[STACK...]", required=False)
@click.option(
    "--upstream",
    is_flag=True,
    help="Also ask the indexes what has happened to each file since.",
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
@settings("targets")
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
    if upstream:
        _require_network(run)
        facts_days = DAYS if facts_days is None else facts_days
    names = locked_stacks(stacks or (ALL,), run)
    unknown = unknown_locks(run)
    if not names:
        raise _nothing_to_check(unknown, run)
    results: list[_Result] = []
    with closing(Catalogs(run)) as catalogs:
        checker = _Checker(
            run,
            catalogs,
            upstream=upstream,
            binaries=binaries,
            anew=anew,
            days=facts_days,
        )
        for name in names:
            try:
                of_stack = checker.check_stack(name)
            except Exception as exception:
                if len(names) == 1:
                    raise
                error = failure(exception)
                print_error(error, run.language, escaped(name))
                state = of_phrase(error.phrases["message"])
                of_stack = [_Result(name, name, "", state, error.exit_status, error.parts())]
            if not run.as_json:
                _print_results(of_stack, run, together=len(names) > 1)
            results += of_stack
    # A lock that cannot be compared with its stack is not current.
    unchecked = unknown if not stacks or ALL in stacks else []
    status = max((result.status for result in results), default=0)
    status = max(status, StaleLock.exit_status if unchecked else 0)
    if run.as_json:
        rows = [result.json() for result in results]
        print_json({"status": _STATUS.get(status, "error"), "locks": rows, "unchecked": unchecked})
        return status
    _print_commands(results, run)
    for folder in checker.stray_folders:
        stray = phrase(
            "hint: {folder} belongs to no target of its stack any more; remove it if it is not "
            "needed",
            folder=folder,
        )
        run.progress.say(translate_phrase(stray, run.language))
    _print_unknown(unchecked, run)
    return status


def _require_network(run: Settings) -> None:
    """Raise InputError if --offline forbids to ask the indexes."""
    if run.offline:
        raise InputError(
            phrase("--offline does not use the network."),
            where="--upstream",
            hint=phrase("leave out one of --upstream and --offline"),
        )


def _nothing_to_check(unknown: Sequence[str], run: Settings) -> InputError:
    """Return the error for a folder without locks, or whose locks belong to `unknown` stacks."""
    why = EMPTY
    hint = phrase("lock a stack first, or give the folder of locks by --locks DIR")
    if unknown:
        names = ", ".join(unknown)
        why = phrase(
            "The stack of {names} is neither in {folder} nor beside the folder.",
            names=names,
            folder=run.matrices,
        )
        hint = literal(run.command("check", f"path/to/{unknown[0]}.toml"))
    return InputError(
        phrase("there is nothing to check"),
        where=str(run.locks),
        why=why,
        hint=hint,
    )


@dataclass
class _Result:
    """The result for a target of a stack, or for a stack that cannot be read."""

    # The name or path of the stack on a command line.
    argument: str
    # The name of the stack.
    stack: str
    # The name of the target; empty for a stack that cannot be read.
    target: str
    # The state of the lock, such as current, stale, missing or unreadable.
    state: Message
    # The exit status of a run with this result alone.
    status: int
    # Further keys of the object in --json.
    more: dict[str, Any] = field(default_factory=dict)
    # Further lines for people.
    lines: list[Message] = field(default_factory=list)
    # What to do about the lock; empty if locking it again is enough.
    hint: str = ""

    @property
    def is_stale(self) -> bool:
        """Return whether the target must be locked again."""
        return bool(self.target) and self.state.code not in _CURRENT

    def raise_status(self, status: int) -> None:
        """Set the exit status, unless it is higher already."""
        self.status = max(self.status, status)

    def json(self) -> dict[str, Any]:
        """Return the result as an object for JSON."""
        state = translate(self.state, "en")
        return {
            "stack": self.stack,
            "target": self.target,
            "stale": state if self.is_stale else "",
            "state": state,
            **self.more,
        }


@dataclass
class _Checker:
    """Checks the locks of stacks."""

    # The options of the run.
    run: Settings
    # The indexes and snapshots, for the checks that need them.
    catalogs: Catalogs
    # Whether to ask the indexes what has happened to each file.
    upstream: bool
    # Whether to judge the binaries of wheels.
    binaries: bool
    # Whether to solve anew and compare.
    anew: bool
    # After how many days without a check a fact is reported; None for never.
    days: int | None
    # Folders of locks whose targets their stacks no longer have.
    stray_folders: list[Path] = field(default_factory=list)

    def check_stack(self, argument: str) -> list[_Result]:
        """Return the result for each chosen target of a stack. Raises ResolverError."""
        inputs = load(argument, self.run.matrices)
        problems = compile_problems(inputs)
        chosen = chosen_targets(problems, self.run.targets)
        results = [self._check(argument, inputs, problem) for problem in chosen]
        targets = [problem.target.name for problem in problems]
        folder = self.run.locks / problems[0].stack.name
        for path in sorted(folder.glob(f"[!.]*/{lock_file.NAME}")):
            if path.parent.name not in targets:
                self.stray_folders.append(path.parent)
        return results

    def _check(self, argument: str, inputs: Inputs, problem: Problem) -> _Result:
        """Return the result for one target."""
        stack, target = problem.stack.name, problem.target.name
        folder = self.run.lock_folder(problem)
        try:
            lock = lock_file.read_own(folder)
        except InputError as error:
            state = of_phrase(_with_cause(error))
            hint = translate_phrase(
                phrase("{place}: {hint}", place=error.where, hint=error.phrases["hint"]),
                self.run.language,
            )
            return _Result(argument, stack, target, state, StaleLock.exit_status, hint=hint)
        if lock is None:
            made_from = lock_folder.report_inputs(folder)
            problem = with_options_of(made_from, inputs, problem)
            return _result(argument, problem, _code_without_lock(made_from.digest, problem))
        problem = with_options_of(lock_folder.lock_inputs(lock), inputs, problem)
        files = _unexpected_files(lock, folder)
        result = _result(argument, problem, _code_of_lock(lock, problem, files))
        for kind, names in files.items():
            result.lines.append(message(f"check.{kind}", count=len(names), names=names))
            result.more.setdefault("files", {})[kind.replace("-", "_")] = names
        if self.days is not None:
            self._add_facts(result, lock, problem, self.days)
        if self.anew and result.state.code == "state.current":
            self._add_solution(result, lock, problem, inputs)
        if self.binaries:
            self._add_binaries(result, lock, problem)
        return result

    def _add_facts(self, result: _Result, lock: Lock, problem: Problem, days: int) -> None:
        """Add the old facts of a lock to a result, and with --upstream what its indexes say."""
        old = old_facts(lock, today(), days)
        result.more["old_facts"] = [{"id": fact.id, "checked": fact.checked} for fact in old]
        if not self.upstream:
            if old:
                result.lines.append(old_facts_sentence(old, days))
            return
        self.run.progress.label("cli.asking-indexes", stack=result.stack, target=result.target)
        with closing(self._live(lock, problem)) as catalog:
            compared = compare(lock, catalog)
        self.run.progress.clear()
        result.more["upstream"] = compared_json(compared)
        result.lines += change_lines(compared, old, days)
        if any(map(is_grave, compared.changes)):
            result.raise_status(CHANGED_UPSTREAM)
        elif compared.out_of_reach:
            result.raise_status(IndexFailure.exit_status)

    def _add_solution(self, result: _Result, lock: Lock, problem: Problem, inputs: Inputs) -> None:
        """Solve anew, and add the differences between the lock and what its inputs give now."""
        # This module imports the solver, which other checks do not need.
        from resolver.cli.anew import difference_from_solution

        progress = self.run.progress
        progress.label("cli.locking", stack=result.stack, target=result.target)
        (problem,) = self.catalogs.with_sources((problem,))
        shared = self._shared(inputs, problem)
        solved = difference_from_solution(problem, lock, self.catalogs, progress.solving, shared)
        progress.clear()
        result.more["solved"] = solved.json()
        if not solved.is_same:
            result.state = message("state.not-given")
            result.raise_status(StaleLock.exit_status)
            result.lines += solved.lines()
            result.hint = self.run.command("lock", result.argument, "--upgrade", "--dry-run")

    def _shared(self, inputs: Inputs, problem: Problem) -> SharedVersions | None:
        """Return the versions that a group shares with other groups.

        The locks of the groups before it in the stack's file count. None for a stack without
        groups.
        """
        if not problem.stack.group:
            return None
        policy = problem.policy
        options = PolicyOptions(exclude_newer=policy.exclude_newer, as_of=policy.as_of)
        of_all_groups = StackCompiler(inputs, together=True).problems(options=options)
        (together,) = self.catalogs.with_sources((of_all_groups[problem.target_number],))
        groups = list(inputs.stack.content.group)
        shared = SharedVersions.of(together, dict.fromkeys(groups), KEEP_ALL)
        folder = self.run.lock_folder(problem)
        for group in groups[: groups.index(problem.stack.group)]:
            earlier = together.target.of_group(group).name
            lock = lock_file.read_own(folder.with_name(earlier))
            if lock is not None:
                shared.add(lock)
        return shared

    def _add_binaries(self, result: _Result, lock: Lock, problem: Problem) -> None:
        """Add what the binaries of the locked wheels need and the lock does not have."""
        self.run.progress.label("cli.judging", stack=result.stack, target=result.target)
        with closing(self._live(lock, problem)) as catalog:
            judged = judge_lock(lock, problem, from_index(catalog))
        self.run.progress.clear()
        sentences = [fault_sentence(wheel, fault) for wheel, fault in judged.faults]
        result.more["binaries"] = {
            "faults": [translate(sentence, "en") for sentence in sentences],
            "unread": list(judged.unread),
        }
        result.lines += sentences
        if judged.unread:
            result.lines.append(message("linkage.unread", names=judged.unread))
        result.lines.append(message("linkage.judged", count=judged.wheels))
        if judged.faults:
            result.raise_status(StaleLock.exit_status)

    def _live(self, lock: Lock, problem: Problem) -> LiveCatalog:
        """Return the catalog of the indexes that a lock was made from."""
        indexes = locked_indexes(lock, problem.indexes)
        return self.catalogs.live(replace(problem, indexes=indexes))


def _unexpected_files(lock: Lock, folder: Path) -> dict[str, tuple[str, ...]]:
    """Return the files in a lock's folder that differ from the lock, or do not belong to it.

    The keys say what is wrong: `differing`, `not-executable` or `foreign`.
    """
    texts = render(lock)
    not_executable = lock_folder.not_executable(texts, folder)
    outdated = lock_folder.outdated(texts, folder)
    files = {
        "differing": tuple(name for name in outdated if name not in not_executable),
        "not-executable": not_executable,
        "foreign": lock_folder.foreign(texts, folder),
    }
    return {kind: names for kind, names in files.items() if names}


def _code_of_lock(lock: Lock, problem: Problem, files: Iterable[str]) -> str:
    """Return the code of a lock's state.

    `files` are the keys of what `_unexpected_files` returned.
    """
    if lock.inputs != problem.digest:
        return "state.stale"
    if set(files) - {"foreign"}:
        return "state.altered"
    return "state.current"


def _code_without_lock(report_digest: str, problem: Problem) -> str:
    """Return the code of the state of a target without a lock.

    `report_digest` is the digest of the inputs of its conflict report; empty without a report.
    """
    if not report_digest:
        return "state.missing"
    if report_digest == problem.digest:
        return "state.conflict-current"
    return "state.conflict-stale"


def _with_cause(error: ResolverError) -> Phrase:
    """Return the message of an error, with the cause if it is known."""
    what, why = error.phrases["message"], error.phrases["why"]
    return phrase("{message}: {cause}", message=what, cause=why) if why else what


def _result(argument: str, problem: Problem, code: str) -> _Result:
    """Return the result for a target whose state has this code."""
    status = 0 if code in _CURRENT else StaleLock.exit_status
    return _Result(argument, problem.stack.name, problem.target.name, message(code), status)


def _print_results(results: Sequence[_Result], run: Settings, *, together: bool) -> None:
    """Print a line for each target of a stack, or for a stack that cannot be read.

    If several stacks are checked `together`, targets with the same state share a line.
    """
    states = [escaped(translate(result.state, run.language)) for result in results]
    has_lines = any(result.lines for result in results)
    are_alike = len(results) > 1 and len(set(states)) == 1 and not has_lines
    if together and are_alike:
        stack, count = results[0].stack, len(results)
        run.print_message(
            "cli.checked-alike",
            stack=stack,
            count=count,
            state=states[0],
        )
        return
    for result, state in zip(results, states, strict=True):
        stack = escaped(result.stack)
        if result.target:
            run.print_message(
                "cli.checked",
                stack=stack,
                target=result.target,
                state=state,
            )
        else:
            failed = message("cli.row-failed", message=state)
            run.print_message("cli.checked-not", stack=stack, failed=failed)
        for line in result.lines:
            print_line(f"  {translate(line, run.language)}")


def _print_commands(results: Sequence[_Result], run: Settings) -> None:
    """Print what to do about the results, and the command that locks the stale stacks again."""
    hints = [result.hint for result in results if result.hint]
    hinted = {result.argument for result in results if result.hint}
    stale = dict.fromkeys(result.argument for result in results if result.is_stale)
    names = [name for name in stale if name not in hinted]
    if names:
        hints.append(run.command("lock", *names))
    for hint in hints:
        run.print_note("cli.hint", command=hint)


def _print_unknown(names: Sequence[str], run: Settings) -> None:
    """Print how to check the locks of stacks whose files were not found."""
    for name in names:
        unknown = phrase(
            "hint: {folder} belongs to a stack that is not in {matrices}; give the path of its "
            "file: {command}",
            folder=run.locks / name,
            matrices=run.matrices,
            command=run.command("check", f"path/to/{name}.toml"),
        )
        run.progress.say(translate_phrase(unknown, run.language))
