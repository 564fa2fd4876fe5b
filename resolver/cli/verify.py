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
from resolver.config.load import find_stack, read_stack
from resolver.errors import InputError
from resolver.lock import file as lock_file
from resolver.report.verify import FILE


@click.command("verify")
@options.stack
@click.option(
    "--python", metavar="PATH", help="The environment's Python (default: the active environment's, else python3)."
)
@click.option("--full", is_flag=True, help="Compare the contents of every file, not just of a sample.")
@click.option("--target", metavar="NAME", help="Which of the stack's targets this machine is.")
@click.option(
    "--skip-system-checks",
    is_flag=True,
    help="Only warn if the machine itself differs from the lock's.",
)
@click.option("--ascend", metavar="DIR", help="Where driver and CANN are installed (default: /usr/local/Ascend).")
@settings("language", "own_matrices", "locks", "as_json")
def command(run: Settings, stack: str, python: str | None, target: str | None, **passed_on: str | bool | None) -> int:
    """Check whether this machine and environment match STACK's lock.

    The exit status is 0 if they do, 1 if not, and 2 if the command is wrong.
    """
    program = _program(stack, target, run)
    # the same choice as in install.sh: the active environment's Python, otherwise the one on PATH
    active = next(filter(None, map(os.environ.get, ("VIRTUAL_ENV", "CONDA_PREFIX"))), None)
    passed_on["python"] = python or (f"{active}/bin/python" if active else shutil.which("python3") or "python3")
    given = {**passed_on, "lang": run.language, "json": run.as_json}
    words = [
        f"--{name.replace('_', '-')}" if value is True else f"--{name}={value}"
        for name, value in given.items()
        if value
    ]
    return subprocess.run([sys.executable, "-I", str(program), *words], check=False).returncode  # noqa: S603


def _program(asked: str, target: str | None, run: Settings) -> Path:
    """The verify.py of the only target, of the named one, or of the only one for this machine's processor."""
    stack = read_stack(asked, run.matrices).content.stack.name if asked.endswith(".toml") else asked
    folder = run.locks / stack
    found = {path.parent.name: path for path in sorted(folder.glob(f"*/{FILE}")) if path.parent.name[0] != "."}
    names = ", ".join(found)
    if not found or (target is not None and target not in found):
        what = "lock" if target is None else f"lock for `{target}`"
        if not found:
            find_stack(asked, run.matrices)  # raises with the name that was probably meant
        hint = f"the targets are: {names}" if found else run.command("lock", asked)
        raise InputError(f"{stack} has no {what} with a {FILE}", where=str(folder), hint=hint)
    fitting = [target] if target is not None else [name for name in found if len(found) == 1 or _fits(folder / name)]
    if len(fitting) != 1:
        raise InputError(
            f"{stack} is locked for several targets", where="--target", hint=f"choose this machine's target: {names}"
        )
    lock_file.read_own(folder / fitting[0])  # the program must belong to it
    return found[fitting[0]]


def _fits(folder: Path) -> bool:
    """Whether a lock may be for this machine's processor."""
    lock = lock_file.read_own(folder)
    return lock is None or lock.target.platform == f"linux-{platform.machine()}"
