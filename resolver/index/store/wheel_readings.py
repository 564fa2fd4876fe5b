"""What wheels of releases that facts pair say of themselves, as it ships with the facts.

It is for people who ask which versions go together. No lock rests on it: locking reads the wheels of the day.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from packaging.utils import NormalizedName

from resolver import files
from resolver.errors import InputError
from resolver.json_text import json_text

_LARGEST: Final = 16 << 20


class WheelReading(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One release: the names of all its wheels, and which releases of other projects one of them, `file`, requires."""

    version: str
    file: str
    sha256: str
    pins: tuple[str, ...]
    wheels: tuple[str, ...]


_decode: Final = msgspec.json.Decoder(list[WheelReading]).decode


def read_wheels(folder: Path, project: NormalizedName) -> list[WheelReading]:
    """What is recorded of a project, newest release first; nothing if there is no file. Raises InputError."""
    path = folder / f"{project}.json"
    try:
        return _decode(files.read(path, _LARGEST))
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"what is recorded of the wheels of {project} cannot be used",
            where=str(path),
            why=getattr(error, "strerror", None) or str(error),
            hint=files.advice(getattr(error, "errno", None), f"make it again: ascend-lock facts read {project} --anew"),
        ) from None


def write_wheels(rows: Sequence[WheelReading], folder: Path, project: NormalizedName) -> None:
    """Write a project's file atomically. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    content = json_text(msgspec.to_builtins(list(rows)), indent=1, sort_keys=False) + "\n"
    files.write(folder / f"{project}.json", content.encode())
