"""Find the lines whose projects compatibility tables pair, and the one that decides the others.

Facts name the releases that go with a release, and core metadata pins some. So the releases of
several lines of a stack, its family, may follow from the release of one of them, the anchor.
"""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx
from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model import text
from resolver.model.constraint import ReleaseRequires
from resolver.model.fact import Constrains, Requires, Warns, component_requirements
from resolver.model.problem import Problem, RootRequirement
from resolver.model.requirement import Requirement
from resolver.resolve.candidates import names_prerelease, pins
from resolver.resolve.clauses import Clauses


def need_of(root: RootRequirement) -> Requirement:
    """Return the requirement of a line that is about a project."""
    need = root.need
    assert isinstance(need, Requirement)  # noqa: S101  lines of rows are about projects
    return need


def named_projects(problem: Problem) -> set[NormalizedName]:
    """Return the projects that the stack's lines are about."""
    needs = [root.need for root in problem.stack.requirements]
    return {need.name for need in needs if isinstance(need, Requirement)}


def paired_projects(problem: Problem) -> set[NormalizedName]:
    """Return the projects that tables pair with a component, and those that they pair with them."""
    paired: set[NormalizedName] = set()
    for fact in problem.facts:
        if isinstance(fact, Requires) and component_requirements(fact.needs):
            paired.update((fact.package, *fact.named_projects))
    return paired


def decisions(clauses: Clauses, problem: Problem) -> nx.DiGraph[NormalizedName]:
    """Return a graph of projects, from each to the projects of lines whose releases it decides.

    A fact names the other project, or core metadata that is known pins it. A bound or a warning
    leaves it many releases, so it decides nothing.
    """
    named = named_projects(problem)
    graph: nx.DiGraph[NormalizedName] = nx.DiGraph()
    graph.add_nodes_from(named)
    for fact in problem.facts:
        if fact.package in named and not isinstance(fact, Constrains | Warns):
            others = named.intersection(fact.named_projects)
            graph.add_edges_from((fact.package, name) for name in others)
    for constraint in clauses.known:
        if isinstance(constraint, ReleaseRequires) and constraint.is_metadata:
            need = text.requirement(constraint.text)
            if pins(need.specifier) and need.name in named:
                graph.add_edge(text.name(constraint.package.name), need.name)
    return graph


def family_of(graph: nx.DiGraph[NormalizedName], problem: Problem) -> list[RootRequirement]:
    """Return the lines about projects that tables pair with a component or with one another.

    A project belongs to them as well if it pins one of them in its metadata, or if one of them pins
    it. `graph` is that of `decisions`.
    """
    facts = [fact for fact in problem.facts if isinstance(fact, Requires)]
    paired = {fact.package for fact in facts if component_requirements(fact.needs)}
    paired &= named_projects(problem)
    names: set[NormalizedName] = set()
    for component in nx.weakly_connected_components(graph):
        if not paired.isdisjoint(component):
            names |= component
    return [
        root
        for root in problem.stack.requirements
        if isinstance(root.need, Requirement) and root.need.name in names
    ]


def anchor_of(
    family: Sequence[RootRequirement], graph: nx.DiGraph[NormalizedName], problem: Problem
) -> RootRequirement | None:
    """Return the line of the anchor; None if no project of the family is paired with a component.

    Of the projects that facts pair with a component, the anchor is the one from which most of the
    others follow by facts and pins; of several, the one whose facts name most of the others.
    """
    names = {need_of(root).name for root in family}
    is_paired: set[NormalizedName] = set()
    named: dict[NormalizedName, set[NormalizedName]] = {}
    for fact in problem.facts:
        if isinstance(fact, Requires) and fact.package in names:
            if component_requirements(fact.needs):
                is_paired.add(fact.package)
            named.setdefault(fact.package, set()).update(names & set(fact.named_projects))
    paired = [root for root in family if need_of(root).name in is_paired]

    def reach(root: RootRequirement) -> tuple[int, int]:
        name = need_of(root).name
        return len(nx.descendants(graph, name)), len(named[name])

    return max(paired, key=reach, default=None)


def pinned_versions(problem: Problem) -> dict[NormalizedName, Version]:
    """Return the versions that the stack's lines pin, by project."""
    versions = {}
    for root in problem.stack.requirements:
        need = root.need
        if not isinstance(need, Requirement):
            continue
        version = text.pinned_version(need.specifier)
        if version is not None:
            versions[need.name] = version
    return versions


def without_versions(root: RootRequirement) -> str:
    """Return a line about a project without its specifier, so that it admits every version.

    If the specifier names a pre-release, the line gets `>=0.dev0`, which admits pre-releases.
    """
    need = need_of(root)
    every = ">=0.dev0" if names_prerelease(need.specifier) else ""
    return str(replace(need, specifier=SpecifierSet(every)))


def with_version(root: RootRequirement, version: Version) -> str:
    """Return a line about a project with a pin of a version in the place of its specifier."""
    return str(replace(need_of(root), specifier=SpecifierSet(f"=={version}")))
