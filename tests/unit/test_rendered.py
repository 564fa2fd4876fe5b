"""The files of a lock are rendered once, and again only where the lock or what is stored differs."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from resolver.cli.rendered import rendered
from resolver.index.store.cache import Cache
from resolver.lock import file
from resolver.model.lock import Lock
from resolver.report import files

FOLDER = Path(__file__).parents[2] / "locks" / "trl-train" / "linux-aarch64-py311-cann8.5.0-a2"


@pytest.fixture
def lock() -> Lock:
    found = file.read(FOLDER)
    assert found is not None
    return found


def test_a_lock_is_rendered_once(lock: Lock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Lock] = []
    monkeypatch.setattr(files, "render", lambda one: made.append(one) or {"lock.toml": one.summary})
    with_another = replace(lock, summary="another")
    for one in (lock, lock, with_another, lock):
        store = Cache(tmp_path, pytest.fail)  # as a run of its own has it
        assert rendered(one, store) == {"lock.toml": one.summary}
    assert made == [lock, with_another]


def test_what_is_stored_is_what_is_rendered(lock: Lock, tmp_path: Path) -> None:
    first, second = (rendered(lock, Cache(tmp_path, pytest.fail)) for _ in range(2))
    assert first == second == files.render(lock)
