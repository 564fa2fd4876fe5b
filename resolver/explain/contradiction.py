"""Put a core into the form that people read: a contradiction.

It has the reasons, and the package for which they leave no candidate, or the cases into which the
proof branches (docs/explaining.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from packaging.version import Version

from resolver.explain.closing import closing_of, releases_with
from resolver.explain.cores import readable_core
from resolver.explain.user_constraints import (
    user_constraint_of,
    user_set_of,
    without_user_constraints,
)
from resolver.model import text
from resolver.model.constraint import Constraint, ReleaseRequires
from resolver.model.dependency import Candidate
from resolver.model.explanation import Branch, Closing, Contradiction
from resolver.model.fact import Warns
from resolver.model.package import Package
from resolver.model.reason import Reason, requirement_of
from resolver.model.release import Release
from resolver.resolve.clauses import Clauses
from resolver.resolve.reasons import described, release_ranges

# How deep cases are nested.
_DEEPEST = 4


def contradiction_of(
    clauses: Clauses, core: Sequence[Constraint], expired: Callable[[], bool] = lambda: False
) -> Contradiction:
    """Return a core in the form that people read.

    Once `expired` returns True, no further cases are distinguished.
    """
    reason_of = described(clauses, core)
    reasons = tuple(dict.fromkeys(reason_of.values()))
    numbers = {constraint: reasons.index(reason) + 1 for constraint, reason in reason_of.items()}
    cases = branches_of(clauses, numbers, expired=expired)
    return Contradiction(
        reasons=reasons,
        closing=None if cases else closing_of(clauses, numbers, core),
        branches=cases,
        notes=tuple(_notes(clauses, reasons)),
    )


def _notes(clauses: Clauses, reasons: Iterable[Reason]) -> Iterator[Warns]:
    """Yield the warnings about the releases whose requirements are among the reasons.

    Only the oldest and the newest release of each range are looked at. Warnings that depend on
    other packages, extras or the machine are left out.
    """
    ends = set()
    for reason in reasons:
        if requirement_of(reason) is None:
            continue
        for span in reason.versions:
            ends.add((reason.subject, Version(span.newest)))
            ends.add((reason.subject, Version(span.oldest)))
    for fact in clauses.universe.problem.facts:
        if not isinstance(fact, Warns) or fact.unless or fact.extra or fact.together_with:
            continue
        if any(fact.is_about(subject, version) for subject, version in ends):
            yield fact


def hidden_contradiction(
    core: Sequence[Constraint], clauses: Clauses, expired: Callable[[], bool]
) -> Contradiction | None:
    """Return the contradiction of a core that was found only after other constraints were left out.

    The user constraints of the core count with all their parts. None if these constraints do not
    clash in the stack itself: the core then depends on what only a changed stack rules out.
    """
    user_set = user_set_of(core)
    hard = [
        constraint for constraint in clauses.known if user_constraint_of(constraint) in user_set
    ]
    background = without_user_constraints(core)
    with clauses.without():
        if clauses.satisfiable(among=[*hard, *background]):
            return None
        return contradiction_of(clauses, readable_core(clauses, hard, background, expired), expired)


def branches_of(
    clauses: Clauses,
    numbers: Mapping[Constraint, int],
    assumed: Sequence[Candidate] = (),
    *,
    expired: Callable[[], bool],
) -> tuple[Branch, ...]:
    """Return the cases of a core, if releases of a package clash for different reasons.

    Each case assumes that one of some releases is chosen. Cases that end in the same way are one.
    The result is empty if the releases do not differ, if cases are nested too deep, or if time is
    up. `numbers` has the number of the reason for each constraint; `assumed` are the releases of
    the outer cases.
    """
    if len(assumed) >= _DEEPEST or expired():
        return ()
    core = _core_of_case(clauses, numbers, assumed) if assumed else list(numbers)
    for package in _splitting_packages(core, {candidate.package for candidate in assumed}):
        cases = _cases(clauses, core, package, assumed)
        if len(cases) < 2:
            continue
        by_end: dict[tuple[Closing | None, tuple[Branch, ...]], list[int]] = {}
        for candidates in cases:
            case = [*assumed, candidates[0]]
            further = branches_of(clauses, numbers, case, expired=expired)
            end = None
            if not further:
                end = closing_of(clauses, numbers, _core_of_case(clauses, numbers, case), case)
            by_end.setdefault((end, further), []).extend(map(_position, candidates))
        project = clauses.universe.project(text.name(package.name))
        return tuple(
            Branch(
                subject=str(package),
                versions=release_ranges(project, positions),
                closing=end,
                branches=further,
            )
            for (end, further), positions in by_end.items()
        )
    return ()


def _core_of_case(
    clauses: Clauses, core: Collection[Constraint], assumed: Sequence[Candidate]
) -> list[Constraint]:
    """Return a minimal core, within this one, for the case that some releases are chosen."""
    return clauses.minimal(map(clauses.variable, assumed), core)


def _splitting_packages(core: Sequence[Constraint], done: set[Package]) -> list[Package]:
    """Return the packages whose releases have different requirements in a core, without `done`.

    Packages with the most requirements come first.
    """
    requirements = dict.fromkeys(
        (constraint.package, constraint.text)
        for constraint in core
        if isinstance(constraint, ReleaseRequires)
    )
    counts = Counter(package for package, _ in requirements)
    return [package for package, count in counts.most_common() if count > 1 and package not in done]


def _cases(
    clauses: Clauses, core: Sequence[Constraint], package: Package, assumed: Sequence[Candidate]
) -> list[list[Candidate]]:
    """Return the releases of a package that the rest of a core allows, as lists.

    The releases of one list have the same constraints in the core. Lists are sorted by their first
    release, the newest first.
    """
    variables = [clauses.variable(candidate) for candidate in assumed]
    requiring = {
        constraint: releases_with(clauses, constraint).get(package, set()) for constraint in core
    }
    others = [
        constraint
        for constraint in core
        if not isinstance(constraint, ReleaseRequires) or constraint.package != package
    ]
    cases: dict[tuple[Constraint, ...], list[Candidate]] = {}
    for candidate in clauses.packages[package]:
        if clauses.satisfiable([*variables, clauses.variable(candidate)], others):
            own_constraints = tuple(
                constraint for constraint in core if candidate in requiring[constraint]
            )
            cases.setdefault(own_constraints, []).append(candidate)
    return sorted(cases.values(), key=lambda candidates: _position(candidates[0]))


def _position(candidate: Candidate) -> int:
    """Return the position of a candidate among the releases of its project; 0 for a component."""
    return candidate.chosen.position if isinstance(candidate.chosen, Release) else 0
