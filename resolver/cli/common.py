"""Define the options that every command has, and the classes of click with these options."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from resolver.cli.language import language_of
from resolver.cli.translated_help import Context, summary
from resolver.i18n import LANGUAGES

# The key in `Context.meta` of the common options' values.
_GIVEN: Final = f"{__name__}.given"


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Keep the value of a common option if it is on the command line.

    A value after the name of the command replaces one before it. Counts are added.
    """
    name = parameter.name or ""
    if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
        return
    given = context.meta.setdefault(_GIVEN, {})
    if isinstance(parameter, _CommonOption) and parameter.count:
        value += given.get(name, 0)
    given[name] = value


def given(context: click.Context) -> Mapping[str, Any]:
    """Return the values of the common options that are on the command line, by name."""
    values: Mapping[str, Any] = context.meta.get(_GIVEN, {})
    return values


class _CommonOption(click.Option):
    """An option that every command has.

    Its value is not passed to the function of the command. `given` returns the values of all such
    options.
    """

    def __init__(self, *names: str, **attributes: Any) -> None:
        super().__init__(names, expose_value=False, callback=_keep, **attributes)


class _LanguageChoice(click.Choice):  # type: ignore[type-arg]
    """The type of the option for the language. `zh-CN` and `zh_CN.UTF-8` mean `zh`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the language. Raise click.BadParameter for any other value."""
        return super().convert(language_of(str(value)) or value, param, ctx)


# The common options, in the order of --help.
COMMON: Final = (
    _CommonOption(
        "--lang",
        "language",
        type=_LanguageChoice(LANGUAGES),
        help="Language of the output (default: by locale).",
    ),
    _CommonOption(
        "--offline",
        is_flag=True,
        help="Use only the cache, or the snapshot that ships with the stack; no network.",
    ),
    _CommonOption(
        "--matrices",
        "own_matrices",
        type=click.Path(path_type=Path, file_okay=False),
        help=(
            "Folder of facts, indexes and stacks, "
            "in place of ./matrices or, without that, the one that ships."
        ),
    ),
    _CommonOption(
        "--locks",
        "own_locks",
        type=click.Path(path_type=Path, file_okay=False),
        help="Folder of locks (default: ./locks).",
    ),
    _CommonOption(
        "--json",
        "as_json",
        is_flag=True,
        help="Print one JSON object on stdout and nothing else.",
    ),
    _CommonOption(
        "-q",
        "--quiet",
        "quiet",
        count=True,
        help="Print only errors, and results that were asked for.",
    ),
    _CommonOption(
        "-v",
        "--verbose",
        "verbose",
        count=True,
        help="Also print what is asked of which index, and what the cache has.",
    ),
)


# The options that print the help of a command.
HELP_OPTIONS: Final = ("-h", "--help")

# The commands that check something. docs/checking.md says what each of them compares.
_CHECKS: Final = ("check", "check --upstream", "lock --check", "facts check", "verify")


def other_checks(*own: str) -> str:
    """Return the line of a help that names the other commands which check something."""
    others = [f"`{name}`" for name in _CHECKS if name not in own]
    return f"See also: {', '.join(others)} (`ascend-lock help checking`)."


class Command(click.Command):
    """A command with the common options, which are listed last in its help."""

    context_class = Context

    def get_help_option_names(self, _ctx: click.Context) -> list[str]:
        """Return the names of the option that prints the help, in any context.

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
        """Write the options. The common ones are in a section of their own."""
        own: list[tuple[str, str]] = []
        common: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None or not isinstance(parameter, click.Option):
                continue
            # Before 8.1.8, click makes a new help option each time.
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
        """Write what comes between the options and the common options: nothing here."""


class Group(Command, click.Group):
    """A group of commands. It has no options beside the common ones."""

    command_class = Command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands. No summary is cut off."""
        rows = []
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                rows.append((name, summary(command)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def format_further(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        self.format_commands(ctx, formatter)
