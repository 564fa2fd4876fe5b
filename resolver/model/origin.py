"""The origins of requirements. Every sentence of a report cites one."""

from __future__ import annotations

import msgspec

from resolver.model.fact import Fact
from resolver.model.release import Reason


class StackLine(msgspec.Struct, frozen=True):
    """A line of the stack. `where` is file:line."""

    text: str
    where: str

    def __str__(self) -> str:
        return f"the stack asks for {self.text}"


class FactLine(msgspec.Struct, frozen=True):
    """A need that a fact states."""

    fact: Fact
    parent: str
    text: str

    @property
    def where(self) -> str:
        """file:line of the fact."""
        return self.fact.where

    def __str__(self) -> str:
        return f"{self.parent} needs {self.text}"


class MetadataLine(msgspec.Struct, frozen=True):
    """A line of a file's own metadata, or of the `metadata` fact about an archive without any."""

    filename: str
    parent: str
    text: str
    fact: Fact | None = None

    @property
    def where(self) -> str:
        """file:line of the fact, or the file whose metadata it is."""
        return self.fact.where if self.fact else f"metadata of {self.filename}"

    def __str__(self) -> str:
        return f"{self.parent} needs {self.text}"


class BuildLine(msgspec.Struct, frozen=True):
    """A requirement of a source build, in the target environment or an isolated one."""

    filename: str
    parent: str
    text: str
    fact: Fact | None

    @property
    def where(self) -> str:
        """file:line of the fact, or the archive."""
        return self.fact.where if self.fact else f"build-system.requires of {self.filename}"

    def __str__(self) -> str:
        return f"building {self.parent} needs {self.text}"


class SameRelease(msgspec.Struct, frozen=True):
    """An extra requires the same release of its project."""

    parent: str
    text: str

    @property
    def where(self) -> str:
        """No place: this holds by the meaning of extras (PEP 508)."""
        return ""

    def __str__(self) -> str:
        return f"{self.parent} is an extra of {self.text}"


class Unusable(msgspec.Struct, frozen=True):
    """A file that proved unusable when it was opened, or was not opened because similar ones had.

    Files of the same `sort` are reported together, each with its reason. `text` gives the specifics.
    """

    filename: str
    parent: str
    text: str
    sort: str
    reason: Reason = Reason.METADATA

    @property
    def where(self) -> str:
        """The file."""
        return self.filename

    def __str__(self) -> str:
        return f"{self.parent} cannot be used: {self.text}"


Origin = StackLine | FactLine | MetadataLine | BuildLine | SameRelease | Unusable
