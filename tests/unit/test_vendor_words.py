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
