"""`after`: projects that must be installed before another project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from packaging.utils import NormalizedName

from resolver.model.fact.base import Fact
from resolver.model.message import Message, message
from resolver.model.text import NOT_EMPTY

if TYPE_CHECKING:
    from resolver.model.resolution import Pin, Resolution


class After(Fact, frozen=True, kw_only=True):
    """Projects that are installed before `package`, if they are in the lock."""

    # The projects that are installed before `package`.
    others: Annotated[tuple[NormalizedName, ...], NOT_EMPTY]

    @property
    def named_projects(self) -> tuple[NormalizedName, ...]:
        """Return the projects that are installed before `package`."""
        return self.others

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return the projects that are installed before `package`."""
        return self.others

    @property
    def unconfirmed(self) -> Message:
        """Return an audit's remark on the fact: indexes state no order of installation."""
        return message("upstream.remark-order")

    def concerns_pin(self, pin: Pin, resolution: Resolution) -> bool:
        """Return whether one of the projects that are installed before is pinned."""
        return any(resolution.pin(name) is not None for name in self.others)
