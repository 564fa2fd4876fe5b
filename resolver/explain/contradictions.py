"""What clashes: the sets of user constraints, and the constraints that make them clash.

User constraints are lines of the stack and components of the target. The fewest constraints that
clash are a core. A contradiction is a core as reasons, with the package for which they leave
nothing, or the contradictory cases into which it branches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import TypeGuard

from packaging.version import Version
from pysat.examples.hitman import Hitman
from pysat.solvers import Minisat22

from resolver.errors import ResolverError
from resolver.explain.costs import is_pairing
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
from resolver.resolve.candidates import Demand
from resolver.resolve.clauses import Clauses
from resolver.resolve.reasons import described, release_ranges
from resolver.resolve.universe import Universe

# steps of the look around the stack
_DEPTH = 3
# releases that it looks at
_LOOKED_AT = 600
# reasons, beside lines and components, of a core of which one with fewer is looked for
_COUNTED = 8
# questions to the solver, for one smallest core
_QUESTIONS = 300
# sets of user constraints, and cores, of each round
_MOST = 12
# cores of the same user constraints
_SAME_USER_SET = 4
# cases within cases
_DEEPEST = 4

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
                largest = _grown(seed, parts, is_satisfiable)
                seeds.add_clause(
                    [
                        number
                        for user_constraint, number in numbers.items()
                        if user_constraint not in largest
                    ]
                )
            else:
                blamed = {user_constraint_of(constraint) for constraint in clauses.core()}
                clash = _shrunk(
                    [user_constraint for user_constraint in seed if user_constraint in blamed],
                    is_satisfiable,
                )
                yield tuple(clash)
                seeds.add_clause([-numbers[user_constraint] for user_constraint in clash])


def _grown(
    user_set: Sequence[UserConstraint],
    others: Iterable[UserConstraint],
    is_satisfiable: Callable[[Iterable[UserConstraint]], bool],
) -> list[UserConstraint]:
    """Return a largest satisfiable set with a satisfiable one in it."""
    largest = list(user_set)
    for user_constraint in others:
        if user_constraint not in largest and is_satisfiable([*largest, user_constraint]):
            largest.append(user_constraint)
    return largest


def _shrunk(
    user_set: Sequence[UserConstraint], is_satisfiable: Callable[[Iterable[UserConstraint]], bool]
) -> list[UserConstraint]:
    """Return a minimal clash within a set that clashes."""
    clash = list(user_set)
    for user_constraint in reversed(user_set):
        fewer = [other for other in clash if other != user_constraint]
        if not is_satisfiable(fewer):
            clash = fewer
    return clash


# --- what is around the stack

# a requirement, and the release that has it; None for a line of the stack
_Requirement = tuple[Candidate | None, Edge]


def explore(clauses: Clauses, expired: Callable[[], bool]) -> None:
    """Open releases near the stack that clash.

    Those have unmet requirements, need another machine or have unusable files. Each line of the
    stack is followed on its own, always to the release that it would get, skipping unusable files.
    """
    universe = clauses.universe
    level: list[_Requirement] = [(None, edge) for edge in universe.roots()]
    requirements_on: dict[Package, list[_Requirement]] = {}
    parents: dict[Candidate, set[Candidate]] = {}
    unusable: list[Candidate] = []
    for _ in range(_DEPTH):
        following: list[_Requirement] = []
        clauses.prefetch.prefetch(edge for _, edge in level)
        for parent, edge in level:
            if parent is not None and _is_unmet(universe, edge):
                unusable.append(parent)
            if edge.package.kind is PackageKind.PROJECT:
                # The conflict is certain without a project that cannot be looked up.
                with suppress(ResolverError):
                    following += _follow(universe, parent, edge, parents, expired)
                    requirements_on.setdefault(edge.package.base, []).append((parent, edge))
        level = following
    _open_ways(clauses, parents, unusable)
    for package, requirements in requirements_on.items():
        demand = universe.demand(*(edge for _, edge in requirements))
        if not _has_candidate(universe, package, demand):
            requiring = [parent for parent, _ in requirements if parent is not None]
            _open_ways(clauses, parents, requiring)


def _follow(
    universe: Universe,
    parent: Candidate | None,
    edge: Edge,
    parents: dict[Candidate, set[Candidate]],
    expired: Callable[[], bool],
) -> list[_Requirement]:
    """Return the requirements of the release that a requirement would get.

    Also those of the releases before it that have no usable file. Releases that were looked at
    before are left out. To the `parents` of each release the parent is added.
    """
    following: list[_Requirement] = []
    for candidate in universe.candidates(edge.package, universe.demand(edge)):
        is_new = candidate not in parents
        if expired() or (is_new and len(parents) >= _LOOKED_AT):
            break
        its_parents = parents.setdefault(candidate, set())
        if parent is not None:
            its_parents.add(parent)
        try:
            edges = universe.edges(candidate)
        except ResolverError:
            # the conflict is certain without it
            break
        if is_new:
            following += [(candidate, needed) for needed in edges]
        if not any(needed.package.kind is PackageKind.UNAVAILABLE for needed in edges):
            break
    return following


def _is_unmet(universe: Universe, edge: Edge) -> bool:
    """Return whether a requirement makes a release useless.

    It then has no usable file, or needs another machine.
    """
    match edge.package.kind:
        case PackageKind.COMPONENT:
            return not _has_candidate(universe, edge.package, universe.demand(edge))
        case kind:
            return kind is PackageKind.UNAVAILABLE


def _has_candidate(universe: Universe, package: Package, demand: Demand) -> bool:
    return next(universe.candidates(package, demand), None) is not None


def _open_ways(
    clauses: Clauses, parents: Mapping[Candidate, set[Candidate]], candidates: list[Candidate]
) -> None:
    """Open releases, and those that lead to them."""
    while candidates:
        candidate = candidates.pop()
        if not clauses.opened(candidate):
            # likewise without the requirements of this release
            with suppress(ResolverError):
                clauses.open(candidate)
            candidates += sorted(parents[candidate], key=str)


# --- cores


def smallest(
    clauses: Clauses,
    core: Sequence[Constraint],
    hard: Collection[Constraint],
    soft: Iterable[Constraint],
    expired: Callable[[], bool],
) -> tuple[Constraint, ...]:
    """Return a core with the fewest constraints; `core`, a minimal one, if none has fewer.

    `hard` constraints are part of it, needed or not; the others come from `soft`.
    Past the limits the result is `core`: minimal, but perhaps not smallest.
    """
    softs = [constraint for constraint in soft if constraint not in hard]
    size = len([constraint for constraint in core if constraint not in hard])
    if size <= 1:
        return tuple(core)
    with Hitman(solver="m22", htype="sorted") as hitman:
        for _ in range(_QUESTIONS):
            if expired():
                break
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
    """Yield independent cores.

    They have different user constraints, or nothing but these in common. A user constraint that is
    impossible by itself hides its other clashes, so in a second round what else is in those cores
    is left out. If something clashes whatever an unreachable index has, no core rests on that.
    """
    explore(clauses, expired)
    certain = [constraint for constraint in clauses.known if not is_open(constraint, clauses)]
    constraints = clauses.known if clauses.satisfiable(among=certain) else certain
    background = _without_user_constraints(constraints)
    seen: set[frozenset[Constraint]] = set()
    subjects: dict[tuple[UserConstraint, ...], set[str]] = {}
    for _ in range(2):
        hiding: set[Constraint] = set()
        for core in islice(_cores(clauses, background, subjects, expired), _MOST):
            if len(_user_set(core)) == 1:
                hiding.update(_without_user_constraints(core))
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
            # otherwise it is the same contradiction in another way
            if subject not in met:
                met.add(subject)
                yield core
            used = _without_user_constraints(core)
            if not used:
                break
            unused = [constraint for constraint in unused if constraint not in used]


def _user_set(core: Iterable[Constraint]) -> set[UserConstraint]:
    """Return the user constraints of a core."""
    user_constraints = map(user_constraint_of, core)
    return {user_constraint for user_constraint in user_constraints if user_constraint is not None}


def _without_user_constraints(constraints: Iterable[Constraint]) -> list[Constraint]:
    """Return the other constraints."""
    return [constraint for constraint in constraints if user_constraint_of(constraint) is None]


def readable_core(
    clauses: Clauses,
    hard: Sequence[Constraint],
    background: Sequence[Constraint],
    expired: Callable[[], bool],
) -> tuple[Constraint, ...]:
    """Return a smallest core of user constraints that clash, with no needless part, for people.

    If a version does not exist, that is enough: faults of releases that no user constraint admits
    are not reported. If tables of which releases go together are enough, other requirements, which
    are often incidental, are not reported, either.
    """
    missing = [
        constraint
        for constraint in background
        if isinstance(constraint, Unavailable) and constraint.why is NoCandidate.RELEASE
    ]
    tables = [
        constraint
        for constraint in background
        if is_pairing(constraint) or isinstance(constraint, Unavailable)
    ]
    for enough in (missing, tables):
        if enough and not clauses.satisfiable(among=[*hard, *enough]):
            background = enough
            break
    core = tuple(clauses.minimal(among=[*hard, *background]))
    if background is tables or not any(map(is_pairing, core)):
        # the time grows fast with the length, and nobody counts so many reasons
        if len(_without_user_constraints(core)) <= _COUNTED:
            core = smallest(clauses, core, hard, background, expired)
    else:
        # as far as tables about the same projects say it, they are to; the fewest take long to find
        packages = {each.package for each in core if isinstance(each, Requires)}
        related = [each for each in tables if isinstance(each, Requires)]
        related = [each for each in related if each.package in packages]
        core = tuple(clauses.preferred([], list(dict.fromkeys([*hard, *related, *core]))))
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
    """Yield what is known to be wrong with the releases whose requirements are reasons."""
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
    components = clauses.universe.problem.target.components
    name = components[subject].label if subject in components else subject
    return Closing(subject=name, numbers=tuple(sorted(concerned)))


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
    counts = Counter(name for _, name in pairs)
    latest_first = reversed(list(counts))
    ranked = sorted(latest_first, key=lambda name: counts[name], reverse=True)
    for name in ranked:
        if _is_empty(clauses, core, name, assumed):
            return name
    return ranked[0]


def _is_empty(
    clauses: Clauses, core: Sequence[Constraint], name: str, assumed: Sequence[Candidate]
) -> bool:
    """Return whether what a core says about a package leaves none of its releases.

    The releases that say so are chosen: the `assumed` ones, and of each other package one that
    has all the requirements.
    """
    restricting = [
        constraint for constraint in core if name in _restricted_packages(clauses, constraint)
    ]
    chosen: dict[Package, set[Candidate]] = {
        candidate.package: {candidate} for candidate in assumed
    }
    for constraint in restricting:
        if isinstance(constraint, (Requires, Exclusive)):
            for package, parents in _parents(clauses, constraint).items():
                chosen[package] = chosen.get(package, parents) & parents
    if not all(chosen.values()):
        return False
    variables = [min(map(clauses.variable, candidates)) for candidates in chosen.values()]
    return clauses.satisfiable(variables, ()) and not clauses.satisfiable(variables, restricting)


def _parents(clauses: Clauses, constraint: Constraint) -> dict[Package, set[Candidate]]:
    """Return the releases with a constraint, by package."""
    parents: dict[Package, set[Candidate]] = {}
    for parent, _ in clauses.edges.get(constraint, ()):
        if parent is not None:
            parents.setdefault(parent.package, set()).add(parent)
    return parents


def branches(
    clauses: Clauses,
    numbers: Mapping[Constraint, int],
    assumed: Sequence[Candidate] = (),
    *,
    expired: Callable[[], bool],
) -> tuple[Branch, ...]:
    """Return the cases of a core whose releases behave differently.

    There are none if they behave alike, or if time is up. Cases that fail in the same way are one.
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
            further = branches(clauses, numbers, case, expired=expired)
            end = None
            if not further:
                end = closing(clauses, numbers, _core_of_case(clauses, numbers, case), case)
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
    """Return the constraints of a core that clash if these releases are taken."""
    return clauses.minimal(map(clauses.variable, assumed), core)


