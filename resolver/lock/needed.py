"""The projects that a target of a stack needed last, so that all their pages can be asked for at once.

They are hints: a name too many costs a request, and none changes an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from packaging.utils import NormalizedName

from resolver.catalog.cache import Cache
from resolver.catalog.packed import reader
from resolver.model import text
from resolver.model.problem import Problem

_KIND: Final = "needed"
_MOST: Final = 2_000

_read = reader(msgspec.msgpack.Decoder(list[str]).decode)
_encode = msgspec.msgpack.Encoder().encode


def recall(store: Cache, problem: Problem) -> Sequence[NormalizedName]:
    """The names that were kept; none where nothing was."""
    content = store.get(_KIND, _key(problem))
    names = None if content is None else _read(content)
    return [text.name(name) for name in names or ()]


def keep(store: Cache, problem: Problem, names: Iterable[NormalizedName]) -> None:
    """Keep the names of projects that were looked up."""
    store.put(_KIND, _key(problem), _encode(sorted(names)[:_MOST]))


def _key(problem: Problem) -> str:
    return f"{problem.stack.where}\0{problem.stack.name}\0{problem.target.name}"
