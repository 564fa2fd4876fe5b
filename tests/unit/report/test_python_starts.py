"""How the scripts, verify.py and the commands start programs.

Each Python is isolated: `python -c` and `python -m` put the current folder on the search path, so a
module there would run in place of one of the standard library. A check that fails is noticed.
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


# Bash does not say how a program in `<(...)` has ended, so its last record does.
_LAST_RECORD = " && printf '=\\0')"
# `[ -z "$(...)" ]` holds for a program that fails before it prints.
_NOTHING_TOLD = re.compile(r'\[ -z "\$\(|\|\| true\)|! .*\| *grep')
# Where that is no check: a program that fails is told apart, or what is missing is looked for.
_HARMLESS = (
    "|| echo unknown)",
    "python=$(command -v python3 || true); fi",
    "found=$(ask_python ",
    "case $(cat ",
    "case $(canonical ",
)


def test_scripts_notice_a_check_that_fails() -> None:
    """Nothing is refused by a check that ends before it has said what is wrong."""
    for path in sorted(_PACKAGE.rglob("templates/*.sh.j2")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if "< <(" in line:
                assert line.rstrip().endswith(_LAST_RECORD), (path.name, line)
            if _NOTHING_TOLD.search(line) and not any(part in line for part in _HARMLESS):
                raise AssertionError((path.name, line))


def test_scripts_end_each_check_with_a_row() -> None:
    """A program whose rows `rows_of` reads prints `checked` at its end."""
    text = (_PACKAGE / "report" / "templates" / "install.sh.j2").read_text(encoding="utf-8")
    names = set(re.findall(r"\$\(rows_of ([a-z_]+)", text))
    assert names == {"replaced", "irreplaceable", "sharing", "beyond_lock"}
    for name in names:
        program = text.partition(f"\n{name}() {{")[2].partition("\nEOF\n")[0]
        assert program.endswith('\nprint("checked")'), name
