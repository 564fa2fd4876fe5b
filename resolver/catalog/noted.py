"""What a source archive notes of its requirements where it does not state them.

That is requires.txt, which setuptools writes when an archive is made and no standard knows; or a setup.py that
speaks of none. It is not static metadata, so no lock rests on it unless a fact repeats it; but it is what the
makers' own machine saw.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from resolver.catalog.metadata import MOST_REQUIREMENTS, MOST_TEXT, check_texts
from resolver.catalog.protocol import Catalog, UnusableFile
from resolver.model.release import File, Metadata

# what setup() is given that makes requirements, or may; a dictionary may hold anything
_REQUIRING = re.compile(r"install_requires|extras_require|setup_requires|[(,]\s*\*\*|pbr\b")

# what a setup.py asks of the machine that it runs on: another one may be told to need something else
_ASKING = re.compile(
    r"\b(?:platform\.(?:machine|system|platform|processor|uname)|sys\.(?:platform|version_info|maxsize)"
    r"|os\.(?:environ|getenv|uname)|torch\.(?:version|cuda|__version__))\b"
)


class Noted(NamedTuple):
    """PEP 508 lines, extras as in metadata (`extra == "x"`), the file that has them, and how they came there."""

    where: str
    lines: tuple[str, ...]
    how: str


def noted_in(file: File, catalog: Catalog) -> Noted | None:
    """What an archive has of it; None where it has nothing that metadata could say."""
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
    if _member(file, "pyproject.toml", catalog) is not None:  # its build may take them from anywhere
        return None
    script = _member(file, "setup.py", catalog)
    if script is None or _REQUIRING.search(script + (_member(file, "setup.cfg", catalog) or "")):
        return None
    return Noted(f"{file.filename}: setup.py", (), "neither its setup.py nor its setup.cfg mentions requirements")


def _how(file: File, catalog: Catalog) -> str:
    """How setuptools' note came there, and whether it may be about another machine only."""
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
    """The lines, unless metadata with them would be refused, or one has what a terminal acts on: people read them.

    There may be many more than are there: each repeats the marker of its section.
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
    """Its sections are `[extra:marker]`, either of which may be empty; before 36.2 markers stood in the lines, too."""
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
