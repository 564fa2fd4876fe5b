"""`ascend-lock explain STACK`."""

from __future__ import annotations

import difflib
import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import click
from packaging.requirements import InvalidRequirement

from resolver import files
from resolver.cli import options
from resolver.cli.answers import explanation_of_refutation
from resolver.cli.catalogs import Catalogs
from resolver.cli.console import ConflictPage, print_data, print_to_stderr
from resolver.cli.options import Settings, output_folder, settings
from resolver.cli.outcome import CONFLICT, UNDECIDED, Job, print_targets
from resolver.cli.session import Session
from resolver.config.load import find_stack
from resolver.errors import InputError
from resolver.explain.explain import option_words
from resolver.explain.trial import Clock
from resolver.explain.why import why
from resolver.i18n import translate
from resolver.index.protocol import Catalog
from resolver.lock import folder as lock_folder
from resolver.lock.previous import KEEP_ALL
from resolver.model import text
from resolver.model.explanation import Explanation, Fix, Why
from resolver.model.problem import Problem
from resolver.model.requirement import Requirement
from resolver.model.resolution import Resolution
from resolver.report.explanation.conflict import report_files, why_blocks
from resolver.report.explanation.json import explanation_json, why_json
from resolver.report.explanation.sentences import target_line
from resolver.report.links import way_to_matrices
from resolver.resolve.solver import decide
from resolver.resolve.universe import Universe


@click.command("explain")
@options.stack
@click.option(
    "--package", metavar="NAME[==V]", help="Why NAME is pinned as it is, or what V would break."
)
@click.option(
    "--apply",
    "letter",
    metavar="LETTER",
    help="Write the stack of this way out beside the original.",
)
@settings(
    "offline",
    "targets",
    "cutoff",
    "as_of",
    "seconds",
    "language",
    "own_matrices",
    "locks",
    "as_json",
)
def command(run: Settings, stack: str, package: str | None, letter: str | None) -> int:
    """Explain why STACK has no solution, and what to change.

    With --package, explain why a pin is what it is.
    """
    quiet = run.as_json or letter is not None  # who applies a way out has read the page
    page = ConflictPage(None if quiet else sys.stdout, run.progress, run.repeated_options)
    requirement = None if package is None else _requirement(package)
    with closing(Catalogs(run)) as catalogs:
        session = Session(run, catalogs, page)
        answers = [(job, _answer(job, requirement, session)) for job in session.jobs(stack)]
    run.progress.clear()
    conflicts = [(job.folder, answer) for job, answer in answers if isinstance(answer, Explanation)]
    for folder, explanation in conflicts:
        lock_folder.add(folder, report_files(explanation))
    fix = None if letter is None else _named_fix(letter, [answer for _, answer in conflicts])
    original = find_stack(stack, run.matrices)
    written = [] if fix is None else _write_fix(fix, original)
    if run.as_json:
        rows = [_json(job.problem, answer, run) for job, answer in answers]
        statuses = [row["status"] for row in rows]
        print_targets(
            next(
                (status for status in ("undecided", "conflict") if status in statuses), statuses[0]
            ),
            rows,
        )
    else:
        solvable = [job.problem.target.name for job, answer in answers if answer is None]
        if conflicts and solvable and fix is None:
            targets = [word for name in solvable for word in ("--target", name)]
            arguments = shlex.join(
                [stack, *targets, *option_words(run.policy_options), *run.repeated_options]
            )
            page.write(
                "\n"
                + translate("conflict.lock-solvable", run.language, len(solvable), stack=arguments)
                + "\n"
            )
        for folder, _ in conflicts:
            print_to_stderr(translate("conflict.report-in", run.language, folder=folder))
        # a snapshot suffices to find ways out, but not to lock them
        next_step = "conflict.written-online" if catalogs.used_snapshot else "conflict.written"
        for path in written:
            new = path.read_text(encoding="utf-8").splitlines(keepends=True)
            old = answers[0][0].inputs.stack.text.splitlines(keepends=True)
            print_data(
                "\n" + "".join(difflib.unified_diff(old, new, str(original), str(path))) + "\n"
            )
            name = path.stem if path.parent == run.matrices / "stacks" else str(path)
            options_of_lock = run.folder_options if catalogs.used_snapshot else run.repeated_options
            run.print_message(next_step, path=path, stack=shlex.join([name, *options_of_lock]))
    if fix is not None:
        return 0
    return max((UNDECIDED if answer.awaited else CONFLICT for _, answer in conflicts), default=0)


