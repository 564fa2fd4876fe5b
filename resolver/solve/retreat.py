"""Which older releases will be tried, as newer ones that were read need what others rule out: a guess.

The search goes back release by release, and would wait for the metadata of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.model.candidate import Release
from resolver.model.package import Package
from resolver.model.release import Metadata
from resolver.solve.demand import Demand
from resolver.solve.universe import Universe

_FIRST = 4  # releases behind one that will not do; then twice as many, and so on
_MOST = 24  # of a project, after which no further ones are told

Wanted = list[tuple[NormalizedName, SpecifierSet]]


class _Way:
    """How far back a project was looked at: versions that were told of, and those that will not do."""

    def __init__(self) -> None:
        self.told: set[str] = set()
        self.in_vain: set[str] = set()
        self.step = _FIRST


class Retreat:
    """Judges the releases that a look-ahead reads, by what is asked of others now.

    `asked` and `releases` tell what is asked of a project, and which of its releases are tried, the next one first.
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
        self._needs: dict[NormalizedName, dict[NormalizedName, tuple[str, SpecifierSet]]] = {}  # by who is needed
        self._left: dict[NormalizedName, int] = {}
        self._narrowed: set[NormalizedName] = set()

    def of(self, project: NormalizedName, metadata: Metadata) -> Wanted:
        """What to tell the catalog of when a release was read: older ones, where it leaves nothing of another."""
        version = metadata.version
        will_do = True
        for need in self._universe.requirements(f"{project} {version}", metadata.requires_dist, ""):
            if str(need.specifier):
                self._needs.setdefault(need.name, {})[project] = version, need.specifier
                will_do = will_do and self._left_of(need.name, need.specifier) != 0
        return [] if will_do else self._back(project, version)

    def narrow(self, projects: Iterable[NormalizedName]) -> Wanted:
        """The same for releases that were read before, when more will be asked of these projects, and was of others."""
        found: Wanted = []
        for name in list(self._narrowed):
            left = self._left_of(name)
            if left == self._left.get(name, -1):
                continue
            self._left[name] = left
            for project, (version, specifier) in list(self._needs.get(name, {}).items()):
                if self._left_of(name, specifier) == 0:
                    found += self._back(project, version)
        self._narrowed = set(projects)
        return found

    def _left_of(self, name: NormalizedName, specifier: SpecifierSet | None = None) -> int:
        """A bit for each release of a project that is admitted now; -1 for all, and where none is known yet."""
        asked = self._asked(name) if self._universe.known(name) else None
        if asked is None:
            return -1
        return asked.mask if specifier is None else asked.mask & self._universe.mask(Package(name), specifier)

    def _back(self, project: NormalizedName, version: str) -> Wanted:
        way = self._ways.setdefault(project, _Way())
        way.told.add(version)
        way.in_vain.add(version)
        if 2 * len(way.in_vain) < len(way.told) or len(way.told) > _MOST:
            return []
        older = (str(one.version) for one in self._releases(project) if one.file.is_wheel)
        step = list(islice((one for one in older if one not in way.told), way.step))
        way.told.update(step)
        way.step *= 2
        return [(project, SpecifierSet(f"=={one}")) for one in step]
