"""Memory is bounded whatever an index sends: measured on the command as it runs."""

from __future__ import annotations

import gzip
import subprocess
import sys

import pytest

from tests.functional.workspace import COMMAND
from tests.hostile.scene import Scene
from tests.loopback import JSON, Response

MIB = 1 << 20
# A child counts the peak of whoever started it as its own; so a process that has none starts the command.
MEASURED = """
import os, sys
_, code, usage = os.wait4(os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:]), 0)
print("peak", usage.ru_maxrss >> 10)
sys.exit(os.waitstatus_to_exitcode(code))
"""
ROW = b'{"filename":"","url":""},'


def page(rows: int) -> bytes:
    """The shortest page of so many files."""
    return b'{"meta":{"api-version":"1.1"},"name":"demo","files":[' + (ROW * rows)[:-1] + b"]}"


SIXTEEN = 16 * 32 + 100  # as many pages may be held at once, each of that size at most


@pytest.mark.parametrize(
    ("projects", "body", "headers", "mebibytes"),
    [
        pytest.param(
            16, gzip.compress(bytes(MIB), 9) * 1024, {"Content-Encoding": "gzip"}, SIXTEEN, id="a bomb in each page"
        ),
        pytest.param(4, page(190_000), {}, 400, id="190,000 files in each page"),
        pytest.param(
            6,
            gzip.compress(page(1).replace(b'"url"', b'"size":"x","z":[' + b'"a",' * 8_000_000 + b'0],"url"'), 9),
            {"Content-Encoding": "gzip"},
            400,
            id="a file with eight million values in each page",
        ),
        pytest.param(
            16,
            gzip.compress(b"<!DOCTYPE html><a " + b"a " * 15_000_000 + b">", 9),
            {"Content-Encoding": "gzip", "Content-Type": "text/html"},
            SIXTEEN,
            id="a tag of fifteen million attributes in each page",
        ),
        pytest.param(
            4,
            gzip.compress(b"<!DOCTYPE html>" + (b"<a " + b"a " * 30_000 + b">") * 150, 9),
            {"Content-Encoding": "gzip", "Content-Type": "text/html"},
            400,
            id="four million attributes in each page",
        ),
    ],
)
def test_memory_is_bounded(scene: Scene, projects: int, body: bytes, headers: dict[str, str], mebibytes: int) -> None:
    """So many projects at once, each with such a page."""
    workspace = scene.workspace
    workspace.stack(*(f"demo{number}" for number in range(projects)))
    for number in range(projects):
        named = body.replace(b'"demo"', b'"demo%d"' % number)
        scene.index.add_wheel(f"demo{number}", "1.0")
        scene.index.fault(
            f"/simple/*/demo{number}/", lambda _, named=named: Response(200, named, {"Content-Type": JSON, **headers})
        )
    run = subprocess.run(
        [sys.executable, "-c", MEASURED, str(COMMAND), "lock", "demo"],
        cwd=workspace.root,
        env=workspace.environment(**scene.variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    assert run.returncode in (1, 3), run.stdout
    assert int(run.stdout.rpartition("peak ")[2]) < mebibytes
