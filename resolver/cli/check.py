"""`ascend-lock check [STACK]`: whether locks are still what their inputs say."""

from __future__ import annotations

import datetime as dt
import json
import sys
from pathlib import Path

import click

from resolver.cli import options
from resolver.errors import InputError, StaleLock
from resolver.lock import file as lock_file
from resolver.lock import folder as lock_folder
from resolver.matrix.compile import compile_problems
from resolver.matrix.load import load, stack_names
from resolver.render.files import render

_STALE = StaleLock.exit_status


@click.command("check")
@click.argument("stack", required=False)
@options.matrices
@options.locks
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout and nothing else.")
def command(stack: str | None, matrices: Path | None, locks: Path, as_json: bool) -> int:
    """Compare locks with the facts, stacks and files that they belong to. Asks no network, changes nothing."""
    matrices = matrices or options.default_matrices()
    rows: list[dict[str, str]] = []
    unreadable: set[str] = set()
    for name in [stack] if stack else stack_names(matrices):
        inputs = load(name, matrices)
        for at, problem in enumerate(compile_problems(inputs)):
            folder = locks / problem.stack.name / problem.target.name
            state, lock = "", None
            try:
                lock = lock_file.read(folder)
            except InputError as error:
                state = f"{error.message}: {error.why}"
                unreadable.add(problem.stack.name)
            reported, cutoff = lock_folder.reported(folder) if lock is None else ("", lock.exclude_newer)
            if cutoff:  # it may have been given on the command line
                problem = compile_problems(inputs, exclude_newer=dt.datetime.fromisoformat(cutoff))[at]
            current = "current"
            if lock is None and not state and reported:
                current = "no solution, as its report says"
                state = (
                    "" if reported == problem.digest else "the stack or the facts changed since its conflict was told"
                )
            elif lock is None:
                state = state or "there is no lock"
            elif lock.inputs != problem.digest:
                state = "the stack or the facts changed since"
            elif not lock_folder.current(render(lock), folder):
                state = "files beside lock.toml are not what it says"
            row = {"stack": problem.stack.name, "target": problem.target.name, "stale": state}
            rows.append({**row, "state": state or current})
    stale = [row for row in rows if row["stale"]]
    if as_json:
        sys.stdout.write(json.dumps({"status": "stale" if stale else "current", "locks": rows}, indent=2) + "\n")
    else:
        for row in rows:
            sys.stdout.write(f"{row['stack']} for {row['target']}: {row['state']}\n")
        for name in sorted({row["stack"] for row in stale}):
            sys.stdout.write(f"hint: ascend-lock lock {name}{' --upgrade' if name in unreadable else ''}\n")
    return _STALE if stale else 0
