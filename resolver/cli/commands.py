"""The command group, and the one place where failures become messages and exit statuses.

0 done; 1 no solution, or nothing to lock; 2 wrong input; 3 an index failed; 4 a lock is stale or a bundle incomplete;
5 the indexes disagree with a lock or a fact; 70 a bug; 130 interrupted.
With several stacks in one run, the highest counts (`lock`, `check`).
"""

from __future__ import annotations

import gc
import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from resolver import __version__
from resolver.cli.called import COMMANDS, as_called
from resolver.cli.failures import MESSAGE, STATUS, failure, listen
from resolver.errors import InputError, ResolverError, did_you_mean
from resolver.json_text import json_text


class _Group(click.Group):
    """Loads a command's module when it is called, so that no command pays for another's imports."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        from importlib import import_module

        command: click.Command = import_module(f"resolver.cli.{cmd_name}").command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Suggest the command that was meant."""
        if args and args[0] not in COMMANDS:
            hint = did_you_mean(args[0], COMMANDS, f"commands are {', '.join(COMMANDS)}")
            raise InputError(f"there is no command `{args[0]}`", hint=hint)
        return super().resolve_command(ctx, args)


_EXAMPLES = """\b
Examples:
  ascend-lock lock verl-qwen3.5            write locks/verl-qwen3.5/<target>/
  ascend-lock explain trl-guide --apply A  write a changed stack that has a solution
"""


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
    if context.invoked_subcommand is not None:
        return 0
    sys.stderr.write(f"{context.get_help()}\n")
    return InputError.exit_status


def main() -> None:
    """Run the command line of this process and exit."""
    gc.disable()  # a short run creates many objects that live to its end, and hardly any garbage
    listen()
    _open_streams()
    try:
        code = status()
    except KeyboardInterrupt:
        with suppress(OSError):  # the terminal may be gone
            sys.stderr.write(MESSAGE)
        code = STATUS
    code = max(code, _flushed())
    os._exit(code)  # without waiting for threads of a look-ahead


def _open_streams() -> None:
    """Replace closed output streams by the null device, and escape characters that the encoding lacks."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115  to the end
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _flushed() -> int:
    """Write what is still buffered. Returns the exit status of that: 0 if it succeeded."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return STATUS
    except OSError as error:
        told, code = failure(error)
        with suppress(OSError):
            sys.stderr.write(f"error: {told}\n")
        return code
    finally:
        with suppress(OSError):
            sys.stderr.flush()
    return 0


def status() -> int:
    """Run the command in `sys.argv`. Returns its exit status; errors are reported on stderr."""
    try:
        return _commands(standalone_mode=False) or 0
    except click.Abort:
        raise KeyboardInterrupt from None
    except (BrokenPipeError, SystemExit):  # click exits if a pipe was closed
        return STATUS
    except Exception as error:
        if _of_an_interrupt(error):
            with suppress(OSError):
                sys.stderr.write("\n")  # as click does: the line of ^C ends here
            raise KeyboardInterrupt from None
        told, code = failure(error)
        _say(told)
        return code


def _of_an_interrupt(error: BaseException | None) -> bool:
    """Whether something failed because an interrupt ended the run, such as writing to a terminal that is gone."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _say(error: ResolverError) -> None:
    with suppress(OSError):  # writing may be the very failure being reported
        sys.stderr.write(as_called(f"error: {error}\n"))
    if "--json" in sys.argv[1:]:
        with suppress(OSError):
            sys.stdout.write(json_text({"status": "error", **error.parts()}) + "\n")
