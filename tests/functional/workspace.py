"""A folder in which the real command runs as for a user, isolated from this machine's settings."""

from __future__ import annotations

import atexit
import functools
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli

from tests.functional.warm import WarmCommand

COMMAND = Path(sys.executable).with_name("ascend-lock")
REPOSITORY = Path(__file__).resolve().parents[2]

PYTHON_LINE = f"{sys.version_info.major}.{sys.version_info.minor}"
PLATFORM = f"linux-{platform.machine()}"

# A target without a particular machine, and one that is this machine.
ANYWHERE = '[target]\nname = "there"\npython = "3.11"\nplatform = "linux-aarch64"\n'
HERE = f'[target]\nname = "here"\npython = "{PYTHON_LINE}"\nplatform = "{PLATFORM}"\nglibc = "2.17"\n'

# Variables for every run's interpreter.
INTERPRETER = {"LANG": "C.UTF-8", "PYTHONWARNINGS": "error"}

Tree = Mapping[str, bytes | None]


@dataclass(frozen=True)
class Run:
    """The result of a command, with what differs between runs replaced."""

    status: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """Stdout as the one JSON object that it must be."""
        return json.loads(self.stdout)


class Workspace:
    """`./matrices`, `./locks`, a cache and a folder for temporary files, all below `root`."""

    def __init__(self, root: Path, index_url: str) -> None:
        self.root = root
        self.matrices = root / "matrices"
        self.locks = root / "locks"
        self.cache = root / "cache"
        self.temporary = root / "temporary"
        self.index_url = index_url
        for folder in (self.matrices / "stacks", self.matrices / "facts", self.temporary, root / "home"):
            folder.mkdir(parents=True)
        (root / "Makefile").touch()  # hints name `make` where there is one

    # --- what a user writes

    def stack(self, *requires: str, name: str = "demo", target: str = ANYWHERE, more: str = "") -> Path:
        """Write a stack with these `requires`."""
        path = self.matrices / "stacks" / f"{name}.toml"
        rows = ", ".join(json.dumps(line) for line in requires)
        path.write_text(
            f'[stack]\nname = "{name}"\nsummary = "a stack of tests"\nrequires = [{rows}]\n\n{target}\n'
            + textwrap.dedent(more)
        )
        return path

    def facts(self, project: str, rows: str) -> None:
        """Write the facts about a project; mandatory keys are added to each row."""
        head = '[defaults]\nstrength = "vendor"\nsource = "a test"\nchecked = 2026-11-20\n\n'
        (self.matrices / "facts" / f"{project}.toml").write_text(head + textwrap.dedent(rows))

    def indexes(self, rows: str) -> None:
        """Write indexes.toml."""
        (self.matrices / "indexes.toml").write_text(textwrap.dedent(rows))

    # --- running

    def environment(self, **changes: str) -> dict[str, str]:
        """The command's environment variables."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root / "home"),
            "TMPDIR": str(self.temporary),
            "ASCEND_LOCK_CACHE": str(self.cache),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_INDEX_URL": self.index_url,
            **INTERPRETER,
            **changes,
        }

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Start the command without waiting."""
        return subprocess.Popen(
            [str(COMMAND), *arguments],
            cwd=self.root,
            env=self.environment(**environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def finish(self, process: subprocess.Popen[str]) -> Run:
        """Wait for a command."""
        try:
            stdout, stderr = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            raise
        return Run(process.returncode, self.plain(stdout), self.plain(stderr))

    def run(self, *arguments: str, **environment: str) -> Run:
        """The command's result, from a fork if that is equivalent (tests/functional/warm.py)."""
        variables = self.environment(**environment)
        if not _warm().takes(variables):
            return self.run_alone(*arguments, **environment)
        status, stdout, stderr = _warm().run(arguments, self.root, variables)
        return Run(status, self.plain(stdout), self.plain(stderr))

    def run_alone(self, *arguments: str, **environment: str) -> Run:
        """The command's result, started as by a user."""
        return self.finish(self.start(*arguments, **environment))

    def lock(self, *arguments: str, stack: str = "demo", **environment: str) -> Run:
        """`ascend-lock lock`, with any result."""
        return self.run("lock", stack, *arguments, **environment)

    def locked(self, *arguments: str, stack: str = "demo", **environment: str) -> Run:
        """`ascend-lock lock`, which must succeed."""
        run = self.lock(*arguments, stack=stack, **environment)
        assert run.status == 0, run
        return run

    def plain(self, text: str) -> str:
        """The text with what differs between runs replaced."""
        text = text.replace(str(COMMAND), COMMAND.name)  # hints have the command as called
        return re.sub(r"http://127\.0\.0\.1:\d+", "<server>", text.replace(str(self.root), "<root>"))

    # --- results

    def folder(self, stack: str = "demo") -> Path:
        """The folder of a stack's one lock."""
        (folder,) = (path for path in (self.locks / stack).iterdir() if path.is_dir() and path.name[0] != ".")
        return folder

    def read(self, name: str = "lock.toml", stack: str = "demo") -> str:
        """The text of a file in the lock's folder."""
        return (self.folder(stack) / name).read_text(encoding="utf-8")

    def content(self, stack: str = "demo") -> dict[str, Any]:
        """The lock.toml of a stack."""
        return tomli.loads(self.read(stack=stack))

    def pins(self, stack: str = "demo") -> dict[str, str]:
        """The pins of a stack's lock."""
        return {pin["name"]: pin["version"] for pin in self.content(stack)["pin"]}

    def forget(self) -> None:
        """Empty the cache."""
        shutil.rmtree(self.cache, ignore_errors=True)


@functools.cache
def _warm() -> WarmCommand:
    warm = WarmCommand(COMMAND, {"PATH": os.environ["PATH"], **INTERPRETER}, ["networkx"])
    atexit.register(warm.close)
    return warm


def tree(folder: Path) -> Tree:
    """Every path below a folder, hidden ones included, with its bytes (None for a folder)."""
    return {
        str(path.relative_to(folder)): None if path.is_dir() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
    }


def wait_until(reached: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Until something is so; it must come to be so while the process runs."""
    deadline = time.monotonic() + 30
    while not reached():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.0005)
