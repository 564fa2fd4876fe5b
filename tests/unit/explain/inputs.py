"""A stack file and the components that there are, without anything else."""

from __future__ import annotations

from resolver.config import schema
from resolver.config.load import Inputs, read_text


def inputs_of(stack: str, systems: str = "[component]") -> Inputs:
    """What is compiled of these texts alone."""
    return Inputs(
        stack=read_text(stack, schema.StackFile, "demo.toml"),
        facts=(),
        indexes=None,
        systems=read_text(systems, schema.SystemsFile, "systems.toml"),
    )
