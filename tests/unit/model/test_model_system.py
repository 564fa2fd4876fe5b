"""Versions of CANN and HDK in every form that is known, and requirements on components."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolver.ascend.versions import parse_version
from resolver.model.component import find_component
from resolver.model.requirement import ComponentRequirement
from resolver.model.system import SystemVersion
from tests.components import COMPONENTS
from tests.components import value as component_value

parse = parse_version

# Each row in ascending order, as facts.md section G has it.
ASCENDING = [
    # before 8.5: RC below final, alpha below its base, T (test) first
    [
        "8.1.T1",
        "8.1.T2",
        "8.1.RC1.alpha001",
        "8.1.RC1.alpha002",
        "8.1.RC1",
        "8.1.RC2",
        "8.1.0.alpha001",
        "8.1.0",
    ],
    # 8.5 and later: alpha, beta, rc below the version that they are attached to
    [
        "8.5.0-alpha",
        "8.5.0.alpha1",
        "8.5.0-beta",
        "8.5.0.beta1",
        "8.5.0-beta.2",
        "8.5.0-rc",
        "8.5.0.rc1",
        "8.5.0",
    ],
    ["8.5.0", "8.5.0.B120", "8.5.0.B160", "8.5.0.b232", "8.5.1", "8.10.0", "9.0.0"],
    ["8.3.RC1", "8.3.RC2", "8.5.0"],
    ["6.3.RC3", "6.3.RC3.1", "7.0.RC1", "7.0.0"],
    # drivers
    [
        "25.3.rc1",
        "25.3.rc1.1",
        "25.3.rc1.2",
        "25.3.RC2",
        "25.5.t3.b001",
        "25.5.0",
        "25.5.0.1",
        "26.0.rc1",
    ],
    ["26.0.rc1", "26.1.0.b083"],
]


@pytest.mark.parametrize("row", ASCENDING, ids=lambda row: row[0])
def test_system_version_order(row: list[str]) -> None:
    for (at, low), (there, high) in itertools.combinations(enumerate(row), 2):
        assert parse(low) < parse(high), (low, high)
        assert not parse(high) <= parse(low)
        assert at < there
    assert [str(version) for version in sorted(map(parse, reversed(row)))] == row


PAIRS = [
    ("8.3.RC1", "8.3.rc1"),
    ("8.5.0.B160", "8.5.0.b160"),
    ("8.1.RC1.alpha001", "8.1.rc1.ALPHA1"),
]
PAIRS += [
    ("8.5.0-beta.2", "8.5.0.beta2"),
    ("8.5.0-alpha", "8.5.0.alpha0"),
    ("26.1.0.b083", "26.1.0.B83"),
]
PAIRS += [("25.3.rc1.0", "25.3.rc1"), ("08.05.0", "8.5.0"), (" 8.5.0\n", "8.5.0")]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_system_version_spellings_are_equal(one: str, other: str) -> None:
    assert parse(one) == parse(other)
    assert hash(parse(one)) == hash(parse(other))
    assert str(parse(one)) == one.strip()


def test_system_version_release_line() -> None:
    assert [parse(one).line for one in ("8.5.0.B160", "25.3.rc1.2", "8.2.T2")] == [
        (8, 5),
        (25, 3),
        (8, 2),
    ]


# The last but one has digits, but not ASCII ones
NONE = [
    "",
    "8",
    "8.5",
    "v8.5.0",
    "8.5.0+cpu",
    "8.5.0-gamma",
    "8.5.0.B",
    "8.5.0.B160.1",
    "8.3 .RC1",
    "8.5.*",
]
NONE += ["8.5.0rc1", "8.5.0\n8.5.1", "٨.5.0", "8.5." + "9" * 10]


@pytest.mark.parametrize("wrong", NONE)
def test_system_version_error_quotes_the_text(wrong: str) -> None:
    with pytest.raises(ValueError, match="is not a CANN or HDK version") as caught:
        parse(wrong)
    assert (
        str(caught.value)
        == f"`{wrong}` is not a CANN or HDK version such as 8.5.0, 8.3.RC1 or 25.3.rc1.2"
    )


# --- laws

_small = st.integers(0, 3)
_STAGES = ("T{}", "RC{}", "rc{}", "{}")
_PRES = ("", "-alpha", ".alpha1", "-beta.2", ".beta2", ".rc1", "-RC")


@st.composite
def versions(draw: st.DrawFn) -> SystemVersion:
    stage = draw(st.sampled_from(_STAGES)).format(draw(_small))
    patch = draw(st.sampled_from(("", "", ".0", ".1", ".1.2")))
    build = draw(st.sampled_from(("", "", ".B0", ".b083", ".B160")))
    major = draw(st.sampled_from((8, 25)))
    minor = draw(_small)
    pre = draw(st.sampled_from(_PRES))
    return parse(f"{major}.{minor}.{stage}{patch}{pre}{build}")


@given(versions(), versions())
def test_system_version_order_is_total(a: SystemVersion, b: SystemVersion) -> None:
    assert [a < b, a == b, a > b].count(True) == 1
    assert (a <= b) == (a < b or a == b)
    assert (a == b) == (b == a)
    assert a != b or hash(a) == hash(b)


@given(versions(), versions())
def test_system_version_before_ignores_builds(a: SystemVersion, b: SystemVersion) -> None:
    assert [a.before(b), a.same_release(b), b.before(a)].count(True) == 1
    assert not a.before(b) or a < b
    assert not a < b or not b.before(a)
    assert a.line >= b.line or a < b


@given(versions())
def test_system_version_is_written_as_read(version: SystemVersion) -> None:
    assert parse(str(version)) == version
    assert parse(str(version).swapcase()) == version


@given(
    st.sampled_from(("8.5.0", "8.3.RC1", "8.1.T2", "25.3.rc1.2", "8.5.0.1")),
    st.sampled_from(_PRES[1:]),
)
def test_system_version_suffix_comes_before_its_version(base: str, suffix: str) -> None:
    assert parse(base + suffix) < parse(base)


# --- what is asked of components


def allows(text: str, value: str) -> bool:
    requirement = ComponentRequirement.parse(text, COMPONENTS)
    assert requirement is not None, text
    return requirement.allows(component_value(requirement.component, value))


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
def test_component_requirement_allows(value: str, allowing: list[str], refusing: list[str]) -> None:
    assert [text for text in [*allowing, *refusing] if allows(text, value)] == allowing


@pytest.mark.parametrize(
    "text", ["cann", "cann-tools >= 1", "cann[x] >= 1", "CANN >= 8.5.0", "incann in 8.5.0"]
)
def test_component_requirement_is_none_for_other_texts(
    text: str,
) -> None:
    assert ComponentRequirement.parse(text, COMPONENTS) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cann >= 8.5", "`8.5` is not a version of CANN such as 8.5.0"),
        ("cann in 8.5.0 |", "`` is not a version of CANN such as 8.5.0"),
        (
            "cann in 8.5.0, 8.5.1",
            "`8.5.0, 8.5.1` is not a version of CANN such as 8.5.0",
        ),
        ("cann >=", "`>=` is not a comparison such as >= 8.5.0"),
        ("cann >= 8.5.0 8.5.1", "`>= 8.5.0 8.5.1` is not a comparison such as >= 8.5.0"),
        ("cann >= 8.5.*", "`>= 8.5.*`: a wildcard can only be used with == or !="),
        ("soc >= A2", "`>= A2`: values of SoC have no order"),
        ("soc in A2 | A/3", "`A/3` is not a value of SoC such as A2"),
        ("python >= x", "`x` is not a version of Python such as 3.11"),
        ("glibc in 2.28 | new", "`new` is not a version of glibc such as 2.28"),
    ],
)
def test_component_requirement_error_quotes_the_text(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        ComponentRequirement.parse(text, COMPONENTS)
    assert str(caught.value) == message


def test_component_requirement_text_and_unknown_component() -> None:
    assert (
        str(ComponentRequirement.parse("cann  in 8.5.0 |\n8.5.1", COMPONENTS))
        == "cann in 8.5.0 | 8.5.1"
    )
    with pytest.raises(
        ValueError, match="`cuda` is not a component: known are cann, glibc, hdk, python, soc"
    ):
        find_component("cuda", COMPONENTS)


# --- laws


@given(versions(), versions())
def test_component_requirement_opposites(value: object, wanted: object) -> None:
    for sign, opposite in (("==", "!="), ("<", ">="), (">", "<=")):
        assert allows(f"cann {sign} {wanted}", str(value)) is not allows(
            f"cann {opposite} {wanted}", str(value)
        )


@given(versions(), versions())
def test_component_requirement_at_least(value: object, wanted: object) -> None:
    later, same = allows(f"cann > {wanted}", str(value)), allows(f"cann == {wanted}", str(value))
    assert allows(f"cann >= {wanted}", str(value)) is (later or same)
    assert not (later and same)


@given(versions())
def test_component_requirement_of_a_version_and_its_line(value: object) -> None:
    assert allows(f"cann == {value}", str(value))
    assert allows(f"hdk >= {value}, <= {value}", str(value))
    assert allows(f"cann in 99.0.0 | {'.'.join(str(value).split('.')[:2])}.*", str(value))


@given(st.lists(versions(), min_size=1, max_size=4), versions())
def test_component_requirement_in_admits_any_of_its_values(
    values: list[object], value: object
) -> None:
    listed = " | ".join(map(str, values))
    assert allows(f"cann in {listed}", str(value)) is any(
        allows(f"cann == {one}", str(value)) for one in values
    )


@pytest.mark.parametrize(
    ("text", "stated", "promised"),
    [
        *((f"hdk {text}", "25.3.rc1", True) for text in (">= 25.2.0", "!= 25.2.0", "!= 25.2.*")),
        *(
            (f"hdk {text}", "25.3.rc1", False)
            for text in (">= 25.5.0", ">= 25.2.0, < 26.0.0", "!= 25.3.rc1")
        ),
        *(
            (f"hdk {text}", "25.3.rc1", False)
            for text in ("in 25.3.rc1 | 25.5.0", "!= 25.5.0", "!= 25.5.*")
        ),
        *((text, "8.5.0", True) for text in ("cann < 9.0.0", "cann in 8.5.0 | 8.5.1")),
        ("cann >= 9.0.0", "8.5.0", False),
    ],
)
def test_driver_of_a_target_is_the_oldest_of_its_machines(
    text: str, stated: str, promised: bool
) -> None:
    need = ComponentRequirement.parse(text, COMPONENTS)
    assert need is not None
    assert (
        need.is_promised_by({need.component: component_value(need.component, stated)}) is promised
    )
    assert not need.is_promised_by({"soc": "A2"})


@given(st.sampled_from(["==", "!=", "<", ">", "<=", ">="]), *[versions()] * 3)
def test_promised_requirement_holds_for_newer_drivers(
    sign: str, named: object, one: SystemVersion, other: SystemVersion
) -> None:
    need = ComponentRequirement.parse(f"hdk {sign} {named}", COMPONENTS)
    assert need is not None
    if need.is_promised_by({"hdk": min(one, other)}):
        assert need.allows(max(one, other))
