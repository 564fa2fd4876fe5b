"""Run `ascend-lock facts read-linkage`: record what the binaries of wheels need and offer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

import click
import msgspec
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver import files
from resolver.ascend.names import TORCH_PLUGIN
from resolver.cli.binaries import LARGEST_READ
from resolver.cli.catalogs import Catalogs
from resolver.cli.common import Command
from resolver.cli.console import print_json, print_line
from resolver.cli.options import Settings, settings
from resolver.config.compile import compile_problems
from resolver.config.find_stack import stack_names
from resolver.config.load import linkage_folder, load, wheels_folder
from resolver.errors import ResolverError
from resolver.i18n import translate_phrase
from resolver.index.live import LiveCatalog
from resolver.index.locked_files import files_by_name, page_of
from resolver.index.protocol import UnusableFile
from resolver.index.store.linkage_readings import (
    LinkageReading,
    read_linkages,
    write_linkages,
)
from resolver.index.store.readings import read_wheels
from resolver.lock import file as lock_file
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.linkage import TORCH
from resolver.model.lock import LockedPin
from resolver.model.problem import Problem
from resolver.model.release import File, Release
from resolver.phrase import phrase
from resolver.resolve.candidates import Candidates

_PLUGIN: Final = text.name(TORCH_PLUGIN)


class _Wheel(msgspec.Struct, frozen=True):
    """A wheel to record."""

    # The project of the wheel.
    project: NormalizedName
    # The wheel.
    file: File
    # The catalog that has it.
    catalog: LiveCatalog


@click.command("read-linkage", cls=Command)
@click.option("--anew", is_flag=True, help="Also read wheels that are already recorded.")
@settings()
def command(run: Settings, anew: bool) -> int:
    """Record what the binaries of wheels need and offer, in MATRICES/linkage/PROJECT.json.

    Those are the wheels with binaries in the lock of each stack of the checkout; every wheel that
    its targets could take of the projects that a `links` fact says to be linked with others; and
    PyTorch in each release that a torch-npu is made for. What none of them needs any more is
    removed.
    """
    folder = linkage_folder(run.matrices)
    recorded: dict[str, LinkageReading] = {}
    readings: dict[NormalizedName, dict[str, LinkageReading]] = {}
    for path in files.list_files(folder, ".json"):
        project = text.name(path.stem)
        readings[project] = {}
        for reading in read_linkages(folder, project):
            recorded[reading.sha256] = reading
    unread: list[str] = []
    with closing(Catalogs(run)) as catalogs:
        for wheel in _wheels_to_record(run, catalogs):
            of_project = readings.setdefault(wheel.project, {})
            sha256 = wheel.file.sha256
            if sha256 in of_project:
                continue
            if sha256 in recorded:
                of_project[sha256] = recorded[sha256]
            if anew or sha256 not in recorded:
                run.progress.label("cli.looking-at", fact=wheel.file.filename)
                try:
                    of_project[sha256] = _read(wheel, anew=anew)
                except (ResolverError, UnusableFile) as error:
                    unread.append(f"{wheel.file.filename} is unread: {error}")
    run.progress.clear()
    _write(readings, folder)
    counts = [len(of_project) for of_project in readings.values() if of_project]
    wheels, projects = sum(counts), len(counts)
    if run.as_json:
        numbers = {"wheels": wheels, "projects": projects}
        print_json({"status": "read", "folder": str(folder), **numbers, "unread": unread})
        return 0
    for line in unread:
        print_line(line)
    summary = phrase(
        "{wheels} wheels of {projects} projects in {folder}; {unread} unread",
        wheels=wheels,
        projects=projects,
        folder=folder,
        unread=len(unread),
    )
    print_line(translate_phrase(summary, run.language))
    return 0


def _read(wheel: _Wheel, *, anew: bool) -> LinkageReading:
    """Return the reading of a wheel, from the cache unless `anew` is set.

    Raises UnusableFile if it cannot be read, and IndexFailure if its index is out of reach.
    """
    linkage = None
    # For PyTorch, the cache may have the reading of a wheel for another Python.
    if not anew and wheel.project != TORCH:
        linkage = wheel.catalog.known_linkage(wheel.file)
    if linkage is None:
        linkage = wheel.catalog.read_linkage(wheel.file, LARGEST_READ)
    if linkage is None:
        raise UnusableFile("its server does not answer to ranges")
    return LinkageReading(wheel.file.filename, wheel.file.sha256, linkage.objects)


def _write(readings: Mapping[NormalizedName, Mapping[str, LinkageReading]], folder: Path) -> None:
    """Write the readings of each project. A project without readings loses its file.

    Raises InputError if a file cannot be written.
    """
    try:
        for project, of_project in sorted(readings.items()):
            write_linkages(of_project.values(), folder, project)
    except OSError as error:
        hint = phrase("name another folder of facts with --matrices DIR")
        raise files.input_error(
            error, phrase("the readings cannot be written"), folder, hint
        ) from None


def _wheels_to_record(run: Settings, catalogs: Catalogs) -> Iterator[_Wheel]:
    """Yield the wheels to record. Of PyTorch, one for each release and platform is enough."""
    torch_seen: set[tuple[str, str]] = set()
    for name in stack_names(run.matrices):
        for problem in compile_problems(load(name, run.matrices)):
            with closing(catalogs.live(problem)) as catalog:
                for wheel in _wheels_of_problem(problem, catalog, run):
                    file = wheel.file
                    has_no_binaries = not file.is_wheel or file.filename.endswith("-any.whl")
                    if has_no_binaries or not file.sha256:
                        continue
                    if wheel.project == TORCH:
                        version = file.filename.split("-")[1]
                        key = (version, problem.target.platform)
                        if key in torch_seen:
                            continue
                        torch_seen.add(key)
                    yield wheel


def _wheels_of_problem(problem: Problem, catalog: LiveCatalog, run: Settings) -> Iterator[_Wheel]:
    """Yield the files in a target's lock, then files of projects that are linked with others."""
    lock = lock_file.read(run.lock_folder(problem))
    if lock is not None:
        for pin in (*lock.pin, *lock.build_pin):
            file = _offered_wheel(pin, catalog)
            if file is not None:
                yield _Wheel(text.name(pin.name), file, catalog)
    yield from _linked_wheels(problem, catalog, run)


