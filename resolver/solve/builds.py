"""The environment apart in which source archives are built: a small problem of its own.

pip's hash mode does not cover what an isolated build downloads, so a lock pins
that, too. All archives of a lock are built in one such environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from packaging.requirements import InvalidRequirement
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.catalog.protocol import Catalog
from resolver.errors import InputError
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.candidate import Release
from resolver.model.conflict import Conflict
from resolver.model.origin import BuildLine
from resolver.model.problem import Ask, Checks, Problem
from resolver.model.requirement import Requirement
from resolver.model.resolution import Resolution
from resolver.solve.needs import requirement_lines
from resolver.solve.solver import Tick, solve


def solve_builds(
    resolution: Resolution,
    catalog: Catalog,
    *,
    preferred: Mapping[NormalizedName, Version] | None = None,
    tick: Tick | None = None,
) -> Resolution | Conflict | None:
    """The build environment of a resolution's source archives; None where it needs none.

    `preferred` releases are tried first, then those that the resolution itself pins.
    Build tools must have wheels: they are not built in turn.
    """
    problem = build_problem(resolution, catalog)
    if problem is None:
        return None
    pinned = {pin.name: pin.version for pin in resolution.pins}
    return solve(problem, catalog, preferred={**pinned, **(preferred or {})}, tick=tick)


def build_problem(resolution: Resolution, catalog: Catalog) -> Problem | None:
    """What the builds that have an environment apart ask for."""
    asks: list[Ask] = []
    for pin in resolution.pins:
        if not _apart(pin.release):
            continue
        stated = [
            fact
            for fact in resolution.problem.facts
            if isinstance(fact, facts.Metadata) and fact.package == pin.name and fact.speaks_of(pin.version)
        ]
        lines = requirement_lines(catalog, pin.release, stated).build_requires
        fact: facts.Fact | None = stated[0] if stated else None
        if pin.release.source is not None:
            fact = pin.release.source.fact
        parent = f"{pin.name} {pin.version}"
        for line in lines:
            origin = BuildLine(pin.release.file.filename, parent, line, fact)
            asks.append(Ask(need=_build_need(line, origin), origin=origin))
    if not asks:
        return None
    stack = replace(resolution.problem.stack, asks=tuple(asks), checks=Checks(), departures=(), absent=())
    return replace(resolution.problem, stack=stack, wheels_only=True, sources={})


def _apart(release: Release) -> bool:
    if release.source is not None:
        return release.source.recipe.isolation
    return not release.file.is_wheel and (release.builds is None or release.builds.isolation)


def _build_need(line: str, origin: BuildLine) -> Requirement:
    why = "addresses are not followed"
    try:
        need = text.requirement(line)
        if not need.url:
            return need
    except InvalidRequirement as error:
        why = str(error).partition("\n")[0]
    raise InputError(
        f"{origin.parent} cannot be built: it needs `{line}`",
        where=origin.where,
        why=why,
        hint="name what its build needs in a `metadata` or `builds` fact",
    )
