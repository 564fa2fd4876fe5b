"""A stack's `constraints` and `overrides`: locks, reports, ways out and edits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tomli

from tests.functional.workspace import Workspace

LISTS = 'constraints = ["d<3"]  # why\noverrides = ["b<2"]\nrequires'


@pytest.fixture
def stack(workspace: Workspace) -> Path:
    workspace.serve("a 1: b>=2", "b 1 2 3", "c 1: d", "d 1 2 3", "e 1: d>=3")
    path = workspace.stack("a", "c")
    path.write_text(path.read_text().replace("requires", LISTS, 1))
    return path


def test_lock_keeps_constraint_and_lists_override(workspace: Workspace, stack: Path) -> None:
    run = workspace.run("lock", "demo")
    assert (run.status, workspace.pins("demo")) == (0, {"a": "1", "b": "1", "c": "1", "d": "2"})
    lock = tomli.loads((workspace.locks / "demo" / "there" / "lock.toml").read_text())
    (override,) = lock["override"]
    where = "matrices/stacks/demo.toml:5"
    assert override == {
        "package": "a",
        "version": "1",
        "name": "b",
        "dropped": "b>=2",
        "fact": where,
    }
    assert workspace.run("check", "demo").status == 0
    assert f"b 1 [required: <2 ({where})]" in workspace.run("tree", "demo").stdout
    why = workspace.run("why", "demo", "d").stdout
    assert "the stack allows only d<3 (constraints)  matrices/stacks/demo.toml:4" in why
    why = workspace.run("why", "demo", "b").stdout
    assert f"a 1 needs b<2, by an override of the stack  {where}" in why


def test_only_an_unmet_override_needs_no_deps(workspace: Workspace, stack: Path) -> None:
    warned = "overrides of the stack go against requirements that the metadata states"
    told = "# (--no-deps, because overrides of the stack go against what pip would insist on;"
    workspace.locked()
    assert warned in workspace.run("export", "demo", "--format", "pylock").stderr
    assert told in workspace.read("requirements.txt")
    stack.write_text(stack.read_text().replace('"b<2"', '"b<3"'))
    workspace.locked("--upgrade")
    assert workspace.pins("demo")["b"] == "2"
    assert workspace.content()["override"]
    assert workspace.run("export", "demo", "--format", "pylock").stderr == ""
    assert "# (--no-deps, because nothing is left to choose" in workspace.read("requirements.txt")


def test_way_out_goes_without_constraint(workspace: Workspace, stack: Path) -> None:
    stack.write_text(stack.read_text().replace('"a"', '"a", "e"'))
    run = workspace.run("lock", "demo")
    assert run.status == 1
    assert "the stack allows only d<3 (constraints)" in run.stderr
    assert "  A  without constraints: d<3\n" in run.stderr
    document = json.loads(workspace.run("explain", "demo", "--json").stdout)
    lists = [
        statement["data"]["list"]
        for statement in document["contradictions"][0]["statements"]
        if statement["kind"] == "asks"
    ]
    assert sorted(lists) == ["constraints", "requires"]
    assert workspace.run("explain", "demo", "--apply", "A").status == 0
    assert "constraints = []  # why\n" in (stack.parent / "demo-a.toml").read_text()
    assert workspace.run("lock", "demo-a").status == 0


def test_edits_leave_constraints_and_overrides_alone(workspace: Workspace, stack: Path) -> None:
    assert workspace.run("add", "demo", "b").status == 0
    assert LISTS in stack.read_text()
    assert workspace.run("remove", "demo", "b").status == 0
    assert LISTS in stack.read_text()
    workspace.refused("no line of demo is about `d`", "remove", "demo", "d")


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ('constraints = ["d"]', "`d` is not a bound"),
        ('constraints = ["d[x]<2"]', "`d[x]<2` is not a bound"),
        ('constraints = ["d @ git+https://h.example/d@v1"]', "`constraints` cannot be used"),
        ('overrides = ["d @ git+https://h.example/d@v1"]', "`overrides` cannot be used"),
        ('constraints = ["d<<2"]', "`d<<2` is not a requirement"),
        ("constraints = [\"d<2 ; platform_release == 'x'\"]", "the marker of `"),
    ],
)
def test_constraint_that_cannot_be_used(workspace: Workspace, line: str, error: str) -> None:
    path = workspace.stack("c")
    path.write_text(path.read_text().replace("requires", f"{line}\nrequires", 1))
    run = workspace.run("lock", "demo")
    assert (run.status, run.error.startswith(error)) == (2, True), run
    assert "matrices/stacks/demo.toml:4" in run.stderr
