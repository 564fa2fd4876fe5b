"""A fresh environment on this machine, and a lock's install.sh run in it."""

from __future__ import annotations

import os
import sysconfig
import venv
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from tests.functional.workspace import PYTHON_LINE, Run, Workspace

_OURS = Path(sysconfig.get_path("purelib"))
_PIP = [str(path) for path in (_OURS / "pip", *_OURS.glob("pip-*.dist-info"))]

# A tool that any environment may have, to which the files below belong.
_OWNER = "wheel"
_OWNER_VERSION = "0"
# What setuptools runs at each start, which verify.py knows, and the module that this imports.
_SHIM = (
    "import os; var = 'SETUPTOOLS_USE_DISTUTILS'; enabled = os.environ.get(var, 'local') == 'local';"
    " enabled and __import__('_distutils_hack').add_shim(); \n"
)
_SHIM_FILE = "distutils-precedence.pth"
_HACK_FILE = "_distutils_hack.py"
# Environments made by an environment get pip through links, too.
_HACK = f"""
import sys

def add_shim():
    pass

if sys.orig_argv[1:4] == ["-I", "-m", "venv"]:
    import os, venv

    def link(self, context):
        theirs = os.path.join(context.env_dir, "lib", "python{PYTHON_LINE}", "site-packages")
        for path in {_PIP}:
            os.symlink(path, os.path.join(theirs, os.path.basename(path)))

    venv.EnvBuilder._setup_pip = link
"""


def make_environment(folder: Path, *, ensurepip: bool = False) -> Path:
    """The Python of a virtual environment with pip and nothing else.

    pip is a link to that of the tests, as in each environment made by this Python, since ensurepip
    would take several seconds. With `ensurepip` it makes environments like any other Python.
    """
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    theirs = site_packages(python)
    for path in map(Path, _PIP):
        (theirs / path.name).symlink_to(path)
    # If a folder has no files except those of a distribution, pip removes the folder, including
    # links, with it.
    (theirs / "stays.txt").touch()
    if not ensurepip:
        (theirs / _SHIM_FILE).write_text(_SHIM)
        (theirs / _HACK_FILE).write_text(_HACK)
        put(python, {_OWNER: _OWNER_VERSION}, _SHIM_FILE, _HACK_FILE)
    return python


def environment(workspace: Workspace, **changes: str) -> dict[str, str]:
    """The environment of a script: no pip settings except the index, and no CANN."""
    told = workspace.environment(**changes)
    for name in ("PYTHONWARNINGS", "ASCEND_LOCK_CACHE"):
        told.pop(name)
    return told


def install(
    workspace: Workspace, python: Path | str, *arguments: str, stack: str = "demo", **changes: str
) -> Run:
    """Run a lock's install.sh from another folder."""
    script = workspace.folder(stack) / "install.sh"
    return execute(workspace, [str(script), "--python", str(python), *arguments], **changes)


def execute(workspace: Workspace, command: list[str], **changes: str) -> Run:
    """Run any command where install.sh would run."""
    return workspace.finish(workspace.begin(command, env=environment(workspace, **changes)))


def npu_smi(workspace: Workspace, driver: str = "", chip: str = "") -> str:
    """Return a PATH with a tool that knows a driver, as in a container with devices, or a chip.

    `info -m` also has a row for the management controller, which is no NPU.
    """
    tool = workspace.root / "tools" / "npu-smi"
    tool.parent.mkdir(exist_ok=True)
    tool.write_text(f"""#!/bin/bash
case "$*" in
"info -m") echo '  2  0  0  Ascend'; echo '  2  1  -  Mcu' ;;
"info -t board -i 2") echo 'Software Version : {driver}' ;;
"info -t board -i 2 -c 0") echo 'Chip Type : Ascend'; echo 'Chip Name : {chip}' ;;
*) exit 1 ;;
esac
""")
    tool.chmod(0o755)
    return f"{tool.parent}:{os.environ['PATH']}"


def site_packages(python: Path) -> Path:
    """The folder of an environment's distributions."""
    return python.parents[1] / "lib" / f"python{PYTHON_LINE}" / "site-packages"


def put(python: Path, pins: dict[str, str], *files: str, note: str = "") -> None:
    """Records of distributions as if they were installed, each with these files.

    With a `note` they are so as if install.sh had installed them.
    """
    for name, version in pins.items():
        folder = site_packages(python) / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        (folder / "INSTALLER").write_text("pip\n")
        names = ["METADATA", "INSTALLER", "RECORD"]
        if note:
            (folder / "ascend-lock.txt").write_text(f"{note}\n")
            names.append("ascend-lock.txt")
        paths = [*files, *(f"{folder.name}/{part}" for part in names)]
        (folder / "RECORD").write_text("".join(f"{path},,\n" for path in paths))


def installed(python: Path) -> Mapping[str, str]:
    """Every distribution of an environment except pip, with its version."""
    found = {
        one.name: one.version for one in metadata.distributions(path=[str(site_packages(python))])
    }
    assert found.pop("pip"), "an environment has pip"
    if found.get(_OWNER) == _OWNER_VERSION:
        found.pop(_OWNER)
    return found


def lines(text: str, start: str) -> list[str]:
    """The lines that start so."""
    return [line for line in text.splitlines() if line.startswith(start)]
