"""The words of a vendor stand in the room of that vendor, in no code elsewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

RESOLVER = Path(__file__).parents[2] / "resolver"
ROOM = RESOLVER / "ascend"
WORDS = re.compile(r"(?<![a-z])(cann|soc|hdk|npu|torch.npu|vllm.ascend)s?(?![a-z])", re.IGNORECASE)


def words(source: str) -> Iterator[tuple[int, str]]:
    """Yield each name and text of a module with a vendor's word, with its line.

    Docstrings may have examples.
    """
    tree = ast.parse(source)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if id(node) in docstrings:
            continue
        for text in names(node):
            if WORDS.search(re.sub(r"([a-z])([A-Z])", r"\1_\2", text)):
                yield getattr(node, "lineno", 0), text


def names(node: ast.AST) -> Iterator[str]:
    """Yield the names and texts that a node of the tree has itself."""
    for field in ("id", "attr", "arg", "name", "value", "module", "asname"):
        text = getattr(node, field, None)
        if isinstance(text, str):
            yield text


def found() -> list[str]:
    places = []
    for path in sorted(RESOLVER.rglob("*.py")):
        if not path.is_relative_to(ROOM):
            for line, text in words(path.read_text(encoding="utf-8")):
                places.append(f"{path.relative_to(RESOLVER)}:{line} {text[:60]}")
    return places


# Where else the words stand, and why.
ELSEWHERE = {
    "audit/upstream/generated.py": "the head of images.toml",
    "audit/upstream/parsers/dockerfile.py": "a parser of the vendor's images",
    "audit/upstream/values.py": "how the vendor's tables write versions",
    "cli/import.py": "options that people type",
    "config/components.py": "where the grammar is registered",
}


def test_vendor_words_stand_in_one_room() -> None:
    places = {place: place.partition(":")[0] for place in found()}
    assert [place for place, file in places.items() if file not in ELSEWHERE] == []
    assert ELSEWHERE.keys() == set(places.values())


def test_vendor_words_are_found_in_names_and_texts() -> None:
    source = """
'A module about CANN.'
class NpuTool:
    'A tool for a SoC.'
    def ask(self, on_npu): return self.cann
needs = f"{on} is not torch-npu" + "scanner"
"""
    assert sorted(text for _, text in words(source)) == [
        " is not torch-npu",
        "NpuTool",
        "cann",
        "on_npu",
    ]
