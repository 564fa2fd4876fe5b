"""`ascend-lock matrix`: each cell is what locking its stack gives, however the run went."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from resolver.cli.sweep import Journal
from resolver.config.grid import load_grid
from resolver.files import json_text
from resolver.lock import file as lock_file
from resolver.model.lock import Lock
from resolver.model.matrix import LOCKED, CellOutcome
from resolver.report.matrix import read_matrix
from tests import matrix_page
from tests.components import systems_text
from tests.functional.terminals import require_fit
from tests.functional.workspace import (
    COMMAND,
    NOBODY_THERE,
    REPOSITORY,
    UNREACHABLE,
    Content,
    Run,
    Workspace,
    row,
    wait_until,
)

GRID = """\
package = "plugin"
newest = 4

[[machine]]
soc = ["A2"]
platform = ["linux-aarch64"]
python = ["3.11", "3.12"]
glibc = "2.35"

[[use]]
name = "serve"
summary = "Serving"
requires = ["engine"]

[[use]]
name = "train"
summary = "Training"
requires = ["engine", "trainer"]
newest = 2
"""
KNOWN = {"cann": ("8.5.0", "9.0.0"), "soc": ("A2",)}
SYSTEMS = systems_text(KNOWN)
PAIRS = (
    ["engine==1.0", "cann in 8.5.0"],
    ["engine==2.0", "cann in 8.5.0 | 9.0.0", "python < 3.12"],
    ["engine==3.0", "cann in 9.0.0", "python < 3.12"],
    ["engine==2.0", "kernels>=4", "cann in 9.0.0", "python < 3.12"],
)
GOES_AGAINST = {
    "drop": ["numbers"],
    "add": ["numbers>=2"],
    "strength": "practice",
    "risk": "it may fail",
}
FACTS = "".join(
    row("requires", id=f"plugin-{at}", versions=f"=={at}.0", needs=PAIRS[at - 1])
    for at in range(1, 5)
)
FACTS += row("replaces", id="plugin-numbers", versions="==2.0", **GOES_AGAINST)
INDEXES = f"""\
[[index]]
name = "pypi"

[[index]]
name = "vendor"
url = "{UNREACHABLE}"

