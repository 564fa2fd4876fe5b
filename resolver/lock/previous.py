"""The previous lock: which of its pins are preferred (`--upgrade`, `--upgrade-package`), and what differs from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from msgspec import Struct, to_builtins
from msgspec.structs import replace
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.errors import InputError, did_you_mean
from resolver.model.lock import Lock, LockedFact, LockedFile, LockedPin, PinChange, SkippedRelease
from resolver.model.message import Message, verbatim

Pins = dict[NormalizedName, Version]

# Fields of a lock that have a part of their own in a difference, and those that say what changed
# earlier.
_NOT_OTHERS = frozenset(
    ("target", "requires", "pin", "build_pin", "fact", "warnings", "change", "first")
)


class Preferences(Struct, frozen=True):
    """The releases to prefer: of the stack, and of each environment in which these archives are built.

    `skipped` are newer releases that were skipped for those of the stack.
    """

    pins: Pins = {}
    builds: dict[tuple[NormalizedName, ...], Pins] = {}
    skipped: tuple[SkippedRelease, ...] = ()


class UpgradePolicy(Struct, frozen=True):
    """Whether all pins may move, or those of these projects."""

    upgrade: bool = False
    packages: frozenset[NormalizedName] = frozenset()

    def check(self, previous: Sequence[Lock]) -> None:
        """Raise InputError for a project to upgrade that no previous lock has: most likely a typing error."""
        names = {pin.name for lock in previous for pin in (*lock.pin, *lock.build_pin)}
        for name in sorted(self.packages - names) if previous else ():
            hint = did_you_mean(name, names, "see lock.toml for its projects")
            raise InputError(
                f"the lock has no project `{name}` to upgrade", where="--upgrade-package", hint=hint
            )

    def preferences(self, previous: Lock | None) -> Preferences:
        """The releases of the previous lock that are kept if they still fit."""
        if previous is None or self.upgrade:
            return Preferences()

        def versions(pins: Iterable[LockedPin]) -> Pins:
            every = ((canonicalize_name(pin.name), Version(pin.version)) for pin in pins)
            return {name: version for name, version in every if name not in self.packages}

        return Preferences(
            versions(previous.pin),
            {
                tuple(map(canonicalize_name, pins[0].builds)): versions(pins)
                for pins in previous.build_environments()
            },
            tuple(row for row in previous.skipped if row.project not in self.packages),
        )


KEEP_ALL: Final = UpgradePolicy()


def replaced_files(before: Lock, after: Lock) -> tuple[tuple[LockedFile, LockedFile], ...]:
    """Files whose hash changed while the name stayed, which no trustworthy index does."""
    old = {file.name: file for pin in (*before.pin, *before.build_pin) for file in pin.file}
    new = {file.name: file for pin in (*after.pin, *after.build_pin) for file in pin.file}
    common = sorted(old.keys() & new.keys())
    return tuple((old[name], new[name]) for name in common if old[name].sha256 != new[name].sha256)


def same_decisions(before: Lock, after: Lock) -> bool:
    """Whether two locks have the same decisions, regardless of the changes that they report."""
    return _decisions(before) == _decisions(after)


def with_changes(lock: Lock, previous: Lock | None) -> Lock:
    """The lock with its changes since the previous one.

    If no decision changed, the changes reported by the previous lock are kept, so that locking
    again gives the same bytes.
    """
    if previous is None:
        return replace(lock, first=True)
    if same_decisions(previous, lock):
        return replace(lock, first=previous.first, change=previous.change)
    return replace(lock, change=tuple(changes(previous.pin, lock.pin)))


def changes(before: Iterable[LockedPin], after: Iterable[LockedPin]) -> Iterator[PinChange]:
    """Projects added, removed or changed, by name.

    If a file changed but not the version, its hash is shown.
    """
    old = {pin.name: pin for pin in before}
    new = {pin.name: pin for pin in after}
    for name in sorted({*old, *new}):
        old_text, new_text = _version_text(old.get(name)), _version_text(new.get(name))
        if old_text == new_text and old[name].file != new[name].file:
            old_text, new_text = (
                f"{old_text} ({pins[name].file[0].sha256[:12]}…)" for pins in (old, new)
            )
        if old_text != new_text:
            yield PinChange(name=name, old=old_text, new=new_text)


def _decisions(lock: Lock) -> list[list[LockedPin]]:
    """The pins without their requirements and why a source is trusted, which depends on the network of the day."""
    return [
        [
            replace(
                pin,
                requires=(),
                build_requires=(),
                fact_requires={},
                git=pin.git and replace(pin.git, trust=None),
            )
            for pin in pins
        ]
        for pins in (lock.pin, lock.build_pin)
    ]


def _version_text(pin: LockedPin | None) -> str:
    if pin is None:
        return ""
    return f"{pin.version} ({pin.git.commit[:12]})" if pin.git is not None else pin.version


class DifferenceRow(Struct, frozen=True, omit_defaults=True):
    """How something differs; `old` or `new` is empty if it was added or removed.

    A line or a warning has no name.
    """

    name: str = ""
    old: str | Message = ""
    new: str | Message = ""


class Difference(Struct, frozen=True, kw_only=True):
    """What differs between two locks, by parts of the lock in the order in which people read them.

    `files` are those of pins whose version stayed, `details` their other fields. Facts and warnings
    that only moved to another line are the same. `others` are further keys of lock.toml that
    differ.
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
    old_tools, new_tools = (
        {pins[0].builds: pins for pins in lock.build_environments()} for lock in (before, after)
    )
    tools = [
        (old_tools.get(names, ()), new_tools.get(names, ()))
        for names in sorted({*old_tools, *new_tools})
    ]
    return Difference(
        target=tuple(_field_rows("", before.target, after.target)),
        lines=tuple(_text_rows(before.requires, after.requires)),
        pins=tuple(_pin_rows(before.pin, after.pin)),
        tools=tuple(row for pins in tools for row in (*_pin_rows(*pins), *_detail_rows(*pins))),
        files=tuple(_file_rows(before.pin, after.pin)),
        details=tuple(_detail_rows(before.pin, after.pin)),
        facts=tuple(_fact_rows(before.fact, after.fact)),
        warnings=tuple(_text_rows(before.all_warnings, after.all_warnings)),
        others=tuple(
            name.replace("_", "-")
            for name in Lock.__struct_fields__
            if name not in _NOT_OTHERS and getattr(before, name) != getattr(after, name)
        ),
    )


