"""The programs that are measured: each locks the same requirements in a process of its own."""

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
# Seconds for one run.
LIMIT = 900.0

Pins = dict[str, str]


@dataclass(frozen=True)
class Set:
    """Requirements that all sides lock."""

    name: str
    # A description for people.
    what: str
    # The folder of requirements.in, and of uv.toml if uv is told more.
    folder: Path
    # The folder of ascend-lock's facts and stacks.
    matrices: Path
    # The stack with the same requirements.
    stack: str
    # A line of the requirements, and the line that replaces it in the case `changed`.
    swap: tuple[str, str] = ("", "")
    # The target of the stack that is locked; all of them if it is empty.
    target: str = ""
    # Whether it is locked for this machine.
    native: bool = False

    @property
    def stack_file(self) -> Path:
        """Return the file of the stack."""
        return self.matrices / f"stacks/{self.stack}.toml"


@dataclass(frozen=True)
class Case:
    """What is measured of a lock: the state of caches and outputs, and the options."""

    name: str
    # A description for people.
    what: str
    # The cache is emptied.
    cold: bool = False
    # The index is not asked.
    offline: bool = False
    # The previous lock stays.
    keep: bool = False
    # Ours runs `check`, the others --offline.
    check: bool = False
    # One requirement changed since the previous lock.
    changed: bool = False
    # Ours solves although it remembers the answer.
    anew: bool = False
    # The most that ours / theirs may be.
    wall: float | None = None
    cpu: float | None = None
    peak: float | None = None


@dataclass(frozen=True)
class Run:
    """What a process used."""

    # Seconds.
    wall: float
    # Seconds, of user and system.
    cpu: float
    # MiB.
    peak: float
    # The exit status.
    status: int


class Failed(Exception):
    """A process had another exit status than 0."""


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
    def command(self, case: Case) -> list[str]:
        """Return the command that locks."""

    @abstractmethod
    def variables(self) -> dict[str, str]:
        """Return environment variables of the program."""

    @abstractmethod
    def pins(self) -> Pins:
        """Return the versions that the last run chose, by project."""

    @abstractmethod
    def prepare(self) -> None:
        """Write the requirements of the case `changed` to the folder `changed`."""

    def keep(self) -> None:
        """Keep the output of the last run as the previous lock."""
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
        variables = {**self.environment, **self.variables()}
        run, output = measure(self.command(case), variables, self.folder)
        if run.status:
            raise Failed(
                f"{self.name}, {case.name}: exit status {run.status}: {output[-1500:].strip()}"
            )
        return run

    def requirements(self, case: Case) -> Path:
        """Return the requirements file that is locked."""
        return (self.changed if case.changed else self.set.folder) / "requirements.in"

    def swapped(self, text: str) -> str:
        """Return a text with the changed requirement."""
        old, new = self.set.swap
        assert text.count(old) == 1, f"{self.set.name}: `{old}` must occur once"
        return text.replace(old, new)


class Ours(Side):
    """`ascend-lock lock`."""

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
        # uv takes the newest releases, too, so that both solve the same.
        command = [str(self.program), "lock", self.set.stack, *places, "--as-of", "newest"]
        command += ["--offline"] if case.offline else []
        command += ["--anew"] if case.anew else []
        return command

    def variables(self) -> dict[str, str]:
        return {"ASCEND_LOCK_CACHE": str(self.cache)}

    def pins(self) -> Pins:
        (lock,) = self.output.glob("*/*/lock.toml")
        return {pin["name"]: pin["version"] for pin in tomli.loads(lock.read_text("utf-8"))["pin"]}


class Other(Side):
    """A program that reads requirements.in and writes requirements.txt."""

    def prepare(self) -> None:
        if self.set.swap[0]:
            self.changed.mkdir()
            text = (self.set.folder / "requirements.in").read_text("utf-8")
            (self.changed / "requirements.in").write_text(self.swapped(text), "utf-8")

    @property
    def written(self) -> Path:
        """Return the file that the program writes."""
        return self.output / "requirements.txt"

    def pins(self) -> Pins:
        pins: Pins = {}
        for row in self.written.read_text("utf-8").splitlines():
            if row and row[0] not in " #-":
                name, _, version = row.split(";")[0].rstrip(" \\").partition("==")
                pins[canonicalize_name(name.partition("[")[0])] = version.strip()
        return pins


