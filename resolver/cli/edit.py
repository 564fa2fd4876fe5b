"""Run `ascend-lock add` and `remove`: edit a stack's file together with its locks, or neither."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import click
from packaging.utils import NormalizedName

from resolver import files
from resolver.cli import options
from resolver.cli.addition import added
from resolver.cli.catalogs import Catalogs
from resolver.cli.common import Command
from resolver.cli.console import ConflictPage, print_json
from resolver.cli.options import Settings, settings, ships
from resolver.cli.outcome import (
    TargetResult,
    print_apply_hint,
    print_failures,
    print_result_json,
    print_results,
)
from resolver.cli.session import Session, finish_edit
from resolver.cli.unusable import fact_against_all
from resolver.config.compile import compile_problems
from resolver.config.decode import parse_need
from resolver.config.draft_lines import is_path, of_wheel, of_wheel_address, without_labels
from resolver.config.find_stack import find_stack
from resolver.config.load import load, load_components, read_stack
from resolver.config.schema import StackFile
from resolver.config.toml_files import as_text, read_text
from resolver.errors import InputError, ResolverError, UnknownProject, closest, did_you_mean
from resolver.explain.stack_text import StackText, with_notes_in
from resolver.i18n import translate
from resolver.lock.folder import StackEdit
from resolver.lock.remembered import StackOfFix
from resolver.model import text
from resolver.model.component import Components
from resolver.model.fact import Need
from resolver.model.lock import Lock
from resolver.model.message import message, verbatim
from resolver.model.requirement import Requirement, name_of
from resolver.owned_folder import OwnedFolder
from resolver.phrase import EMPTY, Phrase, cause, phrase

# A run without conflicts does not need these types.
if TYPE_CHECKING:
    from resolver.model.explanation import Awaited, Contradiction, Expected, Explanation
    from resolver.model.problem import Problem
    from resolver.model.reason import Reason

_frozen = click.option("--frozen", is_flag=True, help="Edit the file without locking.")
_apply = click.option(
    "--apply",
    "letter",
    metavar="LETTER",
    help="If there is no solution, also change what this way out changes.",
)
_group = click.option(
    "--group",
    default="",
    metavar="NAME",
    help="The group of STACK to edit (default: the lines of every group).",
)
_settings = settings("seconds")


@click.command("add", cls=Command)
@options.stack
@click.argument("lines", metavar="REQUIREMENT...", nargs=-1)
@_group
@_apply
@_frozen
@_settings
def add(
    run: Settings,
    stack: str,
    lines: tuple[str, ...],
    group: str,
    letter: str | None,
    frozen: bool,
) -> int:
    """Add lines to STACK's file, such as 'ms-swift>=4', and lock it.

    A line takes the place of those about the same project; one with a marker, of one with the same
    marker. It loosens none of their bounds: what they ask for stays, as far as it can.

    If it cannot be locked, the file stays as it was. --apply takes a way out as well; with it, no
    line is needed.
    """
    if not lines and letter is None:
        raise click.UsageError("Missing argument 'REQUIREMENT...'.")
    components = load_components(run.matrices)
    needs = {line: _need(line, components) for line in map(_of_wheel, lines)}

    def edit(document: StackText) -> StackText:
        """Return the text of the stack with the new lines."""
        # An unknown name adds a group, as in other tools. A name similar to a known one is taken
        # for a typing error.
        if close := closest(group, document.groups) if group not in document.groups else "":
            raise _unknown_group(stack, group, phrase("did you mean `{name}`?", name=close))
        for line, need in needs.items():
            addition = added(line, need, document.needs(components, group))
            document = addition.applied_to(document, group)
            run.print_note(addition.code, **addition.values)
        return document

    _warn_of_unusable(stack, needs.values(), run)
    projects = tuple(chain.from_iterable(map(_project, needs.values())))
    return _edit_and_lock(run, stack, edit, letter=letter, frozen=frozen, added=projects)


def _warn_of_unusable(stack: str, needs: Iterable[Need], run: Settings) -> None:
    """Warn of projects of which a fact excludes all releases on a target of the stack.

    If the line also names a version that does not exist, the explanation is about that alone.
    """
    # What is wrong with the stack is told when it is locked.
    with suppress(InputError):
        problems = compile_problems(load(stack, run.matrices))
        for need in needs:
            if not isinstance(need, Requirement) or need.url:
                continue
            facts = [fact_against_all(need.name, problem) for problem in problems]
            for fact in filter(None, facts):
                why = verbatim(fact.reason, fact.reason_zh)
                values = {"project": need.name, "why": why, "where": fact.where}
                run.progress.warn(message("edit.unusable", **values))


@click.command("remove", cls=Command)
@options.stack
@click.argument(
    "names",
    metavar="NAME...",
    nargs=-1,
    required=True,
    shell_complete=options.completed("lines"),
)
@_group
@_apply
@_frozen
@_settings
def remove(
    run: Settings,
    stack: str,
    names: tuple[str, ...],
    group: str,
    letter: str | None,
    frozen: bool,
) -> int:
    """Remove the lines about each NAME from STACK's file, and lock it.

    Without --group, the lines of groups about it are removed, too.

    If it cannot be locked, the file stays as it was. --apply takes a way out as well.
    """
    components = load_components(run.matrices)

    def edit(document: StackText) -> StackText:
        """Return the text of the stack without the lines about the names."""
        if group and group not in document.groups:
            groups = list(document.groups)
            known = phrase("it has no group")
            if groups:
                known = phrase("its groups are {names}", names=", ".join(groups))
            hint = did_you_mean(group, groups, known)
            raise _unknown_group(stack, group, hint)
        needs = document.needs(components, group or None)
        subjects = sorted(set(map(name_of, needs.values())))
        removed: list[list[int]] = []
        for name in names:
            project = text.name(name)
            numbers = [number for number, need in needs.items() if name_of(need) == project]
            if not numbers:
                known = phrase("its lines are about {names}", names=", ".join(subjects))
                raise InputError(
                    phrase("no line of {stack} is about `{name}`", stack=stack, name=name),
                    hint=did_you_mean(project, subjects, known),
                )
            if numbers not in removed:
                removed.append(numbers)
        # Nothing is told before all names are known to have lines.
        for numbers in removed:
            run.print_note("edit.removed", lines=tuple(str(needs[number]) for number in numbers))
        return document.without_lines(list(chain.from_iterable(removed)))

    return _edit_and_lock(run, stack, edit, letter=letter, frozen=frozen, removed=names)


def _unknown_group(stack: str, group: str, hint: Phrase) -> InputError:
    """Return the error for a group that a stack does not have."""
    return InputError(
        phrase("{stack} has no group `{name}`", stack=stack, name=group),
        where="--group",
        hint=hint,
    )


def _of_wheel(line: str) -> str:
    """Return the requirement `NAME==VERSION` for the path of a wheel, and any other line as it is.

    Raises InputError for other files and folders, and for the address of a wheel.
    """
    named = of_wheel(line)
    if named != line:
        return without_labels(named)
    release = of_wheel_address(line)
    if not release and not is_path(line):
        return line
    hint = phrase("if an index has this release, add `{line}`", line=release)
    raise InputError(
        phrase("`{line}` cannot be used", line=line),
        why=phrase("a stack names releases and git commits, no other files and folders"),
        hint=hint if release else EMPTY,
    )


def _project(need: Need) -> list[NormalizedName]:
    """Return the project of a requirement that indexes have to have; none for any other need."""
    return [need.name] if isinstance(need, Requirement) and not need.url else []


@dataclass
class _EditPage(ConflictPage):
    """Writes the explanations of conflicts of an edited stack.

    A project of an added line that no index has is an error: way out or not, its name is to be
    written anew.
    """

    # The projects of the added lines.
    added: Collection[NormalizedName] = ()

    def why(
        self,
        problem: Problem,
        contradictions: tuple[Contradiction, ...],
        awaited: tuple[Awaited, ...] = (),
        expected: Expected | None = None,
    ) -> None:
        """Write why there is no solution. Raises UnknownProject."""
        for contradiction in contradictions:
            for reason in contradiction.reasons:
                if reason.project in self.added and reason.is_unknown:
                    self._warn_of_other_indexes(contradictions)
                    raise _unknown_project(reason)
        super().why(problem, contradictions, awaited, expected)


def _unknown_project(reason: Reason) -> UnknownProject:
    """Return the error for a project that no index has, with the name that may be meant."""
    name, meant = reason.project, reason.evidence.meant
    hint = phrase("did you mean `{name}`?", name=meant)
    if not meant:
        hint = phrase(
            "check its spelling; if an index of your own has it, name that in the stack "
            "(ascend-lock help indexes)"
        )
    complaint = phrase("no index has a project `{name}`: it may be misspelt", name=name)
    return UnknownProject(complaint, where=reason.where, hint=hint)


def _need(line: str, components: Components) -> Need:
    """Return the requirement in a line of a stack. Raises InputError if it is not valid."""
    try:
        return parse_need(line, components, direct=True)
    except ValueError as error:
        raise InputError(
            phrase("`{line}` cannot be used", line=line),
            why=cause(error),
        ) from None


def _edit_and_lock(
    run: Settings,
    stack: str,
    edit: Callable[[StackText], StackText],
    *,
    letter: str | None,
    frozen: bool,
    added: Collection[NormalizedName] = (),
    removed: Sequence[str] = (),
) -> int:
    """Edit a stack and, unless `frozen`, lock it for all of its targets.

    `added` are the projects of added lines: it is an error if no index has one. `removed` are the
    projects whose lines are removed; what still requires one is printed. Return
    the exit status of `lock`. If a target cannot be locked, neither a lock nor the file is written.
    With a `letter`, the way out with this letter is then applied and locked. Only one run at a time
    edits the stacks of a folder. Raises ResolverError.
    """
    if frozen and letter is not None:
        raise InputError(
            phrase("nothing is solved with --frozen, so there is no way out"), where="--apply"
        )
    path = find_stack(stack, run.matrices)
    if ships(path):
        raise InputError(
            phrase("`{stack}` ships with ascend-lock, so its file is not edited", stack=path.stem),
            where=str(path),
            hint=phrase("copy it, rename the stack in it and edit that: cp {path} .", path=path),
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
            text_before = read_stack(stack, run.matrices).text
            edited = with_notes_in(run.language, edit(StackText(text_before)).text, text_before)
            # Raise now what locking would raise, even if the stack is not locked.
            read_text(edited, StackFile, str(path), load_components(run.matrices))
            content = files.encoded_like(original, edited)
            if frozen:
                folder.write(file.name, content)
                if run.as_json:
                    print_json({"status": "edited", "file": str(path)})
                return 0
            change = StackEdit(file, original, content)
            return _lock(run, stack, change, letter, added=added, removed=removed)


def _lock(
    run: Settings,
    stack: str,
    edit: StackEdit,
    letter: str | None,
    *,
    added: Collection[NormalizedName],
    removed: Sequence[str],
) -> int:
    """Lock the edited stack. Write its file together with the locks, or nothing at all.

    If there is no solution, the way out with this `letter` is applied, if one is given. Return the
    exit status of `lock`. Raises ResolverError.
    """
    is_written = False
    try:
        with closing(Catalogs(run)) as catalogs:
            # A user who applies a way out has read the explanation already.
            out = sys.stderr if letter is None and not run.as_json else None
            repeated = run.repeated_options
            page = _EditPage(out, run.progress, repeated, undone=True, added=added)
            session = Session(run, catalogs, page, all_or_none=True, edit=edit)
            if letter is None:
                results = session.lock(session.jobs(stack))
            else:
                results = _lock_applied(letter, stack, session)
        for result in results:
            # The error is the same for all targets.
            if isinstance(result.answer, UnknownProject):
                raise result.answer
        is_written = all(isinstance(result.answer, Lock) for result in results)
    finally:
        run.progress.clear()
        # An interrupt may have come after everything was written, but before it was moved into
        # place.
        if not is_written and not finish_edit(stack, run):
            path = find_stack(stack, run.matrices)
            run.progress.say(translate("edit.undone", run.language, path=path))
    status = max(result.exit_status for result in results)
    if run.as_json:
        print_result_json(results, status, run.language)
    elif not is_written:
        print_failures(results, run.language)
        if letter is None:
            print_apply_hint(results, shlex.join(("ascend-lock", *sys.argv[1:])), run.language)
    elif not run.is_quiet:
        print_results(results, run.language, together=False)
        _print_staying(results, removed, run)
    return status


def _print_staying(results: Sequence[TargetResult], removed: Sequence[str], run: Settings) -> None:
    """Print which removed projects are still in the locks, and what requires them there."""
    for name in removed:
        project = text.name(name)
        requirers: dict[str, None] = {}
        for result in results:
            if isinstance(result.answer, Lock):
                pins = result.answer.pin
                requirers |= dict.fromkeys(pin.name for pin in pins if project in pin.needs)
        if requirers:
            names = tuple(requirers)
            run.print_note("edit.stays", project=project, names=names, count=len(names))


def _lock_applied(letter: str, stack: str, session: Session) -> list[TargetResult]:
    """Lock an edited stack or, if it has no solution, with the way out of this letter.

    A remembered way out is applied without a new search. Raises InputError if there is no such way
    out, or no conflict in a stack that is not edited otherwise.
    """
    run, edit = session.settings, session.edit
    assert edit is not None  # noqa: S101
    jobs = session.jobs(stack)
    shown = session.shown_fixes(jobs)
    fixes = session.remembered_fixes(jobs)
    if fixes is None:
        # A stack that is not edited otherwise is locked only with the way out.
        is_edited = as_text(edit.new, stack) != as_text(edit.old, stack)
        tried = session if is_edited else replace(session, dry_run=True)
        results = tried.lock(tried.jobs(stack))
        conflicts = _explanations(results)
        has_locks = all(isinstance(result.answer, Lock) for result in results)
        if not conflicts and (is_edited or not has_locks):
            return results
        # Imported only for a conflict, or for the error that there is none.
        from resolver.cli.explain import stacks_of_fixes

        fixes = stacks_of_fixes(conflicts)
    from resolver.cli.explain import named_fix, require_as_shown

    fix = named_fix(letter, fixes)
    require_as_shown(fix, shown, stack, run)
    changed = with_notes_in(run.language, _text_of(fix), as_text(edit.old, stack))
    session = replace(session, edit=edit._replace(new=files.encoded_like(edit.old, changed)))
    run.progress.clear()
    run.print_note("edit.applied", letter=fix.name, changes=fix.changes)
    return session.lock(session.jobs(stack))


def _explanations(results: Sequence[TargetResult]) -> list[Explanation]:
    """Return the explanations of the targets without a solution."""
    answers = [result.answer for result in results]
    return [answer for answer in answers if not isinstance(answer, (Lock, ResolverError))]


def _text_of(fix: StackOfFix) -> str:
    """Return the text of the stack with a way out.

    Raises InputError for a way out that makes two stacks.
    """
    if len(fix.texts) != 1:
        raise InputError(
            phrase("way out `{name}` makes two stacks of one", name=fix.name),
            where="--apply",
            hint=phrase(
                "edit the file without locking (--frozen), and let `explain --apply` write them"
            ),
        )
    return fix.texts[0]
