"""matrix.json: a solved grid for programs, for the page, and to be compared with a later one."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec

from resolver import files
from resolver.errors import InputError
from resolver.i18n import LANGUAGES, translate
from resolver.json_text import json_text
from resolver.model.matrix import Matrix
from resolver.model.message import TEXT

FORMAT: Final = 1
_LARGEST: Final = 64 * files.MIB


def matrix_json(matrix: Matrix) -> str:
    """The text of the file, the same for the same answers in any order.

    What cells share is in lists of its own, and in the cells by its position there: `pins`, which are `name==version`,
    and `texts` of warnings and reasons, by language. `frontier` and `ways` are names of cells.
    """
    answers = sorted(matrix.answers, key=lambda one: one.cell.name)
    pins = sorted({f"{name}=={version}" for one in answers for name, version in one.pins.items()})
    messages = {text: None for one in answers for text in (*one.warnings, *filter(None, (one.reason,)))}
    at_pin = {pin: at for at, pin in enumerate(pins)}
    at_text = {text: at for at, text in enumerate(messages)}
    head: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(matrix, answers=()))
    del head["answers"]
    lines = {
        "format": FORMAT,
        **head,
        "frontier": [one.cell.name for one in matrix.frontier()],
        "pins": pins,
        "texts": [{language: translate(text, language) for language in LANGUAGES} for text in messages],
        "cells": [
            {
                "name": one.cell.name,
                **msgspec.to_builtins(one),
                "pins": [at_pin[f"{name}=={version}"] for name, version in one.pins.items()],
                "warnings": [at_text[text] for text in one.warnings],
                "reason": None if one.reason is None else at_text[one.reason],
                "ways": [way.cell.name for way in matrix.ways_out(one)] if one.reason is not None else [],
            }
            for one in answers
        ],
    }
    parts = [f'  "{key}": {_lines(value)}' for key, value in lines.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _lines(value: Any) -> str:
    """Each element of a list on a line, so that a difference of two files is about cells."""
    if not isinstance(value, (list, tuple)):
        return json_text(value, indent=None)
    return "[\n" + ",\n".join(f"    {json_text(one, indent=None)}" for one in value) + "\n  ]"


def read_matrix(path: Path) -> Matrix:
    """Read such a file. Raises InputError."""
    try:
        raw = msgspec.json.decode(files.read(path, _LARGEST), type=dict[str, Any])
        if raw.get("format") != FORMAT:
            raise ValueError(f"it has format {raw.get('format')}, but this program reads {FORMAT}")
        texts = [{"code": TEXT, "values": one} for one in raw["texts"]]
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
        raise files.refusal(error, "the file cannot be read", path) from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            "the file is not a matrix", where=str(path), why=str(error), hint="write one: ascend-lock matrix"
        ) from None
