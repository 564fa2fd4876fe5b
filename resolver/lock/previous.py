"""The previous lock: which of its pins are kept when locking again, and which pins changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.errors import InputError, did_you_mean
from resolver.model.lock import Lock, LockedFile, LockedPin, PinChange, SkippedRelease
from resolver.phrase import phrase

Pins = dict[NormalizedName, Version]


class Preferences(Struct, frozen=True):
    """The releases that a resolution prefers."""

    # The releases of the stack's own environment.
    pins: Pins = {}
    # The releases of each isolated build environment, by the archives that are built in it.
    builds: dict[tuple[NormalizedName, ...], Pins] = {}
    # Newer releases that were skipped in favor of `pins`.
    skipped: tuple[SkippedRelease, ...] = ()


class UpgradePolicy(Struct, frozen=True):
    """Which pins of the previous lock may move to other versions."""

    # Whether all may (`--upgrade`).
    upgrade: bool = False
    # The projects whose pins may (`--upgrade-package`).
    packages: frozenset[NormalizedName] = frozenset()

    def check(self, previous: Sequence[Lock]) -> None:
        """Raise InputError for a project to upgrade that no previous lock has.

        It is most likely a typing error. Without any previous lock there is nothing to check.
        """
        if not previous:
            return
        names: set[str] = set()
        for lock in previous:
            names.update(pin.name for pin in (*lock.pin, *lock.build_pin))
        for name in sorted(self.packages - names):
            raise InputError(
                phrase("the lock has no project `{name}` to upgrade", name=name),
                where="--upgrade-package",
                hint=did_you_mean(name, names, phrase("see lock.toml for its projects")),
            )

    def preferences(self, previous: Lock | None) -> Preferences:
        """Return the releases of the previous lock that are kept if they still fit."""
        if previous is None or self.upgrade:
            return Preferences()
        builds = {}
        for tools in previous.build_environments():
            archives = tuple(canonicalize_name(archive) for archive in tools[0].builds)
            builds[archives] = self._kept(tools)
        skipped = tuple(row for row in previous.skipped if row.project not in self.packages)
        return Preferences(self._kept(previous.pin), builds, skipped)

    def _kept(self, pins: Iterable[LockedPin]) -> Pins:
        versions = {canonicalize_name(pin.name): Version(pin.version) for pin in pins}
        return {name: versions[name] for name in versions if name not in self.packages}


KEEP_ALL: Final = UpgradePolicy()


def replaced_files(before: Lock, after: Lock) -> tuple[tuple[LockedFile, LockedFile], ...]:
    """Return the files that have the same name and another hash, as they were and as they are.

    No trustworthy index replaces a file.
    """
    old, new = _files_by_name(before), _files_by_name(after)
    names = sorted(old.keys() & new.keys())
    return tuple((old[name], new[name]) for name in names if old[name] != new[name])


def _files_by_name(lock: Lock) -> dict[str, LockedFile]:
    by_name: dict[str, LockedFile] = {}
    for pin in (*lock.pin, *lock.build_pin):
        by_name |= {file.name: file for file in pin.file}
    return by_name


def same_decisions(before: Lock, after: Lock) -> bool:
    """Return whether two locks have the same pins, regardless of the changes that they report."""
    if _decisions(before.pin) != _decisions(after.pin):
        return False
    return _decisions(before.build_pin) == _decisions(after.build_pin)


def _decisions(pins: Iterable[LockedPin]) -> list[LockedPin]:
    """Return the pins without their requirements, which are no decisions."""
    return [
        replace(without_trust(pin), requires=(), build_requires=(), fact_requires={})
        for pin in pins
    ]


def without_trust(pin: LockedPin) -> LockedPin:
    """Return a pin without why its source is trusted, which depends on the network of the day."""
    return pin if pin.git is None else replace(pin, git=replace(pin.git, trust=None))


def with_changes(lock: Lock, previous: Lock | None) -> Lock:
    """Return the lock with its changes since the previous one.

    If no decision changed, the changes that the previous lock reports are kept, so that locking
    again gives the same bytes.
    """
    if previous is None:
        return replace(lock, first=True)
    if same_decisions(previous, lock):
        return replace(lock, first=previous.first, change=previous.change)
    return replace(lock, change=tuple(changes(previous.pin, lock.pin)))


def changes(before: Iterable[LockedPin], after: Iterable[LockedPin]) -> Iterator[PinChange]:
    """Yield the projects that were added, removed or changed, by name.

    If a file changed but not the version, the change has the beginnings of the hashes.
    """
    old = {pin.name: pin for pin in before}
    new = {pin.name: pin for pin in after}
    for name in sorted(old.keys() | new.keys()):
        old_text = _version_text(old.get(name))
        new_text = _version_text(new.get(name))
        if old_text == new_text and old[name].file != new[name].file:
            old_text += f" ({old[name].file[0].sha256[:12]}…)"
            new_text += f" ({new[name].file[0].sha256[:12]}…)"
        if old_text != new_text:
            yield PinChange(name=name, old=old_text, new=new_text)


def _version_text(pin: LockedPin | None) -> str:
    if pin is None:
        return ""
    return pin.version if pin.git is None else f"{pin.version} ({pin.git.commit[:12]})"
