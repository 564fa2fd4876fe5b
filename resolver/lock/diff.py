"""What changed between two locks of the same target."""

from __future__ import annotations

from collections.abc import Iterable

from resolver.model.lock import Change, Lock, LockedPin


def changes(before: Iterable[LockedPin], after: Iterable[LockedPin]) -> tuple[Change, ...]:
    """Projects that came, went or moved, by name. A changed file of the same version is told with its hash."""
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


def same(before: Lock, after: Lock) -> bool:
    """Whether two locks decide the same, whatever they say of what changed before."""
    return _bare(before) == _bare(after)


def _bare(lock: Lock) -> tuple[object, ...]:
    return (lock.pin, lock.build_pin)


def _text(pin: LockedPin | None) -> str:
    return pin.version if pin is not None else ""
