"""Judge whether the binaries of a lock can be loaded, by what its wheels need and offer.

`check --files` and `bundle` call this.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from resolver.cli.catalogs import Catalogs
from resolver.errors import ResolverError
from resolver.index.live import LiveCatalog
from resolver.index.locked_files import files_by_name, page_of
from resolver.index.parse.binaries import WHOLE, Limits, linkage_of_wheel
from resolver.index.protocol import UnusableFile
from resolver.linkage.judgement import Fault, LockedWheel, judge
from resolver.model import fact as facts
from resolver.model.linkage import Linkage
from resolver.model.lock import Lock, LockedPin
from resolver.model.problem import Problem
from resolver.model.release import File

# How much of one wheel is read. It is enough for a PyTorch for CPUs, and for all of a PyTorch with
# CUDA except libtorch_cuda.so.
LARGEST_READ: Final = Limits(packed=200 << 20, unpacked=1 << 30)

# A function that reads what the binaries of a wheel need and offer; None if it cannot.
Reader = Callable[[LockedPin, File], Linkage | None]


class Judged(msgspec.Struct, frozen=True):
    """The result of judging the binaries of a lock."""

    # How many wheels were judged.
    wheels: int
    # The wheels with faults, such as a missing library.
    faults: tuple[tuple[LockedWheel, Fault], ...]
    # The names of wheels that were not read.
    unread: tuple[str, ...]


def judge_lock(lock: Lock, problem: Problem, read: Reader) -> Judged:
    """Judge the binaries of a lock.

    `read` is called for each wheel. If it returns None, or the file cannot be read, the wheel
    counts as unread.
    """
    wheels: list[LockedWheel] = []
    unread: list[str] = []
    judged = 0
    for pin in lock.pin:
        linkage = None
        if pin.file and pin.file[0].name.endswith(".whl"):
            file = File(filename=pin.file[0].name, sha256=pin.file[0].sha256)
            try:
                linkage = read(pin, file)
            except (UnusableFile, ResolverError, OSError):
                linkage = None
            if linkage is None:
                unread.append(file.filename)
            else:
                judged += 1
        wheels.append(LockedWheel(pin.name, pin.version, linkage))
    links = [fact for fact in problem.facts if isinstance(fact, facts.Links)]
    faults = judge(wheels, links, problem.libraries, problem.target.glibc)
    return Judged(judged, tuple(faults), tuple(unread))


def from_folder(folder: Path, catalogs: Catalogs) -> Reader:
    """Return a reader of the wheels in a folder. Their hashes must be checked already."""
    files = catalogs.pool.files

    def read(_: LockedPin, file: File) -> Linkage | None:
        known = files.linkage(file)
        if known is not None:
            return known
        linkage = linkage_of_wheel(folder / file.filename, file.filename, WHOLE)
        files.store_linkage(file, linkage)
        return linkage

    return read


def from_index(catalog: LiveCatalog) -> Reader:
    """Return a reader that fetches parts of wheels from their index, unless they are known."""

    def read(pin: LockedPin, file: File) -> Linkage | None:
        known = catalog.known_linkage(file)
        if known is not None:
            return known
        offers = files_by_name(page_of(pin, catalog)).get(file.filename, ())
        for offer in offers:
            if offer.sha256 == file.sha256:
                return catalog.read_linkage(offer, LARGEST_READ)
        return None

    return read