class Uv(Other):
    """`uv pip compile`."""

    name = "uv"
    program = BIN / "uv"

    def command(self, case: Case) -> list[str]:
        command = [str(self.program), "pip", "compile", "--quiet", "--no-header"]
        command += ["--generate-hashes", "--python", sys.executable]
        if not self.set.native:
            command += ["--python-version", "3.11", "--python-platform", "aarch64-manylinux_2_28"]
        settings = self.set.folder / "uv.toml"
        command += ["--config-file", str(settings)] if settings.exists() else ["--no-config"]
        command += ["--offline"] if case.offline or case.check else []
        return [*command, "--output-file", str(self.written), str(self.requirements(case))]

    def variables(self) -> dict[str, str]:
        index = self.environment.get("PIP_INDEX_URL") or index_address()
        return {"UV_CACHE_DIR": str(self.cache), "UV_DEFAULT_INDEX": index}


class Pip(Other):
    """`pip install --dry-run --report`.

    It downloads every wheel that has no metadata beside it on the index.
    """

    name = "pip"

    def command(self, case: Case) -> list[str]:
        command = [str(self.program / "python"), "-m", "pip", "install", "--quiet"]
        command += ["--dry-run", "--ignore-installed", "--only-binary", ":all:"]
        command += ["--cache-dir", str(self.cache)]
        command += ["--report", str(self.output / "report.json")]
        return [*command, "--requirement", str(self.requirements(case))]

    def variables(self) -> dict[str, str]:
        return {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}

    def pins(self) -> Pins:
        report = json.loads((self.output / "report.json").read_text("utf-8"))
        packages = [row["metadata"] for row in report["install"]]
        return {canonicalize_name(package["name"]): package["version"] for package in packages}


class PipTools(Other):
    """pip-compile, without hashes: for these it would download every file of every pin."""

    name = "pip-tools"

    def command(self, case: Case) -> list[str]:
        command = [str(self.program / "pip-compile"), "--quiet", "--no-header", "--no-annotate"]
        command += ["--strip-extras", "--no-emit-index-url", "--no-emit-trusted-host"]
        command += ["--no-emit-find-links", "--no-emit-options"]
        command += ["--pip-args=--only-binary :all:", "--cache-dir", str(self.cache)]
        return [*command, "--output-file", str(self.written), str(self.requirements(case))]

    def variables(self) -> dict[str, str]:
        return {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_CACHE_DIR": str(self.cache)}


def measure(command: Sequence[str], environment: dict[str, str], folder: Path) -> tuple[Run, str]:
    """Run a process to its end or to the limit; return what it used (`wait4`) and its output."""
    with tempfile.TemporaryFile() as output:
        begun = time.perf_counter()
        process = subprocess.Popen(
            command,
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        previous = signal.signal(signal.SIGALRM, lambda *_: process.kill())
        signal.setitimer(signal.ITIMER_REAL, LIMIT)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, previous)
        wall = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    cpu = usage.ru_utime + usage.ru_stime
    return Run(wall, cpu, usage.ru_maxrss / 1024, process.returncode), text


@cache
def index_address() -> str:
    """Return the index that pip is configured with, for uv. It is never shown.

    A process of its own reads it: ru_maxrss of a child counts from the size of its parent, which
    is to import as little as possible.
    """
    code = (
        "from resolver.index.net.pipconfig import read_pip_config\n"
        "print(read_pip_config().index_url, end='')"
    )
    return _output([sys.executable, "-c", code])


def _output(command: Sequence[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def environment() -> dict[str, str]:
    """Return this machine's environment without settings of either side.

    Python may store its bytecode.
    """
    settings = ("UV_", "ASCEND_LOCK_", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE")
    return {key: value for key, value in os.environ.items() if not key.startswith(settings)}


def native_set(work: Path) -> Set:
    """Return the set of `sets/native` for the machine and Python that this runs on."""
    folder = HERE / "sets/native"
    rows = (folder / "requirements.in").read_text("utf-8").splitlines()
    lines = [str(Requirement(row)) for row in rows if row and not row.startswith("#")]
    matrices = work / "native-matrices"
    (matrices / "stacks").mkdir(parents=True)
    (matrices / "facts").mkdir()
    (matrices / "stacks/native.toml").write_text(
        '[stack]\nname = "native"\nsummary = "for this machine"\n'
        f"requires = {json.dumps(lines)}\n\n[target]\n"
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
    """Install pip-tools and pip into an environment of their own; return their versions."""
    folder = work / "pip-tools"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin/python"
    quiet = ["--quiet", "--disable-pip-version-check"]
    subprocess.run([str(python), "-m", "pip", "install", *quiet, "pip-tools"], check=True)
    Pip.program = PipTools.program = folder / "bin"
    code = (
        "from importlib.metadata import version\n"
        "print(f\"pip {version('pip')}, pip-tools {version('pip-tools')}\")"
    )
    return _output([str(python), "-c", code]).strip()
