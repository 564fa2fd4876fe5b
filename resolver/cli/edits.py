"""A stack whose file a command edits: it is locked as edited, or stays as it was."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import closing

import click

from resolver import files
from resolver.cli.catalogs import Catalogs
from resolver.cli.console import ConflictPage, print_error
from resolver.cli.options import Settings, ships
from resolver.cli.outcome import tell_failures, tell_outcomes
from resolver.cli.session import Session
from resolver.config.load import find_stack, read_stack, read_text
from resolver.config.schema import StackFile
from resolver.errors import InputError
from resolver.explain.stack_text import StackText
from resolver.i18n import translate
from resolver.model.lock import Lock

frozen = click.option("--frozen", is_flag=True, help="Edit the file without locking.")


def edit_and_lock(run: Settings, stack: str, edit: Callable[[StackText], StackText], *, frozen: bool) -> int:
    """Edit a stack and, unless it is `frozen`, lock it for all of its targets. Returns the exit status of `lock`.

    If one of them cannot be locked, no lock is written, and the file has its bytes again. Raises ResolverError.
    """
    path = find_stack(stack, run.matrices)
    if ships(path):
        message = f"`{path.stem}` ships with ascend-lock, so its file is not edited"
        raise InputError(message, where=str(path), hint=f"copy it, rename the stack in it and edit that: cp {path} .")
    after = edit(StackText(read_stack(stack, run.matrices).text)).text
    read_text(after, StackFile, str(path))  # also of an edit that is not locked
    place = path.resolve()  # where a link leads
    before, locked = place.read_bytes(), False
    files.write(place, after.encode())
    if frozen:
        return 0
    try:
        with closing(Catalogs(run)) as catalogs:
            page = ConflictPage(sys.stderr, run.progress, run.again, undone=True)
            session = Session(run, catalogs, page, all_or_none=True)
            outcomes = session.lock(session.jobs(stack))
        locked = all(isinstance(outcome.found, Lock) for outcome in outcomes)
    finally:
        run.progress.clear()
        if not locked:
            files.write(place, before)
            print_error(translate("edit.undone", run.language, path=path))
    if locked:
        tell_outcomes(outcomes, run.language, together=False)
    else:
        tell_failures(outcomes, run.language)
    return max(outcome.exit_status for outcome in outcomes)
