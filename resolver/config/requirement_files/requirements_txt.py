"""Reader of requirements files of pip (requirements.txt), and of the files that they include."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import Final
from urllib.parse import parse_qs

import msgspec

from resolver.config.requirement_files.conda_spec import conda_lines, is_conda_list
from resolver.config.requirement_files.encoding import as_pip_reads
from resolver.config.requirement_files.file_requirements import (
    BUILD_OPTIONS,
    INDEX_OPTIONS,
    LONGEST_LINE,
    OPTIONS_AFTER,
    WITHOUT_MEANING,
    FileLine,
    FileRequirements,
    shown_option,
    shown_requirement,
    with_whole_lines,
)
from resolver.config.requirement_files.folder_bounds import FolderBounds
from resolver.config.requirement_files.pip_list import is_list, is_table, is_tool, rows
from resolver.errors import InputError
from resolver.model import text as texts
from resolver.phrase import phrase
from resolver.redaction import is_certain

# The options that follow a requirement in the same line. Other texts with a dash may be a part of a
# password.
_OPTIONS_AFTER = re.compile(
    rf"\s((?:{'|'.join(map(re.escape, sorted(OPTIONS_AFTER)))})(?:[\s=].*)?)\Z"
)
# The most characters of a path on Linux.
_LONGEST_PATH: Final = 4_096
_EDITABLE = re.compile(
    r"# Editable [A-Za-z ,]{1,60} \(([A-Za-z0-9._-]{1,100}==[0-9][\w.+!-]{0,100})\)"
)
_HASH = re.compile(r"--hash[= ]\S+")
_GIT = re.compile(
    r"(?:(?P<name>[^@;]+?)\s*@\s*)?(?P<address>git\+[^#\s]+)#(?P<fragment>\S+)(?P<rest>.*)"
)


class _SourceLine(msgspec.Struct, frozen=True):
    """A line of a requirements file that is still to be processed."""

    # The line without comments. Continued lines are joined.
    text: str
    # The place of the line, as file:line.
    where: str
    # The folder of the file. Paths in the line are relative to it.
    folder: Path
    # The list to which its requirement is added: `lines` or `constraints` of the result.
    into: list[FileLine]


class RequirementsFiles:
    """Reads requirements files and the files that they include, each file only once."""

    def __init__(self, result: FileRequirements, bounds: FolderBounds) -> None:
        """Take the result to which requirements are added, and the folder that may be read."""
        self._result = result
        self._bounds = bounds
        # The files that were read, each with whether it was read as a constraints file.
        self._seen: set[tuple[PurePath, bool]] = set()
        # What `pip freeze` says of the editable folders in the lines of these places.
        self._editables: dict[str, str] = {}

    def read(self, path: Path, into: list[FileLine]) -> None:
        """Add the requirements of a file to `into`, unless the file was read before.

        Raises InputError.
        """
        self._take_all(self._lines_of(path, str(path), into))

    def take(self, text: str, where: str, folder: Path, into: list[FileLine]) -> None:
        """Add the requirement in a line to `into`, or the requirements in a file that it includes.

        `where` is file:line of the line, and `folder` the folder to which its paths are relative.
        Raises InputError.
        """
        self._take_all(iter([_SourceLine(text, where, folder, into)]))

    def _take_all(self, source_lines: Iterator[_SourceLine]) -> None:
        """Process lines in their order. The lines of an included file replace the line that has it.

        The method is not recursive, since files may include each other to any depth.
        """
        pending = [source_lines]
        while pending:
            source_line = next(pending[-1], None)
            if source_line is None:
                pending.pop()
                continue
            included = self._take(source_line)
            if included is not None:
                pending.append(included)

    def _lines_of(self, path: Path, where: str, into: list[FileLine]) -> Iterator[_SourceLine]:
        """Return the lines of a file; none if it was read before. Raises InputError.

        `where` is the place that names the file.
        """
        inside = self._bounds.inside(path, where)
        key = (inside, into is self._result.constraints)
        if key in self._seen:
            return iter(())
        self._seen.add(key)
        content = with_whole_lines(self._bounds.text(inside, str(path), where, as_pip_reads))
        lines = content.split("\n")
        if is_table(lines):
            return self._listed_lines(path, lines, into)
        numbered = texts.file_lines(content)
        if is_conda_list(lines):
            conda_lines(lines, numbered, str(path), self._result)
            return iter(())
        source_lines = [
            _SourceLine(text, f"{path}:{number}", path.parent, into) for number, text in numbered
        ]
        self._editables.update(_editables(path, lines))
        return (
            self._without_tools(source_lines)
            if is_list(each.text for each in source_lines)
            else iter(source_lines)
        )

    def _without_tools(self, source_lines: Iterable[_SourceLine]) -> Iterator[_SourceLine]:
        """Yield the lines of `pip list --format=freeze` without pip's own tools."""
        for source_line in source_lines:
            if is_tool(source_line.text):
                line = FileLine(
                    source_line.text, source_line.where, shown_requirement(source_line.text)
                )
                self._result.leave_out(line, "import.tool")
            else:
                yield source_line

    def _listed_lines(
        self, path: Path, lines: Sequence[str], into: list[FileLine]
    ) -> Iterator[_SourceLine]:
        """Yield the lines of a table of `pip list`, as requirements.

        Editable distributions, pip's own tools and lines that cannot be read are left out.
        """
        for number, listed in rows(lines):
            where = f"{path}:{number}"
            if listed is None:
                self._result.leave_out(FileLine("", where), "import.unread")
                continue
            line = FileLine(listed.pin, where, shown_requirement(listed.pin))
            if listed.is_editable:
                self._result.leave_out(line, "import.folder")
            elif listed.is_tool:
                self._result.leave_out(line, "import.tool")
            else:
                yield _SourceLine(listed.pin, where, path.parent, into)

    def _take(self, source_line: _SourceLine) -> Iterator[_SourceLine] | None:
        """Process a line. Return the lines of the file that it includes, or None."""
        if len(source_line.text) > LONGEST_LINE:
            self._result.leave_out(FileLine("", source_line.where), "import.unread")
            return None
        text = " ".join(source_line.text.split())
        option, name = texts.file_option(text)
        if option in ("r", "c") and "://" not in name:
            if not name.isprintable() or len(name) > _LONGEST_PATH:
                raise InputError(
                    phrase("a file with such a name is not read"), where=source_line.where
                )
            into = self._result.constraints if option == "c" else source_line.into
            return self._lines_of(source_line.folder / name, source_line.where, into)
        if option == "e":
            self._take_editable(text, name, source_line)
        elif option:
            self._result.leave_out(
                FileLine(text, source_line.where, shown_option(text)), "import.elsewhere"
            )
        elif text.startswith("-"):
            self._leave_out_option(text, source_line.where)
        else:
            self._take_requirement(text, source_line)
        return None

    def _take_editable(self, text: str, name: str, source_line: _SourceLine) -> None:
        """Process a line with `-e`: add a git repository, and leave out a folder."""
        reference = _in_pep_508(name)
        if "git+" in reference:
            source_line.into.append(FileLine(reference, source_line.where))
        else:
            shown = self._editables.get(source_line.where) or shown_option(text)
            self._result.leave_out(FileLine(text, source_line.where, shown), "import.folder")

    def _take_requirement(self, text: str, source_line: _SourceLine) -> None:
        """Add the requirement in a line, count its hashes, and leave out its other options."""
        match = _OPTIONS_AFTER.search(text)
        requirement = text if match is None else text[: match.start()]
        options = "" if match is None else match[1]
        if not _is_certain_end(requirement, options):
            self._result.leave_out(FileLine("", source_line.where), "import.unread")
            return
        source_line.into.append(FileLine(_in_pep_508(requirement), source_line.where))
        other_options, hashes = _HASH.subn("", options)
        self._result.hashes += hashes
        if other_options.strip():
            self._leave_out_option(other_options.strip(), source_line.where)

    def _leave_out_option(self, text: str, where: str) -> None:
        """Leave out a line that begins with `-`, with a reason that depends on the option."""
        line = FileLine(text, where, shown_option(text))
        option = line.shown.partition(" ")[0]
        code = "import.option" if line.shown else "import.unread"
        if option in INDEX_OPTIONS:
            code = "import.index"
        elif option in BUILD_OPTIONS:
            code = "import.build-option"
        elif option in WITHOUT_MEANING:
            code = "import.run-option"
        self._result.leave_out(line, code)


