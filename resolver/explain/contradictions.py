"""Find out why a refuted stack has no solution. `explain.explain`, `why` and `repairs` call this.

A user constraint is a line of the stack or a component of the target. A core is a set of
constraints that cannot all hold; it is minimal if it can hold once any one of them is left out. A
contradiction is a core in the form that people read: its reasons, and the package for which they
leave no candidate, or the cases into which the proof branches (docs/explaining.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
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

# How many steps `explore` follows requirements from a line of the stack.
_DEPTH = 3
# How many releases `explore` looks at.
_LOOKED_AT = 600
# A smallest core is looked for only if the minimal one has at most so many constraints, user
# constraints apart.
_COUNTED = 8
# How many questions the solver is asked for one smallest core.
_QUESTIONS = 300
# How many sets of user constraints, and how many cores, are taken in each round of `cores`.
_MOST = 12
# How many cores are looked for with the same user constraints.
_SAME_USER_SET = 4
# How deep cases are nested.
_DEEPEST = 4

# What the stack itself rules out, whatever an index has.
_RULED_OUT_BY_STACK = (NoCandidate.COMMIT, NoCandidate.PRERELEASE, NoCandidate.NEEDLESS)

UserConstraint = Line | ComponentValue


def user_constraint_of(constraint: Constraint) -> UserConstraint | None:
    """Return the line or the component that a constraint is, or is a part of; None for others."""
    match constraint:
        case StackLine() | BuildLine():
            return constraint.whole
        case ComponentValue():
            return constraint
        case _:
            return None


def user_constraints(clauses: Clauses) -> dict[UserConstraint, list[Constraint]]:
    """Return every user constraint with its parts, as far as the clauses have them.

    Lines come in the order of the stack, then the components of the target.
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
    """Yield each minimal set of user constraints that cannot be satisfied together.

    The constraints in `background` hold in addition. The algorithm is MARCO (Liffiton et al. 2016).
    The enumeration ends early once `expired` returns True.
    """
    parts = user_constraints(clauses)
    numbers = {user_constraint: number for number, user_constraint in enumerate(parts, 1)}

    def is_satisfiable(user_set: Iterable[UserConstraint]) -> bool:
        of_user = chain.from_iterable(parts[user_constraint] for user_constraint in user_set)
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
    """Return a maximal satisfiable set that contains `user_set`, which is satisfiable.

    `others` are the user constraints that may be added; they are tried in this order.
    """
    largest = list(user_set)
    for user_constraint in others:
        if user_constraint not in largest and is_satisfiable([*largest, user_constraint]):
            largest.append(user_constraint)
    return largest


def _shrunk(
    user_set: Sequence[UserConstraint], is_satisfiable: Callable[[Iterable[UserConstraint]], bool]
) -> list[UserConstraint]:
    """Return a minimal set that clashes, within a set that clashes."""
    clash = list(user_set)
    for user_constraint in reversed(user_set):
        fewer = [other for other in clash if other != user_constraint]
        if not is_satisfiable(fewer):
            clash = fewer
    return clash


# --- what is around the stack

# A requirement, after the release that has it; None for a line of the stack.
RequiredEdge = tuple[Candidate | None, Edge]


