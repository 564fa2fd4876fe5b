"""What a resolution promises, against brute force: that nothing could simply be newer."""

from __future__ import annotations

from hypothesis import event, given
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.model.requirement import Requirement
from resolver.model.resolution import Resolution
from resolver.resolve.solver import prove, solve
from resolver.resolve.universe import Universe
from tests.property.bruteforce import BruteForce, Pins
from tests.property.found import pins
from tests.property.worlds import World, worlds


def newer_alone(pins: Pins, other: Pins) -> bool:
    """Whether another solution has one project newer, and nothing else that these pins have not."""
    changed = [name for name in other if other[name] != pins.get(name)]
    return len(changed) == 1 and is_newer(pins, other, changed[0])


def newer_as_asked(pins: Pins, other: Pins, asked: set[str]) -> bool:
    """Whether something that the stack asks for is newer in another solution, and nothing of that older."""
    changed = [name for name in asked if other[name] != pins[name]]
    return bool(changed) and all(is_newer(pins, other, name) for name in changed)


def is_newer(pins: Pins, other: Pins, name: str) -> bool:
    return name in pins and Version(other[name]) > Version(pins[name])


def keeps_its_promise(world: World, answer: object) -> None:
    if not isinstance(answer, Resolution):
        return
    found = pins(answer)
    asks = [ask.need for ask in world.problem().stack.asks]
    asked = {canonicalize_name(need.name) for need in asks if isinstance(need, Requirement)}
    event(f"{len(asked)} asked for")
    for other in BruteForce(world).solutions():
        assert not newer_alone(found, other), (found, other)
        assert not newer_as_asked(found, other, asked), (found, other)


@given(worlds())
def test_nothing_could_simply_be_newer(world: World) -> None:
    keeps_its_promise(world, solve(world.problem(), world.catalog()))


@given(worlds(plain=True))
def test_nor_in_circles(world: World) -> None:
    keeps_its_promise(world, solve(world.problem(), world.catalog()))


@given(worlds(plain=True))
def test_nor_in_what_the_complete_engine_finds(world: World) -> None:
    keeps_its_promise(world, prove(Universe(world.problem(), world.catalog())))
