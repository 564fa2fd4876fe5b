"""Check that the compiled files which Python runs in place of sources were made from these sources.

Python runs a file of `__pycache__` without reading the source if the file states the modification
time and the size of the source, or if it is hash-based and unchecked (PEP 552). Neither proves from
what it was compiled, and RECORD has no hash of it. So each source is compiled here, and the code is
compared with the code in the compiled file.
"""

from __future__ import annotations

import importlib.util
import marshal
import os
import shlex
import sys
import warnings
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Any

from resolver.verify.distributions import Installed, InstalledDistribution, is_ours
from resolver.verify.environment import checkout_folder
from resolver.verify.findings import CheckContext, Finding, Group, is_shared, list_and_count
from resolver.verify.record import others_here

# The folder of compiled files beside their sources.
_COMPILED = "__pycache__"
_SOURCE = ".py"
# The endings of compiled files by level of optimization. Python uses those of the levels 1 and 2
# only if it is started with -O and -OO.
_ENDINGS = (".pyc", ".opt-1.pyc", ".opt-2.pyc")
# The header of a compiled file: a magic number, flags, and either the time and size of the source
# or its hash.
_HEADER_BYTES = 16
# The flag that says that the header has the hash of the source.
_HASHED = 1
_MOST_FLAGS = 3
# The attribute of a code object with its instructions as Python runs them first, and with the
# values that these have cached.
_INSTRUCTIONS = "_co_code_adaptive" if sys.version_info >= (3, 11) else "co_code"
# The types of constants that contain other constants.
_COMPOUND = (CodeType, tuple, frozenset)
# The number of files that a shown command removes by name.
_MOST_NAMED = 20


def check_bytecode(context: CheckContext, installed: Installed) -> Group:
    """Check the compiled files of all sources in this environment and in its editable checkouts.

    Compiled files for other Pythons, and those that Python would not use, are ignored.
    """
    compared = 0
    differing = []
    pins = context.lock.pins
    distributions = [installed[name] for name in sorted(pins) if name in installed]
    distributions += others_here(context, installed)
    sources = {distribution.name: _sources(distribution) for distribution in distributions}
    owned: set[str] = set()
    for name, own_sources in sources.items():
        if name in pins and pins[name].editable:
            own_sources += _sources_below(checkout_folder(name))
        owned.update(own_sources)
    sources["-"] = [source for source in _top_sources(context) if source not in owned]
    for number, (name, own_sources) in enumerate(sources.items()):
        context.progress(f"{number}/{len(sources)} {name}")
        for source in own_sources:
            for path, level in _compiled_files(source):
                compared += 1
                if not _is_of_source(path, source, level):
                    differing.append(path)
    context.progress("")
    findings = []
    if differing:
        remedy = _removal(context, differing)
        findings.append(Finding("bytecode-differs", list_and_count(differing), remedy))
    return Group("bytecode", findings, {"compared": str(compared)})


def _removal(context: CheckContext, paths: Sequence[str]) -> str:
    """Return the shell command that removes compiled files. Python makes them again when needed."""
    if is_shared():
        return context.venv_command
    if len(paths) <= _MOST_NAMED:
        return shlex.join(["rm", *paths])
    return shlex.join(["find", sys.prefix, "-path", f"*/{_COMPILED}/*.pyc", "-delete"])


def _sources(distribution: InstalledDistribution) -> list[str]:
    """Return the sources in the RECORD of a distribution."""
    return [row.path for row in distribution.rows if row.path.endswith(_SOURCE)]


def _top_sources(context: CheckContext) -> list[str]:
    """Return the sources that are directly in site-packages, not in a subfolder.

    Some of them, such as the module of virtualenv, are in no RECORD.
    """
    sources = []
    for folder in map(os.path.realpath, context.search_path.site_folders):
        if is_ours(folder):
            sources += [f"{folder}/{name}" for name in _source_names(folder)]
    return sources


def _source_names(folder: str) -> list[str]:
    """Return the names of the sources in a folder, sorted."""
    return sorted(name for name in os.listdir(folder) if name.endswith(_SOURCE))