def explore(clauses: Clauses, expired: Callable[[], bool]) -> None:
    """Open the releases around the stack that may cause conflicts which are not in the clauses yet.

    To open a release is to read its metadata and to add its requirements to the clauses. Each line
    of the stack is followed on its own, always to the release that it would get, past releases
    without a usable file. A release on these paths is opened if it needs another machine, if its
    file is unusable, or if it is one of several with requirements on one project that cannot be met
    together; so are the releases that lead to it. Metadata that cannot be read is skipped: the
    conflict is certain without it.
    """
    universe = clauses.universe
    level: list[RequiredEdge] = [(None, edge) for edge in universe.roots()]
    requirements_on: dict[Package, list[RequiredEdge]] = {}
    parents: dict[Candidate, set[Candidate]] = {}
    unusable: list[Candidate] = []
    for _ in range(_DEPTH):
        following: list[RequiredEdge] = []
        clauses.prefetch.prefetch(edge for _, edge in level)
        for parent, edge in level:
            if parent is not None and _is_unmet(universe, edge):
                unusable.append(parent)
            if edge.package.kind is PackageKind.PROJECT:
                # If a project cannot be looked up, the conflict is certain without it.
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
) -> list[RequiredEdge]:
    """Return the requirements of the release that an installer would choose for a requirement.

    The requirements of releases before it whose file proved unusable are returned as well. Releases
    that an earlier call looked at are left out. `parents` maps each release that was looked at to
    the releases that require it; `parent` is added to it.
    """
    following: list[RequiredEdge] = []
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
            # The conflict is certain without the requirements of this release.
            break
        if is_new:
            following += [(candidate, needed) for needed in edges]
        if not any(needed.package.kind is PackageKind.UNAVAILABLE for needed in edges):
            break
    return following


def _is_unmet(universe: Universe, edge: Edge) -> bool:
    """Return whether a requirement makes its release useless on the target.

    That is so if it is on a component whose value does not meet it, or if it says that the file of
    the release is unusable.
    """
    match edge.package.kind:
        case PackageKind.COMPONENT:
            return not _has_candidate(universe, edge.package, universe.demand(edge))
        case kind:
            return kind is PackageKind.UNAVAILABLE


def _has_candidate(universe: Universe, package: Package, demand: Demand) -> bool:
    """Return whether a package has a candidate that meets a demand."""
    return next(universe.candidates(package, demand), None) is not None


def _open_ways(
    clauses: Clauses, parents: Mapping[Candidate, set[Candidate]], candidates: list[Candidate]
) -> None:
    """Open some releases, and all releases that require them according to `parents`."""
    while candidates:
        candidate = candidates.pop()
        if not clauses.is_expanded(candidate):
            # The conflict is certain without a release that cannot be read.
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
    """Return a core with the fewest constraints beside the `hard` ones.

    `core` is a minimal core. It is the result if none has fewer, or if a limit is reached first.
    Any other result has all `hard` constraints, needed or not, and further ones from `soft`. The
    algorithm is FORQES (Ignatiev et al. 2015).
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


def depends_on_unreachable_index(
    constraint: Constraint, clauses: Clauses
) -> TypeGuard[Unavailable]:
    """Return whether something is unavailable only because an index could not be reached.

    False for what the stack itself rules out: no index could change that.
    """
    if not isinstance(constraint, Unavailable) or constraint.why in _RULED_OUT_BY_STACK:
        return False
    return bool(clauses.universe.project(constraint.project).unreachable)


def cores(clauses: Clauses, expired: Callable[[], bool]) -> Iterator[tuple[Constraint, ...]]:
    """Yield the cores of a refuted stack that are shown to the user.

    Two cores have different user constraints, or leave no candidate for different packages. A user
    constraint that is impossible by itself hides other cores with it. So in a second round the
    reasons why it is impossible are left out. If the stack is refuted whatever an unreachable index
    has, only constraints that do not depend on that index are considered.
    """
    explore(clauses, expired)
    certain = [
        constraint
        for constraint in clauses.known
        if not depends_on_unreachable_index(constraint, clauses)
    ]
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
    """Yield cores whose constraints are user constraints or in the `background`.

    `subjects` has, for each set of user constraints, the packages for which earlier cores left no
    candidate. Packages of new cores are added to it.
    """
    parts = user_constraints(clauses)
    for user_set in sorted(islice(clashing(clauses, background, expired), _MOST), key=len):
        hard = list(chain.from_iterable(parts[user_constraint] for user_constraint in user_set))
        unused = background
        met = subjects.setdefault(user_set, set())
        for _ in range(_SAME_USER_SET):
            if clauses.satisfiable(among=[*hard, *unused]):
                break
            core = readable_core(clauses, hard, unused, expired)
            subject = closing_subject(clauses, core)
            # A core for the same package would be the same contradiction with other reasons.
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
    """Return the constraints that are neither user constraints nor parts of them."""
    return [constraint for constraint in constraints if user_constraint_of(constraint) is None]


def readable_core(
    clauses: Clauses,
    hard: Sequence[Constraint],
    background: Sequence[Constraint],
    expired: Callable[[], bool],
) -> tuple[Constraint, ...]:
    """Return a core for people: a minimal one, and the smallest one if that is cheap.

    `hard` are the user constraints that clash, with their parts. If no release has the version that
    is asked for, only this is reported, not the faults of other releases. If the tables that say
    which releases go together are enough for a core, other requirements are left out: they are
    often incidental.
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
        # The time for a smallest core grows fast with its size, and nobody counts so many reasons.
        if len(_without_user_constraints(core)) <= _COUNTED:
            core = smallest(clauses, core, hard, background, expired)
    else:
        # Requirements from tables about the same projects are preferred to other ones. A core with
        # the fewest constraints would take too long to find.
        packages = {each.package for each in core if isinstance(each, Requires)}
        related = [each for each in tables if isinstance(each, Requires)]
        related = [each for each in related if each.package in packages]
        core = tuple(clauses.preferred([], list(dict.fromkeys([*hard, *related, *core]))))
    return tuple(clauses.minimal(among=core))


