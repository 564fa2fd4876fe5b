"""`absent`: a distribution that must not be installed together with another one."""

from __future__ import annotations

import msgspec
from packaging.utils import NormalizedName

from resolver.model.fact.base import Fact


class Absent(Fact, frozen=True, kw_only=True):
    """A distribution that must not be installed if `package` is installed.

    If the stack itself names `package`, requirements on `other` are ignored (see
    `Universe.absent_projects`). Otherwise the two exclude each other, as in a `collides` fact.
    """

    # The distribution that must not be installed.
    other: NormalizedName = msgspec.field(name="without")

    @property
    def module(self) -> str:
        """Return a name for the pair of distributions.

        The solver uses it like the module of a `collides` fact, which only one of the two can own.
        """
        return f"{self.other} or {self.package}"

    @property
    def named_projects(self) -> tuple[NormalizedName, ...]:
        """Return the name of the distribution `other`."""
        return (self.other,)

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return the name of the distribution `other`."""
        return (self.other,)
