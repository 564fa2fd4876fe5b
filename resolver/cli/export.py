"""Run `ascend-lock export STACK --format …`: write a lock in a format of other tools."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final, Literal, get_args

import click
from packaging.pylock import is_valid_pylock_path

from resolver import files
from resolver.cli import options
from resolver.cli.catalogs import Catalogs
from resolver.cli.common import Command
from resolver.cli.console import print_data, print_json
from resolver.cli.exported import write_export
from resolver.cli.options import Settings, settings
from resolver.cli.selection import (
    chosen_targets,
    require_stack_of_lock,
    warn_if_outdated,
    with_options_of,
)
from resolver.config.compile import compile_problems
from resolver.config.load import load, load_images
from resolver.errors import InputError, StaleLock
from resolver.index.locked_files import offered
from resolver.lock import file as lock_file
from resolver.lock.folder import lock_inputs
from resolver.model.lock import Lock
from resolver.model.message import message
from resolver.model.problem import Problem
from resolver.phrase import cause, literal, phrase
from resolver.report import containerfile as containers
from resolver.report import pylock as pylocks
from resolver.report import render
from resolver.report.ansible import ansible
from resolver.report.requirements import by_hash, by_script, variants

Format = Literal["pylock", "sbom", "containerfile", "ansible"]
# Names that users of docker give to the format containerfile, in small letters.
_OF_DOCKER: Final = ("docker", "dockerfile")

_PYLOCK: Final = phrase("pip and uv install from a pylock.toml: --format pylock")
_PINS: Final = phrase("requirements.txt in the lock's folder has every pin with its hashes")
# What to use for other tools, by the name of a format or a tool in small letters.
_OF_TOOLS: Final = {
    "conda": _PINS,
    "pip": _PYLOCK,
    "poetry": _PINS,
    "pylock.toml": _PYLOCK,
    "uv": _PYLOCK,
}


class _FormatChoice(click.Choice[str]):
    """A format by its name; `dockerfile` is another name of containerfile."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name of the format."""
        if str(value).lower() in _OF_DOCKER:
            return "containerfile"
        if str(value).lower().startswith("requirements"):
            raise InputError(
                phrase("`{value}` is no format of an export", value=value),
                where="--format",
                hint=phrase("requirements.txt is in the lock's folder already"),
            )
        if str(value).lower() in _OF_TOOLS:
            raise InputError(
                phrase("`{value}` is no format of an export", value=value),
                where="--format",
                hint=_OF_TOOLS[str(value).lower()],
            )
        return super().convert(value, param, ctx)


@click.command("export", cls=Command)
@options.stack
@click.option(
    "--format",
    "form",
    type=_FormatChoice(get_args(Format)),
    required=True,
    help="Format to write; dockerfile is another name of containerfile.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="File to write (default: stdout); for ansible, the folder.",
)
@click.option(
    "--base-image",
    metavar="NAME",
    help="containerfile: base image, instead of the one for the target.",
)
@click.option(
    "--wheelhouse",
    metavar="DIR",
    help="containerfile: install from this folder of the build context.",
)
@click.option(
    "--force",
    is_flag=True,
    help="ansible: also overwrite files that no export wrote, or that were edited since.",
)
@settings("targets")
def command(
    run: Settings,
    stack: str,
    form: Format,
    output: Path | None,
    base_image: str | None,
    wheelhouse: str | None,
    force: bool,
) -> int:
    """Write STACK's lock in a format for other tools.

    That is pylock.toml (PEP 751), a CycloneDX SBOM, a Containerfile that installs the lock, or a
    playbook of ansible that installs it on many nodes.
    """
    if form != "containerfile":
        _require_none(form, {"--base-image": base_image, "--wheelhouse": wheelhouse})
    require_stack_of_lock(stack, run)
    inputs = load(stack, run.matrices)
    problems = chosen_targets(compile_problems(inputs), run.targets)
    if len(problems) > 1:
        names = ", ".join(problem.target.name for problem in problems)
        raise InputError(
            phrase("{stack} has several targets", stack=stack),
            hint=phrase("choose one with --target: {names}", names=names),
        )
    problem = problems[0]
    folder = run.lock_folder(problem)
    lock = lock_file.read_own(folder)
    if lock is None:
        raise StaleLock(
            phrase("{stack} has no lock for {target}", stack=stack, target=problem.target.name),
            hint=literal(run.command("lock", stack)),
        )
    problem = with_options_of(lock_inputs(lock), inputs, problem)
    warn_if_outdated(stack, lock, inputs, problem, run)
    match form:
        case "ansible":
            return _write_playbook(lock, output, run, force=force)
        case "pylock":
            text = _pylock(problem, lock, run)
        case "sbom":
            text = _sbom(lock)
        case "containerfile":
            images = load_images(run.matrices)
            components = problem.target.components
            base = base_image or containers.base_image(lock, images, components)
            in_context = _folder_in_context(folder)
            # A pipe, such as /dev/fd/63, is no name for the commands in the file.
            is_named = output is not None and (output.is_file() or not output.exists())
            text = containers.containerfile(
                lock,
                folder=in_context,
                base=base,
                wheelhouse=wheelhouse,
                file=str(output) if is_named else "Containerfile",
                language=run.language,
            )
    run.progress.clear()
    _write(text, form, output, run)
    return 0


