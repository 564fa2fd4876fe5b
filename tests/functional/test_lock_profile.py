"""`lock --profile`: the same lock, and on stderr where the time went."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.functional.workspace import Run, Workspace, tree
from tests.loopback import LoopbackIndex


@pytest.fixture
def demo(workspace: Workspace, index: LoopbackIndex) -> Workspace:
    index.add_wheel("demo", "1.0", requires=["numpy"])
    index.add_wheel("numpy", "2.0")
    workspace.stack("demo")
    return workspace


def profiled(run: Run) -> dict[str, Any]:
    assert run.status == 0, run.stderr
    told: dict[str, Any] = json.loads(run.stderr)["profile"]
    return told


def test_the_counts_are_those_of_the_index_and_of_the_cache(demo: Workspace, index: LoopbackIndex) -> None:
    first = profiled(demo.run_alone("lock", "demo", "--json", "--profile"))
    assert first["requests"] == len(index.requests)
    assert first["revalidated"] == 0
    assert first["bytes"] > 0
    assert first["rounds"] == 2, "one for each pin"
    assert sum(part["wall"] for part in first["parts"].values()) == pytest.approx(first["wall"])
    assert all(first["parts"][part]["wall"] > 0 for part in ("imports", "inputs", "pages", "solving", "writing"))
    asked = len(index.requests)
    again = profiled(demo.run_alone("lock", "demo", "--json", "--profile"))
    assert again["requests"] == len(index.requests) - asked
    assert again["revalidated"] == 2
    assert again["hits"] >= 2
    offline = profiled(demo.run_alone("lock", "demo", "--json", "--profile", "--offline"))
    assert (offline["requests"], offline["bytes"]) == (0, 0)


def test_the_lock_is_the_same_and_the_profile_is_on_stderr_only(demo: Workspace) -> None:
    plain = demo.run_alone("lock", "demo")
    before = tree(demo.locks)
    run = demo.run_alone("lock", "demo", "--profile")
    assert tree(demo.locks) == before
    assert run.status == plain.status == 0
    assert plain.stderr == ""
    assert "profile" not in run.stdout
    assert run.stderr.startswith("profile: ")
    assert "\nimports " in run.stderr  # a part of less than half a millisecond has no row
    assert " rounds\n" in run.stderr


def test_a_conflict_is_profiled_too(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("demo", "1.0", requires=["demo-data==2"])
    index.add_wheel("demo-data", "1.0")
    workspace.stack("demo")
    run = workspace.run_alone("lock", "demo", "--profile")
    assert run.status == 1
    assert "profile: " in run.stderr
