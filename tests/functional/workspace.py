"""A folder in which the real command runs as for a user, isolated from this machine's settings."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from unittest import mock

import tomli

from resolver.cli.commands import status
from resolver.i18n import translate
from resolver.lock import file as lock_file
from tests.components import systems_text
from tests.loopback import LoopbackIndex

COMMAND = Path(sys.executable).with_name("ascend-lock")
REPOSITORY = Path(__file__).resolve().parents[2]

PYTHON_LINE = f"{sys.version_info.major}.{sys.version_info.minor}"
PLATFORM = f"linux-{platform.machine()}"

# A target without a particular machine, and one that is this machine.
ANYWHERE = '[target]\nname = "there"\npython = "3.11"\nplatform = "linux-aarch64"\n'
HERE = (
    f'[target]\nname = "here"\npython = "{PYTHON_LINE}"\nplatform = "{PLATFORM}"\nglibc = "2.17"\n'
)


def targets(*names: str) -> str:
    """Return targets with these names, for aarch64 unless `x86_64`; `old` has Python 3.10."""
    return "".join(
        f'[[target]]\nname = "{name}"\npython = "{"3.10" if name == "old" else "3.11"}"\n'
        f'platform = "linux-{"x86_64" if name == "x86_64" else "aarch64"}"\n'
        for name in names
    )


TWO_PYTHONS = targets("old", "new")


def row(kind: str, **said: object) -> str:
    """Return a row of facts. `_` in a key stands for `-`; the reason is `r` unless given."""
    lines = [
        f"{key.replace('_', '-')} = {json.dumps(value)}"
        for key, value in {"reason": "r", **said}.items()
    ]
    return "\n".join([f"[[{kind}]]", *lines, "", ""])


# The files of a conflict's report.
REPORTS = {"conflict.html", "conflict.json", "conflict.md", "conflict.zh.html", "conflict.zh.md"}

UNREACHABLE = "http://127.0.0.1:9/simple/"  # the port of `discard`, where nothing listens
NOBODY_THERE = {"PIP_INDEX_URL": UNREACHABLE}

# Variables for every run's interpreter.
INTERPRETER = {"LANG": "C.UTF-8", "PYTHONWARNINGS": "error"}
_AT_START = ("PYTHON", "LC_")


class Content(bytes):
    """The bytes of a file, shown as a digest: pytest is slow to compare large ones."""

    def __repr__(self) -> str:
        return f"<{len(self)} bytes, sha256 {hashlib.sha256(self).hexdigest()}>"


Tree = Mapping[str, Content | None]


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

    @property
    def error(self) -> str:
        """What the last error on stderr is about: without where, why and hint."""
        return self.stderr.rpartition("error: ")[2].partition("\n")[0]


class Workspace:
    """`./matrices`, `./locks`, a cache and a folder for temporary files, all below `root`.

    `index` is pip's: an address, or one that the tests add to. By default nothing listens there.
    """

    def __init__(self, root: Path, index: LoopbackIndex | str = UNREACHABLE) -> None:
        self.root = root
        self.matrices = root / "matrices"
        self.locks = root / "locks"
        self.cache = root / "cache"
        self.temporary = root / "temporary"
        self.index_url = index if isinstance(index, str) else index.url
        self._index = index
        for folder in (
            self.matrices / "stacks",
            self.matrices / "facts",
            self.temporary,
            root / "home",
        ):
            folder.mkdir(parents=True)
        (self.matrices / "systems.toml").write_text(systems_text())
        (root / "Makefile").touch()  # hints name `make` where there is one

    @property
    def index(self) -> LoopbackIndex:
        """The index that tests add to."""
        assert isinstance(self._index, LoopbackIndex)
        return self._index

    def serve(self, *rows: str) -> None:
        """Add plain wheels to the index by rows like `name version …: requirement, …`."""
        self.index.serve(*rows)

    # --- what a user writes

    def stack(
        self, *requires: str, name: str = "demo", target: str = ANYWHERE, more: str = ""
    ) -> Path:
        """Write a stack with these `requires`."""
        path = self.matrices / "stacks" / f"{name}.toml"
        rows = ", ".join(json.dumps(line) for line in requires)
        path.write_text(
            f'[stack]\nname = "{name}"\nsummary = "a stack of tests"\nrequires = [{rows}]\n\n'
            f"{target}\n" + textwrap.dedent(more)
        )
        return path

    def facts(self, project: str, rows: str) -> None:
        """Write the facts about a project; mandatory keys are added to each row."""
        head = '[defaults]\nstrength = "vendor"\nsource = "demo/tests#1"\nchecked = 2026-11-20\n\n'
        (self.matrices / "facts" / f"{project}.toml").write_text(head + textwrap.dedent(rows))

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace a text that a file of the matrices has."""
        path = self.matrices / name
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")

    def indexes(self, rows: str) -> None:
        """Write indexes.toml."""
        (self.matrices / "indexes.toml").write_text(textwrap.dedent(rows))

    # --- running

    def recorded(self, index: str, rows: str) -> None:
        """Write what public files say about wheels of an index."""
        folder = self.matrices / "recorded"
        folder.mkdir(exist_ok=True)
        (folder / f"{index}.toml").write_text(rows)

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

    def start(
        self, *arguments: str, stderr: int | IO[bytes] = subprocess.PIPE, **environment: str
    ) -> subprocess.Popen[str]:
        """Start the command without waiting."""
        return self.begin(
            [str(COMMAND), *arguments], stderr=stderr, env=self.environment(**environment)
        )

    def begin(self, command: list[str], **how: Any) -> subprocess.Popen[str]:
        """Start any command in the workspace without waiting."""
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(
            command, cwd=self.root, encoding="utf-8", **{"env": self.environment(), **pipes, **how}
        )

    def finish(self, process: subprocess.Popen[str]) -> Run:
        """Wait for a command."""
        try:
            stdout, stderr = process.communicate(timeout=90)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            raise
        return Run(process.returncode, self.plain(stdout), self.plain(stderr))

    def run(self, *arguments: str, **environment: str) -> Run:
        """Run a command in this process, which takes a tenth of the time of a new one.

        What an interpreter reads as it starts needs a new one, and `verify` and `sync` give their
        streams to another program.
        """
        if arguments[:1] in (("verify",), ("sync",)) or any(
            name.startswith(_AT_START) for name in environment
        ):
            return self.run_alone(*arguments, **environment)
        stdout, stderr = (
            io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n") for _ in range(2)
        )
        with (
            self.inside(**environment),
            mock.patch.object(sys, "argv", [str(COMMAND), *arguments]),
            mock.patch.object(
                sys.modules["__main__"], "__package__", ""
            ),  # or hints would name pytest
            contextlib.redirect_stdout(stdout),
            contextlib.redirect_stderr(stderr),
        ):
            code = status()
        return Run(code, *(self.plain(_written(stream)) for stream in (stdout, stderr)))

    @contextlib.contextmanager
    def inside(self, **environment: str) -> Iterator[None]:
        """This process with the workspace's folder, variables and temporary files."""
        before = Path.cwd()
        with (
            mock.patch.dict(os.environ, self.environment(**environment), clear=True),
            mock.patch.object(tempfile, "tempdir", str(self.temporary)),
        ):
            os.chdir(self.root)
            try:
                yield
            finally:
                os.chdir(before)

    def refused(self, error: str, *arguments: str, **environment: str) -> Run:
        """The command's result, which must be this error of the input and no more."""
        run = self.run(*arguments, **environment)
        assert (run.status, run.stdout, run.error) == (2, "", error), run
        return run

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

    def locked_stack(self, *requires: str, **written: str) -> Run:
        """Write a stack, as `stack` does, and lock it, which must succeed."""
        self.stack(*requires, **written)
        return self.locked(stack=written.get("name", "demo"))

    def locked_before(self, *requires: str, **written: str) -> None:
        """Lock, then empty the cache and the log of requests."""
        if requires:
            self.stack(*requires, **written)
        self.locked()
        self.forget()
        self.index.clear()

    def plain(self, text: str) -> str:
        """The text with what differs between runs replaced."""
        text = text.replace(str(COMMAND), COMMAND.name)  # hints have the command as called
        return re.sub(
            r"http://127\.0\.0\.1:\d+", "<server>", text.replace(str(self.root), "<root>")
        )

    # --- results

    def folder(self, stack: str = "demo") -> Path:
        """The folder of a stack's one lock."""
        (folder,) = (
            path for path in (self.locks / stack).iterdir() if path.is_dir() and path.name[0] != "."
        )
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

    def warnings(self, stack: str = "demo") -> list[str]:
        """What a stack's lock warns of, in English."""
        lock = lock_file.read(self.folder(stack))
        assert lock is not None
        return [translate(warning, "en") for warning in lock.warnings]

    def forget(self) -> None:
        """Empty the cache."""
        shutil.rmtree(self.cache, ignore_errors=True)


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8")


