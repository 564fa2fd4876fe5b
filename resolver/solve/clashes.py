"""What the search has learned: sets of releases such that no resolution contains one of each.

If nothing is left of a package, each of its releases needs something for which others leave no room. What is kept is
not which package required it, but what was left of each package involved. So any candidate that requires the same, or
anything else that leaves no more, is skipped at once: a run of releases with the same requirements costs one
conflict instead of one each. These are PubGrub's incompatibilities, with masks for version ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from resolver.model import text
from resolver.model.candidate import Candidate, Release
from resolver.model.edge import Edge
from resolver.model.package import Kind, Package
from resolver.solve.demand import ANYTHING, Demand, satisfies
from resolver.solve.universe import Universe

Clash = Mapping[Package, int]  # a set of releases of each, as a mask (see `project`); -1 has all, and all that may come

_MOST = 32  # clashes of a package that are remembered, the latest


class Clashes:
    """Clashes by package. `asked` gives the current demand on a package, if any; `seen` whether there ever was one.

    Packages that were never seen are not looked up: what is learned must not depend on how far a look-ahead has come.
    A clash is met if all of its packages are required, and the demands leave no release outside of it, counting only
    releases that the policies on pre-releases and yanked releases allow.
    """

    def __init__(
        self, universe: Universe, asked: Callable[[Package], Demand | None], seen: Callable[[Package], bool]
    ) -> None:
        self._universe = universe
        self._asked = asked
        self._seen = seen
        self._of: dict[Package, list[Clash]] = {}

    def learn(self, package: Package) -> Clash | None:
        """Record why releases of a package could not be decided now, as far as that is known."""
        if package.kind is not Kind.PROJECT:
            return None
        clash: dict[Package, int] = {}
        project = self._universe.project(text.name(package.name))
        mine = project.all & self._left(package).mask
        out = mine & project.unusable
        opened = mine & self._universe.opened_of(package)
        for position in project.positions(opened):
            candidate = self._universe.candidate(package, position)
            why = None if candidate is None else self._why(candidate)
            if why is not None:
                out |= 1 << position
                for other, left in why.items():
                    clash[other] = clash.get(other, -1) & left
        if package.base != package:  # an extra is of its project's release: known without its metadata
            odd = mine & ~(out | opened | self._left(package.base).mask)
            if odd:
                out |= odd
                clash[package.base] = clash.get(package.base, -1) & ~odd
        if not out:
            return None
        clash[package] = out
        for one in clash:
            known = self._of.setdefault(one, [])
            if clash not in known:
                known.append(clash)
                del known[:-_MOST]
        return clash

    def by_itself(self, candidate: Candidate) -> Clash | None:
        """A clash that deciding a candidate would meet, whatever it requires."""
        for clash in reversed(self._of.get(candidate.package, ())):
            if clash[candidate.package] & _bit(candidate) and self._is_met(clash, {candidate.package: Demand(0)}):
                return clash
        return None

    def with_needs(self, candidate: Candidate) -> Clash | None:
        """A clash that deciding a candidate would meet, by itself or together with what it requires."""
        if not self._of:
            return None
        asks = self._asks(self._universe.edges(candidate))
        decided = {**asks, candidate.package: Demand(_bit(candidate), wished=True, prerelease=True)}
        for package in (candidate.package, *asks):
            for clash in reversed(self._of.get(package, ())):
                if self._is_met(clash, decided):
                    return clash
        return None

    def _is_met(self, clash: Clash, more: Mapping[Package, Demand]) -> bool:
        """Whether a clash is met, with `more` demanded."""
        for package, clashing in clash.items():
            if package not in more and self._asked(package) is None:
                return False
            if self._universe.leaves(package, self._left(package) & more.get(package, ANYTHING), clashing):
                return False
        return True

    # --- reasons

    def _why(self, candidate: Candidate) -> Clash | None:
        """What others leave, if that is no room for an opened candidate; None if there may be room."""
        edges = self._universe.edges(candidate)
        if any(self._is_in_vain(edge) for edge in edges):
            return {}
        asks = self._asks(edges)
        for package, asked in asks.items():
            if not self._universe.leaves(package, asked & self._left(package)):
                return {package: ~asked.mask}
        clash = self.with_needs(candidate)
        if clash is None:
            return None
        rest = {one: left | ~asks.get(one, ANYTHING).mask for one, left in clash.items() if one != candidate.package}
        return {one: left for one, left in rest.items() if one not in asks or self._is_more(one, left)}

    def _is_in_vain(self, edge: Edge) -> bool:
        """Whether nothing meets an edge, whatever else is decided."""
        match edge.package.kind:
            case Kind.PROJECT:
                return self._seen(edge.package) and not self._universe.demand(edge).mask
            case Kind.SYSTEM:
                value = next(self._universe.values(edge.package), None)
                return value is not None and not satisfies(value, edge.allows)
            case Kind.MODULE:
                return False
            case Kind.NONE:
                return True

    def _is_more(self, package: Package, left: int) -> bool:
        """Whether a project has a usable release outside of a mask."""
        project = self._universe.project(text.name(package.name))
        outside = project.positions(project.all & ~left & ~project.unusable)
        return any(isinstance(project.release(one), Release) for one in outside)

    # --- masks

    def _asks(self, edges: Iterable[Edge]) -> dict[Package, Demand]:
        """The demands of edges on projects that were seen."""
        asks: dict[Package, Demand] = {}
        for edge in edges:
            if edge.package.kind is Kind.PROJECT and self._seen(edge.package):
                asks[edge.package] = asks.get(edge.package, ANYTHING) & self._universe.demand(edge)
        return asks

    def _left(self, package: Package) -> Demand:
        """The whole current demand on a project."""
        return self._asked(package) or ANYTHING


def _bit(candidate: Candidate) -> int:
    """The position of a candidate as a mask; 0 for what is no release."""
    return 1 << candidate.chosen.position if isinstance(candidate.chosen, Release) else 0
