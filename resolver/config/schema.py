"""The shapes of stack, fact, index, systems and image files, of the model's types as far as those say it all."""

from __future__ import annotations

from datetime import date
from functools import partial
from typing import Annotated, Literal

import msgspec
from packaging.utils import NormalizedName

from resolver.model import fact, patterns
from resolver.model.matrix import Machines, Use
from resolver.model.problem import (
    Absence,
    Binding,
    Bound,
    Checks,
    Departure,
    Index,
    Policy,
    Recorded,
)
from resolver.model.source import References
from resolver.model.target import Glibc, Image, Platform, component_text
from resolver.model.text import NOT_EMPTY, Text, matching
from resolver.model.variant import PropertyRow

_NAME = matching(patterns.NAME)
PYTHON = matching(patterns.PYTHON)


class _Table(msgspec.Struct, frozen=True, rename="kebab", kw_only=True):
    pass


class Defaults(_Table, kw_only=True, frozen=True):
    """Values that the rows of the file need not repeat."""

    strength: fact.Strength | None = None
    source: References | None = None
    checked: date | None = None


class FactFile(_Table, kw_only=True, frozen=True):
    """All facts about one project, by kind. A lock has them in the order of these fields."""

    defaults: Defaults = Defaults()
    requires: tuple[fact.Requires, ...] = ()
    constrains: tuple[fact.Constrains, ...] = ()
    excludes: tuple[fact.Excludes, ...] = ()
    replaces: tuple[fact.Replaces, ...] = ()
    metadata: tuple[fact.Metadata, ...] = ()
    builds: tuple[fact.Builds, ...] = ()
    collides: tuple[fact.Collides, ...] = ()
    after: tuple[fact.After, ...] = ()
    warns: tuple[fact.Warns, ...] = ()
    names: tuple[fact.Names, ...] = ()
    sources: tuple[fact.Sources, ...] = ()
    absent: tuple[fact.Absent, ...] = ()
    exports: tuple[fact.Exports, ...] = ()
    external: tuple[fact.External, ...] = ()
    optional: tuple[fact.Optional, ...] = ()
    links: tuple[fact.Links, ...] = ()
    pairs: tuple[fact.Pairs, ...] = ()


class IndexRow(Index, kw_only=True, frozen=True):
    """`packages` is shorthand for a binding of these projects to this index alone."""

    packages: tuple[Bound, ...] = ()


class IndexesFile(_Table, kw_only=True, frozen=True):
    """indexes.toml; a stack may have the same tables, which are added to these."""

    index: tuple[IndexRow, ...] = ()
    binding: tuple[Binding, ...] = ()


class ComponentRow(_Table, kw_only=True, frozen=True):
    """What is known about a component: what it is, and the values that exist, oldest first."""

    summary: Text
    known: tuple[Text, ...] = ()
    # The libraries that come with it, by which the dynamic loader finds them.
    libraries: tuple[Text, ...] = ()
    # What people call machines with one of the values, such as an operating system with its glibc.
    names: dict[Text, Text] = {}
    source: References | None = None


class SystemsFile(_Table, kw_only=True, frozen=True):
    """systems.toml."""

    component: dict[str, ComponentRow]


class ImagesFile(_Table, kw_only=True, frozen=True):
    """images.toml: base images with CANN, and their contents."""

    defaults: Defaults = Defaults()
    image: tuple[Image, ...] = ()


class RecordedFile(_Table, kw_only=True, frozen=True):
    """A file of recorded/: wheels of the index that the file is named after."""

    defaults: Defaults = Defaults()
    recorded: tuple[Recorded, ...] = ()


class VariantsFile(_Table, kw_only=True, frozen=True):
    """variants.toml: what the components of targets are called in the properties of wheel variants (PEP 825)."""

    property: tuple[PropertyRow, ...] = ()


class GridFile(_Table, kw_only=True, frozen=True):
    """grid.toml: the `newest` releases of `package`, for each use on each of the machines."""

    package: NormalizedName
    newest: int
    machine: Annotated[tuple[Machines, ...], NOT_EMPTY]
    use: Annotated[tuple[Use, ...], NOT_EMPTY]


class StackTable(_Table, kw_only=True, frozen=True):
    """`requires` are lines about projects and components; `facts` names files, all where it is missing."""

    name: Annotated[str, _NAME]
    summary: Text = ""
    summary_zh: Text = ""
    source: str = ""
    requires: Annotated[tuple[Text, ...], NOT_EMPTY]
    facts: tuple[Text, ...] | None = None
    practices: Literal["all"] | tuple[Text, ...] = ()


class SystemTable(_Table, kw_only=True, frozen=True):
    """The components of a target that are not keys of the target itself."""

    cann: Annotated[str, partial(component_text, "cann")] = ""
    hdk: Annotated[str, partial(component_text, "hdk")] = ""
    soc: Annotated[str, partial(component_text, "soc")] = ""


class TargetTable(_Table, kw_only=True, frozen=True):
    """`system` has the other components."""

    name: Annotated[str, _NAME] | None = None
    python: Annotated[str, PYTHON]
    platform: Platform
    glibc: Glibc = "2.28"
    system: SystemTable = SystemTable()


class RelaxRow(_Table, kw_only=True, frozen=True):
    """A fact that the stack sets aside, entirely or some of its needs, and why."""

    fact: Text
    needs: Annotated[tuple[Text, ...], NOT_EMPTY] = ()
    reason: Text


class StackFile(_Table, kw_only=True, frozen=True):
    """A file of stacks/."""

    stack: StackTable
    target: TargetTable | tuple[TargetTable, ...]
    index: tuple[IndexRow, ...] = ()
    binding: tuple[Binding, ...] = ()
    policy: Policy = Policy()
    departs: tuple[Departure, ...] = ()
    relax: tuple[RelaxRow, ...] = ()
    absent: tuple[Absence, ...] = ()
    recorded: tuple[Recorded, ...] = ()
    fact: FactFile = FactFile()
    check: Checks = Checks()
