"""Changed stacks that are refuted like an earlier one, and the releases that they share."""

from __future__ import annotations

import pytest
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.config.compile import StackCompiler
from resolver.explain import trials as trials_module
from resolver.explain.clock import Clock
from resolver.explain.explain import explanation_of
from resolver.explain.trials import Answer, Trials
from resolver.model.edit import Edits, SetComponent, SetLine
from resolver.model.problem import NO_OPTIONS
from resolver.model.resolution import Resolution
from resolver.resolve.provider import Tick
from resolver.resolve.refutation import Refutation
from resolver.resolve.solver import refuted_alike
from resolver.resolve.universe import Universe
from tests.changes import after_of
from tests.datacatalog import DataCatalog
from tests.unit.explain.inputs import fact, inputs_of, refutation, target

# `a` and `b` clash, whatever `other` is
ROWS = ("a 1: c==1", "b 1: c==2", "c 1 2", "other 1 2 3", "d 1: e==1", "e 2")


def proof_of(*lines: str) -> Refutation:
    return refutation(inputs_of(*lines, more=target()), DataCatalog().serve(*ROWS))


def universe_of(catalog: DataCatalog, *lines: str) -> Universe:
    (problem,) = StackCompiler(inputs_of(*lines, more=target())).problems()
    return Universe(problem, catalog)


def test_refuted_alike_opens_only_what_the_proof_is_about() -> None:
    catalog = DataCatalog().serve(*ROWS)
    proof = proof_of("a", "b", "other==1")
    answer = refuted_alike(universe_of(catalog, "a", "b", "other==2"), [proof])
    assert isinstance(answer, Refutation)
    assert set(answer.core) == set(proof.core)
    assert not [name for name in catalog.asked if name.startswith("other")]


def test_refuted_alike_says_nothing_of_another_conflict() -> None:
    proof = proof_of("a", "b")
    for lines in (["a", "other"], ["a", "d"]):
        catalog = DataCatalog().serve(*ROWS)
        assert refuted_alike(universe_of(catalog, *lines), [proof]) is None
        assert "d-1-py3-none-any.whl" not in catalog.asked


@pytest.mark.parametrize(("others", "is_solved"), [(5, False), (6, True)])
def test_trials_try_the_last_six_refutations_first(
    monkeypatch: pytest.MonkeyPatch, others: int, is_solved: bool
) -> None:
    """Whoever tries older ones as well opens more for each changed stack than it saves."""
    catalog = DataCatalog().serve(*ROWS)
    inputs = inputs_of("a", "b", "other==1", more=target())
    first = refutation(inputs, catalog)
    trials = Trials(
        StackCompiler(inputs), first.clauses.universe, Clock(60), NO_OPTIONS, lambda _: catalog
    )
    trials.learn(first)
    for _ in range(others):
        trials.learn(proof_of("other==9"))
    solved: list[Universe] = []
    decide = trials_module.decide
    monkeypatch.setattr(
        trials_module,
        "decide",
        lambda universe, among, tick: solved.append(universe) or decide(universe),
    )
    assert isinstance(trials.solve((SetLine(2, "other==2"),)), Refutation)
    assert bool(solved) == is_solved


def test_fix_of_a_row_is_reported_as_it_locks_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the row was solved to helps to find its lock, and does not decide what is in it."""
    table = "".join(
        fact("requires", "plugin", f"=={one}", f'needs = ["cann in 8.5.0", "base=={one}"]')
        for one in ("1", "2")
    )
    catalog = DataCatalog().serve("base 1 2", "plugin 1", "plugin 2", "tool 1: base==2")
    inputs = inputs_of("base==1", "plugin==1", "tool", more=target() + table)
    decide = trials_module.decide
    changed = ["base==2", "plugin==2", "tool"]
    helped: list[bool] = []

    def decided(universe: Universe, among: Universe | None, tick: Tick) -> Resolution | Refutation:
        if [root.origin.text for root in universe.problem.stack.requirements] == changed:
            helped.append(among is not None)
        return decide(universe, among=among, tick=tick)

    monkeypatch.setattr(trials_module, "decide", decided)
    found = explanation_of(
        refutation(inputs, catalog), StackCompiler(inputs), Clock(60), lambda _: catalog
    )
    assert [after_of(change) for change in found.fixes[0].changes] == ["base==2", "plugin==2"]
    assert helped == [True, False]


def test_rows_refuted_like_an_earlier_one_are_not_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a pre-release of `kernels` is for this CANN, whichever `plugin` is taken."""
    needs = 'needs = ["cann in 8.5.0 | 8.3.RC1", "kernels"]'
    table = "".join(fact("requires", "plugin", f"=={one}", needs) for one in ("1", "2", "3", "4"))
    table += fact("requires", "kernels", "", 'needs = ["cann in 8.3.RC1"]').replace('""', '"<=2"')
    catalog = DataCatalog().serve("plugin 1 2 3 4", "kernels 1 2 3rc1")
    inputs = inputs_of("plugin==2", "kernels==9", more=target() + table)
    rows: list[tuple[str, ...]] = []
    solve_near = Trials.solve_near

    def counted(
        trials: Trials, edits: Edits, preferred: dict[NormalizedName, Version], share: float
    ) -> Answer:
        rows.append(tuple(edit.value for edit in edits if isinstance(edit, SetComponent)))
        return solve_near(trials, edits, preferred, share)

    monkeypatch.setattr(Trials, "solve_near", counted)
    found = explanation_of(
        refutation(inputs, catalog), StackCompiler(inputs), Clock(60), lambda _: catalog
    )
    assert rows == [(), ("8.3.RC1",)]
    assert [after_of(change) for change in found.fixes[0].changes] == ["kernels==2", "8.3.RC1"]


def test_variants_share_releases_whatever_look_up_found_them() -> None:
    """Look-ahead hands in a look-up of its own, with the pages that the catalog has."""
    catalog = DataCatalog().serve(*ROWS)
    universe = universe_of(catalog, "a", "b", "other==1")
    lookup = catalog.lookup("other")
    project = universe.project("other", lookup)
    (problem,) = StackCompiler(inputs_of("a", more=target())).problems()
    again = type(lookup)(lookup.pages, lookup.unreachable)
    assert universe.for_problem(problem).project("other", again) is project
    assert universe.over(catalog).project("other", again) is project
    assert universe.over(catalog).project("other", catalog.lookup("other")) is not project
    unreachable = type(lookup)(lookup.pages, ("elsewhere",))
    assert universe.over(catalog).project("other", unreachable) is not project


def test_further_edits_are_made_after_those_before() -> None:
    catalog = DataCatalog().serve(*ROWS)
    compiler = StackCompiler(inputs_of("a", "b", more=target()))
    universe = universe_of(catalog, "a", "b")
    trials = Trials(compiler, universe, Clock(60), NO_OPTIONS, lambda _: catalog)
    changed = trials.after((SetLine(0, "a==1"),), universe)
    further = changed.after_further((SetLine(1, "b==1"),), universe)
    assert further.lines(()) == ("a==1", "b==1")
    assert changed.lines((SetLine(1, "b==1"),)) == ("a==1", "b==1")
