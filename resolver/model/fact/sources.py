"""`sources`: how a release is built at one commit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import TYPE_CHECKING, Annotated, Final

from msgspec.structs import asdict
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.model import text
from resolver.model.fact.base import Fact, Mistake, Need, is_for_machines_of
from resolver.model.repository import Address, Commit, Inside, Recipe
from resolver.model.requirement import ComponentRequirement, Value
from resolver.model.text import SAME_TABLE, UNWRITTEN, printable

if TYPE_CHECKING:
    from resolver.model.resolution import Resolution
    from resolver.model.variant import Variant

# The keys of each kind of step of a recipe.
_STEPS: Final = ({"move", "to"}, {"comment", "in_"}, {"run"}, {"run", "wheels"})


class Sources(Fact, frozen=True, kw_only=True):
    """How `package` is built at one commit of a git repository, if a stack asks for that commit."""

    # The commit has one version, which the recipe says.
    versions: Annotated[tuple[SpecifierSet, ...], UNWRITTEN] = (SpecifierSet(),)
    git: Address
    commit: Commit
    # A tag or a description of the commit.
    ref: Annotated[str, printable] = ""
    # The day of the commit, from which the day of a lock may follow.
    committed: date | None = None
    subdirectory: Inside = ""
    recipe: Annotated[Recipe, SAME_TABLE]
    # The files of the repository from which the requirements were taken; they are compared if the
    # repository can be read.
    requires_from: tuple[Inside, ...] = ()
    # Whether the commit is also that of the release of this version: where no line names a commit,
    # the release is then taken from there, whatever files an index has of it.
    release: bool = False
    # The fact is there only for targets that meet all of these.
    when: tuple[ComponentRequirement, ...] = ()

    def mistakes(self) -> Iterator[Mistake]:
        """Yield steps of the build that are unknown, unreadable or out of place."""
        last = len(self.recipe.steps) - 1
        for position, step in enumerate(self.recipe.steps):
            path = ("steps", position)
            keys = {key for key, value in asdict(step).items() if value}
            if keys not in _STEPS:
                hint = "write { move, to }, { comment, in }, { run } or { run, wheels }"
                yield Mistake("this is not a known step", path, hint=hint)
            try:
                re.compile(step.comment)
            except re.error as error:
                what = f"`{step.comment}` is not a regular expression"
                yield Mistake(what, (*path, "comment"), why=str(error))
            if step.wheels and (self.recipe.editable or position != last):
                what = (
                    "the step that builds the wheel must be the last, "
                    "and not of an editable install"
                )
                yield Mistake(what, (*path, "wheels"))

    def makes_release(self, version: Version) -> bool:
        """Return whether the release of this version is built from the commit."""
        return self.release and self.recipe.version == version

    def is_spared_by(self, variant: Variant | None) -> bool:
        """Return whether a release need not be built, as a variant of it is for the same machines."""
        return is_for_machines_of(self.when, variant)

    def applies_on(self, system: Mapping[str, Value], needs: Iterable[Need]) -> bool:
        """Return whether the target meets all of `when`."""
        return all(need.is_promised_by(system) for need in self.when)

    @property
    def cited_needs(self) -> tuple[Need, ...]:
        """Return the requirements at the commit."""
        return tuple(map(text.requirement, self.recipe.requires))

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return the submodules."""
        return tuple(submodule.path for submodule in self.recipe.submodules)

    def is_used(self, resolution: Resolution) -> bool:
        """Return whether a pin is built from the commit."""
        pin = resolution.pin(self.package)
        if pin is None or pin.release.source is None:
            return False
        return pin.release.source.fact == self
