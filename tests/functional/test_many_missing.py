"""A stack of many projects that the index does not have: all are told, and the page stays one that people read."""

from __future__ import annotations

import json

import pytest

from tests.functional.test_bindings import CLOSED, bind
from tests.functional.workspace import Workspace
from tests.loopback import LoopbackIndex

NAMES = [f"gone{at:02}" for at in range(60)]


def test_all_projects_that_no_index_has_are_told(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("here", "1.0")
    workspace.stack(*NAMES, "here")
    index.clear()
    run = workspace.lock()
    assert run.status == 1
    assert len([one for one in index.requests if "/gone" in one.path]) == 60  # each is asked for once
    told, rest = NAMES[:24], NAMES[24:]
    for name in told:
        assert f"no index has a project `{name}`  looked up on pypi\n" in run.stderr
    shown = ", ".join(NAMES[24:44])
    assert (
        "   => 1 and 2 leave no choice for gone23\n"
        "\n"
        f"The stack also asks for these 36 projects, which no index has: {shown}\n"
        "and 16 more.\n"
        "\n"
        "Ways out, each one solved and checked\n"
    ) in run.stderr.replace(",\n", ", ")
    sentence = f"The stack also asks for these 36 projects, which no index has: {', '.join(rest)}."
    assert sentence in workspace.read("conflict.md")
    assert sentence in workspace.read("conflict.html")
    assert json.loads(workspace.read("conflict.json"))["missing"] == rest
    chinese = workspace.lock("--lang", "zh").stderr.replace("\n", "")
    assert "软件栈还要求以下 36 个项目，而没有任何软件源提供：gone24、gone25、" in chinese
    assert "gone43 以及另外 16 个。" in chinese


def test_a_conflict_of_very_many_statements_is_told_in_part(workspace: Workspace, index: LoopbackIndex) -> None:
    """The report has them all."""
    for at in range(60):
        index.add_wheel("demo", f"1.{at}")
    lines = [f"demo!=1.{at}" for at in range(60)]
    workspace.stack(*lines)
    run = workspace.lock("--explain-seconds", "5")
    assert run.status == 1
    told = [line for line in run.stderr.splitlines() if "the stack asks for" in line]
    assert len(told) == 40
    assert "     and 20 more, see the report\n" in run.stderr
    assert "=> 1-60 leave no choice for demo\n" in run.stderr
    assert all(line in workspace.read("conflict.md") for line in lines)


@pytest.mark.parametrize("command", ["lock", "explain"])
def test_an_index_that_has_nothing_at_all_is_no_conflict(
    workspace: Workspace, index: LoopbackIndex, command: str
) -> None:
    """A wrong address, or something on the way that answers 404: that three names are all wrong is less likely."""
    workspace.stack("numpy", "torch", "demo>=2")
    run = workspace.run(command, "demo")
    assert (run.status, run.stderr) == (
        3,
        (
            "error: Index `pypi` has nothing that the stack asks for.\n"
            "  at <server>/simple/pypi/\n"
            "  It answered that it has no page of demo, numpy, torch.\n"
            "hint: does it end in /simple? pip's own is shown by `pip config get global.index-url`\n"
        ),
    )
    assert not workspace.locks.exists() or list(workspace.locks.rglob("conflict.*")) == []
    index.add_wheel("torch", "1.0")
    assert workspace.run(command, "demo").status == 1


@pytest.mark.parametrize("lines", [("numpy", "torch", "torch-npu"), ("torch",)], ids=["several", "one"])
def test_an_address_without_simple_is_an_index_failure(
    workspace: Workspace, index: LoopbackIndex, lines: tuple[str, ...]
) -> None:
    """Even if another index that some of the projects are bound to cannot be reached, or there is only one project."""
    for name in ("torch", "torch-npu", "numpy"):
        index.add_wheel(name, "2.8.0")
        row = f'[[warns]]\nid = "{name}-w"\ntext = "a"\nreason = "b"\n'
        workspace.facts(name, row)
    bind(workspace, index, take="all", unreachable="next", vendor=CLOSED)
    workspace.stack(*lines)
    workspace.index_url = workspace.index_url.replace("http://", "http://reader:hunter2@")
    assert workspace.lock().status == 0
    workspace.index_url = workspace.index_url.replace("/simple/", "/")
    run = workspace.lock("--anew")
    assert run.status == 3
    assert "error: Index `pypi` has nothing that the stack asks for.\n  at <server>/" in run.stderr
    assert "hint: does it end in /simple?" in run.stderr
    assert "hunter2" not in run.stdout + run.stderr
