"""Run `ascend-lock explain STACK`: explain a conflict, and write a way out."""

from __future__ import annotations

import difflib
import os
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from resolver import files
from resolver.cli import options
from resolver.cli.answers import stack_of_fix
from resolver.cli.catalogs import Catalogs
from resolver.cli.common import Command
from resolver.cli.console import ConflictPage, print_data, print_to_stderr
from resolver.cli.options import Settings, output_folder, settings
from resolver.cli.outcome import Job, conflict_status, print_targets
from resolver.cli.session import Session, is_outdated_for, write_report
from resolver.cli.unusable import require_usable
from resolver.config.find_stack import find_stack, stack_name
from resolver.config.toml_files import as_text, file_text
from resolver.errors import InputError
from resolver.explain.clock import Clock
from resolver.explain.explain import option_words
from resolver.explain.stack_text import way_out_comment, with_notes_in
from resolver.explain.why import why
from resolver.i18n import translate, translate_phrase
from resolver.index.protocol import Catalog
from resolver.lock.folder import ReportedFix
from resolver.lock.previous import KEEP_ALL
from resolver.lock.remembered import StackOfFix
from resolver.model.explanation import Explanation, LockState, Why
from resolver.model.problem import Problem
from resolver.model.requirement import Requirement
from resolver.model.resolution import Resolution
from resolver.phrase import phrase
from resolver.report.explanation.json import explanation_json, why_json
from resolver.report.explanation.sentences import target_line
from resolver.report.explanation.why import why_blocks
from resolver.report.links import way_to_matrices
from resolver.resolve.solver import decide
from resolver.resolve.universe import Universe

# The answer for one target; None if there is a solution and nothing to explain.
Answer = Explanation | Why | None


@click.command("explain", cls=Command)
@options.stack
@click.option(
    "--apply",
    "letter",
    metavar="LETTER",
    help="Write the stack of this way out beside the original.",
)
@click.option(
    "--all-groups",
    is_flag=True,
    help="Why the groups of STACK do not fit into one environment.",
)
@settings("targets", "cutoff", "as_of", "seconds")
def command(run: Settings, stack: str, letter: str | None, all_groups: bool) -> int:
    """Explain why STACK has no solution, and what to change.

    `ascend-lock why STACK NAME` explains why a project is pinned as it is.
    """
    # A user who applies a way out has read the explanation already.
    is_quiet = run.as_json or letter is not None
    page = ConflictPage(None if is_quiet else sys.stdout, run.progress, run.repeated_options)
    with closing(Catalogs(run)) as catalogs:
        session = Session(run, catalogs, page)
        if letter is not None:
            return _apply(letter, stack, session, all_groups=all_groups)
        answers = explained(stack, session, all_groups=all_groups)
    conflicts = conflicts_of(answers)
    # There is no lock of all groups together, so it has no report.
    if not all_groups:
        write_reports(conflicts)
    if run.as_json:
        print_answers(answers, run)
        return status_of(conflicts)
    solvable = [job.problem.target.name for job, answer in answers if answer is None]
    if conflicts and solvable:
        page.write(_lock_solvable(stack, solvable, run))
    if not all_groups:
        print_reports(conflicts, run)
    return status_of(conflicts)


def _apply(letter: str, stack: str, session: Session, *, all_groups: bool) -> int:
    """Write the stack of a way out, and say how it differs from the original one.

    A remembered way out is written without a new search. With `--json`, the explanation is printed,
    so the search always takes place. Return the exit status.
    """
    run, catalogs = session.settings, session.catalogs
    original = find_stack(stack, run.matrices)
    fixes = None
    # Environments of all groups together have no report.
    shown: Sequence[ReportedFix] = ()
    if not all_groups:
        jobs = session.jobs(stack)
        shown = session.shown_fixes(jobs)
        fixes = None if run.as_json else session.remembered_fixes(jobs)
    if fixes is not None:
        fix = named_fix(letter, fixes)
        require_as_shown(fix, shown, stack, run)
        _print_written(_write_fix(fix, original, run), original, run, catalogs)
        return 0
    answers = explained(stack, session, all_groups=all_groups)
    conflicts = conflicts_of(answers)
    fix = named_fix(letter, stacks_of_fixes(conflicts.values()))
    # The report that was read stays until the new letters are shown.
    require_as_shown(fix, shown, stack, run)
    if not all_groups:
        write_reports(conflicts)
    written = _write_fix(fix, original, run)
    if run.as_json:
        print_answers(answers, run)
        return 0
    if not all_groups:
        print_reports(conflicts, run)
    _print_written(written, original, run, catalogs)
    return 0


