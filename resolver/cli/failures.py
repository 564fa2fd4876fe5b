"""Any exception as a failure that a person can read, with its exit status."""

from __future__ import annotations

import os

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
