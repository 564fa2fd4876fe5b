"""The binaries of pins that no `links` fact is about, and whether they can be loaded.

`soft_requirements` uses it.
"""

from __future__ import annotations

from packaging.version import Version

from resolver.index.protocol import UnusableFile
from resolver.model import fact as facts
from resolver.model.constraint import StackLine
from resolver.model.linkage import TORCH
from resolver.model.package import Package
from resolver.model.resolution import Pin
from resolver.resolve.linkage import is_judged
from resolver.resolve.universe import Universe


class PinnedBinaries:
    """Answers questions about the binaries in the wheels of pins.

    The catalog of the universe reads the wheels, and leaves wheels unread that are too large.
    """

    def __init__(self, universe: Universe) -> None:
        self._universe = universe

    def may_be_linked(self, pin: Pin) -> bool:
        """Return whether a pin may have binaries that are linked with torch, without a fact.

        It may if it is a wheel with binaries, and requires torch or is required only by the stack:
        some projects that are made for torch require nothing at all (sgl-kernel, dgl). The result
        is False if systems.toml names no libraries, since even the C library would be missing then.
        """
        if not self._universe.problem.libraries:
            return False
        if not is_judged(pin.release) or _is_pure(pin):
            return False
        if self._universe.project(pin.name).facts_about(pin.release.position, facts.Links):
            return False
        is_asked_for_only = all(isinstance(constraint, StackLine) for constraint in pin.because)
        return TORCH in pin.needs or is_asked_for_only

    def is_left_unread(self, pin: Pin) -> bool:
        """Return whether a pin requires torch, may be linked with it, and was not read."""
        return self.may_be_linked(pin) and TORCH in pin.needs and not self._is_read(pin)

    def fault(self, pin: Pin, torch: Version, present: frozenset[str]) -> str:
        """Return why the binaries of a pin cannot be loaded with a version of torch.

        Empty if they can be loaded, or were not read. `present` has the names of libraries in other
        pins. If the universe requires that the project can be loaded (`Universe.linked`), a wheel
        that was not read counts as one that cannot.
        """
        if pin.name in self._universe.linked and not self._is_read(pin):
            return "its binaries were not read"
        candidate = self._universe.candidate_for(Package(pin.name), pin.release)
        return self._universe.linkage.fault(candidate, torch, present)

    def libraries_of(self, pin: Pin) -> frozenset[str] | None:
        """Return the names of the libraries in the wheel of a pin.

        None if they are not known: the pin is built from source, or its wheel was not read.
        """
        if not is_judged(pin.release):
            return None
        if _is_pure(pin):
            return frozenset()
        try:
            linkage = self._universe.catalog.linkage(pin.release.file)
        except UnusableFile:
            return None
        return linkage.names if linkage is not None else None

    def _is_read(self, pin: Pin) -> bool:
        """Return whether the binaries of a pin's wheel were read, or cannot be read at all."""
        try:
            return self._universe.catalog.linkage(pin.release.file) is not None
        except UnusableFile:
            return True


def _is_pure(pin: Pin) -> bool:
    """Return whether a pin's wheel is for any platform, so that it has no binaries."""
    return pin.release.file.filename.endswith("-any.whl")
