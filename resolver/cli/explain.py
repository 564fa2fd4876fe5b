"""`ascend-lock explain STACK`."""

from __future__ import annotations

import datetime as dt
import shlex
import sys
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import click
from packaging.requirements import InvalidRequirement
from packaging.utils import canonicalize_name

from resolver.cli import options
from resolver.cli.called import as_called
from resolver.cli.catalogs import Catalogs, require_an_index, with_sources
from resolver.cli.explaining import Explaining, difference, named_fix, write_fix, write_reports
from resolver.cli.named import chosen
from resolver.cli.options import language_of
from resolver.cli.page import Page
from resolver.cli.progress import Progress
from resolver.config.compile import compile_problems
from resolver.config.load import find_stack, load
from resolver.errors import InputError
from resolver.explain.trial import Clock
from resolver.explain.why import why
from resolver.i18n import translate
from resolver.index.protocol import Catalog
from resolver.json_text import json_text
from resolver.lock import file as lock_file
from resolver.lock import folder as lock_folder
from resolver.model import text
from resolver.model.explanation import Explanation, Why
from resolver.model.lock import Lock
from resolver.model.problem import Problem
from resolver.model.requirement import Requirement
from resolver.model.resolution import Resolution
from resolver.model.text import Language
from resolver.report import words as lock_words
from resolver.report.explanation.conflict import why_blocks
from resolver.report.explanation.json import explanation_json, why_json
from resolver.report.explanation.sentences import target_line
from resolver.report.terminal import terminal_text
from resolver.resolve.core_statements import cutoff_text
from resolver.resolve.solver import decide
from resolver.resolve.universe import Universe

_CONFLICT = 1
_UNDECIDED = 3  # as for a failure of an index, since it depends on one
_FORM = "write for example --package numpy or --package numpy==2.3.5"


@click.command("explain")
@options.stack
@click.option("--package", "package", metavar="NAME[==V]", help="Why NAME is pinned as it is, or what V would break.")
@click.option("--apply", "letter", metavar="LETTER", help="Write the stack of this way out beside the original.")
@click.option("--target", metavar="NAME", help="Only this target.")
@options.offline
@options.exclude_newer
@options.explain_seconds
@options.language
@options.matrices
@options.locks
@options.as_json
def command(
    stack: str,
    package: str | None,
    letter: str | None,
    target: str | None,
    offline: bool,
    exclude_newer: dt.datetime | None,
    explain_seconds: float,
    language: str | None,
    matrices: Path | None,
    locks: Path,
    as_json: bool,
) -> int:
    """Explain why STACK has no solution, and what to change.

    With --package, explain why a pin is what it is.
    """
    given = options.again(matrices, locks, offline=offline)
    elsewhere = options.elsewhere(matrices, locks)
    matrices = matrices or options.default_matrices()
    tongue = language_of(language)
    progress = Progress(tongue, enabled=False if as_json else None)
    page = Page(None if as_json else sys.stdout, tongue, progress, given)
    inputs = load(stack, matrices)
    wanted = None if package is None else _wanted(package)
    answers: list[tuple[Path, Problem, Explanation | Why | None]] = []
    targets = frozenset(() if target is None else (target,))
    with closing(Catalogs(matrices, progress, offline=offline)) as catalogs:
        explaining = Explaining(inputs, exclude_newer, explain_seconds, catalogs, progress, page)
        problems = chosen(compile_problems(inputs, exclude_newer=exclude_newer), targets)
        for problem in with_sources(problems, offline=offline, progress=progress):
            folder = locks / problem.stack.name / problem.target.name
            lock_folder.tidy(folder)
            answer = _answer(problem, lock_file.read_own(folder), wanted, explaining)
            answers.append((folder, problem, answer))
    progress.clear()
    conflicts = [(folder, answer) for folder, _, answer in answers if isinstance(answer, Explanation)]
    write_reports(conflicts)
    fix = None if letter is None else named_fix(letter, [answer for _, answer in conflicts])
    original = find_stack(stack, matrices)
    written = [] if fix is None else write_fix(fix, original)
    solvable = [problem.target.name for _, problem, answer in answers if answer is None]
    if as_json:
        told = [_json(problem, answer, tongue) for _, problem, answer in answers]
        sys.stdout.write(json_text(_whole(told)) + "\n")
    else:
        if conflicts and solvable and fix is None:
            until = () if exclude_newer is None else ("--exclude-newer", cutoff_text(exclude_newer))
            only = [word for name in solvable for word in ("--target", name)]
            locked = shlex.join([stack, *only, *until, *given])
            hint = translate("conflict.lock-solvable", tongue, len(solvable), stack=locked)
            page.write("\n" + as_called(hint) + "\n")
        for folder, _ in conflicts:
            sys.stderr.write(translate("conflict.report-in", tongue, folder=folder) + "\n")
        # a snapshot suffices to find ways out, but not to lock them
        next_step = "conflict.written-online" if catalogs.used_snapshot else "conflict.written"
        given = elsewhere if catalogs.used_snapshot else given
        for path in written:
            sys.stdout.write(difference(path, original, inputs.stack.text))
            lock = path.stem if path.parent == matrices / "stacks" else str(path)
            sys.stdout.write(
                as_called(translate(next_step, tongue, path=path, stack=shlex.join([lock, *given]))) + "\n"
            )
    if fix is not None:
        return 0
    return max((_UNDECIDED if answer.awaited else _CONFLICT for _, answer in conflicts), default=0)


