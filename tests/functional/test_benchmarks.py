"""The programs in `benchmarks/` run. They use internals that only these tests look after."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.functional.workspace import INTERPRETER, REPOSITORY


def test_scaling_bench_locks_the_same_releases_as_uv(tmp_path: Path) -> None:
    command = [
        sys.executable,
        str(REPOSITORY / "benchmarks" / "scaling.py"),
        "--only",
        "chains:50",
        "--rounds",
        "1",
    ]
    how = {
        "cwd": tmp_path,
        "env": {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **INTERPRETER},
        "timeout": 120,
    }
    done = subprocess.run([*command, "--dry"], capture_output=True, text=True, check=False, **how)
    assert done.returncode == 0, done.stderr
    assert "chains 50: ratio " in done.stdout
    assert ", 50 equal\n" in done.stdout
    assert done.stdout.count("'ended': 'done'") == 2
    assert done.stdout.count("'requests': 100") == 2, "a page and a wheel's metadata each"
