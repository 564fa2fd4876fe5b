"""What a lock says of what changed since the one before."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from resolver.lock import diff, file
from resolver.model.lock import Lock
from tests.functional.workspace import REPOSITORY

COMMITTED = REPOSITORY / "tests" / "fuzz" / "corpus" / "lock" / "verl-one-step-off.toml"


@pytest.fixture
def lock(tmp_path: Path) -> Lock:
    shutil.copy(COMMITTED, tmp_path / file.NAME)
    found = file.read(tmp_path)
    assert found is not None
    return replace(found, first=False, change=())


def test_a_file_that_changed_under_its_name_is_told_with_its_hash(lock: Lock) -> None:
    at, numpy = next((at, pin) for at, pin in enumerate(lock.pin) if pin.name == "numpy")
    other = replace(numpy, file=(replace(numpy.file[0], sha256="0" * 64),))
    pins = (*lock.pin[:at], other, *lock.pin[at + 1 :])
    (change,) = diff.after(lock, replace(lock, pin=pins)).change
    assert (change.old, change.new) == (f"1.26.4 ({numpy.file[0].sha256[:12]}…)", "1.26.4 (000000000000…)")


def test_a_file_that_was_replaced_is_found_among_pins_and_build_tools(lock: Lock) -> None:
    """In the order of their names; one that both have is not told."""
    tool = lock.build_pin[0]
    altered = replace(
        lock,
        pin=tuple(replace(pin, file=tuple(replace(one, sha256="0" * 64) for one in pin.file)) for pin in lock.pin),
        build_pin=(replace(tool, file=(replace(tool.file[0], sha256="1" * 64),)), *lock.build_pin[1:]),
    )
    numpy = next(pin for pin in lock.pin if pin.name == "numpy")
    told = [(was.name, now.sha256[0]) for was, now in diff.replaced(lock, altered)]
    assert told == sorted([(numpy.file[0].name, "0"), (tool.file[0].name, "1")])


def test_whether_a_source_was_read_is_no_change(lock: Lock) -> None:
    """That depends on the network of the day; what builds are made with does not."""
    read = replace(
        lock, pin=tuple(pin if pin.git is None else replace(pin, git=replace(pin.git, trust="")) for pin in lock.pin)
    )
    assert read != lock
    assert diff.same(lock, read)
    assert not diff.same(lock, replace(lock, build_pin=lock.build_pin[:1]))
