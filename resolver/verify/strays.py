"""Files that Python imports or runs and no distribution owns: of a release before, or put there since.

pip removes what a RECORD names. What a killed installation left, or somebody copied, has no RECORD:
it stays when its distribution is replaced, and can be imported, or runs at each start of Python,
although the lock does not have it.

Who owns a file is known from RECORD, from conda's own lists, and from `installed-files.txt`. Of a
distribution without any of these, `top_level.txt` may name the modules; what may belong to it is
not judged, and that is told.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib.machinery import BYTECODE_SUFFIXES, EXTENSION_SUFFIXES, SOURCE_SUFFIXES
from typing import NamedTuple

from resolver.verify.distributions import InstalledDistribution
from resolver.verify.findings import (
    CheckContext,
    Finding,
    Group,
    UnreadableError,
    list_and_count,
    read_text,
)
from resolver.verify.record import RecordRow

# Without source beside it a `.pyc` is imported, unless it is in __pycache__.
_IMPORTABLE = (*SOURCE_SUFFIXES, *EXTENSION_SUFFIXES, *BYTECODE_SUFFIXES)
# Modules that Python imports when it starts, and the ending of files in site-packages of which it
# then runs lines.
_STARTUP_MODULES = ("sitecustomize", "usercustomize")
_STARTUP_SUFFIX = ".pth"
# What virtualenv and uv put into the environments that they make.
_OF_MAKERS = ("_virtualenv.py", "_virtualenv.pth")
_MAKERS = ("virtualenv", "uv")
_REMOVED_BY_NAME = 20
_UNJUDGED = 8


class _Package(NamedTuple):
    """A folder of modules in site-packages."""

    path: str
    # The distributions that have files in it, sorted: those of the lock, or else the others.
    owners: Sequence[str]
    # Seconds since 1970 when the last of them was installed, if they are of the lock; else 0.
    installed: float


class _Ownership:
    """Who owns which files, and what cannot be told of that."""

    def __init__(
        self, installed: Mapping[str, InstalledDistribution], records: Mapping[str, list[RecordRow]]
    ) -> None:
        self.files = {row.path for rows in records.values() for row in rows}
        self._folders = {installed[name].root for name in records}
        # Names of which no list of files is known.
        self.unlisted: list[str] = []
        # The paths of modules and packages that may be theirs, and the folders in which any may be.
        self.unlisted_modules: set[str] = set()
        self.unlisted_folders: set[str] = set()
        for name, distribution in sorted(installed.items()):
            if name not in records:
                self._add_without_record(name, distribution)
        folder = os.path.join(sys.prefix, "conda-meta")
        if os.path.isdir(folder):
            for entry in sorted(os.listdir(folder)):
                if entry.endswith(".json"):
                    self._add_of_conda(os.path.join(folder, entry))

    def _add_without_record(self, name: str, distribution: InstalledDistribution) -> None:
        """Add what another list than RECORD says."""
        lines = _listed(os.path.join(distribution.info, "installed-files.txt"))
        tops = _listed(os.path.join(distribution.info, "top_level.txt"))
        if lines:
            self.files.update(
                os.path.normpath(os.path.join(distribution.info, line)) for line in lines
            )
        elif distribution.root in self._folders:  # `setup.py develop` has one of its own
            self.unlisted.append(name)
            self.unlisted_modules.update(os.path.join(distribution.root, top) for top in tops)
            if not tops:
                self.unlisted_folders.add(distribution.root)

    def _add_of_conda(self, path: str) -> None:
        """Add the files of a package of conda, by its list of them."""
        try:
            content = json.loads(read_text(path) or "")
            self.files.update(
                os.path.normpath(os.path.join(sys.prefix, name)) for name in content["files"]
            )
        except (UnreadableError, ValueError, TypeError, KeyError, RecursionError):
            self.unlisted.append(os.path.basename(path))
            self.unlisted_folders.update(
                os.path.realpath(path) for path in sys.path if path.startswith(sys.prefix)
            )

    def is_known(self, path: str) -> bool:
        """Return whether it can be told who owns a module or package of site-packages."""
        module = os.path.join(os.path.dirname(path), os.path.basename(path).partition(".")[0])
        if f"{path}/__init__.py" in self.files:
            return True
        return (
            os.path.dirname(path) not in self.unlisted_folders
            and module not in self.unlisted_modules
        )


def _listed(path: str) -> list[str]:
    """Return the lines of a file that are not empty; none if it cannot be read."""
    try:
        text = read_text(path) or ""
    except UnreadableError:
        return []
    return [line.strip() for line in text.splitlines() if line.strip()]


def check_strays(
    context: CheckContext,
    installed: Mapping[str, InstalledDistribution],
    records: Mapping[str, list[RecordRow]],
) -> Group:
    """Return what is imported or run and belongs to no distribution, and what could not be judged.

    In a package of a locked distribution, a file from before it was installed is of another
    release, and wrong. One from later is what a program wrote or somebody added, and only worth a
    warning; so are files in packages of other distributions, modules of their own and what runs
    when Python starts.
    """
    ownership = _Ownership(installed, records)
    findings: list[Finding] = []
    for package in _packages(context, installed, records):
        if ownership.is_known(package.path):
            findings += _findings_of_package(context, package, ownership)
    roots = {
        installed[name].root
        for name in context.lock.pins
        if name in installed and installed[name].is_ours
    }
    for root in sorted(roots):
        startup, modules = _alone(root, ownership)
        for code, names in (("startup-extra", startup), ("module-extra", modules)):
            if names:
                findings.append(Finding(code, {**list_and_count(names), "folder": root}))
    rewritten = [name for name in context.lock.rewritten if name in installed]
    unjudged = sorted({*ownership.unlisted, *rewritten})
    if not unjudged:
        return Group("strays", findings)
    return Group(
        "strays", findings, list_and_count(unjudged, _UNJUDGED), note="strays-but", counted=True
    )


def _packages(
    context: CheckContext,
    installed: Mapping[str, InstalledDistribution],
    records: Mapping[str, list[RecordRow]],
) -> Iterator[_Package]:
    """Yield the packages of the lock's distributions and this environment's, without those that the stack rewrites."""
    owners: dict[str, set[str]] = {}
    left_out: set[str] = set()
    for name, rows in records.items():
        distribution = installed[name]
        is_judged = name in context.lock.pins or distribution.is_ours
        for package in _top_folders(distribution, rows):
            owners.setdefault(package, set())
            if is_judged:
                owners[package].add(name)
            if name in context.lock.rewritten:
                left_out.add(package)
    for path, names in sorted(owners.items()):
        if names and path not in left_out and not os.path.islink(path):
            # conda keeps the times that files had where it built them
            locked = [
                name
                for name in names
                if name in context.lock.pins and installed[name].installer != "conda"
            ]
            times = [_changed(os.path.join(installed[name].info, "RECORD")) for name in locked]
            yield _Package(path, sorted(locked or names), max(times, default=0.0))


def _top_folders(distribution: InstalledDistribution, rows: Sequence[RecordRow]) -> set[str]:
    """Return the folders in site-packages that a distribution has modules in."""
    start = distribution.root + "/"
    folders = set()
    for row in rows:
        if row.path.startswith(start) and row.path.endswith(_IMPORTABLE):
            top, inside, _ = row.path[len(start) :].partition("/")
            if inside:
                folders.add(start + top)
    return folders


def _findings_of_package(
    context: CheckContext, package: _Package, ownership: _Ownership
) -> Iterator[Finding]:
    """Yield what is wrong with the files of a package that nobody owns."""
    older: list[str] = []
    newer: list[str] = []
    for path in _unowned(package.path, ownership.files):
        (older if _changed(path) < package.installed else newer).append(path)
    for code, paths in (("file-stale", older), ("file-added", newer)):
        if paths:
            yield _finding(context, code, package, paths)


def _unowned(package: str, owned: Collection[str]) -> Iterator[str]:
    """Yield the importable files of a package that nobody owns, sorted."""
    for folder, inner, names in os.walk(package):
        inner[:] = sorted(
            name for name in inner if name != "__pycache__" and not name.startswith("~")
        )
        for name in sorted(names):
            path = f"{folder}/{name}"
            if name.endswith(_IMPORTABLE) and path not in owned:
                yield path


def _alone(root: str, ownership: _Ownership) -> tuple[list[str], list[str]]:
    """Return what in site-packages itself nobody owns, sorted: what runs when Python starts, and other modules."""
    start = root + "/"
    tops = {
        path[len(start) :].partition("/")[0] for path in ownership.files if path.startswith(start)
    }
    of_maker = _OF_MAKERS if _is_of_maker() else ()
    startup: list[str] = []
    modules: list[str] = []
    for name in sorted(set(os.listdir(root)) - tops - {"__pycache__", *of_maker}):
        path = start + name
        if name.endswith(_STARTUP_SUFFIX):
            startup.append(name)
        elif ownership.is_known(path) and _is_module(path, ownership.files):
            (startup if name.partition(".")[0] in _STARTUP_MODULES else modules).append(name)
    return startup, modules


def _is_module(path: str, owned: Collection[str]) -> bool:
    """Return whether a file or folder in site-packages can be imported."""
    if not os.path.isdir(path):
        return path.endswith(_IMPORTABLE)
    return os.path.basename(path).isidentifier() and (
        os.path.islink(path) or any(_unowned(path, owned))
    )


def _is_of_maker() -> bool:
    """Return whether virtualenv or uv made this environment."""
    keys = [
        line.partition("=")[0].strip() for line in _listed(os.path.join(sys.prefix, "pyvenv.cfg"))
    ]
    return any(maker in keys for maker in _MAKERS)


def _changed(path: str) -> float:
    """Return when a file was changed last; the beginning of time if there is none."""
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0


def _finding(context: CheckContext, code: str, package: _Package, paths: Sequence[str]) -> Finding:
    root = os.path.dirname(package.path)
    values = {
        "owners": ", ".join(package.owners),
        "name": package.owners[0],
        **list_and_count([os.path.relpath(path, root) for path in paths]),
    }
    removal = f"rm {' '.join(map(shlex.quote, paths))}"
    return Finding(
        code, values, removal if len(paths) <= _REMOVED_BY_NAME else context.venv_command
    )
