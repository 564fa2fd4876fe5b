"""Check for strays: files that Python can import or run, but that no distribution owns.

pip removes only files that RECORD lists. A file that an interrupted installation left behind, or
that somebody copied, is in no RECORD. It remains when the distribution is replaced, and Python can
still import it, or runs it each time it starts.

A stray is an error if it affects locked distributions: if it is in a folder with files of one, if
it has the name of a locked module, or if it runs each time Python starts. Otherwise it is only a
warning, as a distribution is that is not locked.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Collection, Iterator, Sequence

from resolver.verify.distributions import Installed, is_metadata
from resolver.verify.environment import TOOLS
from resolver.verify.findings import (
    CheckContext,
    Finding,
    Group,
    UnreadableError,
    is_shared,
    list_and_count,
    read_text,
)
from resolver.verify.makers import MAKER_MODULE, is_of_virtualenv
from resolver.verify.ownership import IMPORTABLE, Ownership, module_of
from resolver.verify.search_path import STARTUP_MODULES
from resolver.verify.startup import StartupCheck

# The beginning of a module in which ply stores the table of a parser: comments, then the version.
# ply writes it beside the module with the parser.
_TABLE_OF_PLY = re.compile(r"\s*(#.*\s+)+_tabversion\s*=")
# The folder of compiled files, whose names have a tag of a Python before the suffix.
_CACHE_FOLDER = "__pycache__"
# The beginning of a shared library. Other libraries can load it by its name, such as `libz.so.1`.
_ELF = b"\x7fELF"
# A file in the metadata of a distribution that names modules which other programs import.
_ENTRY_POINTS = "entry_points.txt"
# The number of files that a shown command removes by name.
_MOST_REMOVED = 20
# The number of distributions that a message names.
_LISTED_UNJUDGED = 8


def check_strays(context: CheckContext, installed: Installed, ownership: Ownership) -> Group:
    """Check for strays in all folders of site-packages.

    The note of the result names the distributions whose files could not be judged: they have no
    list of files, or a build of the lock itself rewrites their files.
    """
    locked = {installed[name].root for name in context.lock.pins if name in installed}
    judged = [root for root, is_ours in ownership.roots.items() if is_ours or root in locked]
    sites = [_SitePackages(context, installed, ownership, root) for root in judged]
    findings: list[Finding] = []
    for site in sites:
        findings += site.package_findings()
    findings += StartupCheck(context, ownership, judged).findings()
    for root, site in zip(judged, sites):
        findings += site.entry_findings(beside_lock=ownership.roots[root] and root in locked)
    rewritten = [name for name in context.lock.rewritten if name in installed]
    unjudged = sorted({*ownership.unlisted, *rewritten})
    if not unjudged:
        return Group("strays", findings)
    values = list_and_count(unjudged, _LISTED_UNJUDGED)
    return Group("strays", findings, values, note="strays-but", counted=True)


class _SitePackages:
    """One folder with distributions, in which strays are searched."""

    def __init__(
        self, context: CheckContext, installed: Installed, ownership: Ownership, root: str
    ) -> None:
        """Search the folder `root`."""
        self._context = context
        self._ownership = ownership
        self._root = root
        # A stray beside these distributions is an error: beside the locked ones, and beside those
        # that run anyway, as pip does in install.sh and setuptools when Python starts.
        names = {*context.lock.pins, *TOOLS, *_started_distributions(ownership)}
        # conda changes files after it has unpacked them
        self._judged = {
            name for name in names if name in installed and not installed[name].is_of_conda
        }
        self._names = _names_in(root)

    def package_findings(self) -> Iterator[Finding]:
        """Yield findings about strays in folders in which distributions own files."""
        ownership = self._ownership
        for name in self._names:
            path = f"{self._root}/{name}"
            owners = ownership.owners_of(path)
            is_judged = ownership.is_known(path) and not ownership.is_rewritten(path)
            if not owners or not is_judged or not os.path.isdir(path):
                continue
            if is_metadata(name):
                strays = self._unowned_entry_points(path)
            else:
                strays = list(_unowned_files(path, ownership))
            yield from self._findings_in(strays, sorted(owners))

    def _unowned_entry_points(self, info: str) -> list[str]:
        """Return the entry_points.txt in a folder with metadata, if no distribution owns it."""
        path = f"{info}/{_ENTRY_POINTS}"
        is_added = os.path.lexists(path) and path not in self._ownership.files
        return [path] if is_added else []

    def _findings_in(self, strays: Sequence[str], owners: Sequence[str]) -> Iterator[Finding]:
        """Yield findings about these strays, which are in a folder with files of these owners."""
        locked = [name for name in owners if name in self._judged]
        if not locked:
            yield from self._file_finding("file-added", owners, strays)
            return
        tables = [path for path in strays if _is_table_of_ply(path)]
        yield from self._file_finding("file-added", locked, tables)
        others = [path for path in strays if path not in tables]
        yield from self._file_finding("file-stale", locked, others)

    def _file_finding(
        self, code: str, owners: Sequence[str], paths: Sequence[str]
    ) -> Iterator[Finding]:
        """Yield one finding about these files; nothing if there are none."""
        if paths:
            names = [os.path.relpath(path, self._root) for path in paths]
            values = {"owners": ", ".join(owners), "name": owners[0], **list_and_count(names)}
            yield Finding(code, values, self._removal(["rm", *paths]))

    def _removal(self, command: Sequence[str]) -> str:
        """Return a shell command that removes files.

        For many files and for a shared Python, return one that makes a new environment instead.
        """
        if is_shared() or len(command) > _MOST_REMOVED + 1:
            return self._context.venv_command
        return shlex.join(command)

    def entry_findings(self, *, beside_lock: bool) -> Iterator[Finding]:
        """Yield findings about entries of site-packages itself: modules that the lock does not own.

        Modules that do not replace a locked one are reported only with `beside_lock`.
        """
        by_role: dict[str, list[str]] = {"replacing": [], "other": [], "": []}
        locked_modules = self._ownership.locked_modules(self._root)
        for name in self._names:
            by_role[self._role(name, locked_modules)].append(name)
        replacing, others = by_role["replacing"], by_role["other"]
        start = f"{self._root}/"
        for path in self._ownership.replacing_files():
            name = path[len(start) :]
            if path.startswith(start) and name.partition("/")[0] not in replacing:
                replacing.append(name)
        if replacing:
            removal = self._removal(["rm", "-r", *(f"{self._root}/{name}" for name in replacing)])
            yield self._entry_finding("module-replaced", replacing, removal)
        if others and beside_lock:
            yield self._entry_finding("module-extra", others)

    def _role(self, name: str, locked_modules: Collection[str]) -> str:
        """Return how an entry of site-packages affects the lock.

        "replacing" is a module with the name of a locked one, and "other" is another module without
        owner. Empty stands for all entries that are not reported here.
        """
        path, ownership = f"{self._root}/{name}", self._ownership
        if ownership.is_of_lock(path):
            return ""
        is_owned = path in ownership.files or bool(ownership.owners_of(path))
        if not _is_importable(path, ownership, is_owned=is_owned):
            is_other = not is_owned and ownership.is_known(path) and name not in locked_modules
            is_told = is_other and name not in STARTUP_MODULES and _is_left_behind(path)
            return "other" if is_told else ""
        if module_of(name) in locked_modules:
            return "replacing"
        is_startup_module = module_of(name) in STARTUP_MODULES  # `StartupCheck` reports these
        if is_owned or is_startup_module or (name == MAKER_MODULE and is_of_virtualenv(path)):
            return ""
        return "other" if ownership.is_known(path) else ""

    def _entry_finding(self, code: str, names: Sequence[str], remedy: str = "") -> Finding:
        """Return a finding about entries of this folder."""
        return Finding(code, {**list_and_count(names), "folder": self._root}, remedy)


def _started_distributions(ownership: Ownership) -> set[str]:
    """Return the names of distributions with a `.pth` file of which Python runs a line."""
    names: set[str] = set()
    for file in ownership.search_path.path_files:
        if file.runs:
            names.update(ownership.owners_of(file.path))
    return names


def _unowned_files(package: str, ownership: Ownership) -> Iterator[str]:
    """Yield the files in a package that can be loaded and that have no owner, folder by folder.

    A symbolic link to a folder is followed if somebody owns files with a path through the link.
    Otherwise the link itself is yielded.
    """
    waiting = [package]
    while waiting:
        folder = waiting.pop()
        subfolders = []
        for entry in entries_in(folder):
            path = f"{folder}/{entry.name}"
            if not is_folder(entry):
                if path not in ownership.files and is_loadable(folder, entry.name):
                    yield path
            elif not entry.is_symlink() or path in ownership.folders:
                subfolders.append(path)
            elif entry.name.isidentifier():
                yield path
        waiting += reversed(subfolders)


def is_loadable(folder: str, name: str) -> bool:
    """Return whether a file is a module that Python can import, or a shared library of any name.

    Compiled files in __pycache__ whose names have a tag (`x.cpython-311.pyc`) cannot be imported.
    Other files there can be, since __pycache__ is a namespace package for Python.
    """
    if name.endswith(".pyc") and "." in name[: -len(".pyc")]:
        return os.path.basename(folder) != _CACHE_FOLDER
    return name.endswith(IMPORTABLE) or ".so." in name or _is_elf(f"{folder}/{name}")


def _is_elf(path: str) -> bool:
    """Return whether a file is a regular file with an ELF program or library."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as file:
            return file.read(len(_ELF)) == _ELF
    except OSError:
        return False


