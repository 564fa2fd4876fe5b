"""Clauses that leave out each project whose pin meets everything that is required of it.

Reading and screening every release of a project costs most of what clauses cost. A contradiction
cannot depend on a project whose pin still meets every requirement on it: the pin is a choice that
satisfies them all. A project that shares a module with another one is never left out, since the
other one may be chosen.

So a question about a few projects of a resolution reads only those, and the projects whose pins
would have to change.
"""

from __future__ import annotations

from collections.abc import Set

from packaging.utils import NormalizedName

from resolver.model import text
from resolver.model.dependency import Candidate, Edge
from resolver.model.package import Package, PackageKind
from resolver.model.resolution import Resolution
from resolver.resolve.clauses import Clauses
from resolver.resolve.universe import Universe


class PinnedClauses(Clauses):
    """The clauses of a problem near a resolution of it.

    The edges to a project wait while the pin of the project meets all of them. The first edge that
    the pin does not meet adds the project with all its edges. Only candidates of the projects in
    `opened_projects`, which never wait, may be opened.
    """

    def __init__(
        self,
        universe: Universe,
        resolution: Resolution,
        opened_projects: Set[NormalizedName],
    ) -> None:
        # The position of each pin that may stand for its project.
        self._pinned = {
            pin.name: pin.release.position
            for pin in resolution.pins
            if pin.name not in opened_projects
            and not any(universe.collisions(pin.name, pin.version))
        }
        # The edges that wait, by the name of their project, each with the candidate that has it.
        self._waiting: dict[str, list[tuple[Candidate | None, Edge]]] = {}
        super().__init__(universe)

    def _add(self, parent: Candidate | None, edge: Edge) -> None:
        """Add the clauses of an edge, or let it wait if the pin of its project meets it."""
        if edge.package.kind is not PackageKind.PROJECT:
            super()._add(parent, edge)
            return
        name = edge.package.name
        if edge.package.base not in self.packages and self._is_met_by_pin(edge):
            self._waiting.setdefault(name, []).append((parent, edge))
            return
        for waiting_parent, waiting_edge in self._waiting.pop(name, ()):
            super()._add(waiting_parent, waiting_edge)
        super()._add(parent, edge)

    def _is_met_by_pin(self, edge: Edge) -> bool:
        """Return whether the project of an edge has a pin, which the edge admits."""
        position = self._pinned.get(text.name(edge.package.name))
        if position is None:
            return False
        mask = self.universe.mask(Package(edge.package.name), edge.allows)
        return bool(mask >> position & 1)
