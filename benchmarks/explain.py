"""How long an explanation takes: the first core, three ways out, all; with an empty and a warm cache, and offline.

    .venv/bin/python benchmarks/explain.py [STACK] [--rounds N]

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


def child(stack: str, *, offline: bool) -> None:
    """One explanation, its times printed as JSON."""
    start = time.perf_counter()
    from contextlib import closing

    from resolver.catalog.live import LiveCatalog
    from resolver.catalog.store.cache import Cache, default_folder
    from resolver.explain import trial
    from resolver.explain.contradictions import contradiction
    from resolver.explain.explain import draft, lettered
    from resolver.explain.smallest import smallest
    from resolver.matrix.compile import compile_problems
    from resolver.matrix.load import load
    from resolver.model.resolution import Resolution
    from resolver.solve.solver import decide
    from resolver.solve.universe import Universe

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
    """Print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("stack", nargs="?", default="trl-vllm-train")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child", action="store_true")
    parser.add_argument("--offline", action="store_true")
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.stack, offline=arguments.offline)
        return
    rows: dict[str, list[dict[str, float]]] = {"empty": [], "warm": [], "offline": []}
    for _ in range(arguments.rounds):
        with tempfile.TemporaryDirectory() as cache:
            rows["empty"].append(run(arguments.stack, cache))
            rows["warm"].append(run(arguments.stack, cache))
            rows["offline"].append(run(arguments.stack, cache, "--offline"))
    title = f"explain {arguments.stack}, {arguments.rounds} rounds, load {os.getloadavg()[0]:.1f}"
    print(f"{title}; wall s, median (min..max)")
    print("| cache | start | first core | three ways out | all |")
    print("|---|---|---|---|---|")
    for name, found in rows.items():
        cells = []
        for key in ("start", "core", "three", "all"):
            values = [row[key] for row in found if row[key] is not None]
            told = f"{statistics.median(values):.2f} ({min(values):.2f}..{max(values):.2f})" if values else "none"
            cells.append(told)
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
