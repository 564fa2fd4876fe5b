"""Edits of a stack. A way out of a conflict consists of such edits.

Line and target numbers in an edit refer to the file as it was read. They do not change when
other edits add or drop a line. So an edit is undone by leaving it out, and two changed stacks are
the same if their edits are equal. `config/edits` applies edits to the content of a stack, and
`explain/stack_text` applies them to its text.
"""

from __future__ import annotations

import msgspec


class SetLine(msgspec.Struct, frozen=True):
    """Replace, add or drop a line of `requires`."""

    # The number of the line in the file, from 0. A number after the last line adds a line.
    number: int
    # The new requirement; empty to drop the line.
    text: str
    # The group that an added line belongs to; empty for a line of every group.
    group: str = ""


class SetComponent(msgspec.Struct, frozen=True):
    """Give a component of a target another value, such as another release of CANN."""

    # The number of the target in the file, from 0.
    target: int
    # The name of the component.
    component: str
    # The new value.
    value: str


class DropConstraint(msgspec.Struct, frozen=True):
    """Drop a line of `constraints`."""

    # The line as it is in the file.
    text: str


class TurnOnPractice(msgspec.Struct, frozen=True):
    """Turn on a practice, which is a fact of the strength `practice` (see `Strength`)."""

    # The id of the practice.
    name: str


class UseFacts(msgspec.Struct, frozen=True):
    """Use a file of facts that the stack left out."""

    # The project that gives the file its name.
    project: str


class AllowPrereleases(msgspec.Struct, frozen=True):
    """Admit all pre-releases of a project (the policy `allow`)."""

    # The project.
    project: str


class DropCutoff(msgspec.Struct, frozen=True):
    """Drop `exclude-newer` of the policy, so that files of any upload time are candidates."""


class SetAside(msgspec.Struct, frozen=True):
    """Set aside a fact, or one of its requirements, so that it no longer counts."""

    # The id of the fact.
    fact: str
    # The requirement that is set aside; empty for the whole fact.
    need: str
    # The reason that is written into the stack.
    reason: str


class AddRows(msgspec.Struct, frozen=True):
    """Add facts, or projects that must be absent, to the stack's file."""

    # The added tables in TOML, with headers such as `[[fact.metadata]]`.
    text: str


Edit = (
    SetLine
    | SetComponent
    | DropConstraint
    | TurnOnPractice
    | UseFacts
    | AllowPrereleases
    | DropCutoff
    | SetAside
    | AddRows
)
# Edits in the order in which they add tables, lines and names.
Edits = tuple[Edit, ...]


def place_of(edit: Edit) -> object:
    """Return a key for the part of the stack that an edit sets.

    Of several edits with the same key only the last one counts.
    """
    match edit:
        case SetLine():
            return edit.number
        case SetComponent():
            return edit.target, edit.component
        case _:
            return edit
