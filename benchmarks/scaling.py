"""How time, requests, bytes and memory grow with the size of what is locked, beside uv.

    .venv/bin/python benchmarks/scaling.py [--rounds 3] [--only FAMILY[:SIZE]] [--limit 300] [--render]

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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import tomli
from plot import svg
from worlds import FAMILIES, World

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent
SIZES = (50, 200, 800, 3_200)
DATA = HERE / "scaling.json"

Cell = dict[str, Any]
Pins = dict[str, str]


@contextmanager
def served(family: str, size: int) -> Iterator[str]:
    """The address of the cell's index, as long as it is needed."""
    command = [sys.executable, str(HERE / "server.py"), family, str(size)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.terminate()
        process.wait()


def counted(address: str) -> dict[str, int]:
    """Requests and bytes since this was last asked."""
    with urllib.request.urlopen(f"{address}/count") as answer:
        count: dict[str, int] = json.load(answer)
        return count


def run(command: Sequence[str], environment: dict[str, str], folder: Path, limit: float) -> Cell:
    """One process, ended at the limit: status, seconds, seconds, MiB, what it said."""
    with tempfile.TemporaryFile() as said:
        begun = time.perf_counter()
        process = subprocess.Popen(
            command,
            env=environment,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=said,
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
        said.seek(0)
        told = said.read().decode("utf-8", "replace")
    ended = (
        "late"
        if process.returncode == -signal.SIGKILL
        else "done"
        if process.returncode == 0
        else "failed"
    )
    cpu = usage.ru_utime + usage.ru_stime
    return {"ended": ended, "wall": wall, "cpu": cpu, "peak": usage.ru_maxrss / 1024, "told": told}


def ours(address: str, folder: Path, limit: float) -> tuple[Cell, Pins]:
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
    found = run(command, environment, folder, limit)
    if found["ended"] != "done":
        return found, {}
    (lock,) = locks.glob("*/*/lock.toml")
    return found, {
        pin["name"]: pin["version"] for pin in tomli.loads(lock.read_text("utf-8"))["pin"]
    }


def uv(address: str, folder: Path, limit: float) -> tuple[Cell, Pins]:
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
    found = run(command, clean(), folder, limit)
    if found["ended"] != "done":
        return found, {}
    rows = (row for row in output.read_text("utf-8").splitlines() if row and row[0] not in " #")
    named = (row.rstrip(" \\").partition("==") for row in rows)
    return found, {name: pinned for name, _, pinned in named}


def clean() -> dict[str, str]:
    """The environment without settings of either side."""
    away = ("UV_", "PIP_", "ASCEND_LOCK_", "VIRTUAL_ENV")
    return {key: value for key, value in os.environ.items() if not key.startswith(away)}


def prepare(world: World, folder: Path) -> None:
    """What both sides are asked for."""
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
    """What does not hold of pins, told by the world itself and `packaging`."""
    from packaging.requirements import Requirement
    from worlds import version

    lines = [("the stack", line) for line in world.requires]
    for name, pinned in pins.items():
        rows = world.projects[name].requires
        number = next(at for at in range(len(rows)) if version(at) == pinned)
        lines += [(name, line) for line in rows[number]]
    wrong = []
    for who, line in lines:
        needed = Requirement(line)
        if needed.name not in pins or not needed.specifier.contains(pins[needed.name]):
            wrong.append(f"{who} needs {line}, pinned is {pins.get(needed.name)}")
    return wrong


def measure(family: str, size: int, rounds: int, limit: float) -> Cell:
    """A cell: medians of both sides, and how their pins compare."""
    world = FAMILIES[family](size)
    sides = {"ours": ours, "uv": uv}
    runs: dict[str, list[Cell]] = {name: [] for name in sides}
    pins: dict[str, Pins] = {}
    with served(family, size) as address, tempfile.TemporaryDirectory(prefix="scaling-") as work:
        folders = {name: Path(work) / name for name in sides}
        for folder in folders.values():
            folder.mkdir()
            prepare(world, folder)
        for _ in range(rounds):
            for name, lock in sides.items():
                if any(one["ended"] != "done" for one in runs[name]):
                    continue  # one that was too late or failed is not tried again
                shutil.rmtree(folders[name] / "cache", ignore_errors=True)
                counted(address)
                found, got = lock(address, folders[name], limit)
                found |= counted(address)
                runs[name].append(found)
                if found["ended"] == "done":
                    if wrong := unmet(world, got):
                        found |= {"ended": "failed", "told": wrong[0]}
                    elif pins.setdefault(name, got) != got:
                        found |= {"ended": "failed", "told": "another round had other pins"}
                if found["ended"] == "failed":
                    sys.stderr.write(f"{family} {size} {name}: {found['told'][-1500:]}\n")
    cell: Cell = {"family": family, "size": size}
    for name, found_all in runs.items():
        last = found_all[-1]
        middle = {
            key: statistics.median(one[key] for one in found_all) for key in ("wall", "cpu", "peak")
        }
        cell[name] = {
            "ended": last["ended"],
            **middle,
            "requests": last["requests"],
            "bytes": last["bytes"],
        }
    both = [
        (one["wall"], other["wall"]) for one, other in zip(runs["ours"], runs["uv"], strict=False)
    ]
    cell["ratio"] = statistics.median(one / other for one, other in both)
    cell["spread"] = [
        min(one / other for one, other in both),
        max(one / other for one, other in both),
    ]
    cell["pins"] = {name: len(got) for name, got in pins.items()}
    if len(pins) == 2:
        cell["differ"] = differences(world, pins["ours"], pins["uv"])
    return cell


def differences(world: World, mine: Pins, other: Pins) -> dict[str, int]:
    """Pins that are not the same: newer here, newer there, on one side only; and of the projects that are asked for."""
    from packaging.requirements import Requirement
    from packaging.version import Version

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
    """How wall grew from the last size but one to the last, and what n log n would be."""
    done = [cell for cell in cells if cell[name]["ended"] == "done"]
    if len(done) < 2:
        return "-"
    small, large = done[-2:]
    return (
        f"{large[name]['wall'] / small[name]['wall']:.1f} ({small['size']:,} to {large['size']:,})"
    )


def shown(side: Cell, key: str, limit: float) -> str:
    """One figure of a side."""
    if side["ended"] == "late":
        return f"> {limit:.0f} s" if key == "wall" else "-"
    if side["ended"] == "failed":
        return "failed" if key == "wall" else "-"
    value = side.get(key, 0)
    return {"wall": f"{value:.2f}", "peak": f"{value:.0f}", "bytes": f"{value / 1e6:.1f}"}.get(
        key, f"{value:,}"
    )


def said_of_pins(cell: Cell) -> str:
    """How the pins of both compare."""
    differ = cell.get("differ")
    if differ is None:
        return "-"
    if not any(differ.values()):
        return f"{cell['pins']['ours']:,} equal"
    told = [f"{differ['newer']} newer here", f"{differ['older']} newer there"]
    if differ["alone"]:
        told.append(f"{differ['alone']} on one side only")
    return f"{cell['pins']['ours']:,}: {', '.join(told)}"


def report(told: Cell) -> str:
    """SCALING.md."""
    limit = told["limit"]
    lines = [
        "# How it grows",
        "",
        f"Written by `.venv/bin/python benchmarks/scaling.py` on {told['date']}: {told['machine']}; {told['uv']};",
        f"Python {told['python']}; load average before {told['load']}. Medians of {told['rounds']} rounds, the two in",
        "turn, each from an empty cache.",
        "",
        "![wall time, requests and peak memory against the number of projects](scaling.svg)",
        "",
        "Made-up indexes on loopback, the same each time: numbers of releases and files and sizes of metadata are",
        "those of real projects, each answer comes 10 ms late. No network and no mirror has a part in these figures.",
        f"A run is ended after {limit:.0f} s. The pins of both are held against the index, requirement by requirement.",
        "A peak that both have in common is that of the process which started them; theirs are below it.",
        "",
    ]
    for family, make in FAMILIES.items():
        cells = [cell for cell in told["cells"] if cell["family"] == family]
        if not cells:
            continue
        lines += [
            f"## {family}",
            "",
            " ".join((make.__doc__ or "").split()),
            "",
            "| projects | wall s ours / uv | ratio (min..max) | requests | MB received | peak MiB | pins |",
            "|---:|---:|---:|---:|---:|---:|---|",
        ]
        for cell in cells:
            pairs = [
                f"{shown(cell['ours'], key, limit)} / {shown(cell['uv'], key, limit)}"
                for key in ("wall", "requests", "bytes", "peak")
            ]
            low, high = cell["spread"]
            ended = {cell["ours"]["ended"], cell["uv"]["ended"]}
            ratio = f"{cell['ratio']:.2f} ({low:.2f}..{high:.2f})" if ended == {"done"} else "-"
            columns = (f"{cell['size']:,}", pairs[0], ratio, *pairs[1:], said_of_pins(cell))
            lines.append(f"| {' | '.join(columns)} |")
        lines += [
            "",
            f"Growth of wall: ours {growth(cells, 'ours')}, uv {growth(cells, 'uv')}; n log n: 4.8 to 4.9.",
            "",
        ]
    return "\n".join(lines)


def write(told: Cell) -> None:
    DATA.write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    (HERE / "SCALING.md").write_text(report(told), "utf-8")
    (HERE / "scaling.svg").write_text(svg(told["cells"], list(FAMILIES), told["limit"]), "utf-8")


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
    told = json.loads(DATA.read_text("utf-8")) if DATA.exists() else {"cells": []}
    if options.render:
        write(told)
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    load = " ".join(f"{one:.2f}" for one in os.getloadavg())
    cells = {(cell["family"], cell["size"]): cell for cell in told["cells"]}
    for family in FAMILIES:
        for size in SIZES:
            if options.only and not {family, f"{family}:{size}"}.intersection(options.only):
                continue
            cell = cells[family, size] = measure(family, size, options.rounds, options.limit)
            brief = {name: cell[name] for name in ("ours", "uv")}
            sys.stdout.write(
                f"{family} {size}: ratio {cell['ratio']:.2f}, {said_of_pins(cell)}\n  {brief}\n"
            )
            sys.stdout.flush()
    version = subprocess.run(
        [str(BIN / "uv"), "--version"], check=True, capture_output=True, text=True
    ).stdout.strip()
    told = {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "uv": version.split(" (")[0],
        "python": platform.python_version(),
        "load": load,
        "rounds": options.rounds,
        "limit": options.limit,
        "cells": [
            cells[family, size] for family in FAMILIES for size in SIZES if (family, size) in cells
        ],
    }
    if not options.dry:
        write(told)


if __name__ == "__main__":
    main()