def _names_in(folder: str) -> list[str]:
    """Return the names of the entries of a folder, sorted; none if it cannot be read."""
    return [entry.name for entry in entries_in(folder)]


def entries_in(folder: str) -> list[os.DirEntry[str]]:
    """Return the entries of a folder, sorted by name; none if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a folder or a symbolic link to one."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_importable(path: str, ownership: Ownership, *, is_owned: bool) -> bool:
    """Return whether an entry of site-packages can be imported.

    A folder counts if somebody owns files in it (`is_owned`), if it is a symbolic link, or if it
    has a file that can be loaded.
    """
    if not os.path.isdir(path):
        return path.endswith(IMPORTABLE)
    if not os.path.basename(path).isidentifier():
        return False
    return is_owned or os.path.islink(path) or any(_unowned_files(path, ownership))


def _is_left_behind(path: str) -> bool:
    """Return whether an entry is a folder without files which Python imports as a namespace.

    pip leaves one where it removes a package whose parent folder has no file of its own, or where
    it was killed. What is in __pycache__ does not count. The folder hides nothing: any module of
    its name comes before it.
    """
    name = os.path.basename(path)
    if not name.isidentifier() or name == _CACHE_FOLDER:
        return False
    waiting = [path]
    while waiting:
        folder = waiting.pop()
        for entry in entries_in(folder):
            if entry.name == _CACHE_FOLDER:
                continue
            if entry.is_symlink() or not is_folder(entry):
                return False
            waiting.append(f"{folder}/{entry.name}")
    return os.path.isdir(path)


def _is_table_of_ply(path: str) -> bool:
    """Return whether a file is a table that ply wrote when a parser was used the first time."""
    try:
        text = read_text(path) or ""
    except UnreadableError:
        return False
    return bool(_TABLE_OF_PLY.match(text))