def tree(folder: Path) -> Tree:
    """Every path below a folder, hidden ones included, with its bytes (None for a folder)."""
    return {
        str(path.relative_to(folder)): None if path.is_dir() else Content(path.read_bytes())
        for path in sorted(folder.rglob("*"))
    }


def wait_until(
    reached: Callable[[], bool], process: subprocess.Popen[str], seconds: float = 30
) -> None:
    """Until something is so; it must come to be so while the process runs."""
    deadline = time.monotonic() + seconds
    while not reached():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.0005)


def without_links(folder: Path) -> dict[str, str]:
    """Return texts of reports without links to facts, with the command of an installation.

    Where the program is installed, its facts are outside the project, so that no link leads to
    them.
    """
    texts = {
        str(path.relative_to(folder)): path.read_text(encoding="utf-8")
        for path in folder.rglob("conflict*")
    }
    for name, text in texts.items():
        text = re.sub(r'<a href="\.\./[^"]*">([^<]*)</a>', r"\1", text)
        text = re.sub(r"\[([^]]*)\]\(\.\./[^)]*\)", r"\1", text)
        text = re.sub(r'"href": "\.\./[^"]*"', '"href": ""', text)
        text = re.sub(
            r"make explain STACK=(\S+) APPLY=(\w)", r"ascend-lock explain \1 --apply \2", text
        )
        texts[name] = text.replace(" next to the old one", "").replace(
            "会把修改后的软件栈写到原文件所在目录", "会写出修改后的软件栈"
        )
    return texts
