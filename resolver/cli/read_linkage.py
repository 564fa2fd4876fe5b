"""`ascend-lock facts read-linkage`: what the binaries of locked wheels need, recorded beside the facts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Final

import click
import msgspec
from packaging.utils import NormalizedName

from resolver import files
from resolver.cli.binaries import LARGEST_READ
from resolver.cli.catalogs import Catalogs
from resolver.cli.console import print_line
from resolver.cli.options import Settings, settings
from resolver.config.compile import compile_problems
from resolver.config.load import linkage_folder, load, stack_names, wheels_folder
from resolver.errors import ResolverError
from resolver.index.live import LiveCatalog
from resolver.index.locked_files import files_by_name, page_of
from resolver.index.protocol import UnusableFile
from resolver.index.store.linkage_readings import LinkageReading, read_linkages, write_linkages
from resolver.index.store.readings import read_wheels
from resolver.lock import file as lock_file
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.linkage import TORCH
from resolver.model.lock import Lock, LockedPin
from resolver.model.problem import Problem
from resolver.model.release import File, Release
from resolver.resolve.candidates import Candidates

_TORCH_NPU: Final = text.name("torch-npu")


class _Wanted(msgspec.Struct, frozen=True):
    """A wheel that is to be recorded, and the catalog that has it."""

    project: NormalizedName
    file: File
    catalog: LiveCatalog


@click.command("read-linkage")
@click.option("--anew", is_flag=True, help="Also read wheels that are already recorded.")
@settings("own_matrices", "locks")
def command(run: Settings, anew: bool) -> int:
    """Record what the binaries of wheels need and offer, in MATRICES/linkage/PROJECT.json.

    Those are the wheels with binaries in the lock of each stack of the checkout; every wheel that
    its targets could take of the projects that a `links` fact says to be linked with others; and
    PyTorch in each release that a torch-npu is made for. What none of them needs any more is
    removed.
    """
    folder = linkage_folder(run.matrices)
    old: dict[str, LinkageReading] = {}
    for path in files.list_files(folder, ".json"):
        old |= {reading.sha256: reading for reading in read_linkages(folder, text.name(path.stem))}
    readings: dict[NormalizedName, dict[str, LinkageReading]] = {}
    unread: list[str] = []
    with closing(Catalogs(run)) as catalogs:
        for wanted in _wanted(run, catalogs):
            of_project = readings.setdefault(wanted.project, {})
            if wanted.file.sha256 in of_project:
                continue
            reading = old.get(wanted.file.sha256)
            if reading is None or anew:
                run.progress.label("cli.looking-at", fact=wanted.file.filename)
                reading = _read(wanted, unread, anew=anew) or reading
            if reading is not None:
                of_project[reading.sha256] = reading
    run.progress.clear()
    for path in files.list_files(folder, ".json"):
        readings.setdefault(text.name(path.stem), {})
    try:
        for project, rows in sorted(readings.items()):
            write_linkages(rows.values(), folder, project)
    except OSError as error:
        hint = "name another folder of facts with --matrices DIR"
        raise files.input_error(error, "the readings cannot be written", folder, hint) from None
    for line in unread:
        print_line(line)
    count = sum(map(len, readings.values()))
    print_line(
        f"{count} wheels of {sum(map(bool, readings.values()))} projects in {folder}; {len(unread)} unread"
    )
    return 0


def _read(wanted: _Wanted, unread: list[str], *, anew: bool) -> LinkageReading | None:
    """Return the reading of a wheel, from the cache unless `anew`; None if there is none, which `unread` then says."""
    try:
        # what is known of a PyTorch may be what its wheel for another Python has
        linkage = (
            wanted.catalog.known_linkage(wanted.file)
            if not anew and wanted.project != TORCH
            else None
        )
        if linkage is None:
            linkage = wanted.catalog.read_linkage(wanted.file, LARGEST_READ)
    except (ResolverError, UnusableFile) as error:
        unread.append(f"{wanted.file.filename} is unread: {error}")
        return None
    if linkage is None:
        unread.append(f"{wanted.file.filename} is unread: its server does not answer to ranges")
        return None
    return LinkageReading(wanted.file.filename, wanted.file.sha256, linkage.objects)


def _wanted(run: Settings, catalogs: Catalogs) -> Iterator[_Wanted]:
    """Yield the wheels to record; PyTorch's once for each release and platform."""
    seen: set[tuple[str, str]] = set()
    for name in stack_names(run.matrices):
        for problem in compile_problems(load(name, run.matrices)):
            with closing(catalogs.live(problem)) as catalog:
                lock = lock_file.read(run.locks / problem.stack.name / problem.target.name)
                for project, file in (*_of_lock(lock, catalog), *_of_links(problem, catalog, run)):
                    version = file.filename.split("-")[1]
                    key = (version, problem.target.platform)
                    if not file.is_wheel or file.filename.endswith("-any.whl") or not file.sha256:
                        continue
                    if project != TORCH or key not in seen:
                        yield _Wanted(project, file, catalog)
                    if project == TORCH:
                        seen.add(key)


def _of_lock(lock: Lock | None, catalog: LiveCatalog) -> Iterator[tuple[NormalizedName, File]]:
    """Yield the wheels of a lock, as far as their index still has them."""
    for pin in (*lock.pin, *lock.build_pin) if lock is not None else ():
        if pin.file and pin.file[0].name.endswith(".whl"):
            file = _offer(pin, catalog)
            if file is not None:
                yield text.name(pin.name), file


def _offer(pin: LockedPin, catalog: LiveCatalog) -> File | None:
    locked = pin.file[0]
    try:
        offers = files_by_name(page_of(pin, catalog)).get(locked.name, ())
    except ResolverError:
        return None
    return next((file for file in offers if file.sha256 == locked.sha256), None)


def _of_links(
    problem: Problem, catalog: LiveCatalog, run: Settings
) -> Iterator[tuple[NormalizedName, File]]:
    """Yield the wheels of linked projects for the target, and those of PyTorch that a torch-npu is made for."""
    # Without lines, as those may name commits; and without facts that take releases out, as a line
    # may ask for them.
    links = tuple(fact for fact in problem.facts if isinstance(fact, facts.Links))
    stack = msgspec.structs.replace(problem.stack, requirements=())
    candidates = Candidates(msgspec.structs.replace(problem, stack=stack, facts=links), catalog)
    linked = {fact.package for fact in links if fact.to}
    torches = [
        text.requirement(pin).specifier
        for reading in read_wheels(wheels_folder(run.matrices), _TORCH_NPU)
        for pin in reading.pins
        if text.requirement(pin).name == TORCH
    ]
    for name in sorted({*linked, TORCH}):
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
                specifier.contains(version, prereleases=True) for specifier in torches
            ):
                yield name, release.file
