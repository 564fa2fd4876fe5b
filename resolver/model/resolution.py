"""The answer to a problem: what is pinned, or what clashes."""

from __future__ import annotations

import msgspec
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model.fact import Practice
from resolver.model.message import Message
from resolver.model.origin import Origin
from resolver.model.problem import Problem
from resolver.model.release import Release
from resolver.model.statement import Statement


class Pin(msgspec.Struct, frozen=True, kw_only=True):
    """One project of a resolution: its release, the extras in use, and everything that requires it.

    `unknown_extras` are those in use that the release does not provide, and for which none of its requirements counts.
    """

    name: NormalizedName
    release: Release
    extras: tuple[str, ...]
    unknown_extras: tuple[str, ...]
    because: tuple[Origin, ...]
    needs: tuple[NormalizedName, ...]

    @property
    def version(self) -> Version:
        """The pinned version."""
        return self.release.version


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A requirement not followed because its project must be absent. `because` is the fact, or file:line."""

    package: NormalizedName
    version: Version
    name: NormalizedName
    requirement: str
    because: str


class LostExtra(msgspec.Struct, frozen=True, kw_only=True):
    """An extra that a line of the stack asks for and the pin of its project lacks; a release that has it, if known."""

    project: NormalizedName
    extra: str
    version: Version | None


class PassedOver(msgspec.Struct, frozen=True, kw_only=True):
    """A release newer than the pin of its project: all that asks for it admits it, and still it cannot be used.

    For it needs `archive`, or is itself that: a source archive without static metadata, of a release of `archive_of`.
    """

    project: NormalizedName
    version: Version
    archive: str
    archive_of: NormalizedName
    archive_version: Version
    index: str


class FellBack(msgspec.Struct, frozen=True, kw_only=True):
    """A wish without an upper bound whose pin is far behind the newest release, and what keeps out all newer ones.

    `because` is empty if that was not looked for, or if newer ones are possible. `why` tells the same.
    """

    project: NormalizedName
    version: Version
    newest: str
    because: tuple[Statement, ...]
    why: Message | None = None


class Resolution(msgspec.Struct, frozen=True, kw_only=True):
    """Pins sorted by name. `engine` says what found it, after so many `rounds`.

    `passed_over`, `lost_extras` and `fell_back` are filled in only for what is going to be locked (see
    `resolve/shortfalls.py`).
    `practices` are those in force that it rests on (see `resolve/gather.py`).
    """

    problem: Problem
    pins: tuple[Pin, ...]
    engine: str
    rounds: int
    left_out: tuple[LeftOut, ...] = ()
    passed_over: tuple[PassedOver, ...] = ()
    lost_extras: tuple[LostExtra, ...] = ()
    practices: tuple[Practice, ...] = ()
    fell_back: tuple[FellBack, ...] = ()

    def pin(self, name: str) -> Pin | None:
        """The pin of a project; None if it is not in the resolution."""
        return next((pin for pin in self.pins if pin.name == name), None)


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """Statements that a complete engine has shown to be unsatisfiable together."""

    problem: Problem
    statements: tuple[Statement, ...]
