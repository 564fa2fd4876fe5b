"""Parsers of upstream's files, one in each module. `collect` chooses one by its name.

Each returns what a file says, as entries with the lines that say it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from resolver.audit.upstream.entry import Entry, TextFile
from resolver.audit.upstream.parsers import (
    build_system,
    dockerfile,
    markdown_table,
    path_names,
    requirement_lines,
    setup_script,
    submodules,
    version_file,
)

# A function that reads a file. The mapping has the names of the wanted columns, by their names in
# the file. It returns the entries with the values of these columns.
Parser = Callable[[TextFile, Mapping[str, str]], list[Entry]]

PARSERS: Final[Mapping[str, Parser]] = {
    "build-system": build_system.parse,
    "dockerfile": dockerfile.parse,
    "markdown-table": markdown_table.parse,
    "path-names": path_names.parse,
    "requirement-lines": requirement_lines.parse,
    "setup-script": setup_script.parse,
    "submodules": submodules.parse,
    "version-file": version_file.parse,
}
