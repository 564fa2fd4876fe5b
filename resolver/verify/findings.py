"""Define the context and the results of checks, and functions to read files and run programs."""

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

# The default time limit of a program that is run.
_PROGRAM_SECONDS = 60
# The normalized name of a project.
_NAME = re.compile("[a-z0-9]([a-z0-9-]*[a-z0-9])?")
# The default time limit of each module or command that is started.
SECONDS_TO_START = 300


class LockedDistribution(NamedTuple):
    """A pin of the lock: a distribution that should be installed."""

    # The normalized name.
    name: str
    # The version, with its local part.
    version: str
    # The number of the stage in which install.sh installs it, from 1.
    stage: int
    # True if it is built on this machine, False if it is installed from a wheel.
    built: bool = False
    # The sha256 of its files. A build from git has none.
    sha256: Sequence[str] = ()
    # The commit from which it is built; empty if it is not from git.
    commit: str = ""
    # Whether it is an editable installation of a checkout.
    editable: bool = False
    # The label of its wheel variant (PEP 825); empty for a wheel without variant.
    variant: str = ""
    # A digest of everything that determines its build; empty if it is not built.
    key: str = ""
    # The environment variables of its build, as pairs of name and value.
    env: Sequence[tuple[str, str]] = ()
    # The tools that build it, such as `setuptools==80.9.0`.
    tools: Sequence[str] = ()

    @property
    def note(self) -> str:
        """Return the text that install.sh writes beside the metadata of the distribution.

        It is the key of the build, or the sha256 of the files if it is not built.
        """
        return self.key or " ".join(sorted(self.sha256))


class DriverNeed(NamedTuple):
    """A requirement on the driver."""

    # The project with its version, or the stack, that has the requirement, for messages.
    by: str
    # The name of the component that stands for the driver.
    component: str
    # The requirement as a text, for messages.
    wanted: str
    # Alternatives, of which one must hold. Each is a list of comparisons, which must all hold. A
    # comparison is a pair such as `>=` and `25.0.rc1`.
    ranges: Sequence[Sequence[Sequence[str]]]
    # True if a driver that does not meet it is an error, False if it is worth a warning.
    binding: bool
    # The reason and its source, by language.
    reason: Mapping[str, str]


class Excuse(NamedTuple):
    """A fact that allows modules and commands of a distribution to fail when they are started."""

    # The normalized name of the distribution.
    project: str
    # The names of the modules.
    modules: Sequence[str]
    # The names of the commands.
    scripts: Sequence[str]
    # True if they may fail only on a machine without an accelerator.
    device: bool
    # The reason, by language.
    reason: Mapping[str, str]


@dataclass(frozen=True)
class LockedStack:
    """The data of a lock that verify.py contains."""

    # The name of the stack.
    stack: str
    # The name of the target.
    target: str
    # The system and the processor, such as `linux-aarch64`.
    platform: str
    # Major and minor version of Python, such as `3.11`.
    python: str
    # The oldest version of glibc on machines of the target.
    glibc: str
    # The values of the target's components, such as `cann`, `hdk` and `soc`, by name.
    system: Mapping[str, str] = field(default_factory=dict)
    # The pins by normalized name.
    pins: Mapping[str, LockedDistribution] = field(default_factory=dict)
    # The requirements that the lock ignores. Each has the name and the version of the distribution
    # with the requirement, and the name of the required project.
    overrides: Sequence[Sequence[str]] = ()
    # Modules that must be importable.
    imports: Sequence[str] = ()
    # The environment variables with which modules are imported.
    import_env: Mapping[str, str] = field(default_factory=dict)
    # The names of distributions whose files are changed by builds of other pins of the lock.
    rewritten: Sequence[str] = ()
    # The names of distributions that must not be installed, each with the reason.
    absent: Mapping[str, str] = field(default_factory=dict)
    # The requirements on the driver.
    driver: Sequence[DriverNeed] = ()
    # The names of the distributions that lines of the stack require. Their commands must start.
    requested: Sequence[str] = ()
    # The modules and commands that may fail to start.
    excuses: Sequence[Excuse] = ()
    # The messages of verify.py, by language and code.
    texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # The sha256 of the lock.toml from which verify.py was made.
    digest: str = ""

    @classmethod
    def parse(cls, text: str) -> LockedStack:
        """Return the data in the JSON at the end of verify.py."""
        fields: dict[str, Any] = json.loads(text)
        fields["pins"] = {pin["name"]: LockedDistribution(**pin) for pin in fields["pins"]}
        fields["driver"] = [DriverNeed(**need) for need in fields["driver"]]
        fields["excuses"] = [Excuse(**excuse) for excuse in fields["excuses"]]
        return cls(**fields)


