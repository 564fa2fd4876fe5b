"""The answer to a problem: what is pinned, or what clashes.

What clashes are statements, each one a constraint with its origin. A statement holds data, no words: renderers make
sentences of it, in English and in Chinese. There are six sorts: a line of the stack, a component of the target, a
requirement (of a file's metadata, a fact or a build), a fact that forbids, a module that two share, and the absence of
usable files.
"""

from __future__ import annotations

from enum import Enum

import msgspec
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model.dependency import NeedSource, Origin
from resolver.model.fact import Absent, Collides, Excludes, Fact, Names, Practice
from resolver.model.lock import Override
from resolver.model.message import Message
from resolver.model.problem import Problem
from resolver.model.release import Rejection, RejectionReason, Release


class ReleaseRange(msgspec.Struct, frozen=True):
    """Releases of a project that follow each other on the indexes, oldest to newest; `count` of them."""

    oldest: str
    newest: str
    count: int


class Asks(msgspec.Struct, frozen=True, kw_only=True):
    """The stack asks for `text`. `where` is file:line, or an option (`--package`) that asks what if."""

    text: str
    where: str


class Has(msgspec.Struct, frozen=True, kw_only=True):
    """The target has a component in this version. `where` is file:line."""

    component: str
    value: str
    where: str


class Needs(msgspec.Struct, frozen=True, kw_only=True):
    """These releases of `subject` (a project, or one of its extras) need `needs`.

    `where` is the file whose metadata says so (of the newest of the releases), or file:line of `fact`.
    """

    subject: str
    versions: tuple[ReleaseRange, ...]
    needs: str
    source: NeedSource
    where: str
    fact: Fact | None = None


class Forbids(msgspec.Struct, frozen=True, kw_only=True):
    """A fact takes these releases of `subject` out."""

    subject: str
    versions: tuple[ReleaseRange, ...]
    fact: Excludes | Names

    @property
    def where(self) -> str:
        """file:line of the fact."""
        return self.fact.where


class Shares(msgspec.Struct, frozen=True, kw_only=True):
    """Two distributions own the same importable module, or must not meet: at most one of them can be installed."""

    fact: Collides | Absent

    @property
    def where(self) -> str:
        """file:line of the fact."""
        return self.fact.where


class Lack(Enum):
    """Why there is nothing to take."""

    PROJECT = "project"  # no index bound to the project has it
    RELEASE = "release"  # no release is in what is wanted
    FILE = "file"  # the releases have no file that the target can use
    UNUSABLE = "unusable"  # a file proved unusable when it was opened
    PRERELEASE = "prerelease"  # pre-releases, which the policy does not take
    NEEDLESS = "needless"  # pre-releases, which the policy takes only where no final release fits what is asked
    YANKED = "yanked"  # yanked, and pinned by neither the stack nor a fact
    CUTOFF = "cutoff"  # uploaded after the cut-off
    SOURCE = "source"  # the stack takes the project from a commit, whose version is another
    UNREACHABLE = "unreachable"  # an index that might have one could not be reached


class RejectedRelease(msgspec.Struct, frozen=True, kw_only=True):
    """A release that cannot be used, and why each of its files was set aside, the nearest to the target first.

    Of a file that proved unusable when it was opened, that is the first; wheels that the target cannot use follow.
    """

    version: str
    files: tuple[Rejection, ...]


class UnparsedFiles(msgspec.Struct, frozen=True):
    """Files of a page that are of no release, for one reason: how many, and the name of the first."""

    reason: RejectionReason
    count: int
    filename: str


class Lacks(msgspec.Struct, frozen=True, kw_only=True):
    """There is no usable release of `subject` in `wanted` (a specifier, empty for any).

    `refusals` are the newest of the releases concerned, of which there are `count`. `newest` is the newest release on
    the indexes, empty where there is none. `nearest` are those just before and just after `wanted`, where a newer one
    exists than the newest before it. `where` names the indexes that were asked, or the file. `unreachable` are indexes
    that might have had one. With Lack.SOURCE `newest` is the version of the commit, and `where` the place that says so.
    `meant` is a known project of a similar name, or a component, where no index has this one. Where wheels were set
    aside `machine` is what the target has of what wheels are built for (`tag_values`); with Lack.CUTOFF `cutoff` is the
    cut-off: a day that counts to its end, or a moment. `unread` are the files of a project without any release, the
    most frequent reason first.
    """

    subject: str
    wanted: str
    lack: Lack
    where: str
    count: int = 0
    newest: str = ""
    nearest: tuple[str, ...] = ()
    refusals: tuple[RejectedRelease, ...] = ()
    unreachable: tuple[str, ...] = ()
    meant: str = ""
    machine: tuple[tuple[str, str], ...] = ()
    cutoff: str = ""
    unread: tuple[UnparsedFiles, ...] = ()


Statement = Asks | Has | Needs | Forbids | Shares | Lacks


def fact_of(statement: Statement) -> Fact | None:
    """The fact that a statement rests on, if any."""
    return getattr(statement, "fact", None)


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


class MissingExtra(msgspec.Struct, frozen=True, kw_only=True):
    """An extra that a line of the stack asks for and the pin of its project lacks; a release that has it, if known."""

    project: NormalizedName
    extra: str
    version: Version | None


class SkippedRelease(msgspec.Struct, frozen=True, kw_only=True):
    """A release newer than its project's pin that cannot be used, as an `archive` has no static metadata.

    That is its own, or that of something that it needs.
    """

    project: NormalizedName
    version: Version
    archive: Release


class OutdatedPin(msgspec.Struct, frozen=True, kw_only=True):
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

    `skipped_releases`, `missing_extras` and `outdated_pins` are filled in only for what is going to be locked (see
    `resolve/shortfalls.py`). `practices` are those in force that it rests on (see `resolve/gather.py`).
    """

    problem: Problem
    pins: tuple[Pin, ...]
    engine: str
    rounds: int
    overrides: tuple[Override, ...] = ()
    skipped_releases: tuple[SkippedRelease, ...] = ()
    missing_extras: tuple[MissingExtra, ...] = ()
    practices: tuple[Practice, ...] = ()
    outdated_pins: tuple[OutdatedPin, ...] = ()

    def pin(self, name: str) -> Pin | None:
        """The pin of a project; None if it is not in the resolution."""
        return next((pin for pin in self.pins if pin.name == name), None)
