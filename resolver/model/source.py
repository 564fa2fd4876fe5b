"""Where a project comes from when it comes from no index: a commit of a git repository."""

from __future__ import annotations

import msgspec
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model import text
from resolver.model.fact import Sources
from resolver.model.message import Message
from resolver.model.recipe import Recipe


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A project's one release. `commit` is in full; `ref` is what people call it, and may be empty.

    `fact` says what is known of it; without one it was read at the commit. `trust` tells why the
    requirements rest on the fact's word alone; it is None where they were read at the commit.
    """

    name: NormalizedName
    url: str
    commit: str
    ref: str = ""
    subdirectory: str = ""
    recipe: Recipe
    fact: Sources | None
    trust: Message | None = None

    @property
    def version(self) -> Version:
        """What its build calls itself."""
        return self.recipe.version

    @property
    def address(self) -> str:
        """The repository and the commit, for people."""
        return f"{self.url}@{self.commit[:12]}"

    @property
    def where(self) -> str:
        """file:line of the fact, or the repository that says so itself."""
        return self.fact.where if self.fact is not None else self.address

    @property
    def extras(self) -> tuple[str, ...]:
        """The extras that its requirements name."""
        return text.all_extras(self.recipe.requires)
