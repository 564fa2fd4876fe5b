"""Which pins of the previous lock to keep: `--upgrade` and `--upgrade-package`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.errors import InputError, did_you_mean
from resolver.model.lock import Lock, LockedPin
from resolver.model.resolution import PassedOver

if TYPE_CHECKING:  # a remembered lock needs no solver
    from resolver.resolve.builds import Kept


class UpgradePolicy(msgspec.Struct, frozen=True):
    """Whether all pins may move, or those of these projects."""

    upgrade: bool
    upgrade_packages: frozenset[NormalizedName]

    def check(self, previous: Sequence[Lock]) -> None:
        """Raise InputError for a project to upgrade that no previous lock has: most likely a typing error."""
        if not previous:
            return
        known = {pin.name for lock in previous for pin in (*lock.pin, *lock.build_pin)}
        for name in sorted(self.upgrade_packages - known):
            raise InputError(
                f"the lock has no project `{name}` to upgrade",
                where="--upgrade-package",
                hint=did_you_mean(name, known, "see lock.toml for its projects"),
            )

    def keep(self, previous: Lock | None) -> tuple[Mapping[NormalizedName, Version], Kept]:
        """The pins to prefer: of the stack, and of its build environments."""
        if previous is None or self.upgrade:
            return {}, {}
        groups = previous.environments()
        builds = {tuple(map(canonicalize_name, pins[0].builds)): self._versions(pins) for pins in groups}
        return self._versions(previous.pin), builds

    def passed_over(self, previous: Lock | None) -> tuple[PassedOver, ...]:
        """The releases passed over for the preferred pins, according to the previous lock."""
        if previous is None or self.upgrade:
            return ()
        return tuple(
            PassedOver(
                project=canonicalize_name(row.project),
                version=Version(row.version),
                archive=row.archive,
                archive_of=canonicalize_name(row.archive_of),
                archive_version=Version(row.archive_version),
                index=row.index,
            )
            for row in previous.passed_over
            if row.project not in self.upgrade_packages
        )

    def _versions(self, pins: Iterable[LockedPin]) -> dict[NormalizedName, Version]:
        versions = {canonicalize_name(pin.name): Version(pin.version) for pin in pins}
        return {name: version for name, version in versions.items() if name not in self.upgrade_packages}