def printable(text: str) -> str:
    """Return a text with all characters escaped that do not print, such as control characters."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode()
        for char in text
    )


def is_shared() -> bool:
    """Return whether this Python is neither in a virtual nor in a conda environment.

    Such a Python is shared with other programs. install.sh decides by the same rule.
    """
    if sys.prefix != sys.base_prefix:
        return False
    return not os.path.isdir(f"{sys.prefix}/conda-meta")


def show_nothing(_: str) -> None:
    """Ignore a line of progress, which is the default for `CheckContext.progress`."""


@dataclass(frozen=True)
class CheckContext:
    """The input of every check: the lock, folders of the machine, and options of the command."""

    lock: LockedStack
    # The folder of the lock, which contains verify.py.
    folder: str
    # The environment variables of the user.
    environ: Mapping[str, str]
    # The folder of CANN and the driver.
    ascend: str = "/usr/local/Ascend"
    # The folder of the lock that shown commands use; empty if this machine has none yet. It is
    # `folder` if that is None.
    shown_folder: str | None = None
    # The folder with wheels that shown commands use; empty for none.
    wheelhouse: str = ""
    # True to compare every file with its hash, False to compare a sample.
    full: bool = False
    # The language of messages.
    language: str = "en"
    # The path of verify.py.
    program: str = ""
    # True to skip the check that starts every module and command.
    quick: bool = False
    # True to check the network between the accelerators of several nodes.
    network: bool = False
    # The checks to make: `all`, `full`, `quick`, `quick+full`, or only those of the `files` or
    # of the `machine`.
    checks: str = "all"
    # The time limit for starting one module or command.
    seconds: float = SECONDS_TO_START
    # Called with a line that replaces the previous line on the terminal. An empty line removes it.
    progress: Callable[[str], None] = show_nothing
    # Where Python looks for modules, and which files it runs when it starts.
    search_path: SearchPath = field(default_factory=SearchPath)
    # The `python` of --python and the `reason` why it cannot be run; None if it can.
    unusable_python: Mapping[str, str] | None = None

    @property
    def python(self) -> str:
        """Return the path of the environment's Python, quoted for a shell."""
        return shlex.quote(sys.executable)

    @property
    def install_command(self) -> str:
        """Return the shell command that installs the lock into this environment."""
        options = ["--python", sys.executable]
        if is_shared():
            options.append("--system")
        return self._install(options)

    @property
    def venv_command(self) -> str:
        """Return the shell command that makes a new virtual environment and installs the lock."""
        return f"python{self.lock.python} -m venv env && . env/bin/activate && {self._install([])}"

    def _install(self, options: Sequence[str]) -> str:
        """Return the shell command that runs install.sh with these options."""
        folder = self.folder if self.shown_folder is None else self.shown_folder
        command = ["bash", f"{folder}/install.sh", *options]
        if self.wheelhouse:
            command += ["--wheelhouse", self.wheelhouse]
        return shlex.join(command)

    def then_install(self, command: str) -> str:
        """Return a shell command that removes something, followed by `install_command`.

        For a shared Python, from which nothing should be removed, return `venv_command` instead.
        """
        if is_shared():
            return self.venv_command
        return f"{command} && {self.install_command}"

    def uninstall_command(self, *names: str, asks: bool = False) -> str:
        """Return the shell command that uninstalls distributions; with `asks`, pip asks before.

        Empty if one of them has no name of a project in its metadata: pip could take it for an
        option, such as `-rhttp://…`.
        """
        if not all(map(is_project_name, names)):
            return ""
        option = "" if asks else " -y"
        return f"{self.python} -m pip uninstall{option} {shlex.join(names)}"

    def reinstall_command(self, *names: str) -> str:
        """Return the shell command that uninstalls distributions and then runs install.sh.

        For a name that is none of a project, return the one that makes a new environment.
        """
        command = self.uninstall_command(*names)
        if not command:
            return self.venv_command
        if "pip" in names:
            # install.sh needs a pip, so the one that comes with Python is installed
            command += f" && {self.python} -m ensurepip"
        return self.then_install(command)


