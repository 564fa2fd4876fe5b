"""Edits of a stack: what a way out changes in its file.

They are about the stack as it was read: numbers of lines and targets do not move when others are
edited. So an edit is taken back by leaving it out, and changed stacks are the same if their edits
are. `config/edits` applies them to a stack's content, `explain/stack_text` to its text.
"""

from __future__ import annotations

import msgspec


class SetLine(msgspec.Struct, frozen=True):
    """Another text for a line of `requires`, which takes the line's place."""

    # The number of the line in the file, from 0. A number after the last one adds a line.
    number: int
    # The requirement; empty to drop the line.
    text: str
    # The group that an added line belongs to; empty for a line of every group.
    group: str = ""


class SetComponent(msgspec.Struct, frozen=True):
    """Another value of a component of a target."""

    # The number of the target in the file, from 0.
    target: int
    component: str
    value: str


class DropConstraint(msgspec.Struct, frozen=True):
    """A line that `constraints` loses."""

    # The line as it is in the file.
    text: str


class TurnOnPractice(msgspec.Struct, frozen=True):
    """A practice that is in force."""

    # The id of the fact.
    name: str


class UseFacts(msgspec.Struct, frozen=True):
    """A file of facts that the stack left out and now uses."""

    # The project that the file is named after.
    project: str


class AllowPrereleases(msgspec.Struct, frozen=True):
    """A project whose pre-releases are candidates like others."""

    project: str


class DropCutoff(msgspec.Struct, frozen=True):
    """No `exclude-newer`: uploads count whenever they were made."""


class SetAside(msgspec.Struct, frozen=True):
    """A fact, or one of its needs, that does not hold."""

    # The id of the fact.
    fact: str
    # The need; empty for the whole fact.
    need: str
    # Why, as the stack says.
    reason: str


class AddRows(msgspec.Struct, frozen=True):
    """More facts of the stack's own, or more projects that must be absent."""

    # The rows in TOML, with headers such as `[[fact.metadata]]`.
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
# In the order in which rows, lines and names are added.
Edits = tuple[Edit, ...]


def place_of(edit: Edit) -> object:
    """Return what an edit sets: of several with the same place only the last one counts."""
    match edit:
        case SetLine():
            return edit.number
        case SetComponent():
            return edit.target, edit.component
        case _:
            return edit
