"""Laws of ways out of stacks with two targets, on random worlds, against brute force."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from random import Random
from typing import Any

import tomli
import tomli_w
from hypothesis import example, given, reject, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from resolver.config import schema
from resolver.config.compile import StackCompiler, compile_problems
from resolver.config.load import Inputs
from resolver.config.toml_files import read_text
from resolver.explain.clock import Clock
from resolver.explain.explain import explanation_of
from resolver.index.protocol import Catalog
from resolver.model.change import ComponentChanged, LinesDivided, VersionChanged
from resolver.model.explanation import Explanation
from resolver.resolve.refutation import Refutation
from resolver.resolve.solver import decide
from resolver.resolve.universe import Universe
from tests.components import COMPONENTS
from tests.property.bruteforce import BruteForce
from tests.property.worlds import KNOWN, World, machine_world

_NAMES = ("one", "two")


@dataclass(frozen=True)
class Case:
    """A stack for two machines that has no lock for the first, and perhaps none for the other."""

    world: World
    inputs: Inputs
    catalog: Catalog
    refutation: Refutation

    @cached_property
    def explanation(self) -> Explanation:
        return explanation_of(
            self.refutation, StackCompiler(self.inputs), Clock(60), lambda _: self.catalog
        )

    def holds(self, text: str) -> bool:
        document = read_text(text, schema.StackFile, "world.toml", COMPONENTS)
        problems = compile_problems(replace(self.inputs, stack=document))
        return all(BruteForce(self.world.of(problem)).satisfiable() for problem in problems)


def conflict(seed: int) -> Case:
    """Return the world of a seed on two machines.

    A world that has a solution on the first machine is rejected as an example.
    """
    world, random = machine_world(seed), Random(seed)
    inputs = world.inputs()
    raw: dict[str, Any] = tomli.loads(inputs.stack.text)
    raw["target"] = [
        {**_machine(random), "name": name, "platform": "linux-aarch64"} for name in _NAMES
    ]
    inputs = replace(
        inputs, stack=read_text(tomli_w.dumps(raw), schema.StackFile, "world.toml", COMPONENTS)
    )
    catalog = world.catalog()
    answer = decide(Universe(compile_problems(inputs)[0], catalog))
    if not isinstance(answer, Refutation):
        reject()
    return Case(world, inputs, catalog, answer)


def _machine(random: Random) -> dict[str, Any]:
    values = {component: random.choice(known) for component, known in KNOWN.items()}
    system = {component: values.pop(component) for component in ("cann", "soc")}
    return {**values, "system": system}


@settings(
    max_examples=settings.default.max_examples // 8
)  # each one explains two targets, and locks for both
@given(st.integers(0, 99_999))
@example(2180)  # a line that changes for one target, and back for the other
@example(2446)  # another Python for each of them, and a line that comes back
@example(5120)  # another machine for one, which the other's Python makes needless
def test_ways_out_of_two_targets_hold(seed: int) -> None:
    case = conflict(seed)
    each_holds_for_both_targets(case)
    no_other_machine_and_no_other_version_is_needless(case)
    what_another_machine_for_each_solves_has_one(case)


def each_holds_for_both_targets(case: Case) -> None:
    for fix in case.explanation.fixes:
        if not isinstance(fix.changes[0], LinesDivided):
            ((_, text),) = fix.files
            assert case.holds(text), fix.changes


def no_other_machine_and_no_other_version_is_needless(case: Case) -> None:
    for fix in case.explanation.fixes:
        for change in fix.changes if len(fix.changes) > 1 else ():
            raw = tomli.loads(fix.files[0][1])
            if isinstance(change, ComponentChanged):
                _set(raw, _NAMES.index(change.target or "one"), change.subject, change.before)
            elif isinstance(change, VersionChanged):
                requires = raw["stack"]["requires"]
                requires[requires.index(str(change.after))] = change.before.origin.text
            else:
                continue
            assert not case.holds(tomli_w.dumps(raw)), (fix.changes, change)


def what_another_machine_for_each_solves_has_one(case: Case) -> None:
    """Try each value of a component of each target, or of one: what helps is shown."""
    if not case.explanation.fixes:
        for text in changed_machines(case.inputs.stack.text):
            assert not case.holds(text), text


def changed_machines(text: str) -> Iterator[str]:
    """Yield the stack with another value of a component of each target, or of one of them."""
    rows: Sequence[tuple[str, str]] = [
        (component, value) for component, known in KNOWN.items() for value in known
    ]
    for both in product([None, *rows], repeat=len(_NAMES)):
        raw = tomli.loads(text)
        for at, row in enumerate(both):
            if row is not None:
                _set(raw, at, *row)
        yield tomli_w.dumps(raw)


def _set(raw: dict[str, Any], at: int, component: str, value: str) -> None:
    target = raw["target"][at]
    (target if component in ("python", "glibc") else target["system"])[component] = value
