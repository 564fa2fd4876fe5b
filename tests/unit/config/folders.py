"""Folders of matrices with one stack `s` and facts about verl.

They are right, except for what a test changes in them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from resolver.config.compile import compile_problems
from resolver.config.fact_rules import compile_facts
from resolver.config.load import load, load_components, load_facts
from resolver.errors import InputError
from resolver.model.problem import Problem
from tests.components import systems_text

MATRICES = Path(__file__).parents[3] / "matrices"
SHIPPED_FILES = sorted((MATRICES / "facts").rglob("*.toml"))
SHIPPED = compile_facts(load_facts(MATRICES), components=load_components(MATRICES))

STACK = """\
[stack]
name = "s"
summary = "a test"
requires = [
    "numpy<2",
    "verl",
]

[target]
python = "3.11"
platform = "linux-aarch64"

[target.system]
cann = "8.5.0"
soc = "A2"
"""

HEAD = """\
[defaults]
strength = "vendor"
source = "vendor/table#1"
checked = 2026-11-20

"""
FACTS = f"""{HEAD}\
[[requires]]
versions = "==0.13.0"
needs = ["numpy<2", "cann in 8.5.0 | 8.5.1"]
reason = "it says so"
"""

SYSTEMS = systems_text({"soc": ("310P", "A2", "A3")})


def matrices(
    folder: Path,
    stack: str | bytes = STACK,
    *,
    facts: str = FACTS,
    indexes: str = "",
    other_facts: str = "",
) -> Path:
    """Write the files into `folder`, with `facts` about verl and others about vllm; return it."""
    for name in ("stacks", "facts"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "stacks" / "s.toml").write_bytes(stack.encode() if isinstance(stack, str) else stack)
    (folder / "facts" / "verl.toml").write_text(facts)
    (folder / "systems.toml").write_text(SYSTEMS)
    if indexes:
        (folder / "indexes.toml").write_text(indexes)
    if other_facts:
        (folder / "facts" / "vllm.toml").write_text(other_facts)
    return folder


def problem(folder: Path, stack: str = STACK, **files: str) -> Problem:
    """Return the problem of these files, whose stack has one target."""
    (only_problem,) = compile_problems(load("s", matrices(folder, stack, **files)))
    return only_problem


def message(folder: Path, stack: str | bytes = STACK, *, name: str = "s", **files: str) -> str:
    """Return the error that compiling the stack `name` of these files raises."""
    with pytest.raises(InputError) as caught:
        compile_problems(load(name, matrices(folder, stack, **files)))
    return str(caught.value)


def requiring(*lines: str) -> str:
    """Return the stack with these requirements in one line, the fourth."""
    before, _, rest = STACK.partition("requires")
    target = rest[rest.index("\n[target]\n") :]
    quoted_lines = ", ".join(f"'{line}'" for line in lines)
    return f"{before}requires = [{quoted_lines}]\n{target}"
