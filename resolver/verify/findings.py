"""What all checks use: their context, their results, and access to files and programs."""

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

from resolver.verify.search_path import SearchPath

# The default limit of a program that is run, and of each module or command that is started.
_PROGRAM_SECONDS = 60
SECONDS_TO_START = 300


class LockedDistribution(NamedTuple):
    """A pin of the lock."""

    # The normalized name.
    name: str
    # With its local part.
    version: str
    # The stage of the installation that installs it, from 1.
    stage: int
    # Whether it is built on this machine, rather than installed from a wheel.
    built: bool = False
    # The hashes of its files. A build from git has none.
    sha256: Sequence[str] = ()
    # The commit that it is built from, if it is from git.
    commit: str = ""
    # Whether it is an editable installation of a checkout.
    editable: bool = False
    # The label of its wheel variant (PEP 825), empty for a plain wheel.
    variant: str = ""
    # A digest of all that determines how it is built, empty if it is not built.
    key: str = ""
    # The variables of its build, as pairs of name and value.
    env: Sequence[tuple[str, str]] = ()
    # The pins that build it, such as `setuptools==80.9.0`.
    tools: Sequence[str] = ()

    @property
    def note(self) -> str:
        """Return what install.sh notes beside it: how it was built, or the hashes of its file."""
        return self.key or " ".join(sorted(self.sha256))


class DriverNeed(NamedTuple):
    """A requirement on the driver."""

    # Who requires it, for people.
    by: str
    # The name of the component that the driver is.
    component: str
    # What is required, for people.
    wanted: str
    # Alternatives. Each is a list of comparisons that must all hold, such as `>=` and `25.0.rc1`.
    ranges: Sequence[Sequence[Sequence[str]]]
    # Whether it is an error if the driver does not meet it; otherwise it is a warning.
    binding: bool
    # Why it is required and who says so, by language.
    reason: Mapping[str, str]


class Excuse(NamedTuple):
    """The modules and commands of a distribution that may fail to start."""

    # The normalized name of the distribution.
    project: str
    modules: Sequence[str]
    # The names of its commands.
    scripts: Sequence[str]
    # Whether they may fail only where there is no accelerator.
    device: bool
    # Why, by language.
    reason: Mapping[str, str]


@dataclass(frozen=True)
class LockedStack:
    """The data of a lock that verify.py contains."""

    # The names of the stack and of its target.
    stack: str
    target: str
    # The system and the processor, such as `linux-aarch64`.
    platform: str
    # Major and minor version of Python, such as `3.11`.
    python: str
    # The oldest glibc that the target has.
    glibc: str
    # The versions of the target's components, such as `cann`, `hdk` and `soc`.
    system: Mapping[str, str] = field(default_factory=dict)
    # By normalized name.
    pins: Mapping[str, LockedDistribution] = field(default_factory=dict)
    # Requirements that the stack overrides: a distribution, its version and the required name.
    overrides: Sequence[Sequence[str]] = ()
    # Modules that must be importable, and the variables to import them with.
    imports: Sequence[str] = ()
    import_env: Mapping[str, str] = field(default_factory=dict)
    # The names of distributions whose files the stack's own steps change.
    rewritten: Sequence[str] = ()
    # Distributions that must not be installed, with the reason.
    absent: Mapping[str, str] = field(default_factory=dict)
    driver: Sequence[DriverNeed] = ()
    # The distributions that the stack itself names. Their commands must start.
    requested: Sequence[str] = ()
    excuses: Sequence[Excuse] = ()
    # The messages of verify.py, by language and code.
    texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # The sha256 of the lock.toml that this was made from.
    digest: str = ""

    @classmethod
    def parse(cls, text: str) -> LockedStack:
        """Read the JSON at the end of verify.py."""
        fields: dict[str, Any] = json.loads(text)
        fields["pins"] = {pin["name"]: LockedDistribution(**pin) for pin in fields["pins"]}
        fields["driver"] = [DriverNeed(**need) for need in fields["driver"]]
        fields["excuses"] = [Excuse(**excuse) for excuse in fields["excuses"]]
        return cls(**fields)


