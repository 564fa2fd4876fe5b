"""Laws of solving, on random worlds, against brute force."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.model.constraint import StackLine
from resolver.model.reason import Reason
from resolver.model.requirement import Requirement
from resolver.model.resolution import Resolution
from resolver.resolve import solver
from resolver.resolve.refutation import Refutation
from resolver.resolve.solver import prove, solve
from resolver.resolve.universe import Universe
from tests.fuzz.graphs import judge
from tests.problems import put_last
from tests.property.bruteforce import BruteForce, Pins
from tests.property.found import complete, extras, pins
from tests.property.worlds import Version as Release
from tests.property.worlds import World, worlds


def answer(world: World, *, backwards: bool = False) -> Resolution | Refutation:
    return solve(world.problem(), world.catalog(backwards=backwards))


def _shown(reason: Reason) -> str:
    """What a report shows of a reason."""
    return repr((reason.constraint, reason.versions, reason.where, reason.evidence))


def told(answer: Resolution | Refutation) -> object:
    """Return an answer as data, with each text that a lock or a report would show."""
    if isinstance(answer, Refutation):
        return ["conflict", *map(_shown, answer.reasons)]
    return [
        *(
            [pin.release.file.filename, pin.extras, pin.needs, [str(one) for one in pin.because]]
            for pin in answer.pins
        ),
    ]


# --- a resolution is valid, and "no solution" is true


def holds(world: World) -> Resolution | Refutation:
    """Check what is solved, and what the complete engine finds by itself; return the solution."""
    solved, proved, brute = (
        answer(world),
        complete(world.problem(), world.catalog()),
        BruteForce(world),
    )
    event("solution" if isinstance(solved, Resolution) else "conflict")
    for found in (solved, proved):
        if isinstance(found, Resolution):
            assert brute.faults(pins(found), extras(found)) == []
        else:
            assert next(brute.solutions(), None) is None
    return solved


# --- graphs of a seed, and those that resolvelib is known to get wrong

_CYCLIC = Path(__file__).resolve().parents[1] / "recorded" / "cyclic.json"
_KNOWN = 106
_GRAPHS = 500


@pytest.mark.parametrize("first", [0, _GRAPHS, 2 * _GRAPHS])
def test_complete_engine_agrees_with_brute_force(first: int) -> None:
    """`make fuzz` does the same with many more."""
    score = judge(range(first, first + _GRAPHS))
    assert score.wrong == {}
    assert min(score.solved, score.refuted) > _GRAPHS // 10


def test_solve_is_right_where_resolvelib_is_wrong() -> None:
    """By an invalid result, a false "impossible", or without an end; all of them have circles."""
    known = json.loads(_CYCLIC.read_text(encoding="utf-8"))
    assert len(known) == _KNOWN
    for name, row in known.items():
        projects = {
            project: {version: Release(tuple(requires)) for version, requires in versions.items()}
            for project, versions in row["projects"].items()
        }
        world = World(projects=projects, asks=tuple(row["asks"]))
        brute = BruteForce(world)
        assert brute.satisfiable() == row["satisfiable"], name
        for found in (
            solve(world.problem(), world.catalog()),
            complete(world.problem(), world.catalog()),
        ):
            assert isinstance(found, Resolution) == row["satisfiable"], name
            assert not isinstance(found, Resolution) or brute.faults(pins(found)) == [], name


@given(worlds())
def test_conflict_names_unsatisfiable_lines_of_the_stack(
    world: World,
) -> None:
    solved = answer(world)
    assume(isinstance(solved, Refutation))
    assert isinstance(solved, Refutation)
    named = [
        reason.constraint.text
        for reason in solved.reasons
        if isinstance(reason.constraint, StackLine)
    ]
    assert named
    assert not BruteForce(world.asking(*named)).satisfiable()


# --- the same again


@given(worlds(prereleases=True, easy=True))
def test_solve_with_the_previous_lock_changes_nothing(world: World) -> None:
    first = answer(world)
    assume(isinstance(first, Resolution))
    assert isinstance(first, Resolution)
    preferred = {pin.name: pin.version for pin in first.pins}
    again = solve(world.problem(), world.catalog(), preferred=preferred)
    assert isinstance(again, Resolution)
    assert pins(again) == pins(first)
    assert extras(again) == extras(first)


def test_solve_does_not_depend_on_the_hash_seed() -> None:
    script = (
        "from tests.property.test_resolve_laws import answer, told\n"
        "from tests.property.worlds import random_world\n"
        "print([told(answer(random_world(seed))) for seed in range(100)])"
    )
    root = Path(__file__).parents[2]
    answers = set()
    for seed in ("0", "1"):
        environ = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)}
        run = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, check=True, cwd=root, env=environ
        )
        answers.add(run.stdout)
    (found,) = answers
    assert b"conflict" in found


# --- nothing could simply be newer


def newer_alone(pins: Pins, other: Pins) -> bool:
    """Whether another solution has one project newer, and nothing else that these pins have not."""
    changed = [name for name in other if other[name] != pins.get(name)]
    return len(changed) == 1 and is_newer(pins, other, changed[0])


def newer_as_asked(pins: Pins, other: Pins, asked: set[str]) -> bool:
    """Return whether another solution has something newer that the stack asks for.

    Nothing that the stack asks for may be older in it.
    """
    changed = [name for name in asked if other[name] != pins[name]]
    return bool(changed) and all(is_newer(pins, other, name) for name in changed)


def is_newer(pins: Pins, other: Pins, name: str) -> bool:
    return name in pins and Version(other[name]) > Version(pins[name])


def keeps_its_promise(world: World, found: object) -> None:
    if not isinstance(found, Resolution):
        return
    taken = pins(found)
    asks = [ask.need for ask in world.problem().stack.requirements]
    asked = {canonicalize_name(need.name) for need in asks if isinstance(need, Requirement)}
    event(f"{len(asked)} asked for")
    for other in BruteForce(world).solutions():
        assert not newer_alone(taken, other), (taken, other)
        assert not newer_as_asked(taken, other, asked), (taken, other)


# --- all of that, in three kinds of worlds


@given(worlds())
def test_search_finds_only_possible_solutions(world: World) -> None:
    """What the search finds by itself is possible.

    Not the reverse: resolvelib's "impossible" is wrong at times.
    """
    keeps_its_promise(world, holds(world))
    universe = Universe(world.problem(), world.catalog())
    if solver.search(universe) is not None:
        assert complete(world.problem(), world.catalog()) is not None


@given(worlds(prereleases=True))
def test_solve_with_prereleases_and_yanked_releases(world: World) -> None:
    """The order in which an index lists things does not matter."""
    assert told(holds(world)) == told(answer(world, backwards=True))


@given(worlds(bounds=True, prereleases=True))
def test_solve_with_bounds(world: World) -> None:
    holds(world)


@given(worlds(plain=True))
def test_solve_with_cyclic_requirements(world: World) -> None:
    keeps_its_promise(world, holds(world))
    keeps_its_promise(world, prove(Universe(world.problem(), world.catalog())))


# --- newest first, but for posts that facts put last

_POSTS = ("1", "1.post1", "1.post2", "1.post3", "2rc1", "2rc1.post1", "2", "2.post1", "2.post2")


@st.composite
def posts(draw: st.DrawFn) -> tuple[World, dict[str, int]]:
    """Return a world of a project without needs, and how far facts put each release back."""
    versions = draw(st.lists(st.sampled_from(_POSTS), min_size=1, unique=True))
    levels = {version: draw(st.integers(0, 2)) for version in versions}
    rows = tuple(put_last("p", version, level) for version, level in levels.items() if level)
    return World(
        projects={"p": {one: Release() for one in versions}}, asks=("p",), facts=rows
    ), levels


@given(posts())
def test_post_releases_put_last_by_facts_are_taken_last(
    drawn: tuple[World, dict[str, int]],
) -> None:
    world, levels = drawn
    versions = sorted(map(Version, levels))
    usable = [version for version in versions if not version.is_prerelease] or versions
    newest = usable[-1]
    same = [one for one in usable if (one.release, one.pre) == (newest.release, newest.pre)]
    lowest = min(levels[str(one)] for one in same)
    wanted = {"p": str(max(one for one in same if levels[str(one)] == lowest))}
    solved, proved = answer(world), complete(world.problem(), world.catalog())
    assert isinstance(solved, Resolution)
    assert proved is not None
    assert pins(solved) == pins(proved) == wanted
    again = solve(
        world.problem(), world.catalog(), preferred={pin.name: pin.version for pin in solved.pins}
    )
    assert isinstance(again, Resolution)
    assert pins(again) == wanted


@given(worlds(prereleases=True, bounds=True), st.data())
def test_as_of_makes_nothing_impossible(world: World, data: st.DataObject) -> None:
    """Nor invalid, nor different when locked again on top of the lock before."""
    uploaded = {
        (name, version): f"2026-01-{data.draw(st.integers(10, 20), label='day')}T12:00:00Z"
        for name, versions in world.projects.items()
        for version in versions
    }
    problem, brute = world.problem(), BruteForce(world)
    problem = msgspec.structs.replace(
        problem, policy=msgspec.structs.replace(problem.policy, as_of="2026-01-15")
    )
    found = solve(problem, world.catalog(uploaded=uploaded))
    if not isinstance(found, Resolution):
        assert not brute.satisfiable()
        return
    assert brute.faults(pins(found), extras(found)) == []
    before = {pin.name: pin.version for pin in found.pins}
    again = solve(problem, world.catalog(uploaded=uploaded), preferred=before)
    assert isinstance(again, Resolution)
    assert pins(again) == pins(found)


@given(worlds(prereleases=True), st.data())
def test_releases_put_last_make_nothing_impossible(world: World, data: st.DataObject) -> None:
    releases = sorted(
        (name, version) for name, known in world.projects.items() for version in known
    )
    late = data.draw(st.lists(st.sampled_from(releases), unique=True)) if releases else []
    holds(
        replace(
            world, facts=(*world.facts, *(put_last(name, version, 1) for name, version in late))
        )
    )
