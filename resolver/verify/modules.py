"""List the top-level modules and the commands of distributions, which the starts check starts."""

from __future__ import annotations

import configparser
import keyword
import mmap
import os
import re
from collections.abc import Container, Sequence
from typing import NamedTuple

from resolver.verify.distributions import Installed, InstalledDistribution
from resolver.verify.findings import UnreadableError, read_text

# Names of files and folders in site-packages that are not meant to be imported.
_NOT_IMPORTED = frozenset(
    [
        "__main__",
        "benchmark",
        "benchmarks",
        "bin",
        "build",
        "conftest",
        "dist",
        "doc",
        "docs",
        "etc",
        "example",
        "examples",
        "include",
        "lib",
        "lib64",
        "noxfile",
        "samples",
        "scripts",
        "setup",
        "share",
        "test",
        "testing",
        "tests",
        "tools",
    ]
)
# The groups of entry points that must be loadable: commands, and plugins that vllm loads each time
# it starts.
_ENTRY_POINT_GROUPS = (
    "console_scripts",
    "gui_scripts",
    "vllm.general_plugins",
    "vllm.platform_plugins",
)
# The file name of a module: `x.py`, or compiled, such as `x.so`, `x.abi3.so` or
# `x.cpython-311-aarch64-linux-gnu.so`.
_MODULE_FILE = re.compile(r"(\w+)(?:\.py|(?:\.abi3|\.cpython-\w+-[\w-]+)?\.so)")
# The number of folders without __init__ (namespace packages) that a module may be in.
_NAMESPACE_DEPTH = 2


class Startable(NamedTuple):
    """A module or command of a distribution."""

    # The normalized name of the distribution.
    project: str
    # "module" or "script".
    kind: str
    # The dotted name of the module, or the name of the command.
    name: str
    # The module to import, and for a command the attribute that it calls (`vllm.cli:main`).
    reference: str


def startables(installed: Installed, with_commands: Container[str]) -> list[Startable]:
    """Return the top-level modules of all distributions, and the commands of some of them.

    `with_commands` has the names of the distributions whose commands are returned. A module that
    several distributions have is returned once, for the first of them by name.
    """
    startable = []
    seen = set()
    for name in sorted(installed):
        for module in top_modules(installed[name]):
            if module not in seen:
                seen.add(module)
                startable.append(Startable(name, "module", module, module))
        if name in with_commands:
            for command, reference in _commands(installed[name]):
                startable.append(Startable(name, "script", command, reference))
    return startable


def top_modules(distribution: InstalledDistribution) -> list[str]:
    """Return the dotted names of a distribution's top-level modules, sorted.

    In a namespace package, the packages and modules in it count as top-level (`google.protobuf`).
    Modules that are not meant to be imported, such as `tests` and type stubs, are left out.
    """
    start = distribution.root + "/"
    paths = [row.path for row in distribution.rows if row.path.startswith(start)]
    files = [path[len(start) :].split("/") for path in paths]
    packages = {tuple(parts[:-1]) for parts in files if _stem(parts[-1]) == "__init__"}
    names = set()
    for path, parts in zip(paths, files):
        name = _top_module(parts, packages)
        if name and _is_meant(name) and _has_init(path):
            names.add(".".join(name))
    return sorted(names or _listed_modules(distribution))


def _top_module(parts: Sequence[str], packages: set[tuple[str, ...]]) -> Sequence[str]:
    """Return the parts of the name of the top-level module to which a file belongs.

    `parts` is the path of the file in site-packages, and `packages` has the folders with an
    __init__. Empty if the file belongs to no module.
    """
    *folders, filename = parts
    stem = _stem(filename)
    if not stem:
        return ()
    for depth in range(1, len(folders) + 1):
        if tuple(folders[:depth]) in packages:
            return folders[:depth]
    if len(folders) > _NAMESPACE_DEPTH:
        return ()
    return [*folders, stem]


def _stem(filename: str) -> str:
    """Return the module's name in a file name; empty if it is not the file name of a module."""
    match = _MODULE_FILE.fullmatch(filename)
    return match[1] if match and match[1].isidentifier() else ""


def _is_meant(name: Sequence[str]) -> bool:
    """Return whether a module can be imported and is meant to be imported.

    `name` has the parts of its dotted name.
    """
    if not all(part.isidentifier() and not keyword.iskeyword(part) for part in name):
        return False
    return name[0] not in _NOT_IMPORTED and not name[0].startswith("__editable__")


def _has_init(path: str) -> bool:
    """Return whether a file can be imported as a module.

    A `.so` file must contain the name of its PyInit function: other shared libraries do not have
    one. False if the file cannot be read.
    """
    if not path.endswith(".so"):
        return True
    function = f"PyInit_{_stem(os.path.basename(path))}".encode()
    try:
        with open(path, "rb") as file:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                return content.find(function) >= 0
    except (OSError, ValueError):
        # the check of files reports what is wrong with it
        return False


def _listed_modules(distribution: InstalledDistribution) -> list[str]:
    """Return the modules in the top_level.txt of an editable installation; otherwise none.

    The RECORD of an editable installation lists no modules.
    """
    if not distribution.editable_folder:
        return []
    names = _metadata_text(distribution, "top_level.txt").split()
    return [name for name in names if _is_meant([name])]


def _commands(distribution: InstalledDistribution) -> list[tuple[str, str]]:
    """Return the names of a distribution's commands and plugins, each with `module:attribute`."""
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None, strict=False)
    # names of commands differ by case
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(_metadata_text(distribution, "entry_points.txt"))
    except configparser.Error:
        return []
    commands = []
    for group in _ENTRY_POINT_GROUPS:
        if parser.has_section(group):
            for name, value in parser.items(group):
                without_extras = re.split(r"\s*\[", value)[0]
                commands.append((name, without_extras.replace(" ", "")))
    return commands


def _metadata_text(distribution: InstalledDistribution, name: str) -> str:
    """Return the text of a file in the metadata of a distribution; empty if it cannot be read."""
    try:
        return read_text(f"{distribution.info}/{name}") or ""
    except UnreadableError:
        return ""
