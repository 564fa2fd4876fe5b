"""Fuzzing by hand.

    make fuzz                            the complete engine against brute force, 100,000 graphs
    make fuzz N=5000                     fewer
    make fuzz MINUTES=20                 some graphs, then every reader of foreign bytes
    make fuzz MINUTES=5 TARGET=page      one of the readers
    python -m tests.fuzz 1 --first 42    the graph of seed 42 alone

An input that breaks a reader is made small and written to build/fuzz/<target>/. Commit it to
tests/fuzz/corpus/<target>/, which every run and tests/property/test_fuzz.py judge first. The exit
status is 1 if an answer is wrong.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path

from tests.fuzz import graphs
from tests.fuzz.hunt import Score, hunt
from tests.fuzz.targets import TARGETS, by_name

FOUND = Path("build/fuzz")
_PROCESSES = 2
_MEMORY = 2 << 30  # bytes that a process may take: more is a defect
_GRAPHS = 500  # a minute


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("count", type=int, nargs="?", default=100_000, help="how many graphs")
    parser.add_argument(
        "--first", type=int, default=0, metavar="SEED", help="the first graph's seed"
    )
    parser.add_argument("--minutes", type=float, help="fuzz all readers for so long instead")
    parser.add_argument(
        "--target", choices=[target.name for target in TARGETS], help="only this reader"
    )
    parser.add_argument(
        "--seed", type=int, help="of the mutations (default: another one each time)"
    )
    options = parser.parse_args(arguments)
    if options.minutes is None:
        return graphs.judge_many(options.count, options.first)
    seed = options.seed if options.seed is not None else int.from_bytes(os.urandom(4), "big")
    if options.target is not None:
        return _read_all([options.target], options.minutes, seed)
    engine = graphs.judge_many(int(_GRAPHS * options.minutes), seed)
    return _read_all([target.name for target in TARGETS], options.minutes, seed) or engine


def _read_all(names: Sequence[str], minutes: float, seed: int) -> int:
    """Hunt each target for its share of the time; return 1 if an input broke one."""
    share = 60 * minutes * min(_PROCESSES, len(names)) / len(names)
    print(
        f"{len(names)} readers for {minutes:g} minutes, {_PROCESSES} processes, seed {seed}",
        flush=True,
    )
    broken = 0
    with ProcessPoolExecutor(_PROCESSES, initializer=_limit_memory) as pool:
        for score in pool.map(_hunted, names, repeat(seed), repeat(share)):
            print(
                f"{score.target:<15} {score.inputs:>9} inputs, {score.refused:>9} refused, "
                f"{len(score.found)} broke it"
            )
            broken += len(score.found)
            for wrong, content in score.found.items():
                path = FOUND / score.target / f"found-{hashlib.sha256(content).hexdigest()[:12]}"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
                print(f"{wrong}: {path}", flush=True)
    return 1 if broken else 0


def _hunted(name: str, seed: int, seconds: float) -> Score:
    return hunt(by_name(name), seed=seed, seconds=seconds)


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, resource.RLIM_INFINITY))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