def _sources_below(folder: str) -> list[str]:
    """Return the paths of all sources in a checkout, sorted."""
    sources = []
    for parent, folders, names in os.walk(folder):
        if parent == folder and ".git" in folders:
            folders.remove(".git")
        sources += [f"{parent}/{name}" for name in names if name.endswith(_SOURCE)]
    return sorted(sources)


def _compiled_files(source: str) -> Iterator[tuple[str, int]]:
    """Yield the existing compiled files of a source, each with its level of optimization."""
    folder, name = os.path.split(source)
    stem = f"{folder}/{_COMPILED}/{name[: -len(_SOURCE)]}.{sys.implementation.cache_tag}"
    for level, ending in enumerate(_ENDINGS):
        if os.path.exists(stem + ending):
            yield stem + ending, level


def _is_of_source(path: str, source: str, level: int) -> bool:
    """Return whether a compiled file has the code of its source.

    True also if Python would not run the compiled file, or if a file cannot be read. `level` is the
    level of optimization.
    """
    try:
        with open(path, "rb") as file:
            content = file.read()
        with open(source, "rb") as file:
            status = os.fstat(file.fileno())
            text = file.read()
    except OSError:
        # Python cannot read it either, or the check of files reports it
        return True
    if not _is_used(content, status):
        return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # read as Python would when it imports the module; it is not run
            found = marshal.loads(content[_HEADER_BYTES:])  # noqa: S302
            # the name in the compiled file, since the environment may have been moved
            name = getattr(found, "co_filename", source)
            made = compile(text, name, "exec", dont_inherit=True, optimize=level)
        return _is_same_code(found, made)
    except (ValueError, TypeError, EOFError, SyntaxError, RecursionError, MemoryError):
        return False


def _is_used(content: bytes, status: os.stat_result) -> bool:
    """Return whether Python may run a compiled file in place of a source with this status.

    A hash-based file counts as used: whether Python checks the hash depends on an option.
    """
    if len(content) < _HEADER_BYTES or content[:4] != importlib.util.MAGIC_NUMBER:
        return False
    flags, seconds, size = (
        int.from_bytes(content[start : start + 4], "little") for start in (4, 8, 12)
    )
    if flags & _HASHED:
        return flags <= _MOST_FLAGS
    is_current = seconds == int(status.st_mtime) & 0xFFFFFFFF
    return flags == 0 and is_current and size == status.st_size & 0xFFFFFFFF


def _is_same_code(found: object, made: CodeType) -> bool:
    """Return whether the code in a compiled file, `found`, does the same as the code of its source.

    From Python 3.11 on, `==` treats a specialized instruction as equal to the general one, and
    ignores the caches of instructions; but Python runs both as they are in the file. So the raw
    instructions are compared. The rest is compared as `marshal` writes it in version 2 of its
    format, which depends only on the content, since it has no references to earlier objects.
    """
    if not _is_same_shape(found, made):
        return False
    if _dumped(found) == _dumped(made):
        return True
    # before 3.11, `marshal` writes sets in any order, and `==` compares every instruction
    is_old = sys.version_info < (3, 11)
    return is_old and found == made and _stack_sizes(found) == _stack_sizes(made)


def _is_same_shape(found: object, made: object) -> bool:
    """Return whether two constants have the same types, lengths and instructions, at all depths."""
    kind = type(made)
    if type(found) is not kind:
        return False
    if kind not in _COMPOUND:
        return True
    if isinstance(made, CodeType):
        if getattr(found, _INSTRUCTIONS) != getattr(made, _INSTRUCTIONS):
            return False
        return _is_same_shape(found.co_consts, made.co_consts)  # type: ignore[attr-defined]
    if len(found) != len(made):  # type: ignore[arg-type]
        return False
    return kind is frozenset or all(map(_is_same_shape, found, made))  # type: ignore[call-overload]


def _dumped(code: Any) -> bytes:
    """Return a code object in version 2 of the format of `marshal`."""
    return marshal.dumps(code, 2)


def _stack_sizes(code: object) -> list[int]:
    """Return the stack sizes of a code object and of those in it, which `==` does not compare."""
    if not isinstance(code, CodeType):
        return []
    sizes = [code.co_stacksize]
    for constant in code.co_consts:
        sizes += _stack_sizes(constant)
    return sizes
