"""How many files a newcomer walks through: `.venv/bin/python -m tests.walk` counts those whose functions are called.

Three walks, over a loopback index: from a requirement line to install.sh (all that locking it
enters), from a page of an index to a pin (what of that lies in `index`, `resolve` and `model`), and
from a refutation to a line of conflict.md (what explaining a conflict enters in `explain`, `report`
and `model`).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Final

from tests.functional.workspace import Workspace
from tests.loopback import LoopbackIndex

ROOT: Final = Path(__file__).parents[1]
_PROFILED: Final = """
import inspect, json, sys, threading
from resolver.cli.commands import status

entered = set()

def enter(frame, event, argument):
    if event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:  # a function, not a module's or class's body
        entered.add(frame.f_code.co_filename)

threading.setprofile(enter)
out = sys.argv.pop()
sys.setprofile(enter)
status()
sys.setprofile(None)
with open(out, "w") as out:
    json.dump(sorted(entered), out)
"""


def main() -> None:
    """Print the number of files of each walk, and with `-v` their names."""
    with tempfile.TemporaryDirectory() as folder, LoopbackIndex() as index:
        index.serve("app 1.0: lib>=1", "lib 1.0 2.0")
        workspace = Workspace(Path(folder) / "walk", index)
        workspace.stack("app")
        locking = _entered(workspace, "lock", "demo")
        workspace.stack("app", "lib<1", name="conflict")
        explaining = _entered(workspace, "explain", "conflict")
    _tell("requirement line -> install.sh", locking)
    _tell("page -> pin", _within(locking, "index", "resolve", "model"))
    _tell("refutation -> line of conflict.md", _within(explaining, "explain", "report", "model"))


def _entered(workspace: Workspace, command: str, stack: str) -> list[str]:
    """The files of the package of which the command called a function."""
    out = workspace.root / "entered.json"
    subprocess.run(
        [sys.executable, "-c", _PROFILED, command, stack, str(out)],
        cwd=workspace.root,
        env={**workspace.environment(), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    )
    package = ROOT / "resolver"
    return [
        str(path.relative_to(package))
        for name in json.loads(out.read_text(encoding="utf-8"))
        if package in (path := Path(name)).parents
    ]


def _within(entered: Collection[str], *folders: str) -> list[str]:
    return [name for name in entered if name.split("/")[0] in folders]


def _tell(walk: str, entered: Collection[str]) -> None:
    print(f"{len(entered):4} files: {walk}")
    if "-v" in sys.argv[1:]:
        print(*(f"       {name}" for name in entered), sep="\n")


if __name__ == "__main__":
    main()
