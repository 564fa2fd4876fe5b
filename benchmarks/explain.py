"""How long an explanation takes on a terminal: until the reason, the first way out, and the end.

    .venv/bin/python benchmarks/explain.py [STACK ...] [--rounds N]

Without a stack: `trl-vllm-train`, and those of benchmarks/stacks, in which newer releases fail for
several reasons.

Each run is a process of its own on a pseudo-terminal, as a user starts it; wall seconds count from
its start. A round is a run with an empty cache, one that asks the indexes again, and one with
`--offline`. The last line is CPU seconds.
"""

from __future__ import annotations

import argparse
import os
import pty
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

STACKS: Final = Path(__file__).with_name("stacks")
COMMAND: Final = Path(sys.executable).with_name("ascend-lock")
MARKS: Final = {"reason": b"Why", "first way out": b"looking for more ways out"}


def run(stack: str, folder: str, *options: str) -> dict[str, float]:
    """Explain a stack; return the seconds until each mark was on the terminal.

    A mark that never was is absent. `end` and `CPU` are the seconds until the end, and of CPU.
    """
    began = time.perf_counter()
    process, terminal = pty.fork()
    if not process:
        os.environ["ASCEND_LOCK_CACHE"] = folder
        os.execv(COMMAND, [COMMAND.name, "explain", stack, "--locks", f"{folder}/locks", *options])
    seconds: dict[str, float] = {}
    screen = b""
    while read := _read(terminal):
        screen += read
        for name, mark in MARKS.items():
            if mark in screen:
                seconds.setdefault(name, time.perf_counter() - began)
    _, status, usage = os.wait4(process, 0)
    if os.waitstatus_to_exitcode(status) not in (1, 3):
        sys.exit(f"{stack} {' '.join(options)} was not explained:\n{screen.decode()}")
    return seconds | {"end": time.perf_counter() - began, "CPU": usage.ru_utime + usage.ru_stime}


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        # Linux reports the end of a pseudo-terminal as an error.
        return b""


def print_table(stack: str, rounds: int) -> None:
    """Run the rounds of a stack, and print the medians with the least and the greatest."""
    runs: dict[str, list[dict[str, float]]] = {"empty": [], "warm": [], "offline": []}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            runs["empty"].append(run(stack, folder))
            runs["warm"].append(run(stack, folder))
            runs["offline"].append(run(stack, folder, "--offline"))
    print(f"explain {Path(stack).stem}, {rounds} rounds, load {os.getloadavg()[0]:.1f}")
    print("| | empty | warm | offline |")
    print("|---|---|---|---|")
    for name in (*MARKS, "end", "CPU"):
        cells = [_cell(name, case_runs) for case_runs in runs.values()]
        print(f"| {name} | {' | '.join(cells)} |")


def _cell(name: str, runs: list[dict[str, float]]) -> str:
    """Return the median of a figure in runs, with the least and the greatest."""
    values = [seconds[name] for seconds in runs if name in seconds]
    if not values:
        return "none"
    return f"{statistics.median(values):.1f} ({min(values):.1f}..{max(values):.1f})"


def main() -> None:
    """Print a table for each stack."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    stacks = ["trl-vllm-train", *map(str, sorted(STACKS.glob("*.toml")))]
    parser.add_argument("stack", nargs="*", default=stacks)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    for stack in arguments.stack:
        print_table(stack, arguments.rounds)


if __name__ == "__main__":
    main()
