"""`series`: two projects whose releases work together only if their versions begin alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec
from packaging.utils import NormalizedName

from resolver.model import text
from resolver.model.fact.base import Fact, Mistake
from resolver.model.requirement import Requirement
from resolver.phrase import phrase

if TYPE_CHECKING:
    from resolver.model.release import Release
    from resolver.model.resolution import Pin, Resolution


class Series(Fact, frozen=True, kw_only=True):
    """A project whose version, if it is installed, must begin with the same numbers as `package`.

    With two `parts`, 0.22.1 of `package` admits 0.22.0, 0.22.3 and 0.22.0rc1 of `other`, and not
    0.23.0.
    """

    # The other project.
    other: NormalizedName = msgspec.field(name="with")
    # How many numbers at the beginning of the versions must be the same.
    parts: int = 2

    def mistakes(self) -> Iterator[Mistake]:
        """Yield a mistake if `parts` is less than 1, or if `other` is `package`."""
        if self.parts < 1:
            yield Mistake(phrase("versions are compared by at least one part"), ("parts",))
        if self.other == self.package:
            yield Mistake(phrase("a project goes with its own releases anyway"), ("with",))

    @property
    def bounded_projects(self) -> tuple[NormalizedName, ...]:
        """Return the name of the project `other`."""
        return (self.other,)

    def bounds_for(self, release: Release) -> tuple[Requirement, ...]:
        """Return the bound `OTHER==X.Y.*` with the first numbers of the release's version."""
        numbers = release.version.release
        # Versions are padded with zeros: 1 is equal to 1.0 (PEP 440).
        padded = (*numbers, *[0] * (self.parts - len(numbers)))
        prefix = ".".join(map(str, padded[: self.parts]))
        epoch = f"{release.version.epoch}!" if release.version.epoch else ""
        return (text.requirement(f"{self.other}=={epoch}{prefix}.*"),)

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return the name of the project `other`."""
        return (self.other,)

    def concerns_pin(self, pin: Pin, resolution: Resolution) -> bool:
        """Return whether the other project is pinned."""
        return resolution.pin(self.other) is not None
