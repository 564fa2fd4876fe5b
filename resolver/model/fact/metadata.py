"""`metadata`: the requirements of a source archive that has no static metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.specifiers import SpecifierSet

from resolver.model.fact.base import Fact, Need, is_built
from resolver.model.requirement import Requirement

if TYPE_CHECKING:
    from resolver.model.resolution import Pin, Resolution


class Metadata(Fact, frozen=True, kw_only=True):
    """The metadata of source archives that have no static metadata (PEP 643, PEP 621).

    Somebody read it from setup.py, so that locking need not run the code of the archive.
    """

    # The requirements, as in Requires-Dist.
    requires: tuple[Requirement, ...]
    # The requirements of the build (PEP 518); None to use pyproject.toml of the archive.
    build_requires: tuple[Requirement, ...] | None = None
    # Requires-Python; None for any Python.
    requires_python: SpecifierSet | None = None

    @property
    def cited_needs(self) -> tuple[Need, ...]:
        """Return the requirements: the sources must contain them."""
        return self.requires

    @property
    def build_tools(self) -> tuple[Requirement, ...]:
        """Return `build_requires`; an empty tuple if the fact does not state it."""
        return self.build_requires or ()

    def concerns_pin(self, pin: Pin, resolution: Resolution) -> bool:
        """Return whether the pin is built from a source archive."""
        return is_built(pin)
