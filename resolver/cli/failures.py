"""Any exception as a failure that a person can read, with its exit status."""

from __future__ import annotations

import os

import click

from resolver.disk import advice
from resolver.errors import InputError, ResolverError

_BUG = 70  # EX_SOFTWARE of sysexits.h


def failure(error: Exception) -> tuple[ResolverError, int]:
    """What to tell of an exception, and the status. Raises KeyboardInterrupt where it stands for one.

    With ASCEND_LOCK_DEBUG a mistake of ours is raised as it is.
    """
    match error:
        case ResolverError():
            return error, error.exit_status
        case click.ClickException():
            command = _command(error.ctx) if isinstance(error, click.UsageError) else "ascend-lock"
            message = " ".join(error.format_message().split())  # choices stand in lines of their own
            return InputError(message, hint=f"see `{command} --help`"), InputError.exit_status
        case OSError():
            why, hint = str(error.strerror or error), advice(error.errno)
            where = "" if hint else str(error.filename or "")  # any other file would have been refused as well
            return InputError("the operating system refused", where=where, why=why, hint=hint), InputError.exit_status
        case MemoryError():
            return _short("out of memory", "`ulimit -v`, or a container's limit of memory"), InputError.exit_status
        case ImportError() if "failed to map segment" in str(error):  # as the loader tells it
            limits = "`ulimit -v`, a container's limit of memory, and whether programs may run from there (noexec)"
            return _short(str(error), limits), InputError.exit_status
        case RuntimeError() if "can't start new thread" in str(error):  # as Python tells it, of no type of its own
            limits = "`ulimit -u` and `ulimit -v`, or a container's limits of processes and memory"
            return _short("another thread could not be started", limits), InputError.exit_status
    if "keyboard interrupt" in str(error).lower():  # PySAT's own way to tell
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
    """The command that was given, without its options."""
    if context is None or context.parent is None:
        return "ascend-lock"
    return f"{_command(context.parent)} {context.info_name}"
