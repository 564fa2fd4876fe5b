"""Ways out of one target's conflict that the stack's other targets need changes for, too."""

from __future__ import annotations

from functools import partial

import pytest
from msgspec.structs import replace
from packaging.utils import NormalizedName

from resolver.config import schema
from resolver.config.compile import StackCompiler, compile_problems
from resolver.config.toml_files import read_text
from resolver.errors import IndexFailure
from resolver.explain.clock import Clock
from resolver.explain.explain import explanation_of
from resolver.i18n import translate
from resolver.index.protocol import Catalog, Lookup
from resolver.model.change import Change
from resolver.model.explanation import AttemptOutcome, Explanation, Fix
from resolver.model.problem import Problem
from resolver.model.resolution import Resolution
from resolver.phrase import phrase
from resolver.report.explanation.fixes import (
    change_sentences,
    environment_sentence,
    outcome_sentence,
)
from resolver.resolve.solver import decide
from resolver.resolve.universe import Universe
from tests.changes import after_of, before_of
from tests.components import COMPONENTS
from tests.datacatalog import DataCatalog
from tests.unit.explain import inputs
from tests.unit.explain.inputs import inputs_of, matrix, refutation

KNOWN = {"cann": ["8.2.RC1", "8.3.RC1", "8.5.0"], "python": ["3.10", "3.11", "3.12"]}

needs = partial(matrix, strength="enforced")
PLUGIN = DataCatalog({"plugin": {"2": []}, "base": {"1": []}})
OLDER = DataCatalog({"plugin": {"2": [], "1": []}})
BOTH = "8.2.RC1 -> 8.5.0", "8.3.RC1 -> 8.5.0 of two"


def target(name: str, python: str = "3.11", cann: str = "8.5.0") -> str:
    return inputs.target(name, python, f'cann = "{cann}"', "[[target]]")


TWO = target("one", cann="8.2.RC1") + target("two", cann="8.3.RC1")
TOO_OLD = TWO + needs("==2", "8.5.0")


class Failing(DataCatalog):
    def lookup(self, project: NormalizedName) -> Lookup:
        raise IndexFailure(phrase("Index `{index}` cannot be reached.", index="far"))


def explained(
    catalog: DataCatalog, *lines: str, more: str, name: str = "one", failing: str = ""
) -> Explanation:
    """What is explained of one target; for the target `failing` an index is out of reach."""
    given = inputs_of(*lines, more=more, known=KNOWN)
    answer = refutation(given, catalog, name)

    def catalog_of(problem: Problem) -> Catalog:
        return Failing() if problem.target.name == failing else catalog

    found = explanation_of(answer, StackCompiler(given), Clock(60), catalog_of)
    for changed in (text for fix in found.fixes for _, text in fix.files):
        for one in compile_problems(
            replace(given, stack=read_text(changed, schema.StackFile, "demo.toml", COMPONENTS))
        ):
            assert isinstance(decide(Universe(one, catalog)), Resolution), changed
    return found


def told(fixes: tuple[Fix, ...]) -> list[tuple[str, ...]]:
    return [tuple(map(told_of, fix.changes)) for fix in fixes]


def told_of(change: Change) -> str:
    of_target = f" of {change.target}" if change.target else ""
    return f"{before_of(change)} -> {after_of(change)}{of_target}"


@pytest.mark.parametrize(
    ("lines", "more", "fixes"),
    [
        pytest.param(
            ["plugin==2"], TOO_OLD, [BOTH], id="two machines that each have a CANN too old"
        ),
        # To go without the line for the sake of `two` leaves no reason for another CANN for `one`,
        # which by itself has two ways out that keep the line, and looks for no third.
        pytest.param(
            ["plugin==2", "base"],
            TWO + matrix("==2", "8.3.RC1 | 8.5.0", "observed") + needs(">=2", "8.2.RC1 | 8.5.0"),
            [BOTH, ("plugin==2 -> ",)],
            id="what an added change makes needless stays out",
        ),
        # `one` could do without the fact; `two` has another CANN that a stronger one is about.
        pytest.param(
            ["plugin==2"],
            TWO + matrix("==2", "8.5.0 | 8.3.RC1", "vendor") + needs(">=2", "8.2.RC1 | 8.5.0"),
            [BOTH],
            id="nothing is added to what goes against a fact",
        ),
    ],
)
def test_fix_names_changes_for_each_target(
    lines: list[str], more: str, fixes: list[tuple[str, ...]]
) -> None:
    found = explained(PLUGIN, *lines, more=more)
    assert told(found.fixes) == fixes
    assert not any(fix.risky for fix in found.fixes)


