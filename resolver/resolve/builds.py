"""The isolated environments in which source archives of a resolution are built.

Each environment is solved as a problem of its own, whose lines are the build requirements of its
archives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace
from packaging.requirements import InvalidRequirement
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.errors import InputError
from resolver.index.protocol import Catalog
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.as_of import NEWEST
from resolver.model.constraint import BuildLine
from resolver.model.problem import Checks, Problem, RootRequirement
from resolver.model.release import Release
from resolver.model.requirement import Requirement
from resolver.model.resolution import Resolution
from resolver.phrase import cause, phrase
from resolver.redaction import without_secrets
from resolver.resolve.needs import is_built_here, requirement_lines
from resolver.resolve.provider import Tick
from resolver.resolve.refutation import Refutation
from resolver.resolve.solver import solve

# The names of the projects whose archives are built in one environment.
Archives = tuple[NormalizedName, ...]
# The versions to prefer in each build environment, by project.
BuildPreferences = Mapping[Archives, Mapping[NormalizedName, Version]]

# The key of the environment that is used for all archives of a lock.
ALL_ARCHIVES: Archives = ()


class BuildEnvironment(NamedTuple):
    """An isolated environment in which source archives are built."""

    # The projects that are built in it; ALL_ARCHIVES if it is the only environment.
    archives: Archives
    # The tools that are installed in it, or a proof that they cannot be installed together.
    answer: Resolution | Refutation


def solve_builds(
    resolution: Resolution,
    catalog: Catalog,
    *,
    preferred: BuildPreferences | None = None,
    tick: Tick | None = None,
) -> tuple[BuildEnvironment, ...]:
    """Return the isolated environments in which source archives of a resolution are built.

    There are none if no archive is built in isolation, or if the builds require nothing. A lock
    pins the tools of builds, since pip's hash mode does not check what an isolated build downloads.
    All archives share one environment if their tools are compatible. If not, each archive in the
    order of the names gets into the first environment that still has a solution with it, or into a
    new one.

    `preferred` has the versions to try first for each environment. After these come the versions
    that the resolution pins. Build tools must have wheels, since they are not built themselves.
    `tick` is as in `solve`. Raises what `solve` raises.
    """
    archives = tuple(
        pin.name
        for pin in resolution.pins
        if (pin.release.source or not pin.release.file.is_wheel) and not is_built_here(pin.release)
    )
    pinned = {pin.name: pin.version for pin in resolution.pins}

    def solve_for(names: Archives, key: Archives) -> Resolution | Refutation | None:
        problem = build_problem(resolution, catalog, names)
        if problem is None:
            return None
        previous = (preferred or {}).get(key, {})
        return solve(problem, catalog, preferred={**pinned, **previous}, tick=tick)

    together = solve_for(archives, ALL_ARCHIVES)
    if together is None:
        return ()
    if isinstance(together, Resolution) or len(archives) == 1:
        return (BuildEnvironment(ALL_ARCHIVES, together),)
    environments: list[BuildEnvironment] = []
    # Archives whose builds require nothing come last, since they fit into any environment.
    for name in sorted(
        archives, key=lambda name: build_problem(resolution, catalog, (name,)) is None
    ):
        for number, environment in enumerate(environments):
            if not isinstance(environment.answer, Resolution):
                continue
            wider = (*environment.archives, name)
            answer = solve_for(wider, wider)
            if isinstance(answer, Resolution):
                environments[number] = BuildEnvironment(wider, answer)
                break
        else:
            alone = solve_for((name,), (name,))
            if alone is not None:
                environments.append(BuildEnvironment((name,), alone))
    return tuple(environments)


def build_problem(resolution: Resolution, catalog: Catalog, archives: Archives) -> Problem | None:
    """Return a problem whose lines are the build requirements of some archives.

    None if they require nothing. Raises InputError for a requirement that is invalid or names an
    address.
    """
    requirements: list[RootRequirement] = []
    for pin in resolution.pins:
        if pin.name not in archives:
            continue
        metadata = [
            fact
            for fact in resolution.problem.facts
            if isinstance(fact, facts.Metadata) and fact.is_about(pin.name, pin.version)
        ]
        lines = requirement_lines(catalog, pin.release, metadata).build_requires
        for requirement in lines:
            line = BuildLine(
                text=requirement,
                project=pin.name,
                version=str(pin.version),
                filename=pin.release.file.filename,
                fact=_build_fact(pin.release, metadata, requirement),
            )
            need = _build_need(line, resolution.problem.target.markers)
            requirements.append(RootRequirement(need=need, origin=line))
    if not requirements:
        return None
    stack = replace(
        resolution.problem.stack,
        requirements=tuple(requirements),
        checks=Checks(),
        departures=(),
        absent=(),
    )
    # Releases of the same day are preferred for build tools.
    policy = replace(resolution.problem.policy, as_of=resolution.as_of.day or NEWEST)
    return replace(resolution.problem, stack=stack, policy=policy, wheels_only=True, sources={})


def _build_fact(
    release: Release, metadata: Sequence[facts.Metadata], line: str
) -> facts.Fact | None:
    """Return the fact that states a build requirement; None if the archive states it.

    As in `requirement_lines`, a `builds` fact adds requirements to the archive's own, and the first
    `metadata` fact may replace them.
    """
    if release.source is not None:
        return release.source.fact
    if release.builds is not None:
        return release.builds if line in map(str, release.builds.build_add) else None
    if metadata and metadata[0].build_requires is not None:
        return metadata[0]
    return None


def _build_need(line: BuildLine, markers: Mapping[str, str]) -> Requirement:
    """Return the requirement in a line of a build.

    Raises InputError if it is invalid, or names an address.
    """
    why = phrase("addresses are not supported")
    try:
        need = text.requirement(line.text)
        need.applies(markers)  # which raises for a marker that cannot be evaluated
        if not need.url:
            return need
    except InvalidRequirement as error:
        why = cause(error)
    raise InputError(
        phrase(
            "{package} {version} cannot be built: it needs `{need}`",
            package=line.project,
            version=line.version,
            need=without_secrets(line.text),
        ),
        where=line.where,
        why=why,
        hint=phrase("state what its build needs in a `metadata` or `builds` fact"),
    )
