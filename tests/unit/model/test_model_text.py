"""Texts that are no versions, specifiers or requirements, however they are not."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as Whole

from resolver.model import text

LONG = "9" * 5000  # `int` raises ValueError from 4,301 digits on


@pytest.mark.parametrize("spelled", ["", "x", "1..2", f"1.{LONG}", f"{LONG}!1", "1" + ".0" * 9000])
def test_no_version(spelled: str) -> None:
    assert text.version(spelled) is None


@pytest.mark.parametrize("spelled", ["=>1", f">=1.{LONG}", ",".join(f">{n}" for n in range(300))])
def test_no_specifiers(spelled: str) -> None:
    assert text.specifiers(spelled) is None


@pytest.mark.parametrize(
    "line",
    [
        "",
        "a b",
        "a" * 1001,
        "a!=" + ",!=".join(map(str, range(300))),
        f"a>={LONG}",
        f"a; python_version > '3.{LONG}'",
        "a; " + "(" * 51 + "os_name == ''" + ")" * 51,
    ],
)
def test_no_requirement(line: str) -> None:
    with pytest.raises(InvalidRequirement):
        text.requirement(line)


def test_what_honest_texts_have_is_read() -> None:
    assert str(text.version("20260101.123456789012345678901234567890")) == "20260101.123456789012345678901234567890"
    marker = " or ".join(f"(python_version == '3.{n}' and (os_name == 'nt'))" for n in range(60))
    assert text.requirement(f"a; {marker}").name == "a"
    nested = "(" * 50 + "os_name == 'nt'" + ")" * 50
    assert text.requirement(f"a; {nested}").name == "a"


WHAT = ["a", "a.b", "A_b[c]", "a [c,D]", " a>=1", "a(>=1)", "a(>=1", "a ==1.*,<2 ", "a===x;y", "a @ https://h/x;y"]
WHEN = ["os_name == 'nt'", "extra == 'B_c'", "'a;b' == os_name", "(extra=='c') or os_name<'x'", "os_name", "x==1", "'"]


@given(
    st.lists(st.sampled_from(WHAT), min_size=1, max_size=2).map("".join),
    st.lists(st.sampled_from([*WHEN, "", "#", ">=1"]), max_size=3),
    st.sampled_from([";", " ; ", "\t;\n", ";;"]),
)
@example("a", ["os_name == 'a;b'"], ";")
@example("a @ https://h/x", ["os_name == 'nt'"], " ; ")
def test_a_requirement_by_halves_is_the_whole_one(what: str, when: list[str], semicolon: str) -> None:
    line = semicolon.join([what, *when])
    wrong = ""
    try:
        whole = Whole(line)
    except InvalidRequirement as error:
        wrong = str(error)
    if wrong:
        with pytest.raises(InvalidRequirement, match=re.escape(wrong)):
            text.requirement(line)
        return
    read = text.requirement(line)
    assert (read.name, read.specifier, read.url) == (text.name(whole.name), whole.specifier, whole.url or "")
    assert read.extras == tuple(sorted(map(text.name, whole.extras)))
    assert text.marker_text(read.marker) == str(whole.marker or "")
