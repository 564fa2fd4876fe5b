"""Which lines of a file may count for an extra, without a look at each line for each extra."""

from __future__ import annotations

import pytest

from resolver.model.text import extras_named


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("extra-data>=1", set()),
        ('a; python_version < "3"', set()),
        ("a; extra == \"One_1\" or extra == 'two'", {"one-1", "two"}),
        ('a; "one" == extra and extra != "two"', {"one", "two"}),
        ('a; extra == "extra"', None),  # which is more than is looked at
        ('a; extra in "one two"', None),
        ('a; extra == "one" or extra >= "two"', None),
    ],
)
def test_extras_that_a_marker_names(line: str, named: set[str] | None) -> None:
    assert extras_named(line) == named
