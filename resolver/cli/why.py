"""`ascend-lock why STACK NAME`: explain why a project is pinned as it is."""

from __future__ import annotations

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
)
from resolver.cli.options import Settings, settings
from resolver.cli.session import Session
from resolver.errors import InputError
from resolver.model import text
from resolver.model.requirement import Requirement
from resolver.phrase import phrase


@click.command("why", cls=Command)
@options.stack
@click.argument("name", metavar="NAME[==V]", shell_complete=options.completed("projects"))
@settings("targets", "cutoff", "as_of", "seconds")
def command(run: Settings, stack: str, name: str) -> int:
    """Explain why a project is pinned as it is.

    With NAME==V, say what this release would break.

    For a stack without a solution, the conflict is explained.
    """
    requirement = _requirement(name)
    page = ConflictPage(None if run.as_json else sys.stdout, run.progress, run.repeated_options)
    with closing(Catalogs(run)) as catalogs:
        answers = explained(stack, Session(run, catalogs, page), requirement)
    conflicts = conflicts_of(answers)
    if run.as_json:
        print_answers(answers, run)
    else:
        print_reports(conflicts, run)
    return status_of(conflicts)


def _requirement(package: str) -> Requirement:
    """Return the value of NAME. Raise InputError unless it is NAME or NAME==VERSION."""
    form = phrase("write for example numpy or numpy==2.3.5")
    refusal = InputError(
        phrase("`{text}` is not NAME or NAME==VERSION", text=package), where="NAME", hint=form
    )
    try:
        requirement = text.requirement(package)
    except InvalidRequirement:
        raise refusal from None
    if requirement.extras or requirement.marker or requirement.url:
        raise refusal
    return requirement
