"""What a value that a component cannot have most likely means."""

from __future__ import annotations

import pytest

from resolver.cli import options
from resolver.config.load import load_components
from resolver.errors import InputError
from tests.functional.workspace import REPOSITORY

COMPONENTS = load_components(REPOSITORY / "matrices")


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("8.5", ": known are 8.5.0, 8.5.1, 8.5.2"),
        ("8.2RC1", ": did you mean 8.2.RC1?"),
        ("v8.5.1", ": did you mean 8.5.1?"),
        ("CANN 8.5.1", ": did you mean 8.5.1?"),
        ("CANN V8.2RC1", ": did you mean 8.2.RC1?"),
        ("x", "such as 9.2.0"),
        ("v", "such as 9.2.0"),
    ],
)
def test_unknown_version_says_what_is_meant(text: str, end: str) -> None:
    with pytest.raises(ValueError, match="is not a version of CANN") as raised:
        COMPONENTS["cann"].parse_stated(text)
    assert str(raised.value).endswith(end)


def test_words_before_a_chip_do_not_hide_it() -> None:
    with pytest.raises(ValueError, match="did you mean A2") as raised:
        COMPONENTS["soc"].parse_stated("Huawei Atlas A2")
    assert (
        str(raised.value) == "`Huawei Atlas A2` is not a value of SoC such as A5: did you mean A2?"
    )


@pytest.mark.parametrize(
    ("name", "text", "hint"),
    [
        ("soc", "Ａ３", "it has the full-width sign `Ａ`: write `A3`"),
        ("cann", "8．5.1", "it has the full-width sign `．`: write `8.5.1`"),
        ("cann", "８.５.１", "it has the full-width sign `８`: write `8.5.1`"),
        ("soc", "the newest", ""),
    ],
)
def test_full_width_value_of_an_option_says_what_to_write(name: str, text: str, hint: str) -> None:
    with pytest.raises(InputError) as raised:
        options.component(name, text, COMPONENTS)
    assert raised.value.hint == hint


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("openEuler 22.03 (LTS-SP4)", "2.34"),
        ("openEuler 22.03 LTS SP4", "2.34"),
        ("openEuler-24.03-LTS-SP1", "2.38"),
        ("Kylin V10 SP3", "2.28"),
        ("Ubuntu 22.04.5 LTS", "2.35"),
        ("RHEL 8.10 (Ootpa)", "2.28"),
        ("CentOS 7.9.2009 (Core)", "2.17"),
    ],
)
def test_glibc_of_a_system_with_its_update(text: str, version: str) -> None:
    assert options.glibc_version(text, COMPONENTS["glibc"]) == version


@pytest.mark.parametrize("text", ["openEuler 22.09", "Ubuntu 22.10", "(LTS)", "Ubuntu"])
def test_glibc_of_an_unknown_system_names_the_known_ones(text: str) -> None:
    with pytest.raises(InputError) as raised:
        options.glibc_version(text, COMPONENTS["glibc"])
    assert "Kylin V10, openEuler 20.03, openEuler 22.03, " in raised.value.hint


def test_unknown_chip_says_that_names_can_be_written() -> None:
    chip = COMPONENTS["soc"]
    with pytest.raises(InputError) as raised:
        chip.require_known("A4", "here", takes_names=True)
    assert raised.value.hint == (
        "known are 310P, A2, A3, A5; names such as 910B and 300I Duo can be written, too"
    )
    with pytest.raises(InputError) as raised:
        chip.require_known("A4", "here")
    assert raised.value.hint == "known are 310P, A2, A3, A5"
