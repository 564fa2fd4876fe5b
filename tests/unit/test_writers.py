"""Only one class changes the disk below a folder of ours, and only one function writes a file."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

RESOLVER = Path(__file__).parents[2] / "resolver"
# What changes the disk, as methods of a path or functions of os and shutil. `open` is judged by its
# mode.
CHANGES = {
    *(
        "write_text",
        "write_bytes",
        "touch",
        "unlink",
        "rename",
        "rmdir",
        "symlink_to",
        "hardlink_to",
    ),
    *("rmtree", "copytree", "copy2", "copyfile", "move", "removedirs", "makedirs", "truncate"),
}
# These are also methods of a text or a set, so they count as functions of os alone.
OF_OS = {"replace", "remove", "link", "symlink", "chmod", "utime", "mkdir"}
# By module, with what it is: all of these are in a temporary folder of the run, or what a user
# named.
ELSEWHERE = {
    "files": {"open"},  # write_output: into a pipe or a device
    "cli/commands": {"open"},  # os.devnull, in the place of a closed stream
    "cli/sweep": {"truncate"},  # of the journal's open file
    # in a home of git's own, which is removed after the call
    "index/git_netrc": {"symlink_to", "touch", "write_bytes"},
    "index/repositories": {"write_text", "truncate"},  # in a temporary repository; of an open file
    "index/net/downloads": {"truncate"},  # of an open file
    "index/net/remote_files": {"unlink", "rmtree"},  # in the temporary folder of the run
}
MODULES = sorted(
    path.relative_to(RESOLVER).with_suffix("").as_posix()
    for path in RESOLVER.rglob("*.py")
    if path.name not in ("owned_folder.py", "openat.py", "mounts.py")
    and "verify" not in path.relative_to(RESOLVER).parts[:1]
)


def changes(tree: ast.AST) -> set[str]:
    """The calls in a module that change the disk."""
    found = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Attribute, ast.Name)):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
        modes = [*node.args, *(word.value for word in node.keywords if word.arg == "mode")]
        texts = [
            mode.value
            for mode in modes
            if isinstance(mode, ast.Constant) and isinstance(mode.value, str)
        ]
        is_writing = any(len(text) <= 3 and set(text) & set("wax+") for text in texts)
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if name in OF_OS and isinstance(owner, ast.Name) and owner.id == "os":
            found.add(f"os.{name}")
        if name in CHANGES or (name == "open" and is_writing):
            found.add(name)
    return found


@pytest.mark.parametrize("module", MODULES)
def test_nobody_else_changes_the_disk(module: str) -> None:
    tree = ast.parse((RESOLVER / f"{module}.py").read_text(encoding="utf-8"))
    assert changes(tree) == ELSEWHERE.get(module, set())


@pytest.mark.parametrize(
    "call",
    ["path.write_text('')", "path.open('w')", "open(path, mode='ab')", "shutil.rmtree(path)"],
)
def test_a_change_is_found(call: str) -> None:
    assert changes(ast.parse(call))


@pytest.mark.parametrize(
    "call", ["path.open()", "path.open('rb')", "catalogs.open(problem)", "text.replace('a', 'b')"]
)
def test_what_changes_nothing_is_not(call: str) -> None:
    assert not changes(ast.parse(call))
