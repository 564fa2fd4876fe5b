"""What tells this program from another: for what is remembered from run to run."""

from __future__ import annotations

import sys
from functools import cache
from os import scandir
from os.path import dirname

import packaging


@cache
def program() -> str:
    """A text that differs where the program could answer differently.

    It holds name, size and time of change of each module, as developers change the program without changing its
    version, and the versions of Python and of the library that versions and markers are read by.
    """
    found = [f"{sys.version} {packaging.__version__}"]
    folders = [dirname(__file__)]  # noqa: PTH120 -- asked for at each start; pathlib is not loaded for it
    while folders:
        with scandir(folders.pop()) as entries:
            for entry in sorted(entries, key=lambda one: one.name):
                if entry.is_dir():
                    folders.append(entry.path)
                elif entry.name.endswith((".py", ".j2")):
                    seen = entry.stat()
                    found.append(f"{entry.path} {seen.st_size} {seen.st_mtime_ns}")
    return "\n".join(found)
