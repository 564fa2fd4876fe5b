"""The day of a stack: releases that appeared by then are preferred.

Old metadata has no upper bounds for versions that did not exist when it was written. So the set
that somebody tried is the set of its day, and the newest releases of today are the likeliest to
break it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator

from packaging.utils import NormalizedName

from resolver.model import fact as facts
from resolver.model import text
from resolver.model.as_of import AUTO, NEWEST, AsOf, DatedRelease
from resolver.model.problem import Problem
from resolver.model.requirement import Requirement
from resolver.resolve.project import Project

GRACE = dt.timedelta(
    days=14
)  # after the last of what a stack pins: for the fixes that follow a release

ProjectOf = Callable[[NormalizedName], Project]


def decisive_lines(problem: Problem) -> list[Requirement]:
    """Return the lines of a stack about indexes from which its day follows; none if it does not follow from any."""
    lines = [root.need for root in problem.stack.requirements if isinstance(root.need, Requirement)]
    applying = [need for need in lines if _applies(need, problem)]
    is_any_pinned = any(need.url or _is_pinned(need) for need in applying)
    if problem.policy.as_of != AUTO or not is_any_pinned:
        return []
    return [need for need in applying if not need.url and _is_bounded(need)]


def day_of(problem: Problem, project: ProjectOf) -> AsOf:
    """Return the day of a problem's policy.

    With `auto`, the day is two weeks after the first day on which every bounded line of the stack,
    and every `==` that a fact adds to a pinned release, could be met. There is none if neither a
    line nor a commit pins a release. `project` looks a project up. Raises IndexFailure where that
    fails.
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
    for root in problem.stack.requirements:
        need = root.need
        if isinstance(need, Requirement) and need.url and _applies(need, problem):
            source = problem.sources[need.url]
            day = source.committed.isoformat() if source.committed is not None else ""
            yield DatedRelease(project=need.name, version=str(source.version), day=day)


def _first_releases(problem: Problem, project: ProjectOf) -> list[DatedRelease]:
    """Return the first release that meets each decisive line, and each pin of a fact about a release pinned so."""
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
                pins = [
                    need
                    for need in fact.needs
                    if isinstance(need, Requirement) and _is_pinned(need)
                ]
                waiting += [need for need in pins if _applies(need, problem)]
    return list(releases)


def _applies(need: Requirement, problem: Problem) -> bool:
    """Return whether the marker of a requirement holds for the target."""
    return need.marker is None or need.marker.evaluate(problem.target.markers)


def _is_pinned(need: Requirement) -> bool:
    return any(map(text.is_exact, need.specifier))


def _is_bounded(need: Requirement) -> bool:
    """Return whether a requirement keeps old releases out."""
    return any(specifier.operator in (">=", ">", "~=", "==", "===") for specifier in need.specifier)
