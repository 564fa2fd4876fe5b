"""Conflicts that people really met: what clashes is found, and what was advised locks; from
recorded pages.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from resolver.i18n import translate
from resolver.index.snapshot import Snapshot
from resolver.model.resolution import Resolution
from resolver.report.explanation.sentences import sentence
from resolver.resolve.solver import decide
from resolver.resolve.universe import Universe
from tests.scenarios.conflicts import Scenario, contradictions, replayed, scenarios

ALL = list(scenarios())


@pytest.fixture(scope="module")
def recorded() -> dict[Path, Snapshot]:
    return {}


@pytest.mark.parametrize("scenario", ALL, ids=lambda one: one.name)
def test_the_core_is_found(scenario: Scenario, recorded: dict[Path, Snapshot]) -> None:
    problem = scenario.problem
    found = contradictions(problem, replayed(scenario, problem, recorded))
    told = [sorted(translate(sentence(reason), "en") for reason in one.reasons) for one in found]
    assert sorted(scenario.core) in told


@pytest.mark.parametrize("scenario", ALL, ids=lambda one: one.name)
def test_the_first_fix_locks(scenario: Scenario, recorded: dict[Path, Snapshot]) -> None:
    problem = scenario.fixed(scenario.fixes[0])
    assert isinstance(decide(Universe(problem, replayed(scenario, problem, recorded))), Resolution)
