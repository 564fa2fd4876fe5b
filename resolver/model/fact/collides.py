"""`collides`: two distributions that install the same module."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from packaging.utils import NormalizedName

from resolver.model.fact.base import Fact
from resolver.model.text import Text

if TYPE_CHECKING:
    from resolver.model.resolution import Resolution


class Collides(Fact, frozen=True, kw_only=True):
    """A distribution that installs the same module as `package`: only one can be installed."""

    # The other distribution.
    other: NormalizedName = msgspec.field(name="with")
    # The name of the module, as it is imported.
    module: Text

    @property
    def named_projects(self) -> tuple[NormalizedName, ...]:
        """Return the name of the distribution `other`."""
        return (self.other,)

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return the name of the distribution `other`."""
        return (self.other,)

    def is_used(self, resolution: Resolution) -> bool:
        """Return whether one of the two distributions is pinned.

        For `package`, the fact must be about the pinned version.
        """
        return resolution.pin(self.other) is not None or super().is_used(resolution)
