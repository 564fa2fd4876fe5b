"""What adding a line makes of the lines of a stack."""

from __future__ import annotations

import pytest

from resolver.cli.addition import added
from resolver.config.decode import parse_need
from tests.components import COMPONENTS


@pytest.mark.parametrize(
    ("old", "line", "code", "result"),
    [
        ("torch==2.8.0", "torch==2.8.0", "edit.unchanged", ""),
        ("torch==2.8.0", "Torch == 2.8.0", "edit.unchanged", ""),
        ("torch==2.8.0", "torch", "edit.kept", ""),
        ("torch==2.8.0", "torch>=2", "edit.kept", ""),
        ("torch>=2", "torch==2.8.0", "edit.replaced", "torch==2.8.0"),
        ("torch==2.8.0", "torch==2.9.0", "edit.replaced", "torch==2.9.0"),
        ("torch==2.8.0", "torch>=2.9", "edit.replaced", "torch>=2.9"),
        ("torch<2.9", "torch>=2.8", "edit.joined", "torch<2.9,>=2.8"),
        ("torch<2.9", "torch>=2.9", "edit.replaced", "torch>=2.9"),
        ("torch>1,<2", "torch>=1.5", "edit.joined", "torch<2,>1,>=1.5"),
        ("torch==2.8.*", "torch", "edit.kept", ""),
        ("torch==2.8.*", "torch==2.9.*", "edit.replaced", "torch==2.9.*"),
        ("trl[vllm]==1", "trl", "edit.kept", ""),
        ("trl==1", "trl[vllm]", "edit.joined", "trl[vllm]==1"),
        ("trl", "trl[vllm]", "edit.replaced", "trl[vllm]"),
        ("verl @ git+https://h.example/verl@v1", "verl", "edit.kept", ""),
        ("verl @ git+https://h.example/verl@v1", "verl==1", "edit.replaced", "verl==1"),
        (
            "verl==1",
            "verl @ git+https://h.example/verl@v1",
            "edit.replaced",
            "verl @ git+https://h.example/verl@v1",
        ),
        ("a<2 ; os_name == 'posix'", "a", "edit.added", "a"),
        ("a ; os_name == 'posix'", "a", "edit.replaced", "a"),
        ("a<2 ; os_name == 'posix'", "a>=2", "edit.replaced", "a>=2"),
        (
            "a<2 ; os_name == 'posix'",
            "a>=1 ; os_name == 'posix'",
            "edit.joined",
            "a<2,>=1 ; os_name == 'posix'",
        ),
        ("hdk >= 25.5.0", "hdk >= 25.3.rc1", "edit.replaced", "hdk >= 25.3.rc1"),
        ("six", "torch", "edit.added", "torch"),
    ],
)
def test_added_line_loosens_no_bound(old: str, line: str, code: str, result: str) -> None:
    old_needs = {0: parse_need(old, COMPONENTS, direct=True)}
    addition = added(line, parse_need(line, COMPONENTS, direct=True), old_needs)
    assert (addition.code, addition.line) == (code, result)


def test_added_line_joins_all_lines_it_replaces() -> None:
    lines = ["a<5", "a>=2", "b", "a[x]"]
    old_needs = {place: parse_need(old, COMPONENTS) for place, old in enumerate(lines)}
    addition = added("a!=3", parse_need("a!=3", COMPONENTS), old_needs)
    assert (addition.line, addition.replaced) == ("a[x]!=3,<5,>=2", (0, 1, 3))
