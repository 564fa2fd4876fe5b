"""The command group, and the one place where failures and signals become messages and exit statuses (see README.md).

With several stacks in one run, the highest counts (`lock`, `check`).
"""

from __future__ import annotations

import io
import os
import re
import signal
import sys
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from resolver import __version__
from resolver.cli import COMMANDS
from resolver.cli.console import print_json, print_text, print_to_stderr, write
from resolver.errors import InputError, ResolverError, did_you_mean
from resolver.files import advice, is_limit

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_INTERRUPTED: Final = 130  # 128 plus the number of SIGINT, as in shells
_MESSAGE: Final = "interrupted; no lock was left half-written\n"
_IGNORED_FOR: Final = (
    1.0  # seconds after an interrupt without another one; ending the run takes a tenth of it
)
_LIMIT: Final = re.compile(
    "failed to map segment|can't start new thread"
)  # messages of the loader and of Python
_EXAMPLES: Final = """\b
Examples:
  ascend-lock lock verl-qwen3.5            write locks/verl-qwen3.5/<target>/
  ascend-lock explain trl-guide --apply A  write a changed stack that has a solution
"""

_last_interrupt = -_IGNORED_FOR


class _Group(click.Group):
    """Loads a command's module when it is called, so that no command pays for another's imports."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            hint = did_you_mean(cmd_name, COMMANDS, f"commands are {', '.join(COMMANDS)}")
            raise InputError(f"there is no command `{cmd_name}`", hint=hint)
        module, _, function = COMMANDS[cmd_name].partition(".")
        command: click.Command = getattr(import_module(f"resolver.cli.{module}"), function)
        return command


@click.command(
    cls=_Group,
    invoke_without_command=True,
    epilog=_EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="ascend-lock")
@click.pass_context
def _commands(context: click.Context) -> int:
    """Lock software stacks for Ascend NPUs: every file by hash, in an order that works."""
    return list_commands(context)


def list_commands(context: click.Context) -> int:
    """What a group does by itself: without a command, print which ones there are.

    Returns the exit status.
    """
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
    except KeyboardInterrupt:
        with suppress(OSError):  # the terminal may be gone
            write(sys.stderr, _MESSAGE)
        code = _INTERRUPTED
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(code)  # without waiting for threads of a look-ahead


def status() -> int:
    """Run the command in `sys.argv`. Returns its exit status; errors are reported on stderr."""
    try:
        code = _commands(standalone_mode=False) or 0
        sys.stdout.flush()
        return code
    except click.Abort:
        raise KeyboardInterrupt from None
    except (BrokenPipeError, SystemExit):  # click exits if a pipe was closed
        return _INTERRUPTED
    except Exception as exception:
        if _is_of_interrupt(exception):
            with suppress(OSError):
                write(sys.stderr, "\n")  # as click does: the line of ^C ends here
            raise KeyboardInterrupt from None
        error = failure(exception)
        with suppress(OSError):  # writing may be the very failure being reported
            print_to_stderr(f"error: {error}")
        if "--json" in sys.argv[1:]:
            with suppress(OSError):
                print_json({"status": "error", **error.parts()})
        return error.exit_status


class BugError(ResolverError):
    """A mistake in this program."""

    exit_status = 70  # EX_SOFTWARE of sysexits.h


def failure(error: Exception) -> ResolverError:
    """An exception as an error of this program. Raises KeyboardInterrupt if it stands for one.

    With ASCEND_LOCK_DEBUG a bug is raised unchanged.
    """
    text = str(error)
    refused = "the operating system refused"
    match error:
        case ResolverError():
            return error
        case click.ClickException():
            command = (
                error.ctx.command_path
                if isinstance(error, click.UsageError) and error.ctx
                else "ascend-lock"
            )
            message = " ".join(error.format_message().split())  # choices are on lines of their own
            return InputError(message, hint=f"see `{command} --help`")
        case OSError():
            where = "" if is_limit(error.errno) else str(error.filename or "")
            return InputError(
                refused, where=where, why=error.strerror or text, hint=advice(error.errno)
            )
        case MemoryError() | ImportError() | RuntimeError() if isinstance(
            error, MemoryError
        ) or _LIMIT.search(text):
            hint = "check `ulimit -v` and `-u`, a container's limits, and whether programs may run from there (noexec)"
            return InputError(refused, why=text or "out of memory", hint=hint)
        case _:
            pass
    if "keyboard interrupt" in text.lower():  # PySAT's way of reporting it
        raise KeyboardInterrupt from None
    if os.environ.get("ASCEND_LOCK_DEBUG"):
        raise error
    hint = "nothing was changed; set ASCEND_LOCK_DEBUG=1 for a traceback, and report it with the stack file"
    return BugError(f"internal error in ascend-lock: {type(error).__name__}: {error}", hint=hint)


def listen() -> None:
    """Raise KeyboardInterrupt on SIGINT, SIGTERM and SIGHUP; ignored signals stay ignored, like SIGHUP under nohup.

    Where nothing can be raised, as in finalizers, the run ends immediately: otherwise the interrupt
    would be lost, and an import lock held in such a call would never be released.
    """
    sys.unraisablehook = _end
    signal.signal(signal.SIGTERM, _interrupt)
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _interrupt(_signal: int, _frame: object) -> None:
    """Raise, unless that was just done: a second Ctrl-C would interrupt the cleanup after the first."""
    global _last_interrupt
    now = time.monotonic()
    if now - _last_interrupt >= _IGNORED_FOR:
        _last_interrupt = now
        raise KeyboardInterrupt


def _end(unraisable: UnraisableHookArgs) -> None:
    if not isinstance(unraisable.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
        return
    try:
        os.write(2, f"\n{_MESSAGE}".encode())
    finally:
        os._exit(_INTERRUPTED)


def _is_of_interrupt(error: BaseException | None) -> bool:
    """Whether something failed because an interrupt ended the run, such as writing to a terminal that is gone."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _open_streams() -> None:
    """Replace closed output streams by the null device, and escape characters that the encoding lacks."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115  to the end
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
