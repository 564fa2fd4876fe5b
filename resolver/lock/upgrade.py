"""What solving keeps of the lock before: `--upgrade` and `--upgrade-package`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.errors import InputError, did_you_mean
from resolver.model.lock import Lock, LockedPin, PassedOver

Pins = dict[NormalizedName, Version]


class Preferences(msgspec.Struct, frozen=True):
    """The releases to prefer: of the stack, and of each environment in which these archives are built.

    `passed_over` are the releases that were passed over for them.
    """

    pins: Pins = {}
    builds: dict[tuple[NormalizedName, ...], Pins] = {}
    passed_over: tuple[PassedOver, ...] = ()


class UpgradePolicy(msgspec.Struct, frozen=True):
    """Whether all pins may move, or those of these projects."""

    upgrade: bool = False
    packages: frozenset[NormalizedName] = frozenset()

    def check(self, previous: Sequence[Lock]) -> None:
        """Raise InputError for a project to upgrade that no previous lock has: most likely a typing error."""
        known = {pin.name for lock in previous for pin in (*lock.pin, *lock.build_pin)}
        for name in sorted(self.packages - known) if previous else ():
            raise InputError(
                f"the lock has no project `{name}` to upgrade",
                where="--upgrade-package",
                hint=did_you_mean(name, known, "see lock.toml for its projects"),
            )

    def keep(self, previous: Lock | None) -> Preferences:
        """What is kept of the previous lock."""
        if previous is None or self.upgrade:
            return Preferences()

        def versions(pins: Iterable[LockedPin]) -> Pins:
            named = ((canonicalize_name(pin.name), Version(pin.version)) for pin in pins)
            return {name: version for name, version in named if name not in self.packages}

        return Preferences(
            versions(previous.pin),
            {tuple(map(canonicalize_name, pins[0].builds)): versions(pins) for pins in previous.environments()},
            tuple(row for row in previous.passed_over if row.project not in self.packages),
        )


KEEP_ALL: Final = UpgradePolicy()
