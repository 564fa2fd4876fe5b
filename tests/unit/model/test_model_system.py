"""CANN and HDK versions: every form that was seen in the wild, and their order."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolver.model.system import SystemVersion

parse = SystemVersion.parse

# Each row in ascending order, as facts.md section G has it.
ASCENDING = [
    # before 8.5: RC below final, alpha below its base, T (test) first
    ["8.1.T1", "8.1.T2", "8.1.RC1.alpha001", "8.1.RC1.alpha002", "8.1.RC1", "8.1.RC2", "8.1.0.alpha001", "8.1.0"],
    # 8.5 and later: alpha, beta, rc below the version that they are attached to
    ["8.5.0-alpha", "8.5.0.alpha1", "8.5.0-beta", "8.5.0.beta1", "8.5.0-beta.2", "8.5.0-rc", "8.5.0.rc1", "8.5.0"],
    ["8.5.0", "8.5.0.B120", "8.5.0.B160", "8.5.0.b232", "8.5.1", "8.10.0", "9.0.0"],
    ["8.3.RC1", "8.3.RC2", "8.5.0"],
    ["6.3.RC3", "6.3.RC3.1", "7.0.RC1", "7.0.0"],
    # drivers
    ["25.3.rc1", "25.3.rc1.1", "25.3.rc1.2", "25.3.RC2", "25.5.t3.b001", "25.5.0", "25.5.0.1", "26.0.rc1"],
    ["26.0.rc1", "26.1.0.b083"],
]


@pytest.mark.parametrize("row", ASCENDING, ids=lambda row: row[0])
def test_order(row: list[str]) -> None:
    for (at, low), (there, high) in itertools.combinations(enumerate(row), 2):
        assert parse(low) < parse(high), (low, high)
        assert not parse(high) <= parse(low)
        assert at < there
    assert [str(version) for version in sorted(map(parse, reversed(row)))] == row


PAIRS = [("8.3.RC1", "8.3.rc1"), ("8.5.0.B160", "8.5.0.b160"), ("8.1.RC1.alpha001", "8.1.rc1.ALPHA1")]
PAIRS += [("8.5.0-beta.2", "8.5.0.beta2"), ("8.5.0-alpha", "8.5.0.alpha0"), ("26.1.0.b083", "26.1.0.B83")]
PAIRS += [("25.3.rc1.0", "25.3.rc1"), ("08.05.0", "8.5.0"), (" 8.5.0\n", "8.5.0")]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_two_spellings_of_one_version(one: str, other: str) -> None:
    assert parse(one) == parse(other)
    assert hash(parse(one)) == hash(parse(other))
    assert str(parse(one)) == one.strip()


@pytest.mark.parametrize("build", ["8.5.0.B160", "8.5.0.b232"])
def test_a_build_is_its_release_and_no_prerelease(build: str) -> None:
    assert parse(build) != parse("8.5.0")
    assert parse(build).same_release(parse("8.5.0"))
    assert not parse(build).before(parse("8.5.0"))
    assert not parse("8.5.0").before(parse(build))
    assert not parse(build).is_prerelease
    assert parse(build).before(parse("8.5.1"))


def test_prereleases_and_lines() -> None:
    for early in ("8.2.T2", "8.3.RC1", "6.3.RC3.1", "8.1.RC1.alpha001", "8.5.0-beta.2", "8.5.0.rc1.B001"):
        assert parse(early).is_prerelease, early
    assert [parse(one).line for one in ("8.5.0.B160", "25.3.rc1.2", "8.2.T2")] == [(8, 5), (25, 3), (8, 2)]


# The last but one has digits, but not ASCII ones
NONE = ["", "8", "8.5", "v8.5.0", "8.5.0+cpu", "8.5.0-gamma", "8.5.0.B", "8.5.0.B160.1", "8.3 .RC1", "8.5.*"]
NONE += ["8.5.0rc1", "8.5.0\n8.5.1", "٨.5.0", "8.5." + "9" * 10]


@pytest.mark.parametrize("wrong", NONE)
def test_what_is_no_version_is_named(wrong: str) -> None:
    with pytest.raises(ValueError, match="is not a CANN or HDK version") as caught:
        parse(wrong)
    assert str(caught.value) == f"`{wrong}` is not a CANN or HDK version such as 8.5.0, 8.3.RC1 or 25.3.rc1.2"


# --- laws

_small = st.integers(0, 3)
_STAGES = ("T{}", "RC{}", "rc{}", "{}")
_PRES = ("", "-alpha", ".alpha1", "-beta.2", ".beta2", ".rc1", "-RC")


@st.composite
def versions(draw: st.DrawFn) -> SystemVersion:
    stage = draw(st.sampled_from(_STAGES)).format(draw(_small))
    patch = draw(st.sampled_from(("", "", ".0", ".1", ".1.2")))
    build = draw(st.sampled_from(("", "", ".B0", ".b083", ".B160")))
    return parse(f"{draw(st.sampled_from((8, 25)))}.{draw(_small)}.{stage}{patch}{draw(st.sampled_from(_PRES))}{build}")


@given(versions(), versions())
def test_exactly_one_of_less_equal_greater(a: SystemVersion, b: SystemVersion) -> None:
    assert [a < b, a == b, a > b].count(True) == 1
    assert (a <= b) == (a < b or a == b)
    assert (a == b) == (b == a)
    assert a != b or hash(a) == hash(b)


@given(versions(), versions())
def test_releases_are_ordered_as_versions_are_builds_apart(a: SystemVersion, b: SystemVersion) -> None:
    assert [a.before(b), a.same_release(b), b.before(a)].count(True) == 1
    assert not a.before(b) or a < b
    assert not a < b or not b.before(a)
    assert a.line >= b.line or a < b


@given(versions())
def test_a_text_is_read_back_as_itself(version: SystemVersion) -> None:
    assert parse(str(version)) == version
    assert parse(str(version).swapcase()) == version


@given(st.sampled_from(("8.5.0", "8.3.RC1", "8.1.T2", "25.3.rc1.2", "8.5.0.1")), st.sampled_from(_PRES[1:]))
def test_a_suffix_stands_below_what_it_is_attached_to(base: str, suffix: str) -> None:
    assert parse(base + suffix) < parse(base)