def printable(text: str) -> str:
    """Return the text with everything escaped that a terminal would act on."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode()
        for char in text
    )


def is_shared() -> bool:
    """Return whether this Python is in no virtual or conda environment, as install.sh sees it."""
    if sys.prefix != sys.base_prefix:
        return False
    return not os.path.isdir(f"{sys.prefix}/conda-meta")


def show_nothing(_: str) -> None:
    """Ignore a line of progress."""


@dataclass(frozen=True)
class CheckContext:
    """What every check is given: the lock, the machine's folders, and the options."""

    lock: LockedStack
    # The lock's folder, in which this program lies.
    folder: str
    environ: Mapping[str, str]
    # The folder of CANN and the driver.
    ascend: str = "/usr/local/Ascend"
    # The folder of wheels to name in commands that fix something, empty for none.
    wheelhouse: str = ""
    # Whether to compare the content of every file rather than of a sample.
    full: bool = False
    # The language of messages.
    language: str = "en"
    # The file of verify.py.
    program: str = ""
    # Whether to skip the check that starts every module and command.
    quick: bool = False
    # Whether to check the network between accelerators of several nodes.
    network: bool = False
    # Which checks are made: `all`, `quick`, or those of the `files` or the `machine` alone.
    checks: str = "all"
    # The limit of each start.
    seconds: float = SECONDS_TO_START
    # Called with a line that replaces the one before. An empty line removes it.
    progress: Callable[[str], None] = show_nothing
    # Where Python looks for modules, and what it runs at each start.
    search_path: SearchPath = field(default_factory=SearchPath)

    @property
    def python(self) -> str:
        """Return the environment's Python, quoted for a shell."""
        return shlex.quote(sys.executable)

    @property
    def install_command(self) -> str:
        """Return the command that installs what is missing into this environment."""
        options = ["--python", sys.executable]
        if is_shared():
            options.append("--system")
        return self._install(options)

    @property
    def venv_command(self) -> str:
        """Return the command that makes a new environment for the lock."""
        return f"python{self.lock.python} -m venv env && . env/bin/activate && {self._install([])}"

    def _install(self, options: Sequence[str]) -> str:
        command = ["bash", f"{self.folder}/install.sh", *options]
        if self.wheelhouse:
            command += ["--wheelhouse", self.wheelhouse]
        return shlex.join(command)

    def then_install(self, command: str) -> str:
        """Return a command that removes something, followed by `install_command`.

        Nothing is to be removed from a shared Python: there it is `venv_command`.
        """
        if is_shared():
            return self.venv_command
        return f"{command} && {self.install_command}"

    def reinstall_command(self, *names: str) -> str:
        """Return the command that uninstalls distributions and installs the lock's again."""
        command = f"{self.python} -m pip uninstall -y {shlex.join(names)}"
        if "pip" in names:
            # install.sh needs a pip: the one that Python brings
            command += f" && {self.python} -m ensurepip"
        return self.then_install(command)


@dataclass(frozen=True)
class Finding:
    """A difference from the lock, or something that could not be checked."""

    # The messages about it have this code with `-what`, `-why` and `-mend` appended.
    code: str
    # The values of the placeholders in these messages.
    values: Mapping[str, str]
    # A command that fixes it, to be shown in place of the message `-mend`.
    remedy: str = ""


@dataclass(frozen=True)
class Group:
    """The result of one check."""

    # The name of the check: a message `group-NAME` is its title.
    name: str
    findings: Sequence[Finding]
    # The values of the placeholders in the note.
    values: Mapping[str, str] = field(default_factory=dict)
    # The code of the message for a check without findings, empty for the name of the check.
    note: str = ""
    # Whether the note is shown beside findings, too.
    counted: bool = False
    # The values of further lines, one for each thing that is excused.
    remarks: Sequence[Mapping[str, str]] = ()
    # A row for each thing that was tried, for the JSON.
    results: Sequence[Mapping[str, Any]] = ()
    # What this machine has, by name: nodes of a cluster are compared by it.
    machine: Mapping[str, str] = field(default_factory=dict)


def list_and_count(items: Sequence[str], most: int = 3) -> dict[str, str]:
    """Return the values `list` and `count` of a message, which names the first few of all items."""
    text = ", ".join(items[:most])
    if len(items) > most:
        text += ", …"
    return {"list": text, "count": str(len(items))}


class UnreadableError(Exception):
    """A file exists, but cannot be read or has invalid content."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(path, why)
        # The values of a finding about the file.
        self.values = {"path": path, "why": why}


def read_text(path: str, errors: str = "strict") -> str | None:
    """Return the text of a file, None if there is none. Raises UnreadableError.

    Only regular files are opened: a pipe would block.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise UnreadableError(path, "it is not a regular file")
        with open(path, encoding="utf-8-sig", errors=errors, newline="") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise UnreadableError(path, f"byte {error.start} is not UTF-8") from None
    except OSError as error:
        raise UnreadableError(path, error.strerror or str(error)) from None
    except ValueError as error:
        # a path with a null in it
        raise UnreadableError(path, str(error)) from None


def assignments(text: str) -> dict[str, str]:
    """Return the values in lines like `Version=25.3.rc1` or `Chip Name   : 910B4`.

    Keys are in lower case. Of a repeated key, the first line counts.
    """
    values: dict[str, str] = {}
    for line in text.splitlines():
        match = re.match(r"\s*([A-Za-z][\w .-]*?)\s*[=:]\s*(.*?)\s*$", line)
        if match:
            values.setdefault(match[1].lower(), match[2])
    return values


class ProgramResult(NamedTuple):
    """How a program ended."""

    # The exit status, negative for a signal. None if it did not start or took too long.
    status: int | None
    # What it wrote to standard output.
    output: str
    # The last line of standard error, or else what the status means.
    ending: str


def run_program(
    command: Sequence[str], environ: Mapping[str, str], seconds: int = _PROGRAM_SECONDS
) -> ProgramResult:
    """Run a program of the machine or of the environment, for at most so many seconds."""
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
    except OSError as error:
        return ProgramResult(None, "", error.strerror or str(error))
    except ValueError as error:
        # a null in the command or in a variable
        return ProgramResult(None, "", str(error))
    output = done.stdout.decode("utf-8", "replace")
    return ProgramResult(done.returncode, output, _ending_of(done.returncode, done.stderr))


def _ending_of(status: int, stderr: bytes) -> str:
    """Return the last line of standard error, or what the status means; both for a signal."""
    errors = stderr.decode("utf-8", "replace").strip().splitlines()
    if status >= 0:
        return errors[-1] if errors else f"exit status {status}"
    killed = f"killed by {signal_name(-status)}"
    return f"{killed}: {errors[-1]}" if errors else killed


def signal_name(number: int) -> str:
    """Return the name of a signal; the number of a real-time signal, which has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