# --- for people


def against_line(clauses: Clauses, core: Sequence[Constraint]) -> Sequence[Constraint]:
    """Return a core in which a line of the stack stands for what is unusable, if there is one.

    A release may need one of another project that cannot be used, while a line of the stack asks
    for another release of that project: `vllm-ascend needs vllm==0.7.3`, and the stack asks for
    vllm==0.9.1. What the line says is the nearer reason. Otherwise return the core unchanged.
    """
    unusable: set[str] = {each.project for each in core if isinstance(each, Unavailable)}
    for user_constraint in _user_set(core):
        unusable.difference_update(_restricted_packages(clauses, user_constraint))
    lines: list[Constraint] = []
    for user_constraint, parts in user_constraints(clauses).items():
        named = _restricted_packages(clauses, user_constraint)
        if isinstance(user_constraint, StackLine) and not unusable.isdisjoint(named):
            lines += parts
    kept = [each for each in core if not isinstance(each, Unavailable)]
    if not lines or clauses.satisfiable(among=[*kept, *lines]):
        return core
    return clauses.minimal(among=[*kept, *lines])


def contradiction(
    clauses: Clauses, core: Sequence[Constraint], expired: Callable[[], bool] = lambda: False
) -> Contradiction:
    """Return a core in the form that people read.

    Once `expired` returns True, no further cases are distinguished.
    """
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


def closing(
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
    """Return the name of the package or component for which a core leaves no candidate.

    The package that most constraints are about is tried first; a line counts once, whatever its
    parts. Of two with as many, the one that became known later is tried first. If there is no such
    package, the first one that would be tried is the result.
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
    """Return whether the constraints of a core about one package leave it no candidate.

    The releases with these constraints are taken as chosen: the `assumed` ones, and for each other
    package one that has all of them. False if a package has no such release.
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
    """Return the releases that have a constraint, by package."""
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
    """Return a minimal core, within this one, for the case that some releases are chosen."""
    return clauses.minimal(map(clauses.variable, assumed), core)


def _splitting_packages(core: Sequence[Constraint], done: set[Package]) -> list[Package]:
    """Return the packages whose releases have different requirements in a core, without `done`.

    Packages with the most requirements come first.
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
    """Return the releases of a package that the rest of a core allows, as lists.

    The releases of one list have the same constraints in the core. Lists are sorted by their first
    release, the newest first.
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
    """Return the position of a candidate among the releases of its project; 0 for a component."""
    return candidate.chosen.position if isinstance(candidate.chosen, Release) else 0


def _restricted_packages(clauses: Clauses, constraint: Constraint) -> list[str]:
    """Return the names of the packages or components that a constraint is about."""
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
    """Return the contradiction of a core that was found only after other constraints were left out.

    The user constraints of the core count with all their parts. None if these constraints do not
    clash in the stack itself: the core then depends on what only a changed stack rules out.
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
