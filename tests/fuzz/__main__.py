"""Fuzzing by hand.

    make fuzz                            the complete engine against brute force, 100,000 graphs
    make fuzz N=5000                     fewer
    make fuzz MINUTES=20                 every reader of foreign bytes, and the engine, in turns for so long
    make fuzz MINUTES=5 TARGET=page      one of them
    python -m tests.fuzz 1 --first 42    the graph of seed 42 alone
    python -m tests.fuzz --input FILE    one input again, its folder or --target says for which reader

What breaks a reader is made small and written to build/fuzz/<target>/; with its cause mended it goes to
tests/fuzz/corpus/<target>/, which every run judges first. Exit status 1 where an answer is wrong.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.fuzz import graphs
from tests.fuzz.hunt import Score, hunt, verdict
from tests.fuzz.targets import TARGETS, by_name

FOUND = Path("build/fuzz")
_PROCESSES = 2
_TURN = 20.0  # seconds that a target has before the next one's turn
_MEMORY = 2 << 30  # bytes that a process may take: more is a defect
_GRAPHS = 500


def main(arguments: Sequence[str]) -> int:
    """Judge what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("count", type=int, nargs="?", default=100_000, help="how many graphs")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="the first graph's seed")
    parser.add_argument("--minutes", type=float, help="fuzz all readers for so long instead")
    parser.add_argument("--target", choices=[target.name for target in TARGETS], help="only this reader")
    parser.add_argument("--seed", type=int, help="of the mutations (default: another one each time)")
    parser.add_argument("--input", type=Path, metavar="FILE", help="judge this input alone")
    options = parser.parse_args(arguments)
    if options.input is not None:
        target = by_name(options.target or options.input.resolve().parent.name)
        refused, wrong = verdict(target, options.input.read_bytes())
        print(wrong or ("refused" if refused else "read"))
        return 1 if wrong else 0
    if options.minutes is None:
        return graphs.judge_many(options.count, options.first)
    seed = options.seed if options.seed is not None else int.from_bytes(os.urandom(4), "big")
    return _in_turns([options.target] if options.target else [one.name for one in TARGETS], options.minutes, seed)


def _in_turns(names: Sequence[str], minutes: float, seed: int) -> int:
    """Every target for a turn, and again, until the time is over; graphs between two rounds."""
    end = time.monotonic() + 60 * minutes
    turn = min(_TURN, 60 * minutes * _PROCESSES / len(names))
    print(f"{len(names)} readers for {minutes:g} minutes, {_PROCESSES} processes, seed {seed}", flush=True)
    total: dict[str, Score] = {name: Score(name) for name in names}
    wrong_graphs = 0
    with ProcessPoolExecutor(_PROCESSES, initializer=_limit_memory) as pool:
        turns = 0
        while time.monotonic() < end:
            for score in pool.map(_one_turn, names, [seed + turns] * len(names), [turn] * len(names)):
                _add(total[score.target], score)
            if len(names) == len(TARGETS):
                judged = graphs.judge(range(seed + turns * _GRAPHS, seed + (turns + 1) * _GRAPHS))
                for number, why in judged.wrong.items():
                    wrong_graphs += 1
                    print(f"graph {number}: {why}\n  again: python -m tests.fuzz 1 --first {number}", flush=True)
            turns += 1
    for score in total.values():
        print(f"{score.target:<15} {score.inputs:>9} inputs, {score.refused:>9} refused, {len(score.found)} broke it")
    inputs = sum(score.inputs for score in total.values())
    broken = sum(len(score.found) for score in total.values()) + wrong_graphs
    print(f"{inputs} inputs, {turns * _GRAPHS if len(names) == len(TARGETS) else 0} graphs, {broken} defects")
    return 1 if broken else 0


def _one_turn(name: str, seed: int, seconds: float) -> Score:
    return hunt(by_name(name), seed=seed, seconds=seconds)


def _add(total: Score, score: Score) -> None:
    total.inputs += score.inputs
    total.refused += score.refused
    for wrong, content in score.found.items():
        if wrong in total.found:
            continue
        total.found[wrong] = content
        path = FOUND / score.target / f"found-{hashlib.sha256(content).hexdigest()[:12]}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        print(f"{score.target}: {wrong}\n  again: python -m tests.fuzz --input {path}", flush=True)


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, resource.RLIM_INFINITY))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
