"""`ascend-lock export STACK --format …`: a lock in a format of other tools."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import click
from packaging.pylock import is_valid_pylock_path

from resolver import files
from resolver.cli import options
from resolver.cli.called import command_line
from resolver.cli.named import chosen
from resolver.cli.options import language_of
from resolver.cli.progress import Progress
from resolver.config.compile import compile_problems
from resolver.config.load import load, load_images
from resolver.errors import InputError, StaleLock
from resolver.index.live import LiveCatalog, Pool
from resolver.index.locked_files import offered
from resolver.index.store.cache import Cache, default_folder
from resolver.lock import file as lock_file
from resolver.model.lock import Lock
from resolver.model.problem import Problem
from resolver.report import words
from resolver.report.export import containerfile as containers
from resolver.report.export import pylock as pylocks
from resolver.report.requirements import by_hash, by_script

_FORMATS = ("pylock", "sbom", "containerfile")


@click.command("export")
@options.stack
@click.option("--format", "form", type=click.Choice(_FORMATS), required=True, help="Format to write.")
@click.option("--target", metavar="NAME", help="Which target, if the stack has several.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File to write (default: stdout).",
)
@click.option("--offline", is_flag=True, help="pylock: take addresses from the cache; no network.")
@click.option("--base-image", metavar="NAME", help="containerfile: base image, instead of the one for the target.")
@click.option("--wheelhouse", metavar="DIR", help="containerfile: install from this folder of the build context.")
@options.language
@options.matrices
@options.locks
def command(
    stack: str,
    form: str,
    target: str | None,
    output: Path | None,
    offline: bool,
    base_image: str | None,
    wheelhouse: str | None,
    language: str | None,
    matrices: Path | None,
    locks: Path,
) -> int:
    """Write STACK's lock in a format for other tools.

    That is pylock.toml (PEP 751), a CycloneDX SBOM, or a Containerfile that installs the lock.
    """
    given = options.elsewhere(matrices, locks)
    matrices = matrices or options.default_matrices()
    for option, value in (("--base-image", base_image), ("--wheelhouse", wheelhouse)):
        if value is not None and form != "containerfile":
            raise InputError(
                f"{option} has no effect with --format {form}", where=option, hint="it is for --format containerfile"
            )
    if output is not None and output.resolve().is_relative_to(locks.resolve()):
        raise InputError(
            "an export cannot be written into the locks folder",
            where=str(output),
            why="the files next to a lock are rendered from it and compared with it",
            hint="choose another folder",
        )
    tongue = language_of(language)
    progress = Progress(tongue)
    chosen = _choose(stack, target, matrices, locks, given)
    if chosen.lock.inputs != chosen.problem.digest and not chosen.lock.exclude_newer:
        progress.warn(words.EXPORTED_OLD(tongue, stack=stack))
    match form:
        case "pylock":
            text = _pylock(chosen, progress, offline=offline)
        case "sbom":
            text = _sbom(chosen.lock)
        case _:
            text = containers.containerfile(
                chosen.lock,
                folder=_within(chosen.folder),
                base=base_image or containers.base_image(chosen.lock, load_images(matrices)),
                wheelhouse=wheelhouse,
            )
    if form == "pylock" and output is not None and not (_is_device(output) or is_valid_pylock_path(output)):
        progress.warn(words.NOT_A_PYLOCK(tongue, name=output.name))
    progress.clear()
    if output is None:
        sys.stdout.write(text)
    else:
        _write(output, text)
        sys.stdout.write(words.WRITTEN_TO(tongue, path=output) + "\n")
    return 0


class _Chosen(NamedTuple):
    problem: Problem
    lock: Lock
    folder: Path


def _choose(stack: str, target: str | None, matrices: Path, locks: Path, given: Sequence[str]) -> _Chosen:
    """The chosen target, with its lock."""
    problems = chosen(compile_problems(load(stack, matrices)), frozenset(() if target is None else (target,)))
    if len(problems) > 1:
        names = ", ".join(problem.target.name for problem in problems)
        raise InputError(f"{stack} has several targets", hint=f"choose one with --target: {names}")
    (problem,) = problems
    folder = locks / problem.stack.name / problem.target.name
    lock = lock_file.read_own(folder)
    if lock is None:
        raise StaleLock(f"{stack} has no lock for {problem.target.name}", hint=command_line("lock", stack, *given))
    return _Chosen(problem, lock, folder)


def _pylock(chosen: _Chosen, progress: Progress, *, offline: bool) -> str:
    lock, language = chosen.lock, progress.language
    progress.label(words.ASKING(progress.language, stack=lock.stack))
    cache = Cache(default_folder(), progress.warn)
    with Pool(cache, offline=offline, warn=progress.warn, progress=progress.fetching) as pool:
        live = LiveCatalog(chosen.problem.indexes, chosen.problem.target.platform, pool)
        text = pylocks.pylock(lock, offered(by_hash(lock), live))
    without = by_script(lock)
    apart = (pin for pin in by_hash(lock) if pin.mode == "built-apart")
    for told, pins in (
        (words.LEFT_OUT_BUILT, (pin for pin in without if pin.git is None)),
        (words.LEFT_OUT_GIT, (pin for pin in without if pin.git is not None)),
        (words.BUILT_UNPINNED, apart),
    ):
        if names := words.COMMA(language).join(f"{pin.name} {pin.version}" for pin in pins):
            progress.warn(told(language, names=names))
    if lock.override:
        progress.warn(words.TAKEN_OUT(language))
    return text


def _sbom(lock: Lock) -> str:
    try:
        from resolver.report.export.sbom import sbom
    except ModuleNotFoundError as error:
        raise InputError(
            "an SBOM needs cyclonedx-python-lib", why=str(error), hint="pip install 'ascend-lock[sbom]'"
        ) from None
    return sbom(lock)


def _within(folder: Path) -> str:
    """The lock's folder relative to the current one, where builds start; otherwise it is a build argument."""
    path = Path(os.path.relpath(folder))
    return path.as_posix() if ".." not in path.parts else f"locks/{folder.parent.name}/{folder.name}"


def _is_device(output: Path) -> bool:
    return output.exists() and not output.is_file()


def _write(output: Path, text: str) -> None:
    """Write a file atomically; a device or pipe is written to and not replaced."""
    try:
        if _is_device(output):
            output.write_text(text, encoding="utf-8", newline="\n")
        else:
            files.write(output, text.encode())
    except OSError as error:
        raise files.refusal(
            error, "the export could not be written", output, "name another file with --output"
        ) from None
