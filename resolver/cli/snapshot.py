"""`ascend-lock snapshot STACK…`: record what locking a stack requests from the indexes."""

from __future__ import annotations

from contextlib import closing

import click

from resolver.cli import options
from resolver.cli.answers import explanation_of_refutation, lock_or_refutation
from resolver.cli.catalogs import Catalogs
from resolver.cli.console import ConflictPage, print_line
from resolver.cli.options import Settings, settings, today
from resolver.cli.outcome import Job
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
    for stack in named_stacks(stacks, run):
        _record(stack, run)
    return 0


def _record(stack: str, run: Settings) -> None:
    """Write the snapshot of a stack. Raise InputError if a shared stack has the same name."""
    name = load(stack, run.matrices).stack.content.stack.name
    shared = run.matrices / "stacks" / f"{name}.toml"
    if shared.is_file() and not shared.samefile(find_stack(stack, run.matrices)):
        raise InputError(
            f"the snapshot `{name}` belongs to another stack",
            where=stack,
            why=f"{shared} has the same name",
            hint="give the stack a name of its own",
        )
    progress = run.progress
    with closing(Catalogs(run)) as catalogs:
        session = Session(run, catalogs, ConflictPage(None, progress))
        jobs = session.jobs(stack)
        recording = Recording(job.problem.target for job in jobs)
        for job in jobs:
            progress.label("cli.locking", stack=name, target=job.problem.target.name)
            record_target(job, session, recording)
    progress.clear()
    path = run.own_snapshot(name)
    recorded = recording.snapshot(name, today())
    snapshot.write(recorded, path)
    size = f"{path.stat().st_size / 1e6:.1f} MB"
    print_line(f"Written to {path}: {size}, {len(recorded.projects)} projects")


def record_target(job: Job, session: Session, recording: Recording) -> None:
    """Record what locking a target requests, without a lock and with the present one.

    Without a solution, record what its explanation requests.
    """
    problem, catalogs = job.problem, session.catalogs
    shipped_linkage = catalogs.pool.files.shipped_linkage
    every_preferences = [Preferences()]
    if job.previous is not None:
        every_preferences.append(KEEP_ALL.preferences(job.previous))
    with closing(catalogs.open(problem)) as live:
        catalog = RecordingCatalog(live, problem.target.platform, recording, shipped_linkage)
        for preferences in every_preferences:
            universe = Universe(problem, catalog, preferences.pins)
            tick = session.settings.progress.solving
            answer = lock_or_refutation(universe, preferences, tick)
            if isinstance(answer, Refutation):
                explanation_of_refutation(answer, job.compiler, session)
                return