def _offered_wheel(pin: LockedPin, catalog: LiveCatalog) -> File | None:
    """Return the wheel of a pin on its index.

    None if the pin has no wheel, or the index no longer has it.
    """
    if not pin.file or not pin.file[0].name.endswith(".whl"):
        return None
    locked = pin.file[0]
    try:
        offers = files_by_name(page_of(pin, catalog)).get(locked.name, ())
    except ResolverError:
        return None
    for file in offers:
        if file.sha256 == locked.sha256:
            return file
    return None


def _linked_wheels(problem: Problem, catalog: LiveCatalog, run: Settings) -> Iterator[_Wheel]:
    """Yield the files that a target could use of projects that are linked with others.

    These are the projects of `links` facts, and PyTorch in each release that a torch-npu is made
    for.
    """
    links = tuple(fact for fact in problem.facts if isinstance(fact, facts.Links))
    # The lines of the stack are removed, because they may name commits. Facts that exclude releases
    # are removed, because another stack may ask for these releases.
    stack = msgspec.structs.replace(problem.stack, requirements=())
    candidates = Candidates(msgspec.structs.replace(problem, stack=stack, facts=links), catalog)
    torch_specifiers = _torch_specifiers(run)
    names = {fact.package for fact in links if fact.to}
    for name in sorted({*names, TORCH}):
        try:
            project = candidates.project(name)
        except ResolverError:
            continue
        for position in project.positions(project.all):
            release = project.release(position)
            if not isinstance(release, Release) or release.source is not None:
                continue
            version = release.version.public
            if name != TORCH or any(
                specifier.contains(version, prereleases=True) for specifier in torch_specifiers
            ):
                yield _Wheel(name, release.file, catalog)


def _torch_specifiers(run: Settings) -> list[SpecifierSet]:
    """Return the specifiers by which recorded wheels of torch-npu require PyTorch."""
    specifiers: list[SpecifierSet] = []
    for reading in read_wheels(wheels_folder(run.matrices), _PLUGIN):
        requirements = [text.requirement(pin) for pin in reading.pins]
        specifiers += [need.specifier for need in requirements if need.name == TORCH]
    return specifiers
