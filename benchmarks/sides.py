"""The programs that are measured, and how: each locks the same requirements in a process of its own."""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import tomli
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent
BIN = Path(sys.executable).parent
LIMIT = 900.0  # seconds for one run

Pins = dict[str, str]


@dataclass(frozen=True)
class Set:
    """Requirements that all sides lock.

    `matrices` and `stack` are ours, the folder's other files are the others'.

    `swap` is a line of it and the line that takes its place in the case `changed`.
    """

    name: str
    what: str
    folder: Path
    matrices: Path
    stack: str
    swap: tuple[str, str] = ("", "")
    target: str = ""
    native: bool = False

    @property
    def stack_file(self) -> Path:
        return self.matrices / f"stacks/{self.stack}.toml"


@dataclass(frozen=True)
class Case:
    """A state of affairs to measure in. The targets are limits of ours / theirs."""

    name: str
    what: str
    cold: bool = False
    offline: bool = False
    keep: bool = False  # the lock of before stays
    check: bool = False  # ours: `check`; the other's is --offline
    changed: bool = False  # one requirement changed since the lock of before
    anew: bool = False  # ours: solved although the answer is remembered
    wall: float | None = None
    cpu: float | None = None
    peak: float | None = None


@dataclass(frozen=True)
class Run:
    """One process: seconds, seconds, MiB, exit status."""

    wall: float
    cpu: float
    peak: float
    status: int


class Failed(Exception):
    """A process did not do what it was to do."""


class Side(ABC):
    """One of the programs. Everything that it writes is below `folder`."""

    name = ""
    program = BIN

    def __init__(self, which: Set, folder: Path, environment: dict[str, str]) -> None:
        self.set = which
        self.folder = folder
        self.environment = environment
        self.cache = folder / "cache"
        self.output = folder / "output"
        self.kept = folder / "kept"
        self.changed = folder / "changed"
        folder.mkdir(parents=True)
        self.prepare()

    @abstractmethod
    def command(self, case: Case) -> list[str]: ...

    @abstractmethod
    def variables(self) -> dict[str, str]: ...

    @abstractmethod
    def pins(self) -> Pins: ...

    @abstractmethod
    def prepare(self) -> None:
        """Write what the case `changed` asks for to the folder `changed`."""

    def keep(self) -> None:
        """Let the output of the last run be the lock of before."""
        shutil.rmtree(self.kept, ignore_errors=True)
        shutil.copytree(self.output, self.kept)

    def run(self, case: Case) -> Run:
        """Lock once, in the state that the case asks for. Raises Failed."""
        if case.cold:
            shutil.rmtree(self.cache, ignore_errors=True)
        shutil.rmtree(self.output, ignore_errors=True)
        if case.keep:
            shutil.copytree(self.kept, self.output)
        self.output.mkdir(parents=True, exist_ok=True)
        found, told = measure(
            self.command(case), {**self.environment, **self.variables()}, self.folder
        )
        if found.status:
            raise Failed(
                f"{self.name}, {case.name}: exit status {found.status}: {told[-1500:].strip()}"
            )
        return found

    def requirements(self, case: Case) -> Path:
        return (self.changed if case.changed else self.set.folder) / "requirements.in"

    def swapped(self, text: str) -> str:
        old, new = self.set.swap
        assert text.count(old) == 1, f"{self.set.name}: `{old}` must occur once"
        return text.replace(old, new)


class Ours(Side):
    name = "ascend-lock"
    program = BIN / "ascend-lock"

    def prepare(self) -> None:
        if self.set.swap[0]:
            shutil.copytree(self.set.matrices, self.changed / "matrices")
            path = self.changed / f"matrices/stacks/{self.set.stack}.toml"
            path.write_text(self.swapped(path.read_text("utf-8")), "utf-8")

    def command(self, case: Case) -> list[str]:
        matrices = self.changed / "matrices" if case.changed else self.set.matrices
        places = ["--matrices", str(matrices), "--locks", str(self.output)]
        places += ["--target", self.set.target] if self.set.target else []
        if case.check:
            return [str(self.program), "check", self.set.stack, *places]
        how = [*(["--offline"] if case.offline else []), *(["--anew"] if case.anew else [])]
        how += ["--as-of", "newest"]  # as uv does, so that both solve the same
        return [str(self.program), "lock", self.set.stack, *places, *how]

    def variables(self) -> dict[str, str]:
        return {"ASCEND_LOCK_CACHE": str(self.cache)}

    def pins(self) -> Pins:
        (lock,) = self.output.glob("*/*/lock.toml")
        return {pin["name"]: pin["version"] for pin in tomli.loads(lock.read_text("utf-8"))["pin"]}


class Other(Side):
    """One that reads requirements.in and writes requirements.txt."""

    def prepare(self) -> None:
        if self.set.swap[0]:
            self.changed.mkdir()
            text = (self.set.folder / "requirements.in").read_text("utf-8")
            (self.changed / "requirements.in").write_text(self.swapped(text), "utf-8")

    @property
    def written(self) -> Path:
        return self.output / "requirements.txt"

    def pins(self) -> Pins:
        rows = (
            row
            for row in self.written.read_text("utf-8").splitlines()
            if row and row[0] not in " #-"
        )
        named = (row.split(";")[0].rstrip(" \\").partition("==") for row in rows)
        return {
            canonicalize_name(name.partition("[")[0]): version.strip() for name, _, version in named
        }


