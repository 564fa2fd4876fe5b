"""A fresh environment on this machine, and a lock's install.sh run in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from tests.functional.workspace import PYTHON_LINE, Run, Workspace

_OURS = Path(sysconfig.get_path("purelib"))
_PIP = [str(path) for path in (_OURS / "pip", *_OURS.glob("pip-*.dist-info"))]

# The environments that an environment makes get their pip by links, too.
_SITECUSTOMIZE = f"""
import sys

if sys.orig_argv[1:3] == ["-m", "venv"]:
    import os, venv

    def link(self, context):
        theirs = os.path.join(context.env_dir, "lib", "python{PYTHON_LINE}", "site-packages")
        for path in {_PIP}:
            os.symlink(path, os.path.join(theirs, os.path.basename(path)))

    venv.EnvBuilder._setup_pip = link
"""


def make_environment(folder: Path, *, ensurepip: bool = False) -> Path:
    """The Python of a virtual environment that holds pip and nothing else.

    pip is a link to that of the tests, as in each environment that this Python makes: ensurepip would take several
    seconds for the same. With `ensurepip` it makes environments as any other Python.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    theirs = folder / "lib" / f"python{PYTHON_LINE}" / "site-packages"
    for path in map(Path, _PIP):
        (theirs / path.name).symlink_to(path)
    # Where a folder holds no file beside those of a distribution, pip removes the folder with it, links and all.
    (theirs / "stays.txt").touch()
    if not ensurepip:
        (theirs / "sitecustomize.py").write_text(_SITECUSTOMIZE)
    return python


def environment(workspace: Workspace, **changes: str) -> dict[str, str]:
    """What a script is told of this machine: no settings of pip but the index, and no CANN."""
    told = workspace.environment(**changes)
    for name in ("PYTHONWARNINGS", "ASCEND_LOCK_CACHE"):
        told.pop(name)
    return told


def install(workspace: Workspace, python: Path | str, *arguments: str, stack: str = "demo", **changes: str) -> Run:
    """Run a lock's install.sh, from another folder than its own."""
    script = workspace.folder(stack) / "install.sh"
    return execute(workspace, [str(script), "--python", str(python), *arguments], **changes)


def execute(workspace: Workspace, command: list[str], **changes: str) -> Run:
    """Run any command where install.sh would run."""
    done = subprocess.run(
        command,
        cwd=workspace.root,
        env=environment(workspace, **changes),
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    return Run(done.returncode, workspace.plain(done.stdout), workspace.plain(done.stderr))


def installed(python: Path) -> Mapping[str, str]:
    """Every distribution of an environment but pip, with its version."""
    code = "import json, importlib.metadata as m; print(json.dumps({d.name: d.version for d in m.distributions()}))"
    command = [str(python), "-I", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={"PATH": os.defpath})
    found: dict[str, str] = json.loads(done.stdout)
    return {name: version for name, version in found.items() if name != "pip"}


def lines(text: str, start: str) -> list[str]:
    """The lines that start so."""
    return [line for line in text.splitlines() if line.startswith(start)]
