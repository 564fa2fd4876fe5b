"""The day of a stack: releases that appeared by then are preferred.

Old metadata has no upper bounds for versions that did not exist when it was written. So the set
that somebody tried is the set of its day, and the newest releases of today are the likeliest to
break it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from packaging.utils import NormalizedName

from resolver.model import fact as facts
from resolver.model import text
from resolver.model.as_of import AUTO, NEWEST, AsOf, DatedRelease
from resolver.model.problem import Problem
from resolver.model.requirement import Requirement
from resolver.resolve.project import Project

# After the last of what a stack pins, for the fixes that follow a release.
GRACE: Final = dt.timedelta(days=14)

ProjectOf = Callable[[NormalizedName], Project]


def decisive_lines(problem: Problem) -> list[Requirement]:
    """Return the lines of a stack from which its day follows, except for commits.

    There are none if the policy names a day, or if no line pins anything.
    """
    applying = _applying_lines(problem)
    is_any_pinned = any(need.url or _is_pinned(need) for need in applying)
    if problem.policy.as_of != AUTO or not is_any_pinned:
        return []
    return [need for need in applying if not need.url and _is_bounded(need)]


def day_of(problem: Problem, project: ProjectOf) -> AsOf:
    """Return the day of a problem's policy.

    With `auto`, it is two weeks after the first day on which every bounded line of the stack, and
    every `==` that a fact adds to a pinned release, could be met. There is none if neither a line
    nor a commit pins a release. `project` looks a project up, and raises IndexFailure if it cannot.
    """
    policy = problem.policy.as_of
    if policy == NEWEST:
        return AsOf(policy=NEWEST)
    if policy != AUTO:
        return AsOf(policy=policy, day=policy)
    named = [*_commits(problem), *_first_releases(problem, project)]
    dated = [release for release in named if release.day]
    undated = tuple(sorted({release.project for release in named if not release.day}))
    if not dated:
        return AsOf(policy=AUTO, undated=undated)
    latest = max(dated, key=lambda release: (release.day, release.project))
    day = dt.date.fromisoformat(latest.day) + GRACE
    return AsOf(policy=AUTO, day=day.isoformat(), latest=latest, undated=undated)


def _commits(problem: Problem) -> Iterator[DatedRelease]:
    """Yield the commits that lines of the stack take projects from."""
    for need in _applying_lines(problem):
        if need.url:
            source = problem.sources[need.url]
            day = source.committed.isoformat() if source.committed is not None else ""
            yield DatedRelease(project=need.name, version=str(source.version), day=day)


def _first_releases(problem: Problem, project: ProjectOf) -> list[DatedRelease]:
    """Return the first release that meets each decisive line.

    If a line pins its release, the pins that facts require for that release count as lines, too.
    """
    releases: dict[DatedRelease, None] = {}
    waiting = decisive_lines(problem)
    for need in waiting:  # which grows
        of_project = project(need.name)
        admitted = of_project.mask(need.specifier)
        positions = list(of_project.positions(admitted & of_project.stable or admitted))
        if not positions:
            continue
        first = min(positions, key=of_project.ordered.day)
        release = DatedRelease(
            project=need.name,
            version=str(of_project.versions[first]),
            day=of_project.ordered.day(first),
        )
        if release in releases:
            continue
        releases[release] = None
        if _is_pinned(need):
            for fact in of_project.facts_about(first, facts.Requires):
                requirements = _applying(fact.needs, problem)
                waiting += [required for required in requirements if _is_pinned(required)]
    return list(releases)


def _applying_lines(problem: Problem) -> list[Requirement]:
    """Return the lines of a stack that require a project on the target."""
    return _applying((root.need for root in problem.stack.requirements), problem)


def _applying(needs: Iterable[facts.Need], problem: Problem) -> list[Requirement]:
    """Return which of these require a project on the target."""
    requirements = [need for need in needs if isinstance(need, Requirement)]
    return [need for need in requirements if need.applies(problem.target.markers)]


def _is_pinned(need: Requirement) -> bool:
    """Return whether a requirement names one release."""
    return any(map(text.is_exact, need.specifier))


def _is_bounded(need: Requirement) -> bool:
    """Return whether a requirement keeps old releases out."""
    operators = {specifier.operator for specifier in need.specifier}
    return not operators.isdisjoint((">=", ">", "~=", "==", "==="))
