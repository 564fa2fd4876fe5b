"""`replaces`: wrong requirements of metadata, and what stands in for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from packaging.utils import NormalizedName

from resolver.model.fact.base import Fact, Need, OfTarget, Strength
from resolver.model.requirement import Requirement
from resolver.model.text import NOT_EMPTY


class Replaces(OfTarget, frozen=True, kw_only=True):
    """Wrong metadata: the requirements on the projects in `drop` are replaced by `add`.

    A practice also replaces the requirements on them in other facts, unless those are enforced.
    """

    drop: Annotated[tuple[NormalizedName, ...], NOT_EMPTY]
    add: tuple[Need, ...] = ()

    @property
    def added_needs(self) -> tuple[Need, ...]:
        """Return what it adds."""
        return self.add

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return the projects whose requirements it drops."""
        return self.drop


def needs_kept(
    fact: Fact, needs: Iterable[Need], replacing: Iterable[Replaces]
) -> tuple[Need, ...]:
    """Return the needs of a fact without those that practices about the same release drop."""
    if isinstance(fact, Replaces) or fact.strength in (Strength.ENFORCED, Strength.PRACTICE):
        return tuple(needs)
    dropped: set[NormalizedName] = set()
    for replaces in replacing:
        if replaces.strength is Strength.PRACTICE:
            dropped.update(replaces.drop)
    return tuple(
        need for need in needs if not (isinstance(need, Requirement) and need.name in dropped)
    )
