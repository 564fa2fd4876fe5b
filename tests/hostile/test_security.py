"""SECURITY.md and docs/ name tests that exist, and leave out none of those that hold an attack."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.functional.workspace import REPOSITORY
from tests.hostile import table
from tests.hostile.attacks import ATTACKS

_TEST = re.compile(r"(?<![\w/])(tests/[\w/]+\.py)::(\w+)")
PAGES = [REPOSITORY / "SECURITY.md", *sorted((REPOSITORY / "docs").glob("*.md"))]


@cache
def names_of(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def named_in(page: Path) -> set[tuple[str, str]]:
    """File and name of each test that a page names."""
    return {(match[1], match[2]) for match in _TEST.finditer(page.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_security_page_names_what_exists(page: Path) -> None:
    stale = [
        f"{path}::{name}"
        for path, name in sorted(named_in(page))
        if not (REPOSITORY / path).is_file()
        or not name.startswith("test_")
        or name not in names_of(REPOSITORY / path)
    ]
    assert stale == []


def test_security_promises_all_have_tests() -> None:
    text = (REPOSITORY / "SECURITY.md").read_text(encoding="utf-8")
    promises = re.split(r"^### ", text.partition("## Further attacks")[0], flags=re.MULTILINE)[1:]
    assert [promise[:3] for promise in promises] == [f"({letter})" for letter in "abcdefgh"]
    assert all(_TEST.search(promise) for promise in promises)


def test_security_page_lists_every_hostile_test() -> None:
    named = {name for page in PAGES for _, name in named_in(page)}
    here = Path(__file__)
    files = [path for path in here.parent.glob("test_*.py") if path != here]
    assert {path.name for path in files} >= {
        "test_attacks.py",
        "test_credentials.py",
        "test_witnesses.py",
    }
    assert {
        name for path in files for name in names_of(path) if name.startswith("test_")
    } - named == set()


def test_attack_table_is_complete() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)
    text = table.PATH.read_text(encoding="utf-8")
    assert text == table.render(), "python -m tests.hostile.table"
    assert [
        attack.name for attack in ATTACKS if f"| {attack.name} | {attack.status} |" not in text
    ] == []
