"""ascend-lock beside uv, pip-tools and pip on the same requirements: times, memory and pins.

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
from mirrors import MIRRORS, Mirror, counted, running
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
        # uv locks for one target.
        target="linux-aarch64-py311-cann8.5.0-a2",
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
MIRROR = Case("mirror", "like empty, from mirrors of several kinds on this machine")
NATIVE = Case(
    "native", "on this machine's own platform: pip-tools, pip and uv, with a warm cache", keep=False
)


def show(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def check_equal(which: Set) -> None:
    """End the program if ours and the others are given different requirements."""
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
    """Return the pins that differ, a line each."""
    names = sorted(ours.keys() | theirs.keys())
    return [
        f"{name}: ours {ours.get(name, 'none')}, theirs {theirs.get(name, 'none')}"
        for name in names
        if ours.get(name) != theirs.get(name)
    ]


def ratios(case: Case, ours: Sequence[Run], theirs: Sequence[Run]) -> dict[str, Row]:
    """Return, for each measure, the medians of both and of the ratios of neighbouring runs."""
    rows: dict[str, Row] = {}
    for measure_name in ("wall", "cpu", "peak"):
        our_values = [getattr(run, measure_name) for run in ours]
        their_values = [getattr(run, measure_name) for run in theirs]
        paired = [our / their for our, their in zip(our_values, their_values, strict=True)]
        target = getattr(case, measure_name)
        ratio = statistics.median(paired)
        rows[measure_name] = {
            "ours": statistics.median(our_values),
            "theirs": statistics.median(their_values),
            "ratio": ratio,
            "least": min(paired),
            "most": max(paired),
            "target": target,
            "met": None if target is None else ratio <= target,
        }
    return rows


_HEADING = f"{'':28}{'ours':>10}{'theirs':>12}{'ratio':>9}   {'min..max':14}{'target':>8}"


def print_rows(name: str, rows: dict[str, Row]) -> None:
    """Print the figures of a case."""
    for measure_name, row in rows.items():
        unit, form = ("MiB", "8.0f") if measure_name == "peak" else ("s", "8.2f")
        spread = f"{row['least']:.2f}..{row['most']:.2f}"
        target = ""
        if row["target"] is not None:
            target = f"<={row['target']:.2f}  {'met' if row['met'] else 'NOT met'}"
        show(
            f"{name:22} {measure_name:5}{row['ours']:{form}} {unit:3}"
            f"{row['theirs']:{form}} {unit:3}{row['ratio']:8.2f}   {spread:14}{target:>6}"
        )
        # Only the first line tells the case.
        name = ""


def load() -> str:
    """Return the load averages of the last 1, 5 and 15 minutes."""
    return " ".join(f"{average:.2f}" for average in os.getloadavg())


def row_of(
    which: str, case: Case, other: str, rounds: int, pairs: tuple[list[Run], list[Run]], before: str
) -> Row:
    """Return what results.json has of a case with another program, and print the figures."""
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
    """Measure each case, ours and uv in turn."""
    check_equal(which)
    ours = Ours(which, work / which.name / Ours.name, environment())
    uv = Uv(which, work / which.name / Uv.name, environment())
    show(f"{which.name}: {which.what}")
    # The warm-up fills the caches, and its outputs are the previous locks.
    for side in (ours, uv):
        side.run(EMPTY)
        side.keep()
    expected = differences(ours.pins(), uv.pins())
    show(f"pins: ours {len(ours.pins())}, uv {len(uv.pins())}, {len(expected)} differ")
    for line in expected:
        show(f"  {line}")
    show(_HEADING)
    rows = []
    for case in cases:
        before = load()
        if not case.cold:
            ours.run(case)
            uv.run(case)
        our_runs: list[Run] = []
        uv_runs: list[Run] = []
        differ = expected
        for _ in range(rounds):
            our_runs.append(ours.run(case))
            uv_runs.append(uv.run(case))
            differ = differences(ours.pins(), uv.pins())
            if differ != expected and not case.changed:
                show(f"  {case.name}: the pins of this round differ otherwise than those above")
        row = row_of(which.name, case, "uv", rounds, (our_runs, uv_runs), before)
        rows.append(row | {"pins": [len(ours.pins()), len(uv.pins())], "differ": differ})
    show(f"load average: {load()}\n")
    return rows


def bench_mirrors(rounds: int, work: Path, folder: Path, names: Sequence[str]) -> list[Row]:
    """Measure the flagship from an empty cache, ours and uv in turn, from each kind of mirror.

    What the mirrors serve is kept in `folder`.
    """
    which = SETS[0]
    check_equal(which)
    show(f"mirror: {which.what}; {MIRROR.what}")
    show(_HEADING)
    rows = []
    for mirror in MIRRORS:
        if mirror.name in names:
            with running(mirror, folder) as address:
                rows.append(bench_mirror(which, mirror, address, rounds, work))
    show(f"load average: {load()}\n")
    return rows


def bench_mirror(which: Set, mirror: Mirror, address: str, rounds: int, work: Path) -> Row:
    """Measure a mirror at an address."""
    variables = environment() | {"PIP_INDEX_URL": f"{address}simple/"}
    folder = work / f"mirror-{mirror.name}"
    ours = Ours(which, folder / Ours.name, variables)
    uv = Uv(which, folder / Uv.name, variables)
    case = replace(EMPTY, name=mirror.name, what=mirror.what, wall=mirror.wall, cpu=mirror.cpu)
    # What is not kept yet comes from afar.
    for side in (ours, uv):
        side.run(case)
    counted(address)
    before = load()
    our_runs: list[Run] = []
    uv_runs: list[Run] = []
    asked: list[str] = []
    for _ in range(rounds):
        our_runs.append(ours.run(case))
        asked = [counted(address)]
        uv_runs.append(uv.run(case))
        asked.append(counted(address))
    row = row_of("mirror", case, "uv", rounds, (our_runs, uv_runs), before)
    show(f"  ours: {asked[0]}; uv: {asked[1]}")
    differ = differences(ours.pins(), uv.pins())
    return row | {"pins": [len(ours.pins()), len(uv.pins())], "differ": differ}


def bench_native(rounds: int, work: Path) -> list[Row]:
    """Measure ours beside each of the others, all for this machine."""
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
    rows = []
    our_pins = pins[Ours.name]
    for side in sides[1:]:
        their_pins = pins[side.name]
        differ = differences(our_pins, their_pins)
        pairs = (runs[Ours.name], runs[side.name])
        row = row_of("native", NATIVE, side.name, rounds, pairs, before)
        rows.append(row | {"pins": [len(our_pins), len(their_pins)], "differ": differ})
        counts = f"ours {len(our_pins)}, {side.name} {len(their_pins)}, {len(differ)} differ"
        show(f"  pins: {counts}")
        for line in differ[:5]:
            show(f"    {line}")
    show("")
    return rows


def bench_all(rounds: int, work: Path) -> list[Row]:
    """Measure `lock all` beside the stacks one by one.

    A stack that has no solution, or fails, counts like the others.
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
    together: list[Run] = []
    one_by_one: list[Run] = []
    for _ in range(rounds):
        together.append(lock("all"))
        runs = [lock(name) for name in stacks]
        one_by_one.append(
            Run(
                wall=sum(run.wall for run in runs),
                cpu=sum(run.cpu for run in runs),
                peak=max(run.peak for run in runs),
                status=max(run.status for run in runs),
            )
        )
    show(_HEADING)
    pairs = (together, one_by_one)
    row = row_of("all", ALL, "ascend-lock, one by one", rounds, pairs, before)
    show("")
    return [row | {"pins": [], "differ": []}]


