"""Conda environments (environment.yml)."""

from __future__ import annotations

import re
from pathlib import Path

from resolver.config.requirement_files.file_requirements import FileLine, FileRequirements
from resolver.config.requirement_files.folder_bounds import FolderBounds
from resolver.config.requirement_files.requirements_txt import RequirementsFiles

_KEY = re.compile(r"([\w-]+)\s*:\s*([^#]*)")
_ITEM = re.compile(r"""(\s*)-\s+(["']?)(.*)""")
_COMMENT = re.compile(r"(^|\s)#.*")
_CONDA_PYTHON = re.compile(r"python(?:\s*=+\s*|\s+)(3\.[0-9]{1,2})")


def read_environment(path: Path, result: FileRequirements, bounds: FolderBounds) -> None:
    """Add what pip installs into a conda environment: `- pip:` with one item a line, as conda itself writes it.

    Raises InputError.
    """
    reader, pip_indent, section = RequirementsFiles(result, bounds), -1, ""
    text = bounds.text(bounds.inside(path, str(path)), str(path))
    for number, row in enumerate(text.splitlines(), 1):
        line = FileLine(row.strip(), f"{path}:{number}")
        if key := _KEY.match(row):
            section, pip_indent = key[1], -1
            is_read = not key[2].strip()
        elif item := _ITEM.match(row):
            value = item[3].partition(item[2])[0] if item[2] else _COMMENT.sub("", item[3]).strip()
            pip_indent = pip_indent if len(item[1]) > pip_indent else -1
            is_read = pip_indent >= 0 or value in ("pip", "python", "pip:")
            if pip_indent >= 0:
                reader.take(value, line.where, path.parent, result.lines)
            elif value == "pip:":
                pip_indent = len(item[1])
            elif python := _CONDA_PYTHON.match(value):
                result.python, is_read = result.python or python[1], True
        else:
            is_read = not line.text or line.text.startswith("#")
        if section == "dependencies" and not is_read:
            result.leave_out(line, "import.conda")
