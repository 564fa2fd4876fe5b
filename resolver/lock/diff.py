"""What changed between two locks of the same target."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from resolver.model.lock import Change, Lock, LockedFile, LockedPin


def changes(before: Iterable[LockedPin], after: Iterable[LockedPin]) -> tuple[Change, ...]:
    """Projects added, removed or moved, by name. If a file changed but not the version, its hash is given."""
    old = {pin.name: pin for pin in before}
    new = {pin.name: pin for pin in after}
    found = []
    for name in sorted({*old, *new}):
        texts = [_text(pins.get(name)) for pins in (old, new)]
        if texts[0] == texts[1] and name in old and name in new and old[name].file != new[name].file:
            texts = [
                f"{text} ({pins[name].file[0].sha256[:12]}…)" for text, pins in zip(texts, (old, new), strict=True)
            ]
        if texts[0] != texts[1]:
            found.append(Change(name=name, old=texts[0], new=texts[1]))
    return tuple(found)


def replaced(before: Lock, after: Lock) -> tuple[tuple[LockedFile, LockedFile], ...]:
    """Files whose hash changed while the name stayed, which no trustworthy index does."""
    old = {file.name: file for pin in (*before.pin, *before.build_pin) for file in pin.file}
    new = {file.name: file for pin in (*after.pin, *after.build_pin) for file in pin.file}
    both = ((old[name], new[name]) for name in sorted(old.keys() & new.keys()))
    return tuple((was, now) for was, now in both if was.sha256 != now.sha256)


def same(before: Lock, after: Lock) -> bool:
    """Whether two locks have the same decisions, regardless of the changes that they report."""
    return _bare(before) == _bare(after)


def after(previous: Lock | None, lock: Lock) -> Lock:
    """The lock with its changes since the previous one.

    If no decision changed, the changes reported by the previous lock are kept, so that locking again gives the same
    bytes.
    """
    if previous is None:
        return msgspec.structs.replace(lock, first=True)
    if same(previous, lock):
        return msgspec.structs.replace(lock, first=previous.first, change=previous.change)
    return msgspec.structs.replace(lock, change=changes(previous.pin, lock.pin))


def _bare(lock: Lock) -> tuple[object, ...]:
    return (tuple(map(_decided, lock.pin)), tuple(map(_decided, lock.build_pin)))


def _decided(pin: LockedPin) -> LockedPin:
    """A pin without its requirements and why its source is trusted, which depends on the network of the day."""
    git = pin.git and msgspec.structs.replace(pin.git, trust=None)
    return msgspec.structs.replace(pin, requires=(), build_requires=(), fact_requires={}, git=git)


def _text(pin: LockedPin | None) -> str:
    if pin is None:
        return ""
    return f"{pin.version} ({pin.git.commit[:12]})" if pin.git is not None else pin.version
