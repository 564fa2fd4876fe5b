"""Check the code that Python runs each time it starts: lines of `.pth` files, and `sitecustomize`.

A file without an owner is an error. A file of a distribution that is not locked is a warning, as
the distribution is. A file of virtualenv or uv with unknown content is a warning as well. So is a
file without an owner in a shared Python, where it may belong to another program.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Sequence

from resolver.verify.distributions import is_ours
from resolver.verify.findings import CheckContext, Finding, list_and_count
from resolver.verify.makers import (
    FOLDER_LISTS,
    MAKER_MODULE,
    MAKER_PATH_FILE,
    is_of_setuptools,
    is_of_virtualenv,
)
from resolver.verify.ownership import Ownership
from resolver.verify.search_path import STARTUP_MODULES, PathFile, module_origin


class StartupCheck:
    """Judges the files that Python runs when it starts, in the folders of this environment."""

    def __init__(self, context: CheckContext, ownership: Ownership, judged: Sequence[str]) -> None:
        """Judge the files in `judged`: folders of site-packages, with symbolic links resolved."""
        self._context = context
        self._ownership = ownership
        self._judged = judged
        # The names of files, by the code of the finding about them and their folder.
        self._named: dict[tuple[str, str], list[str]] = {}
        # The names of files, by the name of the distribution that owns them and is not locked.
        self._added: dict[str, list[str]] = {}

    def findings(self) -> Iterator[Finding]:
        """Yield findings about files that run when Python starts, and folders that they add."""
        importlib.invalidate_caches()
        path_files = [
            file for file in self._ownership.search_path.path_files if file.folder in self._judged
        ]
        for file in path_files:
            self._judge_path_file(file)
        for entry in self._judged:
            self._judge_startup_modules(entry, is_ours_alone=is_ours(entry))
        listed: dict[str, PathFile] = {}
        for file in path_files:
            listed.update(dict.fromkeys(file.entries, file))
        for entry, file in listed.items():
            self._judge_startup_modules(entry, is_ours_alone=is_ours(file.folder))
        for (code, folder), names in sorted(self._named.items()):
            yield Finding(code, {**list_and_count(names), "folder": folder})
        for owner, names in sorted(self._added.items()):
            yield Finding("startup-added", {**list_and_count(names), "name": owner})
        yield from self._entry_findings(list(listed))

    def _judge_path_file(self, file: PathFile) -> None:
        """Note what is wrong with a `.pth` file."""
        path, ownership = file.path, self._ownership
        name = os.path.basename(path)
        if ownership.is_of_lock(path):
            return
        if path in ownership.files:
            if file.runs:
                self._note_added(path)
        elif name == MAKER_PATH_FILE and is_of_virtualenv(path):
            self._judge_maker_module(file.folder)
        elif file.runs or name not in FOLDER_LISTS:
            self._note_extra(path, is_ours_alone=is_ours(file.folder))

    def _judge_maker_module(self, folder: str) -> None:
        """Note if the module that `_virtualenv.pth` imports was changed."""
        path = f"{folder}/{MAKER_MODULE}"
        is_owned = path in self._ownership.files
        if os.path.exists(path) and not is_owned and not is_of_virtualenv(path):
            self._named.setdefault(("startup-changed", folder), []).append(MAKER_MODULE)

    def _judge_startup_modules(self, entry: str, *, is_ours_alone: bool) -> None:
        """Note the modules of STARTUP_MODULES in an entry of the search path.

        `is_ours_alone` says that the entry belongs to this environment, which is not shared.
        """
        for module in STARTUP_MODULES:
            path = module_origin(module, entry)
            if not path or self._ownership.is_of_lock(path):
                continue
            if path in self._ownership.files or self._ownership.owners_of(path):
                self._note_added(path)
            else:
                self._note_extra(path, is_ours_alone=is_ours_alone)

    def _note_added(self, path: str) -> None:
        """Note a file of distributions that are not locked, except for the file of setuptools."""
        if not is_of_setuptools(path):
            for owner in self._ownership.owners_of(path) or [os.path.dirname(path)]:
                self._added.setdefault(owner, []).append(os.path.basename(path))

    def _note_extra(self, path: str, *, is_ours_alone: bool) -> None:
        """Note a file without an owner."""
        code = "startup-extra" if is_ours_alone else "startup-unknown"
        folder, name = os.path.split(path)
        self._named.setdefault((code, folder), []).append(name)

    def _entry_findings(self, listed: Sequence[str]) -> Iterator[Finding]:
        """Yield findings about the entries of the search path that `.pth` files add."""
        foreign = []
        for entry in listed:
            path = os.path.realpath(entry)
            if path in self._ownership.roots:
                continue
            replacing = self._replacing(entry)
            if replacing:
                yield Finding("module-replaced", {**list_and_count(replacing), "folder": entry})
            elif not self._ownership.has_entry(path):
                foreign.append(entry)
        if foreign:
            yield Finding("path-extra", list_and_count(foreign))

    def _replacing(self, entry: str) -> list[str]:
        """Return the files that would be imported from an entry in place of locked modules.

        Their paths are relative to the entry.
        """
        replacing = []
        for name in sorted(self._ownership.locked_modules(os.path.realpath(entry))):
            origin = module_origin(name, entry)
            if origin and not self._ownership.is_of_locked_project(os.path.realpath(origin)):
                replacing.append(os.path.relpath(origin, entry))
        return replacing
