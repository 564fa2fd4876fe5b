"""The sets of user constraints (lines of the stack, components of the target) that clash, and the constraints for it.

The fewest constraints that clash are a core. A contradiction is a core as reasons, with the package
for which they leave nothing, or the contradictory cases into which it branches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from typing import TypeGuard

from packaging.version import Version
from pysat.examples.hitman import Hitman
from pysat.solvers import Minisat22

from resolver.errors import ResolverError
from resolver.model import text
from resolver.model.constraint import (
    BuildLine,
    ComponentValue,
    Constraint,
    Excluded,
    Exclusive,
    Line,
    NoCandidate,
    Requires,
    StackLine,
    Unavailable,
)
from resolver.model.dependency import Candidate, Edge
from resolver.model.explanation import Branch, Closing, Contradiction
from resolver.model.fact import Warns
from resolver.model.package import Package, PackageKind
from resolver.model.reason import Reason, requirement_of
from resolver.model.release import Release
from resolver.resolve.clauses import Clauses
from resolver.resolve.reasons import described, release_ranges
from resolver.resolve.universe import Universe

_DEPTH = 3  # of the look around the stack
_LOOKED_AT = 600  # releases
_QUESTIONS = 300  # to the solver, for one smallest core
_MOST = 12  # sets of user constraints, and cores, of each round
_SAME_USER_SET = 4  # cores of the same user constraints
_DEEPEST = 4  # cases within cases

# what the stack itself rules out, on any index
_RULED_OUT_BY_STACK = (NoCandidate.COMMIT, NoCandidate.PRERELEASE, NoCandidate.NEEDLESS)

UserConstraint = Line | ComponentValue


def user_constraint_of(constraint: Constraint) -> UserConstraint | None:
    """Return the line or component that a constraint is, or is a part of; None for any other."""
    match constraint:
        case StackLine() | BuildLine():
            return constraint.whole
        case ComponentValue():
            return constraint
        case _:
            return None


def user_constraints(clauses: Clauses) -> dict[UserConstraint, list[Constraint]]:
    """Return every user constraint with its parts.

    Lines come in the order of the stack, then the target's components.
    """
    parts: dict[UserConstraint, list[Constraint]] = {
        root.origin: [] for root in clauses.universe.problem.stack.requirements
    }
    for constraint in clauses.known:
        user_constraint = user_constraint_of(constraint)
        if user_constraint is not None:
            parts.setdefault(user_constraint, []).append(constraint)
    return {user_constraint: known for user_constraint, known in parts.items() if known}


def clashing(
    clauses: Clauses, background: Sequence[Constraint], expired: Callable[[], bool]
) -> Iterator[tuple[UserConstraint, ...]]:
    """Yield every minimal set of user constraints that is unsatisfiable with a background.

    The algorithm is MARCO (Liffiton et al. 2016).
    """
    parts = user_constraints(clauses)
    numbers = {user_constraint: number for number, user_constraint in enumerate(parts, 1)}

    def is_satisfiable(user_set: Iterable[UserConstraint]) -> bool:
        of_user = [part for user_constraint in user_set for part in parts[user_constraint]]
        return clauses.satisfiable(among=[*background, *of_user])

    with Minisat22() as seeds:
        seeds.set_phases(list(numbers.values()))
        for number in numbers.values():
            seeds.add_clause([number, -number])
        while seeds.solve() and not expired():
            model = set(seeds.get_model())
            seed = [
                user_constraint for user_constraint, number in numbers.items() if number in model
            ]
            if is_satisfiable(seed):
                for user_constraint in numbers:
                    if user_constraint not in seed and is_satisfiable([*seed, user_constraint]):
                        seed.append(user_constraint)
                seeds.add_clause(
                    [
                        number
                        for user_constraint, number in numbers.items()
                        if user_constraint not in seed
                    ]
                )
            else:
                blamed = {user_constraint_of(constraint) for constraint in clauses.core()}
                clash = [user_constraint for user_constraint in seed if user_constraint in blamed]
                for user_constraint in clash[::-1]:
                    if not is_satisfiable(other for other in clash if other != user_constraint):
                        clash.remove(user_constraint)
                yield tuple(clash)
                seeds.add_clause([-numbers[user_constraint] for user_constraint in clash])


def explore(clauses: Clauses, expired: Callable[[], bool]) -> None:
    """Open releases near the stack that clash: with unmet requirements, another machine or unusable files.

    Each line of the stack is followed on its own, always to the release that it would get, skipping
    unusable files.
    """
    universe = clauses.universe
    level: list[tuple[Candidate | None, Edge]] = [(None, edge) for edge in universe.roots()]
    edges_on: dict[Package, list[tuple[Candidate | None, Edge]]] = {}
    parents: dict[Candidate, set[Candidate]] = {}
    unusable: list[Candidate] = []
    for _ in range(_DEPTH):
        following: list[tuple[Candidate | None, Edge]] = []
        clauses.prefetch.prefetch(edge for _, edge in level)
        for parent, edge in level:
            if parent is not None and _is_unmet(universe, edge):
                unusable.append(parent)
            if edge.package.kind is not PackageKind.PROJECT:
                continue
            edges_on.setdefault(edge.package.base, []).append((parent, edge))
            for candidate in universe.candidates(edge.package, universe.demand(edge)):
                fresh = candidate not in parents
                if expired() or (fresh and len(parents) >= _LOOKED_AT):
                    break
                parents.setdefault(candidate, set()).update([] if parent is None else [parent])
                try:
                    edges = universe.edges(candidate)
                except ResolverError:
                    break  # the conflict is certain without it
                following += [(candidate, needed) for needed in edges] if fresh else []
                if not any(needed.package.kind is PackageKind.UNAVAILABLE for needed in edges):
                    break
        level = following
    _open_ways(clauses, parents, unusable)
    for package, rows in edges_on.items():
        if (
            next(universe.candidates(package, universe.demand(*(edge for _, edge in rows))), None)
            is None
        ):
            _open_ways(clauses, parents, [parent for parent, _ in rows if parent is not None])


def _is_unmet(universe: Universe, edge: Edge) -> bool:
    """Whether a requirement makes a release useless: it has no usable file, or needs another machine."""
    if edge.package.kind is PackageKind.COMPONENT:
        return next(universe.candidates(edge.package, universe.demand(edge)), None) is None
    return edge.package.kind is PackageKind.UNAVAILABLE


def _open_ways(
    clauses: Clauses, parents: Mapping[Candidate, set[Candidate]], candidates: list[Candidate]
) -> None:
    while candidates:
        candidate = candidates.pop()
        if not clauses.opened(candidate):
            clauses.open(candidate)
            candidates += sorted(parents[candidate], key=str)


def smallest(
    clauses: Clauses,
    core: Sequence[Constraint],
    hard: Collection[Constraint],
    soft: Iterable[Constraint],
    expired: Callable[[], bool],
) -> tuple[Constraint, ...]:
    """A core with the fewest constraints, or `core`, which must be minimal, if none has fewer.

    `hard` constraints are part of it, needed or not; the others come from `soft`.
    Past the limits the result is `core`: minimal, but perhaps not smallest.
    """
    softs = [constraint for constraint in soft if constraint not in set(hard)]
    size = len(set(core).difference(hard))
    with Hitman(solver="m22", htype="sorted") as hitman:
        for _ in takewhile(lambda _: not expired(), range(_QUESTIONS if size > 1 else 0)):
            hit: list[Constraint] | None = hitman.get()
            if hit is None or len(hit) >= size:
                break
            if not clauses.satisfiable(among=[*hard, *hit]):
                return (*hard, *hit)
            broken = clauses.broken()
            hitman.hit([constraint for constraint in softs if constraint in broken])
    return tuple(core)


def is_open(constraint: Constraint, clauses: Clauses) -> TypeGuard[Unavailable]:
    """Return whether an index that could not be reached may have what is unavailable."""
    if not isinstance(constraint, Unavailable) or constraint.why in _RULED_OUT_BY_STACK:
        return False
    return bool(clauses.universe.project(constraint.project).unreachable)


def cores(clauses: Clauses, expired: Callable[[], bool]) -> Iterator[tuple[Constraint, ...]]:
    """Yield independent cores: with different user constraints, or with nothing but these in common.

    A user constraint that is impossible by itself hides its other clashes, so in a second round
    what else is in those cores is left out. If something clashes whatever an index has that could not
    be reached, no core rests on that.
    """
    explore(clauses, expired)
    certain = [constraint for constraint in clauses.known if not is_open(constraint, clauses)]
    constraints = clauses.known if clauses.satisfiable(among=certain) else certain
    background = [
        constraint for constraint in constraints if user_constraint_of(constraint) is None
    ]
    seen: set[frozenset[Constraint]] = set()
    subjects: dict[tuple[UserConstraint, ...], set[str]] = {}
    for _ in range(2):
        hiding: set[Constraint] = set()
        for core in islice(_cores(clauses, background, subjects, expired), _MOST):
            if len({user_constraint_of(constraint) for constraint in core} - {None}) == 1:
                hiding.update(
                    constraint for constraint in core if user_constraint_of(constraint) is None
                )
            if frozenset(core) not in seen:
                seen.add(frozenset(core))
                yield core
        if not hiding:
            return
        background = [constraint for constraint in background if constraint not in hiding]


def _cores(
    clauses: Clauses,
    background: Sequence[Constraint],
    subjects: dict[tuple[UserConstraint, ...], set[str]],
    expired: Callable[[], bool],
) -> Iterator[tuple[Constraint, ...]]:
    """Yield cores within a background.

    `subjects` are those in which cores of the same user constraints met so far.
    """
    parts = user_constraints(clauses)
    for user_set in sorted(islice(clashing(clauses, background, expired), _MOST), key=len):
        hard = [part for user_constraint in user_set for part in parts[user_constraint]]
        unused = background
        met = subjects.setdefault(user_set, set())
        for _ in range(_SAME_USER_SET):
            if clauses.satisfiable(among=[*hard, *unused]):
                break
            core = readable_core(clauses, hard, unused, expired)
            subject = closing_subject(clauses, core)
            if subject not in met:  # otherwise it is the same in another way
                met.add(subject)
                yield core
            used = {constraint for constraint in core if user_constraint_of(constraint) is None}
            if not used:
                break
            unused = [constraint for constraint in unused if constraint not in used]


def readable_core(
    clauses: Clauses,
    hard: Sequence[Constraint],
    background: Sequence[Constraint],
    expired: Callable[[], bool],
) -> tuple[Constraint, ...]:
    """Return a smallest core of user constraints that clash, with no needless part, for people.

    If a version does not exist, that is enough: faults of releases that no user constraint admits
    are not reported.
    """
    missing = [
        constraint
        for constraint in background
        if isinstance(constraint, Unavailable) and constraint.why is NoCandidate.RELEASE
    ]
    if missing and not clauses.satisfiable(among=[*hard, *missing]):
        background = missing
    core = smallest(clauses, clauses.minimal(among=[*hard, *background]), hard, background, expired)
    return tuple(clauses.minimal(among=core))


# --- for people


def contradiction(
    clauses: Clauses, core: Sequence[Constraint], expired: Callable[[], bool] = lambda: False
) -> Contradiction:
    """Return a core in the form for people, with its cases as far as time allows."""
    reason_of = described(clauses, core)
    reasons = tuple(dict.fromkeys(reason_of.values()))
    numbers = {constraint: reasons.index(reason) + 1 for constraint, reason in reason_of.items()}
    cases = branches(clauses, numbers, expired=expired)
    return Contradiction(
        reasons=reasons,
        closing=None if cases else closing(clauses, numbers, core),
        branches=cases,
        notes=tuple(_notes(clauses, reasons)),
    )


def _notes(clauses: Clauses, reasons: Iterable[Reason]) -> Iterator[Warns]:
    """Yield what is known to be wrong with the releases whose requirements are among the reasons."""
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


def closing(
    clauses: Clauses,
    numbers: Mapping[Constraint, int],
    constraints: Sequence[Constraint],
    assumed: Sequence[Candidate] = (),
) -> Closing:
    """Return the package for which the `constraints` leave nothing.

    `numbers` are the numbers of the core's reasons.
    """
    subject = closing_subject(clauses, constraints, assumed)
    if _is_empty(clauses, constraints, subject, assumed):
        constraints = [
            constraint
            for constraint in constraints
            if subject in _restricted_packages(clauses, constraint)
        ]
    concerned = {numbers[constraint] for constraint in constraints}
    return Closing(subject=subject, numbers=tuple(sorted(concerned)))


def closing_subject(
    clauses: Clauses, core: Sequence[Constraint], assumed: Sequence[Candidate] = ()
) -> str:
    """Return the package that most constraints of a core are about, the latest known of several.

    The parts of a line count as one.
    """
    pairs: dict[tuple[Constraint, str], None] = {}
    for constraint in core:
        for name in _restricted_packages(clauses, constraint):
            pairs[user_constraint_of(constraint) or constraint, name] = None
    subjects = Counter(name for _, name in pairs)
    order = list(subjects)
    ranked = sorted(order, key=lambda name: (subjects[name], order.index(name)), reverse=True)
    return next((name for name in ranked if _is_empty(clauses, core, name, assumed)), ranked[0])


def _is_empty(
    clauses: Clauses, core: Sequence[Constraint], name: str, cases: Sequence[Candidate]
) -> bool:
    """Whether the constraints of a core about a package, through chosen releases, leave none of its releases."""
    restricting = [
        constraint for constraint in core if name in _restricted_packages(clauses, constraint)
    ]
    chosen: dict[Package, set[Candidate]] = {case.package: {case} for case in cases}
    for constraint in restricting:
        if isinstance(constraint, (Requires, Exclusive)):
            parents: dict[Package, set[Candidate]] = {}
            for parent, _ in clauses.edges.get(constraint, ()):
                if parent is not None:
                    parents.setdefault(parent.package, set()).add(parent)
            for package, candidates in parents.items():
                chosen[package] = chosen.get(package, candidates) & candidates
    if not all(chosen.values()):
        return False
    assumed = [min(map(clauses.variable, candidates)) for candidates in chosen.values()]
    return clauses.satisfiable(assumed, ()) and not clauses.satisfiable(assumed, restricting)


def branches(
    clauses: Clauses,
    numbers: Mapping[Constraint, int],
    assumed: Sequence[Candidate] = (),
    *,
    expired: Callable[[], bool],
) -> tuple[Branch, ...]:
    """The cases of a core whose releases behave differently; empty if they do not, or if time is up.

    Cases that fail in the same way are one.
    """
    if len(assumed) >= _DEEPEST or expired():
        return ()
    of = clauses.minimal(map(clauses.variable, assumed), numbers) if assumed else list(numbers)
    for package in _splits(of, {candidate.package for candidate in assumed}):
        cases = _cases(clauses, of, package, assumed)
        if len(cases) < 2:
            continue
        by_end: dict[tuple[Closing | None, tuple[Branch, ...]], list[int]] = {}
        for candidates in cases:
            case = [*assumed, candidates[0]]
            end = None
            if not (further := branches(clauses, numbers, case, expired=expired)):
                end = closing(
                    clauses, numbers, clauses.minimal(map(clauses.variable, case), numbers), case
                )
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


def _cases(
    clauses: Clauses, core: Sequence[Constraint], package: Package, assumed: Sequence[Candidate]
) -> list[list[Candidate]]:
    """The releases of a package that a core leaves, newest first, grouped by what the core says about them."""
    cases: dict[tuple[Constraint, ...], list[Candidate]] = {}
    variables = [*map(clauses.variable, assumed)]
    others = [
        constraint
        for constraint in core
        if not (isinstance(constraint, Requires) and constraint.package == package)
    ]
    for candidate in clauses.packages[package]:
        if clauses.satisfiable([*variables, clauses.variable(candidate)], others):
            says = tuple(
                constraint
                for constraint in core
                if any(parent is candidate for parent, _ in clauses.edges.get(constraint, ()))
            )
            cases.setdefault(says, []).append(candidate)
    return sorted(cases.values(), key=lambda candidates: _position(candidates[0]))


def _splits(core: Sequence[Constraint], done: set[Package]) -> list[Package]:
    """The packages whose releases have different requirements in a core, those with the most statements first."""
    texts = dict.fromkeys(
        (constraint.package, constraint.text)
        for constraint in core
        if isinstance(constraint, Requires)
    )
    counts = Counter(package for package, _ in texts)
    return [package for package, count in counts.most_common() if count > 1 and package not in done]


def _position(candidate: Candidate) -> int:
    return candidate.chosen.position if isinstance(candidate.chosen, Release) else 0


def _restricted_packages(clauses: Clauses, constraint: Constraint) -> list[str]:
    """Return the packages that a constraint is about."""
    match constraint:
        case ComponentValue():
            return [constraint.component]
        case Unavailable() | Excluded():
            return [constraint.project]
        case StackLine() | BuildLine() | Requires() | Exclusive():
            packages = (edge.package for _, edge in clauses.edges.get(constraint, ()))
            names = (
                package.name for package in packages if package.kind is not PackageKind.UNAVAILABLE
            )
            return list(dict.fromkeys(names))


def hidden_contradiction(
    core: Sequence[Constraint], clauses: Clauses, expired: Callable[[], bool]
) -> Contradiction | None:
    """Return a core that shows once other constraints are relaxed, with whole lines.

    None if it rests on what is excluded in a changed stack alone.
    """
    user_set = {user_constraint_of(constraint) for constraint in core} - {None}
    hard = [
        constraint for constraint in clauses.known if user_constraint_of(constraint) in user_set
    ]
    background = [constraint for constraint in core if user_constraint_of(constraint) is None]
    with clauses.without():
        if clauses.satisfiable(among=[*hard, *background]):
            return None
        return contradiction(clauses, readable_core(clauses, hard, background, expired), expired)