class Uv(Other):
    name = "uv"
    program = BIN / "uv"

    def command(self, case: Case) -> list[str]:
        there = "aarch64-manylinux_2_28"
        target = [] if self.set.native else ["--python-version", "3.11", "--python-platform", there]
        settings = self.set.folder / "uv.toml"
        return [
            *(str(self.program), "pip", "compile", "--quiet", "--no-header", "--generate-hashes"),
            *("--python", sys.executable, *target),
            *(["--config-file", str(settings)] if settings.exists() else ["--no-config"]),
            *(["--offline"] if case.offline or case.check else []),
            *("--output-file", str(self.written), str(self.requirements(case))),
        ]

    def variables(self) -> dict[str, str]:
        return {"UV_CACHE_DIR": str(self.cache), "UV_DEFAULT_INDEX": index_address()}


class Pip(Other):
    """`pip install --dry-run --report`, which downloads every wheel where an index has no metadata beside it."""

    name = "pip"

    def command(self, case: Case) -> list[str]:
        return [
            *(
                str(self.program / "python"),
                "-m",
                "pip",
                "install",
                "--quiet",
                "--dry-run",
                "--ignore-installed",
            ),
            *(
                "--only-binary",
                ":all:",
                "--cache-dir",
                str(self.cache),
                "--report",
                str(self.output / "report.json"),
            ),
            *("--requirement", str(self.requirements(case))),
        ]

    def variables(self) -> dict[str, str]:
        return {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}

    def pins(self) -> Pins:
        report = json.loads((self.output / "report.json").read_text("utf-8"))
        return {
            canonicalize_name(row["metadata"]["name"]): row["metadata"]["version"]
            for row in report["install"]
        }


class PipTools(Other):
    """pip-compile, without hashes: for these it would download every file of every pin."""

    name = "pip-tools"

    def command(self, case: Case) -> list[str]:
        return [
            *(
                str(self.program / "pip-compile"),
                "--quiet",
                "--no-header",
                "--no-annotate",
                "--strip-extras",
            ),
            *(
                "--no-emit-index-url",
                "--no-emit-trusted-host",
                "--no-emit-find-links",
                "--no-emit-options",
            ),
            *("--pip-args=--only-binary :all:", "--cache-dir", str(self.cache)),
            *("--output-file", str(self.written), str(self.requirements(case))),
        ]

    def variables(self) -> dict[str, str]:
        return {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_CACHE_DIR": str(self.cache)}


def measure(command: Sequence[str], environment: dict[str, str], folder: Path) -> tuple[Run, str]:
    """Run a process to its end, or to the limit; wait4 tells what it used. Also what it said."""
    with tempfile.TemporaryFile() as said:
        begun = time.perf_counter()
        process = subprocess.Popen(
            command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said
        )
        before = signal.signal(signal.SIGALRM, lambda *_: process.kill())
        signal.setitimer(signal.ITIMER_REAL, LIMIT)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        wall = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        told = said.read().decode("utf-8", "replace")
    cpu = usage.ru_utime + usage.ru_stime
    return Run(wall, cpu, usage.ru_maxrss / 1024, process.returncode), told


@cache
def index_address() -> str:
    """The index that pip is configured with, for uv; asked in a process of its own and never shown.

    A process of its own, because ru_maxrss of a child counts from the size of the process that
    forked it.
    """
    code = "from resolver.index.net.pipconfig import read_pip_config as r; print(r().index_url, end='')"
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout


def environment() -> dict[str, str]:
    """This machine's, without settings of either side, or what keeps Python from storing its bytecode."""
    away = ("UV_", "ASCEND_LOCK_", "PYTHONDONTWRITEBYTECODE")
    return {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(away) and key != "VIRTUAL_ENV"
    }


def native_set(work: Path) -> Set:
    """The set of `sets/native` for the machine and Python that this runs on."""
    folder = HERE / "sets/native"
    rows = (folder / "requirements.in").read_text("utf-8").splitlines()
    lines = [str(Requirement(row)) for row in rows if row and not row.startswith("#")]
    matrices = work / "native-matrices"
    (matrices / "stacks").mkdir(parents=True)
    (matrices / "facts").mkdir()
    (matrices / "stacks/native.toml").write_text(
        f'[stack]\nname = "native"\nsummary = "for this machine"\nrequires = {json.dumps(lines)}\n\n[target]\n'
        f'python = "{platform.python_version()}"\nplatform = "linux-{platform.machine()}"\n'
        f'glibc = "{platform.libc_ver()[1]}"\n',
        "utf-8",
    )
    return Set(
        "native",
        "common tools, for the machine that this runs on",
        folder,
        matrices,
        "native",
        native=True,
    )


def install_pip_tools(work: Path) -> str:
    """pip-tools and pip in an environment of their own; their versions."""
    folder = work / "pip-tools"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin/python"
    quiet = ["--quiet", "--disable-pip-version-check"]
    subprocess.run([str(python), "-m", "pip", "install", *quiet, "pip-tools"], check=True)
    Pip.program = PipTools.program = folder / "bin"
    code = "from importlib.metadata import version as v; print('pip', v('pip') + ', pip-tools', v('pip-tools'))"
    return subprocess.run(
        [str(python), "-c", code], check=True, capture_output=True, text=True
    ).stdout.strip()
