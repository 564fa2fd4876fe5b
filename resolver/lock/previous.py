"""The lock before: what solving keeps of it (`--upgrade`, `--upgrade-package`), and what differs from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final

from msgspec import Struct, to_builtins
from msgspec.structs import replace
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.errors import InputError, did_you_mean
from resolver.model.lock import Lock, LockedFact, LockedFile, LockedPin, PinChange
from resolver.model.message import Message, verbatim

Pins = dict[NormalizedName, Version]

# Fields of a lock that have a part of their own below, and those that tell of an earlier difference.
_TOLD = frozenset(("target", "requires", "pin", "build_pin", "fact", "warnings", "change", "first"))


class Preferences(Struct, frozen=True):
    """The releases to prefer: of the stack, and of each environment in which these archives are built."""

    pins: Pins = {}
    builds: dict[tuple[NormalizedName, ...], Pins] = {}


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
            {tuple(map(canonicalize_name, pins[0].builds)): versions(pins) for pins in previous.build_environments()},
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


def changes(before: Iterable[LockedPin], after: Iterable[LockedPin]) -> Iterator[PinChange]:
    """Projects added, removed or moved, by name. If a file changed but not the version, its hash is given."""
    old = {pin.name: pin for pin in before}
    new = {pin.name: pin for pin in after}
    for name in sorted({*old, *new}):
        was, now = _text(old.get(name)), _text(new.get(name))
        if was == now and old[name].file != new[name].file:
            was, now = (f"{version} ({pins[name].file[0].sha256[:12]}…)" for version, pins in ((was, old), (now, new)))
        if was != now:
            yield PinChange(name=name, old=was, new=now)


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


class DifferenceRow(Struct, frozen=True, omit_defaults=True):
    """What became of what has this name; `old` or `new` is empty where it came or went. Whole texts have no name."""

    name: str = ""
    old: str | Message = ""
    new: str | Message = ""


class Difference(Struct, frozen=True, kw_only=True):
    """What differs between two locks, part by part in the order in which people read them.

    `files` are those of pins that stayed, `details` what else changed of such pins. Facts and warnings that only moved
    to another line are the same. `others` names what else differs, as lock.toml does.
    """

    target: tuple[DifferenceRow, ...]
    lines: tuple[DifferenceRow, ...]
    pins: tuple[DifferenceRow, ...]
    tools: tuple[DifferenceRow, ...]
    files: tuple[DifferenceRow, ...]
    details: tuple[DifferenceRow, ...]
    facts: tuple[DifferenceRow, ...]
    warnings: tuple[DifferenceRow, ...]
    others: tuple[str, ...]

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in self.__struct_fields__)


def difference(before: Lock, after: Lock) -> Difference:
    """What differs from `before` in `after`."""
    tools = [{pins[0].builds: pins for pins in lock.build_environments()} for lock in (before, after)]
    both = [(tools[0].get(names, ()), tools[1].get(names, ())) for names in sorted({*tools[0], *tools[1]})]
    return Difference(
        target=tuple(_fields("", before.target, after.target)),
        lines=tuple(_gone_and_come(before.requires, after.requires)),
        pins=tuple(_pins(before.pin, after.pin)),
        tools=tuple(chain.from_iterable((*_pins(*pins), *_details(*pins)) for pins in both)),
        files=tuple(_files(before, after)),
        details=tuple(_details(before.pin, after.pin)),
        facts=tuple(_facts(before.fact, after.fact)),
        warnings=tuple(_gone_and_come(before.all_warnings, after.all_warnings)),
        others=tuple(
            name.replace("_", "-")
            for name in Lock.__struct_fields__
            if name not in _TOLD and getattr(before, name) != getattr(after, name)
        ),
    )


def new_warnings(before: Lock | None, after: Lock) -> list[Message]:
    """The warnings that the lock before did not have, wherever their facts stood in it."""
    known = set(map(_placeless, before.all_warnings)) if before is not None else set()
    return [warning for warning in after.all_warnings if _placeless(warning) not in known]


def _placeless(told: Any) -> Any:
    """What is told, without the lines where it is stated."""
    match told:
        case Message():
            return Message(told.code, {key: _placeless(one) for key, one in told.values.items() if key != "where"})
        case tuple():
            return tuple(map(_placeless, told))
        case _:
            return told


def _gone_and_come(before: Sequence[str | Message], after: Sequence[str | Message]) -> Iterator[DifferenceRow]:
    old, new = (dict(zip(map(_placeless, told), told, strict=True)) for told in (before, after))
    yield from (DifferenceRow(old=one) for key, one in old.items() if key not in new)
    yield from (DifferenceRow(new=one) for key, one in new.items() if key not in old)


def _pins(before: Iterable[LockedPin], after: Iterable[LockedPin]) -> Iterator[DifferenceRow]:
    return (DifferenceRow(change.name, change.old, change.new) for change in changes(before, after))


def _stayed(before: Iterable[LockedPin], after: Iterable[LockedPin]) -> Iterator[tuple[LockedPin, LockedPin]]:
    """Those of the same version in both."""
    old = {(pin.name, pin.version): pin for pin in before}
    return ((old[pin.name, pin.version], pin) for pin in after if (pin.name, pin.version) in old)


def _files(before: Lock, after: Lock) -> Iterator[DifferenceRow]:
    for pins in _stayed(before.pin, after.pin):
        old, new = ({file.name: f"{file.sha256[:12]}…" for file in pin.file} for pin in pins)
        for name in sorted({*old, *new}):
            if old.get(name) != new.get(name):
                yield DifferenceRow(name, old.get(name, ""), new.get(name, ""))


def _details(before: Iterable[LockedPin], after: Iterable[LockedPin]) -> Iterator[DifferenceRow]:
    for pins in _stayed(before, after):
        # files are told apart, and that a commit is trusted is a warning
        was, now = (replace(pin, file=(), git=pin.git and replace(pin.git, trust=None)) for pin in pins)
        yield from _fields(now.name, was, now)


def _facts(before: Iterable[LockedFact], after: Iterable[LockedFact]) -> Iterator[DifferenceRow]:
    old, new = ({fact.id: fact for fact in facts} for facts in (before, after))
    for name in sorted({*old, *new}):
        was, now = old.get(name), new.get(name)
        if was is not None and now is not None:
            yield from _fields(name, was, replace(now, where=was.where))
        else:
            yield DifferenceRow(
                name, *(verbatim(one.reason, one.reason_zh) if one is not None else "" for one in (was, now))
            )


def _fields(name: str, before: Struct, after: Struct) -> Iterator[DifferenceRow]:
    """What differs of something with this name; of several values in a field, those that only one of both has."""
    for field in before.__struct_fields__:
        if (was := getattr(before, field)) != (now := getattr(after, field)):
            old, new = _values(was), _values(now)
            yield DifferenceRow(
                ": ".join(filter(None, (name, field.replace("_", "-")))),
                ", ".join(one for one in old if one not in new),
                ", ".join(one for one in new if one not in old),
            )


def _values(value: Any) -> list[str]:
    match value:
        case None:
            return []
        case Struct():
            return _values(to_builtins(value))
        case dict():
            return [f"{key} {', '.join(_values(one))}" for key, one in value.items()]
        case list() | tuple():
            return [", ".join(_values(one)) for one in value]
        case _:
            return [str(value)]
