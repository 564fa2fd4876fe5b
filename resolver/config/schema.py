"""The tables of the TOML files of `matrices/`.

Rows that need no other form than a type of the model are of that type.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec
from packaging.utils import NormalizedName

from resolver.model import fact, patterns
from resolver.model.fact import KINDS, FactKind
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
from resolver.model.target import Glibc, Image, Platform
from resolver.model.text import NOT_EMPTY, Sentence, Text, matching
from resolver.model.variant import PropertyRow

_NAME = matching(patterns.NAME)
PYTHON = matching(patterns.PYTHON)


class _Table(msgspec.Struct, frozen=True, rename="kebab", kw_only=True):
    pass


class Defaults(_Table, kw_only=True, frozen=True):
    """Values of all rows of a file that do not have their own."""

    strength: fact.Strength | None = None
    source: References | None = None
    checked: date | None = None


class FactTables(_Table, kw_only=True, frozen=True):
    """All facts about one project: a list of rows for each kind."""

    defaults: Defaults = Defaults()

    def of(self, kind: type[FactKind]) -> tuple[FactKind, ...]:
        """Return the facts of a kind."""
        rows: tuple[FactKind, ...] = getattr(self, _KEYS[kind])
        return rows


_KEYS: Final = {kind: key for key, kind in KINDS.items()}

if TYPE_CHECKING:

    class FactFile(FactTables, kw_only=True, frozen=True):
        """Add a field for the rows of each kind of fact to FactTables."""

else:
    FactFile = msgspec.defstruct(
        "FactFile",
        [(key, tuple[kind, ...], ()) for key, kind in KINDS.items()],
        bases=(FactTables,),
        kw_only=True,
        frozen=True,
    )


class IndexRow(Index, kw_only=True, frozen=True):
    """An index of indexes.toml or of a stack."""

    # Projects that are bound to this index alone, which saves a `binding` row.
    packages: tuple[Bound, ...] = ()


class IndexesFile(_Table, kw_only=True, frozen=True):
    """indexes.toml. A stack may have the same tables, which come before these."""

    index: tuple[IndexRow, ...] = ()
    binding: tuple[Binding, ...] = ()


class ComponentRow(_Table, kw_only=True, frozen=True):
    """A component of targets in systems.toml; see `model/component.Component` for its keys."""

    # The name as people write it, such as `CUDA`; the name of the row without the key.
    title: Text = ""
    title_zh: Text = ""
    # How its values are written and compared: a key of `config/components.GRAMMARS`.
    versions: str = "pep440"
    closed: bool = False
    minimum: bool = False
    by_line: bool = False
    aliases: tuple[Text, ...] = ()
    packages: tuple[NormalizedName, ...] = ()
    # A one-line description for people.
    summary: Text
    # The values that exist, oldest first.
    known: tuple[Text, ...] = ()
    # The libraries that come with it, by which the dynamic loader finds them.
    libraries: tuple[Text, ...] = ()
    # What people call machines with one of the values, such as an operating system with its glibc.
    names: dict[Text, Text] = {}
    source: References | None = None


class SystemsFile(_Table, kw_only=True, frozen=True):
    """systems.toml."""

    # The components by name.
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
    """variants.toml: how properties of wheel variants (PEP 825) name values of components."""

    property: tuple[PropertyRow, ...] = ()


class ImportRow(_Table, kw_only=True, frozen=True):
    """A project that an import leaves out or replaces, although no fact excludes it."""

    project: NormalizedName
    # The extra of the project that is meant; the project itself without the key.
    extra: NormalizedName | None = None
    # The platforms of targets for which it counts; all without the key.
    platforms: tuple[Platform, ...] = ()
    # The project to ask for in its place.
    replacement: NormalizedName | None = None
    reason: Sentence
    reason_zh: Sentence = ""
    source: References
    checked: date


class ImportsFile(_Table, kw_only=True, frozen=True):
    """imports.toml, which `ascend-lock import` alone reads."""

    defaults: Defaults = Defaults()
    left_out: tuple[ImportRow, ...] = ()


class GridFile(_Table, kw_only=True, frozen=True):
    """grid.toml: releases of projects, each tried for each use on each machine."""

    # The project whose releases are the rows of uses that name no other.
    package: NormalizedName
    # How many of its newest releases are tried.
    newest: int
    machine: Annotated[tuple[Machines, ...], NOT_EMPTY]
    use: Annotated[tuple[Use, ...], NOT_EMPTY]


class StackTable(_Table, kw_only=True, frozen=True):
    """The table `stack` of a stack's file."""

    # The name of the stack and of its lock's folder.
    name: Annotated[str, _NAME]
    # What the stack is for, in English.
    summary: Text = ""
    # What the stack is for, in Chinese.
    summary_zh: Text = ""
    # Where the lines of the stack come from.
    source: str = ""
    # Requirements on projects and components, one a line.
    requires: Annotated[tuple[Text, ...], NOT_EMPTY]
    # Bounds on projects, which are not required by them.
    constraints: tuple[Text, ...] = ()
    # Requirements that replace what others require of their projects.
    overrides: tuple[Text, ...] = ()
    # The names of the files of facts in use; all files without the key.
    facts: tuple[Text, ...] | None = None
    # The ids of the practices that are in force.
    practices: Literal["all"] | tuple[Text, ...] = ()


class GroupTable(_Table, kw_only=True, frozen=True):
    """A table `group.NAME` of a stack's file: what one of several environments has besides."""

    # Requirements as in the table `stack`; without any, the group has the lines of all groups.
    requires: tuple[Text, ...] = ()


class TargetTable(_Table, kw_only=True, frozen=True):
    """A table `target` of a stack's file."""

    # The name of the target; one is made of its values without the key.
    name: Annotated[str, _NAME] | None = None
    # `3.11`, or `3.11.14` for machines with this patch release.
    python: Annotated[str, PYTHON]
    # The operating system and the processor.
    platform: Platform
    # The oldest glibc that machines of the target have.
    glibc: Glibc = "2.28"
    # The values of other components.
    system: dict[Text, Text] = {}


class RelaxRow(_Table, kw_only=True, frozen=True):
    """A fact that the stack sets aside."""

    # The id of the fact.
    fact: Text
    # The needs of the fact that are set aside; the whole fact without the key.
    needs: Annotated[tuple[Text, ...], NOT_EMPTY] = ()
    # Why the stack sets it aside.
    reason: Text


class StackFile(_Table, kw_only=True, frozen=True):
    """A file of stacks/."""

    # What the stack is called and asks for.
    stack: StackTable
    # One machine, or several, which get a lock each.
    target: TargetTable | tuple[TargetTable, ...]
    # Environments that get a lock each for every target; one with the lines of `stack` alone
    # without the table.
    group: dict[Annotated[str, _NAME], GroupTable] = {}
    # Indexes of the stack's own.
    index: tuple[IndexRow, ...] = ()
    # The indexes that projects come from.
    binding: tuple[Binding, ...] = ()
    # Which releases are candidates, and which of them are preferred.
    policy: Policy = Policy()
    # Where the stack differs from a guide or image that it follows.
    departs: tuple[Departure, ...] = ()
    # Facts that are set aside.
    relax: tuple[RelaxRow, ...] = ()
    # Projects that must not be installed.
    absent: tuple[Absence, ...] = ()
    # Files of indexes that may be out of reach.
    recorded: tuple[Recorded, ...] = ()
    # Facts of the stack's own, about any project.
    fact: FactFile = FactFile()
    # What is run to check an installation.
    check: Checks = Checks()
