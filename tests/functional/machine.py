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


def make_environment(folder: Path) -> Path:
    """The Python of a virtual environment that holds pip and nothing else.

    pip is a link to that of the tests: ensurepip would take several seconds for the same.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    ours = Path(sysconfig.get_path("purelib"))
    theirs = folder / "lib" / f"python{PYTHON_LINE}" / "site-packages"
    for path in (ours / "pip", *ours.glob("pip-*.dist-info")):
        (theirs / path.name).symlink_to(path)
    # Where a folder holds no file beside those of a distribution, pip removes the folder with it, links and all.
    (theirs / "stays.txt").touch()
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
