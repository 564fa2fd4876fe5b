"""`ascend-lock lock STACK`."""

from __future__ import annotations

import datetime as dt
import difflib
import json
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.catalog.protocol import Catalog
from resolver.cli import options
from resolver.cli.catalogs import Snapshots, with_catalog, with_sources
from resolver.cli.explaining import explanation_of, for_every_target, language_of, write_reports
from resolver.cli.progress import Progress
from resolver.errors import InputError
from resolver.lock import build as lock_build
from resolver.lock import diff
from resolver.lock import file as lock_file
from resolver.lock import folder as lock_folder
from resolver.matrix.compile import compile_problems
from resolver.matrix.load import Inputs, load
from resolver.model.conflict import Conflict
from resolver.model.explanation import Explanation
from resolver.model.lock import Lock
from resolver.model.problem import Problem
from resolver.model.resolution import Resolution
from resolver.render.explanation import words
from resolver.render.explanation.json import explanation_json
from resolver.render.explanation.sentences import explanation_sentence
from resolver.render.explanation.text import explanation_text
from resolver.render.explanation.words import Language
from resolver.render.files import render
from resolver.render.summary import lock_json, summary
from resolver.solve.builds import solve_builds
from resolver.solve.solver import decide
from resolver.solve.universe import Universe

_CONFLICT = 1


@dataclass(frozen=True, slots=True)
class Wishes:
    """What to keep of the lock before."""

    upgrade: bool
    upgrade_packages: frozenset[NormalizedName]

    def check(self, previous: Lock | None) -> None:
        """Refuse to upgrade what the lock before does not have: most likely a slip of the pen."""
        if previous is None:
            return
        known = {pin.name for pin in (*previous.pin, *previous.build_pin)}
        for name in sorted(self.upgrade_packages - known):
            close = difflib.get_close_matches(name, known, n=1)
            raise InputError(
                f"the lock has no `{name}` that could be upgraded",
                where="--upgrade-package",
                hint=f"did you mean `{close[0]}`?" if close else "its projects stand in lock.toml",
            )

    def keep(self, previous: Lock | None) -> tuple[dict[NormalizedName, Version], dict[NormalizedName, Version]]:
        """The pins to prefer: of the stack, and of the build environment."""
        if previous is None or self.upgrade:
            return {}, {}
        kept = []
        for pins in (previous.pin, previous.build_pin):
            versions = {canonicalize_name(pin.name): Version(pin.version) for pin in pins}
            kept.append({name: version for name, version in versions.items() if name not in self.upgrade_packages})
        return kept[0], kept[1]


@click.command("lock")
@click.argument("stack")
@click.option("--offline", is_flag=True, help="Use no network: the cache, or the snapshot that ships with the stack.")
@click.option("--upgrade", is_flag=True, help="Take the newest releases that fit, whatever the lock before says.")
@click.option("--upgrade-package", "upgrade_packages", multiple=True, metavar="NAME", help="The same for one project.")
@click.option("--exclude-newer", callback=options.read_moment, metavar="DATE", help="Nothing uploaded after this day.")
@options.explain_seconds
@options.language
@options.matrices
@options.locks
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout and nothing else.")
def command(
    stack: str,
    offline: bool,
    upgrade: bool,
    upgrade_packages: tuple[str, ...],
    exclude_newer: dt.datetime | None,
    explain_seconds: float,
    language: str | None,
    matrices: Path | None,
    locks: Path,
    as_json: bool,
) -> int:
    """Lock STACK for each of its targets: a name in matrices/stacks, or a path to a .toml file."""
    matrices = matrices or options.default_matrices()
    progress = Progress(enabled=False if as_json else None)
    inputs = load(stack, matrices)
    problems = compile_problems(inputs, exclude_newer=exclude_newer)
    problems = with_sources(problems, offline=offline, progress=progress)
    wishes = Wishes(upgrade, frozenset(map(canonicalize_name, upgrade_packages)))
    snapshots = Snapshots(matrices)
    answers: list[_Answer] = []
    for problem in problems:
        target = locks / problem.stack.name / problem.target.name
        previous = _previous(target, upgrade=upgrade)
        wishes.check(previous)
        progress.label(f"locking {problem.stack.name} for {problem.target.name}")
        answer = with_catalog(
            problem,
            snapshots,
            partial(_lock, _Job(problem, inputs, exclude_newer, previous, wishes, explain_seconds), progress),
            offline=offline,
            progress=progress,
        )
        if isinstance(answer, Explanation):
            answer = for_every_target(
                answer, inputs, exclude_newer, explain_seconds, snapshots, offline=offline, progress=progress
            )
        answers.append(_Answer(problem, previous, answer, target))
    progress.clear()
    return _finish(answers, language_of(language), as_json=as_json)


