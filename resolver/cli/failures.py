"""What ends a run early: an exception as a readable failure with its exit status, or a signal, once."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Final

import click

from resolver.errors import InputError, ResolverError
from resolver.files import advice, is_limit

_BUG = 70  # EX_SOFTWARE of sysexits.h


def failure(error: Exception) -> tuple[ResolverError, int]:
    """The message and exit status for an exception. Raises KeyboardInterrupt if it stands for one.

    With ASCEND_LOCK_DEBUG a bug is raised unchanged.
    """
    match error:
        case ResolverError():
            return error, error.exit_status
        case click.ClickException():
            command = _command(error.ctx) if isinstance(error, click.UsageError) else "ascend-lock"
            message = " ".join(error.format_message().split())  # choices are on lines of their own
            return InputError(message, hint=f"see `{command} --help`"), InputError.exit_status
        case OSError():
            why, hint = str(error.strerror or error), advice(error.errno)
            where = "" if is_limit(error.errno) else str(error.filename or "")
            return InputError("the operating system refused", where=where, why=why, hint=hint), InputError.exit_status
        case MemoryError():
            return _short("out of memory", "`ulimit -v`, or a container's limit of memory"), InputError.exit_status
        case ImportError() if "failed to map segment" in str(error):  # the loader's message
            limits = "`ulimit -v`, a container's limit of memory, and whether programs may run from there (noexec)"
            return _short(str(error), limits), InputError.exit_status
        case RuntimeError() if "can't start new thread" in str(error):  # Python's message, which has no type of its own
            limits = "`ulimit -u` and `ulimit -v`, or a container's limits of processes and memory"
            return _short("another thread could not be started", limits), InputError.exit_status
    if "keyboard interrupt" in str(error).lower():  # PySAT's way of reporting it
        raise KeyboardInterrupt from None
    if os.environ.get("ASCEND_LOCK_DEBUG"):
        raise error
    told = InputError(
        f"internal error in ascend-lock: {type(error).__name__}: {error}",
        hint="nothing was changed; set ASCEND_LOCK_DEBUG=1 for a traceback, and report it with the stack file",
    )
    return told, _BUG


def _short(why: str, limits: str) -> ResolverError:
    return InputError("the operating system refused", why=why, hint=f"check {limits}")


def _command(context: click.Context | None) -> str:
    """The command given, without its options."""
    if context is None or context.parent is None:
        return "ascend-lock"
    return f"{_command(context.parent)} {context.info_name}"


if TYPE_CHECKING:
    from sys import UnraisableHookArgs

STATUS: Final = 130  # 128 plus the number of SIGINT, as in shells
MESSAGE: Final = "interrupted; no lock was left half-written\n"

_DEAF: Final = 1.0  # seconds after an interrupt in which another one is ignored; ending the run takes a tenth of it

_last = -_DEAF


def listen() -> None:
    """Raise KeyboardInterrupt on SIGINT, SIGTERM and SIGHUP; ignored signals stay ignored, like SIGHUP under nohup.

    Where nothing can be raised, as in finalizers, the run ends immediately: otherwise the interrupt would be lost, and
    an import lock held in such a call would never be released.
    """
    sys.unraisablehook = _end
    signal.signal(signal.SIGTERM, _interrupt)
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _interrupt(_signal: int, _frame: object) -> None:
    """Raise, unless that was just done: a second Ctrl-C would interrupt the cleanup after the first."""
    global _last
    now = time.monotonic()
    if now - _last >= _DEAF:
        _last = now
        raise KeyboardInterrupt


def _end(lost: UnraisableHookArgs) -> None:
    if not isinstance(lost.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(lost)
        return
    try:
        os.write(2, f"\n{MESSAGE}".encode())
    finally:
        os._exit(STATUS)
