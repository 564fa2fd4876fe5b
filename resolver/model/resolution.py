"""Resolutions: the pins that solve a problem, and where they fall short of the stack."""

from __future__ import annotations

import msgspec
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model import text
from resolver.model.as_of import NEWEST, AsOf, NewerPin
from resolver.model.constraint import BuildLine, Requires, StackLine
from resolver.model.fact import Need, Practice
from resolver.model.lock import Override, SkippedRelease
from resolver.model.message import Message
from resolver.model.problem import Problem
from resolver.model.reason import Reason
from resolver.model.release import Release
from resolver.model.requirement import ComponentRequirement, Requirement


class Pin(msgspec.Struct, frozen=True, kw_only=True):
    """A project of a resolution, at one release."""

    name: NormalizedName
    release: Release
    # The extras that something in the resolution requires.
    extras: tuple[str, ...]
    # The extras among them that the release does not provide; they add no requirement.
    unknown_extras: tuple[str, ...]
    # The requirements on the project.
    because: tuple[StackLine | BuildLine | Requires, ...]
    # The projects that it requires.
    needs: tuple[NormalizedName, ...]

    @property
    def version(self) -> Version:
        """Return the pinned version."""
        return self.release.version

    @property
    def exact_because(self) -> tuple[StackLine | BuildLine | Requires, ...]:
        """Return those of `because` that name a single release (PEP 440)."""

        def is_exact(constraint: StackLine | BuildLine | Requires) -> bool:
            return any(map(text.is_exact, text.requirement(constraint.text).specifier))

        return tuple(filter(is_exact, self.because))


class MissingExtra(msgspec.Struct, frozen=True, kw_only=True):
    """An extra that a line of the stack names, and that the pin does not provide."""

    project: NormalizedName
    extra: str
    # A release that provides it; None if none is known.
    version: Version | None


class OutdatedPin(msgspec.Struct, frozen=True, kw_only=True):
    """A pin far behind the newest release, though no requirement has an upper bound."""

    project: NormalizedName
    # The pinned version.
    version: Version
    # The newest release on the indexes.
    newest: str
    # What excludes newer releases; empty if that is not known, or if newer releases are possible.
    because: tuple[Reason, ...]
    # `because` as a message.
    why: Message | None = None


class UnmetBound(msgspec.Struct, frozen=True, kw_only=True):
    """A bound that an extra of one pin puts on another pin, which does not meet it.

    The extra has the name of the other project. Usually nothing asks for it, so that its bound is
    only preferred.
    """

    # The pin with the extra, and its version.
    project: NormalizedName
    version: str
    # The requirement of the extra, without its marker.
    bound: str
    # The pin that does not meet it, and its version.
    other: NormalizedName
    other_version: str


class UnloadablePin(msgspec.Struct, frozen=True, kw_only=True):
    """A pin with binaries that cannot be loaded with the other pins, judging by its wheel."""

    project: NormalizedName
    version: str
    # Why, such as `its binaries are linked with torch>=2.5,<2.6`.
    why: str


class Resolution(msgspec.Struct, frozen=True, kw_only=True):
    """The solution of a problem.

    `skipped_releases`, `missing_extras`, `outdated_pins` and `newer_pins` are filled in only for
    what will be locked (see the modules of these names in `resolve/`).
    """

    problem: Problem
    # Sorted by name.
    pins: tuple[Pin, ...]
    # The engine that found the pins.
    engine: str
    # How many steps the engine took.
    rounds: int
    # Requirements that are not followed, since their project must be absent.
    overrides: tuple[Override, ...] = ()
    # Releases newer than the pins that cannot be used.
    skipped_releases: tuple[SkippedRelease, ...] = ()
    # Extras that lines of the stack name and pins do not provide.
    missing_extras: tuple[MissingExtra, ...] = ()
    # The practices without which the pins would not be valid (see `resolve/gather.py`).
    used_practices: tuple[Practice, ...] = ()
    # Pins far behind the newest release.
    outdated_pins: tuple[OutdatedPin, ...] = ()
    # The day whose releases were preferred.
    as_of: AsOf = AsOf(policy=NEWEST)
    # The pins that appeared after that day.
    newer_pins: tuple[NewerPin, ...] = ()
    # Soft requirements that are not met: bounds of extras, and of binaries on each other (see
    # `resolve/soft_requirements.py`).
    unmet_bounds: tuple[UnmetBound, ...] = ()
    unloadable_pins: tuple[UnloadablePin, ...] = ()
    # The pins with binaries of which it is not known whether they can be loaded.
    unread_pins: tuple[NormalizedName, ...] = ()

    def pin(self, name: str) -> Pin | None:
        """Return the pin of a project; None if the project is not pinned."""
        for pin in self.pins:
            if pin.name == name:
                return pin
        return None

    def meets(self, need: Need) -> bool:
        """Return whether the target or the pins meet a need."""
        target = self.problem.target
        match need:
            case ComponentRequirement():
                return need.is_promised_by(target.system)
            case Requirement():
                if not need.applies(target.markers):
                    return False
                pin = self.pin(need.name)
                return pin is not None and need.specifier.contains(pin.version, prereleases=True)
