"""Find out where Python looks for modules, and which files it runs when it starts.

verify.py runs without Python's module `site` (option -S), so that no code of the environment runs
before it is checked. Here the functions of `site` are called to make the search path, but the code
that they would run is only noted.
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

# The modules that Python imports when it starts, if they exist.
STARTUP_MODULES = ("sitecustomize", "usercustomize")


class PathFile(NamedTuple):
    """A `.pth` file that Python reads when it starts."""

    # The path of the file. Symbolic links in the path of its folder are resolved.
    path: str
    # Whether Python executes a line of it.
    runs: bool
    # The folders and archives that the file adds to the search path.
    entries: Sequence[str]

    @property
    def folder(self) -> str:
        """Return the folder that contains the file."""
        return os.path.dirname(self.path)


@dataclass
class SearchPath:
    """The folders and archives in which Python looks for modules, in the order of its search."""

    # The entries of `sys.path`.
    entries: Sequence[str] = ()
    # The entries of the interpreter itself, which have its standard library.
    own: Sequence[str] = ()
    # The `.pth` files, in the order in which Python reads them.
    path_files: list[PathFile] = field(default_factory=list)

    @classmethod
    def of_this_python(cls) -> SearchPath:
        """Return the search path that this Python would have if it had been started with site.

        `sys.path` is set to it.
        """
        found = cls(own=tuple(sys.path))
        with found._noting():
            site.main()
        found.entries = tuple(sys.path)
        return found

    @classmethod
    def of_folders(cls, folders: Sequence[str]) -> SearchPath:
        """Return a search path with these folders alone, as if they were site-packages."""
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
        """Let the functions of site run no code in the body of `with`; note `.pth` files instead.

        Functions of site are replaced for this, and so is `exec`, which they look up among the
        names of their module.
        """
        names = vars(site)
        replaced = {
            name: names[name] for name in ("addpackage", "execsitecustomize", "execusercustomize")
        }
        lines: list[str] = []

        def add(folder: str, name: str, known: set[str]) -> set[str] | None:
            """Read a `.pth` file as site does, and note it."""
            lines.clear()
            first = len(sys.path)
            try:
                result: set[str] | None = replaced["addpackage"](folder, name, known)
            except Exception:
                # Python itself would not start with such a file
                result = known
            path = os.path.join(os.path.realpath(folder), name)
            # site reads the files of a virtual environment twice
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
        """Return the folders in which Python reads `.pth` files: site-packages.

        These are neither the interpreter's own folders nor folders that a `.pth` file adds.
        """
        listed: set[str] = set()
        for file in self.path_files:
            listed.update(file.entries)
        return [entry for entry in self.folders if entry not in self.own and entry not in listed]

    def after(self, entry: str) -> Sequence[str]:
        """Return an entry and all entries after it, with symbolic links resolved.

        Symbolic links in `entry` must be resolved, too.
        """
        real = [os.path.realpath(path) for path in self.entries]
        return real[real.index(entry) :]


def module_origin(name: str, entry: str) -> str:
    """Return the file or the package's folder that `import NAME` would load from an entry.

    Empty if there is none. A folder without `__init__` does not count, since importing it runs no
    code.
    """
    spec = PathFinder.find_spec(name, [entry])
    if spec is None or not spec.has_location or spec.origin is None:
        return ""
    if spec.submodule_search_locations is not None:
        return os.path.dirname(spec.origin)
    return spec.origin


def _run_nothing() -> None:
    """Do nothing, in place of a function of site that imports a module."""
