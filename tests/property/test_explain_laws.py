"""Laws of explaining, on random worlds, against brute force."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import tomli
import tomli_w
from hypothesis import example, given, reject, settings
from hypothesis import strategies as st
from packaging.requirements import Requirement

from resolver.config.compile import compile_problems
from resolver.config.load import Inputs
from resolver.explain.contradictions import contradiction, cores, smallest, wish_of
from resolver.explain.explain import explanation_of
from resolver.explain.trial import Clock
from resolver.model.explanation import Branch, Change, ChangeKind, Contradiction, Explanation, Fix
from resolver.model.resolution import Needs, Resolution, Shares, Statement
from resolver.report.explanation.conflict import further_blocks
from resolver.report.terminal import terminal_text
from resolver.resolve.solver import Refutation, decide
from resolver.resolve.universe import Universe
from tests.datacatalog import DataCatalog
from tests.property.bruteforce import BruteForce
from tests.property.found import extras, pins
from tests.property.statements import Told, falsehoods, left, within
from tests.property.worlds import (
    COMPONENT_NEEDS,
    World,
    machine_world,
    policy_world,
    random_world,
    stack_inputs,
    worlds,
)

_SECONDS = 60.0
_laws = settings(max_examples=settings.default.max_examples // 3)  # each one explains, and some lock a lot
_GROUNDS = 12  # of which every choice is tried
_machines = st.integers(0, 99_999).map(machine_world)
_policies = st.one_of(worlds(prereleases=True), st.integers(0, 99_999).map(policy_world))
_any_worlds = st.one_of(worlds(), _machines)


@dataclass(frozen=True)
class Case:
    """A world without a solution, as it is explained."""

    world: World
    inputs: Inputs
    catalog: DataCatalog
    refutation: Refutation

    @cached_property
    def explanation(self) -> Explanation:
        return explanation_of(self.refutation, self.inputs, Clock(_SECONDS))

    @cached_property
    def contradictions(self) -> tuple[Contradiction, ...]:
        clauses = self.refutation.engine.clauses
        found = list(cores(clauses, lambda: False)) or [self.refutation.core]
        return tuple(contradiction(clauses, core) for core in found)

    @property
    def values(self) -> Mapping[str, Sequence[str]]:
        problem = self.refutation.engine.clauses.universe.problem
        return {component: [str(value) for value in known] for component, known in problem.values.items()}

    def told(self, statements: Sequence[Statement]) -> Told:
        return Told(self.world, statements, self.values)


def conflict(world: World) -> Case:
    """The conflict of a world; a world that has none is no example."""
    case = refuted(world)
    if case is None:
        reject()
    return case


def refuted(world: World) -> Case | None:
    """The conflict of a world, if it has one."""
    inputs, catalog = world.inputs(), world.catalog()
    (problem,) = compile_problems(inputs)
    answer = decide(Universe(problem, catalog))
    return Case(world.of(problem), inputs, catalog, answer) if isinstance(answer, Refutation) else None


def lines(contradiction: Contradiction) -> str:
    """A contradiction as people read it."""
    return terminal_text(further_blocks([contradiction]), "en", 120)


# --- contradictions


@_laws
@given(st.one_of(worlds(), _policies))
@example(random_world(15796))
@example(random_world(21529))
@example(policy_world(533))  # one release that is yanked, and a pre-release
@example(policy_world(721))
@example(policy_world(2251))  # one that is yanked, and needs what others need that are not
def test_the_statements_of_a_contradiction_cannot_hold_together(world: World) -> None:
    """Those of the refutation and those that the search for ways out comes to, none of which is told twice."""
    case = conflict(world)
    assert case.contradictions
    for contradictions in (case.contradictions, case.explanation.contradictions):
        for one in contradictions:
            assert not case.told(one.statements).satisfiable(), lines(one)
        assert len({frozenset(map(repr, one.statements)) for one in contradictions}) == len(contradictions)


@_laws
@given(worlds())
@example(random_world(2201))
@example(random_world(2241))
@example(random_world(12994))
@example(random_world(20569))
@example(random_world(20673))
def test_without_any_one_of_its_statements_the_others_can(world: World) -> None:
    case = conflict(world)
    known: list[Contradiction] = []
    found = explanation_of(case.refutation, case.inputs, Clock(_SECONDS), tell=lambda *told: known.extend(told[1]))
    assert list(found.contradictions[: len(known)]) == known
    for one in (*case.contradictions, *found.contradictions[len(known) :]):
        for number in range(len(one.statements)):
            rest = [*one.statements[:number], *one.statements[number + 1 :]]
            assert case.told(rest).satisfiable(), (number + 1, lines(one))


@_laws
@given(worlds())
def test_no_statement_is_false(world: World) -> None:
    case = conflict(world)
    for one in case.contradictions:
        for statement in one.statements:
            assert list(falsehoods(case.world, statement)) == [], statement


@_laws
@given(worlds(), st.booleans())
def test_no_core_has_fewer_grounds_than_the_smallest(world: World, of_all: bool) -> None:
    """Of all cores, or of those of the same wishes."""
    clauses = conflict(world).refutation.engine.clauses
    minimal = clauses.minimal()
    hard = [] if of_all else [ground for ground in minimal if wish_of(ground) is not None]
    others = [*dict.fromkeys([*minimal, *clauses.known])] if of_all else clauses.known
    soft = [ground for ground in others if of_all or wish_of(ground) is None][:_GROUNDS]
    if clauses.satisfiable(among=[*hard, *soft]):
        return
    core = smallest(clauses, clauses.minimal(among=[*hard, *soft]), hard=hard, soft=soft)
    assert not clauses.satisfiable(among=core)
    size = len([ground for ground in core if ground not in hard])
    for fewer in combinations(soft, size - 1) if size else ():  # fewer still clash only where one of these does
        assert clauses.satisfiable(among=[*hard, *fewer])


@_laws
@given(worlds())
def test_cores_are_minimal_in_the_clauses(world: World) -> None:
    clauses = conflict(world).refutation.engine.clauses
    for core in cores(clauses, lambda: False):
        assert not clauses.satisfiable(among=core)
        for ground in core:
            assert clauses.satisfiable(among=[other for other in core if other != ground])


# --- where they meet


@_laws
@given(worlds())
@example(random_world(11122))
@example(random_world(11634))
@example(random_world(20577))
def test_a_closing_leaves_nothing_to_choose(world: World) -> None:
    case = conflict(world)
    for one in case.contradictions:
        closings = [((), one.closing)] if one.closing else [(path, path[-1].closing) for path in paths(one.branches)]
        for path, closing in closings:
            assert closing is not None
            meet = [one.statements[number - 1] for number in closing.numbers]
            assert meet
            if not any(isinstance(statement, Shares) for statement in meet):
                kept = left(case.world, closing.subject, meet, case.values.get(closing.subject, ()))
                for branch in path:
                    if branch.subject.partition("[")[0] == closing.subject:
                        kept = [
                            version
                            for version in kept
                            if version in within(case.world, closing.subject, branch.versions)
                        ]
                assert kept == [], (closing, lines(one))


@_laws
@given(worlds())
@example(random_world(27909))
def test_each_case_of_a_contradiction_is_closed(world: World) -> None:
    case = conflict(world)
    for one in case.contradictions:
        assert (one.closing is None) == bool(one.branches)
        for path in paths(one.branches):
            assert path[-1].closing is not None
            for chosen_pins in chosen(case.world, path):
                assert not case.told(one.statements).satisfiable(chosen_pins)


@_laws
@given(worlds())
def test_the_cases_of_a_contradiction_are_all_that_there_are(world: World) -> None:
    case = conflict(world)
    for one in case.contradictions:
        for before, below in families(one.branches, ()):
            (subject,) = {branch.subject for branch in below}
            rest = case.told([row for row in one.statements if not (isinstance(row, Needs) and row.subject == subject)])
            name = subject.partition("[")[0]
            told = [version for branch in below for version in within(case.world, name, branch.versions)]
            assert len(told) == len(set(told)), "one release in two cases"
            for chosen_pins in chosen(case.world, before):
                for version in case.world.projects[name]:
                    if chosen_pins.get(name, version) == version and rest.satisfiable({**chosen_pins, name: version}):
                        assert version in told, (subject, version, lines(one))


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
    """The cases at each place, with those that lead there."""
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


def _of_ways_out(law: Callable[[World], None]) -> Callable[[World], None]:
    """A law of any world, and of those that have a rare kind of change."""
    for seed in (413, 445, 2052, 4225, 10192):
        law = example(random_world(seed))(law)
    return _laws(given(_any_worlds)(law))


@_of_ways_out
def test_each_way_out_locks_and_its_pins_are_right(world: World) -> None:
    case = conflict(world)
    for fix in case.explanation.fixes:
        assert len(fix.files) == len(fix.environments)
        for (name, text), environment in zip(fix.files, fix.environments, strict=True):
            (problem,) = compile_problems(stack_inputs(text))
            assert problem.stack.name == name == environment.name
            answer = decide(Universe(problem, case.catalog))
            assert isinstance(answer, Resolution), fix
            assert BruteForce(case.world.of(problem)).faults(pins(answer), extras(answer)) == []
            assert len(answer.pins) == environment.count
            assert {row.name: row.version for row in environment.pins}.items() <= pins(answer).items()


@_of_ways_out
@example(random_world(10086))
@example(random_world(10346))
@example(random_world(20005))
def test_undoing_any_one_change_of_a_way_out_brings_the_conflict_back(world: World) -> None:
    case = conflict(world)
    for fix in case.explanation.fixes:
        if fix.changes[0].kind is ChangeKind.SPLIT:
            continue
        for change in fix.changes:
            (problem,) = compile_problems(stack_inputs(undone(fix, change)))
            assert not BruteForce(case.world.of(problem)).satisfiable(), (change, fix.changes)


@_of_ways_out
def test_a_way_out_changes_what_it_says_and_nothing_else(world: World) -> None:
    case = conflict(world)
    before = table(case.inputs.stack.text)
    for fix in case.explanation.fixes:
        if fix.changes[0].kind is ChangeKind.SPLIT:
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
    """A stack as data: its lines in no order, without its name and summary."""
    raw = tomli.loads(text)
    del raw["stack"]["name"], raw["stack"]["summary"]
    return {**raw, "lines": sorted(raw["stack"].pop("requires"))}


@_laws
@given(worlds())
def test_an_enforced_fact_is_never_relaxed_and_risks_come_last(world: World) -> None:
    case = conflict(world)
    enforced = {fact.id for fact in case.world.facts if fact.strength.value == "enforced"}
    fixes = case.explanation.fixes
    for fix in fixes:
        assert not enforced & {change.subject for change in fix.changes if change.kind is ChangeKind.RELAX}
    assert [fix.risky for fix in fixes] == sorted(fix.risky for fix in fixes)
    assert [fix.name for fix in fixes] == list("ABCDEFGHIJ"[: len(fixes)])
    assert not case.explanation.limited


@_laws
@given(worlds(easy=True))
def test_what_one_change_of_a_version_solves_has_a_way_out(world: World) -> None:
    """Brute force over every line and every release: where that helps, something is shown."""
    case = conflict(world)
    helps = False
    for at, line in enumerate(case.world.asks):
        name = line.partition("[")[0].partition("=")[0].strip("<>!~ ")
        for version in case.world.projects.get(name, {}):
            asks = (*case.world.asks[:at], f"{name}=={version}", *case.world.asks[at + 1 :])
            helps |= BruteForce(case.world.asking(*asks)).satisfiable()
    if helps:
        assert case.explanation.fixes


_COSTS = {"version": 100, "extra": 130, "policy": 180, "drop": 600, "add": 900}
_COMPONENTS = {"cann": 140, "python": 160, "glibc": 165, "soc": 800}
_RELAXED = {"observed": 500, "vendor": 700}
_AT_ONCE = 3  # changes that brute force makes


@_laws
@given(_any_worlds)
@example(machine_world(30))  # a line and Python
@example(machine_world(457))  # a line and CANN
@example(machine_world(216))  # Python and the SoC
@example(random_world(48))  # two lines
def test_no_set_of_other_versions_and_other_machines_costs_less(world: World) -> None:
    """Brute force over releases and values of components, up to three of them changed: nothing cheaper holds."""
    case = conflict(world)
    strengths = {fact.id: fact.strength.value for fact in case.world.facts}

    def cost(change: Change) -> int:
        if change.kind is ChangeKind.RELAX:
            return _RELAXED[strengths[change.subject]]
        return _COMPONENTS[change.subject] if change.kind is ChangeKind.COMPONENT else _COSTS[change.kind.value]

    fixes = [fix for fix in case.explanation.fixes if fix.changes[0].kind is not ChangeKind.SPLIT]
    cheapest = min((sum(map(cost, fix.changes)) for fix in fixes), default=10_000)
    for price, changed in changed_worlds(case, cheapest):
        assert not BruteForce(changed).satisfiable(), (price, changed.asks, changed.system)


def changed_worlds(case: Case, most: int) -> Iterator[tuple[int, World]]:
    """The world with other releases in its lines and other values of components, each cheaper than `most`."""
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
                system = {component: after.get(component, value) for component, value in world.system.items()}
                asks = tuple(after.get(at, line) for at, line in enumerate(world.asks))
                yield price, replace(world, asks=asks, system=system)


def undone(fix: Fix, change: Change, text: str = "") -> str:
    """The stack of a way out without one of its changes."""
    raw: dict[str, Any] = tomli.loads(text or fix.files[0][1])
    requires = raw["stack"]["requires"]
    match change.kind:
        case ChangeKind.VERSION | ChangeKind.EXTRA:
            requires[requires.index(change.after)] = change.before
        case ChangeKind.COMPONENT:
            own = change.subject in ("python", "glibc")
            table = raw["target"] if own else raw["target"]["system"]
            assert table[change.subject] == change.after
            table[change.subject] = change.before
        case ChangeKind.RELAX:
            rows = [row for row in raw["relax"] if row["fact"] == change.subject]
            rows = [row for row in rows if row.get("needs", [""]) == [change.before]]
            raw["relax"].remove(rows[0])
            if not raw["relax"]:
                del raw["relax"]
        case ChangeKind.ADD:
            (row,) = tomli.loads(change.after)["fact"]["replaces"]
            raw["fact"]["replaces"].remove(row)
            if not raw["fact"]["replaces"]:
                del raw["fact"]["replaces"]
        case ChangeKind.POLICY:
            del raw["policy"]["prereleases-of"][change.subject]
        case ChangeKind.DROP:
            requires.append(change.before)
        case _:
            raise AssertionError(change)
    return tomli_w.dumps(raw)


def test_every_law_meets_conflicts_of_all_kinds() -> None:
    """The laws above say nothing where the worlds have no conflicts."""
    kinds: set[str] = set()
    rare: set[str] = set()
    branched = 0

    @settings(max_examples=150, derandomize=True, database=None)
    @given(worlds())
    def collect(world: World) -> None:
        nonlocal branched
        case = conflict(world)
        for one in case.contradictions:
            kinds.update(type(statement).__name__ for statement in one.statements)
            branched += bool(one.branches)
        for fix in case.explanation.fixes:
            kinds.update(change.kind.value for change in fix.changes)

    collect()
    for seed in (131, 137, 167, 413, 445, 2052, 4225, 10192):
        case = refuted(random_world(seed))
        assert case is not None
        for fix in case.explanation.fixes:
            rare.update(change.kind.value for change in fix.changes)
    assert {"version", "extra", "component", "add", "drop", "split", "policy"} <= rare
    assert {"Asks", "Has", "Needs", "Forbids", "Shares", "Lacks"} <= kinds
    assert {"version", "relax", "add", "drop"} <= kinds
    assert branched >= 5
