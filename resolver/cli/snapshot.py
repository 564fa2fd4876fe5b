"""`ascend-lock snapshot STACK…`: record what locking a stack requests from the indexes."""

from __future__ import annotations

from contextlib import closing

import click

from resolver.cli import options
from resolver.cli.answers import explanation_of_refutation, lock_or_refutation
from resolver.cli.catalogs import Catalogs
from resolver.cli.console import ConflictPage, print_line
from resolver.cli.options import Settings, settings, today
from resolver.cli.selection import named_stacks
from resolver.cli.session import Session
from resolver.config.load import find_stack, load
from resolver.errors import InputError
from resolver.index import snapshot
from resolver.index.recording import Recording, RecordingCatalog
from resolver.lock.previous import KEEP_ALL, Preferences
from resolver.resolve.solver import Refutation
from resolver.resolve.universe import Universe


@click.command("snapshot")
@options.stacks("stacks", "STACK...")
@settings("own_matrices", "locks")
def command(run: Settings, stacks: tuple[str, ...]) -> int:
    """Record what locking each STACK, or `all`, asks the indexes.

    For a stack without a solution, record what explaining the conflict asks. With the snapshot, the
    same can be done without network access, with or without the present lock.
    """
    for stack in named_stacks(stacks, run.matrices):
        _record(stack, run)
    return 0


def _record(stack: str, run: Settings) -> None:
    name = load(stack, run.matrices).stack.content.stack.name
    shared = run.matrices / "stacks" / f"{name}.toml"
    if shared.is_file() and not shared.samefile(find_stack(stack, run.matrices)):
        what, why = f"the snapshot `{name}` belongs to another stack", f"{shared} has the same name"
        raise InputError(what, where=stack, why=why, hint="give the stack a name of its own")
    progress = run.progress
    with closing(Catalogs(run)) as catalogs:
        session = Session(run, catalogs, ConflictPage(None, progress))
        jobs = session.jobs(stack)
        recording = Recording(job.problem.target for job in jobs)
        for job in jobs:
            problem = job.problem
            progress.label("cli.locking", stack=name, target=problem.target.name)
            with closing(catalogs.open(problem)) as live:
                catalog = RecordingCatalog(
                    live, problem.target.platform, recording, catalogs.pool.files.shipped_linkage
                )
                of_lock = [] if job.previous is None else [KEEP_ALL.preferences(job.previous)]
                for preferences in (Preferences(), *of_lock):
                    universe = Universe(problem, catalog, preferences.pins)
                    answer = lock_or_refutation(universe, preferences, progress.solving)
                    if isinstance(answer, Refutation):
                        explanation_of_refutation(answer, job.inputs, session)
                        break
    progress.clear()
    path = run.own_snapshot(name)
    recorded = recording.snapshot(name, today())
    snapshot.write(recorded, path)
    print_line(
        f"Written to {path}: {path.stat().st_size / 1e6:.1f} MB, {len(recorded.projects)} projects"
    )
