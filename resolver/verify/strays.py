"""The check for files that Python imports or runs, although no distribution owns them.

pip removes what RECORD lists. A file that a killed installation left, or that somebody copied, is
in no RECORD. It stays when its distribution is replaced, and can still be imported, or runs at each
start of Python.

It is wrong where it changes what the lock has: in a folder in which a locked distribution has
files, under the name of a locked module, or if it runs at each start. Beside the lock it is only
worth a warning, as a distribution is that the lock does not have.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Collection, Iterator, Sequence

from resolver.verify.distributions import Installed
from resolver.verify.findings import (
    CheckContext,
    Finding,
    Group,
    UnreadableError,
    is_shared,
    list_and_count,
    read_text,
)
from resolver.verify.ownership import IMPORTABLE, Ownership, lines_of, module_of

# Python imports these modules when it starts.
_STARTUP_MODULES = ("sitecustomize", "usercustomize")
# Python runs lines of these files in site-packages when it starts.
_STARTUP_SUFFIX = ".pth"
# The files that virtualenv and uv put into the environments that they make.
_MAKER_FILES = ("_virtualenv.py", "_virtualenv.pth")
# They leave one of these keys in pyvenv.cfg.
_MAKER_KEYS = ("virtualenv", "uv")
# To these files, `setup.py develop` and `conda develop` add the folders of projects.
_FOLDER_LISTS = ("easy-install.pth", "conda.pth")
# Python runs a line of a `.pth` file that begins so.
_RUN = re.compile(r"import[ \t]")
# A module that ply writes beside the one whose parser it is for: comments, then the version.
_TABLE_OF_PLY = re.compile(r"\s*(#.*\s+)+_tabversion\s*=")
# Entries of site-packages that are no modules.
_NO_MODULES = re.compile(r"__pycache__|~.*|.*\.(dist|egg)-info")
# A command removes at most so many files by name.
_MOST_REMOVED = 20
# How many distributions a message names.
_LISTED_UNJUDGED = 8


def check_strays(context: CheckContext, installed: Installed, ownership: Ownership) -> Group:
    """Check for files without an owner, and name what could not be judged."""
    locked = {installed[name].root for name in context.lock.pins if name in installed}
    findings: list[Finding] = []
    for root, is_ours in ownership.roots.items():
        if is_ours or root in locked:
            site = _SitePackages(context, installed, ownership, root)
            findings += site.package_findings()
            findings += site.entry_findings(beside_lock=is_ours and root in locked)
    rewritten = [name for name in context.lock.rewritten if name in installed]
    unjudged = sorted({*ownership.unlisted, *rewritten})
    if not unjudged:
        return Group("strays", findings)
    values = list_and_count(unjudged, _LISTED_UNJUDGED)
    return Group("strays", findings, values, note="strays-but", counted=True)


class _SitePackages:
    """A folder with distributions."""

    def __init__(
        self, context: CheckContext, installed: Installed, ownership: Ownership, root: str
    ) -> None:
        self._context = context
        self._ownership = ownership
        self._root = root
        # conda changes files after it has unpacked them
        self._judged = [
            name
            for name in context.lock.pins
            if name in installed and installed[name].installer != "conda"
        ]
        self._names = [name for name in sorted(os.listdir(root)) if not _NO_MODULES.fullmatch(name)]

    def package_findings(self) -> Iterator[Finding]:
        """Yield what is wrong with the folders in which distributions have files."""
        ownership = self._ownership
        for name in self._names:
            path = f"{self._root}/{name}"
            owners = ownership.owners_of(path)
            is_judged = ownership.is_known(path) and not ownership.is_rewritten(path)
            if owners and is_judged and not os.path.islink(path):
                yield from self._findings_in(path, sorted(owners))

    def _findings_in(self, package: str, owners: Sequence[str]) -> Iterator[Finding]:
        """Yield what is wrong with the files in a folder that nobody owns."""
        strays = list(_unowned_files(package, self._ownership.files))
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
        """Yield a finding about files, none without any."""
        if paths:
            names = [os.path.relpath(path, self._root) for path in paths]
            values = {"owners": ", ".join(owners), "name": owners[0], **list_and_count(names)}
            yield Finding(code, values, self._removal(["rm", *paths]))

    def _removal(self, command: Sequence[str]) -> str:
        """Return the command, or one that makes a new environment if too much is to be removed."""
        if is_shared() or len(command) > _MOST_REMOVED + 1:
            return self._context.venv_command
        return shlex.join(command)

    def entry_findings(self, *, beside_lock: bool) -> Iterator[Finding]:
        """Yield what is wrong with the entries of site-packages itself.

        Modules that do not concern the lock are only told `beside_lock`.
        """
        by_role: dict[str, list[str]] = {"startup": [], "replacing": [], "other": [], "": []}
        locked_modules = self._ownership.locked_modules(self._root)
        for name in self._names:
            by_role[self._role(name, locked_modules)].append(name)
        startup, replacing, others = by_role["startup"], by_role["replacing"], by_role["other"]
        if startup:
            is_certain = self._ownership.is_certain(self._root)
            yield self._entry_finding("startup-extra" if is_certain else "startup-unknown", startup)
        if replacing:
            removal = self._removal(["rm", "-r", *(f"{self._root}/{name}" for name in replacing)])
            yield self._entry_finding("module-replaced", replacing, removal)
        if others and beside_lock:
            yield self._entry_finding("module-extra", others)

    def _role(self, name: str, locked_modules: Collection[str]) -> str:
        """Return what an entry does that is not the lock's; empty if it concerns nobody."""
        path, ownership = f"{self._root}/{name}", self._ownership
        if ownership.is_of_lock(path):
            return ""
        is_owned = path in ownership.files or bool(ownership.owners_of(path))
        is_expected = is_owned or self._is_of_known_maker(name)
        if name.endswith(_STARTUP_SUFFIX):
            return "" if is_expected else "startup"
        if not _is_importable(path, ownership.files, is_owned=is_owned):
            return ""
        if module_of(name) in locked_modules:
            return "replacing"
        if is_expected:
            return ""
        if module_of(name) in _STARTUP_MODULES:
            return "startup"
        return "other" if ownership.is_known(path) else ""

    def _entry_finding(self, code: str, names: Sequence[str], remedy: str = "") -> Finding:
        return Finding(code, {**list_and_count(names), "folder": self._root}, remedy)

    def _is_of_known_maker(self, name: str) -> bool:
        """Return whether a tool that lists no files puts an entry into site-packages."""
        if name in _MAKER_FILES:
            return _is_made_by_virtualenv()
        if name not in _FOLDER_LISTS:
            return False
        lines = lines_of(f"{self._root}/{name}")
        return not any(_RUN.match(line) for line in lines)


