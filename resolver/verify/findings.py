"""What checks have in common: their context, what they find, and the files and programs of others."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

_SECONDS = 60
SECONDS_TO_START = 300


class LockedDistribution(NamedTuple):
    """A pin. `stage` says when it is installed; `sha256` are its files, none for a build.

    `commit` and `editable` are those of a pin from git. `source` is what install.sh marks an
    editable checkout with. `variant` is the label of a wheel variant (PEP 825).
    """

    name: str
    version: str
    stage: int
    built: bool = False
    sha256: Sequence[str] = ()
    commit: str = ""
    editable: bool = False
    variant: str = ""
    source: str = ""


class DriverNeed(NamedTuple):
    """What `by` asks of the driver: any of `ranges`, each of them all of its comparisons, such as `>=` and `25.0.rc1`.

    `wanted` says the same for people, `reason` why and on whose word, in each language. If it is
    not `binding`, a driver that does not meet it is a warning.
    """

    by: str
    wanted: str
    ranges: Sequence[Sequence[Sequence[str]]]
    binding: bool
    reason: Mapping[str, str]


class Excuse(NamedTuple):
    """What of a distribution may fail to start."""

    # The normalized name of the distribution.
    project: str
    # Its modules, and its commands.
    modules: Sequence[str]
    scripts: Sequence[str]
    # Whether they may fail only where there is no NPU.
    npu: bool
    # Why, in each language.
    reason: Mapping[str, str]


@dataclass(frozen=True)
class LockedStack:
    """What verify.py has of its lock: `python` is such as `3.11`, `texts` are its messages, by language and code.

    `digest` is the sha256 of the lock.toml that it was made from.

    The commands of distributions that are `requested`, as lines of the stack name them, are to
    start; `excuses` say what may fail.
    """

    stack: str
    target: str
    platform: str
    python: str
    glibc: str
    system: Mapping[str, str] = field(default_factory=dict)
    pins: Mapping[str, LockedDistribution] = field(default_factory=dict)
    overrides: Sequence[Sequence[str]] = ()
    imports: Sequence[str] = ()
    import_env: Mapping[str, str] = field(default_factory=dict)
    rewritten: Sequence[str] = ()
    absent: Mapping[str, str] = field(default_factory=dict)
    driver: Sequence[DriverNeed] = ()
    requested: Sequence[str] = ()
    excuses: Sequence[Excuse] = ()
    texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    digest: str = ""

    @classmethod
    def parse(cls, text: str) -> LockedStack:
        """Read the lock's data, which is the last text of this file."""
        raw: dict[str, Any] = json.loads(text)
        pins = {pin["name"]: LockedDistribution(**pin) for pin in raw["pins"]}
        driver = [DriverNeed(**need) for need in raw["driver"]]
        excuses = [Excuse(**excuse) for excuse in raw["excuses"]]
        return cls(**{**raw, "pins": pins, "driver": driver, "excuses": excuses})


def is_shared() -> bool:
    """Whether this Python is in no virtual or conda environment, as install.sh has it."""
    return sys.prefix == sys.base_prefix and not os.path.isdir(
        os.path.join(sys.prefix, "conda-meta")
    )


def show_nothing(_: str) -> None:
    """Ignore a line of progress."""


@dataclass(frozen=True)
class CheckContext:
    """The lock, where things are, how thoroughly to check, and the language of messages.

    `program` is the file of verify.py. `quick` leaves out what starts everything, which takes at
    most `seconds` for each; `progress` is called with a line about it, empty at its end.
    """

    lock: LockedStack
    folder: str
    environ: Mapping[str, str]
    ascend: str = "/usr/local/Ascend"
    wheelhouse: str = ""
    full: bool = False
    language: str = "en"
    program: str = ""
    quick: bool = False
    seconds: float = SECONDS_TO_START
    progress: Callable[[str], None] = show_nothing

    @property
    def python(self) -> str:
        """The environment's Python, for commands that are shown."""
        return shlex.quote(sys.executable)

    @property
    def install_command(self) -> str:
        """The command that installs what is missing."""
        return self._install("--python", sys.executable, *(["--system"] if is_shared() else []))

    @property
    def venv_command(self) -> str:
        """The command that makes an environment of its own for the lock."""
        return f"python{self.lock.python} -m venv env && . env/bin/activate && {self._install()}"

    def _install(self, *options: str) -> str:
        wheelhouse = ["--wheelhouse", self.wheelhouse] if self.wheelhouse else []
        return " ".join(
            map(shlex.quote, ["bash", f"{self.folder}/install.sh", *options, *wheelhouse])
        )

    def then_install(self, command: str) -> str:
        """A command that removes something, then `install_command`; from a shared Python nothing is removed."""
        return self.venv_command if is_shared() else f"{command} && {self.install_command}"

    def reinstall_command(self, *names: str) -> str:
        """The command that uninstalls distributions and installs what the lock has of them.

        Without pip nothing can be installed, so Python's own takes its place.
        """
        ensure = f" && {self.python} -m ensurepip" if "pip" in names else ""
        return self.then_install(
            f"{self.python} -m pip uninstall -y {' '.join(map(shlex.quote, names))}{ensure}"
        )


