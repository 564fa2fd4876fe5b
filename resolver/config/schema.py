"""The types of the tables in the TOML files of `matrices/`.

`decode` makes instances of them. A table that has the same form as a type of the model is of that
type.
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
from resolver.model.target import DEFAULT_GLIBC, Glibc, Image, Platform
from resolver.model.text import NOT_EMPTY, Sentence, Text, matching
from resolver.model.variant import PropertyRow

_NAME = matching(patterns.NAME)
PYTHON = matching(patterns.PYTHON)


class _Table(msgspec.Struct, frozen=True, rename="kebab", kw_only=True):
    """The base of tables: the keys are the fields in kebab case."""


class Defaults(_Table, kw_only=True, frozen=True):
    """The table `defaults` of a file: values for all rows that do not have the key.

    `load` fills them into the rows.
    """

    strength: fact.Strength | None = None
    source: References | None = None
    checked: date | None = None


class FactTables(_Table, kw_only=True, frozen=True):
    """A file of facts: the keys that do not depend on the kinds of facts."""

    # Values for all rows that do not have the key.
    defaults: Defaults = Defaults()

    def of(self, kind: type[FactKind]) -> tuple[FactKind, ...]:
        """Return the facts of a kind in the file, in their order."""
        facts_of_kind: tuple[FactKind, ...] = getattr(self, _KEYS[kind])
        return facts_of_kind


# The key of each kind of fact in a file.
_KEYS: Final = {kind: key for key, kind in KINDS.items()}

if TYPE_CHECKING:

    class FactFile(FactTables, kw_only=True, frozen=True):
        """A file of facts: FactTables with a field for the rows of each kind of fact."""

else:
    FactFile = msgspec.defstruct(
        "FactFile",
        [(key, tuple[kind, ...], ()) for key, kind in KINDS.items()],
        bases=(FactTables,),
        kw_only=True,
        frozen=True,
    )


class IndexRow(Index, kw_only=True, frozen=True):
    """A table `index` of indexes.toml or of a stack's file."""

    # Projects that are bound to this index alone. It is a short form of a table `binding`.
    packages: tuple[Bound, ...] = ()


class IndexesFile(_Table, kw_only=True, frozen=True):
    """indexes.toml. A stack may have the same tables, and its bindings come first."""

    # The indexes.
    index: tuple[IndexRow, ...] = ()
    # The projects that are bound to indexes.
    binding: tuple[Binding, ...] = ()


class ComponentRow(_Table, kw_only=True, frozen=True):
    """A component of targets in systems.toml.

    Keys without a comment are fields of `model/component.Component`, which explains them.
    """

    # The name as people write it, such as `CUDA`. Without the key, it is the key of the table.
    title: Text = ""
    title_zh: Text = ""
    # How values are written and compared: a key of `config/components.GRAMMARS`.
    versions: str = "pep440"
    closed: bool = False
    minimum: bool = False
    by_line: bool = False
    aliases: tuple[Text, ...] = ()
    packages: tuple[NormalizedName, ...] = ()
    # A description for people, in one line.
    summary: Text
    # The values that are known to exist, oldest first.
    known: tuple[Text, ...] = ()
    # The names of the libraries that are installed with the component, as the dynamic loader looks
    # for them.
    libraries: tuple[Text, ...] = ()
    # The value by the name of a machine or product: the glibc by the name of an operating system.
    names: dict[Text, Text] = {}
    # Where the values can be looked up.
    source: References | None = None


class SystemsFile(_Table, kw_only=True, frozen=True):
    """systems.toml: the components that targets can have."""

    # The components by name.
    component: dict[str, ComponentRow]


class ImagesFile(_Table, kw_only=True, frozen=True):
    """images.toml: container images with CANN, and the components in them."""

    # Values for all images that do not have the key.
    defaults: Defaults = Defaults()
    # The images.
    image: tuple[Image, ...] = ()


class RecordedFile(_Table, kw_only=True, frozen=True):
    """A file of matrices/recorded/: wheels of the index that has the name of the file."""

    # Values for all wheels that do not have the key.
    defaults: Defaults = Defaults()
    # The wheels.
    recorded: tuple[Recorded, ...] = ()


class VariantsFile(_Table, kw_only=True, frozen=True):
    """variants.toml: the features of wheel variants (PEP 825) that are about components."""

    # The features.
    property: tuple[PropertyRow, ...] = ()


class ImportRow(_Table, kw_only=True, frozen=True):
    """A project that `ascend-lock import` leaves out or replaces, although no fact excludes it."""

    # The project.
    project: NormalizedName
    # The extra of the project that is left out. Without the key, the project itself is meant.
    extra: NormalizedName | None = None
    # The platforms of targets for which the row counts; all without the key.
    platforms: tuple[Platform, ...] = ()
    # The project that replaces it; without the key, it is left out.
    replacement: NormalizedName | None = None
    # The extra of the same project that replaces `extra`; without the key, no extra does.
    replacement_extra: NormalizedName | None = None
    # The address of the repository from which the project is built for such a target. Then the line
    # is not left out for good: the user has to say which commit is meant. Empty if there is none.
    repository: Text = ""
    # Why. The table of an import shows the first two sentences: why, and what to do.
    reason: Sentence
    # The reason in Chinese; may be empty.
    reason_zh: Sentence = ""
    # Where the reason can be looked up.
    source: References
    # The day on which somebody last looked.
    checked: date


