"""Which facts a resolution rests on."""

from __future__ import annotations

from collections.abc import Iterator

from resolver.model.fact import Fact
from resolver.model.resolution import Resolution


def applied_facts(resolution: Resolution) -> Iterator[Fact]:
    """Yield the facts that count as used, in the order of the files."""
    for fact in resolution.problem.facts:
        if fact.is_used(resolution):
            yield fact
