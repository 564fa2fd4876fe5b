"""A hostile index on loopback, and a lock made before it turned hostile."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile.certificates import server_context
from tests.hostile.scene import Scene
from tests.loopback import LoopbackIndex


@pytest.fixture(scope="session")
def locks(tmp_path_factory: pytest.TempPathFactory, authority: Path) -> Path:
    with LoopbackIndex(tls=server_context(authority)) as index:
        scene = Scene(tmp_path_factory.mktemp("before"), index, authority)
        index.add_wheel("demo", "1.0")
        scene.workspace.stack("demo")
        assert scene.lock().status == 0
    return scene.workspace.locks


@pytest.fixture
def scene(tmp_path: Path, authority: Path, locks: Path) -> Iterator[Scene]:
    """There is a lock with demo 1.0. Now there is demo 2.0 as well, which the stack requires."""
    with LoopbackIndex(tls=server_context(authority)) as index:
        scene = Scene(tmp_path, index, authority)
        shutil.copytree(locks, scene.workspace.locks)
        for version in ("1.0", "2.0"):
            index.add_wheel("demo", version)
        scene.workspace.stack("demo>1")
        yield scene
