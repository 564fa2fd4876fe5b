"""The stages of an installation, and what a lock says of them."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from resolver.errors import InputError
from resolver.lock.order import stages
from resolver.model.lock import LockedGit, LockedPin, Mode
from resolver.model.message import message, verbatim
from tests.problems import after, taken


def pins(
    names: Iterable[str], mode: Mode = "wheels", git: LockedGit | None = None
) -> list[LockedPin]:
    return [LockedPin(name=name, version="1", index="pypi", mode=mode, git=git) for name in names]


def test_what_comes_after_something_is_a_later_stage_that_says_why() -> None:
    """What no fact orders comes last."""
    why = message(
        "order.after",
        package="a",
        others=["b"],
        reason=verbatim("somebody read it"),
        where="facts/a.toml:7",
    )
    told = [
        (stage.pins, stage.because) for stage in stages(pins("abc"), [after("a", "b", "absent")])
    ]
    assert told == [(("b",), ()), (("a",), (why,)), (("c",), ())]


def test_a_cycle_is_told_with_the_facts_that_make_it() -> None:
    facts = [after("a", "b"), after("b", "a"), after("c", "a")]
    with pytest.raises(InputError) as refused:
        stages(pins("abc"), facts)
    assert refused.value.message in (
        "the facts order a, b in a cycle",
        "the facts order b, a in a cycle",
    )
    assert refused.value.where == "facts/a.toml:7, facts/b.toml:7"


def test_a_source_that_rewrites_others_comes_after_all_but_itself() -> None:
    _, plugin = taken("plugin", "1.0", rewrites=("plugin", "target"))
    built = pins(["plugin"], "built-apart", LockedGit(url="https://h/x", commit="0" * 40))
    found = stages([*built, *pins(["target", "rest"])], (), [plugin])
    assert [stage.pins for stage in found] == [("target",), ("rest",), ("plugin",)]
    why = message(
        "order.rewrites", package="plugin", others=["target"], where="facts/plugin.toml:7"
    )
    assert found[-1].because == (why,)


def test_pip_comes_first_then_what_is_built_in_an_environment_of_its_own() -> None:
    locked = [
        *pins(["base", "pip", "setuptools", "target"]),
        *pins(["alone", "late", "with-the-environments-tools"], "built-apart"),
        *pins(["here"], "built-here"),
    ]
    found = stages(locked, [after("late", "target")], environments={"alone": 0, "late": 0})
    told = "pip setuptools, alone, target, late, base, with-the-environments-tools, here"
    assert [" ".join(stage.pins) for stage in found] == told.split(", ")
    assert [stage.because[0].code for stage in found[:2]] == [
        "order.pip-first",
        "order.alone-first",
    ]
    # setuptools alone is no reason for a stage
    assert [stage.pins for stage in stages(pins(["base", "setuptools"]), ())] == [
        ("base", "setuptools")
    ]
