"""The check of bytecode: whether what Python runs in place of a source was made of that source.

Python runs a file of `__pycache__` without a look at the source if it has the time and the size of
the source, or if it is hash-based and unchecked (PEP 552). Neither says what it was made of, and
RECORD has no hash of it. So each source is compiled, and the code is compared.
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

from resolver.verify.distributions import Installed, InstalledDistribution
from resolver.verify.environment import checkout_folder
from resolver.verify.findings import CheckContext, Finding, Group, is_shared, list_and_count
from resolver.verify.record import others_here

# The folder of compiled files beside their sources.
_CACHE = "__pycache__"
_SOURCE = ".py"
# What a compiled file is called for each level of optimization: Python looks for those of -O and
# -OO only if it was started so.
_ENDINGS = (".pyc", ".opt-1.pyc", ".opt-2.pyc")
# A magic number, flags, and either the time and size of the source or its hash.
_HEADER_BYTES = 16
# A flag: the header has the hash of the source.
_HASHED = 1
_MOST_FLAGS = 3
# A command removes at most so many files by name.
_MOST_NAMED = 20


def check_bytecode(context: CheckContext, installed: Installed) -> Group:
    """Check the compiled files of the distributions of this environment, and of checkouts.

    Those of other Pythons, and those that Python would not use, do not count.
    """
    compared = 0
    differing = []
    pins = context.lock.pins
    distributions = [installed[name] for name in sorted(pins) if name in installed]
    distributions += others_here(context, installed)
    for number, distribution in enumerate(distributions):
        name = distribution.name
        context.progress(f"{number}/{len(distributions)} {name}")
        sources = _sources(distribution)
        if name in pins and pins[name].editable:
            sources += _sources_below(checkout_folder(name))
        for source in sources:
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
    """Return the command that removes compiled files. Python makes them again of their sources."""
    if is_shared():
        return context.venv_command
    if len(paths) <= _MOST_NAMED:
        return shlex.join(["rm", *paths])
    return shlex.join(["find", sys.prefix, "-path", f"*/{_CACHE}/*.pyc", "-delete"])


def _sources(distribution: InstalledDistribution) -> list[str]:
    """Return the sources in the RECORD of a distribution."""
    return [row.path for row in distribution.rows if row.path.endswith(_SOURCE)]


def _sources_below(folder: str) -> list[str]:
    """Return the sources in a checkout."""
    sources = []
    for parent, folders, names in os.walk(folder):
        if parent == folder and ".git" in folders:
            folders.remove(".git")
        sources += [f"{parent}/{name}" for name in names if name.endswith(_SOURCE)]
    return sorted(sources)


def _compiled_files(source: str) -> Iterator[tuple[str, int]]:
    """Yield the paths of what Python may run in place of a source, each with its level."""
    folder, name = os.path.split(source)
    stem = f"{folder}/{_CACHE}/{name[: -len(_SOURCE)]}.{sys.implementation.cache_tag}"
    for level, ending in enumerate(_ENDINGS):
        if os.path.exists(stem + ending):
            yield stem + ending, level


def _is_of_source(path: str, source: str, level: int) -> bool:
    """Return whether a compiled file has the code of its source, or Python would not run it."""
    try:
        with open(path, "rb") as file:
            content = file.read()
        with open(source, "rb") as file:
            status = os.fstat(file.fileno())
            text = file.read()
    except OSError:
        # Python cannot read it either, or the check of files tells that
        return True
    if not _is_used(content, status):
        return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = compile(text, source, "exec", dont_inherit=True, optimize=level)
        # read as Python would when it imports the module; it is not run
        found = marshal.loads(content[_HEADER_BYTES:])  # noqa: S302
    except (ValueError, TypeError, EOFError, SyntaxError, RecursionError, MemoryError):
        return False
    return isinstance(found, CodeType) and _is_same_code(found, made)


def _is_used(content: bytes, status: os.stat_result) -> bool:
    """Return whether Python runs a compiled file in place of a source with this status.

    A hash may be checked or not: an option of Python decides.
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


def _is_same_code(left: CodeType, right: CodeType) -> bool:
    """Return whether Python does the same with both. The name of the source does not count."""
    return left == right and list(_stack_sizes(left)) == list(_stack_sizes(right))


def _stack_sizes(code: CodeType) -> Iterator[int]:
    """Yield the sizes of the stacks of code and of what is defined in it, which `==` leaves out."""
    yield code.co_stacksize
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _stack_sizes(constant)
