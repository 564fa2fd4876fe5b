"""conflict.json against the schema that docs/ promises."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from resolver.json_text import json_text
from resolver.model.dependency import NeedSource
from resolver.model.explanation import ChangeKind, Outcome
from resolver.model.fact import Strength
from resolver.model.release import Reason
from resolver.model.resolution import Lack
from resolver.report.explanation.json import explanation_json, why_json
from tests.unit.report import samples

DOCS = Path(__file__).resolve().parents[3] / "docs"
SCHEMA: dict[str, Any] = json.loads((DOCS / "conflict.schema.json").read_text(encoding="utf-8"))
TYPES = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict, "null": type(None)}


def faults(value: Any, schema: dict[str, Any], at: str = "$") -> Iterator[str]:
    """Where a value is not what the schema says. A key that the schema does not name is a fault, too."""
    match schema:
        case {"$ref": str(ref)}:
            yield from faults(value, SCHEMA["$defs"][ref.removeprefix("#/$defs/")], at)
        case {"anyOf": list(cases)}:
            found = [list(faults(value, case, at)) for case in cases]
            if all(found):
                yield from min(found, key=len)
        case {"const": const}:
            if value != const:
                yield f"{at}: {value!r} is not {const!r}"
        case {"enum": list(allowed)}:
            if value not in allowed:
                yield f"{at}: {value!r} is none of {allowed}"
        case {"type": str(kind)}:
            if type(value) is not TYPES[kind] and not (kind == "string" and isinstance(value, str)):
                yield f"{at}: {value!r} is no {kind}"
            elif kind == "array":
                for number, one in enumerate(value):
                    yield from faults(one, schema["items"], f"{at}[{number}]")
            elif kind == "object":
                yield from _object_faults(value, schema, at)
        case _:
            raise AssertionError(f"the walker does not know {schema}")


def _object_faults(value: dict[str, Any], schema: dict[str, Any], at: str) -> Iterator[str]:
    for key in schema.get("required", ()):
        if key not in value:
            yield f"{at}: there is no `{key}`"
    for key, one in value.items():
        known = schema.get("properties", {}).get(key) or schema.get("additionalProperties")
        if known is None:
            yield f"{at}: `{key}` is not in the schema"
        else:
            yield from faults(one, known, f"{at}.{key}")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("make", [samples.trl, samples.branching, samples.several, samples.hostile])
def test_conflicts_are_what_the_schema_says(make: Any, language: Any) -> None:
    value = json.loads(json_text(explanation_json(make(), language)))
    assert list(faults(value, SCHEMA)) == []
    assert json.loads(json.dumps(value)) == value


@pytest.mark.parametrize("moves", [False, True])
def test_a_why_is_what_the_schema_says(moves: bool) -> None:
    assert list(faults(json.loads(json_text(why_json(samples.why(moves=moves)))), SCHEMA)) == []


def test_the_walker_finds_faults() -> None:
    value = json.loads(json_text(explanation_json(samples.trl())))
    value["limited"] = "no"
    del value["contradictions"][0]["statements"][0]["data"]["requirement"]
    value["extra"] = 1
    assert sorted(faults(value, SCHEMA["$defs"]["conflict"])) == [
        "$.contradictions[0].statements[0].data: there is no `requirement`",
        "$.limited: 'no' is no boolean",
        "$: `extra` is not in the schema",
    ]


def test_the_schema_knows_all_that_the_model_has() -> None:
    def listed(of: Any) -> set[str]:
        return set(of["enum"])

    defs = SCHEMA["$defs"]
    kinds = {case["properties"]["kind"]["const"]: case["properties"]["data"] for case in defs["statement"]["anyOf"]}
    assert listed(kinds["lacks"]["properties"]["lack"]) == {one.value for one in Lack}
    assert listed(kinds["needs"]["properties"]["source"]) == {one.value for one in NeedSource}
    files = kinds["lacks"]["properties"]["refusals"]["items"]["properties"]["files"]["items"]["properties"]
    assert listed(files["reason"]) == {one.name.lower() for one in Reason}
    assert listed(defs["change"]["properties"]["kind"]) == {one.value for one in ChangeKind}
    assert listed(defs["attempt"]["properties"]["outcome"]) == {one.value for one in Outcome}
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

    assert sorted({key for key in keys(SCHEMA) if f"`{key}`" not in text and f'"{key}"' not in text}) == []


def test_what_is_not_a_sentence_is_the_same_in_both_languages() -> None:
    sentences = {"language", "text", "details", "claim", "origin", "reason"}

    def data(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: data(one) for key, one in value.items() if key not in sentences}
        return [data(one) for one in value] if isinstance(value, list) else value

    for make in (samples.trl, samples.branching, samples.several):
        assert data(explanation_json(make(), "en")) == data(explanation_json(make(), "zh"))
