"""The answer to a problem: the pins, or the statements that contradict each other.

A statement is a constraint with its origin. It is data, of which renderers make sentences in
English and in Chinese. There are six kinds: a line of the stack, a component of the target, a
requirement (of a file's metadata, a fact or a build), a fact that forbids, a module that two
distributions share, and the lack of usable files.
"""

from __future__ import annotations

from enum import Enum

import msgspec
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model.as_of import NEWEST, AsOf, NewerPin
from resolver.model.dependency import NeedSource, RequirementOrigin
from resolver.model.fact import Absent, Collides, Excludes, Fact, Names, Practice
from resolver.model.lock import Override, SkippedRelease
from resolver.model.message import Message
from resolver.model.problem import Problem
from resolver.model.release import Rejection, RejectionReason, Release


class ReleaseRange(msgspec.Struct, frozen=True):
    """`count` consecutive releases of a project on the indexes."""

    oldest: str
    newest: str
    count: int


class Asks(msgspec.Struct, frozen=True, kw_only=True):
    """The stack requires `text`. `where` is file:line, or the option (`--package`) that adds it."""

    text: str
    where: str


class Has(msgspec.Struct, frozen=True, kw_only=True):
    """The target has this value of a component. `where` is file:line."""

    component: str
    value: str
    where: str


class Needs(msgspec.Struct, frozen=True, kw_only=True):
    """These releases of `subject` (a project, or one of its extras) require `needs`.

    `where` is the file with that metadata (of the newest of the releases), or file:line of `fact`.
    """

    subject: str
    versions: tuple[ReleaseRange, ...]
    needs: str
    source: NeedSource
    where: str
    fact: Fact | None = None


class Forbids(msgspec.Struct, frozen=True, kw_only=True):
    """A fact excludes these releases of `subject`."""

    subject: str
    versions: tuple[ReleaseRange, ...]
    fact: Excludes | Names

    @property
    def where(self) -> str:
        """file:line of the fact."""
        return self.fact.where


class Shares(msgspec.Struct, frozen=True, kw_only=True):
    """Two distributions have the same importable module, or exclude each other: at most one can be installed."""

    fact: Collides | Absent

    @property
    def where(self) -> str:
        """file:line of the fact."""
        return self.fact.where


class Lack(Enum):
    """Why there is no candidate."""

    PROJECT = "project"  # no index bound to the project has it
    RELEASE = "release"  # no release is in the specifier
    FILE = "file"  # the releases have no file that the target can use
    UNUSABLE = "unusable"  # a file proved unusable when it was opened
    PRERELEASE = "prerelease"  # pre-releases, which the policy excludes
    # pre-releases, which the policy admits only if no final release meets the requirements
    NEEDLESS = "needless"
    YANKED = "yanked"  # yanked, and pinned by neither the stack nor a fact
    CUTOFF = "cutoff"  # uploaded after the cut-off
    SOURCE = "source"  # the stack names a commit, which is of another version
    UNREACHABLE = "unreachable"  # an index that might have one could not be reached


class RejectedRelease(msgspec.Struct, frozen=True, kw_only=True):
    """A release that cannot be used, and why each of its files was rejected, the nearest to the target first.

    A file that proved unusable when it was opened is the first; wheels that the target cannot use
    follow.
    """

    version: str
    files: tuple[Rejection, ...]


class UnparsedFiles(msgspec.Struct, frozen=True):
    """`count` files of a page that belong to no release for the same reason, and the name of the first."""

    reason: RejectionReason
    count: int
    filename: str


