"""Importable files that no distribution owns: of a release before, or put there since.

pip removes what a RECORD names. What a killed installation left, or somebody copied, has no RECORD: it stays when its
distribution is replaced, and can be imported although the lock does not have it.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES
from typing import NamedTuple

from resolver.verify.environment import Installed
from resolver.verify.findings import CheckContext, Finding, Group, list_and_count
from resolver.verify.record import RecordRow

_IMPORTABLE = (*SOURCE_SUFFIXES, *EXTENSION_SUFFIXES)
# What a machine, virtualenv or uv has beside the distributions.
_OF_ENVIRONMENT = ("sitecustomize.py", "usercustomize.py", "_virtualenv.py")
_REMOVED_BY_NAME = 20


class _Package(NamedTuple):
    """A folder of modules in site-packages, with the locked distributions that have files in it, sorted."""

    path: str
    owners: Sequence[str]
    # Seconds since 1970 when the last of them was installed.
    installed: float


def check_strays(
    context: CheckContext, installed: Mapping[str, Installed], records: Mapping[str, list[RecordRow]]
) -> Group:
    """Return what can be imported and belongs to no distribution.

    In a package of a locked distribution, a file from before it was installed is of another release, and wrong; one
    from later is what a program wrote or somebody added, and only worth a warning, as are modules of their own.
    """
    owned = {row.path for rows in records.values() for row in rows}
    # of these, nobody knows which files they have
    unknown = {distribution.root for name, distribution in installed.items() if name not in records}
    findings: list[Finding] = []
    for package in _packages(context, installed, records):
        if os.path.dirname(package.path) in unknown and f"{package.path}/__init__.py" not in owned:
            continue
        older: list[str] = []
        newer: list[str] = []
        for path in _unowned(package.path, owned):
            (older if _changed(path) < package.installed else newer).append(path)
        for code, paths in (("file-stale", older), ("file-added", newer)):
            if paths:
                findings.append(_finding(context, code, package, paths))
    roots = {installed[name].root for name in context.lock.pins if name in installed and installed[name].is_ours}
    if not os.path.isdir(os.path.join(sys.prefix, "conda-meta")):
        for root in sorted(roots - unknown):
            modules = sorted(_modules(root, owned))
            if modules:
                findings.append(Finding("module-extra", {**list_and_count(modules), "folder": root}))
    return Group("strays", findings)


def _packages(
    context: CheckContext, installed: Mapping[str, Installed], records: Mapping[str, list[RecordRow]]
) -> Iterator[_Package]:
    """Yield the packages of locked distributions, without those that the stack rewrites or conda installed."""
    owners: dict[str, set[str]] = {}
    left_out: set[str] = set()
    for name, rows in records.items():
        distribution = installed[name]
        is_judged = name in context.lock.pins and distribution.installer != "conda"
        for package in _top_folders(distribution, rows):
            owners.setdefault(package, set())
            if is_judged:
                owners[package].add(name)
            if name in context.lock.rewritten:
                left_out.add(package)
    for path, names in sorted(owners.items()):
        if names and path not in left_out and not os.path.islink(path):
            times = [_changed(os.path.join(installed[name].info, "RECORD")) for name in names]
            yield _Package(path, sorted(names), max(times))


def _top_folders(distribution: Installed, rows: Sequence[RecordRow]) -> set[str]:
    """Return the folders in site-packages that a distribution has modules in."""
    start = distribution.root + "/"
    folders = set()
    for row in rows:
        if row.path.startswith(start) and row.path.endswith(_IMPORTABLE):
            top, inside, _ = row.path[len(start) :].partition("/")
            if inside:
                folders.add(start + top)
    return folders


def _unowned(package: str, owned: Set[str]) -> Iterator[str]:
    """Yield the importable files of a package that nobody owns, sorted."""
    for folder, inner, names in os.walk(package):
        inner[:] = sorted(name for name in inner if name != "__pycache__" and not name.startswith("~"))
        for name in sorted(names):
            path = f"{folder}/{name}"
            if name.endswith(_IMPORTABLE) and path not in owned:
                yield path


def _modules(root: str, owned: Set[str]) -> Iterator[str]:
    """Yield the names in site-packages of modules and packages that nobody owns."""
    start = root + "/"
    tops = {path[len(start) :].partition("/")[0] for path in owned if path.startswith(start)}
    for name in os.listdir(root):
        path = start + name
        if name in tops or name in _OF_ENVIRONMENT or os.path.islink(path) or name == "__pycache__":
            continue
        is_package = name.isidentifier() and any(_unowned(path, owned))
        if name.endswith(_IMPORTABLE) or is_package:
            yield name


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
    return Finding(code, values, removal if len(paths) <= _REMOVED_BY_NAME else context.venv_command)
