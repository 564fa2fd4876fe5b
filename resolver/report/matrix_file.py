"""matrix.json: a solved grid for programs, for the page, and to be compared with a later one."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec

from resolver import files
from resolver.errors import InputError
from resolver.i18n import LANGUAGES, translate
from resolver.json_text import json_text
from resolver.model.matrix import Answer, Cell, Matrix, Outcome, Use
from resolver.model.message import TEXT, Message

FORMAT: Final = 1
_LARGEST: Final = 64 * files.MIB


class _Row(msgspec.Struct, frozen=True, kw_only=True):
    """An answer. `pins`, `warnings` and `reason` are positions in the file's lists; `ways` are names of cells."""

    name: str
    cell: Cell
    outcome: Outcome
    stack: str
    practices: tuple[str, ...]
    pins: tuple[int, ...]
    warnings: tuple[int, ...]
    reason: int | None
    cause: str
    ways: tuple[str, ...]


class _File(msgspec.Struct, frozen=True, kw_only=True):
    """The file. `frontier` has the names of cells; `pins` are `name==version`, and texts are by language."""

    format: int
    package: str
    date: str
    inputs: str
    releases: tuple[str, ...]
    canns: tuple[str, ...]
    uses: tuple[Use, ...]
    frontier: tuple[str, ...]
    pins: tuple[str, ...]
    texts: tuple[dict[str, str], ...]
    cells: tuple[_Row, ...]


def matrix_json(matrix: Matrix) -> str:
    """The text of the file, the same for the same answers in any order."""
    answers = sorted(matrix.answers, key=lambda one: one.cell.name)
    pins = sorted({f"{name}=={version}" for one in answers for name, version in one.pins.items()})
    messages = {text: None for one in answers for text in (*one.warnings, *filter(None, (one.reason,)))}
    texts = {text: {language: translate(text, language) for language in LANGUAGES} for text in messages}
    at_pin = {pin: at for at, pin in enumerate(pins)}
    at_text = {text: at for at, text in enumerate(texts)}
    rows = tuple(
        _Row(
            name=one.cell.name,
            cell=one.cell,
            outcome=one.outcome,
            stack=one.stack,
            practices=one.practices,
            pins=tuple(at_pin[f"{name}=={version}"] for name, version in one.pins.items()),
            warnings=tuple(at_text[text] for text in one.warnings),
            reason=None if one.reason is None else at_text[one.reason],
            cause=one.cause,
            ways=tuple(way.cell.name for way in matrix.ways_out(one)) if one.reason is not None else (),
        )
        for one in answers
    )
    file = _File(
        format=FORMAT,
        package=matrix.package,
        date=matrix.date,
        inputs=matrix.inputs,
        releases=matrix.releases,
        canns=matrix.canns,
        uses=matrix.uses,
        frontier=tuple(one.cell.name for one in matrix.frontier()),
        pins=tuple(pins),
        texts=tuple(texts.values()),
        cells=rows,
    )
    lines: dict[str, Any] = msgspec.to_builtins(file)
    # a cell a line, so that a difference of two files is about cells
    parts = [f"  {json_text(key, indent=None)}: {_lines(value)}" for key, value in lines.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _lines(value: Any) -> str:
    if not isinstance(value, list):
        return json_text(value, indent=None)
    return "[\n" + ",\n".join(f"    {json_text(one, indent=None, sort_keys=False)}" for one in value) + "\n  ]"


def read_matrix(path: Path) -> Matrix:
    """Read such a file. Raises InputError."""
    try:
        file = msgspec.json.decode(files.read(path, _LARGEST), type=_File)
        if file.format != FORMAT:
            raise ValueError(f"it has format {file.format}, but this program reads {FORMAT}")
        return Matrix(
            package=file.package,
            date=file.date,
            inputs=file.inputs,
            releases=file.releases,
            canns=file.canns,
            uses=file.uses,
            answers=tuple(_answer(row, file) for row in file.cells),
        )
    except OSError as error:
        raise files.refusal(error, "the file cannot be read", path) from None
    except (ValueError, IndexError, RecursionError) as error:
        raise InputError(
            "the file is not a matrix", where=str(path), why=str(error), hint="write one: ascend-lock matrix"
        ) from None


def _answer(row: _Row, file: _File) -> Answer:
    def told(at: int) -> Message:
        return Message(TEXT, {**file.texts[at]})

    return Answer(
        cell=row.cell,
        outcome=row.outcome,
        stack=row.stack,
        practices=row.practices,
        pins=dict(file.pins[at].split("==", 1) for at in row.pins),
        warnings=tuple(map(told, row.warnings)),
        reason=None if row.reason is None else told(row.reason),
        cause=row.cause,
    )
