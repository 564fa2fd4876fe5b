"""`ascend-lock snapshot STACK…`: record what locking a stack requests from the indexes."""

from __future__ import annotations

import datetime as dt
import sys
from contextlib import closing
from pathlib import Path

import click

from resolver.cli import options
from resolver.cli.catalogs import Catalogs, snapshot_path, with_sources
from resolver.cli.explaining import explanation_of
from resolver.cli.named import named
from resolver.cli.page import Page
from resolver.cli.progress import Progress
from resolver.cli.solving import solved
from resolver.cli.upgrade_policy import UpgradePolicy
from resolver.config.compile import compile_problems
from resolver.config.load import find_stack, load
from resolver.errors import InputError
from resolver.explain.trial import Clock
from resolver.index import snapshot
from resolver.index.recording import Recording, RecordingCatalog
from resolver.lock import file as lock_file
from resolver.resolve.solver import Refutation
from resolver.resolve.universe import Universe

_KEEP = UpgradePolicy(upgrade=False, upgrade_packages=frozenset())
_SECONDS = 600.0  # for the ways out of a conflict, all of which are to be recorded


@click.command("snapshot")
@click.argument("stacks", metavar="STACK...", nargs=-1, required=True, shell_complete=options.completed)
@options.matrices
@options.locks
def command(stacks: tuple[str, ...], matrices: Path | None, locks: Path) -> int:
    """Record what locking each STACK, or `all`, asks the indexes.

    For a stack without a solution, record what explaining the conflict asks. With the snapshot, the same can be done
    without network access, with or without the present lock.
    """
    matrices = matrices or options.default_matrices()
    for stack in named(stacks, matrices):
        _record(stack, matrices, locks)
    return 0


def _record(stack: str, matrices: Path, locks: Path) -> None:
    progress = Progress()
    today = dt.datetime.now(tz=dt.timezone.utc).date()
    inputs = load(stack, matrices)
    _require_own_name(inputs.stack.content.stack.name, stack, matrices)
    problems = with_sources(compile_problems(inputs), offline=False, progress=progress)
    recording = Recording(problem.target for problem in problems)
    with closing(Catalogs(matrices, progress)) as catalogs:
        for problem in problems:
            progress.label(f"{problem.stack.name} for {problem.target}")
            with closing(catalogs.asking(problem)) as asked:
                catalog = RecordingCatalog(asked, problem.target.platform, recording)
                previous = lock_file.read_own(locks / problem.stack.name / problem.target.name)
                for keep, keep_builds in [({}, {})] if previous is None else [({}, {}), _KEEP.keep(previous)]:
                    answer = solved(Universe(problem, catalog, keep), keep_builds, progress)
                    if isinstance(answer, Refutation):
                        clock = Clock(_SECONDS, progress.solving)
                        explanation_of(answer, inputs, None, clock, progress, Page(None, "en", progress))
                        break
    progress.clear()
    path = snapshot_path(problems[0].stack.name, matrices)
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = recording.snapshot(problems[0].stack.name, today)
    snapshot.write(whole, path)
    sys.stdout.write(f"Written to {path}: {path.stat().st_size / 1e6:.1f} MB, {len(whole.projects)} projects\n")


def _require_own_name(name: str, stack: str, matrices: Path) -> None:
    """Raise InputError if the snapshot would replace that of another stack."""
    theirs = matrices / "stacks" / f"{name}.toml"
    if theirs.is_file() and not theirs.samefile(find_stack(stack, matrices)):
        raise InputError(
            f"the snapshot `{name}` belongs to another stack",
            where=stack,
            why=f"{theirs} has the same name",
            hint="give the stack a name of its own",
        )
