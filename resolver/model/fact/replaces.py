"""`replaces`: requirements of metadata that are wrong, and what replaces them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from packaging.utils import NormalizedName

from resolver.model.fact.base import Fact, Need, RequirementFact, Strength
from resolver.model.requirement import Requirement
from resolver.model.text import NOT_EMPTY


class Replaces(RequirementFact, frozen=True, kw_only=True):
    """Requirements that replace wrong ones of the metadata.

    A practice also replaces the requirements of other facts, unless these are enforced or practices
    themselves.
    """

    # The projects whose requirements are dropped.
    drop: Annotated[tuple[NormalizedName, ...], NOT_EMPTY]
    # The requirements that are added.
    add: tuple[Need, ...] = ()

    @property
    def added_needs(self) -> tuple[Need, ...]:
        """Return the requirements that it adds."""
        return self.add

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return the projects whose requirements it drops."""
        return self.drop


def needs_kept(
    fact: Fact, needs: Iterable[Need], replacing: Iterable[Replaces]
) -> tuple[Need, ...]:
    """Return the needs of a fact, except for the ones that practices drop.

    `replacing` are facts about the same release. What a `replaces` fact, an enforced fact or a
    practice requires is never dropped.
    """
    if isinstance(fact, Replaces) or fact.strength in (Strength.ENFORCED, Strength.PRACTICE):
        return tuple(needs)
    dropped: set[NormalizedName] = set()
    for replaces in replacing:
        if replaces.strength is Strength.PRACTICE:
            dropped.update(replaces.drop)
    kept = []
    for need in needs:
        is_dropped = isinstance(need, Requirement) and need.name in dropped
        if not is_dropped:
            kept.append(need)
    return tuple(kept)
