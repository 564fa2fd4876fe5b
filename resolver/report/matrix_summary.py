"""What `matrix` prints of a solved grid, and of what changed against an earlier one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from resolver.i18n import translate
from resolver.model.matrix import LOCKED, Answer, Matrix, Outcome
from resolver.model.text import Language
from resolver.report.terminal import table_lines

_COLUMNS = ("use", "cann", "soc", "platform", "python")


def matrix_summary(matrix: Matrix, language: Language, columns: int) -> str:
    """How many cells came to what, the newest release for each machine and use, and what conflicts are about.

    The table is no wider than so many columns.
    """
    counts = Counter(answer.outcome for answer in matrix.answers)
    causes = Counter(answer.cause for answer in matrix.answers if answer.outcome is Outcome.CONFLICT)
    age = matrix.canns.index
    newest = sorted(matrix.frontier(), key=lambda one: (one.cell.use, -age(one.cell.cann), one.cell.machine))
    codes = (*(f"matrix.page-{name}" for name in _COLUMNS), "matrix.column-release", "matrix.column-practices")
    head = [translate(code, language) for code in codes]
    rows = [
        [*(getattr(one.cell, name) for name in _COLUMNS), one.cell.release, ", ".join(one.practices)] for one in newest
    ]
    lines = [translate("matrix.count", language, len(matrix.answers))]
    lines += [
        f"  {translate(f'matrix.{outcome.value}', language)}: {counts[outcome]}"
        for outcome in Outcome
        if counts[outcome]
    ]
    lines += [
        "",
        translate("matrix.newest", language, package=matrix.package),
        *table_lines([head, *rows], columns, "  "),
    ]
    if causes:
        lines += ["", translate("matrix.causes", language)]
        lines += [f"  {count:>4}  {cause}" for cause, count in causes.most_common()]
    return "\n".join(lines) + "\n"


def changed_cells(old: Matrix, new: Matrix) -> Iterator[tuple[str, Answer | None, Answer | None]]:
    """The cells that differ, by name, as they were and are; None for one that a grid does not have."""
    before, after = ({one.cell.name: one for one in matrix.answers} for matrix in (old, new))
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        if was is None or now is None or (was.outcome, was.pins) != (now.outcome, now.pins):
            yield name, was, now


def is_broken(was: Answer | None, now: Answer | None) -> bool:
    """Whether a cell locked, and no longer does."""
    return was is not None and was.outcome in LOCKED and now is not None and now.outcome not in LOCKED


def matrix_difference(old: Matrix, new: Matrix, language: Language) -> str:
    """What a later grid has otherwise: cells that no longer lock first, then those that do now, then other pins."""
    rows = list(changed_cells(old, new))
    if not rows:
        return translate("matrix.same", language, date=old.date) + "\n"
    lines = [translate("matrix.changed", language, len(rows), date=old.date)]
    rows.sort(key=lambda row: (not is_broken(row[1], row[2]), not is_broken(row[2], row[1]), row[0]))
    for name, was, now in rows:
        outcomes = [
            translate(f"matrix.{one.outcome.value}" if one else "matrix.absent", language) for one in (was, now)
        ]
        what = " -> ".join(dict.fromkeys(outcomes))
        moved = _moves(was, now) if was is not None and now is not None else []
        why = translate(now.reason, language) if now is not None and now.reason is not None else ""
        lines.append(f"  {name}: {what}{'; ' if moved or why else ''}{why or ', '.join(moved)}")
    return "\n".join(lines) + "\n"


def _moves(was: Answer, now: Answer) -> list[str]:
    return [
        f"{name} {was.pins.get(name, '-')} -> {now.pins.get(name, '-')}"
        for name in sorted(was.pins.keys() | now.pins.keys())
        if was.pins and now.pins and was.pins.get(name) != now.pins.get(name)
    ]
