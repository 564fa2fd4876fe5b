"""Find the owners of files in site-packages.

The owner of a file is the distribution or conda package whose installer lists the file: in RECORD,
in conda's metadata, or in `installed-files.txt`. A distribution may have none of these lists. Then
`top_level.txt` may name its modules, and files that may belong to it are not judged.
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

# The endings of files that Python imports. It imports a `.pyc` without a source as well, unless it
# is in __pycache__.
IMPORTABLE = (*SOURCE_SUFFIXES, *EXTENSION_SUFFIXES, *BYTECODE_SUFFIXES)
# The content of INSTALLER for installers that always write RECORD, as their last step. Without it,
# the installation was interrupted.
_RECORDING = ("", "pip", "uv")


class Ownership:
    """Tells which files have an owner, and for which files that is not known."""

    def __init__(
        self, context: CheckContext, installed: Installed, search_path: SearchPath
    ) -> None:
        """Read the lists of files of all distributions, also of ones that Python does not find."""
        locked_names = {name for name in context.lock.pins if name in installed}
        self._locked = [installed[name] for name in sorted(locked_names)]
        self._locked_names = locked_names
        self._rewritten = frozenset(context.lock.rewritten)
        self.search_path = search_path
        # The paths of all files that have an owner.
        self.files: set[str] = set()
        # The paths of the files that locked distributions own.
        self._locked_files: set[str] = set()
        # The folders that contain files with an owner, at any depth.
        self.folders: set[str] = set()
        # The names of distributions and conda packages without a list of files.
        self.unlisted: list[str] = []
        # The paths, without suffix, of modules and packages that may belong to these.
        self._unlisted_modules: set[str] = set()
        # The folders in which any module may belong to these.
        self._unlisted_folders: set[str] = set()
        # For the path of each entry of site-packages: the names of the owners of the entry itself
        # and of files in it.
        self._owners: dict[str, set[str]] = {}
        # The folders that are site-packages or contain distributions, in the order in which Python
        # searches them. The values say whether a folder is in this environment (`is_ours`).
        self.roots: Mapping[str, bool] = _roots(installed, search_path)
        # The results of `locked_modules`.
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
        # The folders with the modules of this environment: the search path and checkouts.
        self._homes = [os.path.realpath(folder) for folder in folders if folder]
        self._projects = _project_folders(installed.values())
        self._locked_projects = _project_folders(self._locked)

    def _add_without_record(
        self, distribution: InstalledDistribution, site_packages: Collection[str]
    ) -> None:
        """Add the files or modules of a distribution without RECORD.

        They are read from installed-files.txt or top_level.txt. `site_packages` has the folders of
        the distributions with a RECORD.
        """
        files = lines_of(f"{distribution.info}/installed-files.txt")
        if files:
            self._add_files(distribution.name, _joined(distribution.info, files))
            return
        if distribution.root not in site_packages:
            # an installation by `setup.py develop`, whose folder is not site-packages
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
        """Add the files of all conda packages."""
        for package in conda_packages():
            if package.files is not None:
                self._add_files(package.name, package.files)
            else:
                self.unlisted.append(package.name)
                ours = [root for root, is_ours_alone in self.roots.items() if is_ours_alone]
                self._unlisted_folders.update(ours)

    def _add_files(self, owner: str, paths: Iterable[str]) -> None:
        """Add files with their owner."""
        for path in paths:
            self.files.add(path)
            self._add_folders(os.path.dirname(path))
            for root in self.roots:
                start = f"{root}/"
                if path.startswith(start):
                    top = path[len(start) :].partition("/")[0]
                    self._owners.setdefault(start + top, set()).add(owner)

    def _add_folders(self, folder: str) -> None:
        """Add a folder and all its parent folders to `folders`."""
        while folder not in self.folders:
            self.folders.add(folder)
            folder = os.path.dirname(folder)

    def owners_of(self, path: str) -> Collection[str]:
        """Return the names of the owners of an entry of site-packages, and of files in it.

        `path` is the path of the entry: a file or folder that is directly in site-packages.
        """
        return self._owners.get(path, frozenset())

    def is_of_lock(self, path: str) -> bool:
        """Return whether a locked distribution owns a file, or a file in an entry."""
        return path in self._locked_files or not self._locked_names.isdisjoint(self.owners_of(path))

    def is_of_locked_project(self, path: str) -> bool:
        """Return whether a path belongs to a locked distribution.

        It does if the distribution owns the file, or if the path is in the folder of its editable
        installation. Symbolic links in the path must be resolved.
        """
        return self.is_of_lock(path) or _is_in_any(path, self._locked_projects)

    def has_entry(self, path: str) -> bool:
        """Return whether an entry of the search path belongs to a distribution.

        It does if a distribution owns files in it, or if it is in the folder of an editable
        installation. Symbolic links in the path must be resolved.
        """
        return path in self.files or path in self.folders or _is_in_any(path, self._projects)

    def replacing_files(self) -> list[str]:
        """Return the files of other owners that are the same module as a locked file.

        Their paths differ only in the suffix or in `/__init__`. Python may import such a file in
        place of the locked one: it prefers a package to a module, and a compiled module to a
        source.
        """
        locked = {module_path(path) for path in self._locked_files if path.endswith(IMPORTABLE)}
        others = [path for path in self.files - self._locked_files if path.endswith(IMPORTABLE)]
        same_modules = [path for path in others if module_path(path) in locked]
        return sorted(path for path in same_modules if os.path.lexists(path))

    def is_rewritten(self, folder: str) -> bool:
        """Return whether a build of the lock itself changes files in an entry of site-packages."""
        return not self._rewritten.isdisjoint(self.owners_of(folder))

    def is_known(self, path: str) -> bool:
        """Return whether it is known who owns a module or package of site-packages, if anyone.

        It is not known if it may belong to a distribution without a list of files.
        """
        if f"{path}/__init__.py" in self.files:
            return True
        folder, name = os.path.split(path)
        if folder in self._unlisted_folders:
            return False
        return f"{folder}/{module_of(name)}" not in self._unlisted_modules

    def locked_modules(self, entry: str) -> set[str]:
        """Return the names of the locked modules in an entry of the search path or in a later one.

        Another module with such a name in this entry would be imported in place of the locked one.
        Symbolic links in the path of the entry must be resolved.
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
        """Return the first of these paths from which a module must not come, and why.

        The second value is the code of a finding. Both are empty if there is no such path. A path
        may be empty or None.
        """
        for path in paths:
            fault = self.fault_of_import(module, path or "")
            if path and fault:
                return path, fault
        return "", ""

    def fault_of_import(self, module: str, path: str) -> str:
        """Return the code of the finding about the file from which a module is imported.

        Empty if nothing is wrong, or if `path` is empty because the module has no file.
        """
        if not path:
            return ""
        real = os.path.realpath(path)
        if not any(real.startswith(home.rstrip("/") + "/") for home in self._homes):
            return "import-elsewhere"
        return "import-replaced" if self._is_replaced(module, path) else ""

    def _is_replaced(self, module: str, path: str) -> bool:
        """Return whether a file that the lock does not own was imported as a locked module.

        False for files outside of site-packages, and for modules in a folder that the lock itself
        rewrites.
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
    """Return the path of a module's file without suffix; for `__init__` the path of its folder."""
    folder, name = os.path.split(path)
    module = module_of(name)
    return folder if module == "__init__" else os.path.join(folder, module)


