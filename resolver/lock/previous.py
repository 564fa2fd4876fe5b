"""Keep pins of the previous lock when a stack is locked again, and tell which pins changed."""

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
    """The releases of the previous lock, which a solver tries first."""

    # The releases for the environment of the stack.
    pins: Pins = {}
    # The releases for each isolated build environment. The key names the projects whose source
    # archives are built in it; () means all.
    builds: dict[tuple[NormalizedName, ...], Pins] = {}
    # Newer releases that the previous lock skipped, with the reasons.
    skipped: tuple[SkippedRelease, ...] = ()


class UpgradePolicy(Struct, frozen=True):
    """Which pins of the previous lock are not kept."""

    # True if no pin is kept (`--upgrade`).
    upgrade: bool = False
    # The projects whose pins are not kept (`--upgrade-package`).
    packages: frozenset[NormalizedName] = frozenset()

    def check(self, previous: Sequence[Lock]) -> None:
        """Raise InputError if a project of `packages` is in none of the previous locks.

        Its name is most likely misspelled. Without a previous lock nothing is checked.
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
        """Return the releases of the previous lock that the solver should prefer.

        There are none without a previous lock, and with `--upgrade`.
        """
        if previous is None or self.upgrade:
            return Preferences()
        builds = {}
        for tools in previous.build_environments():
            archives = tuple(canonicalize_name(archive) for archive in tools[0].builds)
            builds[archives] = self._kept(tools)
        skipped = tuple(
            release for release in previous.skipped if release.project not in self.packages
        )
        return Preferences(self._kept(previous.pin), builds, skipped)

    def _kept(self, pins: Iterable[LockedPin]) -> Pins:
        """Return the versions of pins by project, without the projects to upgrade."""
        versions = {canonicalize_name(pin.name): Version(pin.version) for pin in pins}
        return {name: versions[name] for name in versions if name not in self.packages}


# Prefers every release of the previous lock.
KEEP_ALL: Final = UpgradePolicy()


def replaced_files(before: Lock, after: Lock) -> tuple[tuple[LockedFile, LockedFile], ...]:
    """Return the files whose sha256 changed although their name did not: old and new file of each.

    An index that replaces a file cannot be trusted.
    """
    old, new = _files_by_name(before), _files_by_name(after)
    names = sorted(old.keys() & new.keys())
    return tuple((old[name], new[name]) for name in names if old[name] != new[name])


def _files_by_name(lock: Lock) -> dict[str, LockedFile]:
    """Return the files of all pins and build tools of a lock, by file name."""
    by_name: dict[str, LockedFile] = {}
    for pin in (*lock.pin, *lock.build_pin):
        by_name |= {file.name: file for file in pin.file}
    return by_name


def same_decisions(before: Lock, after: Lock) -> bool:
    """Return whether two locks would install the same: their pins and build tools are equal.

    The requirements that pins have of each other, and the changes that a lock reports, are ignored.
    """
    if _decisions(before.pin) != _decisions(after.pin):
        return False
    return _decisions(before.build_pin) == _decisions(after.build_pin)


def _decisions(pins: Iterable[LockedPin]) -> list[LockedPin]:
    """Return the pins without their requirements, which do not change what is installed."""
    return [
        replace(without_trust(pin), requires=(), build_requires=(), fact_requires={})
        for pin in pins
    ]


def without_trust(pin: LockedPin) -> LockedPin:
    """Return a pin without the message about trust in its source.

    That message depends on whether the repository could be reached.
    """
    return pin if pin.git is None else replace(pin, git=replace(pin.git, trust=None))


def with_changes(lock: Lock, previous: Lock | None) -> Lock:
    """Return the lock with the changes of its pins since the previous lock.

    If no pin changed, the lock reports the same changes as the previous one, so that locking again
    results in the same file.
    """
    if previous is None:
        return replace(lock, first=True)
    if same_decisions(previous, lock):
        return replace(lock, first=previous.first, change=previous.change)
    return replace(lock, change=tuple(changes(previous.pin, lock.pin)))


def changes(before: Iterable[LockedPin], after: Iterable[LockedPin]) -> Iterator[PinChange]:
    """Yield the pins that were added, removed or changed, by name.

    A pin has changed if its version, its commit or its files are different. If only the files are,
    the texts of the change have the first digits of a sha256.
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
    """Return the version of a pin, with the commit if it is from git; empty without a pin."""
    if pin is None:
        return ""
    return pin.version if pin.git is None else f"{pin.version} ({pin.git.commit[:12]})"
