"""The day of a stack: releases that were uploaded by the end of that day are preferred.

Old metadata has no upper bounds for versions that did not exist when it was written. So the
releases of a stack's own time were tried together, and the newest releases of today are the most
likely to break it.
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

# The time between the latest release that decides the day and the day itself. It leaves room for
# the corrections that often follow a release.
GRACE: Final = dt.timedelta(days=14)

# A function that looks up a project.
ProjectOf = Callable[[NormalizedName], Project]


def decisive_lines(problem: Problem) -> list[Requirement]:
    """Return the lines of a stack that decide its day, except for lines that name a commit.

    They are the lines with a lower bound or a pin. There are none if the policy is not `auto`, or
    if no line has a pin or a commit.
    """
    applying = _applying_lines(problem)
    is_any_pinned = any(need.url or _is_pinned(need) for need in applying)
    if problem.policy.as_of != AUTO or not is_any_pinned:
        return []
    return [need for need in applying if not need.url and _is_bounded(need)]


def day_of(problem: Problem, project: ProjectOf) -> AsOf:
    """Return the day of a stack, by its policy.

    With `auto`, it is two weeks (GRACE) after the first day on which all decisive lines of the
    stack, its commits, and the pins that facts add to pinned releases could be met. There is no day
    if no line has a pin or a commit, or if no upload time is known. `project` looks up a project;
    it raises IndexFailure if that fails.
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
    """Yield the commits that lines of the stack name, with their days; empty if unknown."""
    for need in _applying_lines(problem):
        if need.url:
            source = problem.sources[need.url]
            if source.unknown is not None:
                continue
            day = source.committed.isoformat() if source.committed is not None else ""
            yield DatedRelease(project=need.name, version=str(source.version), day=day)


def _first_releases(problem: Problem, project: ProjectOf) -> list[DatedRelease]:
    """Return the first release that meets each decisive line.

    If a line pins a release, the pins that `requires` facts add to that release count like lines.
    """
    releases: dict[DatedRelease, None] = {}
    waiting = decisive_lines(problem)
    for need in waiting:  # the list grows while it is read
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
    """Return the requirements on projects in the stack's lines that apply to the target."""
    return _applying((root.need for root in problem.stack.requirements), problem)


def _applying(needs: Iterable[facts.Need], problem: Problem) -> list[Requirement]:
    """Return the requirements on projects among these that apply to the target."""
    requirements = [need for need in needs if isinstance(need, Requirement)]
    return [need for need in requirements if need.applies(problem.target.markers)]


def _is_pinned(need: Requirement) -> bool:
    """Return whether a requirement names a single release (`==`, `===`)."""
    return any(map(text.is_exact, need.specifier))


def _is_bounded(need: Requirement) -> bool:
    """Return whether a requirement excludes old releases: by a lower bound or a pin."""
    operators = {specifier.operator for specifier in need.specifier}
    return not operators.isdisjoint((">=", ">", "~=", "==", "==="))
