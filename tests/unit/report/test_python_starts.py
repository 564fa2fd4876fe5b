"""Each Python that the scripts, verify.py and the commands start is isolated.

`python -c` and `python -m` put the current folder on the search path, so a module there would run
in place of one of the standard library. With `-I` they do not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import resolver

_PACKAGE = Path(resolver.__file__).parent
# A program that a template hands over: on standard input, after `-c`, or the name of a module. `-c`
# of git is followed by a setting.
_HANDED_OVER = re.compile(r" (?:- [^>|]*<<'|-c ['\"]|-m [a-z]+\b)|\"\$python\" <<")
# The functions that start a Python which is not isolated, because it imports what a user's program
# would. The tests of verify start both where the current folder has modules.
_AS_THE_USER = {("verify/imports.py", "run_python"), ("verify/starts.py", "_start")}
# Names that hold the path of a Python where a command is made.
_PYTHONS = {"sys.executable", "python", "path", "str(python)", "request.python", "interpreter"}


def test_scripts_start_python_isolated() -> None:
    count = 0
    for path in sorted(_PACKAGE.rglob("templates/*.j2")):
        for line in path.read_text(encoding="utf-8").splitlines():
            for program in _HANDED_OVER.finditer("" if line.lstrip().startswith("#") else line):
                count += 1
                before = line[: program.start()].rstrip('"')
                assert before.endswith((" -I", " -S", '"-I", ')), (path.name, line)
    assert count > 30, "the programs are found"


def commands(tree: ast.AST, function: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield the function and the first words of each list that begins with a Python."""
    for node in ast.iter_child_nodes(tree):
        inside = node.name if isinstance(node, ast.FunctionDef) else function
        if isinstance(node, ast.List) and node.elts and ast.unparse(node.elts[0]) in _PYTHONS:
            yield inside, [ast.unparse(word).strip("'") for word in node.elts[1:]]
        yield from commands(node, inside)


def test_modules_start_python_isolated() -> None:
    count = 0
    not_isolated = set()
    for path in sorted(_PACKAGE.rglob("*.py")):
        for function, words in commands(ast.parse(path.read_text(encoding="utf-8"))):
            is_start = bool(words) and (words[0].startswith("-") or words[0] == "request.program")
            count += is_start
            if is_start and words[0] != "-I":
                not_isolated.add((str(path.relative_to(_PACKAGE)), function))
    assert count > 8, "the starts are found"
    assert not_isolated == _AS_THE_USER
