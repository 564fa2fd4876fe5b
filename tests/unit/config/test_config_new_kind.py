"""A kind of fact that `config` has never heard of is checked and compiled like the others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
from msgspec.structs import replace

from resolver.config.compile import compile_problems
from resolver.config.load import Inputs, load
from resolver.config.schema import FactFile
from resolver.config.toml_files import read_text
from resolver.errors import InputError
from resolver.model.fact import KINDS, Fact, Need
from resolver.model.text import NOT_EMPTY
from tests.unit.config.folders import STACK, matrices


class Awaits(Fact, frozen=True, kw_only=True):
    """A kind with requirements under a key that no other kind has."""

    awaited: Annotated[tuple[Need, ...], NOT_EMPTY] = msgspec.field(name="until")

    relaxable_field = "awaited"

    @property
    def added_needs(self) -> tuple[Need, ...]:
        """Return the requirements."""
        return self.awaited


ROW = """\
[[awaits]]
package = "verl"
until = ["numpy<2", "{}"]
reason = "it says so"
strength = "vendor"
source = "vendor/table#1"
checked = 2026-11-20
"""


@pytest.fixture
def shape(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Register the kind, and return the type of files that may have it."""
    monkeypatch.setitem(KINDS, "awaits", Awaits)  # type: ignore[arg-type]
    fields = [("awaits", tuple[Awaits, ...], ())]
    return msgspec.defstruct("File", fields, bases=(FactFile,), kw_only=True, frozen=True)


def inputs(folder: Path, shape: Any, need: str, stack: str = STACK) -> Inputs:
    """Return the inputs of a stack whose only fact is of the new kind, with this requirement."""
    loaded = load("s", matrices(folder, stack))
    document = read_text(ROW.format(need), shape, "verl.toml", loaded.components)
    content = replace(loaded.stack.content, fact=shape())
    return replace(loaded, facts=(document,), stack=replace(loaded.stack, content=content))


def test_requirement_on_a_component_is_checked_under_any_key(tmp_path: Path, shape: Any) -> None:
    with pytest.raises(InputError) as caught:
        compile_problems(inputs(tmp_path, shape, "soc in A3 | 910B3"))
    assert str(caught.value).startswith(
        "`910B3` is not a known SoC\n  at verl.toml:3: awaits[0].until[1]\n"
    )


def test_requirement_of_any_kind_can_be_set_aside(tmp_path: Path, shape: Any) -> None:
    relax = '[[relax]]\nfact = "verl-awaits-1"\nneeds = ["numpy<2"]\nreason = "it works here"\n'
    (problem,) = compile_problems(inputs(tmp_path, shape, "soc in A2 | A3", STACK + relax))
    (fact,) = problem.facts
    assert list(map(str, fact.added_needs)) == ["soc in A2 | A3"]


def test_values_that_any_kind_requires_are_known(tmp_path: Path, shape: Any) -> None:
    (problem,) = compile_problems(inputs(tmp_path, shape, "cann == 8.7.0"))
    assert "8.7.0" in map(str, problem.values["cann"])
