"""The page of commands and their options, made of the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Final

import click

from docs.site.navigation import SiteLanguage
from docs.site.writing import cell, table
from resolver.cli import COMMANDS

_PROGRAM: Final = "ascend-lock"
_HEAD: Final = {
    "en": """# Commands

Every command with its options, as `--help` has them. What the exit statuses mean is in
[Reviewing a lock](review.md#exit-statuses). `make` has the most used ones under shorter names.
""",
    "zh": """# 命令

每条命令及其选项，内容与 `--help` 相同（英文）。
退出状态的含义见[审阅和维护锁文件](review.md#退出状态)。
常用的命令也可以用 `make` 执行，单独执行 `make` 会列出它们。
""",
}
_OPTION: Final = {"en": ("option", "meaning"), "zh": ("选项", "含义")}


def page(language: SiteLanguage) -> str:
    """Return the page in Markdown."""
    sections = [_HEAD[language]]
    for name, place in COMMANDS.items():
        module, _, function = place.partition(".")
        command: click.Command = getattr(import_module(f"resolver.cli.{module}"), function)
        context = click.Context(command, info_name=f"{_PROGRAM} {name}")
        sections.extend(_sections(context, 2, language))
    return "\n".join(sections)


def _sections(context: click.Context, level: int, language: SiteLanguage) -> Iterator[str]:
    """Yield a section about a command, and one about each command that it contains."""
    command = context.command
    yield f"{'#' * level} {context.info_name}\n"
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"```text\n{context.info_name} {usage}\n```\n"
    yield f"{_paragraphs(command.help or '')}\n"
    options = [_option(option, context) for option in command.get_params(context)]
    rows = [row for row in options if row is not None]
    if rows:
        yield table(_OPTION[language], rows)
    if not isinstance(command, click.Group):
        return
    for name in command.list_commands(context):
        part = command.get_command(context, name)
        if part is not None:
            inner = click.Context(part, info_name=f"{context.info_name} {name}")
            yield from _sections(inner, level + 1, language)


def _paragraphs(text: str) -> str:
    """Return the help of a command as Markdown: names of files and values stay as they are."""
    paragraphs = text.replace("\b\n", "").strip().split("\n\n")
    return "\n\n".join(cell(" ".join(part.split())) for part in paragraphs)


def _option(option: click.Parameter, context: click.Context) -> tuple[str, str] | None:
    """Return what an option is called and does; None for an argument, and for `--help`."""
    record = option.get_help_record(context)
    if record is None or isinstance(option, click.Argument) or "--help" in option.opts:
        return None
    names, text = record
    return f"`{names}`", cell(text)
