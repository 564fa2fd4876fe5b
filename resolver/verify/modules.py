"""What of a distribution can be started: its top-level modules and its commands, by its files."""

from __future__ import annotations

import configparser
import keyword
import mmap
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from resolver.verify.distributions import InstalledDistribution
from resolver.verify.findings import UnreadableError, read_text
from resolver.verify.record import RecordRow

# Folders and files beside a distribution's modules that nobody imports from an environment.
_BESIDE = frozenset(
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
# The groups of entry points that are loaded: commands, and what vllm loads whenever it starts.
_COMMAND_GROUPS = (
    "console_scripts",
    "gui_scripts",
    "vllm.general_plugins",
    "vllm.platform_plugins",
)
# `x.py`, and what is compiled: `x.so`, `x.abi3.so`, `x.cpython-311-aarch64-linux-gnu.so`
_MODULE_FILE = re.compile(r"(\w+)(?:\.py|(?:\.abi3|\.cpython-\w+-[\w-]+)?\.so)")
_NAMESPACE_DEPTH = 2  # folders of a namespace package in which modules are looked for


class Startable(NamedTuple):
    """Something that a distribution offers to be started."""

    # The normalized name of the distribution.
    project: str
    # "module" or "script".
    kind: str
    # The module's dotted name, or the name of the command.
    name: str
    # What is imported: the module, for a command with the attribute that it calls
    # (`vllm.cli:main`).
    target: str


def startables(
    installed: Mapping[str, InstalledDistribution],
    records: Mapping[str, Sequence[RecordRow]],
    with_commands: Iterable[str],
) -> list[Startable]:
    """List the modules of distributions, and the commands of those `with_commands`.

    A module that several distributions have is listed for the first one alone.
    """
    of_commands = set(with_commands)
    found: list[Startable] = []
    listed: set[str] = set()
    for name in sorted(installed):
        for module in top_modules(installed[name], records.get(name, ())):
            if module not in listed:
                listed.add(module)
                found.append(Startable(name, "module", module, module))
        if name in of_commands:
            for command, target in _commands(installed[name]):
                found.append(Startable(name, "script", command, target))
    return found


def top_modules(distribution: InstalledDistribution, rows: Iterable[RecordRow]) -> list[str]:
    """Return the modules that a distribution puts at the top, sorted.

    Of a namespace package these are the packages and modules in it (`google.protobuf`). What is not
    meant to be imported, such as `tests`, is left out; so are stubs, whose folders are no names.
    """
    start = distribution.root + "/"
    paths = [row.path[len(start) :] for row in rows if row.path.startswith(start)]
    files = [path.split("/") for path in paths]
    packages = {tuple(parts[:-1]) for parts in files if _stem(parts[-1]) == "__init__"}
    names: set[str] = set()
    for parts in files:
        name = _top_module(parts, packages)
        if name and _is_meant(name) and _has_entry(os.path.join(distribution.root, *parts)):
            names.add(".".join(name))
    return sorted(names or _listed_modules(distribution))


def _top_module(parts: Sequence[str], packages: set[tuple[str, ...]]) -> Sequence[str]:
    """Return the parts of the name of the module that a file is, or is in; nothing if it is none."""
    stem = _stem(parts[-1])
    folders = parts[:-1]
    if not stem:
        return ()
    for depth in range(1, len(folders) + 1):
        if tuple(folders[:depth]) in packages:
            return folders[:depth]
    return (*folders, stem) if len(folders) <= _NAMESPACE_DEPTH else ()


def _stem(filename: str) -> str:
    """Return the name of the module that a file holds; nothing if it holds none."""
    match = _MODULE_FILE.fullmatch(filename)
    return match[1] if match and match[1].isidentifier() else ""


def _is_meant(name: Sequence[str]) -> bool:
    """Return whether a name can be imported, and is not that of tests and the like."""
    if not all(part.isidentifier() and not keyword.iskeyword(part) for part in name):
        return False
    return name[0] not in _BESIDE and not name[0].startswith("__editable__")


def _has_entry(path: str) -> bool:
    """Return whether a file can be a module: a library (`libx.so`) lacks the function of one."""
    if not path.endswith(".so"):
        return True
    entry = f"PyInit_{_stem(os.path.basename(path))}".encode()
    try:
        with open(path, "rb") as handle:
            with mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as text:
                return text.find(entry) >= 0
    except (OSError, ValueError):  # the check of files tells what is wrong with it
        return False


def _listed_modules(distribution: InstalledDistribution) -> list[str]:
    """Return what top_level.txt lists, for an editable installation, whose files are elsewhere."""
    text = _text(distribution, "top_level.txt") if distribution.editable_folder else ""
    return [name for name in text.split() if _is_meant([name])]


def _commands(distribution: InstalledDistribution) -> list[tuple[str, str]]:
    """Return the commands of a distribution, each with what it calls."""
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # names differ by case
    try:
        parser.read_string(_text(distribution, "entry_points.txt"))
    except configparser.Error:
        return []
    rows = []
    for group in _COMMAND_GROUPS:
        if parser.has_section(group):
            for name, value in parser.items(group):
                rows.append((name, re.split(r"\s*\[", value)[0].replace(" ", "")))
    return rows


def _text(distribution: InstalledDistribution, name: str) -> str:
    """Return the text of a file of a distribution's metadata, empty if it cannot be read."""
    try:
        return read_text(os.path.join(distribution.info, name)) or ""
    except UnreadableError:
        return ""
