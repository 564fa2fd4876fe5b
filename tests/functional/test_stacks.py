"""The stacks beside the flagship: from their snapshots the very bytes that are committed, locks and reports.

`python -m tests.functional.test_stacks` writes the expected texts of a terminal anew, to be read before they are kept.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import tomli
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from resolver.index import snapshot as snapshot_file
from tests.functional.workspace import REPOSITORY, Workspace, tree

CONFLICTS = ("trl-guide", "trl-vllm-train")
LOCKS = ("mindspeed-rl", "trl-train", "trl-vllm-eval", "verl-one-step-off", "verl-qwen3.5-source", "verl-sglang")
REPORTS = REPOSITORY / "tests" / "recorded" / "reports"
PATIENCE = ("--explain-seconds", "600")  # what is found must not depend on how fast a machine is


def offline(workspace: Workspace, stack: str, *arguments: str) -> tuple[int, str, str]:
    matrices = str(REPOSITORY / "matrices")
    run = workspace.lock("--offline", *arguments, stack=stack, ASCEND_LOCK_MATRICES=matrices)
    path = REPOSITORY / "snapshots" / f"{stack}.snapshot"
    day = snapshot_file.read(path).date
    chinese = "zh" in arguments
    note = f"离线：使用 {day} 的快照（{path}）\n" if chinese else f"offline: using the snapshot of {day} ({path})\n"
    assert note in run.stderr
    return run.status, run.stdout, run.stderr.replace(note, "")


@pytest.fixture
def plain(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path, "http://127.0.0.1:9/simple/")  # nothing listens there, and nobody asks


@pytest.mark.parametrize(("stack", "language"), [*((stack, "en") for stack in CONFLICTS), ("trl-vllm-train", "zh")])
def test_the_report_of_a_conflict(plain: Workspace, stack: str, language: str) -> None:
    status, stdout, stderr = offline(plain, stack, *PATIENCE, "--lang", language)
    assert (status, stdout) == (1, "")
    assert stderr == (REPORTS / f"{stack}.{language}.txt").read_text(encoding="utf-8")
    assert tree(plain.locks / stack) == tree(REPOSITORY / "locks" / stack)


def test_what_a_snapshot_told_is_locked_where_there_is_a_network(plain: Workspace) -> None:
    for folder in ("matrices", "snapshots"):
        shutil.copytree(REPOSITORY / folder, plain.root / folder, dirs_exist_ok=True)
    run = plain.run("explain", "trl-vllm-train", "--offline", "--apply", "A")
    assert run.stdout.endswith(
        "Written: matrices/stacks/trl-vllm-train-a.toml. Next, with network access (the snapshot lacks some "
        "data): ascend-lock lock trl-vllm-train-a\n"
    )
    lost = plain.run("lock", "trl-vllm-train-a", "--offline")
    assert lost.status == 3


def test_check_knows_stacks_that_have_no_lock_but_a_report(plain: Workspace) -> None:
    run = plain.run("check", "--matrices", str(REPOSITORY / "matrices"), "--locks", str(REPOSITORY / "locks"))
    assert run.status == 0
    for stack in CONFLICTS:
        assert re.search(rf"^{stack} for .*: no lock, as its report says$", run.stdout, re.MULTILINE)


def test_this_project_itself_is_locked_for_each_of_its_targets(plain: Workspace) -> None:
    stack = REPOSITORY / "tests" / "recorded" / "self.toml"
    run = plain.locked("--offline", stack=str(stack), ASCEND_LOCK_MATRICES=str(REPOSITORY / "matrices"))
    assert f"({REPOSITORY / 'snapshots' / 'self.snapshot'})" in run.stderr
    asked = map(Requirement, tomli.loads(stack.read_text(encoding="utf-8"))["stack"]["requires"])
    everywhere = {canonicalize_name(one.name) for one in asked if one.marker is None}
    locks = [tomli.loads(path.read_text(encoding="utf-8")) for path in sorted(plain.locks.glob("self/*/lock.toml"))]
    assert [lock["target"]["python"] for lock in locks] == ["3.14", "3.10"]
    for lock in locks:
        assert everywhere <= {pin["name"] for pin in lock["pin"]}


@pytest.mark.parametrize("stack", LOCKS)
def test_a_committed_lock_is_what_its_snapshot_gives(plain: Workspace, stack: str) -> None:
    status, _, _ = offline(plain, stack)
    assert status == 0
    assert tree(plain.locks / stack) == tree(REPOSITORY / "locks" / stack)


def test_the_stack_without_operators_locks_for_a3_as_the_readme_says(plain: Workspace) -> None:
    for folder in ("matrices", "snapshots"):
        shutil.copytree(REPOSITORY / folder, plain.root / folder, dirs_exist_ok=True)
    path = plain.root / "matrices" / "stacks" / "verl-qwen3.5-source.toml"
    text = path.read_text(encoding="utf-8")
    for line in ('soc = "A2"', 'SOC_VERSION = "910b"', 'needs = ["soc in A2"]'):
        assert text.count(line) == 1
        text = text.replace(line, line.replace("A2", "A3").replace("910b", "910c"))
    path.write_text(text, encoding="utf-8")
    run = plain.run("lock", "verl-qwen3.5-source", "--offline")
    assert run.status == 0, run.stderr
    (script,) = (plain.locks / "verl-qwen3.5-source").glob("*-a3/install.sh")
    assert "COMPILE_CUSTOM_KERNELS=0 SOC_VERSION=910c" in script.read_text(encoding="utf-8")


def test_operators_are_left_out_by_both_variables() -> None:
    """COMPILE_CUSTOM_KERNELS alone still builds AclNN's, which fails in the archive; 910b passes it over."""
    (script,) = (REPOSITORY / "locks" / "verl-qwen3.5-source").glob("*/install.sh")
    builds = re.findall(r"^ *build_in .* pip wheel ", script.read_text(encoding="utf-8"), re.MULTILINE)
    assert [line.partition(" PIP_")[0].split()[2:] for line in builds if "SOC_VERSION" in line] == [
        ["COMPILE_CUSTOM_KERNELS=0", "SOC_VERSION=910b"]
    ]


def test_sglang_goes_without_what_the_guide_removes_and_without_pypis_memory_saver() -> None:
    (path,) = (REPOSITORY / "locks" / "verl-sglang").glob("*/lock.toml")
    lock = tomli.loads(path.read_text(encoding="utf-8"))
    assert [row["name"] for row in lock["absent"]] == ["timm", "torchvision", "triton"]
    pins = {pin["name"]: pin for pin in lock["pin"]}
    assert not pins.keys() & {"timm", "torchvision", "triton"}
    saver = pins["torch-memory-saver"]
    assert "file" not in saver
    assert saver["git"]["steps"] == [
        {"run": ["bash", "build.sh", "-a", "memory-saver"], "wheels": "output/torch_memory_saver*.whl"}
    ]


def write() -> None:
    """Write what the tests expect."""
    import tempfile

    REPORTS.mkdir(parents=True, exist_ok=True)
    for stack in CONFLICTS:
        for language in ("en", "zh"):
            with tempfile.TemporaryDirectory() as folder:
                workspace = Workspace(Path(folder), "http://127.0.0.1:9/simple/")
                _, _, stderr = offline(workspace, stack, *PATIENCE, "--lang", language)
            (REPORTS / f"{stack}.{language}.txt").write_text(stderr, encoding="utf-8")


if __name__ == "__main__":
    write()
