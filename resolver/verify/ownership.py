"""Who owns the files of site-packages: distributions, by the lists that their installers wrote.

RECORD, conda's own lists and `installed-files.txt` tell who owns a file. Of a distribution that has
none of these, `top_level.txt` may name the modules. What may belong to it cannot be judged.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib.machinery import BYTECODE_SUFFIXES, EXTENSION_SUFFIXES, SOURCE_SUFFIXES

from resolver.verify.conda import conda_packages
from resolver.verify.distributions import (
    Installed,
    InstalledDistribution,
    hidden_distributions,
    is_ours,
)
from resolver.verify.findings import CheckContext, UnreadableError, read_text
from resolver.verify.modules import top_modules
from resolver.verify.search_path import SearchPath

# Python imports a `.pyc` without its source, unless it is in __pycache__.
IMPORTABLE = (*SOURCE_SUFFIXES, *EXTENSION_SUFFIXES, *BYTECODE_SUFFIXES)
# Installers that write RECORD last: without one, the installation was cut off.
_RECORDING = ("", "pip", "uv")


class Ownership:
    """Knows which files have an owner, and where that cannot be told."""

    def __init__(
        self, context: CheckContext, installed: Installed, search_path: SearchPath
    ) -> None:
        """Read the lists of all distributions, and of those that they hide from Python."""
        locked_names = {name for name in context.lock.pins if name in installed}
        self._locked = [installed[name] for name in sorted(locked_names)]
        self._locked_names = locked_names
        self._rewritten = frozenset(context.lock.rewritten)
        self.search_path = search_path
        # The paths of all files that have an owner, and of those that locked distributions have.
        self.files: set[str] = set()
        self._locked_files: set[str] = set()
        # The folders in which files have an owner, at any depth.
        self.folders: set[str] = set()
        # Distributions and conda packages that list no files.
        self.unlisted: list[str] = []
        # Paths, without suffix, of modules and packages that may belong to them.
        self._unlisted_modules: set[str] = set()
        # The folders in which any module may belong to them.
        self._unlisted_folders: set[str] = set()
        # The names of those that have an entry of site-packages or files in it, by its path.
        self._owners: dict[str, set[str]] = {}
        # The folders that are site-packages or have distributions, in the order in which Python
        # looks into them, each with whether it is this environment's.
        self.roots: Mapping[str, bool] = _roots(installed, search_path)
        self._locked_modules: dict[str, set[str]] = {}
        everyone = [installed[name] for name in sorted(installed)]
        everyone += hidden_distributions(context, installed)
        listed = {distribution.root for distribution in everyone if distribution.rows}
        for distribution in everyone:
            if distribution.rows:
                self._add_files(distribution.name, [row.path for row in distribution.rows])
            else:
                self._add_without_record(distribution, listed)
        for distribution in self._locked:
            self._locked_files.update(row.path for row in distribution.rows)
        self._add_all_of_conda()
        folders = search_path.folders
        folders += [distribution.editable_folder for distribution in installed.values()]
        # The folders that hold this environment's modules: the search path and checkouts.
        self._homes = [os.path.realpath(folder) for folder in folders if folder]
        self._projects = _project_folders(installed.values())
        self._locked_projects = _project_folders(self._locked)

    def _add_without_record(
        self, distribution: InstalledDistribution, site_packages: Collection[str]
    ) -> None:
        """Add what installed-files.txt or top_level.txt lists."""
        files = lines_of(f"{distribution.info}/installed-files.txt")
        if files:
            self._add_files(distribution.name, _joined(distribution.info, files))
            return
        if distribution.root not in site_packages:
            # `setup.py develop` has a folder of its own
            return
        is_wheel = distribution.info.lower().endswith(".dist-info")
        if is_wheel and distribution.installer in _RECORDING:
            return
        self.unlisted.append(distribution.name)
        modules = lines_of(f"{distribution.info}/top_level.txt")
        self._unlisted_modules.update(f"{distribution.root}/{name}" for name in modules)
        if not modules:
            self._unlisted_folders.add(distribution.root)

    def _add_all_of_conda(self) -> None:
        """Add the files that the metadata of conda packages lists."""
        for package in conda_packages():
            if package.files is not None:
                self._add_files(package.name, package.files)
            else:
                self.unlisted.append(package.name)
                ours = [root for root, is_ours_alone in self.roots.items() if is_ours_alone]
                self._unlisted_folders.update(ours)

    def _add_files(self, owner: str, paths: Iterable[str]) -> None:
        for path in paths:
            self.files.add(path)
            self._add_folders(os.path.dirname(path))
            for root in self.roots:
                start = f"{root}/"
                if path.startswith(start):
                    top = path[len(start) :].partition("/")[0]
                    self._owners.setdefault(start + top, set()).add(owner)

    def _add_folders(self, folder: str) -> None:
        """Add a folder and all that it is in."""
        while folder not in self.folders:
            self.folders.add(folder)
            folder = os.path.dirname(folder)

    def owners_of(self, path: str) -> Collection[str]:
        """Return the names of those that have an entry of site-packages, or files in it."""
        return self._owners.get(path, frozenset())

    def is_of_lock(self, path: str) -> bool:
        """Return whether a locked distribution has a file, or any file in a folder."""
        return path in self._locked_files or not self._locked_names.isdisjoint(self.owners_of(path))

    def is_of_locked_project(self, path: str) -> bool:
        """Return whether a locked distribution has a path, or it is below an editable one's folder.

        It has no links.
        """
        return self.is_of_lock(path) or _is_in_any(path, self._locked_projects)

    def has_entry(self, path: str) -> bool:
        """Return whether a distribution has an entry of the search path that it added.

        It is the folder of an editable one, or has files of others. It has no links.
        """
        return path in self.files or path in self.folders or _is_in_any(path, self._projects)

    def replacing_files(self) -> list[str]:
        """Return the files of others that are a module of the same name as one of the lock.

        Python takes a package before a module, and a compiled module before a source.
        """
        locked = {module_path(path) for path in self._locked_files if path.endswith(IMPORTABLE)}
        others = [path for path in self.files - self._locked_files if path.endswith(IMPORTABLE)]
        same = [path for path in others if module_path(path) in locked]
        return sorted(path for path in same if os.path.lexists(path))

    def is_rewritten(self, folder: str) -> bool:
        """Return whether the stack's own steps change what is in a folder of site-packages."""
        return not self._rewritten.isdisjoint(self.owners_of(folder))

    def is_known(self, path: str) -> bool:
        """Return whether it is certain who owns a module or package of site-packages, if anyone."""
        if f"{path}/__init__.py" in self.files:
            return True
        folder, name = os.path.split(path)
        if folder in self._unlisted_folders:
            return False
        return f"{folder}/{module_of(name)}" not in self._unlisted_modules

    def locked_modules(self, entry: str) -> set[str]:
        """Return the names of the locked modules that are in an entry of the path or in later ones.

        A module of such a name in this entry hides them. The path of the entry has no links.
        """
        if entry not in self._locked_modules:
            later = self.search_path.after(entry)
            names: set[str] = set()
            for distribution in self._locked:
                if distribution.root in later:
                    names.update(_top_names(distribution))
            self._locked_modules[entry] = names
        return self._locked_modules[entry]

    def fault_in(self, module: str, *paths: str | None) -> tuple[str, str]:
        """Return the first path from which a module must not be, with the code of what is wrong.

        Both are empty if there is none.
        """
        for path in paths:
            fault = self.fault_of_import(module, path or "")
            if path and fault:
                return path, fault
        return "", ""

    def fault_of_import(self, module: str, path: str) -> str:
        """Return the code of what is wrong with where a module is from, empty if nothing is.

        `path` is its file, empty if it has none.
        """
        if not path:
            return ""
        real = os.path.realpath(path)
        if not any(real.startswith(home.rstrip("/") + "/") for home in self._homes):
            return "import-elsewhere"
        return "import-replaced" if self._is_replaced(module, path) else ""

    def _is_replaced(self, module: str, path: str) -> bool:
        """Return whether a file of site-packages, not the lock's, was imported as a locked module.

        Modules in a folder that the stack rewrites are not judged.
        """
        top = module_of(module)
        for folder in self.search_path.entries:
            root = os.path.realpath(folder)
            if root in self.roots and path.startswith(f"{folder}/"):
                file = root + path[len(folder) :]
                is_lock_file = file in self._locked_files or self.is_rewritten(f"{root}/{top}")
                return top in self.locked_modules(root) and not is_lock_file
        return False


