"""The limit of time is looked at wherever files are read one after another, which may take seconds each."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from resolver.explain import trial
from resolver.explain.explain import draft
from resolver.explain.trial import Clock
from resolver.matrix import schema
from resolver.matrix.compile import compile_problems
from resolver.matrix.document import read_text
from resolver.matrix.load import Inputs
from resolver.model.explanation import Explanation
from resolver.model.release import File, Metadata
from resolver.solve.solver import Refutation, decide
from resolver.solve.universe import Universe
from tests.datacatalog import DataCatalog

STACK = """\
index = []

[stack]
name = "demo"
summary = "a test"
requires = {lines}

[target]
python = "3.11"
platform = "linux-aarch64"
glibc = "2.28"
"""
SECONDS = 10
MANY = 60


class Slow(DataCatalog):
    """A catalog that takes a second for each file that it had not read yet."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0

    def metadata(self, file: File) -> Metadata:
        self.now += file.filename not in self.asked
        return super().metadata(file)


@pytest.fixture
def catalog(monkeypatch: pytest.MonkeyPatch) -> Slow:
    slow = Slow()
    monkeypatch.setattr(trial, "time", SimpleNamespace(monotonic=lambda: slow.now))
    return slow


def explained_within(catalog: Slow, *lines: str) -> int:
    """The seconds that it took."""
    answer, inputs = refuted(catalog, *lines)
    began = catalog.now
    assert draft(answer, inputs, Clock(SECONDS)).limited
    return catalog.now - began


def refuted(catalog: Slow, *lines: str) -> tuple[Refutation, Inputs]:
    text = STACK.format(lines=str(list(lines)))
    inputs = Inputs(
        stack=read_text(text, schema.StackFile, "demo.toml"),
        facts=(),
        indexes=None,
        systems=read_text("[component]", schema.SystemsFile, "systems.toml"),
    )
    (problem,) = compile_problems(inputs)
    answer = decide(Universe(problem, catalog))
    assert isinstance(answer, Refutation)
    return answer, inputs


def ways_out(catalog: Slow, *lines: str) -> list[str]:
    """What changes, where there is ten times as much time."""
    return [fix.changes[0].after for fix in explained(catalog, *lines).fixes]


def explained(catalog: Slow, *lines: str) -> Explanation:
    answer, inputs = refuted(catalog, *lines)
    return draft(answer, inputs, Clock(10 * SECONDS))


def test_a_trial_ends_in_the_middle_of_a_run_of_releases(catalog: Slow) -> None:
    """Another `a` leaves releases of `b` only that need what there is not: the search reads each in one round."""
    catalog.add_wheel("a", "2")
    catalog.add_wheel("c", "1")
    for at in range(MANY):
        catalog.add_wheel("b", f"1.{at}", ["c==9"])
    assert explained_within(catalog, "a==1", "b") <= SECONDS


def test_what_clashes_a_little_way_off_is_looked_for_in_time(catalog: Slow) -> None:
    """The files of `b` are of no use, which shows when they are read."""
    catalog.add_wheel("a", "2")
    for at in range(MANY):
        catalog.add_wheel("b", f"1.{at}", metadata_python=">=4")
    assert explained_within(catalog, "a==1", "b") <= SECONDS + 1


def test_releases_for_a_line_are_looked_for_in_time(catalog: Slow) -> None:
    """Each other release of `a` clashes with what the stack asks for, too."""
    catalog.add_wheel("b", "1")
    for at in range(MANY):
        catalog.add_wheel("a", f"1.{at}", ["b==9"])
    assert explained_within(catalog, "a==7", "b==1") <= SECONDS + 1


def test_trials_that_take_long_leave_time_for_others(catalog: Slow) -> None:
    """Each other release of `b` needs one more project of which no file is of use, and each of these is read."""
    catalog.add_wheel("a", "1", ["c==1"])
    catalog.add_wheel("a", "2", ["c==2"])
    catalog.add_wheel("b", "1", ["c==2"])
    catalog.add_wheel("c", "1")
    catalog.add_wheel("c", "2")
    for at in range(2, 10):
        catalog.add_wheel("b", str(at), [f"d{at}"])
        for release in range(MANY):
            catalog.add_wheel(f"d{at}", f"1.{release}", metadata_python=">=4")
    assert "a==2" in ways_out(catalog, "a==1", "b==1")


def test_a_trial_that_takes_long_is_tried_again(catalog: Slow) -> None:
    """Of `d` twenty files are of no use: in the time of one trial not all of them are read."""
    catalog.add_wheel("a", "1", ["c==1"])
    catalog.add_wheel("b", "1", ["c==2"])
    catalog.add_wheel("b", "2", ["d"])
    catalog.add_wheel("c", "1")
    catalog.add_wheel("c", "2")
    catalog.add_wheel("d", "1.0")
    for release in range(20):
        catalog.add_wheel("d", f"2.{release}", metadata_python=">=4")
    found = explained(catalog, "a==1", "b==1")
    assert "b==2" in [fix.changes[0].after for fix in found.fixes]
    assert not found.limited, "everything was decided in the end"


def test_a_trial_that_stays_undecided_is_told(catalog: Slow) -> None:
    """No file of `d` is of use, and they are too many to be read even the second time."""
    catalog.add_wheel("a", "1", ["c==1"])
    catalog.add_wheel("b", "1", ["c==2"])
    catalog.add_wheel("b", "2", ["d"])
    catalog.add_wheel("c", "1")
    catalog.add_wheel("c", "2")
    for release in range(40):
        catalog.add_wheel("d", f"2.{release}", metadata_python=">=4")
    found = explained(catalog, "a==1", "b==1")
    assert "b==2" not in [fix.changes[0].after for fix in found.fixes]
    assert found.limited
