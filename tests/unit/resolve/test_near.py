"""Which of the files that a target cannot use a report names first."""

from __future__ import annotations

from resolver.model.release import Reason, Rejection
from resolver.resolve.core_statements import near
from tests.problems import target


def test_wheels_for_another_system_come_last() -> None:
    """As of decord: its wheels for macOS are the first on the page."""
    names = [
        "decord-0.6.0-cp36-cp36m-macosx_10_15_x86_64.whl",
        "decord-0.6.0-py3-none-win_amd64.whl",
        "decord-0.6.0-py3-none-manylinux2010_x86_64.whl",
    ]
    rows = near([Rejection(name, Reason.TAGS) for name in names], target())
    assert [row.filename for row in rows] == [names[2], *names[:2]]
