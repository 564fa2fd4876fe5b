"""Guesses which older releases the search will need if newer ones that were read contradict other requirements.

The search goes back release by release, and would wait for the metadata of each.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.model import text
from resolver.model.candidate import Release
from resolver.model.package import Package
from resolver.model.release import Metadata
from resolver.solve.demand import Demand
from resolver.solve.universe import Universe

_FIRST = 4  # releases behind one that will not do; then twice as many, and so on
_MOST = 24  # releases of a project, after which no more are announced

Wanted = list[tuple[NormalizedName, SpecifierSet]]


class _Way:
    """How far back a project was looked at: versions announced, those that will not do, those that will."""

    def __init__(self) -> None:
        self.told: set[str] = set()
        self.in_vain: set[str] = set()
        self.will_do: set[str] = set()
        self.step = _FIRST


class Retreat:
    """Judges the releases that a look-ahead reads by the current demands on other projects.

    `asked` and `releases` return the demand on a project, and which of its releases are tried, the next one first. What
    the only remaining release of a project requires counts even before the search gets there. The search calls from its
    own thread (`narrow`), the look-ahead from the catalog's (`of`).
    """

    def __init__(
        self,
        universe: Universe,
        asked: Callable[[NormalizedName], Demand | None],
        releases: Callable[[NormalizedName], Iterator[Release]],
    ) -> None:
        self._universe = universe
        self._asked = asked
        self._releases = releases
        self._ways: dict[NormalizedName, _Way] = {}
        self._read: dict[NormalizedName, tuple[str, dict[NormalizedName, SpecifierSet]]] = {}  # version, its needs
        self._needed_by: dict[NormalizedName, set[NormalizedName]] = {}
        self._certain: dict[NormalizedName, dict[NormalizedName, SpecifierSet]] = {}  # of the only remaining release
        self._left: dict[NormalizedName, int] = {}
        self._narrowed: set[NormalizedName] = set()
        self._lock = threading.Lock()

    def of(self, project: NormalizedName, metadata: Metadata) -> Wanted:
        """What to announce to the catalog once a release was read: older ones, if it leaves nothing of another one."""
        with self._lock:
            return self._judge(project, metadata)

    def narrow(self, projects: Iterable[NormalizedName]) -> Wanted:
        """The same for releases read before, when demands on these projects will grow, as those on others have."""
        with self._lock:
            before, self._narrowed = self._narrowed, set(projects)
            return self._again(before)

    def has_arrived(self, project: NormalizedName) -> bool:
        """Whether older releases of a project were announced, and one that will do was read."""
        way = self._ways.get(project)
        return way is not None and bool(way.in_vain and way.will_do)

    def _judge(self, project: NormalizedName, metadata: Metadata) -> Wanted:
        version = metadata.version
        needs: dict[NormalizedName, SpecifierSet] = {}
        for need in self._universe.requirements(f"{project} {version}", metadata.requires_dist, ""):
            if str(need.specifier):
                needs[need.name] = need.specifier
                self._needed_by.setdefault(need.name, set()).add(project)
        self._read[project] = version, needs
        if not all(self._left_of(name, specifier) for name, specifier in needs.items()):
            return self._back(project, version)
        self._ways.setdefault(project, _Way()).will_do.add(version)
        return self._again(self._settle(project))

    def _again(self, narrowed: Iterable[NormalizedName]) -> Wanted:
        found: Wanted = []
        waiting = list(narrowed)
        while waiting:
            name = waiting.pop()
            left = self._left_of(name)
            if left == self._left.get(name, -1):
                continue
            self._left[name] = left
            for project in list(self._needed_by.get(name, ())):
                version, needs = self._read[project]
                if name in needs and not self._left_of(name, needs[name]):
                    found += self._back(project, version)
            waiting += self._settle(name)
        return found

    def _settle(self, project: NormalizedName) -> Iterable[NormalizedName]:
        """Count the requirements of a project whose only remaining release was read. Returns the projects concerned."""
        left = self._left_of(project)
        if left <= 0 or left & (left - 1) or project not in self._read:
            return ()
        version, needs = self._read[project]
        if text.version(version) != self._universe.project(project).versions[left.bit_length() - 1]:
            return ()
        for name, specifier in needs.items():
            self._certain.setdefault(name, {})[project] = specifier
        return needs

    def _left_of(self, name: NormalizedName, specifier: SpecifierSet | None = None) -> int:
        """A bit for each release of a project that is admitted now; -1 for all, or if none is known yet."""
        if not self._universe.known(name):
            return -1
        asked = self._asked(name)
        left = -1 if asked is None else asked.mask
        for one in (*self._certain.get(name, {}).values(), *(() if specifier is None else (specifier,))):
            left &= self._universe.mask(Package(name), one)
        return left

    def _back(self, project: NormalizedName, version: str) -> Wanted:
        way = self._ways.setdefault(project, _Way())
        way.told.add(version)
        way.in_vain.add(version)
        way.will_do.discard(version)
        if way.will_do or 2 * len(way.in_vain) < len(way.told) or len(way.told) > _MOST:
            return []
        older = (str(one.version) for one in self._releases(project) if one.file.is_wheel)
        step = list(islice((one for one in older if one not in way.told), way.step))
        way.told.update(step)
        way.step *= 2
        return [(project, SpecifierSet(f"=={one}")) for one in step]