def module_path(path: str) -> str:
    """Return the path of a module without suffix, of a package that of its folder."""
    folder, name = os.path.split(path)
    module = module_of(name)
    return folder if module == "__init__" else os.path.join(folder, module)


def _project_folders(distributions: Iterable[InstalledDistribution]) -> list[str]:
    """Return the folders of editable installations, without links."""
    folders = [distribution.editable_folder for distribution in distributions]
    return [os.path.realpath(folder) for folder in folders if folder]


def _is_in_any(path: str, folders: Iterable[str]) -> bool:
    return any(f"{path}/".startswith(f"{folder.rstrip('/')}/") for folder in folders)


def _roots(installed: Installed, search_path: SearchPath) -> dict[str, bool]:
    site_folders = set(map(os.path.realpath, search_path.site_folders))
    with_distributions = {
        distribution.root
        for distribution in installed.values()
        if distribution.editable_folder != distribution.root
    }
    folders = dict.fromkeys(map(os.path.realpath, search_path.folders))
    wanted = site_folders | with_distributions
    return {folder: is_ours(folder) for folder in folders if folder in wanted}


def _top_names(distribution: InstalledDistribution) -> Iterator[str]:
    """Yield the names of the modules and packages that a distribution has in site-packages."""
    start = distribution.root + "/"
    for row in distribution.rows:
        if row.path.startswith(start):
            top, slash, _ = row.path[len(start) :].partition("/")
            if slash or top.endswith(IMPORTABLE):
                yield module_of(top)
    if distribution.editable_folder:
        for module in top_modules(distribution):
            yield module_of(module)


def module_of(name: str) -> str:
    """Return the name of the module that a file or folder with this name has."""
    return name.partition(".")[0]


def _joined(folder: str, names: Iterable[str]) -> list[str]:
    return [os.path.normpath(os.path.join(folder, name)) for name in names]


def lines_of(path: str) -> list[str]:
    """Return the lines of a file that are not empty, none if it cannot be read."""
    try:
        text = read_text(path) or ""
    except UnreadableError:
        return []
    return [line.strip() for line in text.splitlines() if line.strip()]
