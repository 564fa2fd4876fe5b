"""How time, requests, bytes and memory grow with the size of what is locked, beside uv.

    .venv/bin/python benchmarks/scaling.py [--rounds 3] [--only FAMILY[:SIZE]] [--limit 300]
        [--render]

Each cell is a made-up index (worlds.py) that a process of its own serves on loopback (server.py).
Both programs lock from an empty cache, in turn. Figures go to scaling.json, and from there to
SCALING.md and scaling.svg; with `--only` the other cells stay as they were. `--render` writes the
two anew and measures nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import tomli
from packaging.requirements import Requirement
from packaging.version import Version
from plot import svg
from worlds import FAMILIES, World, version

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent
SIZES = (50, 200, 800, 3_200)
DATA = HERE / "scaling.json"

Cell = dict[str, Any]
Pins = dict[str, str]


@contextmanager
def served(family: str, size: int) -> Iterator[str]:
    """Serve the index of a cell and yield its address."""
    command = [sys.executable, str(HERE / "server.py"), family, str(size)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.terminate()
        process.wait()


def counted(address: str) -> dict[str, int]:
    """Return the requests and bytes since the last call."""
    with urllib.request.urlopen(f"{address}/count") as answer:
        count: dict[str, int] = json.load(answer)
        return count


def run(command: Sequence[str], environment: dict[str, str], folder: Path, limit: float) -> Cell:
    """Run a process and return what it used: wall and CPU seconds, and peak memory in MiB.

    It is killed at the limit. `ended` says how it ended, and `told` is its standard error.
    """
    with tempfile.TemporaryFile() as stderr:
        begun = time.perf_counter()
        process = subprocess.Popen(
            command,
            env=environment,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
        )
        previous = signal.signal(signal.SIGALRM, lambda *_: os.killpg(process.pid, signal.SIGKILL))
        signal.setitimer(signal.ITIMER_REAL, limit)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, previous)
        wall = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        stderr.seek(0)
        told = stderr.read().decode("utf-8", "replace")
    ended = {0: "done", -signal.SIGKILL: "late"}.get(process.returncode, "failed")
    cpu = usage.ru_utime + usage.ru_stime
    return {"ended": ended, "wall": wall, "cpu": cpu, "peak": usage.ru_maxrss / 1024, "told": told}


def ours(address: str, folder: Path, limit: float) -> tuple[Cell, Pins]:
    """Lock with ascend-lock; return what it used, and the pins if it was done."""
    locks = folder / "locks"
    shutil.rmtree(locks, ignore_errors=True)
    environment = {
        **clean(),
        "ASCEND_LOCK_CACHE": str(folder / "cache"),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": f"{address}/simple/",
    }
    command = [str(BIN / "ascend-lock"), "lock", "world", "--json"]
    command += ["--matrices", str(folder / "matrices"), "--locks", str(locks)]
    usage = run(command, environment, folder, limit)
    if usage["ended"] != "done":
        return usage, {}
    (lock,) = locks.glob("*/*/lock.toml")
    pins = tomli.loads(lock.read_text("utf-8"))["pin"]
    return usage, {pin["name"]: pin["version"] for pin in pins}


def uv(address: str, folder: Path, limit: float) -> tuple[Cell, Pins]:
    """Lock with uv; return what it used, and the pins if it was done."""
    output = folder / "requirements.txt"
    output.unlink(missing_ok=True)
    command = [
        str(BIN / "uv"),
        "pip",
        "compile",
        "--quiet",
        "--no-config",
        "--no-header",
        "--no-annotate",
    ]
    command += ["--generate-hashes", "--python", sys.executable, "--python-version", "3.11"]
    command += [
        "--python-platform",
        "aarch64-manylinux_2_28",
        "--default-index",
        f"{address}/simple/",
    ]
    command += [
        "--cache-dir",
        str(folder / "cache"),
        "--output-file",
        str(output),
        str(folder / "requirements.in"),
    ]
    usage = run(command, clean(), folder, limit)
    if usage["ended"] != "done":
        return usage, {}
    pins = {}
    for row in output.read_text("utf-8").splitlines():
        if row and row[0] not in " #":
            name, _, version = row.rstrip(" \\").partition("==")
            pins[name] = version
    return usage, pins


def clean() -> dict[str, str]:
    """Return the environment without settings of either side."""
    settings = ("UV_", "PIP_", "ASCEND_LOCK_", "VIRTUAL_ENV")
    return {key: value for key, value in os.environ.items() if not key.startswith(settings)}


def prepare(world: World, folder: Path) -> None:
    """Write what both sides are asked for."""
    (folder / "matrices/stacks").mkdir(parents=True)
    (folder / "matrices/facts").mkdir()
    lines = ",\n  ".join(json.dumps(line) for line in world.requires)
    (folder / "matrices/stacks/world.toml").write_text(
        f'[stack]\nname = "world"\nsummary = "a made-up index"\nrequires = [\n  {lines},\n]\n\n'
        '[target]\npython = "3.11"\nplatform = "linux-aarch64"\nglibc = "2.28"\n',
        "utf-8",
    )
    (folder / "requirements.in").write_text(
        "".join(f"{line}\n" for line in world.requires), "utf-8"
    )


def unmet(world: World, pins: Pins) -> list[str]:
    """Return the requirements of the world that pins do not meet, as `packaging` reads them."""
    lines = [("the stack", line) for line in world.requires]
    for name, pinned in pins.items():
        requires_by_version = {
            version(number): requires
            for number, requires in enumerate(world.projects[name].requires)
        }
        lines += [(name, line) for line in requires_by_version[pinned]]
    wrong = []
    for dependent, line in lines:
        requirement = Requirement(line)
        pinned_version = pins.get(requirement.name)
        if pinned_version is None or not requirement.specifier.contains(pinned_version):
            wrong.append(f"{dependent} needs {line}, pinned is {pinned_version}")
    return wrong


def measure(family: str, size: int, rounds: int, limit: float) -> Cell:
    """Return a cell: the medians of both sides, and how their pins compare."""
    world = FAMILIES[family](size)
    runs: dict[str, list[Cell]] = {name: [] for name in SIDES}
    pins: dict[str, Pins] = {}
    with served(family, size) as address, tempfile.TemporaryDirectory(prefix="scaling-") as work:
        folders = {name: Path(work) / name for name in SIDES}
        for folder in folders.values():
            folder.mkdir()
            prepare(world, folder)
        for _ in range(rounds):
            for name in SIDES:
                # A side that was too late or failed is not tried again.
                if all(earlier["ended"] == "done" for earlier in runs[name]):
                    found = measure_once(name, world, address, folders[name], limit, pins)
                    runs[name].append(found)
                    if found["ended"] == "failed":
                        sys.stderr.write(f"{family} {size} {name}: {found['told'][-1500:]}\n")
    walls = [[found["wall"] for found in runs[name]] for name in ("ours", "uv")]
    ratios = [ours_wall / uv_wall for ours_wall, uv_wall in zip(*walls, strict=False)]
    cell: Cell = {"family": family, "size": size}
    for name, found_runs in runs.items():
        cell[name] = medians(found_runs)
    cell["ratio"] = statistics.median(ratios)
    cell["spread"] = [min(ratios), max(ratios)]
    cell["pins"] = {name: len(side_pins) for name, side_pins in pins.items()}
    if len(pins) == 2:
        cell["differ"] = differences(world, pins["ours"], pins["uv"])
    return cell


def measure_once(
    name: str, world: World, address: str, folder: Path, limit: float, pins: dict[str, Pins]
) -> Cell:
    """Lock once with one side, and check its pins; the first ones are kept in `pins`."""
    shutil.rmtree(folder / "cache", ignore_errors=True)
    counted(address)
    found, side_pins = SIDES[name](address, folder, limit)
    found |= counted(address)
    if found["ended"] == "done":
        if wrong := unmet(world, side_pins):
            found |= {"ended": "failed", "told": wrong[0]}
        elif pins.setdefault(name, side_pins) != side_pins:
            found |= {"ended": "failed", "told": "another round had other pins"}
    return found


def medians(runs: Sequence[Cell]) -> Cell:
    """Return the medians of a side's runs, with the traffic and the end of the last one."""
    last = runs[-1]
    cell: Cell = {"ended": last["ended"]}
    for key in ("wall", "cpu", "peak"):
        cell[key] = statistics.median(run[key] for run in runs)
    return cell | {"requests": last["requests"], "bytes": last["bytes"]}


