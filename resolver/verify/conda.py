"""List the packages that conda has installed in this environment, from its own metadata."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Sequence
from typing import NamedTuple

from resolver.verify.findings import UnreadableError, read_text

# What the metadata of a distribution has if conda has installed it.
_INSTALLER = "/INSTALLER"


class CondaPackage(NamedTuple):
    """A package that conda has installed."""

    # The name of the JSON file about it in the folder conda-meta.
    name: str
    # The paths of its files; symbolic links in the prefix are resolved. None if its metadata cannot
    # be read.
    files: frozenset[str] | None


def conda_packages() -> Sequence[CondaPackage]:
    """Return the packages in this conda environment; none if it is not a conda environment.

    A virtual environment is never one, even if it has a folder conda-meta.
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
    """Return the packages that the files in a folder conda-meta describe.

    The second argument is the modification time of the folder, so that the cache is renewed.
    """
    names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
    return [CondaPackage(name, _files(folder, name)) for name in names]


def _files(folder: str, name: str) -> frozenset[str] | None:
    """Return the paths of the files of a package; None if its metadata cannot be read.

    It has none if pip has replaced the distribution: conda still lists its files, and those that
    the old RECORD did not list are left.
    """
    files = _listed_files(folder, name)
    return frozenset() if files and any(map(_is_replaced, files)) else files


def _is_replaced(path: str) -> bool:
    """Return whether a file is metadata that conda has installed, and that is no longer there.

    That is the INSTALLER of a distribution. It is missing, or names another installer.
    """
    if not path.endswith(f".dist-info{_INSTALLER}"):
        return False
    try:
        return (read_text(path) or "").strip() != "conda"
    except UnreadableError:
        return False


def _listed_files(folder: str, name: str) -> frozenset[str] | None:
    """Return the paths of the files that conda lists; None if its metadata cannot be read."""
    prefix = os.path.dirname(folder)
    try:
        files = json.loads(read_text(f"{folder}/{name}") or "")["files"]
        return frozenset(os.path.normpath(os.path.join(prefix, file)) for file in files)
    except (UnreadableError, ValueError, TypeError, KeyError, RecursionError):
        return None


def is_of_conda(path: str) -> bool:
    """Return whether a conda package lists a file.

    Symbolic links in the path of its folder must be resolved.
    """
    return any(path in (package.files or ()) for package in conda_packages())
