"""`ascend-lock verify STACK`: the lock's own verify.py, run with the environment's Python."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import click

from resolver import files
from resolver.cli import options
from resolver.cli.called import command_line
from resolver.config.load import read_stack, stack_names
from resolver.errors import InputError, did_you_mean
from resolver.lock import file as lock_file
from resolver.report.verify import FILE

_WORD = "python"


@click.command("verify")
@options.stack
@click.option(
    "--python", metavar="PATH", help="The environment's Python (default: the active environment's, else python3)."
)
@click.option("--full", is_flag=True, help="Compare the contents of every file, not just of a sample.")
@click.option("--target", metavar="NAME", help="Which of the stack's targets this machine is.")
@click.option("--skip-system-checks", is_flag=True, help="Only warn if the machine itself differs from the lock's.")
@click.option("--ascend", metavar="DIR", help="Where driver and CANN are installed (default: /usr/local/Ascend).")
@options.language
@options.matrices
@options.locks
@options.as_json
def command(
    stack: str,
    python: str | None,
    full: bool,
    target: str | None,
    skip_system_checks: bool,
    ascend: str | None,
    language: str | None,
    matrices: Path | None,
    locks: Path,
    as_json: bool,
) -> int:
    """Check whether this machine and environment match STACK's lock.

    The exit status is 0 if they do, 1 if not, and 2 if the command is wrong.
    """
    given = options.elsewhere(matrices, locks)
    matrices = matrices or options.default_matrices()
    program = _program(stack, target, matrices, locks, given)
    interpreter = python or _active()
    words = [interpreter, "-I", str(program)]
    words += [word for word, given in (("--full", full), ("--json", as_json)) if given]
    words += ["--skip-system-checks"] if skip_system_checks else []
    words += [f"--lang={language}"] if language else []
    words += [f"--ascend={ascend}"] if ascend else []
    _require_python(interpreter)
    return subprocess.run(words, check=False).returncode  # noqa: S603  the lock's own program


def _require_python(interpreter: str) -> None:
    """Raise InputError unless it runs Python: another program might exit silently with status 0."""
    hint = "activate an environment, or pass --python PATH"
    try:
        told = subprocess.run(  # noqa: S603
            [interpreter, "-I", "-c", f"print({_WORD!r})"], check=False, stdin=subprocess.DEVNULL, capture_output=True
        )
        why = "" if told.stdout.split() == [_WORD.encode()] else "It does not run as Python."
    except OSError as error:
        why = error.strerror or str(error)
        hint = files.advice(error.errno) or hint
    if why:
        raise InputError(f"no working Python was found at {interpreter}", where="--python", why=why, hint=hint)


def _program(asked: str, target: str | None, matrices: Path, locks: Path, given: Sequence[str]) -> Path:
    """The verify.py of the only target, of the named one, or of the only one for this machine's processor."""
    stack = read_stack(asked, matrices).content.stack.name if asked.endswith(".toml") else asked
    folder = locks / stack
    found = {path.parent.name: path for path in sorted(folder.glob(f"*/{FILE}")) if path.parent.name[0] != "."}
    names = ", ".join(found)
    if target is not None and target not in found:
        hint = f"the targets are: {names}" if found else _instead(asked, matrices, locks, given)
        raise InputError(f"{stack} has no lock for `{target}` with a {FILE}", where=str(folder), hint=hint)
    if not found:
        hint = _instead(asked, matrices, locks, given)
        raise InputError(f"{stack} has no lock with a {FILE}", where=str(folder), hint=hint)
    fitting = [target] if target is not None else [name for name in found if len(found) == 1 or _fits(folder / name)]
    if len(fitting) != 1:
        raise InputError(
            f"{stack} is locked for several targets", where="--target", hint=f"choose this machine's target: {names}"
        )
    lock_file.read_own(folder / fitting[0])  # the program must belong to it
    return found[fitting[0]]


def _instead(stack: str, matrices: Path, locks: Path, given: Sequence[str]) -> str:
    """A hint for a stack without a lock: lock it, or the known name that was probably meant."""
    locked = {path.parts[-3] for path in locks.glob(f"*/*/{FILE}")}
    known = sorted(locked.union(stack_names(matrices)))
    if stack in known or stack.endswith(".toml"):
        return command_line("lock", stack, *given)
    lock_it = command_line("lock", "path/to/STACK.toml", *given)
    return did_you_mean(stack, known, f"locked are {', '.join(sorted(locked))}" if locked else lock_it, cutoff=0.5)


def _fits(folder: Path) -> bool:
    """Whether a lock may be for this machine's processor."""
    lock = lock_file.read_own(folder)
    return lock is None or lock.target.platform == f"linux-{platform.machine()}"


def _active() -> str:
    """The same choice as in install.sh: the active environment's Python, otherwise the one on PATH."""
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if prefix := os.environ.get(variable):
            return f"{prefix}/bin/python"
    return shutil.which("python3") or "python3"
