"""`absent`: a distribution that must not be installed together with another one."""

from __future__ import annotations

import msgspec
from packaging.utils import NormalizedName

from resolver.model.fact.base import Fact


class Absent(Fact, frozen=True, kw_only=True):
    """A distribution that must not be installed if `package` is, whatever requires it.

    If the stack itself names `package`, requirements on `other` are ignored. Otherwise the two
    exclude each other, like distributions that collide.
    """

    # The distribution that must not be installed.
    other: NormalizedName = msgspec.field(name="without")

    @property
    def module(self) -> str:
        """Return a name for the two: the solver lets one of them have a module of this name."""
        return f"{self.other} or {self.package}"

    @property
    def named_projects(self) -> tuple[NormalizedName, ...]:
        """Return the other distribution."""
        return (self.other,)

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return the other distribution."""
        return (self.other,)
