"""What did not run though metadata permits it is locked right, refused, or told first."""

from __future__ import annotations

import pytest

from resolver.i18n import translate
from resolver.index import snapshot as snapshot_file
from resolver.index.snapshot import Snapshot, SnapshotCatalog
from resolver.model.lock import Lock
from resolver.report.explanation.sentences import sentence
from resolver.report.explanation.unavailable import reason_details
from tests.scenarios.machine import RECORDED, Case, answer, cases


@pytest.fixture(scope="module")
def recorded() -> Snapshot:
    return snapshot_file.read(RECORDED)


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case.name)
def test_what_runs_on_the_machine(case: Case, recorded: Snapshot) -> None:
    problem = case.problem
    outcome = answer(problem, SnapshotCatalog(recorded, problem.target.platform))
    assert isinstance(outcome, Lock) == (not case.conflict_says)
    if not isinstance(outcome, Lock):
        texts = [text for row in outcome.reasons for text in (sentence(row), *reason_details(row))]
        told = " ".join(translate(text, "en") for text in texts)
        assert [says for says in case.conflict_says if says not in told] == []
        return
    assert {pin.name: pin.version for pin in outcome.pin if pin.name in case.pins} == case.pins
    warnings = [
        translate(warning, "en") for warning in outcome.warnings[: len(case.first_warnings)]
    ]
    assert [
        first in warning for first, warning in zip(case.first_warnings, warnings, strict=True)
    ] == [True for _ in warnings]
    assert not [pin.name for pin in outcome.pin if pin.name.startswith("nvidia-")]
