"""Memory is bounded whatever an index sends: measured on the command as it runs."""

from __future__ import annotations

import gzip
import lzma
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from resolver.toml import IMPORTED, LOCK, MATRICES, SOURCE_TREE, STACK, Limits
from tests.functional.workspace import COMMAND
from tests.hostile.attacks import archive, tar
from tests.hostile.scene import Scene
from tests.loopback import JSON, Response

MIB = 1 << 20
# A child counts the peak of whoever started it as its own; so a process that has none starts the
# command.
MEASURED = """
import os, sys
_, code, usage = os.wait4(os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:]), 0)
print("peak", usage.ru_maxrss >> 10)
sys.exit(os.waitstatus_to_exitcode(code))
"""
ROW = b'{"filename":"","url":""},'


def page(rows: int) -> bytes:
    """Return the shortest page with so many files."""
    return b'{"meta":{"api-version":"1.1"},"name":"demo","files":[' + (ROW * rows)[:-1] + b"]}"


SIXTEEN = 16 * 32 + 100  # as many pages may be held at once, each of that size at most


@pytest.mark.parametrize(
    ("projects", "body", "headers", "mebibytes"),
    [
        pytest.param(
            16,
            gzip.compress(bytes(MIB), 9) * 1024,
            {"Content-Encoding": "gzip"},
            SIXTEEN,
            id="a bomb in each page",
        ),
        pytest.param(4, page(100_000), {}, 400, id="100,000 files in each page"),
        pytest.param(
            16,
            gzip.compress(page(0).replace(b"[]", b"[" + b"0," * (15 * MIB) + b"0]"), 9),
            {"Content-Encoding": "gzip"},
            SIXTEEN,
            id="fifteen million numbers in place of files in each page",
        ),
        pytest.param(
            6,
            gzip.compress(
                page(1).replace(b'"url"', b'"size":"x","z":[' + b'"a",' * 8_000_000 + b'0],"url"'),
                9,
            ),
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
def test_memory_is_bounded(
    scene: Scene, projects: int, body: bytes, headers: dict[str, str], mebibytes: int
) -> None:
    """So many projects at once, each with such a page."""
    workspace = scene.workspace
    workspace.stack(*(f"demo{number}" for number in range(projects)))
    for number in range(projects):
        named = body.replace(b'"demo"', b'"demo%d"' % number)
        scene.index.add_wheel(f"demo{number}", "1.0")
        scene.index.fault(
            f"/simple/*/demo{number}/",
            lambda _, named=named: Response(200, named, {"Content-Type": JSON, **headers}),
        )
    status, told, peak = measured(scene, "lock", "demo")
    assert status in (1, 3), told
    assert peak < mebibytes


def measured(scene: Scene, *arguments: str) -> tuple[int, str, int]:
    """Return the exit status of a command, its output, and its peak memory in MiB."""
    run = subprocess.run(
        [sys.executable, "-c", MEASURED, str(COMMAND), *arguments],
        cwd=scene.workspace.root,
        env=scene.workspace.environment(**scene.variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    told, _, peak = run.stdout.rpartition("peak ")
    return run.returncode, told, int(peak)


# --- pages of JSON: each type of value, in each place, as often as 32 MiB have it or as is allowed

READ = """
import sys
from pathlib import Path
from resolver.errors import IndexFailure
from resolver.index.parse.simple import parse
body = Path(sys.argv[1]).read_bytes()
try:
    page = parse(body, "application/json", project="demo", index="pypi", url="https://index.example/demo/")
    print("read", len(page.rejections) + sum(map(len, page.releases.values())))
except IndexFailure as error:
    print("refused", error.why)
"""
VALUES = {
    "numbers": b"0",
    "floats": b"0.5",
    "texts": b'""',
    "texts of one letter": b'"\xc3\xa4"',
    "nulls": b"null",
    "lists": b"[]",
    "objects": b"{}",
    "lists in lists": b"[[[[]]]]",
    "objects in objects": b'{"a":{"a":{}}}',
    "files": b'{"filename":""}',
    "named files": b'{"filename":"demo-1.0.tar.gz"}',
    "files with all keys": (
        b'{"filename":"","url":"","hashes":{"sha256":""},"requires-python":"",'
        b'"yanked":"","upload-time":"","core-metadata":{},"dist-info-metadata":{}}'
    ),
    "files that are odd": b'{"filename":"","url":0,"hashes":{"sha256":""}}',
}
PLACES = {
    "files": b'"files":[%s]',
    "a key that is not needed": b'"files":[],"x":[%s]',
    "a key of meta": b'"meta":{"api-version":"1.1","x":[%s]},"files":[]',
    "a file": b'"files":[{"filename":"demo-1.0.tar.gz","x":[%s]}]',
    "a file that is odd": b'"files":[{"filename":"demo-1.0.tar.gz","url":0,"x":[%s]}]',
    "hashes": b'"files":[{"filename":"demo-1.0.tar.gz","hashes":{"x":[%s]}}]',
    "an address": b'"files":[{"filename":"demo-1.0.tar.gz","url":[%s]}]',
    "a name": b'"name":[%s],"files":[]',
    "a status": b'"project-status":[%s],"files":[]',
}
PAGE = b'{"meta":{"api-version":"1.1"},"name":"demo",%s}'
PARSED = 64  # MiB besides the page itself, for what is no release
LISTED = 320  # for the most releases that a page can have, in characters of four bytes
DISTINCT = {
    "short": '{{"filename":"demo-1.{0}.tar.gz"}}',
    "long": '{{"filename":"demo-1.{0}.tar.gz","url":"/' + "a" * 220 + '{0}","yanked":"{0}"}}',
    "long, and not ASCII": '{{"filename":"demo-1.{0}.tar.gz","url":"/'
    + "a" * 220
    + '\U0001f600","yanked":"{0}"}}',
}


def parsed(tmp_path: Path, body: bytes) -> tuple[str, int]:
    """Return what comes of a page, and the most memory that takes besides it, in MiB."""
    path = tmp_path / "page"
    path.write_bytes(body[: 32 * MIB])
    command = [sys.executable, "-c", MEASURED, sys.executable, "-c", READ, str(path)]
    run = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    told, peak = run.stdout.splitlines()
    return told, int(peak.removeprefix("peak ")) - (path.stat().st_size >> 20)


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("is_full", [False, True], ids=["at the limit", "32 MiB"])
def test_memory_for_files_of_page_is_bounded(tmp_path: Path, value: str, is_full: bool) -> None:
    count = (32 * MIB - 100) // (len(VALUES[value]) + 1) if is_full else 100_000
    body = PAGE % PLACES["files"].replace(
        b"%s", (VALUES[value] + b",") * (count - 1) + VALUES[value]
    )
    told, peak = parsed(tmp_path, body)
    assert told.startswith("refused") == (is_full or "file" not in value), told
    assert peak < PARSED


@pytest.mark.parametrize("form", DISTINCT)
def test_memory_for_releases_of_page_is_bounded(tmp_path: Path, form: str) -> None:
    rows = ",".join(map(DISTINCT[form].format, range(100_000)))
    told, peak = parsed(tmp_path, PAGE % PLACES["files"].replace(b"%s", rows.encode()))
    assert told == "read 100000"
    assert peak < LISTED


@pytest.mark.parametrize("place", [place for place in PLACES if place != "files"])
@pytest.mark.parametrize("value", ["numbers", "objects"])
def test_memory_for_values_of_page_is_bounded(tmp_path: Path, place: str, value: str) -> None:
    count = (32 * MIB - 200) // (len(VALUES[value]) + 1)
    body = PAGE % PLACES[place].replace(b"%s", (VALUES[value] + b",") * (count - 1) + VALUES[value])
    _, peak = parsed(tmp_path, body)
    assert peak < PARSED


@pytest.mark.parametrize("place", ["the page", "a file", "a file that is odd", "hashes"])
def test_memory_for_keys_of_page_is_bounded(tmp_path: Path, place: str) -> None:
    keys = b",".join(b'"%06x":0' % at for at in range(3_000_000))
    rows = {
        "the page": b'"files":[],' + keys,
        "a file": b'"files":[{"filename":"demo-1.0.tar.gz",' + keys + b"}]",
        "a file that is odd": b'"files":[{"filename":"demo-1.0.tar.gz","url":0,' + keys + b"}]",
        "hashes": b'"files":[{"filename":"demo-1.0.tar.gz","hashes":{' + keys + b"}}]",
    }
    told, peak = parsed(tmp_path, PAGE % rows[place])
    assert told == f"read {place != 'the page':d}"
    assert peak < PARSED


# --- TOML: a text within the limits takes no more than is promised; others are refused at once

ORDINARY = 90  # MiB that the command takes for a small stack
REFUSED = 45  # MiB that it takes to refuse its input
SHAPES: dict[str, Callable[[Limits], str]] = {
    "digits": lambda limits: "a = " + "9" * (8 << 20),
    "hexadecimal": lambda limits: "a = 0x" + "f" * (8 << 20),
    "tables": lambda limits: "".join(f"[{at}]\n" for at in range(900_000)),
    "tables at the limit": lambda limits: "".join(
        f"[{at:x}]\n" for at in range(limits.tables - 100)
    ),
    "deep tables at the limit": lambda limits: "".join(
        f"[{at:x}{'.a' * 20}]\n" for at in range(limits.tables // 21 - 10)
    ),
    "rows at the limit": lambda limits: "[[a]]\n" * (limits.tables // 2 - 10),
    "values at the limit": lambda limits: f"a = [{'0,' * (limits.values - 100)}]",
    "texts at the limit": lambda limits: "a = [" + '"",' * (limits.values - 100) + "]",
    "keys at the limit": lambda limits: "".join(f"{at:x}=0\n" for at in range(limits.values - 100)),
    "lists at the limit": lambda limits: (
        f"a = [{'[],' * min(limits.tables - 100, limits.values - 100)}]"
    ),
    "a text at the limit": lambda limits: f'a = "{"x" * (limits.characters - 100)}"',
    "escapes at the limit": lambda limits: 'a = "' + "\\n" * (limits.values - 100) + '"',
    "4 million escapes": lambda limits: 'a = "' + "\\n" * (4 << 20) + '"',
    "lines at the limit": lambda limits: "\n" * (limits.characters - 100),
    "comments at the limit": lambda limits: "#\n" * (limits.characters // 2 - 100),
}


MOST = (
    "digits",
    "tables",
    "deep tables at the limit",
    "escapes at the limit",
    "comments at the limit",
)


@pytest.mark.parametrize(
    ("place", "limits", "mebibytes", "shape"),
    [
        *(("stack", STACK, 16, shape) for shape in MOST),
        *(("facts", MATRICES, 32, shape) for shape in MOST),
        *(("lock", LOCK, 64, shape) for shape in MOST),
        *(("pyproject", IMPORTED, 128, shape) for shape in SHAPES),
    ],
)
def test_memory_for_toml_is_bounded(
    scene: Scene, place: str, limits: Limits, mebibytes: int, shape: str
) -> None:
    workspace = scene.workspace
    text = SHAPES[shape](limits)
    if "limit" in shape:
        text = text[: limits.characters]
    path = {
        "stack": workspace.matrices / "stacks" / "other.toml",
        "facts": workspace.matrices / "facts" / "demo.toml",
        "lock": workspace.folder() / "lock.toml",
        "pyproject": workspace.root / "pyproject.toml",
    }[place]
    path.write_text(text)
    command = {
        "stack": ["lock", "other"],
        "lock": ["check", "demo"],
        "pyproject": ["import", "pyproject.toml"],
    }
    status, told, peak = measured(scene, *command.get(place, ["lock", "demo"]))
    assert status in (0, 2, 4), told
    assert "Traceback" not in told
    assert peak < (REFUSED if status else ORDINARY) + mebibytes


@pytest.mark.parametrize("shape", MOST)
def test_memory_for_toml_of_archive_is_bounded(scene: Scene, shape: str) -> None:
    """An archive of a few kilobytes, whose pyproject.toml may be longer than is read of it."""
    text = SHAPES[shape](SOURCE_TREE)
    archive(tar(**{"demo-2.1/pyproject.toml": text.encode()[: 8 << 20]}))(scene)
    status, told, peak = measured(scene, "lock", "demo")
    assert status in (0, 1), told
    assert peak < ORDINARY + 32


# --- snapshots


def snapshot_of(packed: bytes) -> bytes:
    return b"ascend-lock snapshot 2\n" + lzma.compress(packed, preset=0)


DAY = b"\xaa2026-11-20"
PROJECTS = b"\x97\xa4demo" + DAY
REST = b"\x80\x80\x90\x80"
# So many of the smallest files of a release, pages of a project, and members.
FILES = 1_240_000
RECORDS = {
    "256 MiB of nothing": lambda: bytes(256 << 20),
    "48 MiB of nothing": lambda: bytes(48 << 20),
    "a text at the limit": lambda: (
        PROJECTS
        + b"\x80"
        + b"\x81\xa1a\xdb"
        + (47 << 20).to_bytes(4, "big")
        + b"x" * (47 << 20)
        + b"\x80\x90\x80"
    ),
    "files at the limit": lambda: (
        PROJECTS
        + b"\x81\xa4demo\x92\x91\x93\xa4pypi\x81\xa11\xdd"
        + FILES.to_bytes(4, "big")
        + b"\x91\xa0" * FILES
        + b"\x90\x90"
        + REST
    ),
    "20 million files": lambda: (
        PROJECTS
        + b"\x81\xa4demo\x92\x91\x93\xa4pypi\x81\xa11\xdd"
        + (20_000_000).to_bytes(4, "big")
        + b"\x91\xa0" * 20_000_000
        + b"\x90\x90"
        + REST
    ),
    "projects at the limit": lambda: (
        PROJECTS
        + b"\xdf"
        + (600_000).to_bytes(4, "big")
        + b"".join(b"\xa6%06x\x92\x90\x90" % at for at in range(600_000))
        + REST
    ),
    "requirements at the limit": lambda: (
        PROJECTS
        + b"\x80\xdf"
        + (300_000).to_bytes(4, "big")
        + b"".join(b"\xa6%06x\x95\xa0\xa0\x90\xa0\x90" % at for at in range(300_000))
        + b"\x80\x90\x80"
    ),
    "members at the limit": lambda: (
        PROJECTS
        + b"\x80\x80\x80\xdd"
        + (600_000).to_bytes(4, "big")
        + b"\x93\xa0\xa0\xa0" * 600_000
        + b"\x80"
    ),
    "47 million positions": lambda: (
        PROJECTS
        + b"\x81\xa4demo\x92\x91\x93\xa4pypi\x80\x90\x91\x93\xa1x\xdd"
        + (47 << 20).to_bytes(4, "big")
        + b"\x00" * (47 << 20)
        + b"\x90"
        + REST
    ),
}


@pytest.mark.parametrize("record", RECORDS)
def test_memory_for_snapshot_is_bounded(scene: Scene, record: str) -> None:
    (scene.workspace.root / "snapshots").mkdir()
    (scene.workspace.root / "snapshots" / "demo.snapshot").write_bytes(
        snapshot_of(RECORDS[record]())
    )
    status, told, peak = measured(scene, "lock", "demo", "--offline")
    assert status in (1, 2, 3), told
    assert "Traceback" not in told
    assert peak < ORDINARY + 256, told
