"""The law of edits: a stack with them is the stack that is read from the edited text.

So a way out that was solved is the way out that is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from resolver.config import schema
from resolver.config.compile import StackCompiler
from resolver.config.load import Inputs, load
from resolver.config.toml_files import read_text
from resolver.explain.stack_text import StackText, table_text
from resolver.model.constraint import StackLine
from resolver.model.edit import (
    AddRows,
    AllowPrereleases,
    DropCutoff,
    Edits,
    SetAside,
    SetComponent,
    SetLine,
    TurnOnPractice,
    UseFacts,
    place_of,
)
from resolver.model.fact import Fact
from resolver.model.problem import Absence, Problem, Relaxed, RootRequirement

MATRICES = Path(__file__).resolve().parents[2] / "matrices"
LINES = [
    "torch==2.9.0",
    "torch-npu>=2.7",
    "vllm==0.13.0 ; python_version >= '3.11'",
    "trl[vllm]==0.28.0",
    "triton-ascend",
    "cann in 8.5.0 | 8.3.RC1",
    "verl @ git+https://github.com/verl-project/verl@" + "0" * 40,
]
MACHINES = [("8.5.0", "A2", "3.11"), ("8.3.RC1", "A2", "3.11"), ("8.5.0", "A3", "3.10")]
VALUES = {
    "cann": ["8.3.RC1", "8.5.0", "9.1.0"],
    "soc": ["A2", "A3", "310P"],
    "python": ["3.10", "3.11", "3.12"],
    "glibc": ["2.28", "2.35"],
}
OWN_FACT: dict[str, Any] = {
    "package": "verl",
    "versions": ">=0.5",
    "needs": ["torch>=2.5", "numpy<2"],
    "reason": "somebody saw it",
    "strength": "observed",
    "source": "demo/tests#1",
    "checked": date(2026, 1, 1),
}
ADDED_FACT = {**OWN_FACT, "package": "vllm", "needs": ["numpy<3"]}
ADDED_SOURCE = {
    **{key: OWN_FACT[key] for key in ("reason", "strength", "source", "checked")},
    "package": "verl",
    "git": "https://github.com/verl-project/verl.git",
    "commit": "0" * 40,
    "version": "1.0",
    "requires": ["numpy"],
    "requires-python": ">=3.9",
    "build-requires": ["setuptools"],
    "steps": [{"run": ["make"]}, {"run": ["make", "wheel"], "wheels": "dist/*.whl"}],
}
ADDED = [
    table_text("fact.requires", ADDED_FACT),
    table_text("fact.sources", ADDED_SOURCE),
    table_text("absent", {"package": "timm", "reason": "It is not needed."}),
]


class _Stacks:
    """What the stacks of the law are made of."""

    @cached_property
    def inputs(self) -> Inputs:
        return load("verl-qwen3.5", MATRICES)

    @cached_property
    def practices(self) -> list[str]:
        compiler = StackCompiler(self.inputs)
        return [fact.id for fact in compiler.facts if fact.strength.value == "practice"]

    @cached_property
    def relaxable(self) -> list[tuple[str, str]]:
        """Facts that a stack may set aside, as a whole or one need of it."""
        facts = [
            fact
            for fact in StackCompiler(self.inputs).facts
            if fact.strength.value not in ("enforced", "practice")
        ][::9]
        whole = [(fact.id, "") for fact in facts]
        return whole + [(fact.id, str(need)) for fact in facts for need in fact.relaxable_needs]


STACKS = _Stacks()


@st.composite
def stacks(draw: st.DrawFn) -> Inputs:
    """A stack with some lines, machines, a policy, practices and a fact of its own."""
    targets = []
    for cann, soc, python in draw(st.lists(st.sampled_from(MACHINES), min_size=1, unique=True)):
        system = {"cann": cann, "soc": soc}
        targets.append({"python": python, "platform": "linux-aarch64", "system": system})
    lines = draw(st.lists(st.sampled_from(LINES), min_size=1, unique=True))
    table: dict[str, Any] = {"name": "law", "requires": lines}
    uses_some = draw(st.booleans())
    if uses_some:
        table["facts"] = ["torch-npu", "vllm"]
    elif draw(st.booleans()):
        table["practices"] = STACKS.practices[:1]
    content: dict[str, Any] = {
        "stack": table,
        "target": targets if len(targets) > 1 or draw(st.booleans()) else targets[0],
        "policy": {"exclude-newer": date(2026, 5, 1), "prereleases-of": {"torch": "never"}},
    }
    if not uses_some and draw(st.booleans()):
        content["relax"] = [{"fact": STACKS.relaxable[0][0], "reason": "it is another one here"}]
    if draw(st.booleans()):
        content["fact"] = {"requires": [OWN_FACT]}
    stack = read_text(tomli_w.dumps(content), schema.StackFile, "law.toml")
    used, spare = STACKS.inputs.facts, STACKS.inputs.spare
    if uses_some:
        names = ("torch-npu", "vllm")
        spare = tuple(file for file in used if Path(file.name).stem not in names)
        used = tuple(file for file in used if Path(file.name).stem in names)
    return msgspec.structs.replace(STACKS.inputs, stack=stack, facts=used, spare=spare)


@st.composite
def edits_of(draw: st.DrawFn, inputs: Inputs) -> Edits:
    """Edits of a stack, each of another place, that leave it a line."""
    content = inputs.stack.content
    count = len(content.stack.requires)
    targets = len(content.target) if isinstance(content.target, tuple) else 1
    component = st.sampled_from(sorted(VALUES))
    kinds: list[st.SearchStrategy[Any]] = [
        st.builds(SetLine, st.integers(0, count - 1), st.sampled_from(["", *LINES, "numpy<2"])),
        st.builds(SetLine, st.integers(count, count + 2), st.sampled_from(LINES)),
        component.flatmap(
            lambda name: st.builds(
                SetComponent,
                st.integers(0, targets - 1),
                st.just(name),
                st.sampled_from(VALUES[name]),
            )
        ),
        st.builds(AllowPrereleases, st.sampled_from(["torch", "vllm"])),
        st.just(DropCutoff()),
        st.sampled_from(ADDED).map(AddRows),
    ]
    if content.stack.facts is None:
        kinds.append(st.builds(TurnOnPractice, st.sampled_from(STACKS.practices[1:])))
        aside = st.sampled_from(STACKS.relaxable)
        kinds.append(aside.map(lambda row: SetAside(*row, "To be confirmed.")))
    else:
        kinds.append(st.builds(UseFacts, st.sampled_from(["verl", "ms-swift"])))
    edits = draw(st.lists(st.one_of(kinds), max_size=6, unique_by=place_of))
    kept = [edit for edit in edits if isinstance(edit, SetLine) and not edit.text]
    if len(kept) >= count:
        edits = [edit for edit in edits if edit not in kept]
    return tuple(edits)


def without_places(value: Any) -> Any:
    """Return a problem, or a part of it, without its digest and the lines where it is written."""
    if isinstance(value, (StackLine, Fact, Absence, Relaxed)):
        value = msgspec.structs.replace(value, where="")
    if isinstance(value, Problem):
        value = msgspec.structs.replace(value, digest="")
    if isinstance(value, RootRequirement):
        value = msgspec.structs.replace(value, number=-1)
    if isinstance(value, msgspec.Struct):
        return type(value), [without_places(getattr(value, key)) for key in value.__struct_fields__]
    if is_dataclass(value) and hasattr(value, "places"):
        return replace(value, places={})
    if isinstance(value, Mapping):
        return {key: without_places(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [without_places(item) for item in value]
    return value


@given(st.data())
@settings(max_examples=60)
def test_edits_give_the_problem_of_the_edited_text(data: st.DataObject) -> None:
    inputs = data.draw(stacks())
    edits = data.draw(edits_of(inputs))
    compiler = StackCompiler(inputs)
    edited = compiler.edited(edits)
    text = StackText(inputs.stack.text).with_edits(edits, edited.names).text
    written = read_text(text, schema.StackFile, "law.toml")
    assert [without_places(problem) for problem in compiler.problems(edited)] == [
        without_places(problem) for problem in StackCompiler(inputs).problems(written)
    ]
