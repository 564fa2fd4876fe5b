"""ascend-lock beside uv on the same requirements: wall time, CPU, peak memory, and the pins of both.

    .venv/bin/python benchmarks/bench.py [--rounds 5] [--case NAME] [--set NAME] [--json FILE]

Runs alternate (ours, uv, ours, uv, ...), after a warm-up of both that does not
count, so that whatever slows the machine or the mirror down slows both. Each
ratio is that of a pair of neighbours. See README.md for what makes the sets equal.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import tomli
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent
BIN = Path(sys.executable).parent

Pins = dict[str, str]


@dataclass(frozen=True)
class Set:
    """Requirements that both sides lock. `arguments` and `stack` are ours, the folder's other files are uv's."""

    name: str
    what: str
    folder: Path
    stack: str
    arguments: tuple[str, ...]
    stack_file: Path


@dataclass(frozen=True)
class Case:
    """A state of affairs to measure in. `targets` are DESIGN.md's limits of ours / uv's."""

    name: str
    what: str
    cold: bool = False
    offline: bool = False
    again: bool = False
    wall_target: float | None = None
    memory_target: float | None = 1.0


@dataclass(frozen=True)
class Run:
    """One process: seconds, seconds, MiB."""

    wall: float
    cpu: float
    peak: float


SETS = (
    Set(
        "plain",
        "verl-qwen3.5 without vllm; no fact but what uv is told, too",
        HERE / "sets/plain",
        "plain",
        ("--matrices", str(HERE / "sets/plain/matrices")),
        HERE / "sets/plain/matrices/stacks/plain.toml",
    ),
    Set(
        "flagship",
        "verl-qwen3.5 as it ships, with vllm's empty build; uv is told vllm's requirements",
        HERE / "sets/flagship",
        "verl-qwen3.5",
        ("--matrices", str(PROJECT / "matrices"), "--target", "linux-aarch64-py311-cann8.5.0-a2"),  # uv locks for one
        PROJECT / "matrices/stacks/verl-qwen3.5.toml",
    ),
)

CASES = (
    Case("empty", "a new cache folder for each run", cold=True, wall_target=1 / 2),
    Case("second", "warm cache, every page revalidated, no lock from before", wall_target=1 / 5),
    Case("offline", "warm cache, --offline, no lock from before", offline=True, wall_target=3.0),
    Case("again", "like second, but with the lock (uv: the output) of the run before", again=True),
)


class Side(ABC):
    """One of the two programs. Everything that it writes is below `folder`."""

    name = ""

    def __init__(self, which: Set, folder: Path, environment: dict[str, str]) -> None:
        self.set = which
        self.folder = folder
        self.environment = environment
        self.cache = folder / "cache"
        self.output = folder / "output"

    @abstractmethod
    def command(self, case: Case) -> list[str]: ...

    @abstractmethod
    def variables(self) -> dict[str, str]: ...

    @abstractmethod
    def pins(self) -> Pins: ...

    def run(self, case: Case) -> Run:
        """Lock once, in the state that the case asks for."""
        if case.cold:
            shutil.rmtree(self.cache, ignore_errors=True)
        if not case.again:
            shutil.rmtree(self.output, ignore_errors=True)
        self.output.mkdir(parents=True, exist_ok=True)
        return measure(self.command(case), {**self.environment, **self.variables()}, self.folder)


class Ours(Side):
    name = "ascend-lock"
    program = BIN / "ascend-lock"

    def command(self, case: Case) -> list[str]:
        offline = ["--offline"] if case.offline else []
        places = [*self.set.arguments, "--locks", str(self.output)]
        return [str(self.program), "lock", self.set.stack, *places, *offline]

    def variables(self) -> dict[str, str]:
        return {"ASCEND_LOCK_CACHE": str(self.cache)}

    def pins(self) -> Pins:
        (lock,) = self.output.glob("*/*/lock.toml")
        return {pin["name"]: pin["version"] for pin in tomli.loads(lock.read_text("utf-8"))["pin"]}


class Uv(Side):
    name = "uv"
    program = BIN / "uv"

    def command(self, case: Case) -> list[str]:
        offline = ["--offline"] if case.offline else []
        return [
            *(str(self.program), "pip", "compile", "--quiet", "--no-header", "--generate-hashes"),
            *("--python", sys.executable, "--python-version", "3.11", "--python-platform", "aarch64-manylinux_2_28"),
            *("--config-file", str(self.set.folder / "uv.toml"), *offline),
            *("--output-file", str(self.output / "requirements.txt"), str(self.set.folder / "requirements.in")),
        ]

    def variables(self) -> dict[str, str]:
        return {"UV_CACHE_DIR": str(self.cache), "UV_DEFAULT_INDEX": index_address()}

    def pins(self) -> Pins:
        rows = (self.output / "requirements.txt").read_text("utf-8").splitlines()
        named = (row.split(";")[0].rstrip(" \\").partition("==") for row in rows if row and row[0] not in " #")
        return {canonicalize_name(name.partition("[")[0]): version.strip() for name, _, version in named}


def measure(command: Sequence[str], environment: dict[str, str], folder: Path) -> Run:
    """Run a process to its end; wait4 tells what it used. Ends the benchmark where the process fails."""
    with tempfile.TemporaryFile() as said:
        begun = time.perf_counter()
        process = subprocess.Popen(command, env=environment, cwd=folder, stdout=said, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            sys.stderr.write(said.read().decode("utf-8", "replace")[-4000:])
            raise SystemExit(f"{Path(command[0]).name} ended with {process.returncode}")
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


_index: list[str] = []


def index_address() -> str:
    """The index that pip is configured with, for uv; asked in a process of its own and never shown.

    A process of its own, because ru_maxrss of a child counts from the size of the process that forked it.
    """
    if not _index:
        code = "from resolver.catalog.pipconfig import read_pip_config as r; print(r().index_url, end='')"
        _index.append(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
    return _index[0]


def check_equal(which: Set) -> None:
    """Both sides must be asked for the same."""
    stack = tomli.loads(which.stack_file.read_text("utf-8"))
    ours = {str(Requirement(line)) for line in stack["stack"]["requires"] if _is_requirement(line)}
    rows = (which.folder / "requirements.in").read_text("utf-8").splitlines()
    theirs = {str(Requirement(row)) for row in rows if row and not row.startswith("#")}
    if ours != theirs:
        raise SystemExit(f"set {which.name}: the stack and requirements.in differ in {sorted(ours ^ theirs)}")


def _is_requirement(line: str) -> bool:
    try:
        Requirement(line)
    except InvalidRequirement:
        return False
    return True


def ratios(case: Case, ours: list[Run], theirs: list[Run]) -> dict[str, dict[str, object]]:
    """Medians of both and the median of the paired ratios with its spread, for each measure."""
    rows: dict[str, dict[str, object]] = {}
    targets = {"wall": case.wall_target, "cpu": None, "peak": case.memory_target}
    for measured, target in targets.items():
        mine = [getattr(run, measured) for run in ours]
        other = [getattr(run, measured) for run in theirs]
        paired = [a / b for a, b in zip(mine, other, strict=True)]
        middle = statistics.median(paired)
        rows[measured] = {
            "ours": statistics.median(mine),
            "uv": statistics.median(other),
            "ratio": middle,
            "least": min(paired),
            "most": max(paired),
            "target": target,
            "met": None if target is None else middle <= target,
        }
    return rows


_UNITS = {"wall": "s", "cpu": "s", "peak": "MiB"}
_HEADING = f"{'':10}{'':6}{'ours':>10}{'uv':>12}{'ratio':>9}   {'min..max':14}{'target':>8}"


def print_rows(case: Case, rows: dict[str, dict[str, object]]) -> None:
    for measured, row in rows.items():
        unit = _UNITS[measured]
        form = "8.0f" if unit == "MiB" else "8.2f"
        spread = f"{row['least']:.2f}..{row['most']:.2f}"
        goal = "" if row["target"] is None else f"<={row['target']:.1f}  {'met' if row['met'] else 'NOT met'}"
        sys.stdout.write(
            f"{case.name if measured == 'wall' else '':10}{measured:5}{row['ours']:{form}} {unit:3}"
            f"{row['uv']:{form}} {unit:3}{row['ratio']:8.2f}   {spread:14}{goal:>6}\n"
        )
    sys.stdout.flush()


def differences(ours: Pins, theirs: Pins) -> list[str]:
    """Pins that are not the same, one line each."""
    return [
        f"{name}: ours {ours.get(name, 'none')}, uv {theirs.get(name, 'none')}"
        for name in sorted(ours.keys() | theirs.keys())
        if ours.get(name) != theirs.get(name)
    ]


def load() -> str:
    return " ".join(f"{one:.2f}" for one in os.getloadavg())


def bench_set(which: Set, cases: Sequence[Case], rounds: int, work: Path, show: Callable[[str], None]) -> dict:
    environment = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("UV_", "ASCEND_LOCK_")) and key != "VIRTUAL_ENV"
    }
    check_equal(which)
    sides: list[Side] = []
    for kind in (Ours, Uv):
        folder = work / which.name / kind.name
        folder.mkdir(parents=True)
        sides.append(kind(which, folder, environment))
    ours, theirs = sides
    show(f"{which.name}: {which.what}")
    for side in sides:  # the warm-up; it fills the caches, too
        side.run(CASES[0])
    pins = ours.pins(), theirs.pins()
    found = differences(*pins)
    show(f"pins: ours {len(pins[0])}, uv {len(pins[1])}, {len(found)} differ")
    for line in found:
        show(f"  {line}")
    show(_HEADING)
    told: dict = {"set": which.name, "pins": {"ours": pins[0], "uv": pins[1]}, "differ": found, "cases": {}}
    for case in cases:
        before = load()
        if not case.cold:
            for side in sides:
                side.run(case)
        runs: tuple[list[Run], list[Run]] = ([], [])
        for _ in range(rounds):
            runs[0].append(ours.run(case))
            runs[1].append(theirs.run(case))
            if differences(ours.pins(), theirs.pins()) != found:
                show(f"  {case.name}: the pins of this round differ otherwise than those above")
        rows = ratios(case, *runs)
        print_rows(case, rows)
        told["cases"][case.name] = {
            "ratios": rows,
            "load": {"before": before, "after": load()},
            "runs": {"ours": [asdict(run) for run in runs[0]], "uv": [asdict(run) for run in runs[1]]},
        }
    show(f"load average: {load()}\n")
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--case", action="append", choices=[case.name for case in CASES], help="default: all")
    parser.add_argument("--set", action="append", choices=[one.name for one in SETS], help="default: all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure to FILE")
    parser.add_argument("--ours", type=Path, metavar="PROGRAM", help="another ascend-lock than the one beside Python")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be 1 or more")
    if options.ours is not None:
        Ours.program = options.ours.resolve()
    cases = [case for case in CASES if not options.case or case.name in options.case]
    sets = [one for one in SETS if not options.set or one.name in options.set]

    def show(line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    version = subprocess.run([str(Uv.program), "--version"], check=True, capture_output=True, text=True).stdout.strip()
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    show(f"{version}; Python {platform.python_version()}; {machine}; {options.rounds} rounds; load average {load()}")
    for case in cases:
        show(f"  {case.name:8} {case.what}")
    show("")
    with tempfile.TemporaryDirectory(prefix="ascend-lock-bench-") as folder:
        told = [bench_set(which, cases, options.rounds, Path(folder), show) for which in sets]
    if options.json:
        head = {"uv": version, "python": platform.python_version(), "machine": machine, "rounds": options.rounds}
        options.json.write_text(json.dumps({**head, "sets": told}, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
