"""The independent check of binaries, for the libraries and symbols that they need.

It shares no code with `resolve/linkage` and `linkage/judgement`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from packaging.version import Version

from resolver.index.protocol import Catalog, UnusableFile
from resolver.model import fact as facts
from resolver.model.linkage import SharedObject
from resolver.model.problem import Problem
from resolver.model.resolution import Pin

# The length of a symbol's hash in bytes (see `model/linkage`).
_HASH: Final = 4


class BinaryCheck:
    """Compares the libraries and symbols that binaries of pins need with the ones that there are.

    Only wheels of projects with a `links` fact that has `to` are checked.
    """

    def __init__(self, problem: Problem, pins: Mapping[str, Pin], catalog: Catalog) -> None:
        """Take all pins of a resolution, by the name of the project."""
        self._problem = problem
        self._pins = pins
        self._catalog = catalog
        self._facts = [fact for fact in problem.facts if isinstance(fact, facts.Links)]

    def needed(self, pin: Pin) -> list[str]:
        """Return the names of the projects that the binaries of a pin need, sorted.

        They are projects in `to` of its facts that provide a library which the binaries need. torch
        is also needed if they use its symbols, or if they need a library that is not in the wheel,
        on the target, or provided by another project.
        """
        links = self._about(pin)
        if not _is_judged(pin, links):
            return []
        try:
            objects = self._objects(pin)
        except UnusableFile:  # `faults` reports it
            return []
        there = _names(objects).union(self._problem.libraries)
        foreign: set[str] = set()
        for part in objects:
            foreign.update(_missing(part, there, links))
        to: set[str] = set()
        for fact in links:
            to.update(fact.to)
        needed: set[str] = set()
        provided: set[str] = set()
        for fact in self._facts:
            provided_by_project = foreign.intersection(fact.provides)
            if provided_by_project and fact.package in to:
                needed.add(fact.package)
                provided |= provided_by_project
        takes_symbols = any(part.takes for part in objects)
        if "torch" in to and (takes_symbols or foreign - provided):
            needed.add("torch")
        return sorted(needed)

    def faults(self, pin: Pin) -> Iterator[str]:
        """Yield the faults of a pin's binaries as sentences.

        The target's glibc must be new enough, and all libraries and symbols must be found.
        """
        links = self._about(pin)
        if not _is_judged(pin, links):
            return
        try:
            objects = self._objects(pin)
        except UnusableFile as error:
            yield f"{pin.release.file.filename}: {error}"
            return
        release = f"{pin.name} {pin.version}"
        glibc = Version(".".join(map(str, self._problem.target.glibc)))
        for part in objects:
            if part.glibc and Version(part.glibc) > glibc:
                yield f"{release}: {part.path} needs glibc {part.glibc}"
        torch = self._torch()
        there = self._libraries(objects, torch)
        missing = {part.path: _missing(part, there, links) for part in objects}
        for path, names in missing.items():
            # If objects are alternatives, it is enough that one of them finds its libraries.
            if all(missing[other] for other in _alternatives(path, missing)):
                for name in names:
                    yield f"{release}: {path} needs {name}, which nothing provides"
        for path in self._lacking_symbols(objects, torch):
            yield f"{release}: {path} takes symbols that torch does not offer"

    def _lacking_symbols(
        self, objects: Sequence[SharedObject], torch: Sequence[SharedObject]
    ) -> Iterator[str]:
        """Yield the paths of objects that use symbols which the pinned torch does not offer.

        `torch` are the objects of torch. Nothing is yielded if torch was not read, or only partly.
        """
        offered = set(chain.from_iterable(_hashes(part.offers) for part in torch))
        if not offered or not all(part.read for part in torch):
            return
        lacking = {part.path: not offered.issuperset(_hashes(part.takes)) for part in objects}
        for path in lacking:
            if all(lacking[other] for other in _alternatives(path, lacking)):
                yield path

    def _libraries(
        self, objects: Sequence[SharedObject], torch: Sequence[SharedObject]
    ) -> set[str]:
        """Return the names of all libraries that the objects of a wheel can find.

        They are in the wheel itself, on the target, in torch, and in pins by `links` facts.
        """
        there = _names(objects) | _names(torch)
        there.update(self._problem.libraries)
        for part in torch:
            there.update(part.needs)
        for pin in self._pins.values():
            for fact in self._about(pin):
                there.update(fact.provides)
        return there

    def _about(self, pin: Pin) -> list[facts.Links]:
        """Return the `links` facts about a pin."""
        return [fact for fact in self._facts if fact.is_about(pin.name, pin.version)]

    def _objects(self, pin: Pin) -> Sequence[SharedObject]:
        """Return the objects of a pin's wheel; none if it was not read. Raises UnusableFile."""
        linkage = self._catalog.linkage(pin.release.file)
        return linkage.objects if linkage is not None else ()

    def _torch(self) -> Sequence[SharedObject]:
        """Return the objects of the pinned torch; none if nobody has read its wheel."""
        pin = self._pins.get("torch")
        if pin is None or pin.release.source is not None or not pin.release.file.is_wheel:
            return ()
        linkage = self._catalog.known_linkage(pin.release.file)
        return linkage.objects if linkage is not None else ()


def _is_judged(pin: Pin, links: Iterable[facts.Links]) -> bool:
    """Return whether a pin is a wheel, and one of these facts says with what it is linked."""
    if pin.release.source is not None or not pin.release.file.is_wheel:
        return False
    return any(fact.to for fact in links)


def _missing(part: SharedObject, there: Container[str], links: Sequence[facts.Links]) -> list[str]:
    """Return the libraries that an object needs, that are not optional and not in `there`."""
    names = [name for name in part.needs if name not in there and "libpython" not in name]
    return [name for name in names if not _is_optional(name, links)]


def _alternatives(path: str, paths: Iterable[str]) -> Iterator[str]:
    """Return the paths that differ from `path` only in numbers, `path` included.

    Such objects are alternatives, of which only one is loaded.
    """
    number = r"[0-9]+(\.[0-9]+)*"
    pattern = number.join(map(re.escape, re.split(r"[0-9]+(?:\.[0-9]+)*", path)))
    return (other for other in paths if re.fullmatch(pattern, other))


def _names(objects: Iterable[SharedObject]) -> set[str]:
    """Return the names by which other objects can require these: file names and sonames."""
    names = set()
    for part in objects:
        names |= {part.path.split("/")[-1], part.soname}
    return names


def _hashes(symbols: bytes) -> Iterator[bytes]:
    """Return the hashes of symbols, which are joined without separators."""
    return (symbols[start : start + _HASH] for start in range(0, len(symbols), _HASH))


def _is_optional(library: str, links: Iterable[facts.Links]) -> bool:
    """Return whether a fact says that a library may be missing."""
    for pattern in chain.from_iterable(fact.optional for fact in links):
        expression = ".*".join(map(re.escape, pattern.split("*")))
        if re.fullmatch(expression, library):
            return True
    return False
