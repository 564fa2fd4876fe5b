"""setup.py: what it says of requirements and Python as plain literals. Nothing of it runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from resolver.audit.upstream.entry import Entry, TextFile, Value
from resolver.errors import InputError


def parse(file: TextFile, columns: Mapping[str, str]) -> list[Entry]:
    """Return arguments of `setup`, by their names in `columns`, that are texts or lists of texts.

    They may stand there or be variables of the module. One that is computed has no value. Raises
    InputError if the file is not Python, or calls no `setup`.
    """
    file.lines()
    try:
        tree = ast.parse(file.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(
            "it is not Python that can be read", where=file.where, why=str(error)
        ) from None
    variables = dict(_variables(tree))
    for call in _setup_calls(tree):
        values: dict[str, Value] = {}
        lines = [call.lineno]
        for keyword in call.keywords:
            column = columns.get(keyword.arg or "")
            node = keyword.value
            node = variables.get(node.id, node) if isinstance(node, ast.Name) else node
            value = _literal(node)
            if column is not None and value is not None:
                lines += [node.lineno, node.end_lineno or node.lineno]
                values[column] = value
        return [Entry(values=values, first=min(lines), last=max(lines))]
    raise InputError("it calls no `setup`", where=file.where)


def _variables(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Yield the variables that the module itself assigns."""
    for node in tree.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, node.value


def _setup_calls(tree: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = (
            node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        )
        if name == "setup":
            yield node


def _literal(node: ast.expr) -> Value | None:
    """Return the value of a text or a list of texts; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, (ast.List, ast.Tuple)):
        return None
    texts = [
        item.value
        for item in node.elts
        if isinstance(item, ast.Constant) and isinstance(item.value, str)
    ]
    return tuple(texts) if len(texts) == len(node.elts) else None
