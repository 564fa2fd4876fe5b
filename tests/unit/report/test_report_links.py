"""Addresses of what is cited."""

from __future__ import annotations

import pytest

from resolver.report.document import Span
from resolver.report.explanation.statements import cited, source_line

FORGE = "https://github.com"


@pytest.mark.parametrize(
    ("where", "href"),
    [
        ("matrices/facts/vllm.toml:12", "../../../matrices/facts/vllm.toml#L12"),
        ("matrices/stacks/a.b+c.toml:1", "../../../matrices/stacks/a.b%2Bc.toml#L1"),
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


def test_addresses_end_before_punctuation() -> None:
    assert cited("see https://example.test/a?b=1&c=2. Then") == (
        Span("see "),
        Span("https://example.test/a?b=1&c=2", "https://example.test/a?b=1&c=2"),
        Span(". Then"),
    )
