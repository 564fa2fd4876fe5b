"""The one writer of JSON, and its conflict.json against the schema that docs/ promises."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from resolver.files import json_text
from resolver.model.change import ChangeKind
from resolver.model.constraint import NoCandidate, RequirementSource, Unavailable
from resolver.model.explanation import AttemptOutcome, Closing
from resolver.model.fact import Strength
from resolver.model.message import verbatim
from resolver.model.package import Package
from resolver.model.release import RejectionReason
from resolver.report.explanation.json import explanation_json, lack_of, why_json
from tests.schemas import strict
from tests.unit.report import samples

DOCS = Path(__file__).resolve().parents[3] / "docs"
SCHEMA: dict[str, Any] = json.loads((DOCS / "conflict.schema.json").read_text(encoding="utf-8"))


def faults(value: Any, kind: str) -> list[str]:
    from jsonschema import Draft202012Validator  # a second, which only those who need it take

    validator = Draft202012Validator({**strict(SCHEMA), "anyOf": [{"$ref": f"#/$defs/{kind}"}]})
    return [error.message for error in validator.iter_errors(json.loads(json_text(value)))]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("make", [samples.trl, samples.branching, samples.several, samples.hostile])
def test_conflicts_are_what_the_schema_says(make: Any, language: Any) -> None:
    assert faults(explanation_json(make(), language), "conflict") == []


def test_a_component_that_is_left_without_a_value_is_named_in_english() -> None:
    """Its title may have a translation, and data has none."""
    sample = samples.trl()
    (found, *others) = sample.contradictions
    title = verbatim("CANN", "昇腾 CANN")
    closed = replace(found, closing=Closing(subject=title, numbers=(1,)))
    document = explanation_json(replace(sample, contradictions=(closed, *others)), "zh")
    assert document["contradictions"][0]["closing"]["subject"] == "CANN"
    assert faults(document, "conflict") == []


@pytest.mark.parametrize("moves", [False, True])
def test_a_why_is_what_the_schema_says(moves: bool) -> None:
    assert faults(why_json(samples.why(moves=moves), "../../../matrices"), "why") == []


def test_the_schema_knows_all_that_the_model_has() -> None:
    def listed(of: Any) -> set[str]:
        return set(of["enum"])

    defs = SCHEMA["$defs"]
    kinds = {
        case["properties"]["kind"]["const"]: case["properties"]["data"]
        for case in defs["statement"]["anyOf"]
    }
    assert listed(kinds["lacks"]["properties"]["lack"]) == {
        lack_of(Unavailable(Package("x"), why)) for why in (*NoCandidate, *RejectionReason)
    }
    assert listed(kinds["needs"]["properties"]["source"]) == {
        one.value for one in RequirementSource
    }
    files = kinds["lacks"]["properties"]["refusals"]["items"]["properties"]["files"]["items"][
        "properties"
    ]
    assert listed(files["reason"]) == {one.name.lower() for one in RejectionReason}
    assert listed(defs["change"]["properties"]["kind"]) == {one.value for one in ChangeKind}
    assert listed(defs["attempt"]["properties"]["outcome"]) == {one.value for one in AttemptOutcome}
    assert listed(defs["fact"]["properties"]["strength"]) == {one.value for one in Strength}


def test_every_key_is_in_the_document() -> None:
    text = (DOCS / "conflict-report.md").read_text(encoding="utf-8")

    def keys(schema: Any) -> Iterator[str]:
        if isinstance(schema, dict):
            yield from schema.get("properties", {})
            for one in schema.values():
                yield from keys(one)
        elif isinstance(schema, list):
            for one in schema:
                yield from keys(one)

    assert (
        sorted({key for key in keys(SCHEMA) if f"`{key}`" not in text and f'"{key}"' not in text})
        == []
    )


def test_what_is_not_a_sentence_is_the_same_in_both_languages() -> None:
    sentences = {"language", "text", "details", "claim", "origin", "reason"}

    def data(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: data(one) for key, one in value.items() if key not in sentences}
        return [data(one) for one in value] if isinstance(value, list) else value

    for make in (samples.trl, samples.branching, samples.several):
        assert data(explanation_json(make(), "en")) == data(explanation_json(make(), "zh"))


VALUES = st.recursive(
    st.text() | st.booleans() | st.none() | st.integers(),
    lambda more: st.lists(more) | st.dictionaries(st.text(), more),
)


@given(VALUES)
def test_it_is_read_as_it_was_written_and_prints(value: object) -> None:
    told = json_text(value)
    assert json.loads(told) == value
    assert told.replace("\n", "").isprintable()


def test_what_people_read_stays_legible() -> None:
    assert json_text({"b": "中文 é", "a": ["\x9b\u202e\x7f\ud800\n"]}, indent=None) == (
        '{"a": ["\\u009b\\u202e\\u007f\\ud800\\n"], "b": "中文 é"}'
    )
