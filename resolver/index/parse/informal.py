"""Requirements of a source archive without static metadata.

They are as its maintainers' machine had them: requires.txt, which setuptools writes into archives
and no standard covers, or a setup.py without any. No lock uses them unless a fact repeats them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from resolver.index.parse.metadata import MOST_REQUIREMENTS, MOST_TEXT, check_texts
from resolver.index.protocol import Catalog, UnusableFile
from resolver.model.release import CoreMetadata, File

# Arguments of setup() that add requirements, or may, such as the content of a dictionary.
_REQUIRING: Final = re.compile(r"install_requires|extras_require|setup_requires|[(,]\s*\*\*|pbr\b")

# What a setup.py that depends on its machine uses.
_MACHINE_CHECKS: Final = re.compile(
    r"\b(?:platform\.(?:machine|system|platform|processor|uname)"
    r"|sys\.(?:platform|version_info|maxsize)"
    r"|os\.(?:environ|getenv|uname)"
    r"|torch\.(?:version|cuda|__version__))\b"
)


class InformalRequirements(NamedTuple):
    """The requirements recorded in an archive."""

    # The file that has them, for people.
    where: str
    # The requirements (PEP 508), as in metadata.
    lines: tuple[str, ...]
    # How they got there.
    how: str
    # The file that has them, as the source of a fact.
    source: str


def informal_requirements(file: File, catalog: Catalog) -> InformalRequirements | None:
    """Return the requirements in an archive; None if it has none that metadata could have."""
    for folder in _egg_info_folders(file):
        path = f"{folder}/requires.txt"
        content = _member(file, path, catalog)
        if content is not None:
            lines = _valid_lines(_requires_txt_lines(content), file.filename)
            if lines is None:
                return None
            how = _how_recorded(file, catalog)
            return InformalRequirements(
                f"{file.filename}: {path}", lines, how, f"{file.filename} {path}"
            )
        path = f"{folder}/SOURCES.txt"
        has_no_requirements = _member(file, path, catalog) is not None
        if has_no_requirements:
            how = _how_recorded(file, catalog)
            return InformalRequirements(
                f"{file.filename}: {folder}", (), how, f"{file.filename} {path}"
            )
    if _member(file, "pyproject.toml", catalog) is not None:
        return None  # its build backend may have them from anywhere
    script = _member(file, "setup.py", catalog)
    if script is None:
        return None
    settings = _member(file, "setup.cfg", catalog) or ""
    if _REQUIRING.search(script + settings):
        return None
    return InformalRequirements(
        f"{file.filename}: setup.py",
        (),
        "neither its setup.py nor its setup.cfg mentions requirements",
        f"{file.filename} setup.py",
    )


def _egg_info_folders(file: File) -> Iterator[str]:
    """Yield where setuptools may have written, by the name of the archive."""
    distribution = file.filename.rpartition("-")[0]
    for name in dict.fromkeys((distribution, distribution.replace("-", "_"))):
        yield f"{name}.egg-info"
        yield f"src/{name}.egg-info"


def _how_recorded(file: File, catalog: Catalog) -> str:
    """Return how setuptools recorded requirements, and whether for another machine perhaps."""
    how = "setuptools recorded this in it"
    script = _member(file, "setup.py", catalog) or ""
    checks = sorted(set(_MACHINE_CHECKS.findall(script)))
    if checks:
        how += (
            ", but on its authors' machine, "
            f"and its setup.py checks the machine ({', '.join(checks)})"
        )
    return how


def _member(file: File, path: str, catalog: Catalog) -> str | None:
    """Return a file of an archive, None if it cannot be used."""
    try:
        return catalog.member(file, path)
    except UnusableFile:
        return None


def _valid_lines(lines: Iterator[str], filename: str) -> tuple[str, ...] | None:
    """Return the lines; None if metadata with them would be unusable, or one does not print.

    They may be much longer than the file, since each repeats the marker of its section.
    """
    valid: list[str] = []
    length = 0
    for line in lines:
        valid.append(line)
        length += len(line)
        if length > MOST_TEXT or len(valid) > MOST_REQUIREMENTS or not line.isprintable():
            return None
    try:
        check_texts(CoreMetadata("", "", tuple(valid)), filename)
    except UnusableFile:
        return None
    return tuple(valid)


def _requires_txt_lines(content: str) -> Iterator[str]:
    """Yield the requirements of a requires.txt, with markers for their sections."""
    section_markers: list[str] = []
    for written_line in content.splitlines():
        line = written_line.strip()
        if line.startswith("[") and line.endswith("]"):
            section_markers = _section_markers(line[1:-1])
        elif line and section_markers:
            requirement, _, own_marker = line.partition(";")
            markers = [f"({own_marker.strip()})"] if own_marker else []
            markers += section_markers
            yield f"{requirement.strip()} ; {' and '.join(markers)}"
        elif line:
            yield line


def _section_markers(section: str) -> list[str]:
    """Return the markers that `extra:marker` stands for; each part may be empty."""
    extra, _, marker = section.partition(":")
    markers = []
    if marker:
        markers.append(f"({marker})" if extra else marker)
    if extra:
        markers.append(f'extra == "{extra}"')
    return markers