[[binding]]
packages = ["kernels"]
indexes = ["vendor", "pypi"]
take = "all"
unreachable = "next"
"""
CELLS = {  # by name, without what all have in common
    "serve-1.0-cann8.5.0-py311": "locks",
    "serve-1.0-cann8.5.0-py312": "locks",
    "serve-2.0-cann8.5.0-py311": "locks-with-practices",
    "serve-2.0-cann9.0.0-py311": "locks-with-practices",
    "serve-3.0-cann9.0.0-py311": "conflict",
    "serve-4.0-cann9.0.0-py311": "undecided",
    "train-3.0-cann9.0.0-py311": "conflict",
    "train-4.0-cann9.0.0-py311": "undecided",
}


@pytest.fixture
def gridded(workspace: Workspace) -> Workspace:
    """A small grid with every outcome."""
    workspace.serve("plugin 1.0 3.0 4.0", "plugin 2.0: numbers<2", "numbers 1.0 2.0", "trainer 1.0")
    workspace.serve("engine 1.0: numbers", "engine 2.0: numbers>=2")
    workspace.facts("plugin", FACTS)
    workspace.indexes(INDEXES)
    (workspace.matrices / "systems.toml").write_text(SYSTEMS)
    (workspace.matrices / "grid.toml").write_text(GRID)
    return workspace


def matrix(workspace: Workspace, name: str = "matrix.json") -> dict[str, Any]:
    content: dict[str, Any] = json.loads((workspace.root / name).read_text(encoding="utf-8"))
    return content


def pins(workspace: Workspace, cell: dict[str, Any]) -> dict[str, str]:
    listed = matrix(workspace)["pins"]
    return dict(listed[at].split("==") for at in cell["pins"])


def test_matrix_fits_into_the_terminal(gridded: Workspace) -> None:
    assert gridded.run("matrix", "build", "--jobs", "1").status == 0
    gridded.edit("facts/plugin.toml", "numbers>=2", "numbers>=3")
    (gridded.root / "matrix.json").rename(gridded.root / "before.json")
    require_fit(gridded, "matrix", "build", "--jobs", "1", "--diff", "before.json")


def test_each_cell_is_what_locking_its_stack_gives(gridded: Workspace) -> None:
    run = gridded.run("matrix", "build", "--jobs", "1")
    assert run.status == 0, run
    cells = matrix(gridded)["cells"]
    assert {one["name"].replace("-a2-aarch64", ""): one["outcome"] for one in cells} == CELLS
    for cell in cells:
        path = gridded.root / f"{cell['name']}.toml"
        path.write_text(cell["stack"], encoding="utf-8")
        lock = gridded.run("lock", str(path), "--json")
        expected = {"conflict": 1, "undecided": 3}.get(cell["outcome"], 0)
        assert lock.status == expected, lock
        if not expected:
            assert lock.json["pins"] == pins(gridded, cell)
    practice = next(one for one in cells if one["outcome"] == "locks-with-practices")
    assert practice["practices"] == ["plugin-numbers"]
    assert "The newest plugin that locks" in run.stdout
    assert matrix(gridded)["frontier"] == [
        "serve-2.0-cann8.5.0-a2-aarch64-py311",
        "serve-2.0-cann9.0.0-a2-aarch64-py311",
        "serve-1.0-cann8.5.0-a2-aarch64-py312",
    ]
    refused = next(one for one in cells if one["name"].startswith("serve-3.0"))
    assert refused["ways"] == ["serve-2.0-cann9.0.0-a2-aarch64-py311"], "the nearest that locks"
    assert refused["cause"] == "engine"


def test_a_killed_process_and_an_interrupted_run_lose_nothing(gridded: Workspace) -> None:
    gridded.run("matrix", "build", "--jobs", "1")
    whole = (gridded.root / "matrix.json").read_bytes()
    (gridded.root / "matrix.json").unlink()
    interrupted = gridded.start("matrix", "build", "--jobs", "2")
    children = _children(interrupted)
    interrupted.send_signal(signal.SIGINT)
    assert gridded.finish(interrupted).status == 130
    assert not any(_is_running(child) for child in children)
    assert not (gridded.root / "matrix.json").exists()
    assert (gridded.root / "matrix.json.part").exists()
    second = gridded.start("matrix", "build", "--jobs", "2")
    os.kill(_children(second, 1)[0], signal.SIGKILL)  # while the other one is being started
    assert gridded.finish(second).status == 0
    assert (gridded.root / "matrix.json").read_bytes() == whole
    assert not (gridded.root / "matrix.json.part").exists()


def test_journal_from_elsewhere_is_not_taken(tmp_path: Path) -> None:
    """Git can have put it there, with answers that a proposed change has made up."""
    path, copy = tmp_path / "matrix.json.part", tmp_path / "copy"
    with Journal(path, "inputs") as journal:
        journal.begin()
    ours = path.read_bytes() + b"{}\n"
    path.write_bytes(ours)
    with Journal(path, "inputs") as journal:
        journal.begin()
    assert path.read_bytes() == ours
    copy.write_bytes(ours)
    copy.replace(path)
    with Journal(path, "inputs") as journal:
        journal.begin()
    assert path.read_bytes().count(b"\n") == 1


def test_matrix_is_solved_by_one_of_two_runs_at_once(gridded: Workspace) -> None:
    journal = gridded.root / "matrix.json.part"
    first = gridded.start("matrix", "build", "--jobs", "1")
    wait_until(lambda: journal.exists() and journal.read_bytes().count(b"\n") > 1, first)
    first.send_signal(signal.SIGSTOP)
    second = gridded.finish(gridded.start("matrix", "build", "--jobs", "1"))
    assert (second.status, second.error) == (2, "another run solves this matrix")
    assert "\n  at matrix.json.part\n" in second.stderr
    first.kill()
    first.communicate()
    journal.write_bytes(
        journal.read_bytes() + journal.read_bytes().partition(b"\n")[2] + b'{"cell": {"rel'
    )
    assert gridded.run("matrix", "build", "--jobs", "1").status == 0
    names = [cell["name"].replace("-a2-aarch64", "") for cell in matrix(gridded)["cells"]]
    assert sorted(names) == sorted(CELLS)
    assert not journal.exists()


def test_offline_it_uses_the_cache_and_then_the_snapshot(gridded: Workspace) -> None:
    assert gridded.run("matrix", "build", "--record", "--jobs", "1").status == 0
    whole = (gridded.root / "matrix.json").read_bytes()
    gridded.forget()
    assert gridded.run("matrix", "build", "--offline", "--jobs", "1", **NOBODY_THERE).status == 0
    assert (gridded.root / "matrix.json").read_bytes() == whole


def test_recording_run_does_not_go_on_with_an_interrupted_one(gridded: Workspace) -> None:
    """What that one asked would be missing offline."""
    assert gridded.run("matrix", "build", "--record").status == 0
    (path,) = gridded.root.rglob("matrix.snapshot")
    whole = path.read_bytes()
    running = gridded.start("matrix", "build", "--jobs", "1")
    part = gridded.root / "matrix.json.part"
    answers = b""
    while running.poll() is None:
        with suppress(FileNotFoundError):
            answers = max(answers, part.read_bytes(), key=len)
    assert gridded.finish(running).status == 0
    assert answers.count(b"\n") > 1
    part.write_bytes(answers)
    assert gridded.run("matrix", "build", "--record").status == 0
    assert path.read_bytes() == whole


def test_the_difference_is_told_and_what_broke_is_an_exit_status(gridded: Workspace) -> None:
    gridded.run("matrix", "build", "--jobs", "1", "--data", "old.json")
    run = gridded.run("matrix", "build", "--jobs", "1", "--diff", "old.json")
    assert (run.status, run.stdout.splitlines()[-1][:23]) == (0, "No cell changed since 2")
    gridded.facts(
        "numbers", '[[excludes]]\nid = "no-numbers"\nversions = ">=2"\nreason = "it fails"\n'
    )
    run = gridded.run("matrix", "build", "--jobs", "1", "--diff", "old.json")
    assert run.status == 5
    assert "serve-2.0-cann8.5.0-a2-aarch64-py311: locks with practices -> conflict; " in run.stdout


def test_a_file_that_is_no_matrix_is_refused(gridded: Workspace) -> None:
    for content in (
        "",
        "[]",
        json_text({"format": 9}),
        "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
    ):
        (gridded.root / "old.json").write_text(content, encoding="latin-1")
        gridded.refused("the file is not a matrix", "matrix", "build", "--diff", "old.json")


def test_a_machine_is_in_one_row(gridded: Workspace) -> None:
    """Its cells have one name, by which they are told apart."""
    with (gridded.matrices / "grid.toml").open("a") as file:
        file.write(
            '[[machine]]\nsoc = ["A2"]\nplatform = ["linux-aarch64"]\npython = ["3.12"]\n'
            'glibc = "2.28"\n'
        )
    gridded.refused("two rows have the machine A2, linux-aarch64, 3.12", "matrix", "build")


@pytest.mark.parametrize(
    ("right", "wrong", "error", "where"),
    [
        (
            '["A2"]',
            '["A2", "A9"]',
            "`A9` is not a known SoC",
            "grid.toml:5: machine[0].soc[1]",
        ),
        (
            '"engine", "tr',
            '"engine >>> 1", "tr',
            "`engine >>> 1` is not a requirement",
            "grid.toml:18: use[1].requires[0]",
        ),
    ],
)
def test_a_mistake_of_the_grid_is_told_where_it_is(
    gridded: Workspace, right: str, wrong: str, error: str, where: str
) -> None:
    (gridded.matrices / "grid.toml").write_text(GRID.replace(right, wrong))
    run = gridded.run("matrix", "build")
    assert run.status == 2
    assert error in run.stderr
    assert f"  at {where}\n" in run.stderr


def test_a_cluster_gives_the_same_bytes(gridded: Workspace) -> None:
    gridded.run("matrix", "build", "--jobs", "1", "--data", "here.json")
    how = {
        "stdin": subprocess.PIPE,
        "stderr": subprocess.DEVNULL,
        "env": {**os.environ, **gridded.environment()},
    }
    with gridded.begin([sys.executable, "-W", "ignore", "-c", _CLUSTER], **how) as cluster:
        assert cluster.stdout is not None
        address = cluster.stdout.readline().strip()
        run = gridded.run_alone("matrix", "build", "--cluster", address, PYTHONWARNINGS="ignore")
        cluster.communicate()
    assert run.status == 0, run
    assert (gridded.root / "matrix.json").read_bytes() == (gridded.root / "here.json").read_bytes()


# --- the matrix that ships


def test_the_committed_matrix_rests_on_the_facts_of_today() -> None:
    """It is made by `make matrix`, which a change of a fact calls for."""
    matrices = matrix_page.DATA.parent
    assert (
        read_matrix(matrix_page.DATA).inputs == load_grid(matrices / "grid.toml", matrices).digest
    )


def shipped_locks() -> list[Lock]:
    locks = [
        lock_file.read(path.parent) for path in sorted((REPOSITORY / "locks").glob("*/*/lock.toml"))
    ]
    return [lock for lock in locks if lock is not None]


@pytest.mark.parametrize(
    "lock", shipped_locks(), ids=lambda lock: f"{lock.stack}-{lock.target.name}"
)
def test_no_cell_contradicts_a_shipped_lock(lock: Lock) -> None:
    matrix = read_matrix(matrix_page.DATA)
    pins = {pin.name: pin.version for pin in lock.pin}
    target = lock.target
    for answer in matrix.answers:
        cell = answer.cell
        use = next(use for use in matrix.uses if use.name == cell.use)
        wanted = [canonicalize_name(Requirement(line).name) for line in use.requires]
        has_all = pins.get(canonicalize_name(cell.package)) == cell.release and pins.keys() >= set(
            wanted
        )
        machine = (cell.platform, cell.python, cell.toolkit, cell.chip)
        if has_all and machine == (
            target.platform,
            target.python_line,
            target.system["cann"],
            target.system["soc"],
        ):
            assert answer.outcome is not CellOutcome.CONFLICT, cell.name


def test_the_committed_page_shows_the_committed_matrix() -> None:
    assert Content(matrix_page.PAGE.read_bytes()) == Content(matrix_page.made().encode())


# --- ascend-lock init

MACHINE = {
    "--cann": "8.5.0",
    "--soc": "a2",
    "--platform": "linux-aarch64",
    "--python": "3.11",
    "--for": "serve",
}


@pytest.fixture
def known(gridded: Workspace) -> Workspace:
    """The same with its matrix among the facts."""
    assert (
        gridded.run("matrix", "build", "--jobs", "1", "--data", "matrices/matrix.json").status == 0
    )
    return gridded


def options(**changes: str) -> list[str]:
    return [
        word
        for row in (MACHINE | {f"--{key}": value for key, value in changes.items()}).items()
        for word in row
    ]


def test_init_writes_the_newest_that_locks(known: Workspace) -> None:
    run = known.run("init", *options())
    assert (run.status, run.stdout.partition(",")[0]) == (0, "serve.toml: plugin 2.0")
    assert "plugin-numbers" in run.stdout
    lock = known.run("lock", "serve.toml", "--json")
    assert (lock.status, lock.json["pins"]["plugin"]) == (0, "2.0")
    odd = known.run("init", *options(), "-o", 'my "stack".toml')
    assert (odd.status, (known.root / 'my "stack".toml').exists()) == (2, False), odd
    again = known.run("init", *options())
    assert (again.status, again.error) == (2, "`serve.toml` already exists; nothing was written")


def test_init_says_what_the_lock_will_warn_of(gridded: Workspace) -> None:
    """Of the release that it chose, such as one that is paired with another CANN."""
    path = gridded.matrices / "facts" / "plugin.toml"
    told = "it is paired with CANN 9.0.0"
    warns = row("warns", id="plugin-pairing", versions="==2.0", text=told)
    path.write_text(path.read_text(encoding="utf-8") + warns, encoding="utf-8")
    built = gridded.run("matrix", "build", "--jobs", "1", "--data", "matrices/matrix.json")
    assert built.status == 0, built
    run = gridded.run("init", *options())
    assert f"\nIts lock will warn: plugin: {told} (matrices/facts/plugin.toml:" in run.stdout


def test_init_says_what_it_does_not_know_and_what_does_not_lock(known: Workspace) -> None:
    none = known.run("init", "--cann", "8.5.0", "--soc", "none")
    assert (none.status, none.error) == (
        2,
        "the matrix has stacks only for machines with an accelerator",
    )
    assert "\n  at --soc none\n" in none.stderr
    missing = known.run("init", "--cann", "8.5.0", "--python", "3.11")
    assert (missing.status, missing.error) == (
        2,
        "not known of this machine: --soc, --platform, --for",
    )
    absent = known.run("init", *options(cann="7.0.0"))
    assert (absent.status, absent.error) == (2, "the matrix has no cell for `7.0.0`")
    assert absent.stderr.endswith(
        "; for another machine, make a stack of your requirements: "
        "ascend-lock import FILE --cann 7.0.0\n"
    )
    undecided = known.run("init", *options(cann="9.0.0", **{"for": "train"}))
    assert undecided.status == 0
    assert "plugin 4.0, undecided" in undecided.stdout
    unsolved = known.run("init", *options(python="3.12", **{"for": "train"}))
    assert (unsolved.status, unsolved.error) == (
        1,
        "the shipped matrix was not solved for 8.5.0, A2, linux-aarch64, 3.12, train",
    )
    assert "\nhint: with the rest as it is, it has --for serve\n" in unsolved.stderr


def test_init_hints_at_the_value_that_is_meant(known: Workspace) -> None:
    for words, hint in {
        ("--for", "Trainer"): "`Trainer` is in train",
        ("--for", "serving"): "did you mean `serve`?",
        ("--for", "cooking"): "it has serve, train",
    }.items():
        run = known.run("init", *words)
        assert (run.status, run.error) == (2, f"the matrix has no cell for `{words[1]}`")
        assert f"  at --for\nhint: {hint}\n" in run.stderr
    assert known.run("init", *options(platform="aarch64")).status == 0
    assert 'platform = "linux-aarch64"' in (known.root / "serve.toml").read_text()


def test_init_takes_glibc_by_the_name_of_a_system(known: Workspace) -> None:
    systems = known.matrices / "systems.toml"
    systems.write_text(systems_text(KNOWN, glibc={"names": {"openEuler 22.03": "2.34"}}))
    for spelt in ("openEuler-22.03", "openeuler 22.03 LTS", "2.34"):
        run = known.run("init", *options(), "--glibc", spelt)
        assert run.status == 0, run
        assert 'glibc = "2.34"' in (known.root / "serve.toml").read_text()
        assert "It was solved for glibc 2.35" in run.stdout
        (known.root / "serve.toml").unlink()
    run = known.run("init", *options(), "--glibc", "Plan 9")
    assert (run.status, run.error) == (
        2,
        "`Plan 9` is no version of glibc, and no system that is known",
    )


def test_init_names_no_cell(known: Workspace) -> None:
    run = known.run("init", *options(cann="9.0.0", python="3.12"))
    assert run.status == 1
    assert "py312" not in run.stderr


def _answered(workspace: Workspace, keys: bytes, *words: str) -> Run:
    """Run init on a terminal where somebody types these keys."""
    ours, theirs = pty.openpty()
    process = workspace.begin([str(COMMAND), "init", *words], stdin=theirs)
    os.write(ours, keys)
    run = workspace.finish(process)
    os.close(ours)
    os.close(theirs)
    return run


def test_init_asks_on_a_terminal(known: Workspace) -> None:
    run = _answered(known, b"8.5.0\n\n\n3.11\nserve\n", "--lang", "en")
    assert run.status == 0
    assert 'cann = "8.5.0"' in (known.root / "serve.toml").read_text()


def test_init_offers_a_cell_that_locks(known: Workspace) -> None:
    # The last use of the grid is undecided.
    run = _answered(known, b"\n" * 5, "--lang", "en")
    assert (run.status, run.stdout.partition(",")[0]) == (0, "serve.toml: plugin 2.0")
    assert "CANN: 8.5.0, 9.0.0\nCANN [9.0.0]: " in run.stderr
    assert "\nglibc 2.35 is assumed; --glibc gives another" in run.stdout


def test_init_suggests_a_final_release_of_the_shipped_matrix() -> None:
    matrix = read_matrix(REPOSITORY / "matrices" / "matrix.json")
    for fields in ({}, {"cann": "8.5.1"}, {"cann": "8.5.1", "soc": "A2"}):
        answer = matrix.suggested(fields)
        assert answer is not None
        cell = answer.cell
        assert answer.outcome in LOCKED
        assert (cell.use, cell.chip, cell.platform) == ("serve", "A2", "linux-aarch64")
        assert not cell.is_candidate
    newest = matrix.suggested({"cann": matrix.toolkits[-1]})
    assert newest is not None
    assert newest.outcome in LOCKED


def test_init_asks_again_in_the_language_of_the_run(known: Workspace) -> None:
    run = _answered(known, b"8.5\n7.0.0\n8.5.0\nA2\naarch64\n\nserv\n\n", "--lang", "zh")
    assert run.status == 0, run
    assert "是否想写 8.5.0？" in run.stderr
    assert "矩阵中没有适用于 `7.0.0` 的组合" in run.stderr
    assert "`serve`" in run.stderr
    assert "Error" not in run.stderr


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", "interrupted; nothing was written"), ("zh", "已中断；没有写入任何文件")],
)
def test_init_writes_nothing_without_answers(known: Workspace, language: str, words: str) -> None:
    run = _answered(known, b"8.5.0\n\x04", "--lang", language)
    assert (run.status, run.stderr.split("\n")[-2]) == (130, words)
    assert not (known.root / "serve.toml").exists()


_CLUSTER = """
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(
        processes=False, protocol="tcp", n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        print(cluster.scheduler_address, flush=True)
        input()
"""


def _children(process: subprocess.Popen[str], number: int = 2) -> list[int]:
    """The processes that solve cells, once there are so many."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        found = [
            int(pid)
            for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            if "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text()
        ]
        if len(found) >= number:
            return found
        time.sleep(0.02)
    raise AssertionError("no process was started")


def _is_running(pid: int) -> bool:
    """Whether a process goes on; one that nobody has waited for has ended."""
    status = Path(f"/proc/{pid}/status")
    return status.exists() and "\nState:\tZ" not in status.read_text()
