"""What a value that a component cannot have most likely means."""

from __future__ import annotations

import pytest

from resolver.config.load import load_components
from resolver.errors import InputError
from tests.functional.workspace import REPOSITORY

COMPONENTS = load_components(REPOSITORY / "matrices")


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("8.5", ": known are 8.5.0, 8.5.1, 8.5.2"),
        ("8.2RC1", ": did you mean 8.2.RC1?"),
        ("x", "such as 9.2.0"),
    ],
)
def test_unknown_version_says_what_is_meant(text: str, end: str) -> None:
    with pytest.raises(ValueError, match="is not a version of CANN") as raised:
        COMPONENTS["cann"].parse_stated(text)
    assert str(raised.value).endswith(end)


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
