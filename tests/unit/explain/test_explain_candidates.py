"""Which changed stacks are fixes, and with which of their changes."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from msgspec.structs import replace

from resolver.config.compile import StackCompiler
from resolver.explain.candidate_fixes import CandidateFixes, _failures
from resolver.explain.changed_stack import ChangedStack
from resolver.explain.changes import Changes
from resolver.explain.clock import Clock
from resolver.explain.proposals import Proposals
from resolver.explain.search_results import FixSearchResults
from resolver.explain.trials import Trials
from resolver.i18n import translate
from resolver.model.change import Change
from resolver.model.constraint import VERSION_PART, StackLine
from resolver.model.package import Package
from resolver.model.problem import NO_OPTIONS
from resolver.model.resolution import Resolution, UnloadablePin
from resolver.phrase import literal
from tests.changes import after_of
from tests.datacatalog import DataCatalog
from tests.unit.explain.inputs import fact, inputs_of, refutation, target, warning


class Search(NamedTuple):
    """A refuted stack, and what a search for its fixes works with."""

    trials: Trials
    changes: Changes
    proposals: Proposals
    results: FixSearchResults

    def candidates(self, before: ChangedStack | None = None) -> CandidateFixes:
        return CandidateFixes(self.trials, self.results, self.changes.alternatives, before)

    def asking_for(self, project: str, version: str) -> ChangedStack:
        """Return the changes that give the line of a project a release."""
        universe = self.trials.universe
        for root in self.trials.problem.stack.requirements:
            line = replace(root.origin, part=VERSION_PART)
            assert isinstance(line, StackLine)
            if line.text.startswith(project):
                releases = universe.all_candidates(Package(project))
                (release,) = (each for each in releases if str(each.version) == version)
                return self.changes.apply([line], {line: release})
        raise AssertionError(project)

    def solved(self, changed: ChangedStack) -> Resolution:
        answer = self.trials.solve(changed.edits)
        assert isinstance(answer, Resolution)
        return answer


def search(catalog: DataCatalog, *lines: str, facts: str = "") -> Search:
    inputs = inputs_of(*lines, more=target() + facts)
    clauses = refutation(inputs, catalog).clauses
    trials = Trials(
        StackCompiler(inputs), clauses.universe, Clock(60), NO_OPTIONS, lambda _: catalog
    )
    changes = Changes(clauses, trials)
    results = FixSearchResults(lambda _: None)
    return Search(trials, changes, Proposals(clauses, trials, changes), results)


def told(changes: tuple[Change, ...]) -> list[str]:
    return [after_of(change) for change in changes]


def test_earlier_change_that_is_needless_is_undone() -> None:
    """The stack was refuted with Python 3.12 as well, and needs another `plugin` alone."""
    catalog = DataCatalog().serve("plugin 1: base==1", "plugin 2: base==2", "base 1 2")
    found = search(catalog, "plugin==1", "base==2")
    before = found.proposals.component("python", "3.12")
    found.candidates(before).solve(before.then(found.asking_for("plugin", "2")))
    ((fix, _),) = found.results.fixes
    assert told(fix.changes) == ["plugin==2"]


PRACTICES = "".join(
    fact(
        "replaces",
        name,
        "==1",
        f'id = "{name}-cv"\ndrop = ["cv"]\nadd = ["cv"]\nrisk = "Nobody tested it."',
        "practice",
    )
    for name in ("engine", "plugin")
)


def test_unused_practices_need_no_time_to_be_turned_off() -> None:
    """The solution has `plugin` 2, of which no practice speaks."""
    catalog = DataCatalog().serve("plugin 1: cv>=4", "plugin 2", "engine 1: cv>=4", "cv 3 4")
    found = search(catalog, "engine==1", "cv==3", "plugin", facts=PRACTICES)
    (practices,) = found.proposals.enabled_practices()
    assert [change.subject for change in practices.changes] == ["engine-cv", "plugin-cv"]
    resolution = found.solved(practices)
    found.trials.clock = Clock(-1)
    fix, _ = found.candidates()._with_fewest_practices(practices, resolution)
    assert [change.subject for change in fix.changes] == ["engine-cv"]


@pytest.mark.parametrize(("changed", "is_failure"), [("plugin", True), ("base", False)])
def test_release_that_cannot_be_loaded_is_no_fix(changed: str, is_failure: bool) -> None:
    """What a line asked for itself cannot be loaded whatever is changed."""
    catalog = DataCatalog().serve("plugin 1: base==1", "plugin 2: base==2", "base 1 2")
    found = search(catalog, "plugin==1", "base==2")
    release = {"plugin": "2", "base": "1"}[changed]
    stack = found.asking_for(changed, release)
    unloadable = UnloadablePin(project="plugin", version="2", why=literal("it is of another base"))
    resolution = replace(found.solved(stack), unloadable_pins=(unloadable,))
    texts = [translate(failure, "en") for failure in _failures(stack, resolution)]
    said = ["the binaries of plugin 2 cannot be loaded here (it is of another base)"]
    assert texts == (said if is_failure else [])


def test_dropped_line_that_something_needs_is_no_fix() -> None:
    """`failures` has the grave warning that says so."""
    grave = warning("engine", "==1", "It runs on nothing.", 'unless = ["runner"]\ngrave = true')
    catalog = DataCatalog().serve("engine 1", "runner 1: base==1", "base 1 2")
    found = search(catalog, "engine", "runner", "base==2", facts=grave)
    lines = {root.origin.text: root.origin for root in found.trials.problem.stack.requirements}
    stack = found.changes.apply([lines["runner"]], {})
    texts = [translate(failure, "en") for failure in _failures(stack, found.solved(stack))]
    assert texts == ["It runs on nothing."]


def test_old_release_that_a_practice_takes_counts_for_nothing() -> None:
    """`base` 1 is five years older than 2, which `engine` asks for without the practice."""
    catalog = DataCatalog().serve("plugin 1: base<2", "engine 1: base>=2", "other 1 2")
    catalog.add_wheel("base", "1", uploaded="2019-05-01T12:00:00Z")
    catalog.add_wheel("base", "2", uploaded="2024-06-01T12:00:00Z")
    what = 'id = "old"\ndrop = ["base"]\nadd = ["base<2"]\nrisk = "Nobody tested it."'
    practice = fact("replaces", "engine", "==1", what, "practice")
    found = search(catalog, "plugin==1", "engine==1", "base", "other==1", facts=practice)
    (practices,) = found.proposals.enabled_practices()
    both = practices.then(found.asking_for("other", "2"))
    doubted = found.candidates()._with_doubts(both, found.solved(both))
    assert (doubted.years_older, doubted.others_older) == (0, 0)


def test_old_release_that_a_pinned_line_bounds_counts_for_nothing() -> None:
    catalog = DataCatalog().serve("plugin 1: base<2", "other 1: nothing", "other 2")
    catalog.add_wheel("base", "1", uploaded="2019-05-01T12:00:00Z")
    catalog.add_wheel("base", "2", uploaded="2024-06-01T12:00:00Z")
    for line, years in (("plugin==1", 0), ("plugin", 5)):
        found = search(catalog, line, "base", "other==1")
        changed = found.asking_for("other", "2")
        doubted = found.candidates()._with_doubts(changed, found.solved(changed))
        assert doubted.others_older == years