def _project_folders(distributions: Iterable[InstalledDistribution]) -> list[str]:
    """Return the folders of the editable installations, with symbolic links resolved."""
    folders = [distribution.editable_folder for distribution in distributions]
    return [os.path.realpath(folder) for folder in folders if folder]


def _is_in_any(path: str, folders: Iterable[str]) -> bool:
    """Return whether a path is one of these folders or in one of them."""
    return any(f"{path}/".startswith(f"{folder.rstrip('/')}/") for folder in folders)


def _roots(installed: Installed, search_path: SearchPath) -> dict[str, bool]:
    """Return the value of `Ownership.roots`."""
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
    """Yield the names of a distribution's modules and packages that are directly in site-packages.

    For an editable installation, also yield its top-level modules.
    """
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
    """Return the module's name in the name of a file or folder: the part before the first dot."""
    return name.partition(".")[0]


def _joined(folder: str, names: Iterable[str]) -> list[str]:
    """Return the normalized paths of names that are relative to a folder."""
    return [os.path.normpath(os.path.join(folder, name)) for name in names]


def lines_of(path: str) -> list[str]:
    """Return the lines of a file that are not blank, stripped; none if it cannot be read."""
    try:
        text = read_text(path) or ""
    except UnreadableError:
        return []
    return [line.strip() for line in text.splitlines() if line.strip()]
