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
from typing import Any

from resolver.verify.distributions import Installed, InstalledDistribution, is_ours
from resolver.verify.environment import checkout_folder
from resolver.verify.findings import CheckContext, Finding, Group, is_shared, list_and_count
from resolver.verify.record import others_here

# The folder of compiled files beside their sources.
_COMPILED = "__pycache__"
_SOURCE = ".py"
# What a compiled file is called for each level of optimization: Python looks for those of -O and
# -OO only if it was started so.
_ENDINGS = (".pyc", ".opt-1.pyc", ".opt-2.pyc")
# A magic number, flags, and either the time and size of the source or its hash.
_HEADER_BYTES = 16
# A flag: the header has the hash of the source.
_HASHED = 1
_MOST_FLAGS = 3
# The attribute of code with its instructions as Python runs them first, and what these cache.
_INSTRUCTIONS = "_co_code_adaptive" if sys.version_info >= (3, 11) else "co_code"
# Constants that have others in them.
_COMPOUND = (CodeType, tuple, frozenset)
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
    sources = {distribution.name: _sources(distribution) for distribution in distributions}
    for name, sources_of_one in sources.items():
        if name in pins and pins[name].editable:
            sources_of_one += _sources_below(checkout_folder(name))
    owned = {source for sources_of_one in sources.values() for source in sources_of_one}
    sources["-"] = [source for source in _sources_of_nobody(context) if source not in owned]
    for number, (name, sources_of_one) in enumerate(sources.items()):
        context.progress(f"{number}/{len(sources)} {name}")
        for source in sources_of_one:
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
    return shlex.join(["find", sys.prefix, "-path", f"*/{_COMPILED}/*.pyc", "-delete"])


def _sources(distribution: InstalledDistribution) -> list[str]:
    """Return the sources in the RECORD of a distribution."""
    return [row.path for row in distribution.rows if row.path.endswith(_SOURCE)]


def _sources_of_nobody(context: CheckContext) -> list[str]:
    """Return the sources in site-packages itself, as that of virtualenv is in no RECORD."""
    folders = map(os.path.realpath, context.search_path.site_folders)
    ours = [folder for folder in folders if is_ours(folder)]
    return [f"{folder}/{name}" for folder in ours for name in _source_names(folder)]


def _source_names(folder: str) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name.endswith(_SOURCE))


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
    stem = f"{folder}/{_COMPILED}/{name[: -len(_SOURCE)]}.{sys.implementation.cache_tag}"
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
            # read as Python would when it imports the module; it is not run
            found = marshal.loads(content[_HEADER_BYTES:])  # noqa: S302
            # an environment may have been moved since
            name = getattr(found, "co_filename", source)
            made = compile(text, name, "exec", dont_inherit=True, optimize=level)
        return _is_same_code(found, made)
    except (ValueError, TypeError, EOFError, SyntaxError, RecursionError, MemoryError):
        return False


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


def _is_same_code(found: object, made: CodeType) -> bool:
    """Return whether Python does the same with both.

    `==` of Python 3.11 and later takes a specialized instruction for the one that it is made of,
    and ignores what instructions have cached, although Python runs both as it finds them. So the
    raw instructions are compared, and the rest as `marshal` writes it in its second version, which
    has nothing but the content: it knows no references to what was written before.
    """
    if not _is_same_shape(found, made):
        return False
    if _dumped(found) == _dumped(made):
        return True
    # before, `marshal` writes sets in any order, and `==` compares every instruction
    is_old = sys.version_info < (3, 11)
    return is_old and found == made and _stack_sizes(found) == _stack_sizes(made)


def _is_same_shape(found: object, made: object) -> bool:
    """Return whether tuples have the same length, and code the same instructions, at all depths."""
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
    return marshal.dumps(code, 2)


def _stack_sizes(code: object) -> list[int]:
    """Return the sizes of the stacks of code and of what is defined in it; `==` leaves them out."""
    if not isinstance(code, CodeType):
        return []
    sizes = [code.co_stacksize]
    for constant in code.co_consts:
        sizes += _stack_sizes(constant)
    return sizes
