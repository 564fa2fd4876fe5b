"""Addresses of what is cited."""

from __future__ import annotations

from pathlib import Path

import pytest

from resolver.report.document import Paragraph, Span
from resolver.report.explanation.grouping import cited, source_line
from resolver.report.links import linked, way_to_matrices
from tests.references import read_source

FORGE = "https://github.com"
COMMIT = "c0ffee" * 6 + "cafe"


@pytest.mark.parametrize(
    ("where", "href"),
    [
        ("matrices/facts/vllm.toml:12", "facts/vllm.toml#L12"),
        ("matrices/stacks/a.b+c.toml:1", "stacks/a.b%2Bc.toml#L1"),
        ("./mine.toml:3", ""),
        ("matrices/../../etc/x.toml:3", ""),
        ("elsewhere/matrices/facts/vllm.toml:12", ""),
        ("metadata of a.whl", ""),
        ("", ""),
    ],
)
def test_source_line_links_to_the_matrices(where: str, href: str) -> None:
    assert source_line(where) == href


@pytest.mark.parametrize(
    ("source", "text", "href"),
    [
        (
            "verl-project/verl#4651",
            "verl-project/verl#4651",
            f"{FORGE}/verl-project/verl/issues/4651",
        ),
        (
            f"a/b docs/x.rst @{COMMIT} #L3",
            "a/b docs/x.rst @c0ffeec0ffee #L3",
            f"{FORGE}/a/b/blob/{COMMIT}/docs/x.rst?plain=1#L3",
        ),
        (
            f"a/b setup.py @{COMMIT} (v1.0) #L3-L9 `torch`",
            "a/b setup.py @c0ffeec0ffee (v1.0) #L3-L9 `torch`",
            f"{FORGE}/a/b/blob/{COMMIT}/setup.py#L3-L9",
        ),
        (
            f"a/b x+y.json @{COMMIT}",
            "a/b x+y.json @c0ffeec0ffee",
            f"{FORGE}/a/b/blob/{COMMIT}/x%2By.json",
        ),
        (
            f"gitcode.com/cann/notes 9.1.0/notes.md @{COMMIT} #L3",
            "gitcode.com/cann/notes 9.1.0/notes.md @c0ffeec0ffee #L3",
            f"https://gitcode.com/cann/notes/blob/{COMMIT}/9.1.0/notes.md#L3",
        ),
        (f"a/b @{COMMIT}", "a/b @c0ffeec0ffee", f"{FORGE}/a/b/tree/{COMMIT}"),
        ("a/b tag v1.2", "a/b tag v1.2", f"{FORGE}/a/b/tree/v1.2"),
        (
            "example.test/a?b=1 (2026-11-28)",
            "example.test/a?b=1 (2026-11-28)",
            "https://example.test/a?b=1",
        ),
        ("a-1.0.tar.gz setup.py #L3", "a-1.0.tar.gz setup.py #L3", ""),
        ("index pypi a (2026-11-28)", "index pypi a (2026-11-28)", ""),
        (
            "tried on linux-aarch64 (2026-11-28): a ran",
            "tried on linux-aarch64 (2026-11-28): a ran",
            "",
        ),
        ('"a guide" (2026-11-28)', '"a guide" (2026-11-28)', ""),
    ],
)
def test_cited_has_a_short_text_and_an_address(source: str, text: str, href: str) -> None:
    assert cited(read_source(source)) == (Span(text, href),)
    assert str(read_source(source)) == source


def test_cited_references_are_separate_pieces() -> None:
    pieces = cited(read_source("a/b#1", "a/b#2"))
    assert [piece.text for piece in pieces] == ["a/b#1", "; ", "a/b#2"]


@pytest.mark.parametrize(
    ("locks", "matrices", "way"),
    [
        ("project/locks", "project/matrices", "../../../matrices"),
        ("project/locks", "project/our facts/v2", "../../../our%20facts/v2"),
        ("project/deep/locks", "project/matrices", ""),
        ("project/locks", "elsewhere/matrices", ""),
        ("project/locks", "installation/linked", ""),
    ],
)
def test_way_to_matrices_stays_in_the_project(
    tmp_path: Path, locks: str, matrices: str, way: str
) -> None:
    for name in (locks, matrices):
        (tmp_path / name).mkdir(parents=True)
    assert way_to_matrices(tmp_path / locks, tmp_path / matrices) == way


def test_way_to_matrices_follows_links(tmp_path: Path) -> None:
    (tmp_path / "installation" / "matrices").mkdir(parents=True)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "matrices").symlink_to(tmp_path / "installation" / "matrices")
    assert way_to_matrices(tmp_path / "project" / "locks", tmp_path / "project" / "matrices") == ""


def test_linked_without_a_path_leaves_only_addresses() -> None:
    fact, page = (
        Span("matrices/facts/a.toml:1", "facts/a.toml#L1"),
        Span("page", "https://example.test/"),
    )
    block = Paragraph(((fact, page),))
    assert linked(block, "") == Paragraph(((Span(fact.text), page),))
    live = Span(fact.text, "../../../matrices/facts/a.toml#L1")
    assert linked(block, "../../../matrices") == Paragraph(((live, page),))
