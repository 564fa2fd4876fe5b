"""Judge whether the binaries of wheels can be loaded, from their linkage, facts and the target."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec
from packaging.version import Version

from resolver.model.fact import Links
from resolver.model.linkage import TORCH, Linkage, SharedObject, numbers, unpacked

# The interpreter has its own library loaded, or was linked with it.
_PYTHON: Final = "libpython3."
# Pairs of a wheel and a torch that are compared once. A changed stack has mostly the same ones.
_MOST_COMPARED: Final = 1024

# The symbols of several objects, each as `packed` joined them.
PackedSymbols = tuple[bytes, ...]


class MissingLibrary(msgspec.Struct, frozen=True):
    """A library that an object needs and nothing provides."""

    # The object's path in its wheel.
    path: str
    library: str


class NewerGlibc(msgspec.Struct, frozen=True):
    """An object needs a newer glibc than the target has."""

    # The object's path in its wheel.
    path: str
    # Such as `2.34`, like the target's.
    needed: str
    has: str


class MissingSymbols(msgspec.Struct, frozen=True):
    """A wheel takes symbols that the locked torch does not offer."""

    # How many of the symbols that it takes are missing.
    missing: int
    # How many symbols it takes.
    taken: int
    # The release of torch.
    torch: str


Fault = MissingLibrary | NewerGlibc | MissingSymbols


class LockedWheel(msgspec.Struct, frozen=True):
    """A wheel of a lock."""

    project: str
    version: str
    # None if the wheel was not read.
    linkage: Linkage | None


def newer_glibc(linkage: Linkage, glibc: tuple[int, int]) -> NewerGlibc | None:
    """Return the object that needs the newest glibc, if that is newer than the target's."""
    objects = [shared_object for shared_object in linkage.objects if shared_object.glibc]
    if not objects:
        return None
    newest = max(objects, key=lambda shared_object: _numbers(shared_object.glibc))
    if _numbers(newest.glibc) <= glibc:
        return None
    return NewerGlibc(newest.path, newest.glibc, ".".join(map(str, glibc)))


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version such as `2.34`."""
    return tuple(int(part) for part in version.split(".") if part)


def _alternatives(linkage: Linkage) -> Collection[Sequence[SharedObject]]:
    """Return the objects of a wheel in groups. It is enough if one of each group can be loaded.

    Some wheels have a library for each release of PyTorch or FFmpeg, and load the right one when
    they run. Such libraries lie in one folder, and their names differ only in digits, as in
    `libtorchcodec_core6.so` and `libtorchcodec_core7.so`. Any other object is a group of its own.
    """
    groups: dict[str, list[SharedObject]] = defaultdict(list)
    for shared_object in linkage.objects:
        without_digits = re.sub(r"[0-9]+(?:\.[0-9]+)*", "#", shared_object.path)
        groups[without_digits].append(shared_object)
    return groups.values()


def missing_libraries(
    linkage: Linkage, provided: Container[str], links: Sequence[Links] = ()
) -> tuple[MissingLibrary, ...]:
    """Return the libraries that a wheel needs, but neither has nor is provided with, each once.

    `links` are the facts about the wheel, which may say that a library is optional.
    """
    own = linkage.names

    def is_missing(library: str) -> bool:
        if library in own or library in provided or library.startswith(_PYTHON):
            return False
        return not any(fact.is_optional(library) for fact in links)

    missing: dict[str, MissingLibrary] = {}
    for group in _alternatives(linkage):
        faults = [
            [
                MissingLibrary(shared_object.path, name)
                for name in filter(is_missing, shared_object.needs)
            ]
            for shared_object in group
        ]
        if not all(faults):
            continue
        for faults_of_object in faults:
            for fault in faults_of_object:
                missing.setdefault(fault.library, fault)
    return tuple(missing.values())


class TakenSymbols:
    """The symbols that a wheel takes from PyTorch. Its length is how many they are."""

    def __init__(self, linkage: Linkage) -> None:
        # The symbols of each object in a group of alternatives, if there are any.
        self._groups: list[list[frozenset[int]]] = []
        # All of them, as `packed` joined them.
        self._packed: tuple[bytes, ...] = ()
        for group in _alternatives(linkage):
            taken = [unpacked(shared_object.takes) for shared_object in group]
            if any(taken):
                self._groups.append(taken)
                self._packed += tuple(shared_object.takes for shared_object in group)

    def __len__(self) -> int:
        symbols: set[int] = set()
        for group in self._groups:
            symbols.update(*group)
        return len(symbols)

    def missing_in(self, offered: PackedSymbols) -> frozenset[int]:
        """Return the symbols that are not offered. Of alternatives, the best one counts."""
        not_offered = _not_offered(self._packed, offered)
        missing: set[int] = set()
        for group in self._groups:
            missing |= min((symbols & not_offered for symbols in group), key=len)
        return frozenset(missing)


@lru_cache(_MOST_COMPARED)
def _not_offered(taken: PackedSymbols, offered: PackedSymbols) -> frozenset[int]:
    """Return the symbols of one wheel that another does not offer.

    What PyTorch offers is not kept as numbers: that takes 4 MB for each of its releases.
    """
    symbols: set[int] = set()
    for hashes in taken:
        symbols |= unpacked(hashes)
    for hashes in offered:
        symbols.difference_update(numbers(hashes))
    return frozenset(symbols)


def missing_symbols(wheel: Linkage, torch: Linkage, release: str) -> MissingSymbols | None:
    """Return how many symbols a wheel takes that a torch does not offer; None if it may offer all.

    `release` is the version of torch.
    """
    taken = TakenSymbols(wheel)
    if not taken:
        return None
    offered = _all_offers(torch)
    if offered is None:
        return None
    missing = taken.missing_in(offered)
    return MissingSymbols(len(missing), len(taken), release) if missing else None


def _all_offers(torch: Linkage) -> PackedSymbols | None:
    """Return the symbols that a torch offers, None if an unread object may offer others."""
    if not torch.is_complete:
        return None
    return tuple(part.offers for part in torch.objects if part.offers) or None


class TorchRelease(NamedTuple):
    """What a torch has for other wheels."""

    version: Version
    # The names of libraries that are loaded with it.
    libraries: frozenset[str]
    # The symbols that it offers, None if it may offer any.
    offers: PackedSymbols | None


def torch_release(version: Version, linkage: Linkage) -> TorchRelease:
    """Return what a torch has for other wheels.

    The libraries that it needs itself count, as every lock with this torch has them.
    """
    libraries = set(linkage.names)
    for shared_object in linkage.objects:
        libraries.update(shared_object.needs)
    return TorchRelease(version, frozenset(libraries), _all_offers(linkage))


def bounds(known: Iterable[tuple[Version, bool]]) -> str:
    """Return the specifier of the releases of torch that a wheel can be loaded with.

    `known` are releases, each with whether the wheel can be loaded with it. If it cannot be loaded
    with a release, but with the next one, the releases between them are excluded. If it can be
    loaded with a release, but not with the next one, those between them are admitted, as nobody has
    read them. If it can be loaded with no known release, all others are admitted.

    A specifier that names no local version is about all of them. So the local versions of a release
    count as one, with which the wheel can be loaded if it can be with any. Local versions with
    which it cannot are then excluded by name.
    """
    loads = dict(known)
    release_loads: dict[Version, bool] = {}
    for version, is_loaded in loads.items():
        release = Version(version.public)
        release_loads[release] = is_loaded or release_loads.get(release, False)
    good = sorted(release for release, is_loaded in release_loads.items() if is_loaded)
    bad = sorted(release for release, is_loaded in release_loads.items() if not is_loaded)
    if not good:
        return ",".join(f"!={release}" for release in bad)
    first, last = good[0], good[-1]
    older = [release for release in bad if release < first]
    newer = [release for release in bad if release > last]
    clauses = []
    if older:
        clauses.append(f">={first}")
    if newer:
        clauses.append(f"<{newer[0]}")
    clauses += [f"!={release}" for release in bad if first < release < last]
    for version in sorted(loads):
        if version.local and not loads[version] and release_loads[Version(version.public)]:
            clauses.append(f"!={version}")
    return ",".join(clauses)


def judge(
    wheels: Sequence[LockedWheel],
    facts: Sequence[Links],
    libraries: Collection[str],
    glibc: tuple[int, int],
) -> Iterator[tuple[LockedWheel, Fault]]:
    """Yield every fault of every wheel of a lock.

    `libraries` are provided by the platform and by the target's components, `glibc` is the
    target's. A wheel that was not read has no faults; it provides what facts say.
    """
    provided = _provided(wheels, facts).union(libraries)
    torch = None
    for wheel in wheels:
        if wheel.project == TORCH:
            torch = wheel
    for wheel in wheels:
        if wheel.linkage is None:
            continue
        glibc_fault = newer_glibc(wheel.linkage, glibc)
        if glibc_fault is not None:
            yield wheel, glibc_fault
        for fault in missing_libraries(wheel.linkage, provided, _links_of(wheel, facts)):
            yield wheel, fault
        if torch is None or torch.linkage is None or wheel is torch:
            continue
        symbols_fault = missing_symbols(wheel.linkage, torch.linkage, torch.version)
        if symbols_fault is not None:
            yield wheel, symbols_fault


def _provided(wheels: Iterable[LockedWheel], facts: Sequence[Links]) -> set[str]:
    """Return the libraries that wheels have, or have by facts."""
    provided: set[str] = set()
    for wheel in wheels:
        if wheel.linkage is not None:
            provided |= wheel.linkage.names
        for fact in _links_of(wheel, facts):
            provided.update(fact.provides)
    return provided


def _links_of(wheel: LockedWheel, facts: Iterable[Links]) -> list[Links]:
    version = Version(wheel.version)
    return [fact for fact in facts if fact.is_about(wheel.project, version)]
