"""Unofficial notes of a source archive about its requirements, if it does not state them.

These are requires.txt, which setuptools writes into archives and no standard covers, or a setup.py without any
requirements. Neither is static metadata, so no lock rests on them unless a fact repeats them; but they are what the
maintainers' machine saw.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from resolver.index.parse.metadata import MOST_REQUIREMENTS, MOST_TEXT, check_texts
from resolver.index.protocol import Catalog, UnusableFile
from resolver.model.release import File, Metadata

# arguments of setup() that add requirements, or may: a dictionary can hold anything
_REQUIRING = re.compile(r"install_requires|extras_require|setup_requires|[(,]\s*\*\*|pbr\b")

# what a setup.py asks about its machine: on another one it may require something else
_ASKING = re.compile(
    r"\b(?:platform\.(?:machine|system|platform|processor|uname)|sys\.(?:platform|version_info|maxsize)"
    r"|os\.(?:environ|getenv|uname)|torch\.(?:version|cuda|__version__))\b"
)


class Noted(NamedTuple):
    """PEP 508 lines, extras as in metadata (`extra == "x"`), the file that has them, and how they got there."""

    where: str
    lines: tuple[str, ...]
    how: str


def noted_in(file: File, catalog: Catalog) -> Noted | None:
    """The notes in an archive; None if it has none that could stand in metadata."""
    distribution = file.filename.rpartition("-")[0]
    for name in dict.fromkeys((distribution, distribution.replace("-", "_"))):
        for folder in (f"{name}.egg-info", f"src/{name}.egg-info"):
            content = _member(file, f"{folder}/requires.txt", catalog)
            if content is not None:
                lines = _sound(_lines(content), file.filename)
                where = f"{file.filename}: {folder}/requires.txt"
                return None if lines is None else Noted(where, lines, _how(file, catalog))
            if _member(file, f"{folder}/SOURCES.txt", catalog) is not None:  # so there was nothing to note
                return Noted(f"{file.filename}: {folder}", (), _how(file, catalog))
    if _member(file, "pyproject.toml", catalog) is not None:  # its build may get them from anywhere
        return None
    script = _member(file, "setup.py", catalog)
    if script is None or _REQUIRING.search(script + (_member(file, "setup.cfg", catalog) or "")):
        return None
    return Noted(f"{file.filename}: setup.py", (), "neither its setup.py nor its setup.cfg mentions requirements")


def _how(file: File, catalog: Catalog) -> str:
    """How setuptools' note got there, and whether it may apply to another machine only."""
    asked = sorted(set(_ASKING.findall(_member(file, "setup.py", catalog) or "")))
    if not asked:
        return "setuptools recorded this in it"
    return (
        "setuptools recorded this in it, but on its authors' machine, and its setup.py checks the machine "
        f"({', '.join(asked)})"
    )


def _member(file: File, path: str, catalog: Catalog) -> str | None:
    try:
        return catalog.member(file, path)
    except UnusableFile:
        return None


def _sound(lines: Iterator[str], filename: str) -> tuple[str, ...] | None:
    """The lines, unless metadata with them would be refused, or one has control characters: people read them.

    They may be much longer than the file, since each repeats the marker of its section.
    """
    taken: list[str] = []
    length = 0
    for line in lines:
        taken.append(line)
        length += len(line)
        if length > MOST_TEXT or len(taken) > MOST_REQUIREMENTS or not line.isprintable():
            return None
    try:
        check_texts(Metadata("", "", tuple(taken), "", ()), filename)
    except UnusableFile:
        return None
    return tuple(taken)


def _lines(content: str) -> Iterator[str]:
    """Sections are `[extra:marker]`, either part of which may be empty; before 36.2 lines had markers, too."""
    markers: list[str] = []
    for raw in content.splitlines():
        line = raw.strip()
        if line.startswith("[") and line.endswith("]"):
            extra, _, marker = line[1:-1].partition(":")
            markers = [f"({marker})"] if marker and extra else [marker] if marker else []
            markers += [f'extra == "{extra}"'] if extra else []
        elif line and markers:
            need, _, own = line.partition(";")
            yield f"{need.strip()} ; {' and '.join([*([f'({own.strip()})'] if own else []), *markers])}"
        elif line:
            yield line
