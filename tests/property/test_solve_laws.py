"""Laws of solving, on random worlds, against brute force."""

from __future__ import annotations

from hypothesis import event, given

from resolver.model.conflict import Conflict
from resolver.model.resolution import Resolution
from resolver.solve.solver import solve
from tests.property.bruteforce import BruteForce
from tests.property.worlds import World, worlds


def answer(world: World, *, backwards: bool = False) -> Resolution | Conflict:
    return solve(world.problem(), world.catalog(backwards=backwards))


def pins(resolution: Resolution) -> dict[str, str]:
    return {pin.name: pin.release.file.filename.split("-")[1] for pin in resolution.pins}


def extras(resolution: Resolution) -> dict[str, set[str]]:
    return {pin.name: set(pin.extras) for pin in resolution.pins}


def holds(world: World) -> None:
    """The law: a resolution is valid and has nothing superfluous in it, and "no solution" is true."""
    solved = answer(world)
    brute = BruteForce(world)
    if isinstance(solved, Resolution):
        event(solved.engine)
        assert brute.faults(pins(solved), extras(solved)) == []
    else:
        event("conflict")
        assert next(brute.solutions(), None) is None


@given(worlds())
def test_a_resolution_is_valid_and_no_solution_is_true(world: World) -> None:
    holds(world)


@given(worlds(prereleases=True))
def test_it_is_so_with_prereleases_and_yanked_releases(world: World) -> None:
    holds(world)
