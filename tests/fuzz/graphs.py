"""The complete engine against brute force, on as many random graphs as wanted.

A graph is that of `worlds.random_world`, half of which let projects need each other in circles, or, for every
third seed, of `worlds.policy_world`: pre-releases, yanked releases and components in plenty.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from resolver.resolve.complete import CompleteEngine, Unsatisfiable
from resolver.resolve.gather import gather
from resolver.resolve.universe import Universe
from tests.property.bruteforce import BruteForce
from tests.property.worlds import policy_world, random_world

_PROCESSES = 2
_CHUNK = 250
_EVERY = 10.0  # seconds between lines of progress if stderr is not a terminal


@dataclass
class Score:
    """How many graphs have a solution, how many have none, and what is wrong with the answer to which seed."""

    solved: int = 0
    refuted: int = 0
    wrong: dict[int, str] = field(default_factory=dict)

    def add(self, other: Score) -> None:
        """Count another's as well."""
        self.solved += other.solved
        self.refuted += other.refuted
        self.wrong |= other.wrong


def judge(seeds: Iterable[int]) -> Score:
    """Solve the graphs of these seeds and compare the results with brute force."""
    score = Score()
    for seed in seeds:
        world = random_world(seed) if seed % 3 else policy_world(seed)
        brute = BruteForce(world)
        engine = CompleteEngine(Universe(world.problem(), world.catalog()))
        try:
            found = gather(engine.clauses.universe, engine.solve(), engine="complete", rounds=engine.rounds)
        except Unsatisfiable:
            score.refuted += 1
            if brute.satisfiable():
                score.wrong[seed] = "no solution is found, and there is one"
            continue
        except Exception as error:
            score.wrong[seed] = repr(error)
            continue
        finally:
            engine.clauses.close()
        score.solved += 1
        pins = {pin.name: str(pin.version) for pin in found.pins}
        faults = brute.faults(pins, {pin.name: set(pin.extras) for pin in found.pins})
        if faults:
            score.wrong[seed] = "; ".join(faults)
    return score


def judge_many(count: int, first: int = 0) -> int:
    """Judge graphs in several processes and report progress. Returns 1 if a result is wrong."""
    seeds = range(first, first + count)
    chunks = [seeds[at : at + _CHUNK] for at in range(0, len(seeds), _CHUNK)]
    print(f"{len(seeds)} graphs, seeds {first} to {seeds.stop - 1}, {_PROCESSES} processes", flush=True)
    score, done, began, told = Score(), 0, time.monotonic(), 0.0
    with ProcessPoolExecutor(_PROCESSES) as pool:
        for chunk, part in zip(chunks, pool.map(judge, chunks), strict=True):
            score.add(part)
            done += len(chunk)
            for seed, why in part.wrong.items():
                print(f"seed {seed}: {why}\n  again: python -m tests.fuzz 1 --first {seed}", flush=True)
            spent = time.monotonic() - began
            if sys.stderr.isatty() or spent - told > _EVERY:
                told = spent
                end = "\r" if sys.stderr.isatty() else "\n"
                print(f"{done} of {len(seeds)}, {done / spent:.0f} a second", end=end, file=sys.stderr, flush=True)
    print(f"{score.solved} solved, {score.refuted} without a solution, {len(score.wrong)} wrong answers")
    return 1 if score.wrong else 0
