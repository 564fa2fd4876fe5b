"""What `lock` prints at the end."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from resolver.errors import shown
from resolver.i18n import translate
from resolver.model.lock import Change, Lock
from resolver.model.message import Message
from resolver.model.problem import Problem
from resolver.model.text import Language
from resolver.report.text import COLUMNS, one_line, padded, width, wrapped

_CHANGES = 10


def lock_json(lock: Lock, folder: Path, *, moved: bool) -> dict[str, Any]:
    """The result of a target for `--json`. `pins` is what scripts need; the rest is in lock.toml.

    `moved` tells whether a pin changed in this run; the lock itself keeps the changes of the last run that had any.
    """
    return {
        "status": "locked",
        "stack": lock.stack,
        "target": lock.target.name,
        "folder": str(folder),
        "pins": {pin.name: pin.version for pin in lock.pin},
        "warnings": [translate(warning, "en") for warning in lock.all_warnings],
        "changes": [{"name": row.name, "old": row.old, "new": row.new} for row in lock.change if moved],
    }


def summary(
    lock: Lock,
    problem: Problem,
    folder: Path,
    language: Language,
    *,
    written: bool,
    moved: bool,
    told: Collection[Message] = (),
    columns: int = COLUMNS,
) -> str:
    """The final summary on a terminal: what was locked, what changed, what to do next.

    `moved` tells whether a pin changed in this run; `told` are warnings already shown with another target; `columns` is
    the longest line of prose.
    """
    built = [pin.name for pin in lock.pin if pin.mode != "wheels"]
    size = translate(
        "cli.distributions", language, len(lock.pin), stages=translate("cli.stages", language, len(lock.stage))
    )
    sources = translate("cli.built", language, count=len(built), names=", ".join(built)) if built else ""
    lines = [translate("cli.locked", language, stack=lock.stack, target=problem.target, size=size, sources=sources)]
    asked = [ask.need.name for ask in problem.stack.asks if hasattr(ask.need, "name")]
    lines += wrapped(
        ", ".join(f"{pin.name} {pin.version}" for pin in lock.pin if pin.name in asked), "  ", "  ", columns
    )
    lines += _changed(lock, folder, language, columns, written=written, moved=moved)
    lines += _cautions(lock, language, told, columns)
    if lock.notes:
        lines.append(translate("cli.notes", language))
    for note in lock.notes:
        lines += _item(note, language, columns)
    lines += [
        translate(line, language, folder=folder)
        for line in ("cli.next", "cli.read", "cli.try", "cli.install", "cli.use")
    ]
    return "\n".join(lines) + "\n"


def _changed(lock: Lock, folder: Path, language: Language, columns: int, *, written: bool, moved: bool) -> list[str]:
    if not written:
        return [translate("cli.unchanged", language, folder=folder)]
    if not moved or (not lock.first and not lock.change):
        return [translate("cli.no-pin-changed", language, folder=folder)]
    if lock.first:
        return [translate("cli.first", language, folder=folder)]
    moves = translate("comma", language).join(_move(row, language) for row in lock.change[:_CHANGES])
    if len(lock.change) > _CHANGES:
        moves += translate("cli.more-moves", language, count=len(lock.change) - _CHANGES)
    return wrapped(translate("cli.moved", language, len(lock.change), folder=folder, moves=moves), "", "  ", columns)


def _move(change: Change, language: Language) -> str:
    if not change.old:
        return translate("cli.came", language, name=change.name, version=change.new)
    if not change.new:
        return translate("cli.gone", language, name=change.name, version=change.old)
    return translate("cli.move", language, name=change.name, old=change.old, new=change.new)


def _cautions(lock: Lock, language: Language, told: Collection[Message], columns: int) -> Iterator[str]:
    new = [warning for warning in lock.all_warnings if warning not in told]
    if lock.all_warnings:
        known = len(lock.all_warnings) - len(new)
        some = translate("cli.some-told", language, count=known) if known and new else ""
        above = some or (translate("cli.all-told", language) if known else "")
        end = translate("cli.colon", language) if new else translate("cli.stop", language)
        yield f"{translate('cli.warnings', language, len(lock.all_warnings))}{above}{end}"
    for warning in new:
        yield from _item(warning, language, columns)


def _item(message: Message, language: Language, columns: int) -> list[str]:
    return wrapped(one_line(translate(message, language)), "  - ", "    ", columns)


KINDS: Final = ("locked", "without-a-solution", "undecided", "failed")


class Row(NamedTuple):
    """The result of one target, a line in the table of several. `kind` is what it is counted as."""

    stack: str
    target: str
    seconds: float
    changes: str
    outcome: str
    kind: str


def table(rows: Sequence[Row], language: Language) -> str:
    """A line for each target; the outcome comes last because it may be long."""
    cells = [
        tuple(
            translate(f"cli.column-{name}", language) for name in ("stack", "target", "seconds", "changes", "outcome")
        )
    ]
    cells += [
        (shown(row.stack), shown(row.target or "-"), f"{row.seconds:.1f}", row.changes, shown(row.outcome))
        for row in rows
    ]
    widths = [max(width(row[column]) for row in cells) for column in range(4)]
    return "".join(
        f"{padded(stack, widths[0])}  {padded(target, widths[1])}  {' ' * (widths[2] - width(seconds))}{seconds}  "
        f"{padded(changes, widths[3])}  {outcome}\n"
        for stack, target, seconds, changes, outcome in cells
    )


def closing_line(rows: Sequence[Row], language: Language) -> str:
    """The number of each kind."""
    kinds = {
        kind: sum(row.kind == kind for row in rows) for kind in ("locked", "without-a-solution", "undecided", "failed")
    }
    counted = [translate(f"cli.kind-{kind}", language, count=number) for kind, number in kinds.items() if number]
    stacks = translate("cli.stacks", language, len({row.stack for row in rows}))
    targets = translate("cli.targets", language, sum(bool(row.target) for row in rows))
    return (
        translate(
            "cli.total", language, stacks=stacks, targets=targets, told=translate("comma", language).join(counted)
        )
        + "\n"
    )
