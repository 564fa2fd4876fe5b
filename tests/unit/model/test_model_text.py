"""Texts that are not versions, specifiers or requirements, and limits of their length."""

from __future__ import annotations

import pytest
from packaging.requirements import InvalidRequirement

from resolver.model import text

LONG = "9" * 5000  # `int` raises ValueError from 4,301 digits on


@pytest.mark.parametrize("spelled", ["", "x", "1..2", f"1.{LONG}", f"{LONG}!1", "1" + ".0" * 9000])
def test_version_is_none_for_other_texts(spelled: str) -> None:
    assert text.version(spelled) is None


@pytest.mark.parametrize("spelled", ["=>1", f">=1.{LONG}", ",".join(f">{n}" for n in range(300))])
def test_python_specifiers_is_none_for_other_texts(spelled: str) -> None:
    assert text.python_specifiers(spelled) is None


@pytest.mark.parametrize(
    "line",
    [
        *("", "a b", "a" * 1001, f"a>={LONG}", f"a; python_version > '3.{LONG}'"),
        *("a!=" + ",!=".join(map(str, range(300))), "a; " + "(" * 51 + "os_name == ''" + ")" * 51),
    ],
)
def test_requirement_rejects_other_texts(line: str) -> None:
    with pytest.raises(InvalidRequirement):
        text.requirement(line)


def test_long_texts_within_the_limits_are_read() -> None:
    version = "20260101.123456789012345678901234567890"
    assert str(text.version(version)) == version
    marker = " or ".join(f"(python_version == '3.{n}' and (os_name == 'nt'))" for n in range(60))
    assert text.requirement(f"a; {marker}").name == "a"
    nested = "(" * 50 + "os_name == 'nt'" + ")" * 50
    assert text.requirement(f"a; {nested}").name == "a"
