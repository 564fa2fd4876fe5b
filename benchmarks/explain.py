"""How long an explanation takes: the first core, the first way out, three, all; with an empty and a warm cache.

    .venv/bin/python benchmarks/explain.py [STACK ...] [--rounds N]

Without a stack: `trl-vllm-train`, and those of benchmarks/stacks, in which newer releases fail for several reasons.

Each round is a process of its own. Times are wall seconds since the process
knew its stack: imports and reading the matrices come before (they are told apart).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
STACKS = Path(__file__).with_name("stacks")


def child(stack: str, *, offline: bool) -> None:
    """One explanation, its times printed as JSON."""
    start = time.perf_counter()
    from contextlib import closing

    from resolver.explain.cores import smallest

    from resolver.config.compile import compile_problems
    from resolver.config.load import load
    from resolver.explain import trial
    from resolver.explain.contradictions import contradiction
    from resolver.explain.explain import draft, lettered
    from resolver.index.live import LiveCatalog
    from resolver.index.store.cache import Cache, default_folder
    from resolver.model.resolution import Resolution
    from resolver.resolve.solver import decide
    from resolver.resolve.universe import Universe

    inputs = load(stack, REPOSITORY / "matrices")
    problem = compile_problems(inputs)[0]
    began = time.perf_counter()
    locked: list[float] = []
    lock = trial.Trials.lock

    def timed(self: trial.Trials, text: str, **how: bool) -> object:
        answer = lock(self, text, **how)
        if isinstance(answer, Resolution):
            locked.append(time.perf_counter() - began)
        return answer

    trial.Trials.lock = timed  # type: ignore[method-assign,assignment]
    cache = Cache(default_folder(), str)
    platform = problem.target.platform
    with closing(LiveCatalog(problem.indexes, platform, cache, offline=offline, warn=str)) as catalog:
        answer = decide(Universe(problem, catalog))
        assert not isinstance(answer, Resolution)
        contradiction(answer.engine.clauses, smallest(answer.engine.clauses, answer.core))
        core = time.perf_counter() - began
        explanation = lettered(draft(answer, inputs, trial.Clock(60)))
        whole = time.perf_counter() - began
    print(
        json.dumps(
            {
                "start": began - start,
                "core": core,
                "first": locked[0] if locked else None,
                "three": locked[2] if len(locked) > 2 else None,
                "all": whole,
                "fixes": len(explanation.fixes),
            }
        )
    )


def run(stack: str, cache: str, *how: str) -> dict[str, float]:
    """A round in a process of its own."""
    environment = {**os.environ, "XDG_CACHE_HOME": cache, "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, __file__, stack, "--child", *how]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True)
    if answer.returncode:
        sys.exit(f"{' '.join(command)} ended with {answer.returncode}:\n{answer.stderr}")
    found: dict[str, float] = json.loads(answer.stdout)
    return found


def main() -> None:
    """Print a table for each stack."""
    parser = argparse.ArgumentParser()
    parser.add_argument("stack", nargs="*", default=["trl-vllm-train", *map(str, sorted(STACKS.glob("*.toml")))])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", action="store_true")
    parser.add_argument("--offline", action="store_true")
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.stack[0], offline=arguments.offline)
        return
    for stack in arguments.stack:
        table(stack, arguments.rounds)


def table(stack: str, rounds: int) -> None:
    """The times of one stack."""
    rows: dict[str, list[dict[str, float]]] = {"empty": [], "warm": [], "offline": []}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as cache:
            rows["empty"].append(run(stack, cache))
            rows["warm"].append(run(stack, cache))
            rows["offline"].append(run(stack, cache, "--offline"))
    title = f"explain {Path(stack).stem}, {rounds} rounds, load {os.getloadavg()[0]:.1f}"
    print(f"{title}; wall s, median (min..max)")
    print("| cache | start | first core | first way out | three | all |")
    print("|---|---|---|---|---|---|")
    for name, found in rows.items():
        cells = []
        for key in ("start", "core", "first", "three", "all"):
            values = [row[key] for row in found if row[key] is not None]
            told = f"{statistics.median(values):.2f} ({min(values):.2f}..{max(values):.2f})" if values else "none"
            cells.append(told)
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