def parsed_options() -> argparse.Namespace:
    """Return the options of the command line."""
    names = [case.name for case in (*CASES, ALL, MIRROR, NATIVE)]
    sets = [which.name for which in SETS]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--only", "--case", action="append", dest="only", choices=names, help="default: all"
    )
    parser.add_argument("--set", action="append", choices=sets, help="default: all")
    parser.add_argument(
        "--mirror",
        action="append",
        choices=[mirror.name for mirror in MIRRORS],
        help="default: all",
    )
    parser.add_argument(
        "--kept", type=Path, metavar="FOLDER", help="where mirrors keep what they serve"
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
    options.only = options.only or names
    options.set = options.set or sets
    options.mirror = options.mirror or [mirror.name for mirror in MIRRORS]
    return options


def bench_sets(options: argparse.Namespace, work: Path) -> list[Row]:
    """Measure the chosen cases of the chosen sets; leave a set out that cannot be locked."""
    cases = [case for case in CASES if case.name in options.only]
    rows: list[Row] = []
    for which in SETS:
        if cases and which.name in options.set:
            try:
                rows += bench_set(which, cases, options.rounds, work)
            except Failed as failure:
                show(f"{which.name} is left out: {failure}\n")
    return rows


def main() -> None:
    """Measure, print and write the figures."""
    options = parsed_options()
    if options.ours is not None:
        Ours.program = options.ours.resolve()
    command = [str(Uv.program), "--version"]
    uv = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    versions = [uv.partition(" (")[0].strip(), f"Python {platform.python_version()}"]
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    show(f"{', '.join(versions)}; {machine}; {options.rounds} rounds; load average {load()}")
    for case in (*CASES, ALL, MIRROR, NATIVE):
        if case.name in options.only:
            show(f"  {case.name:10} {case.what}")
    show("")
    with tempfile.TemporaryDirectory(prefix="ascend-lock-bench-") as folder:
        work = Path(folder)
        rows = bench_sets(options, work)
        if ALL.name in options.only:
            rows += bench_all(options.rounds, work)
        if MIRROR.name in options.only:
            kept = options.kept or work / "kept"
            rows += bench_mirrors(options.rounds, work, kept, options.mirror)
        if NATIVE.name in options.only:
            versions.append(install_pip_tools(work))
            rows += bench_native(options.rounds, work)
    if not options.dry:
        write(rows, machine, versions)


if __name__ == "__main__":
    main()
