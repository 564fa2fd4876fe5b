"""The complete engine against brute force, on as many random graphs as wanted.

A graph is that of `worlds.random_world`, half of which let projects need each other in circles, or,
for every third seed, of `worlds.policy_world`: pre-releases, yanked releases and components in
plenty.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from tests.property.bruteforce import BruteForce
from tests.property.found import complete, extras, pins
from tests.property.worlds import policy_world, random_world

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
        world = random_world(seed) if seed % 3 else policy_world(seed)
        brute = BruteForce(world)
        try:
            found = complete(world.problem(), world.catalog())
        except Exception as error:
            score.wrong[seed] = repr(error)
            continue
        if found is None:
            score.refuted += 1
            faults = ["no solution is found, and there is one"] if brute.satisfiable() else []
        else:
            score.solved += 1
            faults = brute.faults(pins(found), extras(found))
        if faults:
            score.wrong[seed] = "; ".join(faults)
    return score


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
