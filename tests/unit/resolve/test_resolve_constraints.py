"""A stack's constraints and overrides: in the search, in the checks of answers, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from random import Random

import pytest
from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.version import Version

from resolver.model.problem import Problem
from resolver.model.reason import Reason
from resolver.model.resolution import Resolution
from resolver.resolve.check_refutation import check_refutation
from resolver.resolve.independent_check import check
from resolver.resolve.premises import premises
from resolver.resolve.refutation import Refutation
from resolver.resolve.solver import solve
from tests.datacatalog import DataCatalog
from tests.problems import constrains, pins, problem, refused, requires, solved, told


def without_lines(stated: Problem) -> Problem:
    """The same problem without its constraints and overrides."""
    return replace(stated, stack=replace(stated.stack, constraints=(), overrides=()))


def proof(stated: Problem, catalog: DataCatalog) -> tuple[Reason, ...]:
    """The reasons of a conflict, as its check gets them."""
    refutation = refused(stated, catalog)
    return premises(refutation.clauses, refutation.core)


def test_constraint_bounds_only_what_is_needed() -> None:
    catalog = DataCatalog().serve("a 1: b", "b 1 2", "c 1")
    assert pins(problem("a", constraints=["b<2", "nowhere<1"]), catalog) == {"a": "1", "b": "1"}
    assert pins(problem("c", constraints=["b<2"]), catalog) == {"c": "1"}
    elsewhere = ["b<2 ; platform_machine == 'x86_64'"]
    assert pins(problem("a", constraints=elsewhere), catalog)["b"] == "2"


def test_constraint_finds_older_release_that_fits() -> None:
    catalog = DataCatalog().serve("a 1: b<2", "a 2: b>=2", "b 1 2")
    assert pins(problem("a", constraints=["b<2"]), catalog) == {"a": "1", "b": "1"}
    assert pins(problem("a", "b", constraints=["b<2"]), catalog) == {"a": "1", "b": "1"}


def test_conflict_names_constraint() -> None:
    catalog = DataCatalog().serve("a 1: b>=2", "b 1 2")
    assert told(problem("a", constraints=["b<2"]), catalog) == [
        "the stack asks for a @ stack.toml:5",
        "the stack allows only b<2 (constraints) @ stack.toml:50",
        "a 1 needs b>=2 @ metadata of a-1-py3-none-any.whl",
    ]


def test_check_finds_pin_beyond_constraint() -> None:
    catalog = DataCatalog().serve("a 1: b", "b 1 2")
    stated = problem("a", constraints=["b<2"])
    answer = solve(without_lines(stated), catalog)
    assert isinstance(answer, Resolution)
    assert check(stated, answer, catalog) == [
        "the stack allows only b<2, and b 2 is pinned",
    ]


def test_check_refutation_needs_constraint() -> None:
    catalog = DataCatalog().serve("a 1: b>=2", "b 1 2")
    stated = problem("a", constraints=["b<2"])
    reasons = proof(stated, catalog)
    assert check_refutation(stated, reasons, catalog) == []
    assert check_refutation(without_lines(stated), reasons, catalog) != []


def test_override_replaces_what_others_require() -> None:
    catalog = DataCatalog().serve("a 1: b>=2", "b 1 2 3", "c 1: b")
    resolution = solved(problem("a", overrides=["b<2"]), catalog)
    assert {pin.name: str(pin.version) for pin in resolution.pins} == {"a": "1", "b": "1"}
    (override,) = resolution.overrides
    assert (override.package, override.dropped, override.fact) == ("a", "b>=2", "stack.toml:60")
    # of a project that nobody requires, it asks nothing
    assert pins(problem("c", overrides=["zzz==1"]), catalog) == {"c": "1", "b": "3"}
    fact = requires("c", "", "b==2")
    assert pins(problem("c", facts=[fact], overrides=["b==1"]), catalog)["b"] == "1"


def test_override_that_does_not_apply_drops_requirement() -> None:
    catalog = DataCatalog().serve("a 1: b>=2", "b 2")
    nowhere = ["b ; platform_machine == 'x86_64'"]
    assert pins(problem("a", overrides=nowhere), catalog) == {"a": "1"}


def test_override_leaves_lines_bounds_and_own_extras() -> None:
    catalog = DataCatalog().serve("a 1: b>=2", "b 1 2", "b 3: c; extra == 'x'", "c 1")
    catalog.serve("d 1: d[y]", "d 1: c>=2; extra == 'y'")
    line = ["the stack asks for b>=2 @ stack.toml:6"]
    assert line[0] in told(problem("a", "b>=2", overrides=["b<2"]), catalog)
    bound = constrains("a", "", "b!=1")
    assert (
        "works only with b!=1" in told(problem("a", facts=[bound], overrides=["b<2"]), catalog)[-1]
    )
    assert pins(problem("a", overrides=["b[x]"]), catalog) == {"a": "1", "b": "3", "c": "1"}


def test_override_permits_prerelease_and_yanked_release_that_it_pins() -> None:
    catalog = DataCatalog().serve("a 1: b", "b 1")
    catalog.add_wheel("b", "2rc1")
    catalog.add_wheel("b", "3", yanked="broken")
    assert pins(problem("a", overrides=["b==2rc1"]), catalog)["b"] == "2rc1"
    assert pins(problem("a", overrides=["b==3"]), catalog)["b"] == "3"


def test_conflict_names_override() -> None:
    catalog = DataCatalog().serve("a 1: b>=2", "b 1 2")
    assert told(problem("a", "b==2", overrides=["b<2"]), catalog) == [
        "the stack asks for a @ stack.toml:5",
        "the stack asks for b==2 @ stack.toml:6",
        "a 1 needs b<2, by an override of the stack @ stack.toml:60",
    ]


def test_checks_know_overrides() -> None:
    catalog = DataCatalog().serve("a 1: b>=2", "b 1 2")
    stated = problem("a", overrides=["b<2"])
    plain = without_lines(stated)
    assert check(plain, solved(stated, catalog), catalog) == [
        "a 1 needs b>=2, and 1 is pinned",
        "nothing asks for b",
    ]
    assert check(stated, solved(plain, catalog), catalog) == [
        "a 1 needs b<2, and 2 is pinned",
        "nothing asks for b",
    ]
    conflict = problem("a", "b==2", overrides=["b<2"])
    reasons = proof(conflict, catalog)
    assert check_refutation(conflict, reasons, catalog) == []
    assert check_refutation(without_lines(conflict), reasons, catalog) != []
    without_override = problem("a", "b==1")
    reasons = proof(without_override, catalog)
    with_override = problem("a", "b==1", overrides=["b<2"])
    assert check_refutation(with_override, reasons, catalog) != []


# --- compared with every combination

_SPECIFIERS = ("", "<2", ">=2", "==1", "==3", "!=2")


def random_world(random: Random) -> tuple[Problem, dict[str, dict[str, list[str]]]]:
    names = ["a", "b", "c", "d"]
    world: dict[str, dict[str, list[str]]] = {}
    for place, name in enumerate(names):
        world[name] = {}
        for version in random.sample(["1", "2", "3"], random.randint(1, 3)):
            others = random.sample(names[place + 1 :], random.randint(0, len(names) - place - 1))
            world[name][version] = [f"{other}{random.choice(_SPECIFIERS)}" for other in others]
    lines = [f"{name}{random.choice(_SPECIFIERS)}" for name in random.sample(names[:2], 1)]
    constrained = random.sample(names, random.randint(0, 2))
    overridden = random.sample(names[1:], random.randint(0, 2))
    return (
        problem(
            *lines,
            constraints=[f"{name}{random.choice(_SPECIFIERS[1:])}" for name in constrained],
            overrides=[f"{name}{random.choice(_SPECIFIERS)}" for name in overridden],
        ),
        world,
    )


def combinations(stated: Problem, world: dict[str, dict[str, list[str]]]) -> list[dict[str, str]]:
    """Return every set of pins that the stack leads to and that meets everything."""
    stack = stated.stack
    lines, constraints, overrides = (
        [Requirement(str(root.need)) for root in roots]
        for roots in (stack.requirements, stack.constraints, stack.overrides)
    )
    by_name = {need.name: need for need in overrides}
    found = []
    for versions in product(*(["", *world[name]] for name in world)):
        chosen = {name: version for name, version in zip(world, versions, strict=True) if version}
        needs = list(lines)
        for name, version in chosen.items():
            for text in world[name][version]:
                need = Requirement(text)
                needs.append(by_name.get(need.name, need))
        bounds: Sequence[Requirement] = [need for need in constraints if need.name in chosen]
        is_met = all(
            need.name in chosen and need.specifier.contains(Version(chosen[need.name]))
            for need in [*needs, *bounds]
        )
        if is_met and {need.name for need in needs} == set(chosen):
            found.append(chosen)
    return found


@pytest.mark.parametrize("seed", range(120))
def test_constraints_and_overrides_by_brute_force(seed: int) -> None:
    stated, world = random_world(Random(seed))
    catalog = DataCatalog(world)
    possible = combinations(stated, world)
    answer = solve(stated, catalog)
    if isinstance(answer, Refutation):
        assert possible == []
        assert check_refutation(stated, premises(answer.clauses, answer.core), catalog) == []
    else:
        assert {pin.name: str(pin.version) for pin in answer.pins} in possible
        assert check(stated, answer, catalog) == []
