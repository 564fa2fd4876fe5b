"""What a run answers: the text of a conflict, and with --json one object and nothing else."""

from __future__ import annotations

import re

import pytest

from tests.functional.workspace import Workspace, tree
from tests.loopback import LoopbackIndex

ASCEND = (
    '[target]\npython = "3.11"\nplatform = "linux-aarch64"\nglibc = "2.28"\n'
    '[target.system]\ncann = "8.5.0"\nsoc = "A2"\n'
)
NAME = "linux-aarch64-py311-cann8.5.0-a2"


@pytest.fixture
def clash(workspace: Workspace, index: LoopbackIndex) -> Workspace:
    """The classic: trl's extra wants an older vllm than vllm-ascend is written for."""
    index.add_wheel("trl", "0.28.0", extras={"vllm": ["vllm>=0.10.2,<0.13.0"]})
    for version in ("0.12.0", "0.13.0"):
        index.add_wheel("vllm", version)
    index.add_wheel("vllm-ascend", "0.13.0")
    index.add_wheel("numpy", "1.26.4")
    workspace.facts(
        "vllm-ascend",
        """
        [[requires]]
        id = "vllm-ascend-0.13-needs-vllm"
        versions = "==0.13.0"
        needs = ["vllm==0.13.0", "cann in 8.5.0 | 8.5.1"]
        reason = "A vllm-ascend release is written against one vllm release."
        source = "release compatibility matrix @98f2ce96"
        """,
    )
    return workspace


REPORT = f"The report is in locks/demo/{NAME}: conflict.html, .md and .json.\n"
REPORTS = {"conflict.html", "conflict.json", "conflict.md", "conflict.zh.html", "conflict.zh.md"}


def test_a_conflict_with_the_machine_names_the_component(clash: Workspace) -> None:
    clash.stack("vllm-ascend", target=ASCEND.replace("8.5.0", "8.3.RC1"))
    run = clash.lock()
    assert run.stderr == (
        """\
No environment satisfies demo for linux-aarch64, Python 3.11, CANN 8.3.RC1, SoC A2.

Why: these 3 cannot all hold together, but any 2 of them can
   1  the stack asks for vllm-ascend                  matrices/stacks/demo.toml:4
   2  the target has CANN 8.3.RC1                     matrices/stacks/demo.toml:11
   3  vllm-ascend 0.13.0 needs cann in 8.5.0 | 8.5.1  matrices/facts/vllm-ascend.toml:7 (vendor)
                                                      release compatibility matrix @98f2ce96
   => 2 and 3 leave no choice for CANN

Ways out, each one solved and checked
  A  CANN 8.5.0 instead of 8.3.RC1
     => 2 projects: vllm-ascend 0.13.0
  B  set aside the fact `vllm-ascend-0.13-needs-vllm` (cann in 8.5.0 | 8.5.1)
     risk: this goes against a fact
     => 2 projects: vllm-ascend 0.13.0

hint: make explain STACK=demo APPLY=A writes the changed stack next to the old one
No lock was changed.
"""
        + REPORT.replace("8.5.0", "8.3.rc1")
    )
    assert (run.status, run.stdout) == (1, "")


def test_a_conflict_leaves_the_old_lock_and_puts_its_report_beside_it(clash: Workspace) -> None:
    clash.stack("vllm-ascend==0.13.0", target=ASCEND)
    clash.locked()
    before = tree(clash.folder())
    clash.stack("trl[vllm]==0.28.0", "vllm-ascend==0.13.0", target=ASCEND)
    assert clash.lock().status == 1
    after = tree(clash.folder())
    assert after.keys() - before.keys() == REPORTS
    assert {name: after[name] for name in before} == before
    assert [path.name for path in (clash.locks / "demo").iterdir()] == [NAME]


def test_the_same_conflict_gives_the_same_report(clash: Workspace) -> None:
    clash.stack("trl[vllm]==0.28.0", "vllm-ascend==0.13.0", target=ASCEND)
    clash.lock()
    before = tree(clash.folder())
    clash.forget()
    clash.lock(PYTHONHASHSEED="1")
    assert tree(clash.folder()) == before


@pytest.mark.parametrize("other", ["numpy<2", ""])
def test_the_next_lock_takes_the_report_away(clash: Workspace, other: str) -> None:
    good = [line for line in ("vllm-ascend==0.13.0", other) if line]
    clash.stack("vllm-ascend==0.13.0", target=ASCEND)
    clash.locked()
    clash.stack("trl[vllm]==0.28.0", "vllm-ascend==0.13.0", target=ASCEND)
    assert clash.lock().status == 1
    clash.stack(*good, target=ASCEND)
    clash.locked()
    left = {path.name for path in clash.folder().iterdir()}
    assert not REPORTS & left
    assert "lock.toml" in left


def test_what_somebody_else_put_beside_a_lock_stays_through_a_conflict(clash: Workspace) -> None:
    clash.stack("vllm-ascend==0.13.0", target=ASCEND)
    clash.locked()
    (clash.folder() / "notes.txt").write_text("mine")
    clash.stack("trl[vllm]==0.28.0", "vllm-ascend==0.13.0", target=ASCEND)
    clash.lock()
    clash.stack("vllm-ascend==0.13.0", "numpy", target=ASCEND)
    clash.locked()
    assert (clash.folder() / "notes.txt").read_text() == "mine"