class CondaRow(_Table, kw_only=True, frozen=True):
    """Packages of conda that `ascend-lock import` takes for a project of another name, or drops."""

    # The names of the packages. `*` at the end of one stands for any further characters.
    packages: Annotated[tuple[Text, ...], NOT_EMPTY]
    # The project that they are on an index. Without this key and the next, they are left out.
    project: NormalizedName | None = None
    # Whether each package is the project of the same name.
    same_name: bool = False
    # Whether releases of the project have more numbers than the versions of the packages.
    longer: bool = False
    # Why, in one sentence.
    reason: Sentence
    # The reason in Chinese; may be empty.
    reason_zh: Sentence = ""
    # Where the reason can be looked up.
    source: References
    # The day on which somebody last looked.
    checked: date


class ImportsFile(_Table, kw_only=True, frozen=True):
    """imports.toml. Only `ascend-lock import` reads it."""

    # Values for all rows that do not have the key.
    defaults: Defaults = Defaults()
    # The projects that are left out or replaced.
    left_out: tuple[ImportRow, ...] = ()
    # The packages of conda that have another name or are no projects.
    conda: tuple[CondaRow, ...] = ()


class GridFile(_Table, kw_only=True, frozen=True):
    """grid.toml: the uses, releases and machines of the matrix (see `model/matrix`)."""

    # The project whose releases are tried for uses that name no other project.
    package: NormalizedName
    # How many of the newest releases of each project are tried.
    newest: int
    # The machines.
    machine: Annotated[tuple[Machines, ...], NOT_EMPTY]
    # The uses.
    use: Annotated[tuple[Use, ...], NOT_EMPTY]


class StackTable(_Table, kw_only=True, frozen=True):
    """The table `stack` of a stack's file: its name and its lines."""

    # The name of the stack and of its lock's folder.
    name: Annotated[str, _NAME]
    # What the stack is for, in English.
    summary: Text = ""
    # What the stack is for, in Chinese.
    summary_zh: Text = ""
    # The origin of the stack, such as a guide.
    source: str = ""
    # The requirements on projects and components, called the lines of the stack.
    requires: Annotated[tuple[Text, ...], NOT_EMPTY]
    # Bounds on projects. They do not require the projects.
    constraints: tuple[Text, ...] = ()
    # Requirements that replace the requirements of releases and facts on the same projects.
    overrides: tuple[Text, ...] = ()
    # The names of the files of facts that the stack uses; all files without the key.
    facts: tuple[Text, ...] | None = None
    # The ids of the practices that the stack turns on.
    practices: Literal["all"] | tuple[Text, ...] = ()


class GroupTable(_Table, kw_only=True, frozen=True):
    """A table `group.NAME` of a stack's file: one of several environments that get a lock each."""

    # The lines that only this group has, as in the table `stack`. The lines of the table `stack`
    # are lines of every group.
    requires: tuple[Text, ...] = ()


class TargetTable(_Table, kw_only=True, frozen=True):
    """A table `target` of a stack's file: a machine to lock for."""

    # The name of the target. Without the key, a name is made of the values below.
    name: Annotated[str, _NAME] | None = None
    # The version of Python: `3.11`, or `3.11.14` for machines with this patch release.
    python: Annotated[str, PYTHON]
    # The operating system and the processor.
    platform: Platform
    # The oldest glibc that machines of the target have.
    glibc: Glibc = DEFAULT_GLIBC
    # The values of other components, by name.
    system: dict[Text, Text] = {}


class RelaxRow(_Table, kw_only=True, frozen=True):
    """A fact, or some of its requirements, that the stack sets aside."""

    # The id of the fact.
    fact: Text
    # The requirements of the fact that are set aside; the whole fact without the key.
    needs: Annotated[tuple[Text, ...], NOT_EMPTY] = ()
    # Why the stack sets it aside.
    reason: Text


class StackFile(_Table, kw_only=True, frozen=True):
    """The content of a stack's TOML file."""

    # The name and the lines of the stack.
    stack: StackTable
    # The machine, or several machines, for each of which there is a lock.
    target: TargetTable | tuple[TargetTable, ...]
    # Environments, for each of which there is a lock for every target. Without the table, there is
    # one environment with the lines of `stack`.
    group: dict[Annotated[str, _NAME], GroupTable] = {}
    # Indexes that only this stack uses.
    index: tuple[IndexRow, ...] = ()
    # The indexes from which projects are taken.
    binding: tuple[Binding, ...] = ()
    # Which releases are candidates, and which of them are preferred.
    policy: Policy = Policy()
    # The differences from a guide or image that the stack follows.
    departs: tuple[Departure, ...] = ()
    # Facts that are set aside.
    relax: tuple[RelaxRow, ...] = ()
    # Projects that must not be installed.
    absent: tuple[Absence, ...] = ()
    # Wheels of indexes that may not answer, as public files describe them.
    recorded: tuple[Recorded, ...] = ()
    # Facts that only this stack uses, about any project.
    fact: FactFile = FactFile()
    # Tests of an installed environment.
    check: Checks = Checks()
