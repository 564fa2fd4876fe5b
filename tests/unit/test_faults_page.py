"""docs/faults.md names tests, and every one of them is there."""

from __future__ import annotations

import re

from tests.functional.workspace import REPOSITORY


def test_every_test_that_the_page_names_is_there() -> None:
    page = (REPOSITORY / "docs" / "faults.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page)
    assert len(named) > 20
    for path, name in named:
        assert f"\ndef {name}(" in (REPOSITORY / path).read_text(encoding="utf-8"), f"{path}::{name}"
    rows = [row for row in page.splitlines() if row.startswith("| ") and not row.startswith(("| fault ", "|---"))]
    assert all("`tests/" in row or "`benchmarks/" in row for row in rows), "a row without what shows it"
