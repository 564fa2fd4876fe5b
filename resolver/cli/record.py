"""Record in snapshots what locking stacks requests from the indexes, for `lock --record`."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing

from resolver.cli.answers import explanation_of_refutation, lock_or_refutation
from resolver.cli.catalogs import Catalogs
from resolver.cli.console import ConflictPage, print_json, print_line
from resolver.cli.options import Settings, today
from resolver.cli.outcome import Job
from resolver.cli.session import Session
from resolver.config.find_stack import find_stack
from resolver.config.load import load
from resolver.errors import InputError
from resolver.i18n import translate_phrase
from resolver.index import snapshot
from resolver.index.recording import Recording, RecordingCatalog
from resolver.lock.previous import KEEP_ALL, Preferences
from resolver.phrase import phrase
from resolver.resolve.refutation import Refutation
from resolver.resolve.universe import Universe


def record(names: Iterable[str], run: Settings) -> None:
    """Record what locking each stack requests from the indexes. No lock is written.

    For a stack without a solution, what the explanation requests is recorded as well. With the
    snapshot, all this works without network access, with or without the present lock. Raise
    ResolverError.
    """
    rows = [_record(name, run) for name in names]
    if run.as_json:
        print_json({"status": "recorded", "snapshots": rows})


def _record(stack: str, run: Settings) -> dict[str, object]:
    """Write the snapshot of a stack, and return its object for JSON.

    Raises InputError if a stack in the folder of facts has the same name.
    """
    name = load(stack, run.matrices).stack.content.stack.name
    shared = run.matrices / "stacks" / f"{name}.toml"
    if shared.is_file() and not shared.samefile(find_stack(stack, run.matrices)):
        raise InputError(
            phrase("the snapshot `{name}` belongs to another stack", name=name),
            where=stack,
            why=phrase("{path} has the same name", path=shared),
            hint=phrase("give the stack a name of its own"),
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
    size, projects = path.stat().st_size, len(recorded.projects)
    if not run.as_json and not run.is_quiet:
        written = phrase(
            "Written to {path}: {size}, {count} projects",
            path=path,
            size=f"{size / 1e6:.1f} MB",
            count=projects,
        )
        print_line(translate_phrase(written, run.language))
    return {"stack": name, "path": str(path), "size": size, "projects": projects}


def record_target(job: Job, session: Session, recording: Recording) -> None:
    """Record what locking a target requests, both without a lock and with the present one.

    If there is no solution, record what the explanation requests.
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
