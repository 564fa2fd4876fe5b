"""`sources`: how a project is built at one commit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import TYPE_CHECKING, Annotated, Final

from msgspec.structs import asdict
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.model import text
from resolver.model.fact.base import BuildFact, Mistake, Need, refused_build_variables
from resolver.model.repository import Address, Commit, Inside, Recipe
from resolver.model.text import SAME_TABLE, UNWRITTEN, printable
from resolver.phrase import cause, phrase

if TYPE_CHECKING:
    from resolver.model.resolution import Resolution

# The keys that a step of a recipe can have: to move, to comment out, to run, to build.
_STEPS: Final = ({"move", "to"}, {"comment", "in_"}, {"run"}, {"run", "wheels"})


class Sources(BuildFact, frozen=True, kw_only=True):
    """How `package` is built at one commit of a git repository, if a stack asks for that commit."""

    # All versions: the commit has a single one, which is in the recipe.
    versions: Annotated[tuple[SpecifierSet, ...], UNWRITTEN] = (SpecifierSet(),)
    # The address of the repository.
    git: Address
    # The full hash of the commit.
    commit: Commit
    # A tag or a description of the commit; may be empty.
    ref: Annotated[str, printable] = ""
    # The day of the commit, which the day of a lock may follow from; None if it is not known.
    committed: date | None = None
    # The folder of the project in the repository; empty for the top.
    subdirectory: Inside = ""
    # The requirements, and the steps of the build.
    recipe: Annotated[Recipe, SAME_TABLE]
    # The files of the repository that the requirements were taken from. The requirements are
    # compared with these files if the repository can be read.
    requires_from: tuple[Inside, ...] = ()
    # Whether the release of this version is also built from the commit if no line names the commit,
    # whatever files an index has.
    release: bool = False

    def mistakes(self) -> Iterator[Mistake]:
        """Yield steps of the build that are unknown, unreadable or out of place."""
        yield from refused_build_variables(self.recipe.env)
        last = len(self.recipe.steps) - 1
        for position, step in enumerate(self.recipe.steps):
            path = ("steps", position)
            keys = {key for key, value in asdict(step).items() if value}
            if keys not in _STEPS:
                hint = phrase(
                    "write {{ move, to }}, {{ comment, in }}, {{ run }} or {{ run, wheels }}"
                )
                yield Mistake(phrase("this is not a known step"), path, hint=hint)
            try:
                re.compile(step.comment)
            except re.error as error:
                what = phrase("`{comment}` is not a regular expression", comment=step.comment)
                yield Mistake(what, (*path, "comment"), why=cause(error))
            if step.wheels and (self.recipe.editable or position != last):
                what = phrase(
                    "the step that builds the wheel must be the last, and not of an editable "
                    "install"
                )
                yield Mistake(what, (*path, "wheels"))

    def makes_release(self, version: Version) -> bool:
        """Return whether the release of this version is built from the commit."""
        return self.release and self.recipe.version == version

    @property
    def cited_needs(self) -> tuple[Need, ...]:
        """Return the requirements at the commit."""
        return tuple(text.requirement(line) for line in self.recipe.requires)

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return the folders of the submodules."""
        return tuple(submodule.path for submodule in self.recipe.submodules)

    def is_used(self, resolution: Resolution) -> bool:
        """Return whether a pin is built from the commit."""
        pin = resolution.pin(self.package)
        if pin is None or pin.release.source is None:
            return False
        return pin.release.source.fact == self
