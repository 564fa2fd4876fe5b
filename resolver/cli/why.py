"""Run `ascend-lock why STACK NAME`: explain why a project is pinned as it is."""

from __future__ import annotations

import shlex
import sys
from contextlib import closing

import click
from packaging.requirements import InvalidRequirement

from resolver.cli import options
from resolver.cli.catalogs import Catalogs
from resolver.cli.common import Command
from resolver.cli.console import ConflictPage
from resolver.cli.explain import (
    conflicts_of,
    explained,
    print_answers,
    print_reports,
    status_of,
    write_reports,
)
from resolver.cli.options import Settings, settings
from resolver.cli.selection import require_stack_of_lock
from resolver.cli.session import Session
from resolver.config.find_stack import own_stack_names, stack_names
from resolver.errors import InputError
from resolver.i18n import translate
from resolver.model import text
from resolver.model.requirement import Requirement
from resolver.model.slips import requirement_hint
from resolver.phrase import literal, phrase


@click.command("why", cls=Command)
@click.argument("stack", metavar="[STACK]", shell_complete=options.completed("stacks"))
@click.argument(
    "name", metavar="NAME[==V]", required=False, shell_complete=options.completed("projects")
)
@settings("targets", "cutoff", "as_of", "seconds")
def command(run: Settings, stack: str, name: str | None) -> int:
    """Explain why a project is pinned as it is.

    With NAME==V, say what this release would break. Without STACK, it is the only stack of the
    current folder.

    For a stack without a solution, the conflict is explained.
    """
    if name is None:
        stack, name = _only_stack(stack, run), stack
    requirement = _requirement(name)
    require_stack_of_lock(stack, run)
    page = ConflictPage(None if run.as_json else sys.stdout, run.progress, run.repeated_options)
    with closing(Catalogs(run)) as catalogs:
        answers = explained(stack, Session(run, catalogs, page), requirement)
    conflicts = conflicts_of(answers)
    write_reports(conflicts)
    if run.as_json:
        print_answers(answers, run)
    else:
        print_reports(conflicts, run)
    return status_of(conflicts)


def _only_stack(name: str, run: Settings) -> str:
    """Return the only stack of the current folder, and say on stderr that it is taken.

    Raises InputError if there are several or none, or if `name` is a stack and not a project.
    """
    own_stacks = own_stack_names(run.matrices)
    where = "ascend-lock why STACK NAME"
    if name in (*own_stacks, *stack_names(run.matrices)) or name.endswith(".toml"):
        raise InputError(
            phrase("a stack and a project are needed"),
            where=where,
            hint=literal(f"ascend-lock why {shlex.quote(name)} NAME"),
        )
    if len(own_stacks) != 1:
        command = f"ascend-lock why STACK {shlex.quote(name)}"
        hint = phrase("name the stack: {command}", command=command)
        if own_stacks:
            names = ", ".join(own_stacks)
            hint = phrase("{command}, where STACK is one of {names}", command=command, names=names)
        raise InputError(phrase("a stack and a project are needed"), where=where, hint=hint)
    run.progress.say(translate("why.only-stack", run.language, stack=own_stacks[0], name=name))
    return own_stacks[0]


def _requirement(package: str) -> Requirement:
    """Return the value of NAME. Raises InputError unless it is NAME or NAME==VERSION."""
    form = phrase("write for example numpy or numpy==2.3.5")
    refusal = InputError(
        phrase("`{text}` is not NAME or NAME==VERSION", text=package),
        where="NAME",
        hint=requirement_hint(package) or form,
    )
    try:
        requirement = text.requirement(package)
    except InvalidRequirement:
        raise refusal from None
    if requirement.extras or requirement.marker or requirement.url:
        raise refusal
    return requirement
