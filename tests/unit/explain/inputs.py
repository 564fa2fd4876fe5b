"""Stacks for explaining, with the facts and the components that there are, and nothing else."""

from __future__ import annotations

from resolver.config import schema
from resolver.config.compile import compile_problems
from resolver.config.load import Inputs
from resolver.config.toml_files import read_text
from resolver.resolve.refutation import Refutation
from resolver.resolve.solver import decide
from resolver.resolve.universe import Universe
from tests.components import COMPONENTS, systems
from tests.datacatalog import DataCatalog

_STACK = """\
index = []

[stack]
name = "demo"
summary = "a test"
requires = [
    {lines},
]

"""
_FACT = """
[[fact.{kind}]]
package = "{package}"
versions = "{versions}"
{what}
reason = "a table says so"
strength = "{strength}"
source = "demo/tests#1"
checked = 2026-01-01
"""
KNOWN = {"cann": ["8.3.RC1", "8.5.0"], "soc": ["310P", "A2"], "python": ["3.10", "3.11", "3.12"]}


def target(
    name: str = "",
    python: str = "3.11",
    system: str = 'cann = "8.5.0", soc = "310P"',
    header: str = "[target]",
) -> str:
    named = f'name = "{name}"\n' if name else ""
    platform = 'platform = "linux-aarch64"\nglibc = "2.28"'
    return f'\n{header}\n{named}python = "{python}"\n{platform}\nsystem = {{ {system} }}\n'


def fact(kind: str, package: str, versions: str, what: str, strength: str = "observed") -> str:
    return _FACT.format(kind=kind, package=package, versions=versions, what=what, strength=strength)


def matrix(versions: str, cann: str, strength: str = "vendor") -> str:
    """A table says which CANN releases of `plugin` need."""
    return fact("requires", "plugin", versions, f'needs = ["cann in {cann}"]', strength)


def warning(package: str, versions: str, text: str, more: str = "") -> str:
    return fact("warns", package, versions, f'text = "{text}"\n{more}')


def inputs_of(*lines: str, more: str, known: dict[str, list[str]] | None = None) -> Inputs:
    """Return the inputs with these lines and the rest of the stack's text.

    `known` are the values of components.
    """
    text = _STACK.format(lines=",\n    ".join(f'"{line}"' for line in lines)) + more
    return Inputs(
        stack=read_text(text, schema.StackFile, "demo.toml", COMPONENTS),
        facts=(),
        indexes=None,
        systems=systems(KNOWN if known is None else known),
    )


def refutation(inputs: Inputs, catalog: DataCatalog, name: str = "") -> Refutation:
    """Why the problem of one target has no solution: the one of this name, or the first."""
    problems = compile_problems(inputs)
    problem = next(one for one in problems if one.target.name == name or not name)
    answer = decide(Universe(problem, catalog))
    assert isinstance(answer, Refutation)
    return answer
