"""The limit of time holds wherever files are read one after another, for seconds each."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from resolver.config.compile import StackCompiler
from resolver.explain import clock as clocks
from resolver.explain import heuristics
from resolver.explain.clock import Clock
from resolver.explain.explain import explanation_of
from resolver.explain.trials import SHARE_OF_ROW, SHARE_OF_ROWS, Answer, Trials
from resolver.model.edit import AddRows, Edits
from resolver.model.explanation import Explanation
from resolver.model.release import CoreMetadata, File
from tests.changes import after_of
from tests.datacatalog import DataCatalog
from tests.unit.explain.inputs import fact, inputs_of, refutation, target

SECONDS = 10
MANY = 60


class Slow(DataCatalog):
    """A catalog that takes a second for each file that it had not read yet."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0

    def metadata(self, file: File) -> CoreMetadata:
        self.now += file.filename not in self.asked
        return super().metadata(file)


@pytest.fixture
def catalog(monkeypatch: pytest.MonkeyPatch) -> Slow:
    slow = Slow()
    monkeypatch.setattr(clocks, "time", SimpleNamespace(thread_time=lambda: slow.now))
    return slow


def explained(catalog: Slow, *lines: str, seconds: int) -> tuple[Explanation, int]:
    """With such a limit, and how long it took."""
    inputs = inputs_of(*lines, more=target(system=""), known={})
    answer = refutation(inputs, catalog)
    began = catalog.now
    return explanation_of(
        answer, StackCompiler(inputs), Clock(seconds), lambda _: catalog
    ), catalog.now - began


@pytest.mark.parametrize(
    ("lines", "others", "release", "most"),
    [
        # another `a` leaves releases of `b` only that need what there is not: the search reads each
        # in one round
        (["a==1", "b"], {"a": "2", "c": "1"}, {"name": "b", "requires": ["c==9"]}, SECONDS + 1),
        # the files of `b` are of no use, which shows when they are read
        (["a==1", "b"], {"a": "2"}, {"name": "b", "metadata_python": ">=4"}, SECONDS + 1),
        # each other release of `a` clashes with what the stack asks for, too
        (["a==7", "b==1"], {"b": "1"}, {"name": "a", "requires": ["b==9"]}, SECONDS + 1),
    ],
)
def test_explanation_of_many_releases_ends_in_time(
    catalog: Slow, lines: list[str], others: dict[str, str], release: dict[str, Any], most: int
) -> None:
    for name, version in others.items():
        catalog.add_wheel(name, version)
    for at in range(MANY):
        catalog.add_wheel(version=f"1.{at}", **release)
    explanation, took = explained(catalog, *lines, seconds=SECONDS)
    assert explanation.limited
    assert took <= most


def test_trials_that_take_long_leave_time_for_others(catalog: Slow) -> None:
    """Each other release of `b` needs one more project, of which all files are read in vain."""
    catalog.serve("a 1: c==1", "a 2: c==2", "b 1: c==2", "c 1 2")
    for at in range(2, 10):
        catalog.add_wheel("b", str(at), [f"d{at}"])
        for release in range(MANY):
            catalog.add_wheel(f"d{at}", f"2.{release}", metadata_python=">=4")
    explanation, _ = explained(catalog, "a==1", "b==1", seconds=10 * SECONDS)
    assert "a==2" in [after_of(fix.changes[0]) for fix in explanation.fixes]


# a table pairs each `plugin` with a `base` of the same number
PAIRED = "".join(
    fact("requires", "plugin", f"=={one}", f'needs = ["cann in 8.5.0", "base=={one}"]')
    for one in ("1", "2", "3", "4")
)


def first_way(catalog: Slow, *lines: str) -> tuple[list[str], int]:
    """What the first way out asks for, and how long it took to find it."""
    inputs = inputs_of(*lines, more=target() + PAIRED)
    answer = refutation(inputs, catalog)
    began = catalog.now
    found: list[tuple[list[str], int]] = []
    explanation_of(
        answer,
        StackCompiler(inputs),
        Clock(12 * SECONDS),
        lambda _: catalog,
        report_fix=lambda changes: found.append(
            ([after_of(change) for change in changes], catalog.now - began)
        ),
    )
    return found[0]


@pytest.mark.parametrize(("files", "is_by_row"), [(5, True), (40, False)])
def test_a_row_takes_a_twelfth_of_the_time(catalog: Slow, files: int, is_by_row: bool) -> None:
    """`plugin` 3 leads to many files that are read in vain, and other rows would take as long."""
    catalog.serve("base 1 2 3 4", "plugin 1", "plugin 2", "tool 1: base>=3", "tool 2")
    for one in ("3", "4"):
        catalog.add_wheel("plugin", one, ["many"])
    catalog.add_wheel("many", "0")
    for release in range(files):
        catalog.add_wheel("many", f"1.{release}", metadata_python=">=4")
    changes, took = first_way(catalog, "base==1", "plugin==2", "tool==1")
    # loosened lines have more time, and come after the rows
    assert (changes == ["base==3", "plugin==3"] and took < 2 * SECONDS) == is_by_row
    assert took <= files + SECONDS


