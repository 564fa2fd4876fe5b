"""Read releases around a refuted stack, which may cause conflicts that are not known yet.

The complete engine stops at the first refutation, when much metadata is still unread. `cores` and
`unreachable_indexes` call `open_nearby_releases`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from resolver.errors import ResolverError
from resolver.model.dependency import Candidate, Edge
from resolver.model.package import Package, PackageKind
from resolver.resolve.candidates import Demand
from resolver.resolve.clauses import Clauses
from resolver.resolve.universe import Universe

# How many steps `open_nearby_releases` follows requirements from a line of the stack.
_DEPTH = 3
# How many releases `open_nearby_releases` looks at.
_LOOKED_AT = 600

# A requirement, after the release that has it; None for a line of the stack.
RequiredEdge = tuple[Candidate | None, Edge]


def open_nearby_releases(clauses: Clauses, expired: Callable[[], bool]) -> None:
    """Open the releases around the stack that may cause conflicts which are not in the clauses yet.

    To open a release is to read its metadata and to add its requirements to the clauses. Each line
    of the stack is followed on its own, always to the release that it would get, past releases
    without a usable file. A release on these paths is opened if it needs another machine, if its
    file is unusable, or if it is one of several with requirements on one project that cannot be met
    together; so are the releases that lead to it. Metadata that cannot be read is skipped: the
    conflict is certain without it.
    """
    universe = clauses.universe
    level: list[RequiredEdge] = [(None, edge) for edge in universe.roots()]
    requirements_on: dict[Package, list[RequiredEdge]] = {}
    parents: dict[Candidate, set[Candidate]] = {}
    unusable: list[Candidate] = []
    for _ in range(_DEPTH):
        following: list[RequiredEdge] = []
        clauses.prefetch.prefetch(edge for _, edge in level)
        for parent, edge in level:
            if parent is not None and _is_unmet(universe, edge):
                unusable.append(parent)
            if edge.package.kind is PackageKind.PROJECT:
                # If a project cannot be looked up, the conflict is certain without it.
                with suppress(ResolverError):
                    following += _follow(universe, parent, edge, parents, expired)
                    requirements_on.setdefault(edge.package.base, []).append((parent, edge))
        level = following
    _open_with_requirers(clauses, parents, unusable)
    for package, requirements in requirements_on.items():
        demand = universe.demand(*(edge for _, edge in requirements))
        if not _has_candidate(universe, package, demand):
            requiring = [parent for parent, _ in requirements if parent is not None]
            _open_with_requirers(clauses, parents, requiring)


def _follow(
    universe: Universe,
    parent: Candidate | None,
    edge: Edge,
    parents: dict[Candidate, set[Candidate]],
    expired: Callable[[], bool],
) -> list[RequiredEdge]:
    """Return the requirements of the release that an installer would choose for a requirement.

    The requirements of releases before it whose file proved unusable are returned as well. Releases
    that an earlier call looked at are left out. `parents` maps each release that was looked at to
    the releases that require it; `parent` is added to it.
    """
    following: list[RequiredEdge] = []
    for candidate in universe.candidates(edge.package, universe.demand(edge)):
        is_new = candidate not in parents
        if expired() or (is_new and len(parents) >= _LOOKED_AT):
            break
        its_parents = parents.setdefault(candidate, set())
        if parent is not None:
            its_parents.add(parent)
        try:
            edges = universe.edges(candidate)
        except ResolverError:
            # The conflict is certain without the requirements of this release.
            break
        if is_new:
            following += [(candidate, needed) for needed in edges]
        if not any(needed.package.kind is PackageKind.UNAVAILABLE for needed in edges):
            break
    return following


def _is_unmet(universe: Universe, edge: Edge) -> bool:
    """Return whether a requirement makes its release useless on the target.

    That is so if it is on a component whose value does not meet it, or if it says that the file of
    the release is unusable.
    """
    match edge.package.kind:
        case PackageKind.COMPONENT:
            return not _has_candidate(universe, edge.package, universe.demand(edge))
        case kind:
            return kind is PackageKind.UNAVAILABLE


def _has_candidate(universe: Universe, package: Package, demand: Demand) -> bool:
    """Return whether a package has a candidate that meets a demand."""
    return next(universe.candidates(package, demand), None) is not None


def _open_with_requirers(
    clauses: Clauses, parents: Mapping[Candidate, set[Candidate]], candidates: list[Candidate]
) -> None:
    """Open some releases, and all releases that require them according to `parents`."""
    while candidates:
        candidate = candidates.pop()
        if not clauses.is_expanded(candidate):
            # The conflict is certain without a release that cannot be read.
            with suppress(ResolverError):
                clauses.open(candidate)
            candidates += sorted(parents[candidate], key=str)
