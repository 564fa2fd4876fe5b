"""The options of every command, before and after its name, and the classes of click with them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from resolver.cli.help import Context, Formatter, summary
from resolver.i18n import LANGUAGES

# The key in `Context.meta` of the values that the command line has.
_GIVEN: Final = f"{__name__}.given"


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Keep a value that the command line has.

    One after the command takes the place of one before it. Counts add up.
    """
    name = parameter.name or ""
    if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
        return
    given = context.meta.setdefault(_GIVEN, {})
    if isinstance(parameter, CommonOption) and parameter.count:
        value += given.get(name, 0)
    given[name] = value


def given(context: click.Context) -> Mapping[str, Any]:
    """Return the values of the common options that the command line has, by name."""
    values: Mapping[str, Any] = context.meta.get(_GIVEN, {})
    return values


class CommonOption(click.Option):
    """An option of every command. Its value is kept for `given`."""

    def __init__(self, *names: str, **attributes: Any) -> None:
        super().__init__(names, expose_value=False, callback=_keep, **attributes)


# In the order of --help.
COMMON: Final = (
    CommonOption(
        "--lang",
        "language",
        type=click.Choice(LANGUAGES),
        help="Language of the output (default: by locale).",
    ),
    CommonOption(
        "--offline",
        is_flag=True,
        help="Use only the cache, or the snapshot that ships with the stack; no network.",
    ),
    CommonOption(
        "--matrices",
        "own_matrices",
        type=click.Path(path_type=Path, file_okay=False),
        help=(
            "Folder of facts, indexes and stacks, "
            "in place of ./matrices or, without that, the one that ships."
        ),
    ),
    CommonOption(
        "--locks",
        "own_locks",
        type=click.Path(path_type=Path, file_okay=False),
        help="Folder of locks (default: ./locks).",
    ),
    CommonOption(
        "--json",
        "as_json",
        is_flag=True,
        help="Print one JSON object on stdout and nothing else.",
    ),
    CommonOption(
        "-q",
        "--quiet",
        "quiet",
        count=True,
        help="Print only errors, and results that were asked for.",
    ),
    CommonOption(
        "-v",
        "--verbose",
        "verbose",
        count=True,
        help="Also print what is asked of which index, and what the cache has.",
    ),
)


# What prints the help of a command.
HELP_OPTIONS: Final = ("-h", "--help")

# What checks something: docs/checking.md says what each compares with what.
_CHECKS: Final = ("check", "check --upstream", "lock --check", "facts check", "verify")


def other_checks(*own: str) -> str:
    """Return the line of a help that names the other commands that check something."""
    others = [f"`{name}`" for name in _CHECKS if name not in own]
    return f"See also: {', '.join(others)} (docs/checking.md)."


class Command(click.Command):
    """A command with the common options, which come last in its help."""

    context_class = Context

    def get_help_option_names(self, _ctx: click.Context) -> list[str]:
        """Return the names of the option that prints the help, whatever the context.

        click keeps the option that it makes first, and a context without parent has only `--help`.
        """
        return [*HELP_OPTIONS]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters of the command, with the common options."""
        parameters = super().get_params(ctx)
        help_option = self.get_help_option(ctx)
        if help_option is None:
            return [*parameters, *COMMON]
        return [*parameters[:-1], *COMMON, help_option]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, the common ones in a section of their own."""
        own: list[tuple[str, str]] = []
        common: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None or not isinstance(parameter, click.Option):
                continue
            # Before 8.1.8, click makes its option of the help anew each time.
            is_help = set(parameter.opts) == set(HELP_OPTIONS)
            is_common = parameter in COMMON or is_help
            (common if is_common else own).append(record)
        if own:
            with formatter.section("Options"):
                formatter.write_dl(own)
        self.format_further(ctx, formatter)
        with formatter.section("Options of every command"):
            formatter.write_dl(common)

    def format_further(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what comes between the options and the common ones: here nothing."""


class Group(Command, click.Group):
    """A group whose options are those of its commands."""

    command_class = Command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands. In another language than English, no summary is cut off."""
        if not isinstance(formatter, Formatter):
            super().format_commands(ctx, formatter)
            return
        rows = []
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                rows.append((name, summary(command)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def format_further(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands."""
        self.format_commands(ctx, formatter)
