"""Reader of conda environments (environment.yml): what pip and conda install."""

from __future__ import annotations

import re
from pathlib import Path

from resolver.config.requirement_files.conda_spec import take_conda
from resolver.config.requirement_files.encoding import with_any_mark
from resolver.config.requirement_files.file_requirements import (
    FileLine,
    FileRequirements,
    with_whole_lines,
)
from resolver.config.requirement_files.folder_bounds import FolderBounds
from resolver.config.requirement_files.requirements_txt import RequirementsFiles

_KEY = re.compile(r"([\w-]+)\s*:\s*([^#]*)")
_ITEM = re.compile(r"(\s*)-\s+(.*)")
_COMMENT = re.compile(r"(^|\s)#.*")
# A whole item in quotes. Two single quotes in single quotes stand for one. Other escapes are not
# supported.
_SINGLE_QUOTED = re.compile(r"'((?:[^']|'')*)'\s*(?:\s#.*)?")
_DOUBLE_QUOTED = re.compile(r'"([^"\\]*)"\s*(?:\s#.*)?')


def read_environment(path: Path, result: FileRequirements, bounds: FolderBounds) -> None:
    """Add the packages of a conda environment to `result`, and the requirements for pip.

    They are the items of `dependencies` and those below `- pip:`, one in each line, as conda writes
    them. Raises InputError.
    """
    reader = _EnvironmentReader(path, result, bounds)
    name = str(path)
    text = bounds.text(bounds.inside(path, name), name, name, with_any_mark)
    for number, line in enumerate(with_whole_lines(text).splitlines(), 1):
        reader.read(line, f"{path}:{number}")


class _EnvironmentReader:
    """Reads an environment.yml line by line."""

    def __init__(self, path: Path, result: FileRequirements, bounds: FolderBounds) -> None:
        """Take the path of the file, and the result to which requirements are added."""
        self._folder = path.parent
        self._result = result
        self._requirements = RequirementsFiles(result, bounds)
        # The top-level key of the section that contains the current line.
        self._section = ""
        # The indentation of `- pip:` while the lines below it are read; otherwise None.
        self._pip_indentation: int | None = None

    def read(self, text: str, where: str) -> None:
        """Process a line of the file, whose place is `where`.

        Packages and requirements are added to the result. Other dependencies are left out.
        """
        line = FileLine(text.strip(), where)
        if not self._is_understood(text, line) and self._section == "dependencies":
            self._result.leave_out(line, "import.conda")

    def _is_understood(self, text: str, line: FileLine) -> bool:
        """Process a line; return False if it cannot be read."""
        if key := _KEY.match(text):
            self._section = key[1]
            self._pip_indentation = None
            if key[1] == "name":
                self._result.name = key[2].strip().strip("'\"")
            has_value = key[2].strip() != ""
            return not has_value
        if item := _ITEM.match(text):
            value = _item_value(item[2])
            return value is not None and self._take_item(len(item[1]), value, line)
        return not line.text or line.text.startswith("#")

    def _take_item(self, indentation: int, value: str, line: FileLine) -> bool:
        """Process an item of a list; return False if it cannot be read."""
        if self._pip_indentation is not None and indentation > self._pip_indentation:
            self._requirements.take(value, line.where, self._folder, self._result.lines)
            return True
        self._pip_indentation = indentation if value == "pip:" else None
        return value == "pip:" or (
            self._section == "dependencies" and take_conda(value, line.where, self._result)
        )


def _item_value(text: str) -> str | None:
    """Return the text of an item without quotes and comment; None if its quotes cannot be read."""
    if single_quoted := _SINGLE_QUOTED.fullmatch(text):
        return single_quoted[1].replace("''", "'")
    if double_quoted := _DOUBLE_QUOTED.fullmatch(text):
        return double_quoted[1]
    if text.startswith(("'", '"')):
        return None
    return _COMMENT.sub("", text).strip()
