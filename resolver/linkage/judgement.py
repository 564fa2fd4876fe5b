"""Judge whether the binaries of wheels can be loaded on a target.

The linkage of a wheel (`model.linkage.Linkage`) says which libraries, symbols and glibc its
binaries need, and what they offer. It is compared with the target, with facts, and with the linkage
of the other wheels. All functions are pure.
"""

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

# The beginning of the name of Python's own library, which is never missing: the interpreter has
# loaded it, or was linked with it.
_PYTHON: Final = "libpython3."
# The number of results of comparing a wheel with a torch that are cached. After a change of a
# stack, most pairs are the same.
_MOST_COMPARED: Final = 1024

# The hashes of the symbols of several objects, one text for each object, made by
# `model.linkage.packed`.
PackedSymbols = tuple[bytes, ...]


class MissingLibrary(msgspec.Struct, frozen=True):
    """A library that an object of a wheel needs, and that nothing provides."""

    # The path of the object in its wheel.
    path: str
    # The name of the library.
    library: str


class NewerGlibc(msgspec.Struct, frozen=True):
    """An object of a wheel needs a newer glibc than the target has."""

    # The path of the object in its wheel.
    path: str
    # The version that the object needs, such as `2.34`.
    needed: str
    # The version that the target has.
    has: str


class MissingSymbols(msgspec.Struct, frozen=True):
    """A wheel takes symbols from PyTorch that the locked torch does not offer."""

    # The number of symbols that are not offered.
    missing: int
    # The number of all symbols that the wheel takes.
    taken: int
    # The version of torch.
    torch: str


# A reason why a wheel cannot be loaded.
Fault = MissingLibrary | NewerGlibc | MissingSymbols


class LockedWheel(msgspec.Struct, frozen=True):
    """A wheel of a lock, with its linkage."""

    # The normalized name.
    project: str
    version: str
    # None if the binaries of the wheel were not read.
    linkage: Linkage | None


def newer_glibc(linkage: Linkage, glibc: tuple[int, int]) -> NewerGlibc | None:
    """Return the fault of the object that needs the newest glibc of all in a wheel.

    None if the target's `glibc` is new enough for it.
    """
    objects = [shared_object for shared_object in linkage.objects if shared_object.glibc]
    if not objects:
        return None
    newest = max(objects, key=lambda shared_object: _numbers(shared_object.glibc))
    if _numbers(newest.glibc) <= glibc:
        return None
    return NewerGlibc(newest.path, newest.glibc, ".".join(map(str, glibc)))


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers in a version such as `2.34`."""
    return tuple(int(part) for part in version.split(".") if part)


def _alternatives(linkage: Linkage) -> Collection[Sequence[SharedObject]]:
    """Return the objects of a wheel in groups of alternatives: one of each group must be loadable.

    Some wheels have a library for each release of PyTorch or FFmpeg, and load the right one when
    they run. Such libraries are in one folder, and their names differ only in digits, such as
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
    """Return the libraries that a wheel needs and that neither it nor anything else provides.

    `provided` are the names of libraries that are available. `links` are the facts about the wheel,
    which may say that a library is optional. Each library is returned once, with the first object
    that needs it.
    """
    own = linkage.names

    def is_missing(library: str) -> bool:
        """Return whether a needed library is neither available nor optional."""
        if library in own or library in provided or library.startswith(_PYTHON):
            return False
        return not any(fact.is_optional(library) for fact in links)

    missing: dict[str, MissingLibrary] = {}
    for group in _alternatives(linkage):
        missing_of_objects = [list(filter(is_missing, part.needs)) for part in group]
        if not all(missing_of_objects):
            continue  # nothing is missing for one of the alternatives
        for shared_object, libraries in zip(group, missing_of_objects, strict=True):
            for library in libraries:
                missing.setdefault(library, MissingLibrary(shared_object.path, library))
    return tuple(missing.values())


