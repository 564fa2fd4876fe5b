"""`constrains`: bounds on other projects that count only if these projects are installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from packaging.utils import NormalizedName

from resolver.model.fact.base import Fact, Mistake, Need, projects_of
from resolver.model.requirement import Requirement
from resolver.model.text import NOT_EMPTY
from resolver.phrase import phrase

if TYPE_CHECKING:
    from resolver.model.release import Release
    from resolver.model.resolution import Pin, Resolution


class Constrains(Fact, frozen=True, kw_only=True):
    """Bounds on other projects, which need not be installed, as in a constraints file of pip.

    The metadata of `package` does not have the bounds, because `package` works without these
    projects or checks their versions only when it runs.
    """

    # The bounds: requirements on other projects, with versions and without extras.
    bounds: Annotated[tuple[Requirement, ...], NOT_EMPTY]

    relaxable_field = "bounds"

    def mistakes(self) -> Iterator[Mistake]:
        """Yield a mistake for each bound on `package` itself, with extras or without versions."""
        for position, bound in enumerate(self.bounds):
            path = ("bounds", position)
            if bound.name == self.package:
                yield Mistake(
                    phrase("`{bound}` bounds the project itself", bound=bound),
                    path,
                    hint=phrase(
                        "`constrains` is about other projects; an `excludes` fact takes releases "
                        "out"
                    ),
                )
            if bound.extras or not str(bound.specifier):
                yield Mistake(
                    phrase("`{bound}` is not a bound", bound=bound),
                    path,
                    why=phrase(
                        "a bound is a project with versions and without extras, as in a "
                        "constraints file"
                    ),
                    hint=phrase(
                        'write for instance "numpy>=2"; what must be installed is a `requires` fact'
                    ),
                )

    @property
    def bounded_projects(self) -> tuple[NormalizedName, ...]:
        """Return the projects that `bounds` are about."""
        return projects_of(self.bounds)

    def bounds_for(self, release: Release) -> tuple[Requirement, ...]:
        """Return `bounds`, which are the same for every release."""
        return self.bounds

    @property
    def cited_needs(self) -> tuple[Need, ...]:
        """Return the bounds: the sources must contain them."""
        return self.bounds

    def concerns_pin(self, pin: Pin, resolution: Resolution) -> bool:
        """Return whether one of the bounded projects is pinned."""
        return any(resolution.pin(bound.name) is not None for bound in self.bounds)
