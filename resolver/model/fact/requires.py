"""`requires`: requirements that the metadata of a project does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from resolver.model.fact.base import Need, RequirementFact, counts_for
from resolver.model.text import NOT_EMPTY

if TYPE_CHECKING:
    from resolver.model.release import Release
    from resolver.model.resolution import Pin, Resolution


class Requires(RequirementFact, frozen=True, kw_only=True):
    """Requirements of releases of `package` that their metadata does not have."""

    # The requirements, on projects and on components of the target.
    needs: Annotated[tuple[Need, ...], NOT_EMPTY]
    # Whether only wheels have the requirements. A release that is built from source does not.
    wheels: bool = False

    relaxable_field = "needs"

    @property
    def added_needs(self) -> tuple[Need, ...]:
        """Return `needs`: the fact adds them."""
        return self.needs

    def counts_for(self, release: Release) -> bool:
        """Return whether the fact concerns the file from which a release is installed."""
        return counts_for(release, self.wheels, self.needs)

    def needs_for(self, release: Release) -> tuple[Need, ...]:
        """Return the requirements if the fact concerns the file of the release, else none."""
        return self.needs if self.counts_for(release) else ()

    @property
    def cited_needs(self) -> tuple[Need, ...]:
        """Return the requirements: the sources must contain them."""
        return self.needs

    def concerns_pin(self, pin: Pin, resolution: Resolution) -> bool:
        """Return whether the fact concerns the file of the pin."""
        return self.counts_for(pin.release)
