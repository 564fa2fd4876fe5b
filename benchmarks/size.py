"""The size of the code, per package, beside pip and packaging.

    .venv/bin/python -m benchmarks.size [COMMIT]

A code line is neither blank nor a comment nor part of a docstring. A syntax node is one of
`ast.walk`, without docstrings: unlike lines, nodes do not get fewer by packing code. Without COMMIT
the files of the checkout are counted.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import tarfile
import tokenize
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

REPOSITORY: Final = Path(__file__).resolve().parents[1]

_LAYOUT: Final = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)
_DOCUMENTED: Final = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Size(NamedTuple):
    """The size of some code."""

    # Lines of code.
    lines: int
    # Nodes of the syntax tree.
    nodes: int

    def plus(self, other: Size) -> Size:
        """Return the size of both together."""
        return Size(self.lines + other.lines, self.nodes + other.nodes)


def size_of(source: str) -> Size:
    """Return the size of a module."""
    nodes = list(ast.walk(ast.parse(source)))
    docstrings = [docstring for docstring in map(_docstring, nodes) if docstring is not None]
    code_lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _LAYOUT:
            code_lines.update(range(token.start[0], token.end[0] + 1))
    for docstring in docstrings:
        last_line = docstring.end_lineno or docstring.lineno
        code_lines.difference_update(range(docstring.lineno, last_line + 1))
    # A docstring is two nodes: an expression and its value.
    return Size(len(code_lines), len(nodes) - 2 * len(docstrings))


def _docstring(node: ast.AST) -> ast.stmt | None:
    """Return the statement that is the docstring of a node, if the node has one."""
    if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
        return node.body[0]
    return None


def sources_of_checkout() -> Iterator[tuple[str, str]]:
    """Yield the path below `resolver` and the text of each module of the checkout."""
    return _sources_in(REPOSITORY / "resolver")


def sources_of_commit(commit: str) -> Iterator[tuple[str, str]]:
    """Yield the path below `resolver` and the text of each module of a commit."""
    command = ["git", "archive", "--format=tar", commit, "--", "resolver"]
    archive = subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for member in files:
            content = files.extractfile(member) if member.name.endswith(".py") else None
            if content is not None:
                yield member.name.partition("/")[2], content.read().decode()


def sources_of_package(name: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each module of an installed package."""
    package = find_spec(name)
    assert package is not None
    assert package.origin is not None
    return _sources_in(Path(package.origin).parent)


def _sources_in(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*.py")):
        yield path.relative_to(folder).as_posix(), path.read_text("utf-8")


def print_size(name: str, size: Size) -> None:
    """Print a row of the table."""
    print(f"{name:<24}{size.lines:>8,}{size.nodes:>10,}{size.nodes / size.lines:>10.1f}")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("commit", nargs="?", help="default: the files of the checkout")
    commit = parser.parse_args().commit
    packages: dict[str, Size] = {}
    total = Size(0, 0)
    for path, source in sources_of_commit(commit) if commit else sources_of_checkout():
        package, slash, _ = path.partition("/")
        name = f"resolver/{package}" if slash else "resolver/*.py"
        size = size_of(source)
        packages[name] = packages.get(name, Size(0, 0)).plus(size)
        total = total.plus(size)
    print(f"{'':<24}{'lines':>8}{'nodes':>10}{'per line':>10}")
    for name, size in sorted(packages.items()):
        print_size(name, size)
    print_size("resolver", total)
    for name in ("pip._internal", "packaging"):
        size = Size(0, 0)
        for _, source in sources_of_package(name):
            size = size.plus(size_of(source))
        print_size(name, size)


if __name__ == "__main__":
    main()
