"""Choose the locks to bundle, and the wheels that were built from them. `bundle` calls this."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from resolver import files
from resolver.cli.options import ALL, Settings
from resolver.cli.selection import (
    locked_stacks,
    named_stacks,
    named_targets,
    warn_if_outdated,
)
from resolver.config.compile import compile_problems
from resolver.config.load import Inputs, load
from resolver.errors import InputError, StaleLock
from resolver.index.locked_files import source_names
from resolver.lock import built
from resolver.lock import file as lock_file
from resolver.lock.built import BuiltWheel
from resolver.lock.bundle import BundledFile, BundledLock
from resolver.model.lock import Lock, LockedPin
from resolver.model.problem import Problem
from resolver.openat import Kind
from resolver.owned_folder import OwnedFolder
from resolver.phrase import literal, phrase
from resolver.report import render
from resolver.report.script import build_key, bundle_script
from resolver.verify.built import is_wheel_of


class BundlePart(msgspec.Struct, frozen=True):
    """A lock that is bundled, with what the bundle gets from it."""

    # The problem that the lock solves.
    problem: Problem
    # The lock.
    lock: Lock
    # The entry of the lock in the manifest.
    row: BundledLock
    # The pins from indexes, those of build tools included. pip uses the first file of each.
    pins: Sequence[LockedPin]
    # The files of the lock's folder, by their paths in the bundle.
    texts: Mapping[str, str]

    @property
    def paths(self) -> list[str]:
        """Return the paths of all files that the bundle gets for this lock."""
        fetched = [pin.file[0].name for pin in self.pins]
        return [*fetched, *source_names(self.lock), *self.texts, *bundle_script(())]

    def built_pins(self, wheels: Iterable[BuiltWheel]) -> Iterator[tuple[LockedPin, BuiltWheel]]:
        """Yield the pins that are built from source, each with a wheel that was built from it.

        A wheel must have the name and the version of the pin: the machine that built it is trusted
        for this project only.
        """
        by_key: dict[str, list[BuiltWheel]] = {}
        for wheel in wheels:
            by_key.setdefault(wheel.key, []).append(wheel)
        keys = self.build_keys
        for pin in self.lock.pin:
            for wheel in by_key.get(keys.get(pin.name, ""), ()):
                version = f"{pin.version}+{pin.label}" if pin.label else str(pin.version)
                if is_wheel_of(pin.name, version, wheel.file):
                    yield pin, wheel

    @property
    def build_keys(self) -> dict[str, str]:
        """Return the digests of builds, by the names of the pins that are built."""
        built_pins = (pin for pin in self.lock.pin if pin.mode != "wheels")
        return {pin.name: build_key(self.lock, pin) for pin in built_pins}

    def entry(self, pin: LockedPin, path: str, sha256: str) -> BundledFile:
        """Return the entry of a file in the manifest. Its size is not known yet."""
        pins = (f"{pin.name}=={pin.version}",)
        return BundledFile(
            path=path,
            sha256=sha256,
            size=0,
            index=pin.index,
            pins=pins,
            locks=(self.row.folder,),
        )


def chosen_parts(stacks: Sequence[str], run: Settings) -> list[BundlePart]:
    """Return the chosen targets of stacks, with their locks.

    `all` stands for all stacks that have a lock. Warn of each stack whose inputs have changed since
    it was locked. Raises InputError if there is no lock at all or a
    target is unknown, and StaleLock if a chosen target has no lock.
    """
    names: list[str] = []
    if ALL in stacks:
        every = locked_stacks((ALL,), run)
        names += [
            name for name in every if any(run.locks.glob(f"{Path(name).stem}/*/{lock_file.NAME}"))
        ]
    names += named_stacks([stack for stack in stacks if stack != ALL], run)
    if not names:
        raise InputError(
            phrase("there are no locks to bundle"),
            where=str(run.locks),
            hint=literal(run.command("lock", "STACK")),
        )
    problems: list[tuple[str, Problem]] = []
    inputs: dict[str, Inputs] = {}
    for name in dict.fromkeys(names):
        inputs[name] = load(name, run.matrices)
        problems += [(name, problem) for problem in compile_problems(inputs[name])]
    targets = list(dict.fromkeys(problem.target.name for _, problem in problems))
    chosen = named_targets(run.targets, targets)
    for target in sorted(chosen):
        if target not in targets:
            raise InputError(
                phrase("no stack named here has a target `{target}`", target=target),
                where="--target",
                hint=phrase("the targets are: {names}", names=", ".join(targets)),
            )
    parts: list[BundlePart] = []
    for name, problem in problems:
        if chosen and problem.target.name not in chosen:
            continue
        part = _part_of(name, problem, run)
        parts.append(part)
        warn_if_outdated(name, part.lock, inputs[name], problem, run)
    return parts


def _part_of(name: str, problem: Problem, run: Settings) -> BundlePart:
    """Return a target with its lock. Raises StaleLock if it has no lock."""
    lock = lock_file.read_own(run.lock_folder(problem))
    if lock is None:
        raise StaleLock(
            phrase("{stack} has no lock for {target}", stack=name, target=problem.target.name),
            hint=phrase(
                "{command}; or name the targets to bundle with --target",
                command=run.command("lock", name),
            ),
        )
    pins = [pin for pin in (*lock.pin, *lock.build_pin) if pin.git is None]
    row = BundledLock.of(lock)
    texts = {f"{row.folder}/{name}": text for name, text in render(lock).items()}
    return BundlePart(problem, lock, row, pins, texts)


def opened_wheels(folder: Path) -> OwnedFolder:
    """Open a folder of built wheels. Raises InputError if that fails."""
    try:
        return OwnedFolder.open(folder)
    except OSError as error:
        message = phrase("the folder of built wheels cannot be opened")
        raise files.input_error(error, message, folder) from None


def wheels_built_of(
    parts: Sequence[BundlePart], chosen: Path | None, folder: OwnedFolder
) -> list[BuiltWheel]:
    """Return the built wheels that belong to these locks.

    They are in the chosen folder, or else in the bundle's own. Raises InputError if a wheel was
    changed after it was built, or if the chosen folder has no such wheel.
    """
    if chosen is None and folder.kind(built.FOLDER) is not Kind.FOLDER:
        return []
    with opened_wheels(chosen) if chosen else folder.folder(built.FOLDER) as source:
        listed = built.read_built(source)
        usable: set[str] = set()
        for part in parts:
            usable.update(wheel.file for _, wheel in part.built_pins(listed))
        wheels = [wheel for wheel in listed if wheel.file in usable]
        if chosen is not None and not wheels:
            raise InputError(
                phrase("no wheel there was built from what these locks name"),
                where=f"--built {chosen}",
                hint=phrase("build them with the install.sh of the same lock"),
            )
        built.require_whole(wheels, source)
    return wheels
