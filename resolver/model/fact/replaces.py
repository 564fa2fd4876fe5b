"""`replaces`: wrong requirements of metadata, and the requirements that replace them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from packaging.utils import NormalizedName

from resolver.model.fact.base import Fact, Need, RequirementFact, Strength
from resolver.model.requirement import Requirement
from resolver.model.text import NOT_EMPTY


class Replaces(RequirementFact, frozen=True, kw_only=True):
    """Requirements that replace wrong requirements in the metadata of `package`.

    If the fact is a practice, it also replaces requirements of other facts about the same release,
    except for enforced facts and other practices.
    """

    # The projects on which requirements are dropped.
    drop: Annotated[tuple[NormalizedName, ...], NOT_EMPTY]
    # The requirements that are added.
    add: tuple[Need, ...] = ()

    @property
    def added_needs(self) -> tuple[Need, ...]:
        """Return the requirements that the fact adds."""
        return self.add

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return the projects on which requirements are dropped."""
        return self.drop


def needs_kept(
    fact: Fact, needs: Iterable[Need], replacing: Iterable[Replaces]
) -> tuple[Need, ...]:
    """Return the requirements of a fact without the requirements that practices drop.

    `needs` are the requirements that `fact` adds to a release, and `replacing` are the `replaces`
    facts about the same release. The requirements of a `replaces` fact, an enforced fact or a
    practice are never dropped.
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