def test_a_project_that_no_index_has_is_named(clash: Workspace) -> None:
    clash.stack("qqqq", target=ASCEND)
    run = clash.lock()
    assert run.stderr == (
        """\
No environment satisfies demo for linux-aarch64, Python 3.11, CANN 8.5.0, SoC A2.

Why: these 2 cannot both hold, but either one can alone
   1  the stack asks for qqqq        matrices/stacks/demo.toml:4
   2  no index has a project `qqqq`  looked up on pypi
   => 1 and 2 leave no choice for qqqq

No way out was found.
No change was tried.

No lock was changed.
"""
        + REPORT
    )
    assert run.status == 1


# --- --json


def test_json_of_a_lock(clash: Workspace) -> None:
    clash.stack("vllm-ascend==0.13.0", target=ASCEND)
    run = clash.lock("--json")
    assert (run.status, run.stderr) == (0, "")
    only = {
        "status": "locked",
        "stack": "demo",
        "target": NAME,
        "folder": f"locks/demo/{NAME}",
        "pins": {"vllm": "0.13.0", "vllm-ascend": "0.13.0"},
        "warnings": [],
        "changes": [],
    }
    assert run.json == {**only, "targets": [only]}
    assert clash.lock("--json") == run, "of a lock that did not change it is the same"


def test_json_tells_what_this_run_changed(clash: Workspace) -> None:
    clash.stack("vllm-ascend==0.13.0", target=ASCEND)
    clash.locked()
    clash.stack("numpy", target=ASCEND)
    (told,) = clash.locked("--json").json["targets"]
    assert [row["name"] for row in told["changes"]] == ["numpy", "vllm", "vllm-ascend"]
    assert clash.locked("--json").json["changes"] == [], "the lock still says what changed when it last did"
    assert "| vllm |" in clash.read("report.md")


TWO = "".join(
    f'[[target]]\nname = "{name}"\npython = "{python}"\nplatform = "linux-aarch64"\n'
    for name, python in (("old", "3.10"), ("new", "3.11"))
)


def test_a_target_is_locked_although_another_one_conflicts(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("demo", "2.0", requires_python=">=3.11")
    workspace.stack("demo", target=TWO)
    run = workspace.lock("--json")
    assert (run.status, run.stderr) == (1, "")
    assert run.json["status"] == "conflict"
    assert {one["target"]: one["status"] for one in run.json["targets"]} == {"old": "conflict", "new": "locked"}
    assert {path.name for path in (workspace.locks / "demo/old").iterdir()} == REPORTS
    assert (workspace.locks / "demo/new/lock.toml").exists()


def test_each_of_several_targets_is_named(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("demo", "2.0", requires_python=">=3.11")
    workspace.stack("demo", target=TWO)
    run = workspace.lock()
    assert run.status == 1
    assert run.stderr.startswith("No environment satisfies demo for linux-aarch64, Python 3.10.\n")
    assert run.stderr.endswith("The report is in locks/demo/old: conflict.html, .md and .json.\n")
    assert run.stdout.startswith("Locked demo for linux-aarch64, Python 3.11: 1 distribution in 1 stage\n")
    assert re.sub(r" \d+\.\d  ", " 0.0  ", run.stdout).endswith(
        "\n"
        "stack  target  seconds  changes     outcome\n"
        "demo   old         0.0  -           no solution; report written\n"
        "demo   new         0.0  first lock  locked, 1 pin\n"
    )


def test_a_failure_with_json_is_told_as_json_too(workspace: Workspace) -> None:
    run = workspace.lock("--json", stack="nothing")
    assert run.status == 2
    told = {
        "status": "error",
        "stack": "nothing",
        "target": "",
        "message": "there is no stack `nothing`",
        "where": "matrices/stacks",
        "why": "",
        "hint": "it has none: give another folder with --matrices DIR",
    }
    assert run.json == {**told, "targets": [told]}
    assert run.stderr == (
        "error: there is no stack `nothing`\n  at matrices/stacks\n"
        "hint: it has none: give another folder with --matrices DIR\n"
    )


def test_a_stack_by_path_works_like_one_by_name(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("demo", "1.0")
    written = workspace.stack("demo")
    by_name = workspace.locked("--json").json
    moved = workspace.root / "elsewhere.toml"
    written.rename(moved)
    assert workspace.locked("--json", stack="./elsewhere.toml").json == by_name


def test_requires_python_with_a_wildcard_after_an_order_is_read(workspace: Workspace, index: LoopbackIndex) -> None:
    """packaging took `>=3.6.*` before version 22, and releases of that time have it."""
    index.add_wheel("demo", "1.0", requires_python=">=3.6.*")
    index.add_wheel("demo", "2.0", requires_python=">=3.11.*")
    workspace.stack("demo", target=TWO)
    run = workspace.lock("--json")
    found = {one["target"]: (one["status"], one["pins"]) for one in run.json["targets"]}
    assert found == {"old": ("locked", {"demo": "1.0"}), "new": ("locked", {"demo": "2.0"})}


def test_that_the_patch_release_is_missing_is_told(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("demo", "1.0", requires_python="!=3.10.1")
    target = '[target]\nname = "here"\npython = "{}"\nplatform = "linux-aarch64"\n'
    workspace.stack("demo", target=target.format("3.10"))
    assert workspace.lock().status == 1
    folder = workspace.locks / "demo/here"
    told = "needs certain patch releases of Python, and the target states none (Requires-Python !=3.10.1)"
    assert told in (folder / "conflict.md").read_text()
    told = "只支持 Python 的某些补丁版本，而目标没有写明补丁版本（Requires-Python !=3.10.1）"
    assert told in (folder / "conflict.zh.md").read_text()
    workspace.stack("demo", target=target.format("3.10.2"))
    assert workspace.lock().status == 0