def _unowned_files(package: str, owned: Collection[str]) -> Iterator[str]:
    """Yield the importable files of a package that nobody owns, folder by folder.

    A link to a folder in which nobody owns anything is among them.
    """
    waiting = [package]
    while waiting:
        folder = waiting.pop()
        subfolders = []
        for name in _names_in(folder):
            path = f"{folder}/{name}"
            if name == "__pycache__" or name.startswith("~"):
                continue
            if not os.path.isdir(path):
                if name.endswith(IMPORTABLE) and path not in owned:
                    yield path
            elif not os.path.islink(path):
                subfolders.append(path)
            elif name.isidentifier() and not _owns_below(path, owned):
                yield path
        waiting += reversed(subfolders)


def _names_in(folder: str) -> Sequence[str]:
    """Return the names in a folder, sorted; none if Python cannot look into it either."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return ()


def _owns_below(folder: str, owned: Collection[str]) -> bool:
    return any(path.startswith(f"{folder}/") for path in owned)


def _is_importable(path: str, owned: Collection[str], *, is_owned: bool) -> bool:
    """Return whether an entry of site-packages can be imported.

    A folder that nobody has files in must have a file for that.
    """
    if not os.path.isdir(path):
        return path.endswith(IMPORTABLE)
    if not os.path.basename(path).isidentifier():
        return False
    return is_owned or os.path.islink(path) or any(_unowned_files(path, owned))


def _is_table_of_ply(path: str) -> bool:
    """Return whether a parser wrote a module as its table, which it does when it is first used."""
    try:
        text = read_text(path) or ""
    except UnreadableError:
        return False
    return bool(_TABLE_OF_PLY.match(text))


def _is_made_by_virtualenv() -> bool:
    """Return whether virtualenv or uv made this environment."""
    for line in lines_of(f"{sys.prefix}/pyvenv.cfg"):
        if line.partition("=")[0].strip() in _MAKER_KEYS:
            return True
    return False
