"""What conda has installed in this environment, as its own metadata says."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Sequence
from typing import NamedTuple

from resolver.verify.findings import UnreadableError, read_text


class CondaPackage(NamedTuple):
    """A package that conda has installed."""

    # The name of its file in conda-meta.
    name: str
    # The paths of its files, without links in the prefix; None if its metadata cannot be read.
    files: frozenset[str] | None


def conda_packages() -> Sequence[CondaPackage]:
    """Return the packages of this environment, none if it is not conda's.

    A virtual environment never is, whatever lies in it.
    """
    if sys.prefix != sys.base_prefix:
        return ()
    folder = f"{os.path.realpath(sys.prefix)}/conda-meta"
    try:
        return _packages_in(folder, os.stat(folder).st_mtime_ns)
    except (FileNotFoundError, NotADirectoryError):
        return ()


@functools.lru_cache(maxsize=1)
def _packages_in(folder: str, _: int) -> Sequence[CondaPackage]:
    """Return the packages that a folder describes, which was changed at a time."""
    names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
    return [CondaPackage(name, _files(folder, name)) for name in names]


def _files(folder: str, name: str) -> frozenset[str] | None:
    prefix = os.path.dirname(folder)
    try:
        files = json.loads(read_text(f"{folder}/{name}") or "")["files"]
        return frozenset(os.path.normpath(os.path.join(prefix, file)) for file in files)
    except (UnreadableError, ValueError, TypeError, KeyError, RecursionError):
        return None


def is_of_conda(path: str) -> bool:
    """Return whether conda lists a file, whose folder has no links in its path, as its own."""
    return any(path in (package.files or ()) for package in conda_packages())
