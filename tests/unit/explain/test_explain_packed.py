"""What an explanation is made of comes back from the cache as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from resolver.explain.packed import pack, unpack
from resolver.matrix.compile import compile_problems
from resolver.matrix.load import load
from resolver.matrix.names import stack_names
from resolver.model.explanation import Contradiction, Explanation
from resolver.model.fact import Fact
from resolver.model.problem import Problem
from resolver.model.statement import Needs, Source
from tests.unit.render import samples

MATRICES = Path(__file__).parents[3] / "matrices"


@pytest.mark.parametrize("sample", [samples.trl, samples.branching, samples.several, samples.hostile])
def test_explanations_come_back_as_they_were(sample: Callable[[], Explanation]) -> None:
    explanation = replace(sample(), limited=False)
    assert unpack(pack(explanation), explanation.problem) == explanation


def test_facts_of_every_kind_come_back_as_they_were() -> None:
    problems = [compile_problems(load(stack, MATRICES))[0] for stack in stack_names(MATRICES)]
    facts = {fact.id: fact for problem in problems for fact in problem.facts}.values()
    assert len({type(fact) for fact in facts}) > 8
    explanation = told(problems[0], *facts)
    again = unpack(pack(explanation), problems[0])
    assert again == explanation
    assert again is not None
    assert repr(again) == repr(explanation), "versions that are equal may be spelled otherwise"


def told(problem: Problem, *facts: Fact) -> Explanation:
    statements = tuple(
        Needs(subject="demo", versions=(), needs=fact.id, source=Source.FACT, where=fact.where, fact=fact)
        for fact in facts
    )
    contradiction = Contradiction(statements=statements, closing=None)
    return Explanation(problem=problem, contradictions=(contradiction,), fixes=(), attempts=(), limited=False)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xc1",
        b"\x05",
        b"\x93\x91\xa0\x91\xa0",  # cut off
        b"\x92\xa0\x91\xa0",  # two things, not three
        b"\x94\xa0\x91\xa4None\x91\xa0\x91\xa0",  # a record that there is none of
        b"\x94\xa0\x91\xa3Fix\x91\xa0\x91\xa0",  # one without its fields
        b"\x94\xa0\x92\xa7Version\xa1x\x91\xa0\x91\xa0",
        b"\x94\xa0\x92\xa4Lack\xa1x\x91\xa0\x91\xa0",
        b"\x94\xa0\x92\xadSystemVersion\x05\x91\xa0\x91\xa0",
        b"\x91" * 5000,
    ],
)
def test_bytes_of_another_shape_are_none(content: bytes) -> None:
    assert unpack(content, samples.trl().problem) is None
