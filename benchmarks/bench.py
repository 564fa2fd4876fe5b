"""ascend-lock beside uv, pip-tools and pip on the same requirements: wall time, CPU, peak memory, and the pins.

    .venv/bin/python benchmarks/bench.py [--rounds 5] [--only CASE] [--set NAME]

Runs alternate (ours, uv, ours, uv, ...), after a warm-up of both that does not count, so that
whatever slows the machine or the mirror down slows both. Each ratio is that of a pair of
neighbours. See README.md for what makes the sets equal. Figures go to results.json, and from there
to RESULTS.md; what was not measured this time stays.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import tomli
from packaging.requirements import InvalidRequirement, Requirement
from results import write
from sides import (
    HERE,
    PROJECT,
    Case,
    Failed,
    Ours,
    Pins,
    Pip,
    PipTools,
    Run,
    Set,
    Side,
    Uv,
    environment,
    install_pip_tools,
    measure,
    native_set,
)

Row = dict[str, Any]

SWAP = ("accelerate==1.2.0", "accelerate==1.3.0")
SETS = (
    Set(
        "flagship",
        "verl-qwen3.5 as it ships, with vllm's empty build; uv is told vllm's requirements",
        HERE / "sets/flagship",
        PROJECT / "matrices",
        "verl-qwen3.5",
        SWAP,
        target="linux-aarch64-py311-cann8.5.0-a2",  # uv locks for one
    ),
    Set(
        "plain",
        "verl-qwen3.5 without vllm; no fact but what uv is told, too",
        HERE / "sets/plain",
        HERE / "sets/plain/matrices",
        "plain",
        SWAP,
    ),
)

EMPTY = Case("empty", "a new cache folder for each run", cold=True, wall=0.6, peak=1.0)
SECOND = Case(
    "second", "warm cache, every page revalidated, no lock from before", wall=0.2, peak=1.0
)
OFFLINE = Case(
    "offline", "warm cache, --offline, no lock from before", offline=True, wall=2.0, peak=1.0
)
CASES = (
    EMPTY,
    Case(
        "clone",
        "like empty, but with the lock (uv: the output) of before, as after a clone",
        cold=True,
        keep=True,
    ),
    SECOND,
    replace(
        SECOND,
        name="second-anew",
        what="like second; ours solves although the answer is remembered",
        anew=True,
        wall=None,
    ),
    OFFLINE,
    replace(
        OFFLINE,
        name="offline-anew",
        what="like offline; ours solves although it is remembered",
        anew=True,
        wall=5.0,
    ),
    Case("again", "like second, but with the lock (uv: the output) of the run before", keep=True),
    Case(
        "unchanged",
        "nothing changed: `ascend-lock check`; uv with --offline",
        keep=True,
        check=True,
    ),
    Case(
        "changed",
        f"like again, but with `{SWAP[1]}` where `{SWAP[0]}` was",
        keep=True,
        changed=True,
    ),
)
ALL = Case("all", "`lock all`, every page revalidated, beside the sum of `lock STACK` for each")
NATIVE = Case(
    "native", "on this machine's own platform: pip-tools, pip and uv, with a warm cache", keep=False
)


def show(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def check_equal(which: Set) -> None:
    """All sides must be asked for the same."""
    stack = tomli.loads(which.stack_file.read_text("utf-8"))
    ours = {str(Requirement(line)) for line in stack["stack"]["requires"] if _is_requirement(line)}
    rows = (which.folder / "requirements.in").read_text("utf-8").splitlines()
    theirs = {str(Requirement(row)) for row in rows if row and not row.startswith("#")}
    if ours != theirs:
        raise SystemExit(
            f"set {which.name}: the stack and requirements.in differ in {sorted(ours ^ theirs)}"
        )


def _is_requirement(line: str) -> bool:
    try:
        Requirement(line)
    except InvalidRequirement:
        return False
    return True


def differences(ours: Pins, theirs: Pins) -> list[str]:
    """Pins that are not the same, one line each."""
    return [
        f"{name}: ours {ours.get(name, 'none')}, theirs {theirs.get(name, 'none')}"
        for name in sorted(ours.keys() | theirs.keys())
        if ours.get(name) != theirs.get(name)
    ]


def ratios(case: Case, ours: Sequence[Run], theirs: Sequence[Run]) -> dict[str, Row]:
    """Medians of both and the median of the paired ratios with its spread, for each measure."""
    rows: dict[str, Row] = {}
    for measured in ("wall", "cpu", "peak"):
        mine = [getattr(run, measured) for run in ours]
        other = [getattr(run, measured) for run in theirs]
        paired = [a / b for a, b in zip(mine, other, strict=True)]
        target = getattr(case, measured)
        middle = statistics.median(paired)
        rows[measured] = {
            "ours": statistics.median(mine),
            "theirs": statistics.median(other),
            "ratio": middle,
            "least": min(paired),
            "most": max(paired),
            "target": target,
            "met": None if target is None else middle <= target,
        }
    return rows


_HEADING = f"{'':28}{'ours':>10}{'theirs':>12}{'ratio':>9}   {'min..max':14}{'target':>8}"


def print_rows(name: str, rows: dict[str, Row]) -> None:
    for measured, row in rows.items():
        unit, form = ("MiB", "8.0f") if measured == "peak" else ("s", "8.2f")
        spread = f"{row['least']:.2f}..{row['most']:.2f}"
        goal = (
            ""
            if row["target"] is None
            else f"<={row['target']:.2f}  {'met' if row['met'] else 'NOT met'}"
        )
        show(
            f"{name if measured == 'wall' else '':22} {measured:5}{row['ours']:{form}} {unit:3}"
            f"{row['theirs']:{form}} {unit:3}{row['ratio']:8.2f}   {spread:14}{goal:>6}"
        )


def load() -> str:
    return " ".join(f"{one:.2f}" for one in os.getloadavg())


def row_of(
    which: str, case: Case, other: str, rounds: int, pairs: tuple[list[Run], list[Run]], before: str
) -> Row:
    """All that is told of a case with one other program."""
    rows = ratios(case, *pairs)
    print_rows(f"{case.name} {other}", rows)
    return {
        "set": which,
        "case": case.name,
        "what": case.what,
        "other": other,
        "rounds": rounds,
        "date": datetime.now(timezone.utc).date().isoformat(),
        "load": {"before": before, "after": load()},
        "ratios": rows,
        "runs": {
            "ours": [asdict(run) for run in pairs[0]],
            "theirs": [asdict(run) for run in pairs[1]],
        },
    }


def bench_set(which: Set, cases: Sequence[Case], rounds: int, work: Path) -> list[Row]:
    """Each case, ours and uv in turn."""
    check_equal(which)
    ours, uv = (kind(which, work / which.name / kind.name, environment()) for kind in (Ours, Uv))
    show(f"{which.name}: {which.what}")
    for side in (
        ours,
        uv,
    ):  # the warm-up; it fills the caches, and its output is the lock of before
        side.run(EMPTY)
        side.keep()
    pins = ours.pins(), uv.pins()
    found = differences(*pins)
    show(f"pins: ours {len(pins[0])}, uv {len(pins[1])}, {len(found)} differ")
    for line in found:
        show(f"  {line}")
    show(_HEADING)
    told = []
    for case in cases:
        before = load()
        if not case.cold:
            for side in (ours, uv):
                side.run(case)
        pairs: tuple[list[Run], list[Run]] = ([], [])
        differ = found
        for _ in range(rounds):
            pairs[0].append(ours.run(case))
            pairs[1].append(uv.run(case))
            differ = differences(ours.pins(), uv.pins())
            if differ != found and not case.changed:
                show(f"  {case.name}: the pins of this round differ otherwise than those above")
        row = row_of(which.name, case, "uv", rounds, pairs, before)
        told.append(row | {"pins": [len(ours.pins()), len(uv.pins())], "differ": differ})
    show(f"load average: {load()}\n")
    return told


def bench_native(rounds: int, work: Path) -> list[Row]:
    """Ours beside each of the others, which all lock for this machine."""
    which = native_set(work)
    show(f"native: {which.what}; {NATIVE.what}")
    sides: list[Side] = [
        kind(which, work / "native" / kind.name, environment())
        for kind in (Ours, Uv, PipTools, Pip)
    ]
    pins: dict[str, Pins] = {}
    for side in list(sides):
        try:
            side.run(NATIVE)
            pins[side.name] = side.pins()
        except Failed as failure:
            show(f"  left out: {failure}")
            sides.remove(side)
    if Ours.name not in pins:
        return []
    before = load()
    runs: dict[str, list[Run]] = {side.name: [] for side in sides}
    for _ in range(rounds):
        for side in sides:
            runs[side.name].append(side.run(NATIVE))
    show(_HEADING)
    told = []
    for side in sides[1:]:
        differ = differences(pins[Ours.name], pins[side.name])
        row = row_of(
            "native", NATIVE, side.name, rounds, (runs[Ours.name], runs[side.name]), before
        )
        told.append(row | {"pins": [len(pins[Ours.name]), len(pins[side.name])], "differ": differ})
        show(
            f"  pins: ours {len(pins[Ours.name])}, {side.name} {len(pins[side.name])}, {len(differ)} differ"
        )
        for line in differ[:5]:
            show(f"    {line}")
    show("")
    return told


def bench_all(rounds: int, work: Path) -> list[Row]:
    """`lock all` beside the stacks one by one.

    A stack that has no solution here, or fails, counts like the others.
    """
    folder = work / "all"
    folder.mkdir()
    matrices = ["--matrices", str(PROJECT / "matrices"), "--locks", str(folder / "locks"), "--json"]
    variables = {**environment(), "ASCEND_LOCK_CACHE": str(folder / "cache")}
    stacks = sorted(path.stem for path in (PROJECT / "matrices/stacks").glob("*.toml"))

    def lock(*names: str) -> Run:
        return measure([str(Ours.program), "lock", *names, *matrices], variables, folder)[0]

    show(f"all: {ALL.what}")
    lock("all")
    show("exit statuses: " + ", ".join(f"{name} {lock(name).status}" for name in stacks))
    before = load()
    pairs: tuple[list[Run], list[Run]] = ([], [])
    for _ in range(rounds):
        pairs[0].append(lock("all"))
        singles = [lock(name) for name in stacks]
        pairs[1].append(
            Run(
                sum(one.wall for one in singles),
                sum(one.cpu for one in singles),
                max(one.peak for one in singles),
                max(one.status for one in singles),
            )
        )
    show(_HEADING)
    row = row_of("all", ALL, "ascend-lock, one by one", rounds, pairs, before)
    show("")
    return [row | {"pins": [], "differ": []}]


def main() -> None:
    names = [case.name for case in (*CASES, ALL, NATIVE)]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--only", "--case", action="append", dest="only", choices=names, help="default: all"
    )
    parser.add_argument(
        "--set", action="append", choices=[one.name for one in SETS], help="default: all"
    )
    parser.add_argument("--dry", action="store_true", help="print figures and write no file")
    parser.add_argument(
        "--ours",
        type=Path,
        metavar="PROGRAM",
        help="another ascend-lock than the one beside Python",
    )
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be 1 or more")
    if options.ours is not None:
        Ours.program = options.ours.resolve()
    only = options.only or names
    cases = [case for case in CASES if case.name in only]
    uv = subprocess.run(
        [str(Uv.program), "--version"], check=True, capture_output=True, text=True
    ).stdout
    versions = [uv.partition(" (")[0].strip(), f"Python {platform.python_version()}"]
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    show(f"{', '.join(versions)}; {machine}; {options.rounds} rounds; load average {load()}")
    for case in (*CASES, ALL, NATIVE):
        if case.name in only:
            show(f"  {case.name:10} {case.what}")
    show("")
    told: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="ascend-lock-bench-") as folder:
        work = Path(folder)
        for which in SETS if cases else ():
            if options.set and which.name not in options.set:
                continue
            try:
                told += bench_set(which, cases, options.rounds, work)
            except Failed as failure:
                show(f"{which.name} is left out: {failure}\n")
        if ALL.name in only:
            told += bench_all(options.rounds, work)
        if NATIVE.name in only:
            versions.append(install_pip_tools(work))
            told += bench_native(options.rounds, work)
    if not options.dry:
        write(told, machine, versions)


if __name__ == "__main__":
    main()
