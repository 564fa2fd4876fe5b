"""The incremental resolution decides as resolvelib's own, with the same provider."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from hypothesis import event, given
from resolvelib.resolvers import ResolutionImpossible, ResolutionTooDeep
from resolvelib.resolvers.resolution import Resolution

from resolver.model.dependency import Candidate, Edge, Package
from resolver.resolve.incremental import IncrementalResolution
from resolver.resolve.prefetch import Prefetch
from resolver.resolve.provider import Provider, Reporter
from resolver.resolve.universe import Universe
from tests.datacatalog import DataCatalog
from tests.problems import problem
from tests.property.worlds import World, worlds

Decisions = tuple[list[str], dict[str, str] | None]
ROUNDS = 300


class Noting(Reporter):
    """Notes each decision, each candidate that is given up, and each conflict."""

    def __init__(self, provider: Provider) -> None:
        super().__init__(provider)
        self.noted: list[str] = []

    def pinning(self, candidate: Candidate) -> None:
        super().pinning(candidate)
        self.noted.append(f"take {candidate}")

    def rejecting_candidate(self, criterion: Any, candidate: Candidate) -> None:
        super().rejecting_candidate(criterion, candidate)
        self.noted.append(f"not {candidate}")

    def resolving_conflicts(self, causes: Any) -> None:
        super().resolving_conflicts(causes)
        self.noted.append("conflict")


def decided(kind: type[Resolution[Edge, Candidate, Package]], universe: Universe) -> Decisions:
    provider = Provider(universe, Prefetch(universe))
    reporter = Noting(provider)
    provider.resolution = kind(provider, reporter)
    try:
        mapping = provider.resolution.resolve(universe.roots(), max_rounds=ROUNDS).mapping
    except (ResolutionImpossible, ResolutionTooDeep):
        return reporter.noted, None
    return reporter.noted, {str(package): str(candidate) for package, candidate in mapping.items()}


def agree(world: World) -> None:
    plain, ours = (
        decided(kind, Universe(world.problem(), world.catalog())) for kind in (Resolution, IncrementalResolution)
    )
    event("dead end" if ours[1] is None else "found")
    assert ours == plain


@given(worlds())
def test_it_decides_as_resolvelib_does(world: World) -> None:
    agree(world)


@given(worlds(plain=True))
def test_it_does_so_in_circles(world: World) -> None:
    agree(world)


def far_back() -> Iterator[tuple[int, Any, DataCatalog]]:
    """Graphs without circles, of which one in twenty has no solution and some take a hundred rounds."""
    for seed in range(60):
        random = Random(seed)
        names = [f"p{number}" for number in range(random.randrange(5, 40))]
        newest = random.randrange(2, 15)

        def needs(at: int, random: Random = random, names: list[str] = names, newest: int = newest) -> list[str]:
            others = names[at + 1 :]
            some = random.sample(others, min(len(others), random.randrange(5)))
            return [f"{one}{random.choice(['>=', '<', '<=', '=='])}{random.randint(1, newest)}" for one in some]

        catalog = DataCatalog(
            {name: {str(version): needs(at) for version in range(1, newest + 1)} for at, name in enumerate(names)}
        )
        yield seed, problem(*random.sample(names, 3)), catalog


def test_it_does_so_where_it_has_to_go_back_often() -> None:
    conflicts = []
    for seed, stack, catalog in far_back():
        plain, ours = (decided(kind, Universe(stack, catalog)) for kind in (Resolution, IncrementalResolution))
        assert ours == plain, seed
        conflicts.append(ours[0].count("conflict"))
    assert max(conflicts) > 20
