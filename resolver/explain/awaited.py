"""Whether a refutation rests on an index that could not be reached: the problem is then undecided, not impossible.

What such an index may have is supposed to be there: releases that meet the requirements of the core and need nothing.
If the problem is solvable with them, the answer depends on that index. If it is refuted on other grounds, that is a
proof whatever the index has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import date
from itertools import islice

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.errors import ResolverError
from resolver.explain.trial import Expired
from resolver.index.recorded import RecordedCatalog
from resolver.model import text
from resolver.model.dependency import Kind, StackLine
from resolver.model.explanation import Awaited
from resolver.model.problem import Recorded
from resolver.model.resolution import Lack, Pin, Resolution
from resolver.resolve.grounded import Ground, Lacking
from resolver.resolve.project import Project
from resolver.resolve.solver import Refutation, decide
from resolver.resolve.universe import Universe

_ROUNDS = 12
_BASES = 20  # releases on the index that a supposed one may be another build of


def awaited(refutation: Refutation, tick: Callable[[int, int], None]) -> tuple[Awaited, ...]:
    """What has to be on indexes that could not be reached for a solution; nothing if there is none whatever they have.

    The clauses then learn what was read for that.
    """
    clauses = refutation.engine.clauses
    universe = clauses.universe
    problem = universe.problem
    supposed: dict[str, Recorded] = {}
    for _ in range(_ROUNDS):
        missing = [ground for ground in refutation.core if isinstance(ground, Lacking) and is_open(universe, ground)]
        if not missing:
            if supposed:
                clauses.learn(refutation.engine.clauses)
            return ()
        before = len(supposed)
        for project, specifiers in _demands(refutation, missing):
            for row in _rows(project, specifiers):
                supposed.setdefault(row.filename, row)
        if len(supposed) == before:
            break
        catalog = RecordedCatalog(universe.catalog, tuple(supposed.values()), problem.indexes, problem.target.platform)
        with suppress(Expired, ResolverError):
            answer = decide(Universe(problem, catalog), tick=tick)
            if isinstance(answer, Resolution):
                pins = [pin for pin in answer.pins if pin.release.file.filename in supposed]
                return tuple(_of_pin(pin, universe.project(pin.name)) for pin in pins)
            refutation = answer
            continue
        break
    return tuple(_of_ground(ground, universe) for ground in missing)


def is_open(universe: Universe, ground: Ground) -> bool:
    """Whether a ground is a lack of what an index may have that could not be reached."""
    if not isinstance(ground, Lacking) or ground.lack is Lack.SOURCE:
        return False
    return bool(_project(universe, ground).unreachable)


def _project(universe: Universe, ground: Lacking) -> Project:
    return universe.project(text.name(ground.project.partition("[")[0]))


def _demands(refutation: Refutation, missing: Sequence[Lacking]) -> Iterator[tuple[Project, Sequence[SpecifierSet]]]:
    """The projects of which something is missing, each with what the core requires of it."""
    clauses = refutation.engine.clauses
    for project in dict.fromkeys(_project(clauses.universe, ground) for ground in missing):
        found: dict[str, SpecifierSet] = {}
        for ground in refutation.core:
            for _, edge in clauses.edges.get(ground, ()):
                of_it = edge.package.kind is Kind.PROJECT and text.name(edge.package.name) == project.name
                if of_it and isinstance(edge.allows, SpecifierSet):
                    found.setdefault(str(edge.allows), edge.allows)
        yield project, list(found.values()) or [SpecifierSet()]


def _rows(project: Project, specifiers: Sequence[SpecifierSet]) -> Iterator[Recorded]:
    """Releases that meet requirements: those named in them, and other builds of them or of what the indexes have."""
    for specifier in specifiers:
        named = [text.version(one.version.removesuffix(".*")) for one in specifier]
        known = [project.versions[at] for at in islice(project.positions(project.mask(specifier)), _BASES)]
        for base in [*filter(None, named), *known]:
            for version in (base, Version(f"{base.base_version}.post9999")):
                for index in project.unreachable if specifier.contains(version, prereleases=True) else ():
                    yield Recorded(
                        index=index,
                        filename=f"{project.name.replace('-', '_')}-{version}-py3-none-any.whl",
                        sha256="0" * 64,
                        requires=(),
                        source="",
                        checked=date.min,
                        where="",
                    )


def _of_pin(pin: Pin, project: Project) -> Awaited:
    needs = dict.fromkeys(getattr(origin, "text", pin.name) for origin in pin.because)
    by = dict.fromkeys(origin.parent for origin in pin.because if not isinstance(origin, StackLine))
    return Awaited(indexes=project.unreachable, project=project.name, needs=tuple(needs), by=tuple(by))


def _of_ground(ground: Lacking, universe: Universe) -> Awaited:
    project = _project(universe, ground)
    wanted = ground.detail if ground.lack is Lack.RELEASE else ""
    return Awaited(indexes=project.unreachable, project=project.name, needs=(f"{project.name}{wanted}",))
