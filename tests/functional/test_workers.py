"""Processes that lock several stacks."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from resolver.cli import workers
from resolver.cli.console import Progress
from resolver.cli.options import Settings
from resolver.cli.workers import LockOptions, _Notes, _Worker
from resolver.errors import ResolverError
from resolver.lock.previous import KEEP_ALL
from resolver.model.lock import Lock
from resolver.model.message import message
from tests.functional.workspace import Workspace
from tests.loopback import LoopbackIndex


@pytest.fixture
def worker(workspace: Workspace, index: LoopbackIndex) -> Iterator[_Worker]:
    index.serve("demo 1.0")
    workspace.stack("demo")
    settings = Settings(
        progress=_Notes("en"),
        language="en",
        own_matrices=workspace.matrices,
        own_locks=workspace.root / "locks",
    )
    with workspace.inside():
        made = _Worker(LockOptions(settings, KEEP_ALL, ignore_remembered=False, dry_run=False))
        yield made
        made.end()


def test_worker_outlives_a_killed_process(worker: _Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    # a process of the tests has more in it than one of the program
    monkeypatch.setattr(workers, "_LARGEST", 1 << 40)
    (result,) = worker.lock("demo").results
    assert isinstance(result.answer, Lock)
    assert worker._process is not None
    assert worker._process.pid is not None
    os.kill(worker._process.pid, signal.SIGKILL)
    (killed,) = worker.lock("demo").results
    assert isinstance(killed.answer, ResolverError)
    assert "killed" in killed.answer.message
    (again,) = worker.lock("demo").results
    assert again.answer == result.answer


def test_worker_answers_for_a_stack_that_is_not_there(worker: _Worker) -> None:
    (result,) = worker.lock("nosuch").results
    assert isinstance(result.answer, ResolverError)
    assert result.stack == "nosuch"


def test_notes_are_told_once_and_in_order() -> None:
    notes: Progress = _Notes("en")
    notes.warn(message("cli.tree-depth"))
    notes.say("a line")
    assert isinstance(notes, _Notes)
    assert notes.take() == (message("cli.tree-depth"), "a line")
    assert notes.take() == ()


def test_stacks_are_told_in_their_order(workspace: Workspace, index: LoopbackIndex) -> None:
    index.serve("demo 1.0")
    for name in ("late", "early", "middle"):
        workspace.stack("demo", name=name)
    run = workspace.run("lock", "late", "early", "middle")
    assert run.status == 0, run
    rows = [line.split()[0] for line in run.stdout.splitlines()[1:4]]
    assert rows == ["late", "early", "middle"]
