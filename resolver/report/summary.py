"""Write the text that `lock` prints at the end, and the differences between two locks."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from resolver.ascend.names import PLUGINS
from resolver.i18n import translate
from resolver.lock.difference import Difference, DifferenceRow
from resolver.model.lock import Lock, PinChange
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
    Text,
    line,
    one_line,
    translated,
)
from resolver.report.explanation.sentences import target_line
from resolver.report.terminal import COLUMNS, styled, table_lines, wrapped

# How many changes are listed.
_CHANGES = 10
# The title of the column with names, by the part of a difference.
_NAME_COLUMNS: Final = {"pins": "project", "tools": "project", "files": "file", "facts": "fact"}
# The parts of a difference that are lists of rows.
_PARTS: Final = Difference.__struct_fields__[:-1]
KINDS: Final = ("locked", "current", "stale", "without-a-solution", "undecided", "failed")


def lock_json(lock: Lock, folder: Path, *, moved: bool, written: Sequence[str]) -> dict[str, Any]:
    """Return the result of locking one target, for `--json`.

    `moved` says whether a pin changed in this run: the lock itself keeps the changes of the last
    run that had any. `written` are the files that this run changed.
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
    """Return the text about a lock that is printed at the end: its size, changes and warnings.

    Next steps follow after a first lock, and after a run that changed no file. `written` says
    whether this run changed a file, and `moved` whether it changed a pin. `shown` are the warnings
    that are shown, and `notes` the notes. `columns` is the length of the longest line.
    """
    lines = [styled(translate(_locked(lock, problem), language), color, "bold")]
    stack_lines = [root.need for root in problem.stack.requirements]
    requested = {need.name for need in stack_lines if isinstance(need, Requirement)}
    # People ask for these first, even if only another project requires them.
    shown_pins = {*requested, *PLUGINS, *PLUGINS.values()}
    pins = [f"{pin.name} {pin.version}" for pin in lock.pin if pin.name in shown_pins]
    lines += wrapped(", ".join(pins), "  ", "  ", columns)
    for sentence in as_of_sentences(lock, in_short=True):
        # If no day is preferred, only the report says so.
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
        lines += [translate(step, language) for step in _next_steps(lock, problem, folder)]
    return "\n".join(lines) + "\n"


def _next_steps(lock: Lock, problem: Problem, folder: Path) -> list[Message]:
    """Return the lines with the next steps.

    Releases with a local version label have no wheel on an index, and install.sh takes them from a
    bundle alone.
    """
    bundle = shlex.join(("ascend-lock", "bundle", problem.stack.argument, "DIR"))
    steps = ["next", "read", "try", "install", "use"]
    if any(pin.label for pin in lock.pin):
        steps = ["next", "read", "bundle", "install-bundled", "use"]
    return [message(f"cli.{step}", folder=folder, command=bundle) for step in steps]


def _locked(lock: Lock, problem: Problem) -> Message:
    """Return the sentence that a target was locked, with the size of the lock."""
    stages = message("cli.stages", count=len(lock.stage))
    size = message("cli.distributions", count=len(lock.pin), stages=stages)
    built = [pin.name for pin in lock.pin if pin.mode != "wheels"]
    sources = message("cli.built", count=len(built), names=joined("comma", built)) if built else ""
    target = target_line(problem)
    return message("cli.locked", stack=lock.stack, target=target, size=size, sources=sources)


def _changed(lock: Lock, folder: Path, *, written: bool, moved: bool) -> Message:
    """Return the sentence about what this run changed."""
    if not written:
        return message("cli.unchanged", folder=folder)
    if not moved or (not lock.first and not lock.change):
        return message("cli.no-pin-changed", folder=folder)
    if lock.first:
        return message("cli.first", folder=folder)
    moves = first_of([pin_change(row.name, row.old, row.new) for row in lock.change], _CHANGES)
    return message("cli.moved", count=len(lock.change), folder=folder, moves=moves)


