"""What can have changed upstream of a lock."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from packaging.utils import NormalizedName

from resolver.catalog.advisories import Vulnerability


@dataclass(frozen=True, slots=True)
class Pin:
    """What is locked. `index` is the one that the lock names."""

    project: NormalizedName
    version: str
    index: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Of:
    pin: Pin


class Scope(Enum):
    """How much is not there any more."""

    PROJECT = "project"
    RELEASE = "release"
    FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Yanked(_Of):
    """Files that were taken back since (PEP 592). `reason` may be empty."""

    files: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored(_Of):
    """What was yanked when it was locked, and is not any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehashed(_Of):
    """A file of the same name with other content."""

    file: str
    locked: str
    offered: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Twofold(_Of):
    """A file that the index lists a second time, with another hash."""

    file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone(_Of):
    """Files that are not offered any more; `needed` tells whether the one that pip takes is among them."""

    scope: Scope
    files: tuple[str, ...]
    needed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked(_Of):
    """A project that the index marks as other than active (PEP 792)."""

    status: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Vulnerable(_Of):
    """A release with a known vulnerability."""

    vulnerability: Vulnerability


Change = Yanked | Restored | Rehashed | Twofold | Gone | Marked | Vulnerable


def is_grave(change: Change) -> bool:
    """Whether somebody should decide before the lock is installed again: PEP 792 calls a quarantined project unsafe."""
    match change:
        case Yanked() | Rehashed() | Twofold() | Vulnerable():
            return True
        case Gone():
            return change.needed
        case Marked():
            return change.status == "quarantined"
        case Restored():
            return False
