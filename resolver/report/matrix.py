"""Write a solved grid as matrix.json, as a page, and as the text that `matrix build` prints.

A grid has a cell for each combination of a release, a use and a machine; see docs/matrix.md.
matrix.json is for programs, and for comparing with a later grid.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from resolver import files
from resolver.ascend.names import CHIP, TOOLKIT
from resolver.errors import InputError
from resolver.files import json_text
from resolver.i18n import LANGUAGES, templates, translate
from resolver.model.matrix import LOCKED, Answer, CellOutcome, Matrix
from resolver.model.message import TEXT, Message, joined, message
from resolver.model.text import Language
from resolver.phrase import cause, phrase
from resolver.report.document import in_every_language
from resolver.report.summary import pin_change
from resolver.report.template import render_page
from resolver.report.terminal import table_lines

FORMAT: Final = 2
_COLUMNS: Final = ("use", TOOLKIT, CHIP, "platform", "python")


def matrix_json(matrix: Matrix) -> str:
    """Return the text of matrix.json. It does not depend on the order of the answers.

    Pins (`name==version`) and texts that several cells have are in lists of their own, `pins` and
    `texts`; a cell has their positions there. `frontier` and `ways` are names of cells.
    """
    answers = sorted(matrix.answers, key=lambda answer: answer.cell.name)
    pins: set[str] = set()
    # The texts in the order of the cells.
    texts: dict[Message, None] = {}
    for answer in answers:
        pins.update(_pins(answer))
        texts |= dict.fromkeys(answer.warnings)
        if answer.reason is not None:
            texts[answer.reason] = None
    pin_positions = {pin: position for position, pin in enumerate(sorted(pins))}
    text_positions = {text: position for position, text in enumerate(texts)}

    def cell_json(answer: Answer) -> dict[str, Any]:
        reason = answer.reason
        ways = matrix.ways_out(answer) if reason is not None else []
        return {
            "name": answer.cell.name,
            **msgspec.to_builtins(answer),
            "pins": [pin_positions[pin] for pin in _pins(answer)],
            "warnings": [text_positions[text] for text in answer.warnings],
            "reason": text_positions[reason] if reason is not None else None,
            "ways": [way.cell.name for way in ways],
        }

    head: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(matrix, answers=()))
    del head["answers"]
    content = {
        "format": FORMAT,
        **head,
        "frontier": [answer.cell.name for answer in matrix.frontier()],
        "pins": list(pin_positions),
        "texts": [in_every_language(text) for text in texts],
        "cells": [cell_json(answer) for answer in answers],
    }
    parts = [f'  "{key}": {_lines(value)}' for key, value in content.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _pins(answer: Answer) -> list[str]:
    """Return the pins of a cell as `name==version`."""
    return [f"{name}=={version}" for name, version in answer.pins.items()]


def _lines(value: Any) -> str:
    """Return a value as JSON, with each element of a list on its own line.

    A difference of two files then shows which cells differ.
    """
    if not isinstance(value, (list, tuple)):
        return json_text(value, indent=None)
    lines = [f"    {json_text(element, indent=None)}" for element in value]
    return "[\n" + ",\n".join(lines) + "\n  ]"


def read_matrix(path: Path) -> Matrix:
    """Read a matrix.json. Raise InputError if it cannot be read, or is no such file."""
    try:
        raw = msgspec.json.decode(files.read(path), type=dict[str, Any])
        if raw.get("format") != FORMAT:
            raise ValueError(
                phrase(
                    "it has format {version}, but this program reads {known}",
                    version=raw.get("format"),
                    known=FORMAT,
                )
            )
        texts = [{"code": TEXT, "values": translations} for translations in raw["texts"]]
        answers = []
        for cell in raw["cells"]:
            reason = cell["reason"]
            answer = {
                **cell,
                "pins": dict(raw["pins"][position].split("==", 1) for position in cell["pins"]),
                "warnings": [texts[position] for position in cell["warnings"]],
                "reason": None if reason is None else texts[reason],
            }
            answers.append(answer)
        return msgspec.convert({**raw, "answers": answers}, Matrix)
    except OSError as error:
        raise files.input_error(error, phrase("the file cannot be read"), path) from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            phrase("the file is not a matrix"),
            where=str(path),
            why=cause(error),
            hint=phrase("write one: ascend-lock matrix build"),
        ) from None


def matrix_page(matrix: Matrix) -> str:
    """Return the text of matrix.html. The page has all data and texts, and needs no network."""
    texts = {}
    for language in LANGUAGES:
        texts[language] = {"language": translate("language", language)}
        texts[language] |= templates("matrix.page-", language)
        for outcome in CellOutcome:
            texts[language][outcome.value] = _outcome(outcome, language)
    return render_page(
        "matrix.html.j2",
        title=translate("matrix.page-title", LANGUAGES[0], package=matrix.package),
        scriptless=in_every_language(message("matrix.page-scriptless")),
        matrix=_data(matrix_json(matrix)),
        texts=_data(json_text(texts, indent=None)),
    )


def _data(written: str) -> str:
    """Return JSON as the content of a script element.

    No `<` is left in it, so nothing in it can end the element.
    """
    return written.replace("<", r"\u003c")


def matrix_summary(matrix: Matrix, language: Language, columns: int) -> str:
    """Return the text that `matrix build` prints about a grid.

    It has the number of cells with each outcome, the newest release for each machine and use, and
    the causes of conflicts. The table is at most `columns` wide.
    """
    counts = Counter(answer.outcome for answer in matrix.answers)
    lines = [translate("matrix.count", language, len(matrix.answers))]
    outcomes = [outcome for outcome in CellOutcome if counts[outcome]]
    lines += [f"  {_outcome(outcome, language)}: {counts[outcome]}" for outcome in outcomes]
    lines += ["", translate("matrix.newest", language, package=matrix.package)]
    lines += table_lines(_newest_rows(matrix, language), columns, "  ")
    conflicts = [answer for answer in matrix.answers if answer.outcome is CellOutcome.CONFLICT]
    causes = Counter(answer.cause for answer in conflicts)
    if causes:
        lines += ["", translate("matrix.causes", language)]
        lines += [f"  {count:>4}  {cause}" for cause, count in causes.most_common()]
    return "\n".join(lines) + "\n"


def _newest_rows(matrix: Matrix, language: Language) -> list[list[str]]:
    """Return the table of the newest release for each use and machine, newest CANN first."""
    codes = [f"matrix.page-{name}" for name in _COLUMNS]
    codes += ["matrix.column-release", "matrix.column-practices"]
    rows = [[translate(code, language) for code in codes]]
    age = matrix.toolkits.index
    cells = sorted(
        matrix.frontier(), key=lambda row: (row.cell.use, -age(row.cell.toolkit), row.cell.machine)
    )
    for answer in cells:
        row = [answer.cell.value(name) for name in _COLUMNS]
        rows.append([*row, answer.cell.release, ", ".join(answer.practices)])
    return rows


def changed_cells(old: Matrix, new: Matrix) -> Iterator[tuple[str, Answer | None, Answer | None]]:
    """Yield the name of each cell that differs between two grids, its old answer and its new one.

    An answer is None if that grid does not have the cell.
    """
    before = {answer.cell.name: answer for answer in old.answers}
    after = {answer.cell.name: answer for answer in new.answers}
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        if was is None or now is None or (was.outcome, was.pins) != (now.outcome, now.pins):
            yield name, was, now


def is_broken(was: Answer | None, now: Answer | None) -> bool:
    """Return whether a cell of the old grid had a lock, and has none in the new grid.

    False if one of the grids does not have the cell.
    """
    if was is None or now is None:
        return False
    return was.outcome in LOCKED and now.outcome not in LOCKED


def matrix_difference(old: Matrix, new: Matrix, language: Language) -> str:
    """Return what differs between two grids, as text.

    Cells that no longer lock come first, then cells that lock now, then cells with other pins.
    """
    cells = list(changed_cells(old, new))
    if not cells:
        return translate("matrix.same", language, date=old.date) + "\n"
    cells.sort(key=lambda cell: is_broken(cell[2], cell[1]), reverse=True)
    cells.sort(key=lambda cell: is_broken(cell[1], cell[2]), reverse=True)
    lines = [translate("matrix.changed", language, len(cells), date=old.date)]
    for name, was, now in cells:
        old_outcome = _outcome(was.outcome if was is not None else None, language)
        new_outcome = _outcome(now.outcome if now is not None else None, language)
        line = f"  {name}: {old_outcome}"
        if new_outcome != old_outcome:
            line += f" -> {new_outcome}"
        if now is not None and now.reason is not None:
            line += f"; {translate(now.reason, language)}"
        elif was is not None and now is not None and (moves := _moves(was, now)):
            line += f"; {translate(joined('comma', moves), language)}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def matrix_difference_json(old: Matrix, new: Matrix) -> list[dict[str, Any]]:
    """Return the cells that differ between two grids, by name.

    An outcome is None if that grid does not have the cell.
    """
    rows = []
    for name, was, now in changed_cells(old, new):
        before = None if was is None else was.outcome.value
        after = None if now is None else now.outcome.value
        rows.append({"name": name, "before": before, "after": after})
    return rows


def outcome_counts(matrix: Matrix) -> dict[str, int]:
    """Return how many cells have each outcome."""
    counts = Counter(answer.outcome for answer in matrix.answers)
    return {outcome.value: counts[outcome] for outcome in CellOutcome if counts[outcome]}


def _outcome(outcome: CellOutcome | None, language: Language) -> str:
    """Return an outcome in a language. None stands for a cell that a grid does not have."""
    return translate(f"matrix.{outcome.value if outcome is not None else 'absent'}", language)


def _moves(was: Answer, now: Answer) -> list[Message]:
    """Return the pins that changed; empty if one of the answers has no pins."""
    if not was.pins or not now.pins:
        return []
    moves = []
    for name in sorted(was.pins.keys() | now.pins.keys()):
        old, new = was.pins.get(name, ""), now.pins.get(name, "")
        if old != new:
            moves.append(pin_change(name, old, new))
    return moves
