"""The command group, and the one place where failures become messages and exit statuses.

0 done; 1 no solution; 2 input is wrong; 3 an index failed; 4 a lock is stale;
70 a mistake of ours; 130 interrupted.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
from typing import Any

import click

from resolver import __version__
from resolver.errors import InputError, ResolverError

_INTERRUPTED = 130
_BUG = 70  # EX_SOFTWARE of sysexits.h


class _Group(click.Group):
    """Loads a command's module when it is called, so that none pays for another's imports."""

    _commands = ("lock", "explain", "check", "verify", "bundle", "snapshot", "stacks")

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self._commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self._commands:
            return None
        from importlib import import_module

        command: click.Command = import_module(f"resolver.cli.{cmd_name}").command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Suggest the command that was meant."""
        import difflib

        if args and args[0] not in self._commands:
            close = difflib.get_close_matches(args[0], self._commands, n=1)
            hint = f"did you mean `{close[0]}`?" if close else f"commands are {', '.join(self._commands)}"
            raise InputError(f"there is no command `{args[0]}`", hint=hint)
        return super().resolve_command(ctx, args)


@click.command(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ascend-lock")
def _commands() -> None:
    """Lock software stacks for Ascend NPUs: every file by hash, in the order that works."""


def main() -> None:
    """Run the command line of this process and exit."""
    gc.disable()  # a short run makes much that lives to its end, and next to no garbage
    signal.signal(signal.SIGTERM, _terminate)
    try:
        status = _commands(standalone_mode=False)
    except click.ClickException as error:
        hint = "see `ascend-lock --help`"
        _say(InputError(error.format_message(), hint=hint))
        status = 2
    except ResolverError as error:
        _say(error)
        status = error.exit_status
    except (KeyboardInterrupt, click.Abort):
        sys.stderr.write("interrupted; no lock was left half-written\n")
        status = _INTERRUPTED
    except BrokenPipeError:
        status = _INTERRUPTED
    except OSError as error:
        why = str(error.strerror or error)
        _say(InputError("the operating system refused", where=str(error.filename or ""), why=why))
        status = 2
    except Exception as error:
        if "keyboard interrupt" in str(error).lower():  # PySAT's own way to tell
            sys.stderr.write("interrupted; no lock was left half-written\n")
            os._exit(_INTERRUPTED)
        if os.environ.get("ASCEND_LOCK_DEBUG"):
            raise
        _say(
            InputError(
                f"a mistake in ascend-lock itself: {type(error).__name__}: {error}",
                hint="nothing was changed; set ASCEND_LOCK_DEBUG=1 to see where, and report it with the stack file",
            )
        )
        status = _BUG
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status or 0)  # threads of a look-ahead need not be waited for


def _say(error: ResolverError) -> None:
    sys.stderr.write(f"error: {error}\n")
    if "--json" in sys.argv[1:]:
        told = {"status": "error", "message": error.message, "where": error.where, "why": error.why, "hint": error.hint}
        sys.stdout.write(json.dumps(told, indent=2) + "\n")


def _terminate(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt
