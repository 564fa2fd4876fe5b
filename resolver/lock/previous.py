"""The lock before: what solving keeps of it (`--upgrade`, `--upgrade-package`), and what changed since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.errors import InputError, did_you_mean
from resolver.model.lock import Change, Lock, LockedFile, LockedPin, PassedOver

Pins = dict[NormalizedName, Version]


class Preferences(Struct, frozen=True):
    """The releases to prefer: of the stack, and of each environment in which these archives are built.

    `passed_over` are the releases that were passed over for them.
    """

    pins: Pins = {}
    builds: dict[tuple[NormalizedName, ...], Pins] = {}
    passed_over: tuple[PassedOver, ...] = ()


class UpgradePolicy(Struct, frozen=True):
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


def replaced_files(before: Lock, after: Lock) -> tuple[tuple[LockedFile, LockedFile], ...]:
    """Files whose hash changed while the name stayed, which no trustworthy index does."""
    old = {file.name: file for pin in (*before.pin, *before.build_pin) for file in pin.file}
    new = {file.name: file for pin in (*after.pin, *after.build_pin) for file in pin.file}
    both = ((old[name], new[name]) for name in sorted(old.keys() & new.keys()))
    return tuple((was, now) for was, now in both if was.sha256 != now.sha256)


def same_decisions(before: Lock, after: Lock) -> bool:
    """Whether two locks have the same decisions, regardless of the changes that they report."""
    return _decisions(before) == _decisions(after)


def with_changes(lock: Lock, previous: Lock | None) -> Lock:
    """The lock with its changes since the previous one.

    If no decision changed, the changes reported by the previous lock are kept, so that locking again gives the same
    bytes.
    """
    if previous is None:
        return replace(lock, first=True)
    if same_decisions(previous, lock):
        return replace(lock, first=previous.first, change=previous.change)
    return replace(lock, change=tuple(changes(previous.pin, lock.pin)))


def changes(before: Iterable[LockedPin], after: Iterable[LockedPin]) -> Iterator[Change]:
    """Projects added, removed or moved, by name. If a file changed but not the version, its hash is given."""
    old = {pin.name: pin for pin in before}
    new = {pin.name: pin for pin in after}
    for name in sorted({*old, *new}):
        was, now = _text(old.get(name)), _text(new.get(name))
        if was == now and old[name].file != new[name].file:
            was, now = (f"{text} ({pins[name].file[0].sha256[:12]}…)" for text, pins in ((was, old), (now, new)))
        if was != now:
            yield Change(name=name, old=was, new=now)


def _decisions(lock: Lock) -> list[list[LockedPin]]:
    """The pins without their requirements and why a source is trusted, which depends on the network of the day."""
    return [
        [
            replace(pin, requires=(), build_requires=(), fact_requires={}, git=pin.git and replace(pin.git, trust=None))
            for pin in pins
        ]
        for pins in (lock.pin, lock.build_pin)
    ]


def _text(pin: LockedPin | None) -> str:
    if pin is None:
        return ""
    return f"{pin.version} ({pin.git.commit[:12]})" if pin.git is not None else pin.version
