"""Judgement: can the binaries of wheels be loaded? Pure functions of readings, facts and the target."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec
from packaging.version import Version

from resolver.model.fact import Links
from resolver.model.linkage import TORCH, Linkage, SharedObject, unpacked

# The interpreter has its own library loaded, or was linked with it.
_PYTHON: Final = "libpython3."


class MissingLibrary(msgspec.Struct, frozen=True):
    """A library that an object needs and nothing provides."""

    path: str
    library: str


class NewerGlibc(msgspec.Struct, frozen=True):
    """An object needs a newer glibc than the target has."""

    path: str
    needed: str
    has: str


class MissingSymbols(msgspec.Struct, frozen=True):
    """A wheel takes symbols that the locked torch does not offer."""

    # How many of the symbols that it takes are missing.
    missing: int
    taken: int
    # The release of torch.
    torch: str


Fault = MissingLibrary | NewerGlibc | MissingSymbols


class LockedWheel(msgspec.Struct, frozen=True):
    """A wheel of a lock: its project, version and linkage, None if it was not read."""

    project: str
    version: str
    linkage: Linkage | None


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version such as `2.34`."""
    return tuple(int(part) for part in version.split(".") if part)


def newer_glibc(linkage: Linkage, glibc: tuple[int, int]) -> NewerGlibc | None:
    """Return the object that needs the newest glibc, if that is newer than the target's."""
    objects = [shared_object for shared_object in linkage.objects if shared_object.glibc]
    if not objects:
        return None
    newest = max(objects, key=lambda shared_object: numbers(shared_object.glibc))
    if numbers(newest.glibc) <= glibc:
        return None
    return NewerGlibc(newest.path, newest.glibc, ".".join(map(str, glibc)))


def alternatives(linkage: Linkage) -> list[tuple[SharedObject, ...]]:
    """Return the objects of a wheel in groups, of each of which it is enough if one can be loaded.

    Some wheels have a library for each release of PyTorch or FFmpeg, and load the one that fits
    when they run. Such libraries lie in one folder, and their names differ in digits alone:
    `libtorchcodec_core6.so` and `libtorchcodec_core7.so`. Any other object is a group of its own.
    """
    groups: dict[str, list[SharedObject]] = defaultdict(list)
    for shared_object in linkage.objects:
        groups[re.sub(r"[0-9]+(?:\.[0-9]+)*", "#", shared_object.path)].append(shared_object)
    return list(map(tuple, groups.values()))


def missing_libraries(
    linkage: Linkage, is_provided: Callable[[str], bool], facts: Iterable[Links] = ()
) -> tuple[MissingLibrary, ...]:
    """Return what objects need that is neither in the same wheel nor provided otherwise, each library once.

    `facts` are about the release of the wheel: some libraries are optional.
    """
    links = tuple(facts)
    own = linkage.names

    def is_there(library: str) -> bool:
        if library in own or library.startswith(_PYTHON) or is_provided(library):
            return True
        return any(fact.is_optional(library) for fact in links)

    missing: dict[str, MissingLibrary] = {}
    for group in alternatives(linkage):
        if any(all(map(is_there, shared_object.needs)) for shared_object in group):
            continue
        for shared_object in group:
            for library in shared_object.needs:
                if not is_there(library):
                    missing.setdefault(library, MissingLibrary(shared_object.path, library))
    return tuple(missing.values())


class TakenSymbols:
    """The symbols that a wheel takes from PyTorch."""

    def __init__(self, linkage: Linkage) -> None:
        groups = alternatives(linkage)
        taken = [[unpacked(shared_object.takes) for shared_object in group] for group in groups]
        self._taken = [sets for sets in taken if any(sets)]

    def __bool__(self) -> bool:
        """Return whether the wheel takes any."""
        return bool(self._taken)

    def __len__(self) -> int:
        """Return how many symbols all of the wheel's objects take."""
        return len(frozenset().union(*(symbols for sets in self._taken for symbols in sets)))

    def missing_in(self, offered: frozenset[int]) -> frozenset[int]:
        """Return the symbols that are not offered.

        Among alternatives, the one that lacks the fewest counts.
        """
        missing: set[int] = set()
        for sets in self._taken:
            missing |= min((symbols - offered for symbols in sets), key=len)
        return frozenset(missing)


