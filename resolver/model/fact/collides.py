"""`collides`: two distributions that have the same module."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from packaging.utils import NormalizedName

from resolver.model.fact.base import Fact
from resolver.model.text import Text

if TYPE_CHECKING:
    from resolver.model.resolution import Resolution


class Collides(Fact, frozen=True, kw_only=True):
    """Another distribution with the same module as `package`: at most one can be installed."""

    # The other distribution.
    other: NormalizedName = msgspec.field(name="with")
    # The name by which the module is imported.
    module: Text

    @property
    def named_projects(self) -> tuple[NormalizedName, ...]:
        """Return the other distribution."""
        return (self.other,)

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return the other distribution."""
        return (self.other,)

    def is_used(self, resolution: Resolution) -> bool:
        """Return whether one of the two is pinned."""
        return resolution.pin(self.other) is not None or super().is_used(resolution)