def _require_none(form: Format, values: Mapping[str, str | None]) -> None:
    """Raise InputError if an option has a value that only a Containerfile can use."""
    for option, value in values.items():
        if value:
            raise InputError(
                phrase("{format} has no use for this option", format=form),
                where=option,
                hint=phrase("it is for --format containerfile"),
            )


def _write_playbook(lock: Lock, output: Path | None, run: Settings, *, force: bool) -> int:
    """Write a playbook and its role into a folder. Return the exit status."""
    if output is None:
        raise InputError(
            phrase("a playbook is several files"),
            where="--output",
            hint=phrase("name a folder for them: -o FOLDER"),
        )
    texts = ansible(lock, render(lock))
    run.progress.clear()
    try:
        write_export(output, texts, force=force)
    except OSError as error:
        hint = phrase("name another folder with --output")
        failure = phrase("the export could not be written")
        raise files.input_error(error, failure, output, hint) from None
    _print_written("ansible", output, run)
    site = shlex.quote(str(output / "site.yml"))
    bundle = "-e ascend_lock_bundle=$PWD/bundle"
    command = f"ansible-playbook -i INVENTORY --become {site} {bundle}"
    run.print_note("cli.playbook-next", command=command)
    return 0


def _print_written(form: Format, output: Path, run: Settings) -> None:
    """Print where an export was written."""
    if run.as_json:
        print_json({"status": "exported", "kind": form, "path": str(output)})
    run.print_note("cli.written-to", path=output)


def _folder_in_context(folder: Path) -> str:
    """Return the path of a lock's folder in a build context, which is the current folder.

    For a folder outside of it, return a default, which a build argument can replace.
    """
    path = Path(os.path.relpath(folder))
    if ".." in path.parts:
        return f"locks/{folder.parent.name}/{folder.name}"
    return path.as_posix()


def _write(text: str, form: Format, output: Path | None, run: Settings) -> None:
    """Write an export to a file or a device, or print it.

    Raises InputError if it cannot be written.
    """
    if output is None:
        if run.as_json:
            print_json({"status": "exported", "kind": form, "text": text})
        else:
            print_data(text)
        return
    is_device = output.exists() and not output.is_file()
    if form == "pylock" and not is_device and not is_valid_pylock_path(output):
        run.progress.warn(message("cli.not-a-pylock", name=output.name))
    try:
        files.write_output(output, text)
    except OSError as error:
        hint = phrase("name another file with --output")
        failure = phrase("the export could not be written")
        raise files.input_error(error, failure, output, hint) from None
    _print_written(form, output, run)


def _pylock(problem: Problem, lock: Lock, run: Settings) -> str:
    """Return a lock as pylock.toml, and warn of everything that it leaves out."""
    run.progress.label("cli.asking", stack=lock.stack)
    with closing(Catalogs(run)) as catalogs, closing(catalogs.live(problem)) as live:
        offers = offered(by_hash(lock), live)
    text = pylocks.pylock(lock, offers)
    names = pylocks.with_query(lock, offers)
    if names:
        run.progress.warn(message("cli.left-out-query", names=names))
    left_out = by_script(lock)
    groups = {
        "cli.left-out-built": [pin for pin in left_out if pin.git is None],
        "cli.left-out-git": [pin for pin in left_out if pin.git is not None],
        "cli.left-out-variants": variants(lock),
        "cli.built-unpinned": [pin for pin in by_hash(lock) if pin.mode == "built-apart"],
    }
    for code, pins in groups.items():
        if pins:
            releases = tuple(f"{pin.name} {pin.version}" for pin in pins)
            run.progress.warn(message(code, names=releases))
    unmet = lock.unmet
    if unmet:
        is_users = all(map(lock.is_overridden, unmet))
        run.progress.warn(message("cli.overridden" if is_users else "cli.taken-out"))
    return text


def _sbom(lock: Lock) -> str:
    """Return a lock as an SBOM. Raises InputError if the library for it is not installed."""
    try:
        from resolver.report.sbom import sbom
    except ModuleNotFoundError as error:
        raise InputError(
            phrase("an SBOM needs cyclonedx-python-lib"),
            why=cause(error),
            hint=literal("pip install 'ascend-lock[sbom]'"),
        ) from None
    return sbom(lock)
