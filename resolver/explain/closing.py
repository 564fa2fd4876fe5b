"""Name the package for which the constraints of a core leave no candidate: where they meet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from resolver.explain.user_constraints import user_constraint_of
from resolver.model.constraint import (
    BuildLine,
    ComponentValue,
    Constraint,
    Excluded,
    Exclusive,
    ReleaseRequires,
    StackLine,
    Unavailable,
)
from resolver.model.dependency import Candidate
from resolver.model.explanation import Closing
from resolver.model.package import Package, PackageKind
from resolver.resolve.clauses import Clauses


def closing_of(
    clauses: Clauses,
    numbers: Mapping[Constraint, int],
    constraints: Sequence[Constraint],
    assumed: Sequence[Candidate] = (),
) -> Closing:
    """Return the package for which constraints leave no candidate, with the reasons that say so.

    `numbers` has the number of the reason for each constraint of the core. `assumed` are the
    releases that are chosen in this case of the proof.
    """
    subject = closing_subject(clauses, constraints, assumed)
    if _leaves_no_candidate(clauses, constraints, subject, assumed):
        constraints = [
            constraint
            for constraint in constraints
            if subject in restricted_packages(clauses, constraint)
        ]
    concerned = {numbers[constraint] for constraint in constraints}
    components = clauses.universe.problem.target.components
    is_component = subject.kind is PackageKind.COMPONENT
    name = components[subject.name].label if is_component else subject.name
    return Closing(subject=name, numbers=tuple(sorted(concerned)))


def closing_subject(
    clauses: Clauses, core: Sequence[Constraint], assumed: Sequence[Candidate] = ()
) -> Package:
    """Return the project, component or module for which a core leaves no candidate.

    The package that most constraints are about is tried first; a line counts once, whatever its
    parts. Of two with as many, the one that became known later is tried first. If there is no such
    package, the first one that would be tried is the result.
    """
    pairs: dict[tuple[Constraint, Package], None] = {}
    for constraint in core:
        for package in restricted_packages(clauses, constraint):
            pairs[user_constraint_of(constraint) or constraint, package] = None
    counts = Counter(package for _, package in pairs)
    latest_first = reversed(list(counts))
    ranked = sorted(latest_first, key=lambda package: counts[package], reverse=True)
    for package in ranked:
        if _leaves_no_candidate(clauses, core, package, assumed):
            return package
    return ranked[0]


def _leaves_no_candidate(
    clauses: Clauses, core: Sequence[Constraint], subject: Package, assumed: Sequence[Candidate]
) -> bool:
    """Return whether the constraints of a core about one package leave it no candidate.

    The releases with these constraints are taken as chosen: the `assumed` ones, and for each other
    package one that has all of them. False if a package has no such release.
    """
    restricting = [
        constraint for constraint in core if subject in restricted_packages(clauses, constraint)
    ]
    chosen: dict[Package, set[Candidate]] = {
        candidate.package: {candidate} for candidate in assumed
    }
    for constraint in restricting:
        if isinstance(constraint, (ReleaseRequires, Exclusive)):
            for package, parents in releases_with(clauses, constraint).items():
                chosen[package] = chosen.get(package, parents) & parents
    if not all(chosen.values()):
        return False
    variables = [min(map(clauses.variable, candidates)) for candidates in chosen.values()]
    return clauses.satisfiable(variables, ()) and not clauses.satisfiable(variables, restricting)


def releases_with(clauses: Clauses, constraint: Constraint) -> dict[Package, set[Candidate]]:
    """Return the releases that have a constraint, by package."""
    parents: dict[Package, set[Candidate]] = {}
    for parent, _ in clauses.edges.get(constraint, ()):
        if parent is not None:
            parents.setdefault(parent.package, set()).add(parent)
    return parents


def restricted_packages(clauses: Clauses, constraint: Constraint) -> list[Package]:
    """Return the projects, components and modules that a constraint is about.

    A project stands for its extras and its version, too.
    """
    match constraint:
        case ComponentValue():
            return [Package(constraint.component, "", PackageKind.COMPONENT)]
        case Unavailable() | Excluded():
            return [Package(constraint.project)]
        case StackLine() | BuildLine() | ReleaseRequires() | Exclusive():
            packages: dict[Package, None] = {}
            for _, edge in clauses.edges.get(constraint, ()):
                package = edge.package
                if package.kind is PackageKind.VERSION:
                    packages[Package(package.name)] = None
                elif package.kind is not PackageKind.UNAVAILABLE:
                    packages[package.base] = None
            return list(packages)
