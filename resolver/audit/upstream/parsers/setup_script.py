"""Read the requirements and the Python versions that a setup.py states in plain literals.

Nothing of the file is run.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from resolver.audit.upstream.entry import Entry, TextFile, Value
from resolver.errors import InputError
from resolver.phrase import cause, phrase


def parse(file: TextFile, columns: Mapping[str, str]) -> list[Entry]:
    """Return one entry with the arguments of `setup()` that are wanted.

    An argument must be a string or a list of strings, written in the call or assigned to a variable
    of the module. A computed argument has no value. Raises InputError if the file is not Python, or
    does not call `setup`.
    """
    # Lines that are too long are an error.
    file.lines()
    try:
        tree = ast.parse(file.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        message = phrase("it is not Python that can be read")
        raise InputError(message, where=file.where, why=cause(error)) from None
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
    """Return the expressions that the module assigns to variables, outside of functions."""
    variables = {}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    variables[target.id] = node.value
    return variables


def _setup_call(tree: ast.Module) -> ast.Call | None:
    """Return the call of `setup`; None if there is none."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="setup") | ast.Attribute(attr="setup")):
                return node
            case _:
                pass
    return None


def _literal(node: ast.expr) -> Value | None:
    """Return the value of a string, or of a list or tuple of strings; None for anything else."""
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
