"""`ascend-lock add` and `remove`: edit a stack's file together with its locks, or neither."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import closing

import click

from resolver.cli import options
from resolver.cli.catalogs import Catalogs
from resolver.cli.console import ConflictPage, print_to_stderr
from resolver.cli.options import Settings, settings, ships
from resolver.cli.outcome import print_failures, print_results
from resolver.cli.session import Session, finish_edit
from resolver.config.decode import parse_need
from resolver.config.load import find_stack, load_components, read_stack, read_text
from resolver.config.schema import StackFile
from resolver.errors import InputError, did_you_mean
from resolver.explain.stack_text import StackText, subject
from resolver.i18n import translate
from resolver.lock.folder import StackEdit
from resolver.model import text
from resolver.model.component import Components
from resolver.model.fact import Need
from resolver.model.lock import Lock
from resolver.model.requirement import Requirement
from resolver.owned_folder import OwnedFolder
from resolver.redaction import without_secrets

_frozen = click.option("--frozen", is_flag=True, help="Edit the file without locking.")
_settings = settings("offline", "seconds", "language", "own_matrices", "locks")


@click.command("add")
@options.stack
@click.argument("lines", metavar="REQUIREMENT...", nargs=-1, required=True)
@_frozen
@_settings
def add(run: Settings, stack: str, lines: tuple[str, ...], frozen: bool) -> int:
    """Add lines to STACK's file, such as 'ms-swift>=4', and lock it.

    A line takes the place of those about the same project; one with a marker, of one with the same
    marker. If it cannot be locked, the file stays as it was.
    """
    components = load_components(run.matrices)
    needs = {line: _need(line, components) for line in lines}

    def edit(document: StackText) -> StackText:
        for line, need in needs.items():
            old_needs = document.needs(components)
            replaced = [number for number, old in old_needs.items() if _replaces(need, old)]
            if replaced:
                old_lines = tuple(str(old_needs[number]) for number in replaced)
                run.print_message("edit.replaced", old=old_lines, new=line)
                document = document.with_line(replaced[0], line).without_lines(replaced[1:])
            else:
                run.print_message("edit.added", line=line)
                document = document.with_new_line(line)
        return document

    return _edit_and_lock(run, stack, edit, frozen=frozen)


@click.command("remove")
@options.stack
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@_frozen
@_settings
def remove(run: Settings, stack: str, names: tuple[str, ...], frozen: bool) -> int:
    """Remove the lines about each NAME from STACK's file, and lock it.

    If it cannot be locked, the file stays as it was.
    """
    components = load_components(run.matrices)

    def edit(document: StackText) -> StackText:
        for name in names:
            project = text.name(name)
            needs = document.needs(components)
            removed = [number for number, need in needs.items() if subject(need) == project]
            if not removed:
                subjects = sorted(set(map(subject, needs.values())))
                known = f"its lines are about {', '.join(subjects)}"
                raise InputError(
                    f"no line of {stack} is about `{name}`",
                    hint=did_you_mean(project, subjects, known),
                )
            lines = tuple(str(needs[number]) for number in removed)
            run.print_message("edit.removed", lines=lines)
            document = document.without_lines(removed)
        return document

    return _edit_and_lock(run, stack, edit, frozen=frozen)


def _need(line: str, components: Components) -> Need:
    """Return what a line of a stack asks for. Raise InputError if it cannot be used."""
    try:
        return parse_need(line, components, direct=True)
    except ValueError as error:
        raise InputError(
            without_secrets(f"`{line}` cannot be used"),
            why=str(error),
        ) from None


def _replaces(new: Need, old: Need) -> bool:
    """Return whether a new line takes the place of an old one."""
    if isinstance(new, Requirement) and isinstance(old, Requirement):
        return new.name == old.name and (new.marker is None or new.marker == old.marker)
    return subject(new) == subject(old)


def _edit_and_lock(
    run: Settings, stack: str, edit: Callable[[StackText], StackText], *, frozen: bool
) -> int:
    """Edit a stack and, unless `frozen`, lock it for all of its targets.

    Return the exit status of `lock`. If one of the targets cannot be locked, neither a lock nor the
    file is written. One run at a time edits the stacks of a folder. Raise ResolverError.
    """
    path = find_stack(stack, run.matrices)
    if ships(path):
        raise InputError(
            f"`{path.stem}` ships with ascend-lock, so its file is not edited",
            where=str(path),
            hint=f"copy it, rename the stack in it and edit that: cp {path} .",
        )
    # Edit the file that a link leads to.
    file = path.resolve()
    with OwnedFolder.open(file.parent) as folder:
        # Another run may have to end first.
        run.progress.label("edit.waiting", path=path)
        with folder.exclusive():
            run.progress.clear()
            finish_edit(stack, run)
            original = file.read_bytes()
            edited = edit(StackText(read_stack(stack, run.matrices).text)).text
            # Raise now what locking would raise, even if the stack is not locked.
            read_text(edited, StackFile, str(path), load_components(run.matrices))
            if frozen:
                folder.write(file.name, edited.encode())
                return 0
            return _lock(run, stack, StackEdit(file, original, edited.encode()))


def _lock(run: Settings, stack: str, edit: StackEdit) -> int:
    """Lock the edited stack, and write the file with its locks, or nothing.

    Return the exit status of `lock`. Raise ResolverError.
    """
    is_written = False
    try:
        with closing(Catalogs(run)) as catalogs:
            page = ConflictPage(sys.stderr, run.progress, run.repeated_options, undone=True)
            session = Session(run, catalogs, page, all_or_none=True, edit=edit)
            results = session.lock(session.jobs(stack))
        is_written = all(isinstance(result.answer, Lock) for result in results)
    finally:
        run.progress.clear()
        # An interrupt may have come when everything was on disk, but not in its place yet.
        if not is_written and not finish_edit(stack, run):
            path = find_stack(stack, run.matrices)
            print_to_stderr(translate("edit.undone", run.language, path=path))
    if is_written:
        print_results(results, run.language, together=False)
    else:
        print_failures(results, run.language)
    return max(result.exit_status for result in results)
