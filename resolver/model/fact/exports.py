"""`exports`: environment variables that are set when the installed programs run."""

from __future__ import annotations

from typing import Annotated

from resolver.model.fact.base import Fact
from resolver.model.message import Message, message
from resolver.model.text import NOT_EMPTY, Variables


class Exports(Fact, frozen=True, kw_only=True):
    """Environment variables that activate.sh sets if `package` is in the lock.

    The variables of a build are keys of `Builds` and `Sources`.
    """

    # The variables with their values.
    env: Annotated[Variables, NOT_EMPTY]
    # Whether activate.sh only has a comment that suggests the variables.
    optional: bool = False

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return the names of the environment variables in `env`."""
        return tuple(name for name, _ in self.env)

    @property
    def unconfirmed(self) -> Message:
        """Return an audit's remark on the fact.

        Indexes do not say which environment variables a release needs.
        """
        return message("upstream.remark-variables")
