"""`sources`: how a project is built from one commit of a git repository."""

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

# The combinations of keys that a step of a recipe can have: to move a file, to comment out lines,
# to run a command, and to build the wheel.
_STEPS: Final = ({"move", "to"}, {"comment", "in_"}, {"run"}, {"run", "wheels"})


class Sources(BuildFact, frozen=True, kw_only=True):
    """How `package` is built from one commit of a git repository.

    The fact is used if a line of the stack names the commit, or if it has `release`.
    """

    # All versions. The key does not exist: the version of the commit is in the recipe.
    versions: Annotated[tuple[SpecifierSet, ...], UNWRITTEN] = (SpecifierSet(),)
    # The address of the repository.
    git: Address
    # The full hash of the commit.
    commit: Commit
    # A tag or a description of the commit; may be empty.
    ref: Annotated[str, printable] = ""
    # The day of the commit in UTC; None if it is not known. The day of a lock may follow from it.
    committed: date | None = None
    # The folder of the project in the repository; empty for the top.
    subdirectory: Inside = ""
    # The requirements, and the steps of the build. They are keys of the row itself.
    recipe: Annotated[Recipe, SAME_TABLE]
    # The files of the repository that state the requirements. If the repository can be read,
    # `requires` is compared with these files.
    requires_from: tuple[Inside, ...] = ()
    # Whether the commit is the release of this version: if no line of the stack names a commit, the
    # release is built from this commit, whatever files an index has.
    release: bool = False

    def mistakes(self) -> Iterator[Mistake]:
        """Yield a mistake for each variable that may not be set, and for each wrong step.

        A step is wrong if it has an unknown combination of keys or an invalid regular expression,
        or if it builds the wheel and is not the last step, or the project is editable.
        """
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
                complaint = phrase("`{comment}` is not a regular expression", comment=step.comment)
                yield Mistake(complaint, (*path, "comment"), why=cause(error))
            if step.wheels and (self.recipe.editable or position != last):
                complaint = phrase(
                    "the step that builds the wheel must be the last, and not of an editable "
                    "install"
                )
                yield Mistake(complaint, (*path, "wheels"))

    def makes_release(self, version: Version) -> bool:
        """Return whether the release of this version is built from the commit.

        That is so if the fact has the key `release`, and the recipe has this version.
        """
        return self.release and self.recipe.version == version

    @property
    def cited_needs(self) -> tuple[Need, ...]:
        """Return the requirements of the recipe: the sources must contain them."""
        return tuple(text.requirement(line) for line in self.recipe.requires)

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return the folders of the submodules: the sources must contain them."""
        return tuple(submodule.path for submodule in self.recipe.submodules)

    def is_used(self, resolution: Resolution) -> bool:
        """Return whether the pin of the project is built by this fact."""
        pin = resolution.pin(self.package)
        if pin is None or pin.release.source is None:
            return False
        return pin.release.source.fact == self
