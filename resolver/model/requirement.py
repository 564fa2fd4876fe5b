"""A PEP 508 requirement, taken apart and normalised."""

from __future__ import annotations

import msgspec
from packaging.markers import Marker
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName


class Requirement(msgspec.Struct, frozen=True, kw_only=True):
    """What a line of a stack, a fact or a file's metadata asks for.

    `extras` are normalised and sorted. `url` is a PEP 508 direct reference,
    empty for a requirement that an index serves.
    """

    name: NormalizedName
    extras: tuple[NormalizedName, ...] = ()
    specifier: SpecifierSet = msgspec.field(default_factory=SpecifierSet)
    marker: Marker | None = None
    url: str = ""

    def __str__(self) -> str:
        """The requirement in one normal form, marker included."""
        text = self.without_marker()
        return f"{text} ; {self.marker}" if self.marker is not None else text

    def without_marker(self) -> str:
        """The requirement in one normal form, marker left out."""
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        if self.url:
            return f"{self.name}{extras} @ {self.url}"
        return f"{self.name}{extras}{self.specifier}"