SIDES: dict[str, Callable[[str, Path, float], tuple[Cell, Pins]]] = {"ours": ours, "uv": uv}


def differences(world: World, mine: Pins, other: Pins) -> dict[str, int]:
    """Count the pins that differ: newer here, newer there, on one side only.

    The last two counts are of the projects that the stack asks for.
    """
    both = [name for name in mine if name in other and mine[name] != other[name]]
    newer = [name for name in both if Version(mine[name]) > Version(other[name])]
    asked = {Requirement(line).name for line in world.requires}
    return {
        "newer": len(newer),
        "older": len(both) - len(newer),
        "alone": len(mine.keys() ^ other.keys()),
        "asked newer": len(asked.intersection(newer)),
        "asked older": len(asked.intersection(both)) - len(asked.intersection(newer)),
    }


# --- telling


def growth(cells: Sequence[Cell], name: str) -> str:
    """Return how wall time grew from the last size but one to the last."""
    done = [cell for cell in cells if cell[name]["ended"] == "done"]
    if len(done) < 2:
        return "-"
    small, large = done[-2:]
    factor = large[name]["wall"] / small[name]["wall"]
    return f"{factor:.1f} ({small['size']:,} to {large['size']:,})"


def shown(side: Cell, key: str, limit: float) -> str:
    """Return a figure of a side as the table has it."""
    if side["ended"] == "late":
        return f"> {limit:.0f} s" if key == "wall" else "-"
    if side["ended"] == "failed":
        return "failed" if key == "wall" else "-"
    value = side.get(key, 0)
    match key:
        case "wall":
            return f"{value:.2f}"
        case "peak":
            return f"{value:.0f}"
        case "bytes":
            return f"{value / 1e6:.1f}"
        case _:
            return f"{value:,}"


