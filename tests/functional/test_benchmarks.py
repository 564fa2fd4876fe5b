"""The programs in `benchmarks/` still run: they reach into the product, and `make test` is all that would notice."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.functional.workspace import INTERPRETER, REPOSITORY

BENCHMARKS = REPOSITORY / "benchmarks"


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
