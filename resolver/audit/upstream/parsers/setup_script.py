"""Read what setup.py says of requirements and Python in plain literals. Nothing of it runs."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from resolver.audit.upstream.entry import Entry, TextFile, Value
from resolver.errors import InputError
from resolver.phrase import cause, phrase


def parse(file: TextFile, columns: Mapping[str, str]) -> list[Entry]:
    """Return arguments of `setup`, by their names in `columns`, that are texts or lists of texts.

    They may stand there or be variables of the module. One that is computed has no value. Raise
    InputError if the file is not Python, or calls no `setup`.
    """
    # Lines that are too long are an error.
    file.lines()
    try:
        tree = ast.parse(file.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        what = phrase("it is not Python that can be read")
        raise InputError(what, where=file.where, why=cause(error)) from None
    call = _setup_call(tree)
    if call is None:
        raise InputError(phrase("it calls no `setup`"), where=file.where)
    variables = _variables(tree)
    values: dict[str, Value] = {}
    lines = [call.lineno]
    for keyword in call.keywords:
        column = columns.get(keyword.arg or "")
        if column is None:
            continue
        node = keyword.value
        if isinstance(node, ast.Name):
            node = variables.get(node.id, node)
        value = _literal(node)
        if value is not None:
            values[column] = value
            lines += [node.lineno, node.end_lineno or node.lineno]
    return [Entry(values=values, first=min(lines), last=max(lines))]


def _variables(tree: ast.Module) -> dict[str, ast.expr]:
    """Return what the module itself assigns to variables."""
    variables = {}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    variables[target.id] = node.value
    return variables


def _setup_call(tree: ast.Module) -> ast.Call | None:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="setup") | ast.Attribute(attr="setup")):
                return node
            case _:
                pass
    return None


def _literal(node: ast.expr) -> Value | None:
    """Return the value of a text or a list of texts; None for anything else."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.List(elts=items) | ast.Tuple(elts=items):
            texts = []
            for item in items:
                value = _literal(item)
                if not isinstance(value, str):
                    return None
                texts.append(value)
            return tuple(texts)
        case _:
            return None
