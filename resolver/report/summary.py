"""What `lock` prints at the end, and what differs between two locks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from resolver.i18n import translate
from resolver.lock.difference import Difference, DifferenceRow
from resolver.model.lock import Lock
from resolver.model.message import Message, first_of, joined, message
from resolver.model.problem import Problem
from resolver.model.text import Language
from resolver.report.as_of import as_of_sentences
from resolver.report.document import (
    Block,
    Heading,
    Item,
    Items,
    Paragraph,
    Table,
    line,
    one_line,
    translated,
)
from resolver.report.terminal import COLUMNS, styled, table_lines, wrapped

_CHANGES = 10
_LINES = 2  # of a warning
_NAME_COLUMNS: Final = {"pins": "project", "tools": "project", "files": "file", "facts": "fact"}
KINDS: Final = ("locked", "current", "stale", "without-a-solution", "undecided", "failed")


def lock_json(lock: Lock, folder: Path, *, moved: bool, written: Sequence[str]) -> dict[str, Any]:
    """The result of a target for `--json`. `pins` is what scripts need; the rest is in lock.toml.

    `moved` tells whether a pin changed in this run; the lock itself keeps the changes of the last
    run that had any. `written` are the files that this run changed.
    """
    return {
        "status": "locked",
        "stack": lock.stack,
        "target": lock.target.name,
        "folder": str(folder),
        "pins": {pin.name: pin.version for pin in lock.pin},
        "warnings": [translate(warning, "en") for warning in lock.all_warnings],
        "changes": [
            {"name": row.name, "old": row.old, "new": row.new} for row in lock.change if moved
        ],
        "written": list(written),
    }


def summary(
    lock: Lock,
    problem: Problem,
    folder: Path,
    language: Language,
    *,
    written: bool,
    moved: bool,
    shown: Sequence[Message],
    columns: int = COLUMNS,
    color: bool = False,
) -> str:
    """The final summary on a terminal: what was locked, what changed, what to do next.

    `moved` tells whether a pin changed in this run; of the warnings those of `shown` are; `columns`
    is the longest line of prose.
    """
    built = [pin.name for pin in lock.pin if pin.mode != "wheels"]
    stages = message("cli.stages", count=len(lock.stage))
    size = message("cli.distributions", count=len(lock.pin), stages=stages)
    sources = message("cli.built", count=len(built), names=", ".join(built)) if built else ""
    locked = message(
        "cli.locked", stack=lock.stack, target=problem.target, size=size, sources=sources
    )
    requested = [
        root.need.name for root in problem.stack.requirements if hasattr(root.need, "name")
    ]
    pins = ", ".join(f"{pin.name} {pin.version}" for pin in lock.pin if pin.name in requested)
    lines = [
        styled(translate(locked, language), color, "bold"),
        *wrapped(pins, "  ", "  ", columns),
    ]
    for sentence in as_of_sentences(lock):
        if sentence.code == "as-of.open":
            continue  # nothing is to be known of it here; the report says it
        lines += wrapped(translate(sentence, language), "", "  ", columns)
    change = _changed(lock, folder, written=written, moved=moved)
    text = translate(change, language)
    lines += wrapped(text, "", "  ", columns) if change.code == "cli.moved" else [text]
    lines += _warnings(lock, folder, language, shown=shown, columns=columns, color=color)
    lines += [translate("cli.notes", language)] if lock.notes else []
    lines += [line for note in lock.notes for line in _item(note, language, columns)]
    next_steps = ("cli.next", "cli.read", "cli.try", "cli.install", "cli.use")
    lines += [translate(code, language, folder=folder) for code in next_steps]
    return "\n".join(lines) + "\n"


def _changed(lock: Lock, folder: Path, *, written: bool, moved: bool) -> Message:
    if not written:
        return message("cli.unchanged", folder=folder)
    if not moved or (not lock.first and not lock.change):
        return message("cli.no-pin-changed", folder=folder)
    if lock.first:
        return message("cli.first", folder=folder)
    moves = first_of([pin_change(row.name, row.old, row.new) for row in lock.change], _CHANGES)
    return message("cli.moved", count=len(lock.change), folder=folder, moves=moves)


def pin_change(name: str, old: str, new: str) -> Message:
    """A pin that moved, came or went, by its versions, one of which may be empty."""
    code = "cli.move" if old and new else "cli.came" if new else "cli.gone"
    return message(code, name=name, old=old, new=new)


def _warnings(
    lock: Lock,
    folder: Path,
    language: Language,
    *,
    shown: Sequence[Message],
    columns: int,
    color: bool,
) -> Iterator[str]:
    """The warnings of `shown`, each in two lines at most, and where all of them are in full."""
    if not lock.all_warnings:
        return
    warnings = message("cli.warnings", count=len(lock.all_warnings))
    code = "all" if len(shown) == len(lock.all_warnings) else "some" if shown else "read"
    heading = translate(message(f"cli.warnings-{code}", warnings=warnings, folder=folder), language)
    yield styled(heading, color, "yellow")
    for warning in shown:
        yield from _shortened(_item(warning, language, columns), columns)


def _shortened(lines: Sequence[str], columns: int) -> Sequence[str]:
    """At most two lines, cut after a sentence, or else after the last word that there is room for."""
    if len(lines) <= _LINES:
        return lines
    *first, last = lines[:_LINES]
    sentence = re.match(r".*(?:\.(?= |$)|。)", last)
    return [*first, sentence[0] if sentence else f"{wrapped(last, '', '', columns - 1)[0]}…"]


def _item(text: Message, language: Language, columns: int) -> list[str]:
    return wrapped(one_line(translate(text, language)), "  - ", "    ", columns)


class SummaryRow(NamedTuple):
    """The result of one target, a line in the table of several. `kind` is what it is counted as."""

    stack: str
    target: str
    seconds: float
    changes: str
    outcome: str
    kind: str


def table(rows: Sequence[SummaryRow], language: Language, columns: int, *, color: bool) -> str:
    """A line for each target, no wider than `columns`; the outcome comes last because it may be long."""
    cells = [[translate(f"cli.column-{name}", language) for name in SummaryRow._fields[:-1]]]
    cells += [
        [row.stack, row.target or "-", f"{row.seconds:.1f}", row.changes, row.outcome]
        for row in rows
    ]
    return "".join(f"{line}\n" for line in table_lines(cells, columns, color=color))


def closing_line(rows: Sequence[SummaryRow], language: Language) -> str:
    """The number of each kind."""
    kinds = Counter(row.kind for row in rows)
    counts = [message(f"cli.kind-{kind}", count=kinds[kind]) for kind in KINDS if kinds[kind]]
    stacks = message("cli.stacks", count=len({row.stack for row in rows}))
    targets = message("cli.targets", count=sum(bool(row.target) for row in rows))
    total = message("cli.total", stacks=stacks, targets=targets, counts=joined("comma", counts))
    return translate(total, language) + "\n"


# --- what differs between two locks


def difference_blocks(difference: Difference) -> Iterator[Block]:
    """A table or a list for each kind of thing that differs, below headings of the third level."""
    if not difference:
        yield Paragraph((line(message("difference.none")),))
    added, removed = message("report.came"), message("report.gone")
    for kind in difference.__struct_fields__[:-1]:
        rows: Sequence[DifferenceRow] = getattr(difference, kind)
        if not rows:
            continue
        yield Heading(message(f"difference.{kind}", count=len(rows)), level=3)
        if rows[0].name:
            head = tuple(
                message(f"report.column-{name}")
                for name in (_NAME_COLUMNS.get(kind, "what"), "was", "is")
            )
            yield Table(
                head, tuple((row.name, row.old or added, row.new or removed) for row in rows)
            )
        else:
            items = [
                Item(lines=(line(row.new or row.old),), label="+" if row.new else "-")
                for row in rows
            ]
            yield Items(tuple(items), most=len(items))
    if difference.others:
        yield Paragraph(
            (line(message("difference.others", names=joined("comma", difference.others))),)
        )


def difference_json(difference: Difference) -> dict[str, Any]:
    """The rows by kind; each has of `name`, `old` and `new` those that are not empty."""
    return {
        kind: msgspec.to_builtins(translated(getattr(difference, kind), "en"))
        for kind in difference.__struct_fields__
    }