class TakenSymbols:
    """The symbols that a wheel takes from PyTorch, as hashes. `len` returns their number."""

    def __init__(self, linkage: Linkage) -> None:
        """Collect the symbols of all objects of a wheel."""
        # For each group of alternatives: the symbols of each object. Groups without any symbol are
        # left out.
        self._groups: list[list[frozenset[int]]] = []
        # The same symbols, packed.
        self._packed: tuple[bytes, ...] = ()
        for group in _alternatives(linkage):
            taken = [unpacked(shared_object.takes) for shared_object in group]
            if any(taken):
                self._groups.append(taken)
                self._packed += tuple(shared_object.takes for shared_object in group)

    def __len__(self) -> int:
        """Return the number of different symbols, of all alternatives together."""
        symbols: set[int] = set()
        for group in self._groups:
            symbols.update(*group)
        return len(symbols)

    def missing_in(self, offered: PackedSymbols) -> frozenset[int]:
        """Return the symbols that are not in `offered`.

        Of a group of alternatives, the object with the fewest missing symbols counts.
        """
        not_offered = _not_offered(self._packed, offered)
        missing: set[int] = set()
        for group in self._groups:
            missing |= min((symbols & not_offered for symbols in group), key=len)
        return frozenset(missing)


@lru_cache(_MOST_COMPARED)
def _not_offered(taken: PackedSymbols, offered: PackedSymbols) -> frozenset[int]:
    """Return the symbols that are in `taken` and not in `offered`, both packed.

    The symbols that PyTorch offers are not kept unpacked: they take 4 MB for each release.
    """
    symbols: set[int] = set()
    for hashes in taken:
        symbols |= unpacked(hashes)
    for hashes in offered:
        symbols.difference_update(numbers(hashes))
    return frozenset(symbols)


def missing_symbols(wheel: Linkage, torch: Linkage, release: str) -> MissingSymbols | None:
    """Return the number of symbols that a wheel takes and that a torch does not offer.

    `release` is the version of torch. None if no symbol is missing, or if that is not known because
    an object of torch was not read.
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
    """Return the symbols that a torch offers; None if that is not known.

    It is not known if an object of torch was not read, or if the reading has no symbols.
    """
    if not torch.is_complete:
        return None
    return tuple(part.offers for part in torch.objects if part.offers) or None


class TorchRelease(NamedTuple):
    """The libraries and symbols that a release of torch provides for other wheels."""

    version: Version
    # The names of the libraries that are loaded with this torch.
    libraries: frozenset[str]
    # The symbols that it offers; None if they are not known.
    offers: PackedSymbols | None


def torch_release(version: Version, linkage: Linkage) -> TorchRelease:
    """Return what a release of torch provides for other wheels.

    The libraries that torch itself needs are included, since every lock with this torch has them.
    """
    libraries = set(linkage.names)
    for shared_object in linkage.objects:
        libraries.update(shared_object.needs)
    return TorchRelease(version, frozenset(libraries), _all_offers(linkage))


def bounds(known: Iterable[tuple[Version, bool]]) -> str:
    """Return the specifier (PEP 440) of the releases of torch with which a wheel can be loaded.

    `known` has releases of torch, each with whether the wheel can be loaded with it. In this text
    such a release is good if the wheel can be loaded with it, and bad if it cannot.

    - If a bad release precedes the first good one, all releases before the first good one are
      excluded.
    - If a bad release follows the last good one, it and all later releases are excluded.
    - Bad releases between good ones are excluded by name. If there is no good release, all bad ones
      are excluded by name.
    - All other releases are admitted, even if their binaries were never read.

    A specifier without a local version matches all local versions of a release. So the local
    versions of a release count as one, which is good if any of them is. Bad local versions of a
    good release are excluded by name.
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
    """Yield each fault of each wheel of a lock, with the wheel.

    `libraries` are the names of libraries that the platform and the components of the target
    provide, and `glibc` is the version of the target. For a wheel that was not read no fault is
    yielded, and it provides only the libraries that facts name.
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
    """Return the names of the libraries that wheels provide, by their linkage or by facts."""
    provided: set[str] = set()
    for wheel in wheels:
        if wheel.linkage is not None:
            provided |= wheel.linkage.names
        for fact in _links_of(wheel, facts):
            provided.update(fact.provides)
    return provided


def _links_of(wheel: LockedWheel, facts: Iterable[Links]) -> list[Links]:
    """Return the facts about the linkage of a wheel."""
    version = Version(wheel.version)
    return [fact for fact in facts if fact.is_about(wheel.project, version)]