def _previous(target: Path, *, upgrade: bool) -> Lock | None:
    """The lock before; one that cannot be read is an error unless nothing of it is to be kept."""
    lock_folder.tidy(target)
    try:
        return lock_file.read(target)
    except InputError:
        if upgrade:
            return None
        raise


class _Job(NamedTuple):
    problem: Problem
    inputs: Inputs
    cutoff: dt.datetime | None
    previous: Lock | None
    wishes: Wishes
    seconds: float


def _lock(job: _Job, progress: Progress, catalog: Catalog) -> Lock | Explanation:
    previous = job.previous
    keep, keep_builds = job.wishes.keep(previous)
    hints = [canonicalize_name(pin.name) for pin in (*previous.pin, *previous.build_pin)] if previous else []
    answer = decide(Universe(job.problem, catalog, keep), hints=hints, tick=progress.solving)
    if not isinstance(answer, Resolution):
        return explanation_of(answer, job.inputs, job.cutoff, job.seconds, progress)
    builds = solve_builds(answer, catalog, preferred=keep_builds, tick=progress.solving)
    if isinstance(builds, Conflict):
        why = "; ".join(explanation_sentence(statement, "en") for statement in builds.statements)
        return lock_build.build(answer, None, catalog, previous, unbuilt=why)
    return lock_build.build(answer, builds, catalog, previous)


class _Answer(NamedTuple):
    problem: Problem
    previous: Lock | None
    found: Lock | Explanation
    folder: Path


def _finish(answers: list[_Answer], language: Language, *, as_json: bool) -> int:
    """Write the locks of all targets, or the reports of those that have a conflict and no lock, and tell."""
    conflicts = [answer.found for answer in answers if isinstance(answer.found, Explanation)]
    reports = [(answer.folder, answer.found) for answer in answers if isinstance(answer.found, Explanation)]
    locked = [(answer, answer.found) for answer in answers if isinstance(answer.found, Lock)]
    files = {answer.folder: render(lock) for answer, lock in locked}
    changed = {
        folder: texts
        for folder, texts in files.items()
        if not lock_folder.current(texts, folder) or lock_folder.has_report(folder)
    }
    if conflicts:
        write_reports(reports, language)
    else:
        lock_folder.replace(changed)
    if as_json:
        status = "conflict" if conflicts else "locked"
        told = [explanation_json(conflict, language) for conflict in conflicts]
        told += [lock_json(lock, answer.folder, written=not conflicts) for answer, lock in locked]
        whole = told[0] if len(told) == 1 else {"status": status, "targets": told}
        sys.stdout.write(json.dumps(whole, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
    elif conflicts:
        sys.stderr.write("\n".join(explanation_text(conflict, language) for conflict in conflicts))
        for folder, _ in reports:
            sys.stderr.write(words.REPORT_IN(language, folder=folder) + "\n")
    else:
        for answer, lock in locked:
            moved = answer.previous is None or not diff.same(answer.previous, lock)
            written = answer.folder in changed
            sys.stdout.write(summary(lock, answer.problem, answer.folder, written=written, moved=moved))
    return _CONFLICT if conflicts else 0
