"""Where Python looks for modules, and which files it runs when it starts, by its own site.py.

verify.py runs without site (`-S`), so that nothing of the environment runs before it is judged.
Then site does its work here, but what it would run is noted instead.
"""

from __future__ import annotations

import os
import site
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.machinery import PathFinder
from typing import NamedTuple

# Python imports these modules when it starts.
STARTUP_MODULES = ("sitecustomize", "usercustomize")


class PathFile(NamedTuple):
    """A `.pth` file that Python reads when it starts."""

    # Its path, the folder without links.
    path: str
    # Whether Python runs a line of it.
    runs: bool
    # The folders and archives that it adds to the search path.
    entries: Sequence[str]

    @property
    def folder(self) -> str:
        """Return the folder that it is in."""
        return os.path.dirname(self.path)


@dataclass
class SearchPath:
    """The folders and archives in which Python looks for modules, in its order."""

    # As they are on `sys.path`.
    entries: Sequence[str] = ()
    # Those of the interpreter itself, which has its standard library there.
    own: Sequence[str] = ()
    # The `.pth` files, in the order in which Python reads them.
    path_files: list[PathFile] = field(default_factory=list)

    @classmethod
    def of_this_python(cls) -> SearchPath:
        """Return the search path after what site does when Python starts; `sys.path` is the same.

        This Python was started without site.
        """
        found = cls(own=tuple(sys.path))
        with found._noting():
            site.main()
        found.entries = tuple(sys.path)
        return found

    @classmethod
    def of_folders(cls, folders: Sequence[str]) -> SearchPath:
        """Return the search path that has these folders alone as site-packages."""
        found = cls()
        path = sys.path[:]
        sys.path.clear()
        try:
            with found._noting():
                known: set[str] = set()
                for folder in folders:
                    site.addsitedir(folder, known)
            found.entries = tuple(sys.path)
        finally:
            sys.path[:] = path
        return found

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Let site note `.pth` files here and run nothing.

        Its functions look each other up, and `exec`, among the names of the module.
        """
        names = vars(site)
        replaced = {
            name: names[name] for name in ("addpackage", "execsitecustomize", "execusercustomize")
        }
        lines: list[str] = []

        def add(folder: str, name: str, known: set[str]) -> set[str] | None:
            lines.clear()
            first = len(sys.path)
            try:
                result: set[str] | None = replaced["addpackage"](folder, name, known)
            except Exception:
                # Python does not start with such a file
                result = known
            path = os.path.join(os.path.realpath(folder), name)
            # site reads those of a virtual environment twice
            if all(file.path != path for file in self.path_files):
                self.path_files.append(PathFile(path, bool(lines), tuple(sys.path[first:])))
            return result

        names.update(addpackage=add, exec=lines.append)
        names.update(execsitecustomize=_run_nothing, execusercustomize=_run_nothing)
        try:
            yield
        finally:
            names.update(replaced)
            del names["exec"]

    @property
    def folders(self) -> list[str]:
        """Return the entries that are folders."""
        return [entry for entry in self.entries if os.path.isdir(entry)]

    @property
    def site_folders(self) -> list[str]:
        """Return the entries in which Python reads `.pth` files."""
        listed = {entry for file in self.path_files for entry in file.entries}
        return [entry for entry in self.folders if entry not in self.own and entry not in listed]

    def after(self, entry: str) -> Sequence[str]:
        """Return an entry and those after it, all without links."""
        real = [os.path.realpath(path) for path in self.entries]
        return real[real.index(entry) :]


def module_origin(name: str, entry: str) -> str:
    """Return the file or package that an import takes from an entry, empty if there is none.

    A folder without `__init__` is none: an import of it runs nothing.
    """
    spec = PathFinder.find_spec(name, [entry])
    if spec is None or not spec.has_location or spec.origin is None:
        return ""
    if spec.submodule_search_locations is not None:
        return os.path.dirname(spec.origin)
    return spec.origin


def _run_nothing() -> None:
    """Take the place of a function of site that imports a module."""