@dataclass(frozen=True)
class Finding:
    """Something that is not as locked, or could not be found out.

    `code` begins the codes of its texts, `-what`, `-why` and `-mend`; `values` fills their
    placeholders. `remedy` is a command that is better than the text.
    """

    code: str
    values: Mapping[str, str]
    remedy: str = ""


@dataclass(frozen=True)
class Group:
    """The result of a check.

    `note` is the code of the text for a group without findings, if not its name.

    A group that is `counted` has this text beside findings, too. `remarks` are lines below it, and
    `results` the rows of everything that it tried, for the JSON.
    """

    name: str
    findings: Sequence[Finding]
    values: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    counted: bool = False
    remarks: Sequence[Mapping[str, str]] = ()
    results: Sequence[Mapping[str, Any]] = ()


def list_and_count(items: Sequence[str], most: int = 3) -> dict[str, str]:
    """The values `list` and `count` of a sentence, which names a few of many."""
    text = ", ".join(items[:most])
    return {"list": text if len(items) <= most else f"{text}, …", "count": str(len(items))}


class UnreadableError(Exception):
    """A file that exists but cannot be read or has an invalid content; `values` name it in a finding."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(path, why)
        self.values = {"path": path, "why": why}


def read_text(path: str, errors: str = "strict") -> str | None:
    """The text of a file; None where there is none.

    What is no plain file is not opened: a pipe would block.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise UnreadableError(path, "it is not a regular file")
        with open(path, encoding="utf-8-sig", errors=errors, newline="") as handle:
            return handle.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise UnreadableError(path, f"byte {error.start} is not UTF-8") from None
    except (OSError, ValueError) as error:  # ValueError: a path with a null in it
        raise UnreadableError(path, getattr(error, "strerror", None) or str(error)) from None


def assignments(text: str) -> dict[str, str]:
    """Lines like `Version=25.3.rc1` or `Chip Name   : 910B4`: the first of each key, in lower case."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        match = re.match(r"\s*([A-Za-z][\w .-]*?)\s*[=:]\s*(.*?)\s*$", line)
        if match:
            values.setdefault(match[1].lower(), match[2])
    return values


class ProgramResult(NamedTuple):
    """What a program printed, its status (None if it has none), and how it ended: by its last error if any."""

    status: int | None
    output: str
    ending: str


def run_program(
    command: Sequence[str], environ: Mapping[str, str], seconds: int = _SECONDS
) -> ProgramResult:
    """Run a program that the machine or the environment has, for at most so long."""
    try:
        done = subprocess.run(  # noqa: S603
            command,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        output = (error.stdout or b"").decode("utf-8", "replace")
        return ProgramResult(None, output, f"it took more than {seconds // 60} minutes")
    except (OSError, ValueError) as error:
        return ProgramResult(None, "", getattr(error, "strerror", None) or str(error))
    errors = done.stderr.decode("utf-8", "replace").strip().splitlines()
    ending = errors[-1] if errors else f"exit status {done.returncode}"
    if done.returncode < 0:
        names = {
            number.value: number.name for number in signal.Signals
        }  # real-time signals have none
        ending = ": ".join(
            [f"killed by {names.get(-done.returncode, -done.returncode)}", *errors[-1:]]
        )
    return ProgramResult(done.returncode, done.stdout.decode("utf-8", "replace"), ending)
