"""The check for files that Python imports or runs, although no distribution owns them.

pip removes what RECORD lists. A file that a killed installation left, or that somebody copied, is
in no RECORD. It stays when its distribution is replaced, and can still be imported, or runs at each
start of Python.

RECORD, conda's own lists and `installed-files.txt` tell who owns a file. Of a distribution that has
none of these, `top_level.txt` may name the modules. What may belong to it is not judged, and the
check says so.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from importlib.machinery import BYTECODE_SUFFIXES, EXTENSION_SUFFIXES, SOURCE_SUFFIXES
from typing import NamedTuple

from resolver.verify.distributions import Installed, InstalledDistribution
from resolver.verify.findings import (
    CheckContext,
    Finding,
    Group,
    UnreadableError,
    list_and_count,
    read_text,
)

# Python imports a `.pyc` without its source, unless it is in __pycache__.
_IMPORTABLE = (*SOURCE_SUFFIXES, *EXTENSION_SUFFIXES, *BYTECODE_SUFFIXES)
# Python imports these modules when it starts.
_STARTUP_MODULES = ("sitecustomize", "usercustomize")
# Python runs lines of these files in site-packages when it starts.
_STARTUP_SUFFIX = ".pth"
# The files that virtualenv and uv put into the environments that they make.
_MAKER_FILES = ("_virtualenv.py", "_virtualenv.pth")
# They leave one of these keys in pyvenv.cfg.
_MAKER_KEYS = ("virtualenv", "uv")
# A command removes at most so many files by name.
_MOST_REMOVED = 20
# How many distributions a message names.
_LISTED_UNJUDGED = 8


class _Package(NamedTuple):
    """A folder of modules in site-packages."""

    path: str
    # The distributions that have files in it, sorted. If some are locked, only these.
    owners: Sequence[str]
    # When the last of them was installed if they are locked, else 0. In seconds since 1970.
    installed: float


class _Ownership:
    """Knows which files have an owner, and where that cannot be told."""

    def __init__(self, installed: Installed) -> None:
        # The paths of all files that have an owner.
        self.files: set[str] = set()
        # Distributions and conda packages that list no files.
        self.unlisted: list[str] = []
        # Paths, without suffix, of modules and packages that may belong to them.
        self._unlisted_modules: set[str] = set()
        # Folders in which anything may belong to them.
        self._unlisted_folders: set[str] = set()
        site_packages = {
            distribution.root for distribution in installed.values() if distribution.rows
        }
        for name in sorted(installed):
            rows = installed[name].rows
            self.files.update(row.path for row in rows)
            if not rows:
                self._add_without_record(installed[name], site_packages)
        conda = f"{sys.prefix}/conda-meta"
        if os.path.isdir(conda):
            for entry in sorted(os.listdir(conda)):
                if entry.endswith(".json"):
                    self._add_of_conda(f"{conda}/{entry}")

    def _add_without_record(
        self, distribution: InstalledDistribution, site_packages: Collection[str]
    ) -> None:
        """Add what installed-files.txt or top_level.txt lists."""
        files = _lines_of(f"{distribution.info}/installed-files.txt")
        if files:
            self._add_files(distribution.info, files)
            return
        if distribution.root not in site_packages:
            # `setup.py develop` has a folder of its own
            return
        self.unlisted.append(distribution.name)
        modules = _lines_of(f"{distribution.info}/top_level.txt")
        self._unlisted_modules.update(f"{distribution.root}/{name}" for name in modules)
        if not modules:
            self._unlisted_folders.add(distribution.root)

    def _add_of_conda(self, path: str) -> None:
        """Add the files that the metadata of a conda package lists."""
        try:
            content = json.loads(read_text(path) or "")
            self._add_files(sys.prefix, content["files"])
        except (UnreadableError, ValueError, TypeError, KeyError, RecursionError):
            self.unlisted.append(os.path.basename(path))
            self._unlisted_folders.update(
                os.path.realpath(path) for path in sys.path if path.startswith(sys.prefix)
            )

    def _add_files(self, folder: str, names: Iterable[str]) -> None:
        self.files.update(os.path.normpath(os.path.join(folder, name)) for name in names)

    def is_known(self, path: str) -> bool:
        """Return whether it is certain who owns a module or package of site-packages, if anyone."""
        if f"{path}/__init__.py" in self.files:
            return True
        folder, name = os.path.split(path)
        if folder in self._unlisted_folders:
            return False
        module = name.partition(".")[0]
        return f"{folder}/{module}" not in self._unlisted_modules


def _lines_of(path: str) -> list[str]:
    """Return the lines of a file that are not empty, none if it cannot be read."""
    try:
        text = read_text(path) or ""
    except UnreadableError:
        return []
    return [line.strip() for line in text.splitlines() if line.strip()]


def check_strays(context: CheckContext, installed: Installed) -> Group:
    """Check for files without an owner, and name what could not be judged.

    In a package of a locked distribution, a file that is older than the installation is of another
    release, and wrong. A newer one was written by a program or added by somebody, and is only worth
    a warning. So are files in packages of other distributions, modules by themselves and what runs
    when Python starts.
    """
    ownership = _Ownership(installed)
    findings: list[Finding] = []
    for package in _packages(context, installed):
        if ownership.is_known(package.path):
            findings += _package_findings(context, package, ownership.files)
    locked = [installed[name] for name in context.lock.pins if name in installed]
    for root in sorted({distribution.root for distribution in locked if distribution.is_ours}):
        startup, modules = _unowned_entries(root, ownership)
        if startup:
            findings.append(Finding("startup-extra", {**list_and_count(startup), "folder": root}))
        if modules:
            findings.append(Finding("module-extra", {**list_and_count(modules), "folder": root}))
    rewritten = [name for name in context.lock.rewritten if name in installed]
    unjudged = sorted({*ownership.unlisted, *rewritten})
    if not unjudged:
        return Group("strays", findings)
    values = list_and_count(unjudged, _LISTED_UNJUDGED)
    return Group("strays", findings, values, note="strays-but", counted=True)


def _packages(context: CheckContext, installed: Installed) -> Iterator[_Package]:
    """Yield the packages of the lock and of this environment that the stack does not rewrite."""
    owners: dict[str, list[str]] = {}
    rewritten = set()
    for name in sorted(installed):
        distribution = installed[name]
        packages = _package_folders(distribution)
        if name in context.lock.rewritten:
            rewritten.update(packages)
        if name in context.lock.pins or distribution.is_ours:
            for package in packages:
                owners.setdefault(package, []).append(name)
    for path in sorted(owners):
        if path in rewritten or os.path.islink(path):
            continue
        locked = []
        installed_at = 0.0
        for name in owners[path]:
            # conda keeps the times that files had where it built them
            if name in context.lock.pins and installed[name].installer != "conda":
                locked.append(name)
                installed_at = max(installed_at, _changed_at(f"{installed[name].info}/RECORD"))
        yield _Package(path, locked or owners[path], installed_at)


def _package_folders(distribution: InstalledDistribution) -> set[str]:
    """Return the paths of the folders in site-packages in which a distribution has modules."""
    start = distribution.root + "/"
    folders = set()
    for row in distribution.rows:
        if row.path.startswith(start) and row.path.endswith(_IMPORTABLE):
            top, slash, _ = row.path[len(start) :].partition("/")
            if slash:
                folders.add(start + top)
    return folders


def _package_findings(
    context: CheckContext, package: _Package, owned: Collection[str]
) -> Iterator[Finding]:
    """Yield what is wrong with the files of a package that nobody owns."""
    stale = []
    added = []
    for path in _unowned_files(package.path, owned):
        if _changed_at(path) < package.installed:
            stale.append(path)
        else:
            added.append(path)
    if stale:
        yield _package_finding(context, "file-stale", package, stale)
    if added:
        yield _package_finding(context, "file-added", package, added)


def _package_finding(
    context: CheckContext, code: str, package: _Package, paths: Sequence[str]
) -> Finding:
    root = os.path.dirname(package.path)
    values = {
        "owners": ", ".join(package.owners),
        "name": package.owners[0],
        **list_and_count([os.path.relpath(path, root) for path in paths]),
    }
    remedy = context.venv_command
    if len(paths) <= _MOST_REMOVED:
        remedy = shlex.join(["rm", *paths])
    return Finding(code, values, remedy)


def _unowned_files(package: str, owned: Collection[str]) -> Iterator[str]:
    """Yield the importable files of a package that nobody owns, folder by folder."""
    for folder, subfolders, names in os.walk(package):
        subfolders[:] = sorted(
            name for name in subfolders if name != "__pycache__" and not name.startswith("~")
        )
        for name in sorted(names):
            path = f"{folder}/{name}"
            if name.endswith(_IMPORTABLE) and path not in owned:
                yield path


def _unowned_entries(root: str, ownership: _Ownership) -> tuple[list[str], list[str]]:
    """Return the entries of site-packages that nobody owns, sorted.

    First those that run when Python starts, then other modules.
    """
    start = root + "/"
    owned = {"__pycache__"}
    for path in ownership.files:
        if path.startswith(start):
            owned.add(path[len(start) :].partition("/")[0])
    if _is_of_maker():
        owned.update(_MAKER_FILES)
    startup = []
    modules = []
    for name in sorted(set(os.listdir(root)) - owned):
        path = start + name
        if name.endswith(_STARTUP_SUFFIX):
            startup.append(name)
        elif not ownership.is_known(path) or not _is_importable(path, ownership.files):
            continue
        elif name.partition(".")[0] in _STARTUP_MODULES:
            startup.append(name)
        else:
            modules.append(name)
    return startup, modules


def _is_importable(path: str, owned: Collection[str]) -> bool:
    """Return whether an entry of site-packages can be imported; a folder needs an unowned file."""
    if not os.path.isdir(path):
        return path.endswith(_IMPORTABLE)
    if not os.path.basename(path).isidentifier():
        return False
    return os.path.islink(path) or any(_unowned_files(path, owned))


def _is_of_maker() -> bool:
    """Return whether virtualenv or uv made this environment."""
    for line in _lines_of(f"{sys.prefix}/pyvenv.cfg"):
        if line.partition("=")[0].strip() in _MAKER_KEYS:
            return True
    return False


def _changed_at(path: str) -> float:
    """Return when a file was changed last, in seconds since 1970; 0 if there is none."""
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0
