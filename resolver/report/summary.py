"""What `lock` prints at the end, and what differs between two locks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from resolver.i18n import translate
from resolver.lock.difference import Difference, DifferenceRow
from resolver.model.lock import Lock
from resolver.model.message import Message, first_of, joined, message
from resolver.model.problem import Problem
from resolver.model.requirement import Requirement
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

# The most changes that are listed.
_CHANGES = 10
_SENTENCE: Final = re.compile(r".+?(?:\.(?= )|。[）”]?|$)")
# What a column of names is called, by the part of a difference.
_NAME_COLUMNS: Final = {"pins": "project", "tools": "project", "files": "file", "facts": "fact"}
# The parts of a difference that have rows.
_PARTS: Final = Difference.__struct_fields__[:-1]
KINDS: Final = ("locked", "current", "stale", "without-a-solution", "undecided", "failed")


def lock_json(lock: Lock, folder: Path, *, moved: bool, written: Sequence[str]) -> dict[str, Any]:
    """Return the result of a target for `--json`.

    `pins` is what scripts need; the rest is in lock.toml. `moved` tells whether a pin changed in
    this run; the lock itself keeps the changes of the last run that had any. `written` are the
    files that this run changed.
    """
    changes = [{"name": row.name, "old": row.old, "new": row.new} for row in lock.change]
    return {
        "status": "locked",
        "stack": lock.stack,
        "target": lock.target.name,
        "folder": str(folder),
        "pins": {pin.name: pin.version for pin in lock.pin},
        "warnings": [translate(warning, "en") for warning in lock.all_warnings],
        "changes": changes if moved else [],
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
    notes: Sequence[Message] = (),
    columns: int = COLUMNS,
    color: bool = False,
) -> str:
    """Return the final summary on a terminal: what was locked, what changed, what to do next.

    What to do next is said of a first lock, and of one that is there unchanged.

    `written` tells whether a file changed in this run, and `moved` whether a pin did. Of the
    warnings, those in `shown` are shown, and `notes` of the lock's notes; `columns` is the longest
    line of prose.
    """
    lines = [styled(translate(_locked(lock, problem), language), color, "bold")]
    stack_lines = [root.need for root in problem.stack.requirements]
    requested = {need.name for need in stack_lines if isinstance(need, Requirement)}
    pins = [f"{pin.name} {pin.version}" for pin in lock.pin if pin.name in requested]
    lines += wrapped(", ".join(pins), "  ", "  ", columns)
    for sentence in as_of_sentences(lock):
        # An open day says nothing here; the report has it.
        if sentence.code != "as-of.open":
            lines += wrapped(translate(sentence, language), "", "  ", columns)
    change = _changed(lock, folder, written=written, moved=moved)
    text = translate(change, language)
    lines += wrapped(text, "", "  ", columns) if change.code == "cli.moved" else [text]
    lines += _warnings(lock, folder, language, shown=shown, columns=columns, color=color)
    if notes:
        lines.append(translate("cli.notes", language))
    for note in notes:
        lines += _item(one_line(translate(note, language)), columns)
    if (moved and lock.first) or not written:
        next_steps = ("cli.next", "cli.read", "cli.try", "cli.install", "cli.use")
        lines += [translate(code, language, folder=folder) for code in next_steps]
    return "\n".join(lines) + "\n"


def _locked(lock: Lock, problem: Problem) -> Message:
    stages = message("cli.stages", count=len(lock.stage))
    size = message("cli.distributions", count=len(lock.pin), stages=stages)
    built = [pin.name for pin in lock.pin if pin.mode != "wheels"]
    sources = message("cli.built", count=len(built), names=", ".join(built)) if built else ""
    target: str | Message = str(problem.target)
    if problem.stack.group:
        group = message("group.named", name=problem.stack.group)
        target = joined("conflict.clause", [str(problem.target), group])
    return message("cli.locked", stack=lock.stack, target=target, size=size, sources=sources)


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
    """Return that a pin moved, came or went, by its versions, one of which may be empty."""
    if not old:
        code = "cli.came"
    elif not new:
        code = "cli.gone"
    else:
        code = "cli.move"
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
    """Yield where all warnings are in full, then the first sentences of the `shown` ones."""
    if not lock.all_warnings:
        return
    if len(shown) == len(lock.all_warnings):
        code = "cli.warnings-all"
    elif shown:
        code = "cli.warnings-some"
    else:
        code = "cli.warnings-read"
    warnings = message("cli.warnings", count=len(lock.all_warnings))
    heading = message(code, warnings=warnings, folder=folder)
    yield styled(translate(heading, language), color, "yellow")
    for warning in shown:
        yield from _shortened(one_line(translate(warning, language)), columns)


def _shortened(text: str, columns: int) -> list[str]:
    """Return an item of the sentences that begin on its first line, each of them whole."""
    shown = ""
    for sentence in _SENTENCE.findall(text):
        shown += sentence
        if len(_item(shown, columns)) > 1:
            break
    return _item(shown, columns)


def _item(text: str, columns: int) -> list[str]:
    return wrapped(text, "  - ", "    ", columns)


class SummaryRow(NamedTuple):
    """The result of one target, a line in the table of several."""

    stack: str
    # Empty if a stack failed before its targets were known.
    target: str
    seconds: float
    changes: str
    outcome: str
    # What it is counted as, one of `KINDS`.
    kind: str


def table(rows: Sequence[SummaryRow], language: Language, columns: int, *, color: bool) -> str:
    """Return a line for each target, no wider than `columns`.

    The outcome comes last because it may be long.
    """
    names = ("stack", "target", "seconds", "changes", "outcome")
    cells = [[translate(f"cli.column-{name}", language) for name in names]]
    for row in rows:
        seconds = f"{row.seconds:.1f}"
        cells.append([row.stack, row.target or "-", seconds, row.changes, row.outcome])
    return "".join(f"{line}\n" for line in table_lines(cells, columns, color=color))


def closing_line(rows: Sequence[SummaryRow], language: Language) -> str:
    """Return the number of stacks, of targets and of targets of each kind."""
    kinds = Counter(row.kind for row in rows)
    counts = [message(f"cli.kind-{kind}", count=kinds[kind]) for kind in KINDS if kinds[kind]]
    stacks = message("cli.stacks", count=len({row.stack for row in rows}))
    targets = message("cli.targets", count=sum(bool(row.target) for row in rows))
    total = message("cli.total", stacks=stacks, targets=targets, counts=joined("comma", counts))
    return translate(total, language) + "\n"


# --- what differs between two locks


def difference_blocks(difference: Difference) -> Iterator[Block]:
    """Yield a table or a list for each part that differs, below headings of the third level."""
    if not difference:
        yield Paragraph((line(message("difference.none")),))
    for part in _PARTS:
        rows: Sequence[DifferenceRow] = getattr(difference, part)
        if rows:
            yield Heading(message(f"difference.{part}", count=len(rows)), level=3)
            yield _table(rows, _NAME_COLUMNS.get(part, "what")) if rows[0].name else _list(rows)
    if difference.others:
        names = joined("comma", difference.others)
        yield Paragraph((line(message("difference.others", names=names)),))


def _table(rows: Iterable[DifferenceRow], name_column: str) -> Table:
    head = tuple(message(f"report.column-{column}") for column in (name_column, "was", "is"))
    added, removed = message("report.came"), message("report.gone")
    return Table(head, tuple((row.name, row.old or added, row.new or removed) for row in rows))


def _list(rows: Iterable[DifferenceRow]) -> Items:
    items = []
    for row in rows:
        if row.new:
            items.append(Item(lines=(line(row.new),), label="+"))
        else:
            items.append(Item(lines=(line(row.old),), label="-"))
    return Items(tuple(items), most=len(items))


def difference_json(difference: Difference) -> dict[str, Any]:
    """Return the rows by part, each without those of its fields that are empty."""
    parts = {part: getattr(difference, part) for part in (*_PARTS, "others")}
    return {part: msgspec.to_builtins(translated(rows, "en")) for part, rows in parts.items()}
