"""Guess the requirements of a source archive that has no static metadata (PEP 643).

setuptools writes the requirements into requires.txt as it makes an archive. No standard covers
that file, and it shows what was required on the machine of the maintainers. An archive may also
have a setup.py that mentions no requirement. A lock uses such requirements only if a fact repeats
them; the checks of facts and the proposals for new facts call this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from resolver.index.parse.metadata import MOST_REQUIREMENTS, MOST_TEXT, check_texts
from resolver.index.protocol import Catalog, UnusableFile
from resolver.model.release import CoreMetadata, File

# Arguments of setup() that state requirements, or that may, such as `**arguments` and pbr.
_REQUIRING: Final = re.compile(r"install_requires|extras_require|setup_requires|[(,]\s*\*\*|pbr\b")

# Expressions by which a setup.py can depend on the machine that runs it.
_MACHINE_CHECKS: Final = re.compile(
    r"\b(?:platform\.(?:machine|system|platform|processor|uname)"
    r"|sys\.(?:platform|version_info|maxsize)"
    r"|os\.(?:environ|getenv|uname)"
    r"|torch\.(?:version|cuda|__version__))\b"
)


class InformalRequirements(NamedTuple):
    """The requirements that a source archive records in a form without a standard."""

    # The archive and the file in it that has them, for messages.
    where: str
    # The requirements (PEP 508), in the form of Requires-Dist.
    lines: tuple[str, ...]
    # An English clause that says how they were recorded.
    how: str
    # The archive and the file in it, as a fact cites its source.
    source: str


def informal_requirements(file: File, catalog: Catalog) -> InformalRequirements | None:
    """Return the requirements that a source archive records; None if they cannot be determined.

    The result has no lines if the archive shows that it requires nothing. Raises IndexFailure if
    the index does not answer.
    """
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
    """Yield the folders in which setuptools may have written requires.txt, from the file name."""
    distribution = file.filename.rpartition("-")[0]
    for name in dict.fromkeys((distribution, distribution.replace("-", "_"))):
        yield f"{name}.egg-info"
        yield f"src/{name}.egg-info"


def _how_recorded(file: File, catalog: Catalog) -> str:
    """Return an English clause that says how setuptools recorded the requirements.

    It has a warning if the setup.py checks the machine, since targets may have other requirements.
    """
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
    """Return the text of a file of an archive; None if it is missing or unusable."""
    try:
        return catalog.member(file, path)
    except UnusableFile:
        return None


def _valid_lines(lines: Iterator[str], filename: str) -> tuple[str, ...] | None:
    """Return the requirements; None if core metadata with them would be unusable.

    None also if one of them contains characters that do not print. They may be much longer than the
    file that they are from, since each repeats the marker of its section; so they are counted.
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
    """Yield the requirements in a requires.txt, in the form of Requires-Dist.

    A section `[extra:marker]` becomes markers of the requirements below it.
    """
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
    """Return the markers for the requirements in a section.

    `section` is `extra:marker`; each part may be empty.
    """
    extra, _, marker = section.partition(":")
    markers = []
    if marker:
        markers.append(f"({marker})" if extra else marker)
    if extra:
        markers.append(f'extra == "{extra}"')
    return markers
