"""The programs in `benchmarks/` still run: they reach into the product, and `make test` is all that would notice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.functional.workspace import INTERPRETER, REPOSITORY, Workspace
from tests.loopback import LoopbackIndex

BENCHMARKS = REPOSITORY / "benchmarks"
NOTING = "import floor, sys; sys.argv[0] = floor.__file__; exec(floor.NOTE)"


def run(arguments: list[str], environment: dict[str, str], folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_cell_of_the_scaling_bench_locks_the_same_releases_as_uv(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **INTERPRETER}
    told = run([str(BENCHMARKS / "scaling.py"), "--only", "chains:50", "--rounds", "1", "--dry"], environment, tmp_path)
    assert "chains 50: ratio " in told
    assert ", 50 equal\n" in told
    assert told.count("'ended': 'done'") == 2
    assert told.count("'requests': 100") == 2, "a page and a wheel's metadata each"


def test_the_floor_notes_each_request_of_a_run_and_sends_it_again(workspace: Workspace, index: LoopbackIndex) -> None:
    names = [f"demo-{number}" for number in range(20)]  # so many that another process would read their pages
    for name in names:
        index.add_wheel(name, "1.0", requires=["numpy>=1"])
    index.add_wheel("numpy", "2.0")
    workspace.stack(*names)
    environment = workspace.environment(PYTHONPATH=str(BENCHMARKS))
    notes = workspace.root / "notes"
    run(["-c", NOTING, str(notes), "lock", "demo"], environment, workspace.root)
    asked = len(index.requests)
    *requests, texts, modules = map(json.loads, notes.read_text("utf-8").splitlines())
    assert len(requests) == asked
    assert {url.rstrip("/").rpartition("/")[2] for url, _ in requests if url.endswith("/")} == {*names, "numpy"}
    assert len(texts["metadata"]) == 21
    assert "numpy>=1" in texts["requirements"]
    assert "msgspec" in modules
    wall, cpu = run([str(BENCHMARKS / "replayed.py"), str(notes)], environment, workspace.root).split()
    assert float(wall) > 0
    assert float(cpu) > 0
    assert len(index.requests) == 2 * asked
