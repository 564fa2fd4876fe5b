"""What the search has learned: sets of releases such that no resolution contains one of each.

If nothing is left of a package, each of its releases needs something for which others leave no room. What is kept is
not which package required it, but what was left of each package involved. So any candidate that requires the same, or
anything else that leaves no more, is skipped at once: a run of releases with the same requirements costs one
conflict instead of one each. These are PubGrub's incompatibilities, with masks for version ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from resolver.model import text
from resolver.model.candidate import Candidate, Release
from resolver.model.edge import Edge
from resolver.model.package import Kind, Package
from resolver.solve.admits import satisfies
from resolver.solve.demand import ANYTHING, Demand
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

    def is_met(self, clash: Clash, candidate: Candidate | None = None) -> bool:
        """Whether a clash is met now, so that the demands have no resolution; or would be with a candidate decided."""
        return self._is_met(clash, {} if candidate is None else self._asks(self._universe.edges(candidate)))

    def by_itself(self, candidate: Candidate) -> Iterator[Clash]:
        """Clashes that deciding a candidate would meet, whatever it requires."""
        return self._met(candidate, (candidate.package,), {})

    def with_needs(self, candidate: Candidate) -> Iterator[Clash]:
        """Clashes that deciding a candidate would meet. Reads its metadata."""
        asks = self._asks(self._universe.edges(candidate)) if self._of else {}
        return self._met(candidate, (candidate.package, *asks), asks)

    def _met(
        self, candidate: Candidate, packages: Iterable[Package], asks: Mapping[Package, Demand]
    ) -> Iterator[Clash]:
        if not isinstance(candidate.chosen, Release):
            return
        decided = {**asks, candidate.package: Demand(1 << candidate.chosen.position, wished=True, prerelease=True)}
        for package in packages:
            for clash in reversed(self._of.get(package, ())):
                if self._is_met(clash, decided):
                    yield clash

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
        clash = next(self.with_needs(candidate), None)
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
