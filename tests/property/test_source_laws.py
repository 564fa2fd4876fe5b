"""Laws of sources and absences: each such problem is a plain one in disguise.

The plain world is written down by definition here, and judged by brute force.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hypothesis import event, given, settings
from hypothesis import strategies as st
from msgspec import structs
from packaging.version import Version as Pep440

from resolver.model import fact as facts
from resolver.model.problem import Problem
from resolver.model.resolution import Resolution
from resolver.resolve.independent_check import check
from resolver.resolve.solver import solve
from tests import problems
from tests.property.bruteforce import BruteForce, requirement
from tests.property.found import complete, extras, pins
from tests.property.worlds import Version, World, worlds


@dataclass(frozen=True)
class Disguised:
    """A world with `sources` that come from a commit, and with absences."""

    world: World
    sources: Mapping[str, str]  # project -> which of its releases
    absent: tuple[str, ...]
    facts: tuple[facts.Absent, ...]

    def problem(self) -> Problem:
        rows = sorted(self.sources.items())
        taken = [
            problems.taken(name, one, *self.world.projects[name][one].requires)
            for name, one in rows
        ]
        asks = (*self.world.asks, *(line for line, _ in taken))
        disguised = replace(self.world, asks=asks, facts=(*self.world.facts, *self.facts)).problem()
        return problems.without(
            problems.with_sources(disguised, *(source for _, source in taken)), *self.absent
        )

    def plain(self) -> World:
        """Return the plain world: a source is a project's only release, and absences hold."""
        projects = {
            name: {self.sources[name]: Version(releases[self.sources[name]].requires)}
            if name in self.sources
            else releases
            for name, releases in self.world.projects.items()
        }
        asks = (*self.world.asks, *sorted(self.sources))
        gone, kept = set(self.absent), []
        for fact in self.facts:
            lines = [line for line in map(requirement, asks) if line is not None]
            about = [line.specifier for line in lines if line.name == fact.package]
            fitting = [
                v
                for v in projects[fact.package]
                if all(s.contains(v, prereleases=True) for s in about)
            ]
            admitted = [v for v in fitting if self._is_for_target(fact.package, v)]
            wanted = any(line.name == fact.other for line in lines)
            if (
                about
                and admitted
                and not wanted
                and all(fact.applies_to(Pep440(v)) for v in admitted)
            ):
                gone.add(fact.other)
            kept.append(
                problems.collides(fact.package, str(fact.versions[0]), fact.other, fact.module)
            )
        return World(
            projects={
                name: {
                    version: replace(release, requires=_without(release.requires, gone))
                    for version, release in rows.items()
                }
                for name, rows in projects.items()
            },
            asks=asks,
            facts=(*(_fact_without(fact, gone) for fact in self.world.facts), *kept),
            prereleases=self.world.prereleases,
            system=self.world.system,
        )

    def _is_for_target(self, project: str, version: str) -> bool:
        """Return whether the target has the components that facts require for a release.

        Facts about the release's wheels do not count.
        """
        system = self.problem().target.system
        for fact in self.world.facts:
            if (
                isinstance(fact, facts.Requires)
                and not fact.wheels
                and fact.is_about(project, Pep440(version))
            ):
                for need in facts.component_requirements(fact.needs):
                    if need.component in system and not need.allows(system[need.component]):
                        return False
        return True


def _without(lines: tuple[str, ...], gone: set[str]) -> tuple[str, ...]:
    return tuple(
        line
        for line in lines
        if (need := requirement(line)) is None or need.url or need.name not in gone
    )


def _fact_without(fact: facts.Fact, gone: set[str]) -> facts.Fact:
    if isinstance(fact, facts.Requires):
        return structs.replace(
            fact, needs=tuple(need for need in fact.needs if getattr(need, "name", "") not in gone)
        )
    if isinstance(fact, facts.Replaces):
        return structs.replace(
            fact, add=tuple(need for need in fact.add if getattr(need, "name", "") not in gone)
        )
    return fact


@st.composite
def disguised(draw: st.DrawFn) -> Disguised:
    world = draw(worlds())
    names = sorted(world.projects)
    asked = {need.name for line in world.asks if (need := requirement(line)) is not None}
    taken = draw(st.lists(st.sampled_from(names), max_size=2, unique=True))
    sources = {name: draw(st.sampled_from(sorted(world.projects[name]))) for name in taken}
    free = [name for name in names if name not in asked and name not in sources]
    absent = draw(st.lists(st.sampled_from(free), max_size=1)) if free else []
    stated = []
    for number in range(draw(st.integers(0, 2))):
        owner, other = draw(st.permutations(names))[:2]
        versions = draw(st.sampled_from(("", ">=2", "<3", "==1")))
        stated.append(
            structs.replace(problems.absent(owner, versions, other), id=f"absent-{number}")
        )
    return Disguised(world, sources, tuple(absent), tuple(stated))


@settings(max_examples=120)
@given(disguised())
def test_sources_and_absences_equal_the_plain_world(disguised: Disguised) -> None:
    """So is that of the complete engine by itself."""
    problem, catalog, brute = (
        disguised.problem(),
        disguised.world.catalog(),
        BruteForce(disguised.plain()),
    )
    solved = solve(problem, catalog)
    event("solved" if isinstance(solved, Resolution) else "conflict")
    for found in (solved, complete(problem, catalog)):
        if isinstance(found, Resolution):
            assert brute.faults(pins(found), extras(found)) == []
        else:
            assert not brute.satisfiable()
    if isinstance(solved, Resolution):
        assert check(problem, solved, catalog) == []
        assert all(
            pin.release.source is not None for pin in solved.pins if pin.name in disguised.sources
        )


@st.composite
def made_of_commits(draw: st.DrawFn) -> tuple[World, World]:
    """Return a world in which facts take releases from commits, and its plain world.

    The index has other requirements of these releases, and no file of them that the target could
    use.
    """
    plain = draw(worlds())
    releases = [
        (name, version)
        for name, versions in sorted(plain.projects.items())
        for version in sorted(versions)
    ]
    chosen = draw(st.lists(st.sampled_from(releases), max_size=3, unique=True))
    stated = []
    projects = {name: dict(versions) for name, versions in plain.projects.items()}
    offered = {name: dict(versions) for name, versions in plain.projects.items()}
    for number, (name, version) in enumerate(chosen):
        release = plain.projects[name][version]
        fact = problems.made(name, version, *release.requires)
        stated.append(structs.replace(fact, id=f"made-{number}"))
        projects[name][version] = Version(release.requires, yanked=release.yanked)
        offered[name][version] = Version(
            ("nosuch",), tags="cp27-cp27m-win32", yanked=release.yanked
        )
    return replace(plain, projects=offered, facts=(*plain.facts, *stated)), replace(
        plain, projects=projects
    )


@settings(max_examples=120)
@given(made_of_commits())
def test_releases_from_commits_equal_the_plain_world(pair: tuple[World, World]) -> None:
    world, plain = pair
    problem, catalog, brute = world.problem(), world.catalog(), BruteForce(plain)
    solved = solve(problem, catalog)
    event("solved" if isinstance(solved, Resolution) else "conflict")
    for found in (solved, complete(problem, catalog)):
        if isinstance(found, Resolution):
            assert brute.faults(pins(found), extras(found)) == []
        else:
            assert not brute.satisfiable()
    if isinstance(solved, Resolution):
        assert check(problem, solved, catalog) == []
