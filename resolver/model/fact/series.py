"""`series`: releases that go with the releases of another project of the same series."""

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
    """Releases that go with those of `other` whose versions begin alike, if it is installed.

    With two `parts`, 0.22.1 goes with 0.22.0, 0.22.3 and 0.22.0rc1, and not with 0.23.0.
    """

    # The project whose releases go with the ones of `package`.
    other: NormalizedName = msgspec.field(name="with")
    # How many numbers of the versions must be the same.
    parts: int = 2

    def mistakes(self) -> Iterator[Mistake]:
        """Yield a number of parts that no version has, and a project that goes with itself."""
        if self.parts < 1:
            yield Mistake(phrase("versions are compared by at least one part"), ("parts",))
        if self.other == self.package:
            yield Mistake(phrase("a project goes with its own releases anyway"), ("with",))

    @property
    def bounded_projects(self) -> tuple[NormalizedName, ...]:
        """Return the other project."""
        return (self.other,)

    def bounds_for(self, release: Release) -> tuple[Requirement, ...]:
        """Return the other project's versions that begin like a release's."""
        numbers = release.version.release
        # 1 is 1.0 (PEP 440)
        padded = (*numbers, *[0] * (self.parts - len(numbers)))
        prefix = ".".join(map(str, padded[: self.parts]))
        epoch = f"{release.version.epoch}!" if release.version.epoch else ""
        return (text.requirement(f"{self.other}=={epoch}{prefix}.*"),)

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return the other project."""
        return (self.other,)

    def concerns_pin(self, pin: Pin, resolution: Resolution) -> bool:
        """Return whether the other project is pinned as well."""
        return resolution.pin(self.other) is not None
