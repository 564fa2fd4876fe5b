"""Find messages about the version of another project in code that is not Python.

Cython sources and compiled files have such messages as strings. What leads to a message is not
known, so it is only a hint for a person. Extension modules that were compiled for NumPy 1 alone are
found as well: they cannot be imported with NumPy 2. `code_scan` calls this.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from packaging.utils import NormalizedName

from resolver.audit.version_checks import Effect, VersionCheck
from resolver.model import text

# "pyarrow requires NumPy 2.0 or newer", "only supports numpy>=1.22". The parts are bounded, and
# a match begins with a word that is rare, so the search takes time in proportion to the length.
_STATEMENT: Final = re.compile(
    rb"\b(?:requires?|needs?|only supports?) (?:at least )?"
    rb"(?P<project>[A-Za-z][A-Za-z0-9_-]{1,30})"
    rb"(?: version)? ?(?P<sign>>=|<=|==|>|<)? ?v?"
    rb"(?P<version>[0-9]{1,4}(?:\.[0-9]{1,4}){1,3})"
    rb"(?P<word> or (?:newer|later|above|higher|greater|older|lower|less|below))?"
)
_OLDER: Final = frozenset({b" or older", b" or lower", b" or less", b" or below"})

# The printable characters around a match that are shown with it.
_BEFORE: Final = re.compile(rb"[ -~]{0,60}\Z")
_AFTER: Final = re.compile(rb"[ -~]{0,40}")

# Names in messages that stand for no project.
_NO_PROJECTS: Final = frozenset(
    {"c", "clang", "cuda", "cxx", "gcc", "glibc", "libzmq", "openssl"}
    | {"python", "ssl", "tls", "version"}
)

# The modules in which extension modules look for the interface of NumPy 1, and of NumPy 2.
_NUMPY_1: Final = b"numpy.core._multiarray_umath"
_NUMPY_2: Final = b"numpy._core"


def find_in_cython(source: bytes, path: str, own_project: NormalizedName) -> Iterator[VersionCheck]:
    """Yield the messages in a Cython source as checks.

    Messages about `own_project`, which the file belongs to, are left out.
    """
    for number, line in enumerate(source.splitlines(), 1):
        if b'"' in line or b"'" in line:
            yield from _statements(line, path, own_project, number)


def find_in_compiled(
    content: bytes, path: str, own_project: NormalizedName
) -> Iterator[VersionCheck]:
    """Yield the messages in a compiled file as checks, each once.

    One more check is yielded if the file is for NumPy 1 alone.
    """
    yield from dict.fromkeys(_statements(content, path, own_project, 0))
    if _NUMPY_1 in content and _NUMPY_2 not in content and own_project != "numpy":
        yield VersionCheck(
            project=text.name("numpy"),
            accepts="<2",
            effect=Effect.STATES,
            path=path,
            line=0,
            source=_NUMPY_1.decode(),
        )


def _statements(
    content: bytes, path: str, own_project: NormalizedName, number: int
) -> Iterator[VersionCheck]:
    """Yield the messages in some bytes as checks.

    `number` is the number of the line that they are; 0 for a compiled file.
    """
    for matched in _STATEMENT.finditer(content):
        project = text.name(matched["project"].decode())
        if project == own_project or project in _NO_PROJECTS:
            continue
        start, end = matched.span()
        before = _BEFORE.search(content, max(start - 60, 0), start)
        after = _AFTER.match(content, end)
        shown = [part[0] for part in (before, matched, after) if part is not None]
        yield VersionCheck(
            project=project,
            accepts=_sign(matched) + matched["version"].decode(),
            effect=Effect.STATES,
            path=path,
            line=number,
            source=b"".join(shown).decode("ascii", "replace").strip(),
        )


def _sign(matched: re.Match[bytes]) -> str:
    """Return the operator of the specifier that a message states; `>=` if it states none."""
    if matched["sign"] is not None:
        return matched["sign"].decode()
    return "<=" if matched["word"] in _OLDER else ">="