def stacks_of_fixes(
    explanations: Iterable[Explanation],
) -> dict[str, tuple[StackOfFix, ...]]:
    """Return the ways out of each target, by the name of the target."""
    return {
        explanation.problem.target.name: tuple(
            map(stack_of_fix, (*explanation.fixes, *explanation.awaiting))
        )
        for explanation in explanations
    }


def explained(
    stack: str,
    session: Session,
    requirement: Requirement | None = None,
    *,
    all_groups: bool = False,
) -> list[tuple[Job, Answer]]:
    """Explain each target of a stack, as `_answer` does.

    With `all_groups`, the groups of the stack are taken as one environment.
    """
    jobs = session.jobs(stack, together=all_groups)
    answers = [(job, _answer(stack, job, requirement, session)) for job in jobs]
    session.settings.progress.clear()
    return answers


def write_reports(conflicts: Mapping[Path, Explanation]) -> None:
    """Write the reports of conflicts into the folders of their locks."""
    for folder, explanation in conflicts.items():
        write_report(explanation, folder)


def conflicts_of(answers: Sequence[tuple[Job, Answer]]) -> dict[Path, Explanation]:
    """Return the explanations of targets without a solution, by the folders of their locks."""
    return {job.folder: answer for job, answer in answers if isinstance(answer, Explanation)}


def status_of(conflicts: Mapping[Path, Explanation]) -> int:
    """Return the exit status of a run with these conflicts."""
    return max(map(conflict_status, conflicts.values()), default=0)


def print_reports(folders: Iterable[Path], run: Settings) -> None:
    """Print on stderr where the reports of conflicts are."""
    for folder in folders:
        print_to_stderr(translate("conflict.report-in", run.language, folder=folder))


def print_answers(answers: Sequence[tuple[Job, Answer]], run: Settings) -> None:
    """Print the answers of all targets as JSON."""
    rows = [_json(job.problem, answer, run) for job, answer in answers]
    statuses = [row["status"] for row in rows]
    status = statuses[0]
    if "undecided" in statuses:
        status = "undecided"
    elif "conflict" in statuses:
        status = "conflict"
    print_targets(status, rows)


def _lock_solvable(stack: str, targets: Sequence[str], run: Settings) -> str:
    """Return the text with the command that locks the targets which have a solution."""
    words = [stack]
    for target in targets:
        words += ["--target", target]
    words += [*option_words(run.policy_options), *run.repeated_options]
    arguments = shlex.join(words)
    text = translate("conflict.lock-solvable", run.language, len(targets), stack=arguments)
    return f"\n{text}\n"


def _print_written(
    paths: Iterable[Path], original: Path, run: Settings, catalogs: Catalogs
) -> None:
    """Print how each written stack differs from the original one, and how to lock it."""
    for path in paths:
        _print_difference(path, original, run, used_snapshot=catalogs.used_snapshot)


def _print_difference(path: Path, original: Path, run: Settings, *, used_snapshot: bool) -> None:
    """Print how a written stack differs from the original one, and how to lock it."""
    old = file_text(original, str(original)).splitlines(keepends=True)
    new = file_text(path, str(path)).splitlines(keepends=True)
    difference = difflib.unified_diff(old, new, str(original), str(path))
    print_data("\n" + "".join(difference) + "\n")
    # A snapshot is enough to find a way out, but not to lock it.
    if used_snapshot:
        code, options_of_lock = "conflict.written-online", run.folder_options
    else:
        code, options_of_lock = "conflict.written", run.repeated_options
    name = str(path)
    if path.parent == run.matrices / "stacks":
        name = path.stem
    run.print_note(code, path=path, stack=shlex.join([name, *options_of_lock]))


def _answer(argument: str, job: Job, requirement: Requirement | None, session: Session) -> Answer:
    """Return why a target has no solution or, given a `requirement`, why its project is pinned.

    It is also printed. Without a requirement, return None for a target that has a solution.
    `argument` names the stack on a command line.
    """
    page, progress, problem = session.page, session.settings.progress, job.problem
    language = progress.language
    pins = KEEP_ALL.preferences(job.previous).pins

    def solve(catalog: Catalog) -> Answer:
        universe = Universe(problem, catalog, pins if requirement is not None else None)
        answer = decide(universe, hints=pins, tick=progress.solving)
        if not isinstance(answer, Resolution):
            return session.explanation(answer, job)
        if requirement is None:
            return None
        require_usable(requirement.name, answer, language)
        return why(
            answer,
            universe,
            requirement,
            Clock(session.settings.seconds, progress.solving),
        )

    progress.label("cli.solving", stack=problem.stack.name, target=problem.target.name)
    answer = session.catalogs.ask(problem, solve)
    if isinstance(answer, Why):
        answer = replace(answer, lock=_lock_state(answer, job))
        page.write_blocks(why_blocks(answer))
    elif answer is None:
        target = translate(target_line(problem), language)
        solvable = translate("conflict.solvable", language, stack=problem.stack.name, target=target)
        command = session.settings.command("why", argument, "NAME")
        hint = translate("conflict.see-why", language, command=command)
        page.write(f"{solvable}\n{hint}\n")
    return answer