def missing_symbols(taking: Linkage, torch: Linkage, release: str) -> MissingSymbols | None:
    """Return how many symbols a wheel takes that a torch does not offer; None if it offers all.

    What was not read of torch may offer any of them.
    """
    taken = TakenSymbols(taking)
    offered = _all_offers(torch) if taken else None
    if offered is None:
        return None
    missing = taken.missing_in(offered)
    return MissingSymbols(len(missing), len(taken), release) if missing else None


def _all_offers(torch: Linkage) -> frozenset[int] | None:
    """Return the symbols that a torch offers, None if what was not read of it may offer others."""
    return (torch.offers or None) if torch.is_complete else None


class TorchRelease(NamedTuple):
    """What a torch has for other wheels, unpacked once for all of them."""

    version: Version
    libraries: frozenset[str]
    # None if it may offer any symbol.
    offers: frozenset[int] | None


def torch_release(version: Version, linkage: Linkage) -> TorchRelease:
    """Return what a torch has for other wheels.

    Besides the libraries in its wheel, the libraries that it needs itself count: any lock with this
    torch has both.
    """
    needed = frozenset().union(*(shared_object.needs for shared_object in linkage.objects))
    return TorchRelease(version, linkage.names | needed, _all_offers(linkage))


def bounds(known: Iterable[tuple[Version, bool]]) -> str:
    """Return the specifier of the releases of torch that a wheel loads with, by those that are known.

    `known` says of releases whether it does. What is between a release with which it does not load
    and the next with which it does is left out, and what is between one with which it does and the
    next with which it does not is admitted, as nobody has read it. If it loads with no known
    release, all others are admitted.

    Local versions of a release count as one, with which it loads if it does with any, as a
    specifier that names none of them is about all. Those with which it does not are then left out
    by name.
    """
    rows = sorted(dict(known).items())
    by_public: dict[Version, bool] = {}
    for version, loads in rows:
        public = Version(version.public)
        by_public[public] = loads or by_public.get(public, False)
    good = sorted(version for version, loads in by_public.items() if loads)
    bad = sorted(version for version, loads in by_public.items() if not loads)
    if not good:
        return ",".join(f"!={version}" for version in bad)
    parts = [f">={good[0]}"] if bad and bad[0] < good[0] else []
    newer = [version for version in bad if version > good[-1]]
    parts += [f"<{newer[0]}"] if newer else []
    parts += [f"!={version}" for version in bad if good[0] < version < good[-1]]
    bad_local = [version for version, loads in rows if version.local and not loads]
    parts += [f"!={version}" for version in bad_local if by_public[Version(version.public)]]
    return ",".join(parts)


def judge(
    wheels: Sequence[LockedWheel],
    facts: Sequence[Links],
    libraries: Collection[str],
    glibc: tuple[int, int],
) -> Iterator[tuple[LockedWheel, Fault]]:
    """Yield every fault of every wheel of a lock.

    `libraries` are those of the platform and of the target's components, `glibc` is the target's.
    Of wheels that were not read nothing is said; what facts say that they provide counts.
    """
    provided = set(libraries)
    for wheel in wheels:
        provided.update(wheel.linkage.names if wheel.linkage is not None else ())
        for fact in _about(wheel, facts):
            provided.update(fact.provides)
    torch = next((wheel for wheel in wheels if wheel.project == TORCH), None)
    for wheel in wheels:
        if wheel.linkage is None:
            continue
        glibc_fault = newer_glibc(wheel.linkage, glibc)
        if glibc_fault is not None:
            yield wheel, glibc_fault
        for fault in missing_libraries(wheel.linkage, provided.__contains__, _about(wheel, facts)):
            yield wheel, fault
        if torch is None or torch.linkage is None or wheel is torch:
            continue
        symbols = missing_symbols(wheel.linkage, torch.linkage, torch.version)
        if symbols is not None:
            yield wheel, symbols


def _about(wheel: LockedWheel, facts: Iterable[Links]) -> list[Links]:
    version = Version(wheel.version)
    return [fact for fact in facts if fact.is_about(wheel.project, version)]
