"""What comes first: of packages by what is demanded of them, of a project's releases by policy, old lock and age."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from packaging.specifiers import SpecifierSet

from resolver.model import text
from resolver.model.dependency import Allows, Among, Candidate, Edge, NeedLine, NeedSource, Owner, StackLine
from resolver.model.release import Release
from resolver.model.requirement import ComponentRequirement
from resolver.resolve.project import Project


class Demand(NamedTuple):
    """The demand of edges on one package; `a & b` is that of both.

    `mask` are the candidates that all edges admit (see `Universe.mask`); the other fields tell whether any edge is of
    that kind.
    """

    mask: int = -1
    pin: bool = False  # names one release
    stacks: bool = False  # a line of the stack
    bounded: bool = False  # has bounds
    wished: bool = False  # a pin by the stack or a fact, which permits a yanked release
    prerelease: bool = False  # names a pre-release, and so permits them (PEP 440)

    def __and__(self, other: Demand) -> Demand:
        return Demand(
            self.mask & other.mask,
            self.pin or other.pin,
            self.stacks or other.stacks,
            self.bounded or other.bounded,
            self.wished or other.wished,
            self.prerelease or other.prerelease,
        )

    def turn(self, since: int) -> tuple[object, ...]:
        """When a package is decided that was first required `since` then: pins, the stack's, what has bounds, the rest.

        Among equals, packages that were required earlier go first: so most of what requires a package is decided before
        it, and its demand is complete. What the stack names goes by name.
        """
        return not self.pin, not self.stacks, not self.bounded, 0 if self.stacks else since


ANYTHING = Demand()


def demand_of(edge: Edge, mask: int) -> Demand:
    """The demand of one edge, which admits the candidates in `mask`."""
    pin, origin = pins(edge.allows), edge.origin
    stacks = isinstance(origin, StackLine)
    return Demand(
        mask,
        pin,
        stacks,
        bool(str(edge.allows)),
        pin and (stacks or (isinstance(origin, NeedLine) and origin.source is NeedSource.FACT)),
        names_prerelease(edge.allows),
    )


def satisfies(candidate: Candidate, allows: Allows) -> bool:
    """Whether a requirement on a component or module admits a candidate."""
    match allows:
        case ComponentRequirement():
            return not isinstance(candidate.chosen, Release) and allows.allows(candidate.chosen)
        case Owner():
            return candidate.chosen == allows.name
        case _:
            return False


def names_prerelease(allows: Allows) -> bool:
    """Whether a requirement names a pre-release. The link between an extra and its project's release does not."""
    return isinstance(allows, SpecifierSet) and any(
        version.is_prerelease
        for one in allows
        if one.operator != "!=" and (version := text.version(one.version.removesuffix(".*"))) is not None
    )


def pins(allows: Allows) -> bool:
    """Whether a requirement names one release and no other (PEP 440 `==` without a wildcard, `===`)."""
    if isinstance(allows, SpecifierSet):
        return any(one.operator == "===" or (one.operator == "==" and not one.version.endswith(".*")) for one in allows)
    return isinstance(allows, Among) and allows.positions.bit_count() == 1


# --- releases of a project: the one at position `first`, which the lock had, comes before all others


def releases(project: Project, demand: Demand, first: int | None, *, policy: str, stable: bool) -> Iterator[int]:
    """Positions of the releases that a demand admits and that may then be taken, in order of preference.

    Pre-releases are subject to the policy. With "if-necessary" they are offered if a requirement names one, or if
    nothing else fits and `stable` is not set. Yanked releases are offered only if the stack or a fact pins them:
    PEP 592 leaves open whether a pin in metadata counts, and uv does not accept one either. A pin admits several
    releases if they differ in their local part; those that were yanked then come last.
    """
    mask = project.all & demand.mask
    if policy == "allow" or (policy == "if-necessary" and demand.prerelease):
        yield from _usable(project, mask, first, yanked=demand.wished)
        return
    found = False
    for position in _usable(project, mask & project.stable, first, yanked=demand.wished):
        found = True
        yield position
    if policy == "if-necessary" and not found and not stable:
        yield from _usable(project, mask & ~project.stable, first, yanked=demand.wished)


def every_release(project: Project, first: int | None, *, policy: str) -> Iterator[int]:
    """Positions of all releases that some edges could admit: yanked ones too, and pre-releases last."""
    stable = project.all if policy == "allow" else project.stable
    yield from _usable(project, stable, first, yanked=True)
    if policy != "never":
        yield from _usable(project, project.all & ~stable, first, yanked=True)


def _usable(project: Project, among: int, first: int | None, *, yanked: bool) -> Iterator[int]:
    positions = project.in_order(among)
    if first is not None and among >> first & 1:
        positions = chain((first,), project.in_order(among ^ 1 << first))
    last: list[int] = []
    for position in positions:
        release = project.release(position)
        if isinstance(release, Release):
            if not release.yanked or (yanked and position == first):
                yield position
            elif yanked:
                last.append(position)
    yield from last
