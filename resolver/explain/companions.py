"""Find lines that cannot go with a row of a compatibility table by another final release.

A companion is a project that the tables pair with a component, beside the anchor of a row (see
`rows`). The CANN of a row may be one for which the companion has only pre-releases, or nothing. So
its line takes such a pre-release, or is dropped if the anchor's release does not need the project.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from packaging.utils import NormalizedName

from resolver.explain.changes import Changes
from resolver.explain.paired_lines import need_of, with_version
from resolver.model.component import Value
from resolver.model.dependency import Candidate
from resolver.model.edit import SetLine
from resolver.model.package import Package
from resolver.model.problem import RootRequirement
from resolver.resolve.candidates import names_prerelease
from resolver.resolve.clauses import Clauses


class _Fitting(NamedTuple):
    """What a project has for a machine, according to the tables."""

    # Whether a final release goes with it, or the project has no release at all.
    is_final: bool
    # The newest release that the tables list for it, if all that fit are pre-releases; None if the
    # tables list none.
    listed: Candidate | None


class Companions:
    """The lines of one problem about projects that tables pair with a component."""

    def __init__(
        self, lines: Sequence[RootRequirement], clauses: Clauses, changes: Changes
    ) -> None:
        """Take the lines with versions whose releases may follow from a row."""
        self._lines = lines
        # The numbers of the lines that some row changes in such a way.
        self.numbers: set[int] = set()
        self._clauses = clauses
        self._alternatives = changes.alternatives
        # What projects have for machines: many rows are for the same one.
        self._known: dict[tuple[NormalizedName, frozenset[tuple[str, Value]]], _Fitting] = {}

    def edits(self, release: Candidate, machine: Mapping[str, Value]) -> Iterator[SetLine]:
        """Yield an edit for each line that no final release of its project can meet in a row.

        `release` is the row's release of the anchor, and `machine` the values of components that
        the row is for. A line gets the pre-release that its tables list for such a machine, if
        there is one: of several the newest. If there is none, the line is dropped unless the
        anchor's release needs the project.
        """
        needed = self._needed(release)
        for root in self._lines:
            need = need_of(root)
            if need.url or need.name == release.package.name or names_prerelease(need.specifier):
                continue
            fitting = self._fitting(need.name, machine)
            if fitting.is_final:
                continue
            self.numbers.add(root.number)
            if fitting.listed is not None:
                yield SetLine(root.number, with_version(root, fitting.listed.version))
            elif need.name not in needed:
                yield SetLine(root.number, "")

    def _fitting(self, name: NormalizedName, machine: Mapping[str, Value]) -> _Fitting:
        """Return what a project has for these values of components."""
        key = name, frozenset(machine.items())
        if key not in self._known:
            package = Package(name)
            self._clauses.add_package(package)
            releases = self._clauses.packages[package]
            usable = [each for each in releases if not each.release.yanked]
            fitting = [each for each in usable if self._goes_with(each, machine)]
            has_final = any(not each.version.is_prerelease for each in fitting)
            listed = [each for each in fitting if self._alternatives.component_needs(each)]
            newest = min(listed, key=lambda each: each.release.position, default=None)
            self._known[key] = _Fitting(has_final or not usable, newest)
        return self._known[key]

    def _needed(self, release: Candidate) -> set[NormalizedName]:
        """Return the projects that an opened release requires; empty if it cannot be opened."""
        universe = self._clauses.universe
        if not universe.opened(release):
            return set()
        return {NormalizedName(edge.package.name) for edge in universe.edges(release)}

    def _goes_with(self, release: Candidate, machine: Mapping[str, Value]) -> bool:
        """Return whether the tables say that a release goes with these values of components."""
        needs = self._alternatives.component_needs(release)
        return all(
            need.component not in machine or need.allows(machine[need.component]) for need in needs
        )