@pytest.mark.parametrize(("files", "conflicts"), [(3, 2), (12 * SECONDS, 1)])
def test_contradictions_take_an_eighth_of_the_time(
    catalog: Slow, files: int, conflicts: int
) -> None:
    """Around the stack is much to read, and what helps is found in the time that is left."""
    catalog.serve("a 1: c==1, junk", "a 2: c==2", "b 1: c==2", "c 1 2", "junk 0")
    catalog.serve("e 1: g==1", "e 2: g==2", "f 1: g==2", "g 1 2")
    for at in range(files):
        catalog.add_wheel("junk", f"1.{at}", metadata_python=">=4")
    lines = ("a==1", "b==1", "e==1", "f==1")
    explanation, _ = explained(catalog, *lines, seconds=10 * SECONDS)
    assert len(explanation.contradictions) == conflicts
    changed = [sorted(after_of(change) for change in fix.changes) for fix in explanation.fixes]
    assert ["a==2", "e==2"] in changed


def test_clock_that_was_shortened_can_be_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(clocks, "time", SimpleNamespace(thread_time=lambda: now[0]))
    clock = Clock(8 * SECONDS)
    now[0] = 1.0
    clock.shorten()
    now[0] = 1.0 + 2 * SECONDS
    assert not clock.expired()
    now[0] += 1.0
    assert clock.expired()
    clock.restore()
    assert not clock.expired()
    now[0] = 3.0 * SECONDS
    clock.shorten()
    now[0] = 6.0 * SECONDS
    assert not clock.expired()
    now[0] += 1.0
    assert clock.expired()
    assert clock.limited


def test_clock_counts_what_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wait takes as much of the time as a computation."""
    seconds = [0.0]
    monkeypatch.setattr(clocks, "time", SimpleNamespace(thread_time=lambda: seconds[0]))
    monkeypatch.setattr(clocks, "waited", lambda: seconds[0])
    clock = Clock(SECONDS)
    seconds[0] = 0.4 * SECONDS
    assert not clock.expired()
    seconds[0] = 0.6 * SECONDS
    assert clock.expired()


def test_search_takes_as_long_again_after_the_first_way(catalog: Slow) -> None:
    """`a` is found at once; each other release of `b` needs a project read in vain for a minute."""
    catalog.serve("a 1: c==1", "a 2: c==2", "b 1: c==2", "c 1 2")
    for at in range(2, 20):
        catalog.add_wheel("b", str(at), [f"d{at}"])
        for release in range(MANY):
            catalog.add_wheel(f"d{at}", f"2.{release}", metadata_python=">=4")
    inputs = inputs_of("b==1", "a==1", more=target(system=""), known={})
    answer = refutation(inputs, catalog)
    began, limit = catalog.now, 40 * SECONDS
    found: list[int] = []
    explanation = explanation_of(
        answer,
        StackCompiler(inputs),
        Clock(limit),
        lambda _: catalog,
        report_fix=lambda _: found.append(catalog.now - began),
    )
    assert "a==2" in [after_of(fix.changes[0]) for fix in explanation.fixes]
    assert explanation.limited
    assert catalog.now - began <= found[0] + max(found[0], limit // 4) + 1


def test_rows_leave_time_for_other_versions(catalog: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each `plugin` leads to many files that are read in vain, for less than a row may take."""
    numbers = [str(number) for number in range(1, 13)]
    catalog.serve("base 1 2", "tool 1 2", "engine 20")
    facts = fact("requires", "tool", "==1", 'needs = ["base>=2"]')
    for one in numbers:
        catalog.serve(f"engine {one}", f"plugin {one}: many{one}")
        for release in range(8):
            catalog.add_wheel(f"many{one}", f"1.{release}", metadata_python=">=4")
        needs = f'needs = ["cann in 8.5.0", "engine=={one}", "base"]'
        facts += fact("requires", "plugin", f"=={one}", needs)
    inputs = inputs_of("base==1", "tool==1", "engine==20", "plugin==12", more=target() + facts)
    answer = refutation(inputs, catalog)
    began, limit = catalog.now, 12 * SECONDS
    loosened: list[int] = []
    monkeypatch.setattr(heuristics, "try_loosening", lambda _: loosened.append(catalog.now - began))
    explanation_of(answer, StackCompiler(inputs), Clock(limit), lambda _: catalog)
    # contradictions and the last row may take an eighth and a twelfth more
    assert loosened[0] < limit * (SHARE_OF_ROWS + 1 / 8 + SHARE_OF_ROW)


def test_loosening_states_facts_about_three_archives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each archive of `plugin` notes what it needs, and none is for this machine."""
    catalog = DataCatalog().serve("base 1 2", "tool 1: base==2", "tool 2", "setuptools 80")
    for version in range(1, 9):
        notes = {"plugin.egg-info/requires.txt": f"gone{version}\n"}
        catalog.add_archive("plugin", str(version), None, members=notes)
    inputs = inputs_of("base==1", "tool==1", "plugin==9", more=target(system=""), known={})
    stated: list[int] = []
    solve_near = Trials.solve_near

    def counted(trials: Trials, edits: Edits, *preferred: Any) -> Answer:
        stated.append(sum(isinstance(edit, AddRows) for edit in edits))
        return solve_near(trials, edits, *preferred)

    monkeypatch.setattr(Trials, "solve_near", counted)
    explanation_of(refutation(inputs, catalog), StackCompiler(inputs), Clock(60), lambda _: catalog)
    assert max(stated) == 3
