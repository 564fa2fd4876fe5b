"""What changed since the lock before.

What a difference comes to as a text is among the expected reports.
"""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from resolver.files import json_text
from resolver.lock.difference import difference
from resolver.lock.previous import replaced_files, same_decisions, with_changes
from resolver.model.lock import Lock, PinChange
from resolver.report.summary import difference_json
from tests.unit.report.two_locks import locks


@pytest.fixture
def lock() -> Lock:
    return replace(locks()[0], first=False, change=())


def test_a_file_that_changed_under_its_name_is_told_with_its_hash(lock: Lock) -> None:
    at, numpy = next((at, pin) for at, pin in enumerate(lock.pin) if pin.name == "numpy")
    other = replace(numpy, file=(replace(numpy.file[0], sha256="0" * 64),))
    pins = (*lock.pin[:at], other, *lock.pin[at + 1 :])
    (change,) = with_changes(replace(lock, pin=pins), lock).change
    assert (change.old, change.new) == (
        f"1.26.4 ({numpy.file[0].sha256[:12]}…)",
        "1.26.4 (000000000000…)",
    )


def test_a_file_that_was_replaced_is_found_among_pins_and_build_tools(lock: Lock) -> None:
    """In the order of their names; one that both have is not told."""
    tool = lock.build_pin[0]
    altered = replace(
        lock,
        pin=tuple(
            replace(pin, file=tuple(replace(one, sha256="0" * 64) for one in pin.file))
            for pin in lock.pin
        ),
        build_pin=(
            replace(tool, file=(replace(tool.file[0], sha256="1" * 64),)),
            *lock.build_pin[1:],
        ),
    )
    numpy = next(pin for pin in lock.pin if pin.name == "numpy")
    told = [(was.name, now.sha256[0]) for was, now in replaced_files(lock, altered)]
    assert told == sorted([(numpy.file[0].name, "0"), (tool.file[0].name, "1")])


def test_whether_a_source_was_read_is_no_change(lock: Lock) -> None:
    """That depends on the network of the day; what builds are made with does not."""
    read = replace(
        lock,
        pin=tuple(
            pin if pin.git is None else replace(pin, git=replace(pin.git, trust=""))
            for pin in lock.pin
        ),
    )
    assert read != lock
    assert same_decisions(lock, read)
    assert not same_decisions(lock, replace(lock, build_pin=lock.build_pin[:1]))


def test_as_json_in_english() -> None:
    told = json.loads(json_text(difference_json(difference(*locks()))))
    assert told["pins"][1:3] == [
        {"name": "polars", "new": "2.3.3"},
        {"name": "verl", "old": "0.7.0.dev0 (ccd7d934f91b)"},
    ]
    assert told["facts"][0] == {"name": "new", "new": "it was measured"}
    assert [one for one in told["warnings"] if "numpy:" in str(one)] == [
        {"old": "numpy: is slow (a.toml:1)"},
        {"new": "numpy: is fast (a.toml:2)"},
    ]
    assert told["others"] == ["exclude-newer"]


def test_a_lock_is_the_same_as_itself_whatever_it_tells_of_earlier_changes(lock: Lock) -> None:
    assert not difference(lock, replace(lock, first=True, change=(PinChange(name="a", new="1"),)))
