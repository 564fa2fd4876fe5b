"""The complete engine against brute force, on as many random graphs as wanted.

A graph is that of `worlds.random_world`, half of which let projects need each other in circles, or,
for every third seed, of `worlds.policy_world`: pre-releases, yanked releases and components in
plenty. Half of these are those of `worlds.extras_world`, with extras. The independent checks judge
each answer, too: one that they refuse is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from resolver.resolve.independent_check import check
from resolver.resolve.solver import prove
from resolver.resolve.universe import Universe
from tests.property.bruteforce import BruteForce
from tests.property.found import complete, extras, pins
from tests.property.worlds import World, extras_world, policy_world, random_world

_PROCESSES = 2
_CHUNK = 250


@dataclass
class Score:
    """The graphs with a solution and without one, and the wrong answers by seed."""

    solved: int = 0
    refuted: int = 0
    wrong: dict[int, str] = field(default_factory=dict)


def judge(seeds: Iterable[int]) -> Score:
    """Solve the graphs of these seeds and compare the results with brute force."""
    score = Score()
    for seed in seeds:
        world = _world(seed)
        try:
            faults = _faults(world, score)
        except Exception as error:
            score.wrong[seed] = repr(error)
            continue
        if faults:
            score.wrong[seed] = "; ".join(faults)
    return score


def _world(seed: int) -> World:
    """Return the world of a seed."""
    if seed % 3:
        return random_world(seed)
    return extras_world(seed) if seed % 2 else policy_world(seed)


def _faults(world: World, score: Score) -> list[str]:
    """Return what is wrong with the answer for a world, and count the answer."""
    brute, problem, catalog = BruteForce(world), world.problem(), world.catalog()
    found = complete(problem, catalog)
    if found is not None:
        score.solved += 1
        return brute.faults(pins(found), extras(found)) + check(problem, found, catalog)
    score.refuted += 1
    if brute.satisfiable():
        return ["no solution is found, and there is one"]
    prove(Universe(problem, catalog))  # raises UndecidedError if the refutation fails its check
    return []


def judge_many(count: int, first: int = 0) -> int:
    """Judge graphs in several processes; return 1 if a result is wrong."""
    seeds = range(first, first + count)
    print(f"{count} graphs, seeds {first} to {seeds.stop - 1}, {_PROCESSES} processes", flush=True)
    score = Score()
    with ProcessPoolExecutor(_PROCESSES) as pool:
        chunks = [seeds[start : start + _CHUNK] for start in range(0, count, _CHUNK)]
        for part in pool.map(judge, chunks):
            score.solved += part.solved
            score.refuted += part.refuted
            score.wrong |= part.wrong
            for seed, why in part.wrong.items():
                print(
                    f"seed {seed}: {why}\n  again: python -m tests.fuzz 1 --first {seed}",
                    flush=True,
                )
    print(
        f"{score.solved} solved, {score.refuted} without a solution, "
        f"{len(score.wrong)} wrong answers"
    )
    return 1 if score.wrong else 0
