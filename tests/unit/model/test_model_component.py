"""What facts and stacks may ask of a target's components."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolver.model.requirement import ComponentRequirement, parse_value
from resolver.model.system import SystemVersion
from tests.unit.model.test_model_system import versions


def allows(text: str, value: str) -> bool:
    requirement = ComponentRequirement.parse(text)
    assert requirement is not None, text
    return requirement.allows(parse_value(requirement.component, value))


@pytest.mark.parametrize(
    ("value", "allowing", "refusing"),
    [
        # a requirement on a release speaks of its builds, too, and one on a build of builds
        ("8.5.0.B160", ["cann == 8.5.0", "cann >= 8.5.0", "cann == 8.5.0.B160"], ["cann > 8.5.0"]),
        ("8.5.0", ["cann < 8.5.0.B160"], ["cann == 8.5.0.B160", "cann>=8.3.RC1,<8.5.1,!=8.5.0"]),
        ("8.5.0.b232", ["cann >= 8.5.0.B160"], []),
        ("8.5.0.B120", [], ["cann >= 8.5.0.B160"]),
        # case and stages
        ("8.3.rc1", ["cann >= 8.3.RC1", "cann != 8.5.*"], ["cann >= 8.3.RC2"]),
        ("25.3.rc1.2", ["hdk >= 25.3.rc1"], ["hdk == 25.3.rc1"]),
        # alternatives and ranges; wildcards compare the line alone, test builds and builds among it
        ("8.5.0.B160", ["cann in 8.5.0|8.5.1", "cann == 8.5.*", "cann >= 8.3.RC1, < 8.5.1"], []),
        ("8.5.1", ["cann in 8.5.0 | 8.5.1"], ["cann >= 8.3.RC1, < 8.5.1"]),
        ("8.3.RC2", ["cann in 8.3.* | 8.5.*"], []),
        ("8.5.0-beta.2", ["cann == 8.5.*"], []),
        # families have names, not an order
        ("a2", ["soc in A2 | A3", "soc != A3"], ["soc in 310P"]),
        ("A3", ["soc == a3"], []),
        # Python and glibc are PEP 440 versions; a short one means its line
        ("3.11", ["python >= 3.10, < 3.12"], ["python == 3.11.14"]),
        ("3.12.1", [], ["python >= 3.10, < 3.12"]),
        ("3.11.14", ["python in 3.11"], ["python != 3.11"]),
        ("2.9", [], ["glibc >= 2.28"]),
    ],
)
def test_allows(value: str, allowing: list[str], refusing: list[str]) -> None:
    assert [text for text in [*allowing, *refusing] if allows(text, value)] == allowing


@pytest.mark.parametrize("text", ["cann", "cann-tools >= 1", "cann[x] >= 1", "CANN >= 8.5.0", "incann in 8.5.0"])
def test_what_does_not_begin_with_a_component_and_an_operator_is_another_kind_of_need(text: str) -> None:
    assert ComponentRequirement.parse(text) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cann >= 8.5", "`8.5` is not a CANN or HDK version such as 8.5.0, 8.3.RC1 or 25.3.rc1.2"),
        ("cann in 8.5.0 |", "`` is not a CANN or HDK version such as 8.5.0, 8.3.RC1 or 25.3.rc1.2"),
        ("cann in 8.5.0, 8.5.1", "`8.5.0, 8.5.1` is not a CANN or HDK version such as 8.5.0, 8.3.RC1 or 25.3.rc1.2"),
        ("cann >=", "`>=` is not a comparison such as >= 8.5.0"),
        ("cann >= 8.5.0 8.5.1", "`>= 8.5.0 8.5.1` is not a comparison such as >= 8.5.0"),
        ("cann >= 8.5.*", "`>= 8.5.*`: a wildcard can only be used with == or !="),
        ("soc >= A2", "`>= A2`: SoC families have no order"),
        ("soc in A2 | A/3", "`A/3` is not the name of a SoC family such as A2"),
        ("python >= x", "`x` is not a version of python such as 3.11"),
        ("glibc in 2.28 | new", "`new` is not a version of glibc such as 2.28"),
    ],
)
def test_what_is_wrong_is_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        ComponentRequirement.parse(text)
    assert str(caught.value) == message


def test_a_requirement_is_told_as_it_was_written_and_an_unknown_component_is_an_error() -> None:
    assert str(ComponentRequirement.parse("cann  in 8.5.0 |\n8.5.1")) == "cann in 8.5.0 | 8.5.1"
    with pytest.raises(ValueError, match="`cuda` is not a component: known are cann, hdk, soc, glibc, python"):
        parse_value("cuda", "12")


# --- laws


@given(versions(), versions())
def test_every_comparison_has_its_opposite(value: object, wanted: object) -> None:
    for sign, opposite in (("==", "!="), ("<", ">="), (">", "<=")):
        assert allows(f"cann {sign} {wanted}", str(value)) is not allows(f"cann {opposite} {wanted}", str(value))


@given(versions(), versions())
def test_at_least_is_later_or_the_same(value: object, wanted: object) -> None:
    later, same = allows(f"cann > {wanted}", str(value)), allows(f"cann == {wanted}", str(value))
    assert allows(f"cann >= {wanted}", str(value)) is (later or same)
    assert not (later and same)


@given(versions())
def test_every_version_meets_itself_and_its_line(value: object) -> None:
    assert allows(f"cann == {value}", str(value))
    assert allows(f"hdk >= {value}, <= {value}", str(value))
    assert allows(f"cann in 99.0.0 | {'.'.join(str(value).split('.')[:2])}.*", str(value))


@given(st.lists(versions(), min_size=1, max_size=4), versions())
def test_in_is_any_of_its_values(values: list[object], value: object) -> None:
    listed = " | ".join(map(str, values))
    assert allows(f"cann in {listed}", str(value)) is any(allows(f"cann == {one}", str(value)) for one in values)


@pytest.mark.parametrize(
    ("text", "stated", "promised"),
    [
        *((f"hdk {text}", "25.3.rc1", True) for text in (">= 25.2.0", "!= 25.2.0", "!= 25.2.*")),
        *((f"hdk {text}", "25.3.rc1", False) for text in (">= 25.5.0", ">= 25.2.0, < 26.0.0", "!= 25.3.rc1")),
        *((f"hdk {text}", "25.3.rc1", False) for text in ("in 25.3.rc1 | 25.5.0", "!= 25.5.0", "!= 25.5.*")),
        *((text, "8.5.0", True) for text in ("cann < 9.0.0", "cann in 8.5.0 | 8.5.1")),
        ("cann >= 9.0.0", "8.5.0", False),
    ],
)
def test_the_driver_of_a_target_is_the_oldest_of_its_machines(text: str, stated: str, promised: bool) -> None:
    need = ComponentRequirement.parse(text)
    assert need is not None
    assert need.is_promised_by({need.component: parse_value(need.component, stated)}) is promised
    assert not need.is_promised_by({"soc": "A2"})


@given(st.sampled_from(["==", "!=", "<", ">", "<=", ">="]), *[versions()] * 3)
def test_what_is_promised_holds_for_every_newer_driver(
    sign: str, named: object, one: SystemVersion, other: SystemVersion
) -> None:
    need = ComponentRequirement.parse(f"hdk {sign} {named}")
    assert need is not None
    if need.is_promised_by({"hdk": min(one, other)}):
        assert need.allows(max(one, other))
