"""`excludes`: releases that must not be used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from resolver.model.fact.base import Fact

if TYPE_CHECKING:
    from resolver.model.resolution import Resolution


class Excludes(Fact, frozen=True, kw_only=True):
    """Releases of `package` that must not be used, on any index."""

    def is_used(self, resolution: Resolution) -> bool:
        """Return whether the project is pinned, at any version.

        The fact may be why this version was chosen.
        """
        return resolution.pin(self.package) is not None
