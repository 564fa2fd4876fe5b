"""What fuzzing has found stays mended: each of these inputs once broke its reader."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from tests.fuzz.targets import CORPUS, TARGETS

FOUND = sorted(CORPUS.glob("*/found-*"))
TARGET = {target.name: target for target in TARGETS}


@pytest.mark.parametrize("path", FOUND, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_reader_survives_what_broke_it(path: Path) -> None:
    target = TARGET[path.parent.name]
    with suppress(*target.refusals):
        target.judge(path.read_bytes())