def _wanted(package: str) -> Requirement:
    try:
        need = text.requirement(package)
    except InvalidRequirement:
        raise InputError(f"`{package}` is not NAME or NAME==VERSION", where="--package", hint=_FORM) from None
    if need.extras or need.marker or need.url:
        raise InputError(f"`{package}` is not NAME or NAME==VERSION", where="--package", hint=_FORM)
    return need


def _answer(
    problem: Problem, previous: Lock | None, wanted: Requirement | None, explaining: Explaining
) -> Explanation | Why | None:
    """Why one target has no solution, or why a pin is what it is; None where there is a solution. It is on the page."""
    progress, page = explaining.progress, explaining.page
    tongue = progress.language
    progress.label(lock_words.SOLVING(tongue, stack=problem.stack.name, target=problem.target.name))
    answer = explaining.catalogs.ask(problem, partial(_solve, problem, previous, wanted, explaining))
    match answer:
        case Explanation():
            return explaining.finish(answer)
        case Why():
            page.write(terminal_text(why_blocks(answer, tongue), page.width()))
        case None:
            page.write(_solvable(problem, tongue))
    return answer


def _solve(
    problem: Problem, previous: Lock | None, wanted: Requirement | None, explaining: Explaining, catalog: Catalog
) -> Explanation | Why | None:
    """The same from one catalog; of an explanation the part that `Explaining.explain` finds."""
    pinned = {canonicalize_name(pin.name): text.version(pin.version) for pin in previous.pin} if previous else {}
    preferred = {name: version for name, version in pinned.items() if version is not None}
    universe = Universe(problem, catalog, preferred if wanted is not None else None)
    tick = explaining.progress.solving
    answer = decide(universe, hints=pinned, tick=tick)
    if not isinstance(answer, Resolution):
        require_an_index(universe, partial(explaining.catalogs.address_of, problem))
        return explaining.explain(answer)
    return None if wanted is None else why(answer, universe, wanted, Clock(explaining.seconds, tick))


def _whole(told: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One shape, as for `lock --json`: `status` and `targets`; the keys of an only target are also at the top."""
    statuses = [one["status"] for one in told]
    return {
        **(told[0] if len(told) == 1 else {}),
        "status": next((one for one in ("undecided", "conflict") if one in statuses), statuses[0]),
        "targets": told,
    }


def _json(problem: Problem, answer: Explanation | Why | None, language: Language) -> dict[str, Any]:
    match answer:
        case Explanation():
            return explanation_json(answer, language)
        case Why():
            return why_json(answer, language)
        case _:
            return {"status": "solvable", "stack": problem.stack.name, "target": problem.target.name}


def _solvable(problem: Problem, language: Language) -> str:
    solvable = translate("conflict.solvable", language, stack=problem.stack.name, target=target_line(problem, language))
    return f"{solvable}\n{translate('conflict.see-package', language)}\n"
