"""Run `ascend-lock verify STACK`: run the lock's verify.py for an environment."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from packaging.version import Version

from resolver.cli import options
from resolver.cli.common import Command, other_checks
from resolver.cli.console import print_data
from resolver.cli.environment import environment_python, read_environment
from resolver.cli.options import Settings, settings
from resolver.cli.selection import lock_of_machine, warn_if_known_outdated
from resolver.errors import InputError
from resolver.model.lock import LockedTarget
from resolver.phrase import literal, phrase
from resolver.report.verify import FILE


@click.command("verify", cls=Command, epilog=other_checks("verify"))
@options.stack
@options.environment
@click.option(
    "--machine",
    "machine_only",
    is_flag=True,
    help="Check only the machine, before an installation; no environment is needed.",
)
@click.option(
    "--full",
    is_flag=True,
    help="Compare the contents of every file, not just of a sample.",
)
@click.option("--quick", is_flag=True, help="Import only the modules that the stack lists.")
@click.option(
    "--network",
    is_flag=True,
    help="Also check the network between the accelerators of several nodes.",
)
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
    help="Where driver and toolkit are installed (default: /usr/local/Ascend).",
)
@settings("targets")
def command(
    run: Settings,
    stack: str,
    python: str | None,
    machine_only: bool,
    **options_of_verify: str | bool | float | None,
) -> int:
    """Check whether this machine and environment match STACK's lock.

    The exit status is 0 if they do, 1 if not, and 2 if the command is wrong.
    """
    named = lock_of_machine(stack, run)
    warn_if_known_outdated(stack, [named.lock], run)
    program = named.folder / FILE
    if machine_only and python is None:
        interpreter = _python_of_machine(named.lock.target)
    else:
        interpreter = environment_python(python)
    if not machine_only:
        # Raise the errors that `sync` raises as well.
        read_environment(interpreter)
    values = {
        **options_of_verify,
        "machine": machine_only,
        "python": str(interpreter),
        "lang": run.language,
        "json": run.as_json,
    }
    arguments: list[str] = []
    for name, value in values.items():
        if value is True:
            arguments.append(f"--{name.replace('_', '-')}")
        elif value:
            arguments.append(f"--{name}={value}")
    command_line = [sys.executable, "-I", "-S", str(program), *arguments]
    if run.as_json:
        return _print_object(command_line)
    return subprocess.run(command_line, check=False).returncode  # noqa: S603


def _python_of_machine(target: LockedTarget) -> Path:
    """Return the Python of the target's version on PATH; without one, the Python that runs this.

    verify.py reports a Python of another version as a difference.
    """
    major, minor = Version(target.python).release[:2]
    return Path(shutil.which(f"python{major}.{minor}") or sys.executable)


def _print_object(command_line: Sequence[str]) -> int:
    """Run verify.py, print its JSON object, and return its exit status.

    Raises InputError with its error output if it prints no object.
    """
    done = subprocess.run(  # noqa: S603  the lock's program
        command_line, capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    if not done.stdout:
        raise InputError(
            phrase("the lock's verify.py has printed no report"), why=literal(done.stderr.strip())
        )
    print_data(done.stdout)
    return done.returncode
