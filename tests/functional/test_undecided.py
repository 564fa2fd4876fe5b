"""A stack whose answer depends on an index that could not be reached is undecided, not without a solution."""

from __future__ import annotations

import pytest

from tests.functional.test_bindings import CLOSED, bind
from tests.functional.workspace import Workspace
from tests.loopback import LoopbackIndex

CHINESE = (
    "demo（linux-aarch64，Python 3.11）尚无定论：取决于无法访问的软件源 `vendor`。\n"
    "需要从中得到：torch-npu==2.8.0（runner 1.0 的要求）。若没有，则找不到满足要求的环境。\n"
)


@pytest.fixture(autouse=True)
def vendor(workspace: Workspace, index: LoopbackIndex) -> None:
    """The index `vendor`, which may have a torch-npu that `pypi` lacks, does not answer."""
    workspace.facts("torch-npu", "")
    index.add_wheel("torch-npu", "2.7.1")
    index.add_wheel("numpy", "1.26.4")
    index.add_wheel("numpy", "2.1.0")
    index.add_wheel("runner", "1.0", requires=["torch-npu==2.8.0"])
    bind(workspace, index, take="all", unreachable="next", vendor=CLOSED)


def test_what_may_be_on_an_index_that_did_not_answer_is_undecided(workspace: Workspace) -> None:
    workspace.stack("runner", "numpy")
    run = workspace.lock()
    assert run.status == 3
    told = run.stderr.partition("\n")[2]  # after the warning about the index
    assert told.startswith("""\
demo for linux-aarch64, Python 3.11 is undecided: it depends on index `vendor`, which could not be reached.
Wanted from there: torch-npu==2.8.0 (for runner 1.0). Without that, no environment satisfies it.

Why: these 3 cannot all hold together, but any 2 of them can
""")
    assert (
        """
Without changing the stack
  0  lock where `vendor` can be reached, or add a mirror that serves the same files to `mirrors` of that
     [[index]]

Ways out, each one solved and checked
  A  drop runner
"""
        in told
    )
    assert workspace.read("conflict.md").startswith("# demo: undecided\n\ndemo for linux-aarch64")
    assert "<h1>demo: undecided</h1>" in workspace.read("conflict.html")
    run = workspace.run("explain", "demo", "--json")
    assert (run.status, run.json["status"]) == (3, "undecided")
    wanted = {"indexes": ["vendor"], "project": "torch-npu", "needs": ["torch-npu==2.8.0"], "by": ["runner 1.0"]}
    assert run.json["awaited"] == [wanted]
    assert CHINESE in workspace.run("explain", "demo", "--lang", "zh").stdout


def test_several_stacks_in_one_table(workspace: Workspace) -> None:
    workspace.stack("runner")
    workspace.stack("numpy", name="plain")
    run = workspace.run("lock", "demo", "plain")
    assert run.status == 3
    assert "undecided: vendor could not be reached; report written\n" in run.stdout
    assert run.stdout.endswith("2 stacks, 2 targets: 1 locked, 1 undecided\n")


def test_a_release_that_no_line_names_may_be_there_as_well(workspace: Workspace, index: LoopbackIndex) -> None:
    """All that `pypi` has needs an old numpy; another build may not."""
    index.add_wheel("torch-npu", "2.7.1.post1", requires=["numpy<2"])
    workspace.stack("torch-npu>=2.7.1.post1,<2.8", "numpy>=2")
    run = workspace.run("explain", "demo", "--json")
    assert (run.status, run.json["awaited"][0]["needs"]) == (3, ["torch-npu>=2.7.1.post1,<2.8"])


@pytest.mark.parametrize(
    "lines", [["runner", "numpy==1.0"], ["runner", "torch-npu==2.8.1"]], ids=["another reason", "two pins"]
)
def test_a_proof_that_needs_nothing_from_there_is_one(workspace: Workspace, lines: list[str]) -> None:
    workspace.stack(*lines)
    run = workspace.run("explain", "demo", "--json")
    assert (run.status, run.json["status"], run.json["awaited"]) == (1, "conflict", [])