@pytest.mark.parametrize(
    ("more", "english", "chinese"),
    [
        (
            TOO_OLD,
            "CANN 8.5.0 instead of 8.3.RC1, for the target two",
            "CANN 由 8.3.RC1 改为 8.5.0（目标 two）",
        ),
        (
            "".join(target(name, cann="8.3.RC1") for name in ("three", "one", "two"))
            + needs("==2", "8.5.0"),
            "CANN 8.5.0 instead of 8.3.RC1, for this target, three and two",
            "CANN 由 8.3.RC1 改为 8.5.0（本目标、three 和 two）",
        ),
    ],
)
def test_fix_tells_the_same_change_for_targets_once(more: str, english: str, chinese: str) -> None:
    (fix,) = explained(PLUGIN, "plugin==2", more=more).fixes
    assert translate(change_sentences(fix.changes)[-1], "en") == english
    assert translate(change_sentences(fix.changes)[-1], "zh") == chinese
    assert fix.environments[0].count == 1


def test_fix_tells_a_line_of_both_targets_once() -> None:
    catalog = DataCatalog()
    for version, python in (("3", ">=3.12"), ("2", ">=3.11"), ("1", "")):
        catalog.add_wheel("base", version, requires_python=python)
    found = explained(
        catalog, "base==3", more=target("one", python="3.11") + target("old", python="3.10")
    )
    assert told(found.fixes)[0] == ("base==3 -> base==1",)
    assert found.fixes[0].changes[0].steps == -2


def test_fix_may_make_two_targets_the_same_machine() -> None:
    """Targets without names have that of their machine, so the one that changes gets a number."""
    more = target("", cann="8.5.0") + target("", cann="8.3.RC1") + needs("==2", "8.5.0")
    found = explained(PLUGIN, "plugin==2", more=more, name="linux-aarch64-py311-cann8.3.rc1")
    assert told(found.fixes) == [("8.3.RC1 -> 8.5.0",)]
    ((_, text),) = found.fixes[0].files
    assert 'name = "linux-aarch64-py311-cann8.5.0-2"\n' in text


def test_attempt_failed_where_an_index_fails_for_a_target() -> None:
    more = target("one", cann="8.2.RC1") + target("two") + needs("==2", "8.5.0")
    found = explained(OLDER, "plugin==2", more=more, failing="two")
    assert not found.fixes
    assert {(one.outcome, one.target, str(one.why)) for one in found.attempts} == {
        (AttemptOutcome.FAILED, "two", "Index `far` cannot be reached.")
    }
    assert {translate(outcome_sentence(attempt), "zh") for attempt in found.attempts} == {
        "此目标有解，但软件栈的目标 two 无法锁定：无法访问软件源 `far`。"
    }


def test_fix_that_makes_another_target_is_told_and_last() -> None:
    """With the Python of `two`, `one` is `two`, and the marker of one of its lines is false."""
    more = target("one", "3.12") + target("two", "3.11")
    catalog = DataCatalog({"tool": {"1": []}, "plugin": {"1": []}})
    catalog.add_wheel("plugin", "2", tags="cp311-cp311-manylinux_2_17_aarch64")
    fixes = explained(catalog, "plugin==2", "tool==1 ; python_version >= '3.12'", more=more).fixes
    assert [fix.twin for fix in fixes] == ["", "two"]
    lock = fixes[-1].environments[0]
    assert lock.off == ("tool==1",)
    told_of_it = translate(environment_sentence(lock), "en")
    assert told_of_it.endswith("; the marker of tool==1 does not hold there")
