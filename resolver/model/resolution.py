"""The answer to a problem that has a solution: the pins, and how far they fall short of the stack."""

from __future__ import annotations

import msgspec
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model.as_of import NEWEST, AsOf, NewerPin
from resolver.model.constraint import BuildLine, Requires, StackLine
from resolver.model.fact import Practice
from resolver.model.lock import Override, SkippedRelease
from resolver.model.message import Message
from resolver.model.problem import Problem
from resolver.model.reason import Reason
from resolver.model.release import Release


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
    because: tuple[StackLine | BuildLine | Requires, ...]
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
    because: tuple[Reason, ...]
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
