"""What is to be solved: a stack's wishes, one target, the facts, the policies and the indexes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Literal

import msgspec
from packaging.utils import NormalizedName

from resolver.model.component import Value
from resolver.model.fact import Fact, Need, Practice
from resolver.model.index import Indexes
from resolver.model.origin import BuildLine, StackLine
from resolver.model.requirement import Requirement
from resolver.model.source import Source
from resolver.model.target import Target

Prereleases = Literal["if-necessary", "allow", "never"]


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a stack's `requires`, or a build requirement of a lock."""

    need: Need
    origin: StackLine | BuildLine


class Departure(msgspec.Struct, frozen=True, kw_only=True):
    """A difference between a stack and the guide it replaces, and the reason; the Chinese texts may be empty."""

    guide: str
    guide_zh: str = ""
    here: str
    here_zh: str = ""
    reason: str
    reason_zh: str = ""


class Checks(msgspec.Struct, frozen=True, kw_only=True):
    """What an installed environment must pass: imports, with environment variables set for them."""

    imports: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()


class Relaxed(msgspec.Struct, frozen=True, kw_only=True):
    """A fact that the stack sets aside: entirely, or only the given `needs` of it. `where` is file:line."""

    fact: Fact
    needs: tuple[str, ...]
    reason: str
    where: str


class Absence(msgspec.Struct, frozen=True, kw_only=True):
    """A distribution that the stack keeps out. `where` is file:line; the Chinese may be empty."""

    package: NormalizedName
    reason: str
    reason_zh: str = ""
    where: str


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """A wheel as a stack tells of it. It counts only where its index cannot be reached.

    `requires` are PEP 508 lines. `source` says who quotes the hash and where the requirements are from;
    `where` is file:line.
    """

    project: NormalizedName
    version: str
    index: str
    filename: str
    sha256: str
    requires: tuple[str, ...]
    requires_python: str
    source: str
    checked: date
    where: str


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What may be chosen at all. `exclude_newer` is a moment with a time zone, or None."""

    prereleases: Prereleases = "if-necessary"
    prereleases_of: Mapping[NormalizedName, Prereleases] = msgspec.field(default_factory=dict)
    exclude_newer: datetime | None = None

    def prereleases_for(self, project: NormalizedName) -> Prereleases:
        """The pre-release policy of one project."""
        return self.prereleases_of.get(project, self.prereleases)


class Stack(msgspec.Struct, frozen=True, kw_only=True):
    """What a stack file says, except for its targets. `where` is the file's path as given.

    `practices` are those that it turns on by name for its only target: each should make a difference there. Where
    several targets share them, one may be for another target.
    """

    name: str
    summary: str
    summary_zh: str = ""
    source: str
    where: str
    asks: tuple[Ask, ...]
    departures: tuple[Departure, ...] = ()
    relaxed: tuple[Relaxed, ...] = ()
    absent: tuple[Absence, ...] = ()
    practices: tuple[str, ...] = ()
    recorded: tuple[Recorded, ...] = ()
    checks: Checks = msgspec.field(default_factory=Checks)


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a resolution depends on, except for the content of the indexes and a previous lock.

    `digest` is the sha256 of all input files that it was made from; `readings` that of the recorded readings of
    archives beside them, which say nothing that the archives themselves do not.
    With `wheels_only` source archives do not count, as for build tools.
    `values` are the known values of components, nearest to the target's first. `unknown` has the components whose
    value is in no list of releases, each with the known ones next to it.
    `sources` maps the text of each direct reference of the stack to what it stands for.
    `practices` are those that are known but not in force; those in force are among the `facts`.
    """

    stack: Stack
    target: Target
    facts: tuple[Fact, ...]
    policy: Policy
    indexes: Indexes
    digest: str
    readings: str = ""
    wheels_only: bool = False
    values: Mapping[str, tuple[Value, ...]] = msgspec.field(default_factory=dict)
    unknown: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    sources: Mapping[str, Source] = msgspec.field(default_factory=dict)
    practices: tuple[Practice, ...] = ()

    def asked(self, name: NormalizedName) -> tuple[Ask, ...]:
        """The stack's lines about a project whose markers hold for the target."""
        return tuple(
            ask
            for ask in self.stack.asks
            if isinstance(ask.need, Requirement)
            and ask.need.name == name
            and (ask.need.marker is None or ask.need.marker.evaluate(self.target.markers))
        )

    def source(self, name: NormalizedName) -> tuple[Ask, Source] | None:
        """The line that takes a project from a repository, and what it stands for; None if an index serves it."""
        for ask in self.asked(name):
            assert isinstance(ask.need, Requirement)  # noqa: S101  only these are asked for by name
            if ask.need.url:
                return ask, self.sources[ask.need.url]
        return None
