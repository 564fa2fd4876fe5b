"""Ways out of one target's conflict that the stack's other targets need changes for, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from resolver.config import schema
from resolver.config.compile import compile_problems
from resolver.config.load import read_text, with_stack
from resolver.errors import IndexFailure
from resolver.explain.explain import draft, lettered
from resolver.explain.multi_target import Everywhere
from resolver.explain.trial import Clock
from resolver.model.explanation import Change, Explanation, Fix
from resolver.model.problem import Problem
from resolver.model.resolution import Resolution
from resolver.report.explanation.changes import change_sentence, change_sentences, outcome_sentence
from resolver.resolve.solver import Refutation, decide
from resolver.resolve.universe import Universe
from tests.datacatalog import DataCatalog
from tests.unit.explain.inputs import inputs_of

STACK = """\
index = []

[stack]
name = "demo"
summary = "a test"
requires = {lines}
"""
TARGET = """
[[target]]
name = "{name}"
python = "{python}"
platform = "linux-aarch64"
glibc = "2.28"
[target.system]
cann = "{cann}"
"""
NEEDS = """
[[fact.requires]]
package = "plugin"
versions = "{versions}"
needs = ["cann in {cann}"]
reason = "a table says so"
strength = "{strength}"
source = "a test"
checked = 2026-01-01
"""
SYSTEMS = """\
[component.cann]
summary = "CANN"
known = ["8.2.RC1", "8.3.RC1", "8.5.0"]
source = "a test"

