"""`exports`: environment variables at run time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final

from resolver.model.fact.base import Fact, Mistake
from resolver.model.text import NOT_EMPTY, Variables

# Variables that bash keeps read-only.
_READ_ONLY: Final = frozenset(("BASHOPTS", "BASH_VERSINFO", "EUID", "PPID", "SHELLOPTS", "UID"))
# Variables that CANN's set_env.sh and activate.sh extend. A fact would replace what they add.
_EXTENDED: Final = frozenset(("LD_LIBRARY_PATH", "PATH", "PYTHONPATH", "VIRTUAL_ENV"))


class Exports(Fact, frozen=True, kw_only=True):
    """Environment variables that activate.sh sets if `package` is in the lock.

    The variables of a build are in `Builds`.
    """

    env: Annotated[Variables, NOT_EMPTY]
    # Whether activate.sh only suggests them, in a comment.
    optional: bool = False

    def mistakes(self) -> Iterator[Mistake]:
        """Yield the variables that a fact cannot or must not set."""
        for name, _ in self.env:
            if name in _READ_ONLY or name in _EXTENDED:
                why = "bash keeps it read-only, or CANN and the environment extend it"
                yield Mistake(f"a fact cannot set `{name}`", ("env", name), why=why)

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return the variables."""
        return tuple(name for name, _ in self.env)
