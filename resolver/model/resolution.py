"""Resolutions: the pins that solve a problem, and what users should know about them.

`resolve/gather` makes a resolution of the choices of an engine, and `lock` makes a lock of it.
"""

from __future__ import annotations

import msgspec
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model import text
from resolver.model.as_of import NEWEST, AsOf, NewerPin
from resolver.model.constraint import BuildLine, ReleaseRequires, StackLine
from resolver.model.fact import Need, Practice
from resolver.model.lock import Override, SkippedRelease
from resolver.model.message import Message
from resolver.model.problem import Problem
from resolver.model.reason import Reason
from resolver.model.release import Release
from resolver.model.requirement import ComponentRequirement, Requirement


class Pin(msgspec.Struct, frozen=True, kw_only=True):
    """A project of a resolution with the release that was chosen."""

    # The project.
    name: NormalizedName
    # The chosen release.
    release: Release
    # The extras that something in the resolution requires.
    extras: tuple[str, ...]
    # The extras among them that the release does not provide, and that add no requirement.
    unknown_extras: tuple[str, ...]
    # The requirements on the project.
    because: tuple[StackLine | BuildLine | ReleaseRequires, ...]
    # The projects that the release and its extras require.
    needs: tuple[NormalizedName, ...]

    @property
    def version(self) -> Version:
        """Return the pinned version."""
        return self.release.version

    @property
    def exact_because(self) -> tuple[StackLine | BuildLine | ReleaseRequires, ...]:
        """Return the requirements of `because` that name a single release (`==`, `===`)."""

        def is_exact(constraint: StackLine | BuildLine | ReleaseRequires) -> bool:
            return any(map(text.is_exact, text.requirement(constraint.text).specifier))

        return tuple(filter(is_exact, self.because))


class MissingExtra(msgspec.Struct, frozen=True, kw_only=True):
    """An extra that a line of the stack names and the pinned release does not provide."""

    # The project of the line.
    project: NormalizedName
    # The extra.
    extra: str
    # A release that provides the extra; None if none is known.
    version: Version | None


class OutdatedPin(msgspec.Struct, frozen=True, kw_only=True):
    """A pin that is far behind the newest release although no line has an upper bound.

    `resolve/outdated_pins` says what counts as far behind.
    """

    # The project of the pin.
    project: NormalizedName
    # The pinned version.
    version: Version
    # The newest release on the indexes.
    newest: str
    # The reasons that exclude newer releases. Empty if they are not known, or if newer releases are
    # possible.
    because: tuple[Reason, ...]
    # The reasons as a message; None if there are none.
    why: Message | None = None


class UnmetBound(msgspec.Struct, frozen=True, kw_only=True):
    """A bound in an extra of one pin that another pin does not meet.

    An example is `torch>=2.6; extra == "torch"`: the extra has the name of the project that it
    bounds. If nothing requires the extra, the bound is only a preference.
    """

    # The project of the pin that has the extra.
    project: NormalizedName
    # The version of that pin.
    version: str
    # The requirement of the extra, without its marker.
    bound: str
    # The project of the pin that does not meet the bound.
    other: NormalizedName
    # The version of that other pin.
    other_version: str
    # The later release of the project that states the bound; empty if the pin does.
    stated_by: str = ""


class UnloadablePin(msgspec.Struct, frozen=True, kw_only=True):
    """A pin whose wheel has binaries that cannot be loaded together with the other pins."""

    # The project of the pin.
    project: NormalizedName
    # The pinned version.
    version: str
    # Why the binaries cannot be loaded: `its binaries are linked with torch>=2.5,<2.6`.
    why: str


class Resolution(msgspec.Struct, frozen=True, kw_only=True):
    """The solution of a problem.

    `skipped_releases`, `missing_extras`, `outdated_pins` and `newer_pins` are filled in only for a
    resolution that will be locked. The modules of these names in `resolve/` do it.
    """

    # The problem that is solved.
    problem: Problem
    # The pins, sorted by name.
    pins: tuple[Pin, ...]
    # The requirements that are ignored, since their project must be absent or the stack overrides
    # them.
    overrides: tuple[Override, ...] = ()
    # Releases that are newer than the pins and cannot be used.
    skipped_releases: tuple[SkippedRelease, ...] = ()
    # Extras that lines of the stack name and pins do not provide.
    missing_extras: tuple[MissingExtra, ...] = ()
    # The practices without which the pins would not be valid.
    used_practices: tuple[Practice, ...] = ()
    # Pins that are far behind the newest release.
    outdated_pins: tuple[OutdatedPin, ...] = ()
    # The day whose releases were preferred.
    as_of: AsOf = AsOf(policy=NEWEST)
    # The pins that appeared after that day.
    newer_pins: tuple[NewerPin, ...] = ()
    # Bounds of extras that pins do not meet (see `resolve/soft_requirements.py`).
    unmet_bounds: tuple[UnmetBound, ...] = ()
    # Pins with binaries that cannot be loaded with the other pins (see the same module).
    unloadable_pins: tuple[UnloadablePin, ...] = ()
    # Pins with binaries that were not read, so that it is not known whether they can be loaded.
    unread_pins: tuple[NormalizedName, ...] = ()

    def pin(self, name: str) -> Pin | None:
        """Return the pin of a project; None if the project is not pinned."""
        for pin in self.pins:
            if pin.name == name:
                return pin
        return None

    def meets(self, need: Need) -> bool:
        """Return whether the target, or the pin of the required project, meets a requirement.

        A requirement on a project is not met if its marker is false on the target, or if the
        project is not pinned.
        """
        target = self.problem.target
        match need:
            case ComponentRequirement():
                return need.is_promised_by(target.system)
            case Requirement():
                if not need.applies(target.markers):
                    return False
                pin = self.pin(need.name)
                return pin is not None and need.specifier.contains(pin.version, prereleases=True)
