"""Addresses of what is cited."""

from __future__ import annotations

from pathlib import Path

import pytest

from resolver.report.document import Paragraph, Span
from resolver.report.explanation.statements import cited, source_line
from resolver.report.links import linked, way_to_matrices

FORGE = "https://github.com"


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
def test_lines_of_the_matrices(where: str, href: str) -> None:
    assert source_line(where) == href


@pytest.mark.parametrize(
    ("source", "links"),
    [
        ("verl-project/verl#4651", {"verl-project/verl#4651": "verl-project/verl/issues/4651"}),
        (
            "pytorch/tensordict#1374, #1379; verl setup.py",
            {"pytorch/tensordict#1374": "pytorch/tensordict/issues/1374", "#1379": "pytorch/tensordict/issues/1379"},
        ),
        ("a/b docs/zh @9e73e708; more", {"a/b docs/zh @9e73e708": "a/b/tree/9e73e708/docs/zh"}),
        ("vllm docs/a.md @98f2ce96", {"vllm docs/a.md @98f2ce96": "vllm-project/vllm/blob/98f2ce96/docs/a.md"}),
        (
            "verl-project/verl docs/x v0.7.1",
            {"verl-project/verl docs/x v0.7.1": "verl-project/verl/tree/v0.7.1/docs/x"},
        ),
        ("sgl-project/kernel @f425bdf1", {"sgl-project/kernel @f425bdf1": "sgl-project/kernel/tree/f425bdf1"}),
        # whose these are is not told
        ("somebody docs/x.md @98f2ce96, #12", {}),
        ("setup.py of pylatexenc-2.10.tar.gz", {}),
        ("docs/zh/release_notes and COMPATIBILITY.md @9e73e708 (2026-08-21)", {}),
        ("javascript:alert(1)", {}),
    ],
)
def test_evidence(source: str, links: dict[str, str]) -> None:
    pieces = cited(source)
    assert "".join(piece.text for piece in pieces) == source
    assert {piece.text: piece.href for piece in pieces if piece.href} == {
        text: f"{FORGE}/{path}" for text, path in links.items()
    }


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
def test_way_to_matrices_stays_in_the_project(tmp_path: Path, locks: str, matrices: str, way: str) -> None:
    for name in (locks, matrices):
        (tmp_path / name).mkdir(parents=True)
    assert way_to_matrices(tmp_path / locks, tmp_path / matrices) == way


def test_way_to_matrices_is_that_of_the_real_folder(tmp_path: Path) -> None:
    (tmp_path / "installation" / "matrices").mkdir(parents=True)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "matrices").symlink_to(tmp_path / "installation" / "matrices")
    assert way_to_matrices(tmp_path / "project" / "locks", tmp_path / "project" / "matrices") == ""


def test_linked_without_a_way_leaves_only_addresses() -> None:
    fact, page = Span("matrices/facts/a.toml:1", "facts/a.toml#L1"), Span("page", "https://example.test/")
    block = Paragraph(((fact, page),))
    assert linked(block, "") == Paragraph(((Span(fact.text), page),))
    live = Span(fact.text, "../../../matrices/facts/a.toml#L1")
    assert linked(block, "../../../matrices") == Paragraph(((live, page),))


def test_addresses_end_before_punctuation() -> None:
    assert cited("see https://example.test/a?b=1&c=2. Then") == (
        Span("see "),
        Span("https://example.test/a?b=1&c=2", "https://example.test/a?b=1&c=2"),
        Span(". Then"),
    )