[component.python]
summary = "Python"
known = ["3.10", "3.11", "3.12"]
source = "a test"
"""

_Told = TypeVar("_Told")


def target(name: str, python: str = "3.11", cann: str = "8.5.0") -> str:
    return TARGET.format(name=name, python=python, cann=cann)


def needs(versions: str, cann: str, strength: str = "enforced") -> str:
    return NEEDS.format(versions=versions, cann=cann, strength=strength)


def explained(
    catalog: DataCatalog,
    *lines: str,
    more: str,
    name: str,
    asked: list[tuple[str, str]] | None = None,
    failing: str = "",
) -> Explanation:
    """What is explained of one target; `asked` gets what was asked of which target on the way.

    For the target `failing` an index is out of reach.
    """
    text = STACK.format(lines=str(list(lines))) + more
    inputs = inputs_of(text, SYSTEMS)
    problem = next(one for one in compile_problems(inputs) if one.target.name == name)
    answer = decide(Universe(problem, catalog))
    assert isinstance(answer, Refutation)
    clock = Clock(60)

    def ask(_: int, problem: Problem, use: Callable[[Resolution | Refutation], _Told]) -> _Told:
        if asked is not None:
            lines = [ask.origin.text for ask in problem.stack.asks]
            asked.append((problem.target.name, f"{', '.join(lines)}, cann {problem.target.system['cann']}"))
        if problem.target.name == failing:
            raise IndexFailure("Index `far` cannot be reached.")
        return use(decide(Universe(problem, catalog), tick=clock.tick))

    found = lettered(Everywhere(inputs, draft(answer, inputs, clock), ask, clock).explained())
    for fix in found.fixes:
        ((_, changed),) = fix.files
        for one in compile_problems(with_stack(inputs, read_text(changed, schema.StackFile, "demo.toml"))):
            assert isinstance(decide(Universe(one, catalog)), Resolution), fix.changes
    return found


def told(fixes: tuple[Fix, ...]) -> list[list[str]]:
    return [[_told(change) for change in fix.changes] for fix in fixes]


def _told(change: Change) -> str:
    return f"{change.before} -> {change.after}{change.target and ' of '}{change.target}"


def test_two_machines_that_each_have_a_cann_too_old_get_one_way_out() -> None:
    catalog = DataCatalog({"plugin": {"2": []}})
    more = target("one", cann="8.2.RC1") + target("two", cann="8.3.RC1") + needs("==2", "8.5.0")
    found = explained(catalog, "plugin==2", more=more, name="one")
    assert told(found.fixes) == [["8.2.RC1 -> 8.5.0", "8.3.RC1 -> 8.5.0 of two"]]
    own, other = found.fixes[0].changes
    assert change_sentence(own, "en") == "CANN 8.5.0 instead of 8.2.RC1"
    assert change_sentence(other, "en") == "CANN 8.5.0 instead of 8.3.RC1, for the target two"
    assert change_sentence(other, "zh") == "CANN 由 8.3.RC1 改为 8.5.0（目标 two）"
    assert [fix.environments[0].count for fix in found.fixes] == [1]


def test_what_becomes_the_same_for_several_targets_is_told_once() -> None:
    catalog = DataCatalog({"plugin": {"2": []}})
    more = "".join(target(name, cann="8.3.RC1") for name in ("one", "two", "three")) + needs("==2", "8.5.0")
    (fix,) = explained(catalog, "plugin==2", more=more, name="two").fixes
    assert change_sentences(fix.changes, "en") == ["CANN 8.5.0 instead of 8.3.RC1, for this target, one and three"]
    assert change_sentences(fix.changes, "zh") == ["CANN 由 8.3.RC1 改为 8.5.0（本目标、one 和 three）"]


def test_each_target_has_the_same_ways_out() -> None:
    catalog = DataCatalog({"plugin": {"2": []}})
    more = target("one", cann="8.2.RC1") + target("two", cann="8.3.RC1") + needs("==2", "8.5.0")
    one, two = (explained(catalog, "plugin==2", more=more, name=name) for name in ("one", "two"))
    assert [fix.files for fix in one.fixes] == [fix.files for fix in two.fixes]


def test_another_python_for_one_target_and_another_cann_for_the_other() -> None:
    """Two lines of the stack: what one target lacks has nothing to do with what the other one lacks."""
    catalog = DataCatalog({"plugin": {"2": []}})
    catalog.add_wheel("base", "1", requires_python=">=3.11")
    more = target("one", python="3.10") + target("two", cann="8.3.RC1") + needs("==2", "8.5.0")
    found = explained(catalog, "plugin==2", "base", more=more, name="one")
    assert told(found.fixes)[0] == ["3.10 -> 3.11", "8.3.RC1 -> 8.5.0 of two"]
    assert found.attempts[0].target == "two"  # another Python alone


def test_one_line_that_changes_for_both_targets_is_told_once() -> None:
    catalog = DataCatalog()
    catalog.add_wheel("base", "3", requires_python=">=3.12")
    catalog.add_wheel("base", "2", requires_python=">=3.11")
    catalog.add_wheel("base", "1")
    more = target("new", python="3.11") + target("old", python="3.10")
    found = explained(catalog, "base==3", more=more, name="new")
    assert told(found.fixes)[0] == ["base==3 -> base==1"]
    assert found.fixes[0].changes[0].steps == -2


def test_what_an_added_change_makes_needless_stays_out() -> None:
    """To go without the line for the sake of `two` leaves no reason for another CANN for `one`, which by itself has
    two ways out that keep the line, and looks for no third.
    """
    catalog = DataCatalog({"plugin": {"2": []}, "base": {"1": []}})
    more = target("one", cann="8.2.RC1") + target("two", cann="8.3.RC1")
    more += needs("==2", "8.3.RC1 | 8.5.0", "observed") + needs(">=2", "8.2.RC1 | 8.5.0")
    found = explained(catalog, "plugin==2", "base", more=more, name="one")
    assert told(found.fixes) == [["8.2.RC1 -> 8.5.0", "8.3.RC1 -> 8.5.0 of two"], ["plugin==2 -> "]]


def test_nothing_is_added_to_what_goes_against_a_fact() -> None:
    """`one` could do without the fact; `two` has another CANN that a stronger one is about."""
    catalog = DataCatalog({"plugin": {"2": []}})
    more = target("one", cann="8.2.RC1") + target("two", cann="8.3.RC1")
    more += needs("==2", "8.5.0 | 8.3.RC1", "vendor") + needs(">=2", "8.2.RC1 | 8.5.0")
    found = explained(catalog, "plugin==2", more=more, name="one")
    assert told(found.fixes) == [["8.2.RC1 -> 8.5.0", "8.3.RC1 -> 8.5.0 of two"]]
    assert not found.fixes[0].risky


def test_what_holds_for_all_targets_as_it_is_gets_nothing_more() -> None:
    """Another release of the plugin is enough; a CANN for each machine is not looked for."""
    catalog = DataCatalog({"plugin": {"2": [], "1": []}})
    more = target("one", cann="8.2.RC1") + target("two", cann="8.3.RC1")
    more += needs("==2", "8.5.0") + needs("==1", "8.2.RC1 | 8.3.RC1")
    found = explained(catalog, "plugin==2", more=more, name="one")
    assert told(found.fixes) == [["plugin==2 -> plugin==1"]]
    assert [one.target for one in found.attempts] == ["two"]


def test_a_target_that_an_index_fails_for_is_not_said_to_have_no_solution() -> None:
    catalog = DataCatalog({"plugin": {"2": [], "1": []}})
    more = target("one", cann="8.2.RC1") + target("two") + needs("==2", "8.5.0")
    found = explained(catalog, "plugin==2", more=more, name="one", failing="two")
    assert not found.fixes
    assert {outcome_sentence(attempt, "en") for attempt in found.attempts} == {
        "it has a solution here, but could not be locked for the stack's target two: Index `far` cannot be reached."
    }
    assert {outcome_sentence(attempt, "zh") for attempt in found.attempts} == {
        "此处可以锁定，但无法为该栈的目标 two 锁定：Index `far` cannot be reached."
    }


def test_what_is_known_is_tried_for_all_targets_before_more_is_looked_for() -> None:
    """Another CANN takes one for `two` as well, which is cheaper than to go without the line; that is asked before."""
    catalog = DataCatalog({"plugin": {"2": []}, "base": {"1": []}})
    more = target("one", cann="8.2.RC1") + target("two", cann="8.3.RC1") + needs("==2", "8.5.0")
    asked: list[tuple[str, str]] = []
    found = explained(catalog, "plugin==2", "base", more=more, name="one", asked=asked)
    assert told(found.fixes) == [["8.2.RC1 -> 8.5.0", "8.3.RC1 -> 8.5.0 of two"], ["plugin==2 -> "]]
    plain, gone, again, *_ = asked
    assert plain == again == ("two", "plugin==2, base, cann 8.3.RC1"), "of another CANN for `one`"
    assert gone == ("two", "base, cann 8.3.RC1")


def test_two_targets_may_become_the_same_machine() -> None:
    """Targets without names have that of their machine, so the one that changes gets a number."""
    catalog = DataCatalog({"plugin": {"2": []}})
    more = "".join(target("", cann=cann).replace('name = ""\n', "") for cann in ("8.5.0", "8.3.RC1"))
    found = explained(catalog, "plugin==2", more=more + needs("==2", "8.5.0"), name="linux-aarch64-py311-cann8.3.rc1")
    assert told(found.fixes) == [["8.3.RC1 -> 8.5.0"]]
    ((_, text),) = found.fixes[0].files
    assert 'name = "linux-aarch64-py311-cann8.5.0-2"\n' in text


def test_years_count_in_what_is_changed_for_another_target() -> None:
    catalog = DataCatalog()
    for version, day in (("1", "2019-01-01"), ("1.5", "2025-01-01"), ("2", "2025-06-01")):
        catalog.add_wheel("plugin", version, uploaded=f"{day}T00:00:00Z")
    more = target("one", cann="8.3.RC1") + target("two") + needs("==2", "8.2.RC1")
    more += needs("==1.5", "8.3.RC1") + needs("==1", "8.3.RC1 | 8.5.0")
    found = explained(catalog, "plugin==2", more=more, name="one")
    (old,) = [fix for fix in found.fixes if told((fix,)) == [["plugin==2 -> plugin==1"]]]
    assert old.price > 300, "six years"
