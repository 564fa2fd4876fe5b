"""The facts of a problem, by the project that they are about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model import fact as facts


class About:
    """Finds facts."""

    def __init__(self, known: Iterable[facts.Fact]) -> None:
        self._facts: dict[NormalizedName, list[facts.Fact]] = {}
        self._collisions: dict[NormalizedName, list[facts.Collides | facts.Absent]] = {}
        for fact in known:
            self._facts.setdefault(fact.package, []).append(fact)
            if isinstance(fact, (facts.Collides, facts.Absent)):
                self._collisions.setdefault(fact.package, []).append(fact)
                self._collisions.setdefault(fact.other, []).append(fact)

    def project(self, name: NormalizedName) -> tuple[facts.Fact, ...]:
        """Every fact about a project."""
        return tuple(self._facts.get(name, ()))

    def taken_by(self, name: NormalizedName, version: Version) -> facts.Excludes | facts.Names | None:
        """The fact that rules a release out."""
        for fact in self._facts.get(name, ()):
            if isinstance(fact, (facts.Excludes, facts.Names)) and fact.speaks_of(version):
                return fact
        return None

    def collisions(self, name: NormalizedName, version: Version) -> Iterator[facts.Collides | facts.Absent]:
        """The facts by which a release owns a module together with another project."""
        for collision in self._collisions.get(name, ()):
            if name == collision.other or collision.speaks_of(version):
                yield collision
