"""Tell which facts a resolution rests on. A lock cites them."""

from __future__ import annotations

from collections.abc import Iterator

from resolver.model.fact import Fact
from resolver.model.resolution import Resolution


def applied_facts(resolution: Resolution) -> Iterator[Fact]:
    """Yield the facts that a resolution used (`Fact.is_used`), in the order of their files."""
    for fact in resolution.problem.facts:
        if fact.is_used(resolution):
            yield fact
