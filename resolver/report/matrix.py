"""A solved grid: matrix.json for programs and for a later comparison, its page, and what `matrix` prints of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from resolver import files
from resolver.errors import InputError
from resolver.files import json_text
from resolver.i18n import LANGUAGES, templates, translate
from resolver.model.matrix import LOCKED, Answer, CellOutcome, Matrix
from resolver.model.message import TEXT
from resolver.model.text import Language
from resolver.report.template import render_page
from resolver.report.terminal import table_lines

FORMAT: Final = 2
_COLUMNS: Final = ("use", "cann", "soc", "platform", "python")


def matrix_json(matrix: Matrix) -> str:
    """The text of the file, the same for the same answers in any order.

    What cells share is in lists of its own, and in the cells by its position there: `pins`, which
    are `name==version`, and `texts` of warnings and reasons, by language. `frontier` and `ways` are
    names of cells.
    """
    answers = sorted(matrix.answers, key=lambda answer: answer.cell.name)
    pins = sorted(
        {f"{name}=={version}" for answer in answers for name, version in answer.pins.items()}
    )
    messages = {
        text: None
        for answer in answers
        for text in (*answer.warnings, *filter(None, (answer.reason,)))
    }
    at_pin = {pin: at for at, pin in enumerate(pins)}
    at_text = {text: at for at, text in enumerate(messages)}
    head: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(matrix, answers=()))
    del head["answers"]
    lines = {
        "format": FORMAT,
        **head,
        "frontier": [answer.cell.name for answer in matrix.frontier()],
        "pins": pins,
        "texts": [
            {language: translate(text, language) for language in LANGUAGES} for text in messages
        ],
        "cells": [
            {
                "name": answer.cell.name,
                **msgspec.to_builtins(answer),
                "pins": [at_pin[f"{name}=={version}"] for name, version in answer.pins.items()],
                "warnings": [at_text[text] for text in answer.warnings],
                "reason": None if answer.reason is None else at_text[answer.reason],
                "ways": [way.cell.name for way in matrix.ways_out(answer)]
                if answer.reason is not None
                else [],
            }
            for answer in answers
        ],
    }
    parts = [f'  "{key}": {_lines(value)}' for key, value in lines.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _lines(value: Any) -> str:
    """Each element of a list on a line, so that a difference of two files is about cells."""
    if not isinstance(value, (list, tuple)):
        return json_text(value, indent=None)
    return (
        "[\n" + ",\n".join(f"    {json_text(element, indent=None)}" for element in value) + "\n  ]"
    )


def read_matrix(path: Path) -> Matrix:
    """Read such a file. Raises InputError."""
    try:
        raw = msgspec.json.decode(files.read(path), type=dict[str, Any])
        if raw.get("format") != FORMAT:
            raise ValueError(f"it has format {raw.get('format')}, but this program reads {FORMAT}")
        texts = [{"code": TEXT, "values": translations} for translations in raw["texts"]]
        answers = [
            {
                **row,
                "pins": dict(raw["pins"][at].split("==", 1) for at in row["pins"]),
                "warnings": [texts[at] for at in row["warnings"]],
                "reason": None if row["reason"] is None else texts[row["reason"]],
            }
            for row in raw["cells"]
        ]
        return msgspec.convert({**raw, "answers": answers}, Matrix)
    except OSError as error:
        raise files.input_error(error, "the file cannot be read", path) from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            "the file is not a matrix",
            where=str(path),
            why=str(error),
            hint="write one: ascend-lock matrix",
        ) from None


def matrix_page(matrix: Matrix) -> str:
    """matrix.html: one page that needs no network, with the grid and the page's own texts in every language."""
    texts = {
        language: {"language": translate("language", language)}
        | templates("matrix.page-", language)
        | {outcome.value: translate(f"matrix.{outcome.value}", language) for outcome in CellOutcome}
        for language in LANGUAGES
    }
    return render_page(
        "matrix.html.j2",
        title=translate("matrix.page-title", LANGUAGES[0], package=matrix.package),
        scriptless={
            language: translate("matrix.page-scriptless", language) for language in LANGUAGES
        },
        matrix=_data(matrix_json(matrix)),
        texts=_data(json_text(texts, indent=None)),
    )


def _data(written: str) -> str:
    """JSON as the content of a script element, which nothing in it can end: `<` is only in its texts."""
    return written.replace("<", r"\u003c")


def matrix_summary(matrix: Matrix, language: Language, columns: int) -> str:
    """How many cells came to what, the newest release for each machine and use, and what conflicts are about.

    The table is no wider than so many columns.
    """
    counts = Counter(answer.outcome for answer in matrix.answers)
    causes = Counter(
        answer.cause for answer in matrix.answers if answer.outcome is CellOutcome.CONFLICT
    )
    age = matrix.canns.index
    newest = sorted(
        matrix.frontier(), key=lambda row: (row.cell.use, -age(row.cell.cann), row.cell.machine)
    )
    codes = (
        *(f"matrix.page-{name}" for name in _COLUMNS),
        "matrix.column-release",
        "matrix.column-practices",
    )
    head = [translate(code, language) for code in codes]
    rows = [
        [
            *(getattr(row.cell, name) for name in _COLUMNS),
            row.cell.release,
            ", ".join(row.practices),
        ]
        for row in newest
    ]
    lines = [translate("matrix.count", language, len(matrix.answers))]
    lines += [
        f"  {translate(f'matrix.{outcome.value}', language)}: {counts[outcome]}"
        for outcome in CellOutcome
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
    before, after = (
        {answer.cell.name: answer for answer in matrix.answers} for matrix in (old, new)
    )
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        if was is None or now is None or (was.outcome, was.pins) != (now.outcome, now.pins):
            yield name, was, now


def is_broken(was: Answer | None, now: Answer | None) -> bool:
    """Whether a cell locked, and no longer does."""
    return (
        was is not None and was.outcome in LOCKED and now is not None and now.outcome not in LOCKED
    )


def matrix_difference(old: Matrix, new: Matrix, language: Language) -> str:
    """What a later grid has otherwise: cells that no longer lock first, then those that do now, then other pins."""
    rows = list(changed_cells(old, new))
    if not rows:
        return translate("matrix.same", language, date=old.date) + "\n"
    lines = [translate("matrix.changed", language, len(rows), date=old.date)]
    rows.sort(
        key=lambda row: (not is_broken(row[1], row[2]), not is_broken(row[2], row[1]), row[0])
    )
    for name, was, now in rows:
        outcomes = [
            translate(f"matrix.{row.outcome.value}" if row else "matrix.absent", language)
            for row in (was, now)
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
