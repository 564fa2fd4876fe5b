"""Run the root command, and turn failures and signals into exit statuses. Nothing else does this.

README.md lists the statuses. For several stacks (`lock`, `check`), the highest status counts.
"""

from __future__ import annotations

import io
import os
import re
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from resolver import __version__
from resolver.cli import COMMANDS
from resolver.cli.common import HELP_OPTIONS
from resolver.cli.console import print_error, print_json, print_text, write
from resolver.cli.group import RootGroup
from resolver.cli.language import run_language
from resolver.cli.usage import usage_error
from resolver.errors import InputError, ResolverError
from resolver.files import advice, is_limit
from resolver.i18n import translate_phrase
from resolver.phrase import cause, phrase

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

# 128 plus the number of SIGINT, as in shells.
_INTERRUPTED: Final = 130
_INTERRUPTED_MESSAGE: Final = phrase("interrupted; no lock was left half-written")
# Seconds in which further interrupts are ignored. Ending a run takes a tenth of this.
_IGNORED_FOR: Final = 1.0
# The variable by which a shell asks for its script, or for completions.
_COMPLETION: Final = "_ASCEND_LOCK_COMPLETE"
_REFUSED: Final = phrase("the operating system refused")
# The words of the loader and of Python if a resource limit is reached.
_LIMIT_REACHED: Final = re.compile("failed to map segment|can't start new thread")
_LIMIT_HINT: Final = phrase(
    "check `ulimit -v` and `-u`, a container's limits, and whether programs may run from "
    "there (noexec)"
)
_BUG_HINT: Final = phrase(
    "nothing was changed; set ASCEND_LOCK_DEBUG=1 for a traceback, and report it with the "
    "stack file"
)
_EXAMPLES: Final = """\b
Examples:
  ascend-lock lock verl-qwen3.5            write locks/verl-qwen3.5/<target>/
  ascend-lock explain trl-guide --apply A  write a changed stack that has a solution
  eval "$(_ASCEND_LOCK_COMPLETE=bash_source ascend-lock)"  complete with Tab in bash

Completion in zsh and fish: ascend-lock help completion.
All pages of the documentation: ascend-lock help.
"""

_last_interrupt = -_IGNORED_FOR


@click.command(
    cls=RootGroup,
    modules=COMMANDS,
    invoke_without_command=True,
    epilog=_EXAMPLES,
    context_settings={"help_option_names": [*HELP_OPTIONS]},
)
@click.version_option(__version__, prog_name="ascend-lock")
@click.pass_context
def _commands(context: click.Context) -> int:
    """Lock software stacks for Ascend NPUs: every file by hash, in an order that works."""
    return list_commands(context)


def list_commands(context: click.Context) -> int:
    """Print the help of a group that was called without a command. Return the exit status."""
    if context.invoked_subcommand is not None:
        return 0
    print_text(f"{context.get_help()}\n", sys.stderr)
    return InputError.exit_status


def main() -> None:
    """Run the command line of this process and exit."""
    listen()
    _open_streams()
    try:
        code = status()
    except KeyboardInterrupt as interrupt:
        # A command that has written nothing yet raises one with a phrase of its own.
        message = cause(interrupt) or _INTERRUPTED_MESSAGE
        # The terminal may be gone.
        with suppress(OSError):
            write(sys.stderr, f"{translate_phrase(message, run_language())}\n")
        code = _INTERRUPTED
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    # Do not wait for threads that fetch ahead.
    os._exit(code)


def status() -> int:
    """Run the command in `sys.argv`, report its errors on stderr, and return the exit status."""
    try:
        code = _commands(standalone_mode=False) or 0
        sys.stdout.flush()
        return code
    except click.Abort as abort:
        # click has replaced the interrupt, whose argument may be a phrase of the command.
        why = abort.__cause__
        raise KeyboardInterrupt(*(why.args if why is not None else ())) from None
    except (BrokenPipeError, SystemExit) as end:
        # click exits when a word is completed, or if a pipe was closed.
        if isinstance(end, SystemExit) and _COMPLETION in os.environ:
            return 0 if end.code is None else int(end.code)
        return _INTERRUPTED
    except Exception as exception:
        if _is_caused_by_interrupt(exception):
            # End the line of ^C, as click does.
            with suppress(OSError):
                write(sys.stderr, "\n")
            raise KeyboardInterrupt from None
        error = failure(exception)
        # The failure that is reported may be that writing fails.
        with suppress(OSError):
            print_error(error, run_language())
        if "--json" in sys.argv[1:]:
            with suppress(OSError):
                print_json({"status": "error", **error.parts()})
        return error.exit_status


class _BugError(ResolverError):
    """A mistake in this program. A user cannot correct it."""

    # EX_SOFTWARE in sysexits.h.
    exit_status = 70


def failure(error: Exception) -> ResolverError:
    """Return an exception as an error of this program.

    Raises KeyboardInterrupt if the exception stands for an interrupt. With ASCEND_LOCK_DEBUG set,
    raise an unexpected exception unchanged.
    """
    text = str(error)
    if isinstance(error, ResolverError):
        return error
    if isinstance(error, click.ClickException):
        return usage_error(error)
    if isinstance(error, OSError):
        return InputError(
            _REFUSED,
            where="" if is_limit(error.errno) else str(error.filename or ""),
            why=cause(error),
            hint=advice(error.errno),
        )
    if isinstance(error, MemoryError):
        return InputError(
            _REFUSED,
            why=cause(error) or phrase("out of memory"),
            hint=_LIMIT_HINT,
        )
    if isinstance(error, (ImportError, RuntimeError)) and _LIMIT_REACHED.search(text):
        return InputError(_REFUSED, why=cause(error), hint=_LIMIT_HINT)
    # PySAT reports an interrupt with an exception of its own.
    if "keyboard interrupt" in text.lower():
        raise KeyboardInterrupt from None
    if os.environ.get("ASCEND_LOCK_DEBUG"):
        raise error
    message = phrase(
        "internal error in ascend-lock: {name}: {cause}",
        name=type(error).__name__,
        cause=cause(error),
    )
    return _BugError(message, hint=_BUG_HINT)


def listen() -> None:
    """Raise KeyboardInterrupt on SIGINT, SIGTERM and SIGHUP from now on.

    Ignored signals stay ignored, as SIGHUP under nohup. If an interrupt arrives where nothing can
    be raised, as in finalizers, the run ends immediately: the interrupt would be lost, and an
    import lock held there would never be released.
    """
    sys.unraisablehook = _end_if_interrupted
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _interrupt(_signal: int, _frame: object) -> None:
    """Raise KeyboardInterrupt, unless one was just raised and its cleanup is still running."""
    global _last_interrupt
    now = time.monotonic()
    if now - _last_interrupt >= _IGNORED_FOR:
        _last_interrupt = now
        raise KeyboardInterrupt


def _end_if_interrupted(unraisable: UnraisableHookArgs) -> None:
    """End the process if an interrupt arrived where it could not be raised."""
    if not isinstance(unraisable.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
        return
    try:
        os.write(2, f"\n{_INTERRUPTED_MESSAGE}\n".encode())
    finally:
        os._exit(_INTERRUPTED)


def _is_caused_by_interrupt(error: BaseException) -> bool:
    """Return whether an error was raised while an interrupt was ending the run.

    Writing to a terminal that is gone raises such an error.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, KeyboardInterrupt):
            return True
        cause = cause.__context__
    return False


def _open_streams() -> None:
    """Replace closed output streams by the null device.

    On open ones, escape characters that their encoding lacks.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # It stays open until the process ends.
            null = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
            setattr(sys, name, null)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
