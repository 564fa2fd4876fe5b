"""`ascend-lock bundle STACK… DIR`: every file of locks in one folder, for machines without network."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import click
import msgspec

from resolver import files
from resolver.cli import options
from resolver.cli.bundling import Gathered, gather, kept_texts, parts_of, refuse_unknown
from resolver.cli.called import as_called, command_line
from resolver.cli.named import ALL, locked, named
from resolver.cli.options import language_of
from resolver.cli.progress import Progress
from resolver.config.compile import compile_problems
from resolver.config.load import load, stack_names
from resolver.errors import InputError, StaleLock, shown
from resolver.i18n import translate
from resolver.json_text import json_text
from resolver.lock import bundle
from resolver.lock.bundle import Manifest
from resolver.lock.file import NAME
from resolver.model.text import Language
from resolver.report import words
from resolver.report.files import render
from resolver.report.script import bundle_script


@click.command("bundle", short_help="Download every file of locks into one folder.")
@click.argument("names", metavar="[STACK...] DIR", nargs=-1, required=True, shell_complete=options.completed)
@click.option("--target", "targets", multiple=True, metavar="NAME", help="Only this target; may be repeated.")
@click.option("--check", "only_check", is_flag=True, help="Only compare DIR with its manifest; no network.")
@click.option(
    "--prune",
    is_flag=True,
    help="Remove what no STACK of this run needs, such as files of an earlier lock.",
)
@options.language
@options.matrices
@options.locks
@options.as_json
def command(
    names: tuple[str, ...],
    targets: tuple[str, ...],
    only_check: bool,
    prune: bool,
    language: str | None,
    matrices: Path | None,
    locks: Path,
    as_json: bool,
) -> int:
    """Download every file that the locks of each STACK, or of `all`, need into DIR.

    Each file is checked by its hash. Files already there are kept, and interrupted downloads are resumed.
    DIR/install.sh then installs without network access.
    """
    *stacks, last = names
    folder = Path(last)
    if only_check:
        if stacks or targets or prune:
            raise InputError(
                "--check takes only the folder of a bundle",
                where="--check",
                hint=f"ascend-lock bundle --check {shlex.quote(last)}",
            )
        return _check(folder, language_of(language), as_json=as_json)
    if not stacks:
        is_stack = last in stack_names(matrices or options.default_matrices())
        example = f"{last} DIR" if is_stack else f"STACK {shlex.quote(last)}"
        raise InputError("a stack and a folder are needed", hint=f"ascend-lock bundle {example}")
    given = options.elsewhere(matrices, locks)
    matrices = matrices or options.default_matrices()
    problems = {stack: compile_problems(load(stack, matrices)) for stack in _locked(stacks, matrices, locks, given)}
    refuse_unknown(targets, (problem for several in problems.values() for problem in several))
    parts = [part for stack, several in problems.items() for part in parts_of(stack, several, locks, targets, given)]
    tongue = language_of(language)
    progress = Progress(tongue, enabled=False if as_json else None)
    _refuse_locks(folder, locks)
    try:
        files.make_folder(folder)
    except OSError as error:
        raise files.refusal(error, "the bundle folder cannot be created", folder, "choose another folder") from None
    busy = InputError("another run is writing this bundle", where=str(folder), hint="wait until it has finished")
    with files.alone(folder, busy):
        old = bundle.read(folder)
        got = gather(parts, old, folder, matrices, progress, prune=prune)
        served = got.served
        entries = [msgspec.structs.replace(row, size=(folder / row.path).stat().st_size) for row in got.entries]
        texts = {
            f"{part.served.folder}/{name}": text for part in got.parts for name, text in render(part.lock).items()
        } | bundle_script(served)
        texts |= kept_texts(folder, old, {lock.folder for lock in served} - {part.served.folder for part in got.parts})
        needed = {*(row.path for row in entries), *texts, *bundle.temporary(texts)}
        left = bundle.left_over(folder, old, needed)
        manifest = bundle.write(folder, served, entries, texts, left)
        if prune and left:  # in the manifest until they are removed, so that a killed run leaves none for good
            _remove(left, folder)
            manifest = bundle.write(folder, served, entries, texts, ())
    progress.clear()
    if as_json:
        _tell_json(folder, manifest, got, left, pruned=prune)
    else:
        _tell(folder, manifest, got, left, tongue, pruned=prune)
    return max((error.exit_status for error in got.failed.values()), default=0)


def _locked(stacks: Sequence[str], matrices: Path, locks: Path, given: Sequence[str]) -> list[str]:
    """The stacks, each once. `all` stands for those that have a lock: a conflict report has nothing to bundle."""
    if ALL not in stacks:
        return named(stacks, matrices)
    every = (name for name in locked((ALL,), matrices, locks) if any(locks.glob(f"{Path(name).stem}/*/{NAME}")))
    names = list(dict.fromkeys([*every, *(stack for stack in stacks if stack != ALL)]))
    if not names:
        raise InputError("there are no locks to bundle", where=str(locks), hint=command_line("lock", "STACK", *given))
    return names


def _refuse_locks(folder: Path, locks: Path) -> None:
    """A bundle has a folder `locks`, which must not be the one that its locks are copied from."""
    here, theirs = folder.resolve(), locks.resolve()
    if here.is_relative_to(theirs) or theirs.is_relative_to(here):
        raise InputError(
            "a bundle needs its own folder",
            where=str(folder),
            why=f"the locks are in {theirs}",
            hint="choose a folder that neither contains the locks folder nor is inside it",
        )


def _remove(names: Sequence[str], folder: Path) -> None:
    for name in names:
        path = folder / name
        path.unlink(missing_ok=True)
        for parent in path.parents:
            if parent == folder:
                break
            with suppress(OSError):  # not empty
                parent.rmdir()


def _check(folder: Path, language: Language, *, as_json: bool) -> int:
    """Report where a bundle differs from its manifest."""
    try:
        manifest = bundle.read(folder)
    except InputError as error:  # the manifest itself may be damaged
        raise StaleLock(error.message, where=error.where, why=error.why, hint=error.hint) from None
    if manifest is None:
        hint = "make one with: ascend-lock bundle STACK DIR"
        raise InputError("there is no bundle", where=str(folder / bundle.MANIFEST), hint=hint)
    found = bundle.faults(folder, manifest)
    left = bundle.left_over(folder, manifest, {row.path for row in bundle.rows_of(manifest)})
    if as_json:
        told = {
            "status": "damaged" if found else "whole",
            "faults": [translate(fault, "en") for fault in found],
            "not_in_manifest": left,
        }
        sys.stdout.write(json_text(told) + "\n")
    else:
        for fault in found:
            sys.stdout.write(shown(translate(fault, language)) + "\n")
        for name in left:
            sys.stdout.write(words.STRAY(language, name=shown(name)) + "\n")
        _tell_whole(folder, manifest, len(found), language)
    return StaleLock.exit_status if found else 0


def _tell_whole(folder: Path, manifest: Manifest, faults: int, language: Language) -> None:
    if not faults:
        files = words.FILES(language, len(manifest.files))
        told = words.WHOLE(language, folder=folder, files=files, size=_size(manifest), manifest=bundle.MANIFEST)
        sys.stdout.write(told + "\n")
        return
    sys.stdout.write(words.DAMAGED(language, folder=folder, faults=words.FAULTS(language, faults)) + "\n")
    known = stack_names(options.default_matrices())
    names = dict.fromkeys(lock.stack for lock in manifest.locks)
    stacks = " ".join(name if name in known else f"path/to/{name}.toml" for name in names)
    sys.stdout.write(as_called(words.BUNDLE_AGAIN(language, command=f"ascend-lock bundle {stacks} {folder}") + "\n"))


def _size(manifest: Manifest) -> str:
    size = sum(row.size for row in manifest.files)
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.1f} kB"


def _tell_json(folder: Path, manifest: Manifest, got: Gathered, left: Sequence[str], *, pruned: bool) -> None:
    told = {
        "status": "incomplete" if got.failed else "bundled",
        "folder": str(folder),
        "locks": [f"{lock.stack}/{lock.target}" for lock in manifest.locks],
        "files": len(manifest.files),
        "bytes": sum(row.size for row in manifest.files),
        "downloaded": list(got.fetched),
        "failed": [{"lock": name.removeprefix("locks/"), **error.parts()} for name, error in got.failed.items()],
        "pruned" if pruned else "left": list(left),
    }
    sys.stdout.write(json_text(told) + "\n")


def _tell(
    folder: Path, manifest: Manifest, got: Gathered, left: Sequence[str], language: Language, *, pruned: bool
) -> None:
    locks = [words.SERVED(language, stack=lock.stack, target=lock.target) for lock in manifest.locks]
    lines = [
        words.BUNDLED(
            language,
            folder=folder,
            files=words.FILES(language, len(manifest.files)),
            size=_size(manifest),
            served=words.COMMA(language).join(locks),
            fetched=words.FILES(language, len(got.fetched)),
        )
    ]
    lines += [(words.PRUNED if pruned else words.LEFT)(language, name=name) for name in left]
    for name, error in got.failed.items():
        _, stack, target = name.split("/")
        who = words.FAILURE_OF(language, stack=stack, target=target)
        sys.stderr.write(as_called(f"{who}: error: {error}\n"))
    sys.stderr.flush()
    if got.failed:
        lines.append(words.NOT_BUNDLED(language, locks=words.LOCKS(language, len(got.failed))))
    lines.append(words.COPY(language, folder=folder, name=folder.name))
    sys.stdout.write("".join(f"{line}\n" for line in lines))
