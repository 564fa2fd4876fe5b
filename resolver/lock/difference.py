"""Compare two locks, for `ascend-lock diff` and for the summary after locking again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from resolver.lock.previous import changes, without_trust
from resolver.model.lock import Lock, LockedFact, LockedPin, is_place
from resolver.model.message import Message, verbatim

# Fields of a lock that are not in `Difference.others`: a `Difference` has a field of its own for
# them, or they say what changed earlier.
_NOT_OTHERS = frozenset(
    ("target", "requires", "pin", "build_pin", "fact", "warnings", "change", "first")
)
# The line in the place of something that a file of TOML says.
_LINE: Final = re.compile(r"(?<=\.toml):\d+\Z")


class DifferenceRow(Struct, frozen=True, omit_defaults=True):
    """One difference between two locks: something that was added, removed or changed."""

    # The name of the thing; empty for a line of the stack and for a warning, which have no name.
    name: str = ""
    # Its value in the old lock; empty if it was added.
    old: str | Message = ""
    # Its value in the new lock; empty if it was removed.
    new: str | Message = ""


_Pins = Iterable[LockedPin]
_Rows = Iterator[DifferenceRow]


class Difference(Struct, frozen=True, kw_only=True):
    """All differences between two locks, by the parts of a lock in the order of a report.

    What only moved to another line of a file, such as a fact, is not a difference.
    """

    # The properties of the target that changed.
    target: tuple[DifferenceRow, ...]
    # The lines of the stack that were added or removed.
    lines: tuple[DifferenceRow, ...]
    # The pins that were added or removed, or whose version, commit or file changed.
    pins: tuple[DifferenceRow, ...]
    # The same for build tools, and their other fields that changed.
    tools: tuple[DifferenceRow, ...]
    # The files that changed, of pins whose version did not change. The values are hashes.
    files: tuple[DifferenceRow, ...]
    # The other fields that changed, of pins whose version did not change.
    details: tuple[DifferenceRow, ...]
    # The facts that were added or removed, and their fields that changed.
    facts: tuple[DifferenceRow, ...]
    # The warnings that were added or removed.
    warnings: tuple[DifferenceRow, ...]
    # The names of all other keys of lock.toml whose values changed.
    others: tuple[str, ...]

    def __bool__(self) -> bool:
        """Return whether there is any difference."""
        return any(getattr(self, name) for name in self.__struct_fields__)


def difference(before: Lock, after: Lock) -> Difference:
    """Return the differences between an old lock, `before`, and a new one, `after`."""
    fields = [name for name in Lock.__struct_fields__ if name not in _NOT_OTHERS]
    others = []
    for name in fields:
        old, new = getattr(before, name), getattr(after, name)
        if _without_places(old) != _without_places(new):
            others.append(name)
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
    """Return the warnings of a lock that the previous lock did not have; all without one.

    Warnings that differ only in the file and line of a fact are equal.
    """
    return _new(() if before is None else before.all_warnings, after.all_warnings)


def new_notes(before: Lock | None, after: Lock) -> list[Message]:
    """Return the notes of a lock that the previous lock did not have; all without one.

    Notes that differ only in the line of the stack are equal.
    """
    return _new(() if before is None else before.notes, after.notes)


def _new(before: Iterable[Message], after: Iterable[Message]) -> list[Message]:
    """Return the messages in `after` that are not in `before`, whatever places they name."""
    old = set(map(_without_places, before))
    return [text for text in after if _without_places(text) not in old]


def _without_places(value: Any) -> Any:
    """Return a value of a lock without the lines that it names, as something to compare.

    Messages are also without the files.
    """
    match value:
        case Message(code, values):
            names = [name for name in values if name != "where"]
            return Message(code, {name: _without_places(values[name]) for name in names})
        case Struct():
            return tuple(_without_places(getattr(value, n)) for n in value.__struct_fields__)
        case dict():
            return tuple((_without_places(key), value[key]) for key in value)
        case tuple():
            return tuple(map(_without_places, value))
        case str():
            return _LINE.sub("", value)
        case _:
            return value


def _text_rows(before: Iterable[str | Message], after: Iterable[str | Message]) -> _Rows:
    """Yield the texts that were removed, then those that were added."""
    old = {_without_places(text): text for text in before}
    new = {_without_places(text): text for text in after}
    for key, text in old.items():
        if key not in new:
            yield DifferenceRow(old=text)
    for key, text in new.items():
        if key not in old:
            yield DifferenceRow(new=text)


def _pin_rows(before: _Pins, after: _Pins) -> _Rows:
    """Yield the pins that were added, removed or changed, as `previous.changes` does."""
    for change in changes(before, after):
        yield DifferenceRow(change.name, change.old, change.new)


def _tool_rows(before: Lock, after: Lock) -> _Rows:
    """Yield the differences of the build tools, one build environment after the other."""
    old_tools = {tools[0].builds: tools for tools in before.build_environments()}
    new_tools = {tools[0].builds: tools for tools in after.build_environments()}
    for builds in sorted(old_tools.keys() | new_tools.keys()):
        old, new = old_tools.get(builds, ()), new_tools.get(builds, ())
        yield from _pin_rows(old, new)
        yield from _detail_rows(old, new)


def _same_versions(before: _Pins, after: _Pins) -> Iterator[tuple[LockedPin, LockedPin]]:
    """Yield the old and the new pin of each project whose version did not change."""
    old_pins = {(pin.name, pin.version): pin for pin in before}
    for new in after:
        old = old_pins.get((new.name, new.version))
        if old is not None:
            yield old, new


def _file_rows(before: _Pins, after: _Pins) -> _Rows:
    """Yield the files that were added, removed or changed, of pins whose version did not change."""
    for old_pin, new_pin in _same_versions(before, after):
        old, new = _hashes(old_pin), _hashes(new_pin)
        for name in sorted(old.keys() | new.keys()):
            if old.get(name) != new.get(name):
                yield DifferenceRow(name, old.get(name, ""), new.get(name, ""))


def _hashes(pin: LockedPin) -> dict[str, str]:
    """Return the first digits of the sha256 of each file of a pin, by file name."""
    return {file.name: f"{file.sha256[:12]}…" for file in pin.file}


def _detail_rows(before: _Pins, after: _Pins) -> _Rows:
    """Yield the fields that changed, of pins whose version did not change.

    Files are left out, which `_file_rows` compares, and trust in a source, which is a warning.
    """
    for old, new in _same_versions(before, after):
        yield from _field_rows(new.name, _details(old), _details(new))
        old_lines, new_lines = _overrides(old), _overrides(new)
        removed = [line for line in old_lines if line not in new_lines]
        added = [line for line in new_lines if line not in old_lines]
        if removed or added:
            yield DifferenceRow(f"{new.name}: overrides", ", ".join(removed), ", ".join(added))


def _details(pin: LockedPin) -> LockedPin:
    """Return a pin without its files, trust in its source, and the overrides of the stack."""
    facts = {origin: lines for origin, lines in pin.fact_requires.items() if not is_place(origin)}
    return replace(without_trust(pin), file=(), fact_requires=facts)


def _overrides(pin: LockedPin) -> list[str]:
    """Return the requirements that overrides of the stack add to a pin."""
    requirements: list[str] = []
    for origin, lines in pin.fact_requires.items():
        if is_place(origin):
            requirements.extend(lines)
    return requirements


def _fact_rows(before: Iterable[LockedFact], after: Iterable[LockedFact]) -> _Rows:
    """Yield the facts that were added or removed, with their reasons, and the changed fields."""
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
    """Yield a row for each field in which two structs of one type differ.

    Of a list, the row has only the elements that the other struct does not have. `name` is put
    before the name of the field.
    """
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
    """Return the value of a field as texts: one for each element of a list, table or struct."""
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