def said_of_pins(cell: Cell) -> str:
    """Return how the pins of both compare."""
    differ = cell.get("differ")
    if differ is None:
        return "-"
    if not any(differ.values()):
        return f"{cell['pins']['ours']:,} equal"
    counts = [f"{differ['newer']} newer here", f"{differ['older']} newer there"]
    if differ["alone"]:
        counts.append(f"{differ['alone']} on one side only")
    return f"{cell['pins']['ours']:,}: {', '.join(counts)}"


_HEAD = """\
# How it grows

Written by `.venv/bin/python benchmarks/scaling.py` on {date}: {machine}; {uv};
Python {python}; load average before {load}. Medians of {rounds} rounds, the two in
turn, each from an empty cache.

![wall time, requests and peak memory against the number of projects](scaling.svg)

Made-up indexes on loopback, the same each time: numbers of releases and files and sizes \
of metadata are
those of real projects, each answer comes 10 ms late. No network and no mirror has a part \
in these figures.
A run is ended after {limit:.0f} s. The pins of both are held against the index, requirement \
by requirement.
A peak that both have in common is that of the process which started them; theirs are below it.
"""
_COLUMNS = (
    "| projects | wall s ours / uv | ratio (min..max) | requests | MB received | peak MiB | pins |",
    "|---:|---:|---:|---:|---:|---:|---|",
)


def report(results: Cell) -> str:
    """Return SCALING.md."""
    lines = [_HEAD.format_map(results)]
    for family, make in FAMILIES.items():
        cells = [cell for cell in results["cells"] if cell["family"] == family]
        if cells:
            description = " ".join((make.__doc__ or "").split())
            lines += [f"## {family}", "", description, "", *_COLUMNS]
            lines += [table_row(cell, results["limit"]) for cell in cells]
            grown = f"ours {growth(cells, 'ours')}, uv {growth(cells, 'uv')}"
            lines += ["", f"Growth of wall: {grown}; n log n: 4.8 to 4.9.", ""]
    return "\n".join(lines)


def table_row(cell: Cell, limit: float) -> str:
    """Return the row of a cell in SCALING.md."""
    pairs = [
        f"{shown(cell['ours'], key, limit)} / {shown(cell['uv'], key, limit)}"
        for key in ("wall", "requests", "bytes", "peak")
    ]
    ratio = "-"
    if cell["ours"]["ended"] == cell["uv"]["ended"] == "done":
        low, high = cell["spread"]
        ratio = f"{cell['ratio']:.2f} ({low:.2f}..{high:.2f})"
    columns = (f"{cell['size']:,}", pairs[0], ratio, *pairs[1:], said_of_pins(cell))
    return f"| {' | '.join(columns)} |"


def write(results: Cell) -> None:
    """Write scaling.json, SCALING.md and scaling.svg."""
    DATA.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    (HERE / "SCALING.md").write_text(report(results), "utf-8")
    picture = svg(results["cells"], list(FAMILIES), results["limit"])
    (HERE / "scaling.svg").write_text(picture, "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--only", action="append", metavar="FAMILY[:SIZE]", help="these cells; default: all"
    )
    parser.add_argument("--limit", type=float, default=300.0, metavar="SECONDS", help="for one run")
    parser.add_argument(
        "--render", action="store_true", help="write table and plot from scaling.json"
    )
    parser.add_argument("--dry", action="store_true", help="print figures and write no file")
    options = parser.parse_args()
    earlier = json.loads(DATA.read_text("utf-8")) if DATA.exists() else {"cells": []}
    if options.render:
        write(earlier)
        return
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    load = " ".join(f"{average:.2f}" for average in os.getloadavg())
    cells = {(cell["family"], cell["size"]): cell for cell in earlier["cells"]}
    for family in FAMILIES:
        for size in SIZES:
            if options.only and not {family, f"{family}:{size}"}.intersection(options.only):
                continue
            cell = measure(family, size, options.rounds, options.limit)
            cells[family, size] = cell
            brief = {name: cell[name] for name in ("ours", "uv")}
            sys.stdout.write(
                f"{family} {size}: ratio {cell['ratio']:.2f}, {said_of_pins(cell)}\n  {brief}\n"
            )
            sys.stdout.flush()
    command = [str(BIN / "uv"), "--version"]
    uv_version = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    order = [(family, size) for family in FAMILIES for size in SIZES]
    results = {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "uv": uv_version.strip().split(" (")[0],
        "python": platform.python_version(),
        "load": load,
        "rounds": options.rounds,
        "limit": options.limit,
        "cells": [cells[key] for key in order if key in cells],
    }
    if not options.dry:
        write(results)


if __name__ == "__main__":
    main()
