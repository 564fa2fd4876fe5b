"""A conflict's edges told as sentences, each with its origin; releases that behave alike together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from resolver.model.component import ComponentRequirement
from resolver.model.conflict import Clash
from resolver.model.edge import Edge, Nothing
from resolver.model.origin import BuildLine, FactLine, MetadataLine, StackLine
from resolver.model.package import Kind, Package
from resolver.model.release import SetAside
from resolver.model.target import Target
from resolver.solve.admits import pins
from resolver.solve.project import Project
from resolver.solve.universe import Universe

_MANY = 4


def clashes(universe: Universe, core: Sequence[Edge]) -> tuple[Clash, ...]:
    """Sentences for the edges of a core, the stack's own first."""
    rows = sorted(core, key=lambda edge: not isinstance(edge.origin, StackLine))
    sentences = list(_edges(rows))
    for package in dict.fromkeys(edge.package for edge in rows):
        about = [edge for edge in rows if edge.package == package and not isinstance(edge.allows, Nothing)]
        sentences += _missing(universe, package, about)
    return tuple(sentences)


def _edges(rows: Sequence[Edge]) -> Iterator[Clash]:
    alike: dict[tuple[str, str], list[Edge]] = {}
    for edge in rows:
        match edge.origin:
            case MetadataLine() | FactLine() | BuildLine():
                key = (edge.origin.parent.rpartition(" ")[0], f"{type(edge.origin).__name__} {edge.origin.text}")
            case _:
                key = (str(edge.origin), edge.origin.where)
        alike.setdefault(key, []).append(edge)
    for edges in alike.values():
        origin = edges[0].origin
        evidence = strength = ""
        text = str(origin)
        if isinstance(origin, (FactLine, BuildLine)) and origin.fact is not None:
            evidence, strength = origin.fact.source, str(origin.fact.strength)
        if len(edges) > 1 and isinstance(origin, (MetadataLine, FactLine, BuildLine)):
            versions = [
                edge.origin.parent.rpartition(" ")[2]
                for edge in edges
                if isinstance(edge.origin, (MetadataLine, FactLine, BuildLine))
            ]
            text = text.replace(origin.parent, f"{origin.parent.rpartition(' ')[0]} {_listed(versions)}", 1)
            text = text.replace(" needs ", " need ", 1)
        yield Clash(text=text, where=origin.where, evidence=evidence, strength=strength)


def _listed(versions: Sequence[str]) -> str:
    if len(versions) <= _MANY:
        return ", ".join(versions)
    return f"{versions[-1]} to {versions[0]} ({len(versions)} releases)"


def _missing(universe: Universe, package: Package, edges: Sequence[Edge]) -> Iterator[Clash]:
    """What the target or the indexes contribute: a component's value, releases that do not exist or do not fit."""
    if package.kind is Kind.SYSTEM:
        value = universe.problem.target.system.get(package.name)
        if any(isinstance(edge.allows, ComponentRequirement) for edge in edges):
            where = universe.problem.target.places.get(package.name, universe.problem.stack.where)
            yield Clash(text=f"the target has {package.name} {value}", where=where)
        return
    if package.kind is not Kind.PROJECT:
        return
    project = universe.project(package.base.name)  # type: ignore[arg-type]
    if not project.found:
        bound = universe.problem.indexes.binding(project.name, universe.problem.target.platform).indexes
        yield Clash(text=f"no index has a project `{project.name}`", where=f"looked up on {', '.join(bound)}")
        return
    told = False
    joint = project.all
    for edge in edges:
        mask = project.mask(edge.allows)
        joint &= mask
        for clash in _alone(universe, project, edge, mask):
            told = True
            yield clash
    if not told and joint and len(edges) > 1:
        yield from _refusals(project, joint, universe.problem.target)
    if project.unreachable and not any(project.mask(edge.allows) and pins(edge.allows) for edge in edges):
        names = " and ".join(f"`{name}`" for name in project.unreachable)
        yield Clash(
            text=f"index {names} could not be reached; it may have releases of {project.name} that would do",
            where="so this is shown for the indexes that answered only",
        )


def _alone(universe: Universe, project: Project, edge: Edge, mask: int) -> Iterator[Clash]:
    """Why nothing of what one requirement admits can be had."""
    if not mask:
        yield Clash(
            text=f"there is no release of {project.name}"
            + (f" in `{edge.allows}`; {_newest(project)}" if project.versions else " at all on its page"),
            where="index page of " + project.name,
        )
    elif universe.problem.policy.prereleases_for(project.name) == "never" and not mask & project.stable:
        wanted = f" in `{edge.allows}`" if str(edge.allows) else ""
        yield Clash(
            text=f"there are only pre-releases of {project.name}{wanted}, and the policy takes none",
            where="prereleases in [policy] of the stack",
        )
    else:
        yield from _refusals(project, mask, universe.problem.target)


def _newest(project: Project) -> str:
    return f"the newest is {project.versions[0]}"


def _refusals(project: Project, mask: int, target: Target) -> Iterator[Clash]:
    """Why no release of a set has a file for the target; nothing where one has."""
    python = "".join(map(str, target.python_line))

    def near(row: SetAside) -> tuple[bool, bool]:
        """The files that come nearest to the target first."""
        return target.machine not in row.filename, f"-cp{python}-" not in row.filename

    refused: list[tuple[int, tuple[SetAside, ...]]] = []
    for position in project.positions(mask):
        release = project.release(position)
        if not isinstance(release, tuple):
            return
        refused.append((position, release))
    for position, found in refused[:_MANY]:
        rows = sorted(found, key=near)
        reasons = dict.fromkeys(row.reason.value + (f" ({row.detail})" if row.detail else "") for row in rows[:_MANY])
        yield Clash(
            text=f"{project.name} {project.versions[position]} has no file for the target: each {'; '.join(reasons)}",
            where=", ".join(row.filename for row in rows[:_MANY]) + (" …" if len(rows) > _MANY else ""),
        )
    if len(refused) > _MANY:
        yield Clash(text=f"and {len(refused) - _MANY} older releases of {project.name} likewise", where="")