def _is_certain_end(requirement: str, options: str) -> bool:
    """Return whether a requirement certainly ends where options seem to begin.

    If an `@` follows, they may be a part of the password of an address. It may also belong to the
    address of an index after the name of a project.
    """
    before_at, at_sign, _ = options.partition("@")
    is_name = not re.search("[:/@]", requirement)
    return not at_sign or (is_name and "://" in before_at)


def _editables(path: Path, lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the places of editable folders, each with the project and version of its comment.

    `pip freeze` writes `# Editable install with no version control (NAME==VERSION)` above them.
    """
    for number, line in enumerate(lines, 2):
        comment = _EDITABLE.fullmatch(line.rstrip())
        shown = shown_requirement(comment[1]) if comment is not None else ""
        if shown:
            yield f"{path}:{number}", shown


def _in_pep_508(text: str) -> str:
    """Return `NAME @ git+URL` (PEP 508) for a text of the form `git+URL#egg=NAME`.

    Any other text is returned unchanged. So is a text whose `#` may be a part of a password.
    """
    match = _GIT.fullmatch(text)
    if match is None or not is_certain(f"{match['address']}#{match['fragment']}"):
        return text
    options = parse_qs(match["fragment"])
    name = match["name"] or options.get("egg", [""])[0]
    if not name:
        return text
    folder = f"#subdirectory={options['subdirectory'][0]}" if "subdirectory" in options else ""
    return f"{name} @ {match['address']}{folder}{match['rest']}"