def pin_change(name: str, old: str, new: str) -> Message:
    """Return the words that a pin changed, was added or was removed.

    `old` is empty for a pin that was added, and `new` for one that was removed.
    """
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
    """Yield where all warnings can be read, then the `shown` ones."""
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
        # The last sentence often says what to do, so no warning is cut.
        yield from _item(one_line(translate(warning, language)), columns)


def _item(text: str, columns: int) -> list[str]:
    """Return a text as an item of a list."""
    return wrapped(text, "  - ", "    ", columns)


class SummaryRow(NamedTuple):
    """The result of locking one target, for the table of several targets."""

    # The name of the stack.
    stack: str
    # The name of the target; empty if the stack failed before its targets were known.
    target: str
    # How long solving took.
    seconds: float
    # The cell about changed pins.
    changes: str
    # The cell about the outcome.
    outcome: str
    # The kind of result that it is counted as, one of `KINDS`.
    kind: str


def table(rows: Sequence[SummaryRow], language: Language, columns: int, *, color: bool) -> str:
    """Return a table with a row for each target, no wider than `columns`.

    The outcome is the last column, because it may be long.
    """
    names = ("stack", "target", "seconds", "changes", "outcome")
    cells = [[translate(f"cli.column-{name}", language) for name in names]]
    for row in rows:
        seconds = f"{row.seconds:.1f}"
        cells.append([row.stack, row.target or "-", seconds, row.changes, row.outcome])
    return "".join(f"{line}\n" for line in table_lines(cells, columns, color=color))


def closing_line(rows: Sequence[SummaryRow], language: Language) -> str:
    """Return the sentence with the number of stacks, of targets, and of each kind of result."""
    kinds = Counter(row.kind for row in rows)
    counts = [message(f"cli.kind-{kind}", count=kinds[kind]) for kind in KINDS if kinds[kind]]
    stacks = message("cli.stacks", count=len({row.stack for row in rows}))
    targets = message("cli.targets", count=sum(bool(row.target) for row in rows))
    total = message("cli.total", stacks=stacks, targets=targets, counts=joined("comma", counts))
    return translate(total, language) + "\n"


# --- what differs between two locks


def difference_blocks(difference: Difference) -> Iterator[Block]:
    """Yield a table or a list for each part in which two locks differ, below a heading."""
    if not difference:
        yield Paragraph((line(message("difference.none")),))
    for part in _PARTS:
        rows: Sequence[DifferenceRow] = getattr(difference, part)
        if rows:
            yield Heading(message(f"difference.{part}", count=len(rows)), level=3)
            yield _table(rows, _NAME_COLUMNS.get(part, "what")) if rows[0].name else _list(rows)
    if difference.others:
        others = [message(f"difference.other-{name}") for name in difference.others]
        names = joined("comma", others)
        yield Paragraph((line(message("difference.others", names=names)),))


def _table(rows: Iterable[DifferenceRow], name_column: str) -> Table:
    """Return differences as a table: the name, the old value, the new value.

    The heading of the names is the message `report.column-` with `name_column` at its end.
    """
    head = tuple(message(f"report.column-{column}") for column in (name_column, "was", "is"))
    return Table(head, tuple((row.name, *before_and_now(row)) for row in rows))


def before_and_now(row: DifferenceRow | PinChange) -> tuple[Text, Text]:
    """Return the cells of a table for the old and the new value of something.

    Of what was added, the second cell says so; of what was removed, too.
    """
    if not row.old:
        return "-", message("report.came", value=row.new)
    return row.old, row.new or message("report.gone")


def _list(rows: Iterable[DifferenceRow]) -> Items:
    """Return a list of differences without names: `+` for an added text, `-` for a removed one."""
    items = []
    for row in rows:
        if row.new:
            items.append(Item(lines=(line(row.new),), label="+"))
        else:
            items.append(Item(lines=(line(row.old),), label="-"))
    return Items(tuple(items), most=len(items))


def difference_json(difference: Difference) -> dict[str, Any]:
    """Return the differences between two locks by part. Fields that are empty are left out."""
    parts = {part: getattr(difference, part) for part in (*_PARTS, "others")}
    return {part: msgspec.to_builtins(translated(rows, "en")) for part, rows in parts.items()}