def is_project_name(text: str) -> bool:
    """Return whether a text is the normalized name of a project.

    The metadata of a distribution may have any other text as its name, also an option of pip.
    """
    return _NAME.fullmatch(text) is not None


@dataclass(frozen=True)
class Finding:
    """A difference from the lock, or something that could not be checked."""

    # Identifies the kind of finding. Its messages have this code with -what, -why or -mend
    # appended.
    code: str
    # The values of the placeholders in these messages.
    values: Mapping[str, str]
    # A shell command that fixes it, which is shown in place of the message `-mend`. Empty if that
    # message is shown.
    remedy: str = ""


@dataclass(frozen=True)
class Group:
    """The result of one check."""

    # The name of the check. Its title is the message `group-NAME`.
    name: str
    # What is wrong; empty if the check succeeded.
    findings: Sequence[Finding]
    # The values of the placeholders in the note.
    values: Mapping[str, str] = field(default_factory=dict)
    # The note is the message `note-NOTE`, which is shown if there are no findings. Empty stands for
    # the name of the check.
    note: str = ""
    # True if the note is shown even if there are findings.
    counted: bool = False
    # The values of a line for each module or command that may fail and did (`Excuse`).
    remarks: Sequence[Mapping[str, str]] = ()
    # An object for each module or command that was started, for the JSON report.
    results: Sequence[Mapping[str, Any]] = ()
    # Values of this machine by name. The nodes of a cluster are compared by them.
    machine: Mapping[str, str] = field(default_factory=dict)


def list_and_count(items: Sequence[str], most: int = 3) -> dict[str, str]:
    """Return values for a message: `list` has the first items, `count` the number of all items."""
    text = ", ".join(items[:most])
    if len(items) > most:
        text += ", …"
    return {"list": text, "count": str(len(items))}


class UnreadableError(Exception):
    """A file exists, but cannot be read or has invalid content."""

    def __init__(self, path: str, why: str) -> None:
        """Give the path of the file, and the reason as an English clause."""
        super().__init__(path, why)
        # The values of the messages of a finding about the file.
        self.values = {"path": path, "why": why}


def read_text(path: str, errors: str = "strict") -> str | None:
    """Return the text of a file in UTF-8; None if there is no file.

    Raises UnreadableError if it cannot be read. Only regular files are read, since a pipe would
    block.
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
        # the path contains a zero byte
        raise UnreadableError(path, str(error)) from None


def assignments(text: str) -> dict[str, str]:
    """Return the values of keys in lines such as `Version=25.3.rc1` or `Chip Name   : 910B4`.

    The keys of the result are in lower case. If a key is repeated, its first line counts.
    """
    values: dict[str, str] = {}
    for line in text.splitlines():
        match = re.match(r"\s*([A-Za-z][\w .-]*?)\s*[=:]\s*(.*?)\s*$", line)
        if match:
            values.setdefault(match[1].lower(), match[2])
    return values


class ProgramResult(NamedTuple):
    """The result of running a program."""

    # The exit status; the negative number of the signal that killed it. None if it could not be
    # started, or exceeded the time limit.
    status: int | None
    # The text that it wrote to standard output.
    output: str
    # A text for messages: the last line of standard error, or else a description of the status.
    ending: str


def run_program(
    command: Sequence[str], environ: Mapping[str, str], seconds: int = _PROGRAM_SECONDS
) -> ProgramResult:
    """Run a program of the machine or of the environment, and return its result.

    It is killed after `seconds`. Nothing is raised if it cannot be started.
    """
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
        # the command or a variable contains a zero byte
        return ProgramResult(None, "", str(error))
    output = done.stdout.decode("utf-8", "replace")
    return ProgramResult(done.returncode, output, _ending_of(done.returncode, done.stderr))


def _ending_of(status: int, stderr: bytes) -> str:
    """Return the last line of standard error, or a description of the status if it is empty.

    For a program that was killed by a signal, return both.
    """
    errors = stderr.decode("utf-8", "replace").strip().splitlines()
    if status >= 0:
        return errors[-1] if errors else f"exit status {status}"
    killed = f"killed by {signal_name(-status)}"
    return f"{killed}: {errors[-1]}" if errors else killed


def signal_name(number: int) -> str:
    """Return the name of a signal, such as `SIGKILL`; its number if it has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
