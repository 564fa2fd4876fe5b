"""Laws of explaining, on random worlds, against brute force."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import tomli
import tomli_w
from hypothesis import example, given, reject, settings
from hypothesis import strategies as st
from packaging.requirements import Requirement

from resolver.config.compile import StackCompiler, compile_problems
from resolver.config.load import Inputs
from resolver.explain.clock import Clock
from resolver.explain.contradiction import contradiction_of
from resolver.explain.cores import enumerate_cores, smallest
from resolver.explain.explain import explanation_of
from resolver.explain.user_constraints import user_constraint_of
from resolver.model.change import (
    Change,
    ChangeKind,
    ComponentChanged,
    ExtrasRemoved,
    FactSetAside,
    LineDropped,
    LinesDivided,
    RequirementRemoved,
    VersionChanged,
)
from resolver.model.constraint import (
    ComponentValue,
    Excluded,
    Exclusive,
    ReleaseRequires,
    StackLine,
    Unavailable,
)
from resolver.model.explanation import Branch, Contradiction, Explanation, Fix
from resolver.model.reason import Reason, requirement_of
from resolver.model.resolution import Resolution
from resolver.report.explanation.conflict import further_blocks
from resolver.report.terminal import terminal_text
from resolver.resolve.refutation import Refutation
from resolver.resolve.solver import decide
from resolver.resolve.universe import Universe
from tests.datacatalog import DataCatalog
from tests.property.bruteforce import BruteForce
from tests.property.found import extras, pins
from tests.property.reasons import Told, falsehoods, left, within
from tests.property.worlds import (
    COMPONENT_NEEDS,
    World,
    machine_world,
    policy_world,
    random_world,
    stack_inputs,
    worlds,
)

_Test = Callable[..., None]
_SECONDS = 60.0
_laws = settings(
    max_examples=settings.default.max_examples // 2
)  # each one explains, and some lock a lot
_CONSTRAINTS = 12  # of which every choice is tried
_machines = st.integers(0, 99_999).map(machine_world)
_policies = st.one_of(worlds(prereleases=True), st.integers(0, 99_999).map(policy_world))


@dataclass(frozen=True)
class Case:
    """A world without a solution, as it is explained."""

    world: World
    inputs: Inputs
    catalog: DataCatalog
    refutation: Refutation
    known: list[Contradiction] = field(
        default_factory=list
    )  # what is told before ways out are looked for

    @cached_property
    def explanation(self) -> Explanation:
        return explanation_of(
            self.refutation,
            StackCompiler(self.inputs),
            Clock(_SECONDS),
            lambda _: self.catalog,
            report=lambda _, contradictions, __: self.known.extend(contradictions),
        )

    @cached_property
    def contradictions(self) -> tuple[Contradiction, ...]:
        clauses = self.refutation.clauses
        found = list(enumerate_cores(clauses, lambda: False)) or [self.refutation.core]
        return tuple(contradiction_of(clauses, core) for core in found)

    @property
    def values(self) -> Mapping[str, Sequence[str]]:
        problem = self.refutation.clauses.universe.problem
        return {
            component: [str(value) for value in known]
            for component, known in problem.values.items()
        }

    def told(self, reasons: Sequence[Reason]) -> Told:
        return Told(self.world, reasons, self.values)


def _with(*seeds: int) -> Callable[[_Test], _Test]:
    """Give the test some worlds, and the worlds of these seeds.

    Each of them broke a law once, or has a rare kind of change.
    """

    def examples(test: _Test) -> _Test:
        for seed in seeds:
            test = example(random_world(seed))(test)
        return _laws(test)

    return examples


def conflict(world: World) -> Case:
    """Return the conflict of a world; reject a world without one as an example."""
    inputs, catalog = world.inputs(), world.catalog()
    (problem,) = compile_problems(inputs)
    answer = decide(Universe(problem, catalog))
    if not isinstance(answer, Refutation):
        reject()
    return Case(world.of(problem), inputs, catalog, answer)


def lines(contradiction: Contradiction) -> str:
    return terminal_text(further_blocks([contradiction]), "en", 120)


# --- contradictions


def its_reasons_cannot_hold_together(case: Case) -> None:
    """Those of the refutation and those that the search for ways out comes to, none of which is
    told twice.
    """
    assert case.contradictions
    for contradictions in (case.contradictions, case.explanation.contradictions):
        for one in contradictions:
            assert not case.told(one.reasons).satisfiable(), lines(one)
        assert len({frozenset(map(repr, one.reasons)) for one in contradictions}) == len(
            contradictions
        )


def without_any_one_of_its_reasons_the_others_can(case: Case) -> None:
    found, known = case.explanation.contradictions, case.known
    assert list(found[: len(known)]) == known
    for one in (*case.contradictions, *found[len(known) :]):
        for number in range(len(one.reasons)):
            rest = [*one.reasons[:number], *one.reasons[number + 1 :]]
            assert case.told(rest).satisfiable(), (number + 1, lines(one))


def no_reason_is_false(case: Case) -> None:
    for one in case.contradictions:
        for reason in one.reasons:
            assert list(falsehoods(case.world, reason)) == [], reason


def no_core_is_smaller_than_the_smallest(case: Case, of_all: bool) -> None:
    """Of all cores, or of those of the same wishes."""
    clauses = case.refutation.clauses
    minimal = clauses.minimal()
    hard = (
        []
        if of_all
        else [constraint for constraint in minimal if user_constraint_of(constraint) is not None]
    )
    others = [*dict.fromkeys([*minimal, *clauses.known])] if of_all else clauses.known
    soft = [
        constraint for constraint in others if of_all or user_constraint_of(constraint) is None
    ][:_CONSTRAINTS]
    if clauses.satisfiable(among=[*hard, *soft]):
        return
    core = smallest(clauses, clauses.minimal(among=[*hard, *soft]), hard, soft, lambda: False)
    assert not clauses.satisfiable(among=core)
    size = len([constraint for constraint in core if constraint not in hard])
    for fewer in (
        combinations(soft, size - 1) if size else ()
    ):  # fewer still clash only where one of these does
        assert clauses.satisfiable(among=[*hard, *fewer])


# --- where they meet


def a_closing_leaves_nothing_to_choose(case: Case) -> None:
    for one in case.contradictions:
        closings = (
            [((), one.closing)]
            if one.closing
            else [(path, path[-1].closing) for path in paths(one.branches)]
        )
        for path, closing in closings:
            assert closing is not None
            meet = [one.reasons[number - 1] for number in closing.numbers]
            assert meet
            if not any(isinstance(reason.constraint, Exclusive) for reason in meet):
                kept = left(case.world, closing.subject, meet, case.values.get(closing.subject, ()))
                for branch in path:
                    if branch.subject.partition("[")[0] == closing.subject:
                        kept = [
                            version
                            for version in kept
                            if version in within(case.world, closing.subject, branch.versions)
                        ]
                assert kept == [], (closing, lines(one))


def each_case_of_a_contradiction_is_closed(case: Case) -> None:
    for one in case.contradictions:
        assert (one.closing is None) == bool(one.branches)
        for path in paths(one.branches):
            assert path[-1].closing is not None
            for chosen_pins in chosen(case.world, path):
                assert not case.told(one.reasons).satisfiable(chosen_pins)


def the_cases_of_a_contradiction_are_all_that_there_are(case: Case) -> None:
    for one in case.contradictions:
        for before, below in families(one.branches, ()):
            (subject,) = {branch.subject for branch in below}
            rest = case.told(
                [
                    row
                    for row in one.reasons
                    if not (requirement_of(row) is not None and row.subject == subject)
                ]
            )
            name = subject.partition("[")[0]
            told = [
                version for branch in below for version in within(case.world, name, branch.versions)
            ]
            assert len(told) == len(set(told)), "one release in two cases"
            for chosen_pins in chosen(case.world, before):
                for version in case.world.projects[name]:
                    if chosen_pins.get(name, version) == version and rest.satisfiable(
                        {**chosen_pins, name: version}
                    ):
                        assert version in told, (subject, version, lines(one))


_Law = Callable[[Case], None]
_OF_CONTRADICTIONS: tuple[_Law, ...] = (
    its_reasons_cannot_hold_together,
    without_any_one_of_its_reasons_the_others_can,
    no_reason_is_false,
    partial(no_core_is_smaller_than_the_smallest, of_all=False),
    partial(no_core_is_smaller_than_the_smallest, of_all=True),
    a_closing_leaves_nothing_to_choose,
    each_case_of_a_contradiction_is_closed,
    the_cases_of_a_contradiction_are_all_that_there_are,
)


def test_contradictions_hold() -> None:
    met: set[type] = set()

    @_with(2201, 2241, 11122, 11634, 12994, 15796, 20569, 20577, 20673, 21529, 27909)
    @given(worlds())
    def hold(world: World) -> None:
        case = conflict(world)
        for law in _OF_CONTRADICTIONS:
            law(case)
        for one in case.contradictions:
            met.update(type(reason.constraint) for reason in one.reasons)
            met.update(map(type, one.branches))

    hold()
    kinds = {StackLine, ComponentValue, ReleaseRequires, Excluded, Exclusive, Unavailable}
    assert met >= {*kinds, Branch}


@given(worlds(bounds=True))
def test_contradictions_of_bounds_hold(world: World) -> None:
    case = conflict(world)
    for law in _OF_CONTRADICTIONS:
        law(case)


@_laws
@given(_policies)
@example(policy_world(533))  # one release that is yanked, and a pre-release
@example(policy_world(721))
@example(policy_world(2251))  # one that is yanked, and needs what others need that are not
def test_contradictions_of_policies_hold(world: World) -> None:
    its_reasons_cannot_hold_together(conflict(world))


def paths(branches: Sequence[Branch]) -> Iterator[tuple[Branch, ...]]:
    """Each way from a case down to one that is closed."""
    for branch in branches:
        if branch.branches:
            assert branch.closing is None
            yield from ((branch, *below) for below in paths(branch.branches))
        else:
            yield (branch,)


def families(
    branches: Sequence[Branch], before: tuple[Branch, ...]
) -> Iterator[tuple[tuple[Branch, ...], Sequence[Branch]]]:
    """Yield the cases at each place, with the cases that lead there."""
    if branches:
        yield before, branches
    for branch in branches:
        yield from families(branch.branches, (*before, branch))


def chosen(world: World, path: Sequence[Branch]) -> Iterator[dict[str, str]]:
    """Each choice of releases that a path of cases speaks of."""
    if not path:
        yield {}
        return
    name = path[0].subject.partition("[")[0]
    for version in within(world, name, path[0].versions):
        for rest in chosen(world, path[1:]):
            if rest.get(name, version) == version:
                yield {**rest, name: version}


# --- ways out


def it_locks_and_its_pins_are_right(case: Case) -> None:
    for fix in case.explanation.fixes:
        assert len(fix.files) == len(fix.environments)
        for (name, text), environment in zip(fix.files, fix.environments, strict=True):
            (problem,) = compile_problems(stack_inputs(text))
            assert problem.stack.name == name == environment.name
            answer = decide(Universe(problem, case.catalog))
            assert isinstance(answer, Resolution), fix
            assert BruteForce(case.world.of(problem)).faults(pins(answer), extras(answer)) == []
            assert len(answer.pins) == environment.count
            assert {row.name: row.version for row in environment.pins}.items() <= pins(
                answer
            ).items()


def undoing_any_one_change_brings_the_conflict_back(case: Case) -> None:
    for fix in case.explanation.fixes:
        if isinstance(fix.changes[0], LinesDivided):
            continue
        for change in fix.changes:
            (problem,) = compile_problems(stack_inputs(undone(fix, change)))
            assert not BruteForce(case.world.of(problem)).satisfiable(), (change, fix.changes)


def it_changes_what_it_says_and_nothing_else(case: Case) -> None:
    before = table(case.inputs.stack.text)
    for fix in case.explanation.fixes:
        if isinstance(fix.changes[0], LinesDivided):
            parts = [table(text) for _, text in fix.files]
            assert {*parts[0].pop("lines"), *parts[1].pop("lines")} == {*before["lines"]}
            for part in parts:
                assert {**part, "lines": before["lines"]} == before
            continue
        text = fix.files[0][1]
        for change in fix.changes:
            text = undone(fix, change, text)
        assert table(text) == before, fix.changes


def table(text: str) -> dict[str, Any]:
    """Return a stack as data: its lines in no order, without its name and summaries."""
    raw = tomli.loads(text)
    for key in ("name", "summary", "summary-zh"):
        raw["stack"].pop(key, None)
    return {**raw, "lines": sorted(raw["stack"].pop("requires"))}


def an_enforced_fact_is_never_relaxed_and_risks_come_last(case: Case) -> None:
    enforced = {fact.id for fact in case.world.facts if fact.strength.value == "enforced"}
    fixes = case.explanation.fixes
    for fix in fixes:
        assert not enforced & {
            change.fact for change in fix.changes if isinstance(change, FactSetAside)
        }
    assert [fix.risky for fix in fixes] == sorted(fix.risky for fix in fixes)
    assert [fix.name for fix in fixes] == list("ABCDEFGHIJ"[: len(fixes)])
    assert not case.explanation.limited


_COSTS = {"version": 100, "extra": 130, "policy": 180, "drop": 600, "add": 900}
_COMPONENTS = {"cann": 140, "python": 160, "glibc": 165, "soc": 800}
_RELAXED = {"observed": 500, "vendor": 700}
_AT_ONCE = 3  # changes that brute force makes


def no_set_of_other_versions_and_other_machines_costs_less(case: Case) -> None:
    """Try all releases and values of components, up to three changed: nothing cheaper holds."""
    strengths = {fact.id: fact.strength.value for fact in case.world.facts}

    def cost(change: Change) -> int:
        if isinstance(change, FactSetAside):
            return _RELAXED[strengths[change.fact]]
        return (
            _COMPONENTS[change.subject]
            if isinstance(change, ComponentChanged)
            else _COSTS[change.kind.value]
        )

    fixes = [fix for fix in case.explanation.fixes if not isinstance(fix.changes[0], LinesDivided)]
    cheapest = min((sum(map(cost, fix.changes)) for fix in fixes), default=10_000)
    for price, changed in changed_worlds(case, cheapest):
        assert not BruteForce(changed).satisfiable(), (price, changed.asks, changed.system)


def changed_worlds(case: Case, most: int) -> Iterator[tuple[int, World]]:
    """Yield the world with other releases in its lines and other values of components.

    Each change is cheaper than `most`.
    """
    world = case.world
    rows: list[tuple[int, str | int, str]] = [
        (_COMPONENTS[component], component, value)
        for component, values in case.values.items()
        for value in values
        if value != world.system[component]
    ]
    for at, line in enumerate(world.asks):
        wish = None if line in COMPONENT_NEEDS else Requirement(line)
        if wish is not None and wish.specifier:
            bare = f"{wish.name}[{','.join(sorted(wish.extras))}]" if wish.extras else wish.name
            rows += [
                (_COSTS["version"], at, f"{bare}=={version}")
                for version in world.projects.get(wish.name, {})
                if not wish.specifier.contains(version, prereleases=True)
            ]
    for number in range(1, _AT_ONCE + 1):
        for changes in combinations(rows, number):
            price = sum(price for price, _, _ in changes)
            after = {before: value for _, before, value in changes}
            if price < most and len(after) == number:
                system = {
                    component: after.get(component, value)
                    for component, value in world.system.items()
                }
                asks = tuple(after.get(at, line) for at, line in enumerate(world.asks))
                yield price, replace(world, asks=asks, system=system)


_OF_WAYS_OUT: tuple[_Law, ...] = (
    it_locks_and_its_pins_are_right,
    undoing_any_one_change_brings_the_conflict_back,
    it_changes_what_it_says_and_nothing_else,
    an_enforced_fact_is_never_relaxed_and_risks_come_last,
    no_set_of_other_versions_and_other_machines_costs_less,
)


def test_ways_out_hold() -> None:
    met: set[ChangeKind] = set()

    @_with(48, 413, 445, 2052, 4225, 10086, 10192, 10346, 20005)
    @given(st.one_of(worlds(), worlds(bounds=True), _machines))
    @example(machine_world(30))  # a line and Python
    @example(machine_world(457))  # a line and CANN
    @example(machine_world(216))  # Python and the SoC
    @example(machine_world(19127))  # two components beside Python
    def hold(world: World) -> None:
        case = conflict(world)
        for law in _OF_WAYS_OUT:
            law(case)
        met.update(change.kind for fix in case.explanation.fixes for change in fix.changes)

    hold()
    more_is_needed = {
        ChangeKind.PRACTICE,
        ChangeKind.LINE,
        ChangeKind.FACTS,
        ChangeKind.STATE,
        ChangeKind.SOURCE,
        ChangeKind.POLICY,
    }
    assert met >= {*ChangeKind} - more_is_needed


def undone(fix: Fix, change: Change, text: str = "") -> str:
    raw: dict[str, Any] = tomli.loads(text or fix.files[0][1])
    requires = raw["stack"]["requires"]
    match change:
        case VersionChanged() | ExtrasRemoved():
            requires[requires.index(str(change.after))] = change.before.origin.text
        case ComponentChanged():
            own = change.subject in ("python", "glibc")
            table = raw["target"] if own else raw["target"]["system"]
            assert table[change.subject] == change.after
            table[change.subject] = change.before
        case FactSetAside():
            rows = [row for row in raw["relax"] if row["fact"] == change.fact]
            rows = [row for row in rows if row.get("needs", [""]) == [change.need]]
            raw["relax"].remove(rows[0])
            if not raw["relax"]:
                del raw["relax"]
        case RequirementRemoved():
            (row,) = tomli.loads(change.rows)["fact"]["replaces"]
            raw["fact"]["replaces"].remove(row)
            if not raw["fact"]["replaces"]:
                del raw["fact"]["replaces"]
        case LineDropped():
            requires.append(change.before.origin.text)
        case _:
            raise AssertionError(change)
    return tomli_w.dumps(raw)
