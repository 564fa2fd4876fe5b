"""`requires`: requirements that the metadata leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from resolver.model.fact.base import Need, RequirementFact, counts_for
from resolver.model.text import NOT_EMPTY

if TYPE_CHECKING:
    from resolver.model.release import Release
    from resolver.model.resolution import Pin, Resolution


class Requires(RequirementFact, frozen=True, kw_only=True):
    """Requirements that the metadata leaves out."""

    # The requirements, on projects and on components of the target.
    needs: Annotated[tuple[Need, ...], NOT_EMPTY]
    # Whether only wheels have the requirements, and not what is built from source.
    wheels: bool = False

    @property
    def added_needs(self) -> tuple[Need, ...]:
        """Return its needs."""
        return self.needs

    def counts_for(self, release: Release) -> bool:
        """Return whether the fact counts for the file that a release is installed from."""
        return counts_for(release, self.wheels, self.needs)

    def needs_for(self, release: Release) -> tuple[Need, ...]:
        """Return its needs if it counts for the file of the release."""
        return self.needs if self.counts_for(release) else ()

    @property
    def relaxable_needs(self) -> tuple[Need, ...]:
        """Return its needs."""
        return self.needs

    @property
    def cited_needs(self) -> tuple[Need, ...]:
        """Return its needs."""
        return self.needs

    def concerns_pin(self, pin: Pin, resolution: Resolution) -> bool:
        """Return whether it counts for the file of the pin."""
        return self.counts_for(pin.release)
