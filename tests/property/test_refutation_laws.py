"""The check of refutations passes each true one and no false one.

That holds whatever the masks of the engine say.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

import pytest
from packaging.specifiers import Specifier

from resolver.errors import UndecidedError
from resolver.model.resolution import Resolution
from resolver.resolve.project import OrderedReleases
from resolver.resolve.solver import prove
from resolver.resolve.universe import Universe
from tests.property.bruteforce import BruteForce
from tests.property.worlds import World, extras_world, machine_world, policy_world, random_world

_WORLDS = (random_world, policy_world, extras_world, machine_world)
_SEEDS = 250


@pytest.mark.parametrize("world_of", _WORLDS)
def test_check_passes_true_refutations(world_of: Callable[[int], World]) -> None:
    refuted = 0
    for seed in range(_SEEDS):
        world = world_of(seed)
        answer = prove(
            Universe(world.problem(), world.catalog())
        )  # raises UndecidedError if the check fails
        refuted += not isinstance(answer, Resolution)
    assert refuted > _SEEDS // 20


@pytest.mark.parametrize("world_of", _WORLDS)
@pytest.mark.parametrize("salt", range(3))
def test_check_catches_false_refutations(
    world_of: Callable[[int], World], salt: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Give the engine masks that lack a release here and there.

    They are like masks of a comparison that is not monotone, which bisection relies on.
    """
    true_mask = OrderedReleases._mask_of

    def broken_mask(self: OrderedReleases, specifier: Specifier) -> int:
        mask = true_mask(self, specifier)
        number = zlib.crc32(f"{salt} {specifier} {self.versions}".encode())
        lost = number // 2 % max(1, len(self.versions))
        return mask & ~(1 << lost) if number % 2 else mask

    monkeypatch.setattr(OrderedReleases, "_mask_of", broken_mask)
    caught = 0
    for seed in range(_SEEDS):
        world = world_of(seed)
        is_satisfiable = BruteForce(world).satisfiable()
        try:
            answer = prove(Universe(world.problem(), world.catalog()))
        except UndecidedError:
            caught += is_satisfiable
            continue
        assert isinstance(answer, Resolution) or not is_satisfiable, seed
    assert caught > 0