class Lacks(msgspec.Struct, frozen=True, kw_only=True):
    """There is no usable release of `subject` in `wanted` (a specifier, empty for any).

    `refusals` are the newest of the `count` releases in question. `newest` is the newest release on
    the indexes, if any. `nearest` are the releases just before and after `wanted`, if there is one
    after it. `where` names the indexes that were asked, or the file. `unreachable` are indexes that
    may have one. With Lack.SOURCE `newest` is the version of the commit, and `where` the source of
    that version. `meant` is a known project of a similar name, or a component, if no index has this
    one. If wheels were rejected, `machine` is what the target has of what wheels are built for
    (`tag_values`); with Lack.CUTOFF `cutoff` is the cut-off: a day that counts to its end, or a
    moment. `unread` are the files of a project without any release, by reason, the most frequent
    first. `left_out` are indexes that matrices/indexes.toml names for the project, and that the
    stack's own leave out.
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
    left_out: tuple[str, ...] = ()


Statement = Asks | Has | Needs | Forbids | Shares | Lacks


def fact_of(statement: Statement) -> Fact | None:
    """The fact of a statement, if it has one."""
    return getattr(statement, "fact", None)


class Pin(msgspec.Struct, frozen=True, kw_only=True):
    """One project of a resolution, at a release with the requested extras.

    `unknown_extras` are those of them that the release does not provide, and that add no
    requirement. `because` are the requirements on the project, `needs` the projects that it
    requires.
    """

    name: NormalizedName
    release: Release
    extras: tuple[str, ...]
    unknown_extras: tuple[str, ...]
    because: tuple[RequirementOrigin, ...]
    needs: tuple[NormalizedName, ...]

    @property
    def version(self) -> Version:
        """The pinned version."""
        return self.release.version


class MissingExtra(msgspec.Struct, frozen=True, kw_only=True):
    """An extra that a line of the stack names and the pin lacks, and the version of a release that has it, if known."""

    project: NormalizedName
    extra: str
    version: Version | None


class OutdatedPin(msgspec.Struct, frozen=True, kw_only=True):
    """A project required without an upper bound whose pin is far behind the newest release, and what excludes that.

    `because` is empty if that was not determined, or if newer ones are possible. `why` is the same
    as a message.
    """

    project: NormalizedName
    version: Version
    newest: str
    because: tuple[Statement, ...]
    why: Message | None = None


class UnmetBound(msgspec.Struct, frozen=True, kw_only=True):
    """A bound in an extra of a pin, on the project of the extra's name, that the pin of that project does not meet."""

    # the pin with the extra
    project: NormalizedName
    version: str
    # the requirement of the extra, without its marker
    bound: str
    # the pin that does not meet it
    other: NormalizedName
    other_version: str


class UnloadablePin(msgspec.Struct, frozen=True, kw_only=True):
    """A pin with binaries that cannot be loaded with the other pins, as far as its wheel tells."""

    project: NormalizedName
    version: str
    # such as `its binaries are linked with torch>=2.5,<2.6`
    why: str


class Resolution(msgspec.Struct, frozen=True, kw_only=True):
    """Pins sorted by name, which `engine` found after `rounds` steps.

    - `overrides` are the requirements that are not followed, as their project must be absent.
    - Without the `used_practices` the resolution would not be valid (see `resolve/gather.py`).
    - `as_of` is the day whose releases were preferred.
    - `unmet_bounds` and `unloadable_pins` are the soft requirements that are not met; of the
      binaries of `unread_pins` nobody knows whether they can be loaded (see
      `resolve/soft_requirements.py`).
    - `skipped_releases`, `missing_extras`, `outdated_pins` and `newer_pins` are filled in only for
      what is going to be locked (see `resolve/shortfalls.py`).
    """

    problem: Problem
    pins: tuple[Pin, ...]
    engine: str
    rounds: int
    overrides: tuple[Override, ...] = ()
    skipped_releases: tuple[SkippedRelease, ...] = ()
    missing_extras: tuple[MissingExtra, ...] = ()
    used_practices: tuple[Practice, ...] = ()
    outdated_pins: tuple[OutdatedPin, ...] = ()
    as_of: AsOf = AsOf(policy=NEWEST)
    newer_pins: tuple[NewerPin, ...] = ()
    unmet_bounds: tuple[UnmetBound, ...] = ()
    unloadable_pins: tuple[UnloadablePin, ...] = ()
    unread_pins: tuple[NormalizedName, ...] = ()

    def pin(self, name: str) -> Pin | None:
        """The pin of a project; None if it is not in the resolution."""
        return next((pin for pin in self.pins if pin.name == name), None)
