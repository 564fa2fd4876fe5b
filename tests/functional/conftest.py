"""A folder to work in and an environment in it, new for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import Browser, browser
from tests.functional.machine import make_environment
from tests.functional.workspace import Workspace
from tests.loopback import LoopbackIndex


@pytest.fixture
def workspace(tmp_path: Path, index: LoopbackIndex) -> Workspace:
    return Workspace(tmp_path / "work", index)


@pytest.fixture
def python(workspace: Workspace) -> Path:
    return make_environment(workspace.root / "env")


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        opened.resize(1440)
        yield opened
