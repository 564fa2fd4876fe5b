"""The binaries of pins that no fact speaks of, and whether they can be loaded."""

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
    """Looks at the wheels of pins in one universe, which are read within its catalog's budget."""

    def __init__(self, universe: Universe) -> None:
        self._universe = universe

    def may_be_linked(self, pin: Pin) -> bool:
        """Return whether a pin may have binaries linked with torch, though no fact says so.

        That is so for a wheel with binaries if its metadata requires torch, or if only the stack
        asks for the project: some that are made for torch require nothing at all (sgl-kernel, dgl).

        Nothing is judged where no component says which libraries the target has: then even those of
        the C library would be missing.
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
        """Return whether a pin requires torch, may be linked with it, and is left unread."""
        return self.may_be_linked(pin) and TORCH in pin.needs and not self._is_read(pin)

    def fault(self, pin: Pin, torch: Version, there: frozenset[str]) -> str:
        """Return why the binaries of a pin cannot be loaded with a torch.

        Empty if they can, or are unread. `there` are libraries of other pins. Where the universe
        looks for a release that loads, one that is left unread is no better than one that is known
        not to.
        """
        if pin.name in self._universe.linked and not self._is_read(pin):
            return "its binaries were not read"
        candidate = self._universe.candidate_for(Package(pin.name), pin.release)
        return self._universe.linkage.fault(candidate, torch, there)

    def libraries_of(self, pin: Pin) -> frozenset[str] | None:
        """Return the names of the libraries in the wheel of a pin.

        None if nobody knows them: it is built from source, left unread, or cannot be used.
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
        try:
            return self._universe.catalog.linkage(pin.release.file) is not None
        except UnusableFile:
            return True


def _is_pure(pin: Pin) -> bool:
    """Return whether a wheel is for any platform, and so has no binaries."""
    return pin.release.file.filename.endswith("-any.whl")
