"""What a run answers: the text of a conflict, and with --json one object and nothing else."""

from __future__ import annotations

import pytest

from tests.functional.workspace import Workspace
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


def columns(*rows: tuple[str, str]) -> str:
    return "".join(f"{left:<80}{right}\n" for left, right in rows)


def test_a_conflict_names_the_few_statements_that_clash_and_where_each_stands(clash: Workspace) -> None:
    clash.stack("trl[vllm]==0.28.0", "vllm-ascend==0.13.0", "numpy<2", target=ASCEND)
    run = clash.lock()
    assert run.stderr == (
        "No environment satisfies demo for linux-aarch64, Python 3.11, CANN 8.5.0, soc A2.\n"
        "\n"
        "Why: these 4 cannot hold together\n"
        + columns(
            ("   1  the stack asks for trl[vllm]==0.28.0", "matrices/stacks/demo.toml:4"),
            ("   2  the stack asks for vllm-ascend==0.13.0", "matrices/stacks/demo.toml:4"),
            ("   3  trl[vllm] 0.28.0 needs vllm<0.13.0,>=0.10.2", "metadata of trl-0.28.0-py3-none-any.whl"),
            ("   4  vllm-ascend 0.13.0 needs vllm==0.13.0", "matrices/facts/vllm-ascend.toml:7 (vendor)"),
            ("", "release compatibility matrix @98f2ce96"),
        )
        + "\n"
        "hint: change one of the stack's lines or the target; nothing was written, an old lock stays\n"
    )
    assert (run.status, run.stdout) == (1, "")


def test_a_conflict_with_the_machine_names_the_component(clash: Workspace) -> None:
    clash.stack("vllm-ascend", target=ASCEND.replace("8.5.0", "8.3.RC1"))
    run = clash.lock()
    assert run.stderr == (
        "No environment satisfies demo for linux-aarch64, Python 3.11, CANN 8.3.RC1, soc A2.\n"
        "\n"
        "Why: these 3 cannot hold together\n"
        + columns(
            ("   1  the stack asks for vllm-ascend", "matrices/stacks/demo.toml:4"),
            (
                "   2  vllm-ascend 0.13.0 needs cann in 8.5.0 | 8.5.1",
                "matrices/facts/vllm-ascend.toml:7 (vendor)",
            ),
            ("", "release compatibility matrix @98f2ce96"),
            ("   3  the target has cann 8.3.RC1", "matrices/stacks/demo.toml:11"),
        )
        + "\n"
        "hint: change one of the stack's lines or the target; nothing was written, an old lock stays\n"
    )


def test_a_conflict_writes_nothing_and_leaves_the_old_lock(clash: Workspace) -> None:
    clash.stack("vllm-ascend==0.13.0", target=ASCEND)
    clash.locked()
    before = clash.read()
    clash.stack("trl[vllm]==0.28.0", "vllm-ascend==0.13.0", target=ASCEND)
    assert clash.lock().status == 1
    assert clash.read() == before


def test_a_project_that_no_index_has_is_named(clash: Workspace) -> None:
    clash.stack("vlmm", target=ASCEND)
    run = clash.lock()
    assert run.stderr == (
        "No environment satisfies demo for linux-aarch64, Python 3.11, CANN 8.5.0, soc A2.\n"
        "\n"
        "Why: these 2 cannot hold together\n"
        + columns(
            ("   1  the stack asks for vlmm", "matrices/stacks/demo.toml:4"),
            ("   2  no index has a project `vlmm`", "looked up on pypi"),
        )
        + "\n"
        "hint: change one of the stack's lines or the target; nothing was written, an old lock stays\n"
    )
    assert run.status == 1


# --- --json


def test_json_of_a_lock(clash: Workspace) -> None:
    clash.stack("vllm-ascend==0.13.0", target=ASCEND)
    run = clash.lock("--json")
    assert (run.status, run.stderr) == (0, "")
    assert run.json == {
        "status": "locked",
        "stack": "demo",
        "target": NAME,
        "folder": f"locks/demo/{NAME}",
        "pins": {"vllm": "0.13.0", "vllm-ascend": "0.13.0"},
        "warnings": [],
        "changes": [],
    }


def test_json_of_a_lock_that_did_not_change_is_the_same(clash: Workspace) -> None:
    clash.stack("vllm-ascend==0.13.0", target=ASCEND)
    first = clash.lock("--json")
    assert clash.lock("--json") == first


def test_json_of_a_conflict(clash: Workspace) -> None:
    clash.stack("trl[vllm]==0.28.0", "vllm-ascend==0.13.0", target=ASCEND)
    run = clash.lock("--json")
    assert (run.status, run.stderr) == (1, "")
    stack = {"where": "matrices/stacks/demo.toml:4", "evidence": "", "strength": ""}
    assert run.json == {
        "status": "conflict",
        "stack": "demo",
        "target": NAME,
        "clashes": [
            {"text": "the stack asks for trl[vllm]==0.28.0", **stack},
            {"text": "the stack asks for vllm-ascend==0.13.0", **stack},
            {
                "text": "trl[vllm] 0.28.0 needs vllm<0.13.0,>=0.10.2",
                "where": "metadata of trl-0.28.0-py3-none-any.whl",
                "evidence": "",
                "strength": "",
            },
            {
                "text": "vllm-ascend 0.13.0 needs vllm==0.13.0",
                "where": "matrices/facts/vllm-ascend.toml:7",
                "evidence": "release compatibility matrix @98f2ce96",
                "strength": "vendor",
            },
        ],
    }


TWO = "".join(
    f'[[target]]\nname = "{name}"\npython = "{python}"\nplatform = "linux-aarch64"\n'
    for name, python in (("old", "3.10"), ("new", "3.11"))
)


def test_json_of_two_targets(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("demo", "1.0")
    index.add_wheel("demo", "2.0", requires_python=">=3.11")
    workspace.stack("demo", target=TWO)
    run = workspace.lock("--json")
    assert (run.status, run.stderr) == (0, "")
    assert run.json["status"] == "locked"
    found = {one["target"]: (one["status"], one["pins"]) for one in run.json["targets"]}
    assert found == {"old": ("locked", {"demo": "1.0"}), "new": ("locked", {"demo": "2.0"})}


def test_json_never_calls_locked_what_was_not_written(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("demo", "2.0", requires_python=">=3.11")
    workspace.stack("demo", target=TWO)
    run = workspace.lock("--json")
    assert (run.status, run.stderr) == (1, "")
    assert run.json["status"] == "conflict"
    assert {one["target"]: one["status"] for one in run.json["targets"]} == {"old": "conflict", "new": "solved"}
    assert not workspace.locks.exists()


def test_a_failure_with_json_is_told_as_json_too(workspace: Workspace) -> None:
    run = workspace.lock("--json", stack="nothing")
    assert run.status == 2
    assert run.json == {
        "status": "error",
        "message": "there is no stack `nothing`",
        "where": "matrices/stacks",
        "why": "",
        "hint": "known stacks are none",
    }
    assert run.stderr == "error: there is no stack `nothing`\n  at matrices/stacks\nhint: known stacks are none\n"


def test_a_stack_by_path_works_like_one_by_name(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("demo", "1.0")
    written = workspace.stack("demo")
    by_name = workspace.locked("--json").json
    moved = workspace.root / "elsewhere.toml"
    written.rename(moved)
    assert workspace.locked("--json", stack="./elsewhere.toml").json == by_name
