"""The part of the independent check that is about binaries.

It shares no code with `linkage/judgement`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from packaging.version import Version

from resolver.index.protocol import Catalog, UnusableFile
from resolver.model import fact as facts
from resolver.model.linkage import SharedObject
from resolver.model.problem import Problem
from resolver.model.resolution import Pin

_HASH = 4  # bytes of the hash of a symbol


class BinaryCheck:
    """Compares what the binaries of pins need with what the target and the other pins have."""

    def __init__(self, problem: Problem, pins: Mapping[str, Pin], catalog: Catalog) -> None:
        self._problem = problem
        self._pins = pins
        self._catalog = catalog
        self._facts = [fact for fact in problem.facts if isinstance(fact, facts.Links)]

    def needed(self, pin: Pin) -> list[str]:
        """Return the projects that binaries need, by name: those of their `to` that have libraries which they need.

        Torch also, if they take its symbols, or need what neither they nor the target nor a fact
        has.
        """
        links = self._about(pin)
        if not _is_judged(pin, links):
            return []
        try:
            objects = self._objects(pin)
        except UnusableFile:  # `faults` reports it
            return []
        own = _names(objects).union(self._problem.libraries)
        left = {
            name
            for part in objects
            for name in part.needs
            if name not in own and "libpython" not in name
        }
        left = {name for name in left if not _is_optional(name, links)}
        found: dict[str, set[str]] = {name: set() for fact in links for name in fact.to}
        for fact in self._facts:
            if fact.package in found:
                found[fact.package].update(left.intersection(fact.provides))
        needed = {name for name, libraries in found.items() if libraries}
        if "torch" in found and (
            left.difference(*found.values()) or any(part.takes for part in objects)
        ):
            needed.add("torch")
        return sorted(needed)

    def faults(self, pin: Pin) -> Iterator[str]:
        """Yield each fault of the binaries of a pin, as a sentence."""
        links = self._about(pin)
        if not _is_judged(pin, links):
            return
        try:
            objects = self._objects(pin)
        except UnusableFile as error:
            yield f"{pin.release.file.filename}: {error}"
            return
        torch = self._torch()
        there = _names(objects) | _names(torch)
        there.update(self._problem.libraries, *(part.needs for part in torch))
        for fact in chain.from_iterable(map(self._about, self._pins.values())):
            there.update(fact.provides)
        offered = set(chain.from_iterable(_hashes(part.offers) for part in torch))
        is_known = bool(offered) and all(part.read for part in torch)
        glibc = Version(".".join(map(str, self._problem.target.glibc)))
        missing: dict[str, list[str]] = {}
        unoffered: dict[str, bool] = {}
        for part in objects:
            if part.glibc and Version(part.glibc) > glibc:
                yield f"{pin.name} {pin.version}: {part.path} needs glibc {part.glibc}"
            names = [name for name in part.needs if name not in there and "libpython" not in name]
            missing[part.path] = [name for name in names if not _is_optional(name, links)]
            unoffered[part.path] = is_known and not offered.issuperset(_hashes(part.takes))
        for path, names in missing.items():
            if not any(not missing[other] for other in _alternatives(path, missing)):
                yield from (
                    f"{pin.name} {pin.version}: {path} needs {name}, which nothing provides"
                    for name in names
                )
        for path, is_unoffered in unoffered.items():
            if is_unoffered and all(unoffered[other] for other in _alternatives(path, unoffered)):
                yield f"{pin.name} {pin.version}: {path} takes symbols that torch does not offer"

    def _about(self, pin: Pin) -> list[facts.Links]:
        return [
            fact
            for fact in self._facts
            if fact.package == pin.name and fact.applies_to(pin.version)
        ]

    def _objects(self, pin: Pin) -> Sequence[SharedObject]:
        """Return the objects of a pin, none if they are unread. Raises UnusableFile."""
        linkage = self._catalog.linkage(pin.release.file)
        return linkage.objects if linkage is not None else ()

    def _torch(self) -> Sequence[SharedObject]:
        """Return the objects of the pinned torch, none if nobody has read it."""
        pin = self._pins.get("torch")
        if pin is None or pin.release.source is not None or not pin.release.file.is_wheel:
            return ()
        linkage = self._catalog.known_linkage(pin.release.file)
        return linkage.objects if linkage is not None else ()


def _is_judged(pin: Pin, links: Iterable[facts.Links]) -> bool:
    """Return whether a fact has the binaries of a pin judged."""
    return (
        any(fact.to for fact in links) and pin.release.source is None and pin.release.file.is_wheel
    )


def _alternatives(path: str, paths: Iterable[str]) -> Iterator[str]:
    """Yield the paths that differ from one in its digits alone, itself included: one of such libraries is loaded."""
    number = r"[0-9]+(\.[0-9]+)*"
    pattern = number.join(map(re.escape, re.split(r"[0-9]+(?:\.[0-9]+)*", path)))
    return (other for other in paths if re.fullmatch(pattern, other))


def _names(objects: Iterable[SharedObject]) -> set[str]:
    """Return the names by which these objects can be needed."""
    return {name for part in objects for name in (part.path.split("/")[-1], part.soname)}


def _hashes(text: bytes) -> Iterator[bytes]:
    return (text[at : at + _HASH] for at in range(0, len(text), _HASH))


def _is_optional(library: str, links: Iterable[facts.Links]) -> bool:
    """Return whether a fact says that nothing fails to load without a library."""
    for pattern in chain.from_iterable(fact.optional for fact in links):
        expression = ".*".join(map(re.escape, pattern.split("*")))
        if re.fullmatch(expression, library):
            return True
    return False
