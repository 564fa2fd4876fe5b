"""Requirements for a single version: two different ones on a project clash, whatever the indexes have."""

from __future__ import annotations

from typing import Final

from packaging.specifiers import SpecifierSet

from resolver.model import text
from resolver.model.dependency import Edge, Package
from resolver.resolve.demand import pins
from resolver.resolve.grounded import Ground, Grounded
from resolver.resolve.universe import Universe

# How many pins of a project are compared, each with each. The clauses of further ones only make reports shorter: a pin
# admits no release but its own without them.
_COMPARED: Final = 100


class Pinned:
    """The pins of a universe. Clauses are passed to the methods and not kept (see `Absences`)."""

    def __init__(self, universe: Universe) -> None:
        self._universe = universe
        self._rows: dict[Package, list[tuple[SpecifierSet, list[int], bool]]] = {}

    def add(self, clauses: Grounded, edge: Edge, because: tuple[Ground, ...], before: list[int]) -> None:
        """Two pins that differ clash, whatever the indexes have."""
        if not isinstance(edge.allows, SpecifierSet) or edge.package.extra:
            return
        project = self._universe.project(text.name(edge.package.name))
        unknown = not project.mask(edge.allows)
        clause = [*(-clauses.selector(ground) for ground in because), *before]
        rows = self._rows.setdefault(edge.package, [])
        if len(rows) == _COMPARED:
            return
        for allows, other, is_unknown in rows:
            if (unknown or is_unknown) and str(allows) != str(edge.allows) and _apart(allows, edge.allows):
                clauses.imply([*clause, *other])
        rows.append((edge.allows, clause, unknown))


def _apart(one: SpecifierSet, other: SpecifierSet) -> bool:
    """Whether no version can meet both pins. `===` compares texts, and a release has only one."""
    versions = [pin.version for pin in (*one, *other) if pins(SpecifierSet(str(pin)))]
    if any(text.version(version) is None for version in versions):
        return False
    return not any(
        one.contains(version, prereleases=True) and other.contains(version, prereleases=True) for version in versions
    )
