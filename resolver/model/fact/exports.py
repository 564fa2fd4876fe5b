"""`exports`: environment variables at run time."""

from __future__ import annotations

from typing import Annotated

from resolver.model.fact.base import Fact
from resolver.model.message import Message, message
from resolver.model.text import NOT_EMPTY, Variables


class Exports(Fact, frozen=True, kw_only=True):
    """Environment variables that activate.sh sets if `package` is in the lock.

    The variables of a build are in `Builds`.
    """

    # The variables, by name.
    env: Annotated[Variables, NOT_EMPTY]
    # Whether activate.sh only suggests them, in a comment.
    optional: bool = False

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return the variables."""
        return tuple(name for name, _ in self.env)

    @property
    def unconfirmed(self) -> Message:
        """Return that no index knows variables."""
        return message("upstream.remark-variables")
