"""What changed since the previous lock.

The text of a difference is among the expected reports.
"""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from resolver.files import json_text
from resolver.lock.difference import difference
from resolver.lock.previous import replaced_files, same_decisions, with_changes
from resolver.model.lock import Lock, LockedPin, PinChange
from resolver.report.summary import difference_json
from tests.unit.report.two_locks import locks


@pytest.fixture
def lock() -> Lock:
    return replace(locks()[0], first=False, change=())


def _numpy(lock: Lock) -> LockedPin:
    return next(pin for pin in lock.pin if pin.name == "numpy")


def test_with_changes_tells_the_hash_of_a_replaced_file(lock: Lock) -> None:
    numpy = _numpy(lock)
    other = replace(numpy, file=(replace(numpy.file[0], sha256="0" * 64),))
    pins = tuple(other if pin is numpy else pin for pin in lock.pin)
    (change,) = with_changes(replace(lock, pin=pins), lock).change
    assert (change.old, change.new) == (
        f"1.26.4 ({numpy.file[0].sha256[:12]}…)",
        "1.26.4 (000000000000…)",
    )


def test_replaced_files_of_pins_and_build_tools(lock: Lock) -> None:
    """They are in the order of their names; a file that did not change is not among them."""
    numpy, tool = _numpy(lock), lock.build_pin[0]
    other_numpy = replace(numpy, file=(replace(numpy.file[0], sha256="0" * 64),))
    other_tool = replace(tool, file=(replace(tool.file[0], sha256="1" * 64),))
    altered = replace(
        lock,
        pin=tuple(other_numpy if pin is numpy else pin for pin in lock.pin),
        build_pin=(other_tool, *lock.build_pin[1:]),
    )
    files = [(before.name, after.sha256[0]) for before, after in replaced_files(lock, altered)]
    assert files == sorted([(numpy.file[0].name, "0"), (tool.file[0].name, "1")])


def test_same_decisions_ignores_trust_in_a_source(lock: Lock) -> None:
    """Trust depends on the network of the day; the tools of builds do not."""
    pins = []
    for pin in lock.pin:
        git = pin.git and replace(pin.git, trust=None)
        pins.append(replace(pin, git=git))
    read = replace(lock, pin=tuple(pins))
    assert read != lock
    assert same_decisions(lock, read)
    assert not same_decisions(lock, replace(lock, build_pin=lock.build_pin[:1]))


def test_difference_json_is_english() -> None:
    parts = json.loads(json_text(difference_json(difference(*locks()))))
    assert parts["pins"][1:3] == [
        {"name": "polars", "new": "2.3.3"},
        {"name": "verl", "old": "0.7.0.dev0 (ccd7d934f91b)"},
    ]
    assert parts["facts"][0] == {"name": "new", "new": "it was measured"}
    assert [row for row in parts["warnings"] if "numpy:" in str(row)] == [
        {"old": "numpy: is slow (a.toml:1)"},
        {"new": "numpy: is fast (a.toml:2)"},
    ]
    assert parts["others"] == ["exclude-newer"]


def test_difference_ignores_earlier_changes(lock: Lock) -> None:
    assert not difference(lock, replace(lock, first=True, change=(PinChange(name="a", new="1"),)))
