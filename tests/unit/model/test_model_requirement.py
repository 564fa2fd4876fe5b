"""Requirements on projects: whether their markers hold."""

from __future__ import annotations

import pytest
from packaging.requirements import InvalidRequirement

from resolver.model import text
from tests.problems import target

MARKERS = target(python="3.11").markers


@pytest.mark.parametrize(
    ("marker", "applies"),
    [
        ("", True),
        ("; python_version >= '3.11'", True),
        ("; platform_machine == 'x86_64'", False),
        ("; extra == 'gpu'", False),
        ("; extra != 'gpu'", True),
    ],
)
def test_requirement_applies(marker: str, applies: bool) -> None:
    assert text.requirement(f"numpy {marker}").applies(MARKERS) is applies


def test_requirement_applies_with_an_extra() -> None:
    need = text.requirement("numpy ; extra == 'gpu'")
    assert need.applies({**MARKERS, "extra": "gpu"})


@pytest.mark.parametrize(
    ("marker", "why"),
    [
        ("os_name ~= 'posix'", "Undefined <Op('~=')> on 'posix' and 'posix'."),
        ("'gpu' in extras", "`extras` is no variable of a requirement's marker"),
    ],
)
def test_requirement_with_a_marker_that_cannot_be_evaluated(marker: str, why: str) -> None:
    with pytest.raises(InvalidRequirement) as refused:
        text.requirement(f"numpy ; {marker}").applies(MARKERS)
    assert str(refused.value) == why
