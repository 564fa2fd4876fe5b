"""Run `ascend-lock import FILE`: make a stack from the requirements in a file of another tool."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import click

from resolver import files
from resolver.ascend.names import CHIP, DRIVER, TOOLKIT
from resolver.cli import options
from resolver.cli.common import Command
from resolver.cli.console import (
    ConflictPage,
    for_stream,
    print_data,
    print_json,
    print_text,
)
from resolver.cli.options import Settings, settings
from resolver.cli.outcome import (
    TargetResult,
    print_apply_hint,
    print_failures,
    print_results,
    result_json,
)
from resolver.config.compile import compile_problems
from resolver.config.draft import Draft, Outcome
from resolver.config.load import load_components, load_with
from resolver.config.requirement_files.read import read_requirements
from resolver.config.schema import PYTHON, StackFile
from resolver.config.stack_draft import draft
from resolver.config.toml_files import read_text
from resolver.errors import InputError
from resolver.model.patterns import NAME
from resolver.model.target import PLATFORMS, Platform
from resolver.phrase import Phrase, phrase
from resolver.report.imported import imported_blocks, imported_json, places
from resolver.report.terminal import WIDTH

_PYPROJECT: Final = "pyproject.toml"


def _read_python(_context: click.Context, _option: click.Parameter, value: str) -> str:
    """Return the value of --python. Raise an error if it is not one version of Python."""
    return value and PYTHON(value)


@click.command("import", cls=Command)
@click.argument("file", type=click.Path(path_type=Path))
@options.output("stdout")
@click.option(
    "--name",
    help="Name of the stack (default: the name of the output, the project, or FILE).",
)
@click.option(
    "--python",
    default="",
    callback=_read_python,
    metavar="X.Y",
    help="Python of the target (default: one that FILE admits).",
)
@click.option(
    "--platform",
    type=options.PlatformChoice(),
    default=PLATFORMS[0],
    show_default=True,
    help="Platform of the target.",
)
@click.option(
    "--glibc",
    default="2.35",
    show_default=True,
    help="Oldest glibc of the target, or its system: 'openEuler 22.03', 'Kylin V10'.",
)
@click.option(
    "--cann",
    default="8.5.1",
    show_default=True,
    help="CANN of the target; `none` for a target that does not state it.",
)
@click.option(
    "--soc",
    default="A2",
    show_default=True,
    help="SoC family of the target; `none` for a target that does not state it.",
)
@click.option(
    "--hdk",
    default=options.NONE,
    show_default=True,
    help="HDK of the target; `none` for a target that does not state it.",
)
@click.option(
    "--extra",
    "extras",
    multiple=True,
    metavar="NAME",
    help="Also what this extra asks for; may be repeated.",
)
@click.option(
    "--group",
    "groups",
    multiple=True,
    metavar="NAME",
    help="Also this dependency group; may be repeated.",
)
@click.option(
    "--without-plugins",
    is_flag=True,
    help="Do not add the plugins with which torch and vllm run on the target.",
)
@click.option(
    "--root",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="DIR",
    help=(
        "Folder outside of which no file is read (default: that of FILE, without its hidden files)."
    ),
)
@click.option("--lock", "is_locked", is_flag=True, help="Also lock the stack that is written.")
@settings("seconds")
def command(
    run: Settings,
    file: Path,
    output: Path | None,
    name: str | None,
    python: str,
    platform: Platform,
    glibc: str,
    cann: str,
    soc: str,
    hdk: str,
    extras: tuple[str, ...],
    groups: tuple[str, ...],
    without_plugins: bool,
    root: Path | None,
    is_locked: bool,
) -> int:
    """Make a stack of what FILE asks for.

    FILE is a requirements file, as `pip freeze` and `uv export` write it too, the table of
    `pip list` or `conda list`, a pyproject.toml (also of Poetry), a
    pylock.toml or the environment.yml of conda. A table tells what became of its lines. With
    --lock, nothing is locked while a line could not be read (exit status 2).
    """
    _require_output(output, is_locked=is_locked)
    glibc = options.glibc_version(glibc, load_components(run.matrices)["glibc"])
    system = _system({TOOLKIT: cann, CHIP: soc, DRIVER: hdk}, run)
    source = read_requirements(
        file, python=python, platform=platform, extras=extras, groups=groups, root=root
    )
    stack_name = _stack_name(name, source.name, file, output)
    stack = draft(source, run.matrices, system, platform, with_plugins=not without_plugins)
    if not run.as_json:
        _print_rows(stack, file, run, is_written=output is not None)
    _require_lines(stack, file)
    target = {"python": source.python, "platform": platform, "glibc": glibc}
    text = stack.text(stack_name, file.name, target, system, run.language)
    # Raise now what `lock` would raise.
    document = read_text(text, StackFile, str(output or "the stack"))
    compile_problems(load_with(document, run.matrices))
    results: list[TargetResult] = []
    if output is not None:
        files.write(output, text.encode())
        if not run.as_json:
            _print_written(stack, output, run, is_locked=is_locked)
        if is_locked:
            results = _lock_unless_unread(stack, file, output, run)
    if run.as_json:
        print_json(
            {
                "stack": stack_name,
                "file": str(output) if output is not None else None,
                "text": text,
                "lines": imported_json(stack.rows, run.language),
                "targets": [result_json(result, run.language) for result in results],
            }
        )
    elif output is None:
        print_data(text)
    elif results:
        _print_results(results, run.command("add", str(output)), run)
    return max((result.exit_status for result in results), default=0)


def _require_lines(stack: Draft, file: Path) -> None:
    """Raise InputError if a stack requires nothing."""
    if not stack.requires:
        raise InputError(
            phrase("`{file}` has nothing that a stack could ask for", file=file),
            where=str(file),
            hint=_what_is_read(file),
        )


def _require_output(output: Path | None, *, is_locked: bool) -> None:
    """Raise InputError if the output exists, or if there is none and the stack is to be locked."""
    if output is not None:
        options.require_absent(output)
    elif is_locked:
        raise InputError(
            phrase("only a stack in a file can be locked"), hint=phrase("name it: -o FILE.toml")
        )


def _lock_unless_unread(
    stack: Draft, file: Path, output: Path, run: Settings
) -> list[TargetResult]:
    """Lock the stack, and return the results of its target.

    If lines could not be read, nothing is locked, and the result is an error that says what to do.
    A lock without them would look as if it had all that FILE asks for.
    """
    rows = [row for row in stack.rows if row.is_unread]
    if not rows:
        return _lock(output, run)
    without = run.command("lock", str(output))
    meant = list(dict.fromkeys(row.suggestion for row in rows))
    if all(meant):
        hint = phrase(
            "{command} adds them and locks; without them: {without}",
            command=run.command("add", str(output), *meant),
            without=without,
        )
    else:
        hint = phrase(
            "write what they mean into {stack}, and lock it: {command}",
            stack=output,
            command=without,
        )
    error = InputError(
        phrase("nothing was locked, since lines could not be read"),
        where=places([row.where for row in rows], file.parent),
        hint=hint,
    )
    return [TargetResult(stack=output.stem, answer=error)]


def _what_is_read(file: Path) -> Phrase:
    """Return a hint that says what of a file of this kind is read."""
    if file.suffix == ".toml":
        return phrase(
            "in a pyproject.toml, [project], [dependency-groups] and [tool.poetry] are read"
        )
    if file.suffix in (".yml", ".yaml"):
        return phrase(
            "in an environment.yml of conda, the items of `dependencies` are read, one on each line"
        )
    return phrase("in a requirements file, there is one requirement on each line")


def _stack_name(given: str | None, project: str, file: Path, output: Path | None) -> str:
    """Return the name of the stack.

    It is the given one, or else the name of the output file, or else of the project or environment
    in the input. Without one, it is the name of the folder of a pyproject.toml, or the name of any
    other file. Raises InputError if no stack can have the name.
    """
    if given is not None:
        return _checked_name(given, f"--name {given}")
    if output is not None:
        return _checked_name(output.stem, f"--output {output}")
    names = [project]
    if file.name == _PYPROJECT:
        names.append(file.resolve().parent.name)
    for name in names:
        if NAME.matches(name):
            return name
    return _checked_name(file.stem, str(file))


def _checked_name(name: str, where: str) -> str:
    """Return the name of a stack. Raises InputError, with the place, if it is no such name."""
    if not NAME.matches(name):
        raise InputError(
            phrase("`{text}` is not {description}", text=name, description=NAME.description),
            where=where,
            hint=phrase("name the stack: --name NAME"),
        )
    return name


def _system(given: Mapping[str, str], run: Settings) -> dict[str, str]:
    """Return the components that the target states. Raises InputError for an invalid value."""
    components = load_components(run.matrices)
    system = {}
    for name, text in given.items():
        if not options.states_nothing(text):
            options.component(name, text, components)
            system[name] = text
    return system


def _print_rows(stack: Draft, file: Path, run: Settings, *, is_written: bool) -> None:
    """Print what became of the lines of a file.

    They are printed on stderr if the stack itself is printed on stdout.
    """
    if run.is_quiet:
        return
    stream = sys.stdout if is_written else sys.stderr
    blocks = imported_blocks(stack.rows, file.parent)
    print_text(for_stream(blocks, run.language, stream, WIDTH), stream)


def _lock(path: Path, run: Settings) -> list[TargetResult]:
    """Lock the stack in a file, and return the results of its target."""
    # Most imports solve nothing.
    from resolver.cli.catalogs import Catalogs
    from resolver.cli.session import Session

    with closing(Catalogs(run)) as catalogs:
        page = ConflictPage(None if run.as_json else sys.stderr, run.progress, run.repeated_options)
        session = Session(run, catalogs, page)
        # With a separator it is a path, and not the name of a stack.
        results = session.lock(session.jobs(f"{path.parent}{os.sep}{path.name}"))
    run.progress.clear()
    return results


def _print_results(results: Sequence[TargetResult], apply_command: str, run: Settings) -> None:
    """Print the results of locking, and the command that takes a way out if there is one."""
    if run.is_quiet:
        print_failures(results, run.language)
        return
    print_results(results, run.language, together=False)
    print_apply_hint(results, apply_command, run.language)


def _print_written(stack: Draft, output: Path, run: Settings, *, is_locked: bool) -> None:
    """Print what was written, and which commands come next."""
    path = shlex.quote(str(output))
    if stack.lacking:
        arguments = shlex.join(stack.lacking)
        run.print_note(
            "import.besides",
            names=stack.lacking,
            stack=path,
            arguments=arguments,
        )
    to_decide = sum(row.outcome is Outcome.TO_DECIDE for row in stack.rows)
    if to_decide:
        run.print_note("import.to-decide", count=to_decide, path=output)
    code = "import.written-only" if is_locked else "import.written"
    run.print_note(code, path=output, count=len(stack.requires), stack=path)