def _splitting_packages(core: Sequence[Constraint], done: set[Package]) -> list[Package]:
    """Return the packages whose releases have different requirements in a core.

    Those with the most requirements come first.
    """
    requirements = dict.fromkeys(
        (constraint.package, constraint.text)
        for constraint in core
        if isinstance(constraint, Requires)
    )
    counts = Counter(package for package, _ in requirements)
    return [package for package, count in counts.most_common() if count > 1 and package not in done]


def _cases(
    clauses: Clauses, core: Sequence[Constraint], package: Package, assumed: Sequence[Candidate]
) -> list[list[Candidate]]:
    """Return the releases of a package that a core leaves, by what the core says about them.

    The newest come first.
    """
    variables = [clauses.variable(candidate) for candidate in assumed]
    requiring = {
        constraint: _parents(clauses, constraint).get(package, set()) for constraint in core
    }
    others = [
        constraint
        for constraint in core
        if not isinstance(constraint, Requires) or constraint.package != package
    ]
    cases: dict[tuple[Constraint, ...], list[Candidate]] = {}
    for candidate in clauses.packages[package]:
        if clauses.satisfiable([*variables, clauses.variable(candidate)], others):
            says = tuple(constraint for constraint in core if candidate in requiring[constraint])
            cases.setdefault(says, []).append(candidate)
    return sorted(cases.values(), key=lambda candidates: _position(candidates[0]))


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
            names = dict.fromkeys(
                edge.package.name
                for _, edge in clauses.edges.get(constraint, ())
                if edge.package.kind is not PackageKind.UNAVAILABLE
            )
            return list(names)


def hidden_contradiction(
    core: Sequence[Constraint], clauses: Clauses, expired: Callable[[], bool]
) -> Contradiction | None:
    """Return a core that shows once other constraints are relaxed, with whole lines.

    None if it rests on what is excluded in a changed stack alone.
    """
    user_set = _user_set(core)
    hard = [
        constraint for constraint in clauses.known if user_constraint_of(constraint) in user_set
    ]
    background = _without_user_constraints(core)
    with clauses.without():
        if clauses.satisfiable(among=[*hard, *background]):
            return None
        return contradiction(clauses, readable_core(clauses, hard, background, expired), expired)
