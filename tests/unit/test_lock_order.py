"""The stages of an installation, and why they are in this order."""

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


def test_stages_follow_facts_and_say_why() -> None:
    why = message(
        "order.after",
        package="a",
        others=["b"],
        reason=verbatim("somebody read it"),
        where="facts/a.toml:7",
    )
    found = stages(pins("abc"), [after("a", "b", "absent")])
    # What no fact orders comes last.
    assert [stage.pins for stage in found] == [("b",), ("a",), ("c",)]
    assert [stage.because for stage in found] == [(), (why,), ()]


def test_stages_refuse_a_cycle_of_facts() -> None:
    facts = [after("a", "b"), after("b", "a"), after("c", "a")]
    with pytest.raises(InputError) as refused:
        stages(pins("abc"), facts)
    assert refused.value.message in (
        "the facts order a, b in a cycle",
        "the facts order b, a in a cycle",
    )
    assert refused.value.where == "facts/a.toml:7, facts/b.toml:7"


def test_stages_put_a_rewriting_source_last() -> None:
    _, plugin = taken("plugin", "1.0", rewrites=("plugin", "target"))
    built = pins(["plugin"], "built-apart", LockedGit(url="https://h/x", commit="0" * 40))
    found = stages([*built, *pins(["target", "rest"])], (), [plugin])
    assert [stage.pins for stage in found] == [("target",), ("rest",), ("plugin",)]
    why = message(
        "order.rewrites", package="plugin", others=["target"], where="facts/plugin.toml:7"
    )
    assert found[-1].because == (why,)


def test_stages_begin_with_pip_and_isolated_builds() -> None:
    locked = [
        *pins(["base", "pip", "setuptools", "target"]),
        *pins(["alone", "late", "with-the-environments-tools"], "built-apart"),
        *pins(["here"], "built-here"),
    ]
    found = stages(locked, [after("late", "target")], environments={"alone": 0, "late": 0})
    assert [stage.pins for stage in found] == [
        ("pip", "setuptools"),
        ("alone",),
        ("target",),
        ("late",),
        ("base",),
        ("with-the-environments-tools",),
        ("here",),
    ]
    assert found[0].because == (message("order.pip-first"),)
    assert found[1].because == (message("order.alone-first"),)


def test_stages_without_pip_put_setuptools_beside_others() -> None:
    found = stages(pins(["base", "setuptools"]), ())
    assert [stage.pins for stage in found] == [("base", "setuptools")]
