"""Find the environment that a command is about, and read which distributions it has."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from resolver.errors import InputError
from resolver.phrase import cause, phrase
from resolver.report.removal import JOURNAL

# Folders in the current folder that may be environments.
_FOLDERS: Final = ("env", ".venv")
# The Python in the folder of an environment.
_PYTHON: Final = Path("bin") / "python"
# The environment's Python runs this program without `site`, which would run code of installed
# packages (`.pth` files, sitecustomize). Only metadata is read.
_READ: Final = r"""
import json, os, re, stat, sys, sysconfig
try:
    from importlib.metadata import distributions
except ImportError:  # before Python 3.8, which no lock is for
    distributions = lambda path: ()

prefix = os.path.dirname(os.path.dirname(os.path.abspath(sys.executable)))
is_virtual = any(
    os.path.exists(os.path.join(prefix, name)) for name in ("pyvenv.cfg", "conda-meta")
)
if not is_virtual:
    prefix = sys.prefix
# A name of any other form is not passed to pip, which could take it for an option.
is_name = re.compile("[a-z0-9]([a-z0-9-]*[a-z0-9])?").fullmatch
scheme = "venv" if "venv" in sysconfig.get_scheme_names() else "posix_prefix"
bases = {"base": prefix, "platbase": prefix}
paths = {sysconfig.get_path(name, scheme, bases) for name in ("purelib", "platlib")}
installed = []
for found in distributions(path=sorted(paths)):
    try:
        name = re.sub(r"[-_.]+", "-", found.metadata["Name"]).lower()
        record = found.read_text("RECORD") or ""
        noted = re.search(r"(?m)^([^/\n\"]+\.dist-info/ascend-lock\.txt),", record)
        note = (found.read_text("ascend-lock.txt") or "").strip() if noted else ""
        row = {"name": name, "version": str(found.version), "note": note}
        row["note_file"] = str(found.locate_file(noted[1])) if noted else ""
        row["installer"] = (found.read_text("INSTALLER") or "").strip()
    except Exception:  # half written, which the installation mends
        continue
    if is_name(name):
        installed.append(row)
try:
    # a link or a pipe is none of ours
    how = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    journal = os.open(os.path.join(prefix, sys.argv[1]), how)
    with open(journal, encoding="utf-8") as file:
        if not stat.S_ISREG(os.fstat(journal).st_mode):
            raise OSError
        unfinished = [name for name in file.read().split() if is_name(name)]
except (OSError, UnicodeDecodeError):
    unfinished = []
try:
    with open(os.path.join(prefix, "pyvenv.cfg"), encoding="utf-8") as file:
        shared = re.search(r"(?mi)^include-system-site-packages\s*=\s*true", file.read())
except (OSError, UnicodeDecodeError):
    shared = None
pips = [os.path.join(path, "pip", "__init__.py") for path in paths]
json.dump({
    "prefix": prefix,
    "python": "%d.%d" % sys.version_info[:2],
    "is_virtual": is_virtual,
    "has_pip": bool(shared) or any(map(os.path.exists, pips)),
    "installed": installed,
    "unfinished": unfinished,
}, sys.stdout)
"""
_HINT: Final = phrase("make one: python3 -m venv env; or name its Python: --python PATH")


class InstalledRow(msgspec.Struct, frozen=True):
    """A distribution in an environment."""

    # The normalized name.
    name: str
    # The version in its metadata.
    version: str
    # The note that install.sh left about its file or build; empty if something else installed it.
    note: str
    # The path of that note; empty without a note.
    note_file: str
    # What installed it, such as `pip` or `conda`.
    installer: str


class Environment(msgspec.Struct, frozen=True):
    """An environment, as its own Python describes it."""

    # The folder of the environment.
    prefix: str
    # The version of its Python, such as `3.11`.
    python: str
    # Whether it is an environment, and not the Python of a system.
    is_virtual: bool
    # Whether pip can be imported in it, also from the system's site-packages.
    has_pip: bool
    # What is installed, in no order.
    installed: tuple[InstalledRow, ...]
    # The names of distributions whose removal a killed run has begun.
    unfinished: tuple[str, ...]

    @property
    def is_own(self) -> bool:
        """Return whether ascend-lock itself runs in this environment."""
        # Pythons of several versions may share the prefix of a system.
        is_ours = self.python == f"{sys.version_info.major}.{sys.version_info.minor}"
        return is_ours and os.path.realpath(self.prefix) == os.path.realpath(sys.prefix)


def environment_python(option: str | None) -> Path:
    """Return the named Python, or the Python of the active environment, ./env or ./.venv.

    The folder of an environment may be named in place of its Python. The environment of ascend-lock
    itself is skipped. Raises InputError if there is no environment.
    """
    if option is not None:
        # The link must not be resolved: it is what makes this the Python of an environment.
        path = Path(option).absolute()
        return path / _PYTHON if path.is_dir() else path
    for folder in _folders():
        python = folder / _PYTHON
        if python.is_file() and folder.resolve() != Path(sys.prefix).resolve():
            return python.absolute()
    raise InputError(
        phrase("there is no environment"),
        where=str(Path.cwd()),
        why=phrase("None is active, and neither ./env nor ./.venv is one."),
        hint=phrase(
            "{hint}; the machine alone is checked by {command}",
            hint=_HINT,
            command="ascend-lock verify STACK --machine",
        ),
    )


def _folders() -> Iterator[Path]:
    """Yield the folders that may be the environment, in the order in which they are tried."""
    active = os.environ.get("VIRTUAL_ENV")
    if active:
        yield Path(active)
    # conda's base environment is often active although the user did not choose it.
    conda = os.environ.get("CONDA_PREFIX")
    if conda and os.environ.get("CONDA_DEFAULT_ENV") != "base":
        yield Path(conda)
    yield from map(Path, _FOLDERS)


def read_environment(python: Path) -> Environment:
    """Return what an environment's Python says about it. No code of installed packages is run.

    Raises InputError if the Python cannot be run, or if it is the one of ascend-lock itself.
    """
    command = [str(python), "-I", "-S", "-c", _READ, JOURNAL]
    try:
        done = subprocess.run(  # noqa: S603  the Python that the user named
            command, stdin=subprocess.DEVNULL, capture_output=True, check=True
        )
        environment = msgspec.json.decode(done.stdout, type=Environment)
    except OSError as error:
        message = phrase("the environment's Python cannot be run")
        raise InputError(message, where=str(python), why=cause(error), hint=_HINT) from None
    except (subprocess.CalledProcessError, msgspec.DecodeError):
        message = phrase("the environment's Python cannot be run")
        raise InputError(message, where=str(python), hint=_HINT) from None
    if environment.is_own:
        raise InputError(
            phrase("ascend-lock itself runs in this environment"),
            where=environment.prefix,
            why=phrase("The lock does not have ascend-lock, nor what it needs."),
            hint=_HINT,
        )
    return environment


def require_virtual(environment: Environment, python: Path) -> None:
    """Raise InputError if an environment must not be changed, because it is a system's Python."""
    if not environment.is_virtual:
        raise InputError(
            phrase("this Python is no environment: others use what is installed there"),
            where=str(python),
            hint=_HINT,
        )