def _lock_state(answer: Why, job: Job) -> LockState:
    """Return whether the lock that is there says the same as `answer`."""
    lock = job.previous
    if lock is None:
        return "missing"
    if is_outdated_for(job, lock):
        return "outdated"
    locked = {pin.name: pin.version for pin in lock.pin}
    return "current" if locked.get(answer.name) == answer.version else "other"


def named_fix(letter: str, fixes_of: Mapping[str, Sequence[StackOfFix]]) -> StackOfFix:
    """Return the way out with this letter.

    `fixes_of` has the ways out of each target without a solution, by the name of the target. Raise
    InputError if there is none, or if it differs between targets.
    """
    where = "--apply"
    if not fixes_of:
        raise InputError(
            phrase("there is no conflict, so there is no way out to write"),
            where=where,
            hint=phrase("lock it as it is"),
        )
    letters: list[str] = []
    fixes: dict[str, StackOfFix] = {}
    for target, fixes_of_target in fixes_of.items():
        for fix in fixes_of_target:
            letters.append(fix.name)
            if fix.name.lower() == letter.lower():
                fixes[target] = fix
    if not fixes:
        found = ", ".join(dict.fromkeys(letters))
        raise InputError(
            phrase("there is no way out `{letter}`", letter=letter),
            where=where,
            hint=phrase("found: {names}", names=found) if found else phrase("none was found"),
        )
    first, *others = fixes.values()
    if any(fix.files != first.files for fix in others):
        raise InputError(
            phrase("several targets have different ways out `{letter}`", letter=letter),
            where=where,
            hint=phrase("choose with --target: {names}", names=", ".join(fixes)),
        )
    return first


def require_as_shown(
    fix: StackOfFix, shown: Iterable[ReportedFix], stack: str, run: Settings
) -> None:
    """Raise InputError if another way out was `shown` by the letter of this one.

    A search that is limited by time may find more when it is repeated, and then gives letters anew.
    """
    for former in shown:
        if former.name == fix.name and former.files != fix.files:
            raise InputError(
                phrase("way out `{letter}` is another one now", letter=fix.name),
                where="--apply",
                why=phrase(
                    "It was: {former}. Now it is: {now}.",
                    former=former.changes,
                    now=translate(fix.changes, run.language),
                ),
                hint=phrase("look again: {command}", command=run.command("explain", stack)),
            )


def _write_fix(fix: StackOfFix, stack: Path, run: Settings) -> list[Path]:
    """Write the changed stacks of a way out, and return their paths.

    They are written beside the original, or to the current folder if that ships with the program,
    with the line ends of the original. The comments in them are in the language of the run, as in a
    stack that `import` writes.
    Raises InputError if a file with other content is there.
    """
    folder = output_folder(stack)
    comment = way_out_comment(fix.name, stack_name(stack))
    translated = translate_phrase(comment, run.language)
    original = files.read(stack)
    original_text = as_text(original, str(stack))
    stacks = {}
    for name, text in fix.files:
        commented = text.replace(f"# {comment}", f"# {translated}", 1)
        commented = with_notes_in(run.language, commented, original_text)
        stacks[folder / f"{name}.toml"] = files.encoded_like(original, commented)
    for path, content in stacks.items():
        is_written = path.is_file() and path.read_bytes() == content
        if os.path.lexists(path) and not is_written:
            raise InputError(
                phrase("`{path}` already exists and differs; nothing was written", path=path),
                where=str(path),
                hint=phrase("move it out of the way first"),
            )
    for path, content in stacks.items():
        files.write(path, content)
    return list(stacks)


def _json(problem: Problem, answer: Answer, run: Settings) -> dict[str, Any]:
    """Return the object of a target for JSON."""
    if answer is None:
        return {
            "status": "solvable",
            "stack": problem.stack.name,
            "target": problem.target.name,
        }
    if isinstance(answer, Why):
        return why_json(answer, way_to_matrices(run.locks, run.matrices), run.language)
    return explanation_json(answer, run.language)
