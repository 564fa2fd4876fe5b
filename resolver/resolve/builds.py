"""The isolated environments in which source archives are built, each a small problem of its own.

pip's hash mode does not cover what an isolated build downloads, so a lock pins that, too. All archives of a lock are
built in one such environment if their tools are compatible. If not, archives share environments as far as possible,
in the order of their names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec.structs import replace
from packaging.requirements import InvalidRequirement
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.errors import InputError
from resolver.index.protocol import Catalog
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.dependency import NeedLine, NeedSource
from resolver.model.problem import Ask, Checks, Problem
from resolver.model.requirement import Requirement
from resolver.model.resolution import Conflict, Resolution
from resolver.resolve.needs import is_built_here, requirement_lines
from resolver.resolve.provider import Tick
from resolver.resolve.solver import solve

Archives = tuple[NormalizedName, ...]
Kept = Mapping[Archives, Mapping[NormalizedName, Version]]

EVERY: Archives = ()  # stands for all archives of a lock, in one environment


class Environment(NamedTuple):
    """The archives that are built in one environment (EVERY if it is the only one), and its contents."""

    archives: Archives
    answer: Resolution | Conflict


def solve_builds(
    resolution: Resolution,
    catalog: Catalog,
    *,
    preferred: Kept | None = None,
    tick: Tick | None = None,
) -> tuple[Environment, ...]:
    """The environments in which a resolution's source archives are built; empty if it needs none.

    The `preferred` releases of an environment are tried first, then those that the resolution itself pins. Build tools
    must have wheels: they are not built themselves.
    """
    archives = tuple(
        pin.name
        for pin in resolution.pins
        if (pin.release.source or not pin.release.file.is_wheel) and not is_built_here(pin.release)
    )
    pinned = {pin.name: pin.version for pin in resolution.pins}

    def solved(names: Archives, known_as: Archives) -> Resolution | Conflict | None:
        problem = build_problem(resolution, catalog, names)
        if problem is None:
            return None
        kept = (preferred or {}).get(known_as, {})
        return solve(problem, catalog, preferred={**pinned, **kept}, tick=tick)

    together = solved(archives, EVERY)
    if together is None:
        return ()
    if isinstance(together, Resolution) or len(archives) == 1:
        return (Environment(EVERY, together),)
    found: list[Environment] = []
    for name in sorted(archives, key=lambda name: build_problem(resolution, catalog, (name,)) is None):
        for at, one in enumerate(found):
            wider = (*one.archives, name)
            answer = solved(wider, wider) if isinstance(one.answer, Resolution) else None
            if isinstance(answer, Resolution):
                found[at] = Environment(wider, answer)
                break
        else:
            alone = solved((name,), (name,))
            found += [Environment((name,), alone)] if alone is not None else []
    return tuple(found)


def build_problem(resolution: Resolution, catalog: Catalog, archives: Archives) -> Problem | None:
    """The problem of what builds of these archives require; None if that is nothing."""
    asks: list[Ask] = []
    for pin in resolution.pins:
        if pin.name not in archives:
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
            origin = NeedLine(NeedSource.BUILD, parent, line, pin.release.file.filename, fact)
            asks.append(Ask(need=_build_need(line, origin), origin=origin))
    if not asks:
        return None
    stack = replace(resolution.problem.stack, asks=tuple(asks), checks=Checks(), departures=(), absent=())
    return replace(resolution.problem, stack=stack, wheels_only=True, sources={})


def _build_need(line: str, origin: NeedLine) -> Requirement:
    why = "addresses are not supported"
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
        hint="state what its build needs in a `metadata` or `builds` fact",
    )
