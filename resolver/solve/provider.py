"""The resolvelib provider: how the search asks the universe, and what it decides first.

Two habits keep it from thrashing (pip has them, too): while a conflict is
being resolved only the packages that caused it are up for decision; and a
package that keeps causing conflicts is decided early from then on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from resolvelib import AbstractProvider, BaseReporter
from resolvelib.resolvers import RequirementInformation

from resolver.model.candidate import Candidate
from resolver.model.edge import Edge, Exactly
from resolver.model.origin import StackLine
from resolver.model.package import Kind, Package
from resolver.solve.lookahead import Lookahead
from resolver.solve.universe import Universe, satisfies

_PROMOTE_AFTER = 5

_Information = RequirementInformation[Edge, Candidate]


class Provider(AbstractProvider[Edge, Candidate, Package]):
    """Answers resolvelib from a universe. `conflicts` counts how often a package caused one."""

    def __init__(self, universe: Universe) -> None:
        self._universe = universe
        self._lookahead = Lookahead(universe)
        self._satisfied: dict[tuple[Edge, Candidate], bool] = {}
        self.conflicts: Counter[Package] = Counter()

    def identify(self, requirement_or_candidate: Edge | Candidate) -> Package:
        """Both carry their package."""
        return requirement_or_candidate.package

    def narrow_requirement_selection(
        self,
        identifiers: Iterable[Package],
        resolutions: Mapping[Package, Candidate],  # noqa: ARG002
        candidates: Mapping[Package, Iterator[Candidate]],  # noqa: ARG002
        information: Mapping[Package, Iterator[_Information]],  # noqa: ARG002
        backtrack_causes: Sequence[_Information],
    ) -> Iterable[Package]:
        """Only the packages of the last conflict, as long as one of them is undecided."""
        open_packages = list(identifiers)
        causes = {cause.requirement.package for cause in backtrack_causes}
        causes.update(cause.parent.package for cause in backtrack_causes if cause.parent is not None)
        return [package for package in open_packages if package in causes] or open_packages

    def get_preference(
        self,
        identifier: Package,
        resolutions: Mapping[Package, Candidate],  # noqa: ARG002
        candidates: Mapping[Package, Iterator[Candidate]],  # noqa: ARG002
        information: Mapping[Package, Iterator[_Information]],
        backtrack_causes: Sequence[_Information],  # noqa: ARG002
    ) -> tuple[Any, ...]:
        """System first, then packages that keep clashing, pins, what the stack names, the rest; by name."""
        if identifier.kind is not Kind.PROJECT:
            return (identifier.kind.value, 0, 0, 0, identifier)
        edges = [row.requirement for row in information[identifier]]
        promoted = self.conflicts[identifier] >= _PROMOTE_AFTER
        pinned = any(_is_pin(edge) for edge in edges)
        asked = any(isinstance(edge.origin, StackLine) for edge in edges)
        bounded = any(str(edge.allows) for edge in edges)
        return (Kind.PROJECT.value, not promoted, not pinned, not asked, not bounded, identifier)

    def find_matches(
        self,
        identifier: Package,
        requirements: Mapping[Package, Iterator[Edge]],
        incompatibilities: Mapping[Package, Iterator[Candidate]],
    ) -> Callable[[], Iterator[Candidate]]:
        """Candidates in order of preference, looked at only as far as the search goes."""
        edges = list(requirements[identifier])
        if identifier.extra:
            # an extra is of the release that its project's own requirements admit
            edges += requirements.get(identifier.base, ())
        banned = list(incompatibilities[identifier])
        return lambda: self._universe.candidates(identifier, edges, banned)

    def is_satisfied_by(self, requirement: Edge, candidate: Candidate) -> bool:
        """Whether the edge admits the candidate."""
        # resolvelib asks the same of every pin in every round
        key = (requirement, candidate)
        known = self._satisfied.get(key)
        if known is None:
            known = self._satisfied[key] = satisfies(candidate, requirement.allows)
        return known

    def get_dependencies(self, candidate: Candidate) -> Iterable[Edge]:
        """The candidate's edges, and a hint to the catalog of what they will ask for."""
        edges = self._universe.edges(candidate)
        self._lookahead.expect(edges)
        return edges


class Reporter(BaseReporter[Edge, Candidate, Package]):
    """Counts conflicts for the provider, and rounds for people."""

    def __init__(self, provider: Provider, tick: Callable[[int, int], None] | None = None) -> None:
        self._provider = provider
        self._tick = tick
        self.rounds = 0

    def ending_round(self, index: int, state: Any) -> None:
        """Remember and tell how far the search is."""
        self.rounds = index + 1
        if self._tick is not None:
            self._tick(self.rounds, len(state.mapping))

    def resolving_conflicts(self, causes: Iterable[_Information]) -> None:
        """Remember who caused the conflict."""
        packages = {cause.requirement.package for cause in causes}
        packages.update(cause.parent.package for cause in causes if cause.parent is not None)
        self._provider.conflicts.update(package for package in packages if package.kind is Kind.PROJECT)


def _is_pin(edge: Edge) -> bool:
    if isinstance(edge.allows, Exactly):
        return True
    text = str(edge.allows)
    return text.startswith("==") and "*" not in text
