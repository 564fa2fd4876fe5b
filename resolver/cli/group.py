"""Group commands, and import the module of a command only when it is called."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from typing import Any

import click

from resolver.cli.common import Group
from resolver.cli.former import find_former
from resolver.cli.words import ANSWERS, TOOLS
from resolver.errors import InputError, did_you_mean
from resolver.phrase import literal, phrase

# The key in `Context.meta` of the former name by which a command was called.
FORMER = f"{__name__}.former"


class LazyGroup(Group):
    """A group of commands. The module of a command is imported only when it is called."""

    def __init__(self, *arguments: Any, modules: Mapping[str, str], **options: Any) -> None:
        """Make a group of `modules`: the module and the function of each command, by its name."""
        super().__init__(*arguments, **options)
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the commands, in the order of --help."""
        return list(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command.

        For an unknown name, raise InputError; while a shell completes, return None.
        """
        if cmd_name not in self._modules:
            if ctx.resilient_parsing:
                return None
            raise self._unknown(ctx, cmd_name)
        module_name, _, function = self._modules[cmd_name].partition(".")
        module = import_module(f"resolver.cli.{module_name}")
        command: click.Command = getattr(module, function)
        return command

    def _unknown(self, context: click.Context, name: str) -> InputError:
        """Return the error for an unknown command."""
        known = phrase("commands are {names}", names=", ".join(self._modules))
        group = context.command_path.partition(" ")[2]
        full_name = f"{group} {name}".lstrip()
        return InputError(
            phrase("there is no command `{name}`", name=full_name),
            hint=did_you_mean(name, self._modules, known),
        )


class RootGroup(LazyGroup):
    """The group of all commands. It knows former names of commands, and commands of other tools."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the name and the command that arguments begin with, and the other arguments."""
        # A shell completes only present names.
        found = None if ctx.resilient_parsing else find_former(args)
        if args[0] in TOOLS and len(args) > 1 and not ctx.resilient_parsing:
            raise self._word_after_tool(args)
        if found is not None:
            ctx.meta[FORMER], args = found
        return super().resolve_command(ctx, args)

    def _word_after_tool(self, args: Sequence[str]) -> InputError:
        """Return the error for a command line of another tool, such as `uv pip sync`."""
        tools = list(takewhile(TOOLS.__contains__, args))
        word = args[min(len(tools), len(args) - 1)]
        hint = ANSWERS.get(word, ANSWERS["pip"])
        if word in self._modules:
            hint = literal(f"ascend-lock {word}")
        name = " ".join((*tools, word)) if word not in tools else " ".join(tools)
        return InputError(phrase("there is no command `{name}`", name=name), hint=hint)

    def _unknown(self, context: click.Context, name: str) -> InputError:
        """Return the error for an unknown command.

        For a command of another tool, it says what to use here. For a file, it says what to do with
        it: `lock` tells a stack from a file of another tool.
        """
        error = super()._unknown(context, name)
        hint = ANSWERS.get(name)
        if Path(name).is_file():
            command = "lock" if name.endswith(".toml") else "import"
            hint = literal(f"ascend-lock {command} {shlex.quote(name)}")
        return error if hint is None else InputError(error.phrases["message"], hint=hint)
