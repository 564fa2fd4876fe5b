"""An index on loopback and a folder to work in, new for each test."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.functional.workspace import Workspace
from tests.loopback import LoopbackIndex

Setup = Callable[[Workspace], None]
Begin = Callable[[Setup], None]


@pytest.fixture
def index() -> Iterator[LoopbackIndex]:
    with LoopbackIndex() as served:
        yield served


@pytest.fixture
def workspace(tmp_path: Path, index: LoopbackIndex) -> Workspace:
    return Workspace(tmp_path / "work", index)


@pytest.fixture(scope="session")
def locks_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Setup], Path]:
    """The folder of locks made by a setup, once: a lock does not depend on where its index was."""
    made: dict[Setup, Path] = {}

    def locks(setup: Setup) -> Path:
        if setup not in made:
            with LoopbackIndex() as index:
                workspace = Workspace(tmp_path_factory.mktemp("before") / "work", index)
                setup(workspace)
                workspace.locked()
            made[setup] = workspace.locks
        return made[setup]

    return locks


@pytest.fixture
def begin_with(workspace: Workspace, locks_of: Callable[[Setup], Path]) -> Begin:
    """Start a test with the result of a setup and its lock, for tests about what follows."""

    def begin(setup: Setup) -> None:
        setup(workspace)
        shutil.copytree(locks_of(setup), workspace.locks)

    return begin