def new_warnings(before: Lock | None, after: Lock) -> list[Message]:
    """The warnings that the lock before did not have, whatever the lines of their facts."""
    old = set(map(_without_places, before.all_warnings)) if before is not None else set()
    return [warning for warning in after.all_warnings if _without_places(warning) not in old]


def _without_places(value: Any) -> Any:
    """A message, or a value of one, without the lines of files."""
    match value:
        case Message(code, values):
            return Message(
                code,
                {key: _without_places(inner) for key, inner in values.items() if key != "where"},
            )
        case tuple():
            return tuple(map(_without_places, value))
        case _:
            return value


def _text_rows(
    before: Sequence[str | Message], after: Sequence[str | Message]
) -> Iterator[DifferenceRow]:
    old, new = ({_without_places(text): text for text in texts} for texts in (before, after))
    yield from (DifferenceRow(old=text) for key, text in old.items() if key not in new)
    yield from (DifferenceRow(new=text) for key, text in new.items() if key not in old)


def _pin_rows(before: Iterable[LockedPin], after: Iterable[LockedPin]) -> Iterator[DifferenceRow]:
    return (DifferenceRow(change.name, change.old, change.new) for change in changes(before, after))


def _same_versions(
    before: Iterable[LockedPin], after: Iterable[LockedPin]
) -> Iterator[tuple[LockedPin, LockedPin]]:
    old = {(pin.name, pin.version): pin for pin in before}
    return ((old[pin.name, pin.version], pin) for pin in after if (pin.name, pin.version) in old)


def _file_rows(before: Iterable[LockedPin], after: Iterable[LockedPin]) -> Iterator[DifferenceRow]:
    for pins in _same_versions(before, after):
        old, new = ({file.name: f"{file.sha256[:12]}…" for file in pin.file} for pin in pins)
        for name in sorted({*old, *new}):
            if old.get(name) != new.get(name):
                yield DifferenceRow(name, old.get(name, ""), new.get(name, ""))


def _detail_rows(
    before: Iterable[LockedPin], after: Iterable[LockedPin]
) -> Iterator[DifferenceRow]:
    for pins in _same_versions(before, after):
        # files have rows of their own, and that a commit is trusted is a warning
        old, new = (
            replace(pin, file=(), git=pin.git and replace(pin.git, trust=None)) for pin in pins
        )
        yield from _field_rows(new.name, old, new)


def _fact_rows(
    before: Iterable[LockedFact], after: Iterable[LockedFact]
) -> Iterator[DifferenceRow]:
    old_facts, new_facts = ({fact.id: fact for fact in facts} for facts in (before, after))
    for name in sorted({*old_facts, *new_facts}):
        old, new = old_facts.get(name), new_facts.get(name)
        if old is not None and new is not None:
            yield from _field_rows(name, old, replace(new, where=old.where))
        else:
            reasons = (
                verbatim(fact.reason, fact.reason_zh) if fact is not None else ""
                for fact in (old, new)
            )
            yield DifferenceRow(name, *reasons)


def _field_rows(name: str, before: Struct, after: Struct) -> Iterator[DifferenceRow]:
    """A row for each field that differs; of several values, those that only one of the two has."""
    for field in before.__struct_fields__:
        if getattr(before, field) != getattr(after, field):
            old, new = _values(getattr(before, field)), _values(getattr(after, field))
            yield DifferenceRow(
                ": ".join(filter(None, (name, field.replace("_", "-")))),
                ", ".join(value for value in old if value not in new),
                ", ".join(value for value in new if value not in old),
            )


def _values(value: Any) -> list[str]:
    match value:
        case None:
            return []
        case Struct():
            return _values(to_builtins(value))
        case dict():
            return [f"{key} {', '.join(_values(inner))}" for key, inner in value.items()]
        case list() | tuple():
            return [", ".join(_values(inner)) for inner in value]
        case _:
            return [str(value)]
