"""What differs between two locks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from resolver.lock.previous import changes, without_trust
from resolver.model.lock import Lock, LockedFact, LockedPin
from resolver.model.message import Message, verbatim

# Fields of a lock that have a part of their own in a difference, or that say what changed earlier.
_NOT_OTHERS = frozenset(
    ("target", "requires", "pin", "build_pin", "fact", "warnings", "change", "first")
)


class DifferenceRow(Struct, frozen=True, omit_defaults=True):
    """How something differs between two locks."""

    # What differs; empty for a line of the stack or a warning, which have no name.
    name: str = ""
    # What it was; empty if it was added.
    old: str | Message = ""
    # What it is; empty if it was removed.
    new: str | Message = ""


_Pins = Iterable[LockedPin]
_Rows = Iterator[DifferenceRow]


class Difference(Struct, frozen=True, kw_only=True):
    """What differs between two locks, by parts of the lock in the order in which people read them.

    Facts and warnings that only moved to another line of a file do not differ.
    """

    # Properties of the target.
    target: tuple[DifferenceRow, ...]
    # The stack's lines.
    lines: tuple[DifferenceRow, ...]
    # Pins, by their versions.
    pins: tuple[DifferenceRow, ...]
    # Build tools, by their versions and other fields.
    tools: tuple[DifferenceRow, ...]
    # Files of pins whose version stayed, by their hashes.
    files: tuple[DifferenceRow, ...]
    # Other fields of pins whose version stayed.
    details: tuple[DifferenceRow, ...]
    # Facts in use.
    facts: tuple[DifferenceRow, ...]
    # Warnings.
    warnings: tuple[DifferenceRow, ...]
    # Further keys of lock.toml that differ.
    others: tuple[str, ...]

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in self.__struct_fields__)


def difference(before: Lock, after: Lock) -> Difference:
    """Return what differs in `after` from `before`."""
    fields = [name for name in Lock.__struct_fields__ if name not in _NOT_OTHERS]
    others = [name for name in fields if getattr(before, name) != getattr(after, name)]
    return Difference(
        target=tuple(_field_rows("", before.target, after.target)),
        lines=tuple(_text_rows(before.requires, after.requires)),
        pins=tuple(_pin_rows(before.pin, after.pin)),
        tools=tuple(_tool_rows(before, after)),
        files=tuple(_file_rows(before.pin, after.pin)),
        details=tuple(_detail_rows(before.pin, after.pin)),
        facts=tuple(_fact_rows(before.fact, after.fact)),
        warnings=tuple(_text_rows(before.all_warnings, after.all_warnings)),
        others=tuple(name.replace("_", "-") for name in others),
    )


def new_warnings(before: Lock | None, after: Lock) -> list[Message]:
    """Return the warnings that the lock before did not have, whatever the lines of their facts."""
    return _new(() if before is None else before.all_warnings, after.all_warnings)


def new_notes(before: Lock | None, after: Lock) -> list[Message]:
    """Return the notes that the lock before did not have, whatever the lines of the stack."""
    return _new(() if before is None else before.notes, after.notes)


def _new(before: Iterable[Message], after: Iterable[Message]) -> list[Message]:
    old = set(map(_without_places, before))
    return [text for text in after if _without_places(text) not in old]


def _without_places(value: Any) -> Any:
    """Return a message, or a value of one, without the lines of files."""
    match value:
        case Message(code, values):
            names = [name for name in values if name != "where"]
            return Message(code, {name: _without_places(values[name]) for name in names})
        case tuple():
            return tuple(map(_without_places, value))
        case _:
            return value


def _text_rows(before: Iterable[str | Message], after: Iterable[str | Message]) -> _Rows:
    old = {_without_places(text): text for text in before}
    new = {_without_places(text): text for text in after}
    for key, text in old.items():
        if key not in new:
            yield DifferenceRow(old=text)
    for key, text in new.items():
        if key not in old:
            yield DifferenceRow(new=text)


def _pin_rows(before: _Pins, after: _Pins) -> _Rows:
    for change in changes(before, after):
        yield DifferenceRow(change.name, change.old, change.new)


def _tool_rows(before: Lock, after: Lock) -> _Rows:
    """Yield the differences of the build tools, one environment after the other."""
    old_tools = {tools[0].builds: tools for tools in before.build_environments()}
    new_tools = {tools[0].builds: tools for tools in after.build_environments()}
    for builds in sorted(old_tools.keys() | new_tools.keys()):
        old, new = old_tools.get(builds, ()), new_tools.get(builds, ())
        yield from _pin_rows(old, new)
        yield from _detail_rows(old, new)


def _same_versions(before: _Pins, after: _Pins) -> Iterator[tuple[LockedPin, LockedPin]]:
    """Yield the pins whose version stayed, as they were and as they are."""
    old_pins = {(pin.name, pin.version): pin for pin in before}
    for new in after:
        old = old_pins.get((new.name, new.version))
        if old is not None:
            yield old, new


def _file_rows(before: _Pins, after: _Pins) -> _Rows:
    for old_pin, new_pin in _same_versions(before, after):
        old, new = _hashes(old_pin), _hashes(new_pin)
        for name in sorted(old.keys() | new.keys()):
            if old.get(name) != new.get(name):
                yield DifferenceRow(name, old.get(name, ""), new.get(name, ""))


def _hashes(pin: LockedPin) -> dict[str, str]:
    """Return the beginning of the hash of each file, by the file's name."""
    return {file.name: f"{file.sha256[:12]}…" for file in pin.file}


def _detail_rows(before: _Pins, after: _Pins) -> _Rows:
    """Yield the fields that differ; files and trust in a source are told as files and warnings."""
    for old, new in _same_versions(before, after):
        old_details = replace(without_trust(old), file=())
        new_details = replace(without_trust(new), file=())
        yield from _field_rows(new.name, old_details, new_details)


def _fact_rows(before: Iterable[LockedFact], after: Iterable[LockedFact]) -> _Rows:
    old_facts = {fact.id: fact for fact in before}
    new_facts = {fact.id: fact for fact in after}
    for name in sorted(old_facts.keys() | new_facts.keys()):
        old, new = old_facts.get(name), new_facts.get(name)
        if old is not None and new is not None:
            yield from _field_rows(name, old, replace(new, where=old.where))
        elif old is not None:
            yield DifferenceRow(name, old=verbatim(old.reason, old.reason_zh))
        elif new is not None:
            yield DifferenceRow(name, new=verbatim(new.reason, new.reason_zh))


def _field_rows(name: str, before: Struct, after: Struct) -> _Rows:
    """Yield a row for each field that differs, with the values that only one of the two has."""
    prefix = f"{name}: " if name else ""
    for field in before.__struct_fields__:
        old, new = getattr(before, field), getattr(after, field)
        if old == new:
            continue
        old_texts, new_texts = _texts(old), _texts(new)
        yield DifferenceRow(
            prefix + field.replace("_", "-"),
            ", ".join(text for text in old_texts if text not in new_texts),
            ", ".join(text for text in new_texts if text not in old_texts),
        )


def _texts(value: Any) -> list[str]:
    """Return the value of a field as texts, one for each of its elements."""
    match value:
        case None:
            return []
        case Struct():
            return _texts(to_builtins(value))
        case dict():
            return [f"{key} {', '.join(_texts(inner))}" for key, inner in value.items()]
        case list() | tuple():
            return [", ".join(_texts(inner)) for inner in value]
        case _:
            return [str(value)]
