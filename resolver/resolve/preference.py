"""Which releases of a project may be taken, and which of them first: the preferred one, then newest first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model.problem import Policy
from resolver.model.release import Release
from resolver.resolve.demand import Demand
from resolver.resolve.project import Project


class Preference:
    """The policies on pre-releases and yanked releases, and the releases of the previous lock."""

    def __init__(self, policy: Policy, preferred: Mapping[NormalizedName, Version]) -> None:
        self._policy = policy
        self._preferred = preferred

    def order(self, project: Project, demand: Demand, *, stable: bool) -> Iterator[int]:
        """Positions of the releases that a demand admits and that may then be taken, in order of preference.

        Pre-releases are subject to the policy. With "if-necessary" they are offered if a requirement names one, or if
        nothing else fits and `stable` is not set. Yanked releases are offered only if the stack or a fact pins them:
        PEP 592 leaves open whether a pin in metadata counts, and uv does not accept one either. A pin admits several
        releases if they differ in their local part; those that were yanked then come last.
        """
        mask = project.all & demand.mask

        def usable(among: int) -> Iterator[int]:
            first = self._first(project)
            if first is not None and among >> first & 1:
                among ^= 1 << first
                if _takes(project, first, demand.wished):
                    yield first
            yanked: list[int] = []
            for position in project.in_order(among & ~(project.unusable if demand.wished else project.unwanted)):
                if _takes(project, position, pinned=False):
                    yield position
                elif _takes(project, position, demand.wished):
                    yanked.append(position)
            yield from yanked

        match self._policy.prereleases_for(project.name):
            case "allow":
                yield from usable(mask)
            case "never":
                yield from usable(mask & project.stable)
            case "if-necessary":
                if demand.prerelease:
                    yield from usable(mask)
                    return
                found = False
                for position in usable(mask & project.stable):
                    found = True
                    yield position
                if not found and not stable:
                    yield from usable(mask & ~project.stable)

    def every(self, project: Project) -> Iterator[int]:
        """Positions of all releases that some edges could admit, the least preferred last.

        This includes yanked releases, and pre-releases unless the policy excludes them.
        """
        policy = self._policy.prereleases_for(project.name)
        stable = project.all if policy == "allow" else project.stable
        late: list[int] = []
        for among in (stable, 0 if policy == "never" else project.all & ~stable):
            first = self._first(project)
            order = list(project.in_order(among))
            if first in order:
                order.sort(key=lambda position: position != first)
            for position in order:
                release = project.release(position)
                if not isinstance(release, Release):
                    continue
                if release.yanked:
                    late.append(position)
                else:
                    yield position
        yield from late

    def _first(self, project: Project) -> int | None:
        preferred = self._preferred.get(project.name)
        return project.position(preferred) if preferred is not None else None


def _takes(project: Project, position: int, pinned: bool) -> bool:
    release = project.release(position)
    return isinstance(release, Release) and (pinned or not release.yanked)
