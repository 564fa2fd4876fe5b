"""`ascend-lock verify STACK`: the lock's own verify.py, run with the environment's Python."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import click

from resolver.cli import options
from resolver.cli.options import Settings, settings
from resolver.cli.selection import named_locks
from resolver.errors import InputError
from resolver.report.verify import FILE


@click.command("verify")
@options.stack
@click.option(
    "--python",
    metavar="PATH",
    help="The environment's Python (default: the active environment's, else python3).",
)
@click.option(
    "--full", is_flag=True, help="Compare the contents of every file, not just of a sample."
)
@click.option("--quick", is_flag=True, help="Import only the modules that the stack lists.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    help="Limit for each start (default: 300).",
)
@click.option(
    "--skip-system-checks",
    is_flag=True,
    help="Only warn if the machine itself differs from the lock's.",
)
@click.option(
    "--ascend",
    metavar="DIR",
    help="Where driver and CANN are installed (default: /usr/local/Ascend).",
)
@settings("targets", "language", "own_matrices", "locks", "as_json")
def command(
    run: Settings, stack: str, python: str | None, **options_of_verify: str | bool | float | None
) -> int:
    """Check whether this machine and environment match STACK's lock.

    The exit status is 0 if they do, 1 if not, and 2 if the command is wrong.
    """
    program = _program(stack, run)
    # the same choice as in install.sh: the active environment's Python, otherwise the one on PATH
    active = next(filter(None, map(os.environ.get, ("VIRTUAL_ENV", "CONDA_PREFIX"))), None)
    python = python or (f"{active}/bin/python" if active else shutil.which("python3") or "python3")
    values = {**options_of_verify, "python": python, "lang": run.language, "json": run.as_json}
    arguments = [
        f"--{name.replace('_', '-')}" if value is True else f"--{name}={value}"
        for name, value in values.items()
        if value
    ]
    return subprocess.run([sys.executable, "-I", str(program), *arguments], check=False).returncode  # noqa: S603


def _program(stack: str, run: Settings) -> Path:
    """The verify.py of the only lock, or of the only one for this machine's processor."""
    locks = named_locks(stack, run)
    this_platform = f"linux-{platform.machine()}"
    fitting = [row for row in locks if len(locks) == 1 or row.lock.target.platform == this_platform]
    if len(fitting) != 1:
        hint = f"choose this machine's target: {', '.join(row.lock.target.name for row in locks)}"
        raise InputError(f"{stack} is locked for several targets", where="--target", hint=hint)
    return fitting[0].folder / FILE
