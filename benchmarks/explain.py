"""How long an explanation takes on a terminal: until the reason, until the first way out, until the end.

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
    """The seconds until each mark was on the terminal (absent if it never was) and until the end, and those of CPU."""
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
    except OSError:  # Linux says the end of a pseudo-terminal so
        return b""


def print_table(stack: str, rounds: int) -> None:
    """Run the rounds of one stack, and print its medians with the least and the greatest."""
    runs: dict[str, list[dict[str, float]]] = {"empty": [], "warm": [], "offline": []}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            for name, found in runs.items():
                found.append(run(stack, folder, *(["--offline"] if name == "offline" else [])))
    print(f"explain {Path(stack).stem}, {rounds} rounds, load {os.getloadavg()[0]:.1f}")
    print("| | empty | warm | offline |")
    print("|---|---|---|---|")
    for name in (*MARKS, "end", "CPU"):
        cells = [_cell([one[name] for one in found if name in one]) for found in runs.values()]
        print(f"| {name} | {' | '.join(cells)} |")


def _cell(values: list[float]) -> str:
    return (
        f"{statistics.median(values):.1f} ({min(values):.1f}..{max(values):.1f})"
        if values
        else "none"
    )


def main() -> None:
    """Print a table for each stack."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "stack", nargs="*", default=["trl-vllm-train", *map(str, sorted(STACKS.glob("*.toml")))]
    )
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    for stack in arguments.stack:
        print_table(stack, arguments.rounds)


if __name__ == "__main__":
    main()
