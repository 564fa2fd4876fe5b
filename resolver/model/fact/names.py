"""`names`: a project of another meaning under the same name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from resolver.model.fact.base import Fact, Need
from resolver.model.requirement import Component, Requirement, Value
from resolver.model.text import Text

if TYPE_CHECKING:
    from resolver.model.resolution import Resolution


class Names(Fact, frozen=True, kw_only=True):
    """Releases on `index` that are not what the project's name suggests, and must not be used."""

    index: Text = "pypi"
    # Only for targets that state it; None for all.
    component: Component | None = None
    # Not if a line of the stack asks for one of these.
    unless_asked: tuple[Requirement, ...] = ()

    def applies_on(self, system: Mapping[str, Value], needs: Iterable[Need]) -> bool:
        """Return whether the target states the component, and no line asks for an exception."""
        if self.component and self.component not in system:
            return False
        lines = [need for need in needs if isinstance(need, Requirement)]
        return not any(
            _asks_for(line, exception) for line in lines for exception in self.unless_asked
        )

    def is_used(self, resolution: Resolution) -> bool:
        """Return whether its project is pinned, from another index."""
        return resolution.pin(self.package) is not None


def _asks_for(line: Requirement, exception: Requirement) -> bool:
    """Return whether a line names the project, and a version or lower bound that the exception has."""
    if line.name != exception.name:
        return False
    if not str(exception.specifier):
        return True
    lower = ("==", "===", ">=", ">", "~=")
    for clause in line.specifier:
        version = clause.version.removesuffix(".*")
        if clause.operator in lower and exception.specifier.contains(version, prereleases=True):
            return True
    return False
