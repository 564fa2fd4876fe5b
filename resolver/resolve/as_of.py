"""The day of a stack: releases that appeared by then are preferred.

Old metadata has no upper bounds for versions that did not exist when it was written. So the set that somebody tried is
the set of its day, and the newest releases of today are the likeliest to break it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

from packaging.utils import NormalizedName

from resolver.model import fact as facts
from resolver.model.as_of import AUTO, NEWEST, AsOf, DatedRelease
from resolver.model.problem import Problem
from resolver.model.requirement import Requirement
from resolver.resolve.project import Project, is_pin

GRACE = dt.timedelta(days=14)  # after the last of what a stack pins: for the fixes that follow a release

ProjectOf = Callable[[NormalizedName], Project]


def day_of(problem: Problem, project: ProjectOf) -> AsOf:
    """Return the day of a problem's policy. With `auto`, it follows from what the stack pins.

    That is what its lines name with `==`, what facts about these releases name so, and commits. If there is any, it is
    the first day on which each line of the stack, and each such requirement of a fact, could be met, and two weeks.
    `project` looks a project up. Raises IndexFailure where that fails.
    """
    policy = problem.policy.as_of
    if policy == NEWEST:
        return AsOf(policy=NEWEST)
    if policy != AUTO:
        return AsOf(policy=policy, day=policy)
    lines = _Lines(problem, project)
    if not lines.is_any_pinned:
        return AsOf(policy=AUTO)
    dated = [release for release in lines.first_releases if release.day]
    undated = tuple(sorted({release.project for release in lines.first_releases if not release.day}))
    if not dated:
        return AsOf(policy=AUTO, undated=undated)
    latest = max(dated, key=lambda release: (release.day, release.project))
    day = dt.date.fromisoformat(latest.day) + GRACE
    return AsOf(policy=AUTO, day=day.isoformat(), latest=latest, undated=undated)


class _Lines:
    """The first release that meets each line of a stack with a bound, and each pin of a fact about such a release."""

    def __init__(self, problem: Problem, project: ProjectOf) -> None:
        self._problem = problem
        self._project = project
        # whether a line or a commit pins a release
        self.is_any_pinned = False
        # by line, in the order of the stack, then those of facts
        self.first_releases: list[DatedRelease] = []
        self._waiting = [root.need for root in problem.stack.requirements]
        for need in self._waiting:  # which grows
            if isinstance(need, Requirement) and self._applies(need):
                self._add(need)

    def _applies(self, need: Requirement) -> bool:
        return need.marker is None or need.marker.evaluate(self._problem.target.markers)

    def _add(self, need: Requirement) -> None:
        if need.url:
            self._add_commit(need)
            return
        is_pinned = any(map(is_pin, need.specifier))
        if not is_pinned and not any(specifier.operator in (">=", ">", "~=", "==") for specifier in need.specifier):
            return
        releases = self._project(need.name)
        admitted = releases.mask(need.specifier)
        positions = list(releases.positions(admitted & releases.stable or admitted))
        if not positions:
            return
        first = min(positions, key=releases.ordered.day)
        version = str(releases.versions[first])
        release = DatedRelease(project=need.name, version=version, day=releases.ordered.day(first))
        if release in self.first_releases:
            return
        self.first_releases.append(release)
        if is_pinned:
            self.is_any_pinned = True
            for fact in releases.facts_about(first, facts.Requires):
                self._waiting += filter(_is_pin_of_fact, fact.needs)

    def _add_commit(self, need: Requirement) -> None:
        source = self._problem.sources[need.url]
        day = source.committed.isoformat() if source.committed is not None else ""
        self.first_releases.append(DatedRelease(project=need.name, version=str(source.version), day=day))
        self.is_any_pinned = True


def _is_pin_of_fact(need: facts.Need) -> bool:
    return isinstance(need, Requirement) and any(map(is_pin, need.specifier))