def _requirement(package: str) -> Requirement:
    form = "write for example --package numpy or --package numpy==2.3.5"
    refusal = InputError(f"`{package}` is not NAME or NAME==VERSION", where="--package", hint=form)
    try:
        requirement = text.requirement(package)
    except InvalidRequirement:
        raise refusal from None
    if requirement.extras or requirement.marker or requirement.url:
        raise refusal
    return requirement


def _answer(
    job: Job, requirement: Requirement | None, session: Session
) -> Explanation | Why | None:
    """Why one target has no solution, or why a pin is what it is; None if there is a solution and no `requirement`."""
    page, progress, problem = session.page, session.settings.progress, job.problem
    language = progress.language
    pins = KEEP_ALL.preferences(job.previous).pins

    def solve(catalog: Catalog) -> Explanation | Why | None:
        universe = Universe(problem, catalog, pins if requirement is not None else None)
        answer = decide(universe, hints=pins, tick=progress.solving)
        if not isinstance(answer, Resolution):
            return explanation_of_refutation(answer, job.inputs, session)
        if requirement is None:
            return None
        return why(answer, universe, requirement, Clock(session.settings.seconds, progress.solving))

    progress.label("cli.solving", stack=problem.stack.name, target=problem.target.name)
    answer = session.catalogs.ask(problem, solve)
    if isinstance(answer, Why):
        page.write_blocks(why_blocks(answer))
    elif answer is None:
        target = translate(target_line(problem), language)
        solvable = translate("conflict.solvable", language, stack=problem.stack.name, target=target)
        page.write(f"{solvable}\n{translate('conflict.see-package', language)}\n")
    return answer


def _named_fix(letter: str, explanations: Sequence[Explanation]) -> Fix:
    """The fix with this letter.

    Raises InputError if there is none, or one for each of several targets.
    """
    where = "--apply"
    if not explanations:
        message = "there is no conflict, so there is no way out to write"
        raise InputError(message, where=where, hint="lock it as it is")
    every = [(row.problem.target.name, fix) for row in explanations for fix in row.fixes]
    fixes = {target: fix for target, fix in every if fix.name.lower() == letter.lower()}
    if not fixes:
        letters = ", ".join(dict.fromkeys(fix.name for _, fix in every)) or "none"
        raise InputError(f"there is no way out `{letter}`", where=where, hint=f"found: {letters}")
    if len({fix.files for fix in fixes.values()}) > 1:
        message = f"several targets have different ways out `{letter}`"
        raise InputError(message, where=where, hint=f"choose with --target: {', '.join(fixes)}")
    return next(iter(fixes.values()))


def _write_fix(fix: Fix, stack: Path) -> list[Path]:
    """Write the changed stacks beside the original, or here if it ships; never over a file with other content."""
    stacks = {
        output_folder(stack) / f"{name}.toml": content.encode() for name, content in fix.files
    }
    for path, content in stacks.items():
        if os.path.lexists(path) and not (path.is_file() and path.read_bytes() == content):
            message = f"`{path}` already exists and differs; nothing was written"
            raise InputError(message, where=str(path), hint="move it out of the way first")
    for path, content in stacks.items():
        files.write(path, content)
    return list(stacks)


def _json(problem: Problem, answer: Explanation | Why | None, run: Settings) -> dict[str, Any]:
    if answer is None:
        return {"status": "solvable", "stack": problem.stack.name, "target": problem.target.name}
    if isinstance(answer, Why):
        return why_json(answer, way_to_matrices(run.locks, run.matrices), run.language)
    return explanation_json(answer, run.language)
