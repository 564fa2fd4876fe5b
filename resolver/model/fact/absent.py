"""`absent`: a distribution that must not be installed with another."""

from __future__ import annotations

import msgspec
from packaging.utils import NormalizedName

from resolver.model.fact.base import Fact


class Absent(Fact, frozen=True, kw_only=True):
    """If `package` is installed, `other` must not be, whatever requires it.

    If the stack itself names `package`, requirements on `other` are ignored. Otherwise the two
    exclude each other, like distributions that collide.
    """

    other: NormalizedName = msgspec.field(name="without")

    @property
    def module(self) -> str:
        """Return what stands for the module that both would own."""
        return f"{self.other} or {self.package}"

    @property
    def named_projects(self) -> tuple[NormalizedName, ...]:
        """Return the other distribution."""
        return (self.other,)

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return the other distribution."""
        return (self.other,)
