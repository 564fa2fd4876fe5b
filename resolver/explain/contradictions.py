"""The sets of user constraints (lines of the stack, components of the target) that clash, and the grounds for it.

The fewest grounds that clash are a core. A contradiction is a core as statements, with the package
for which they leave nothing, or the contradictory cases into which it branches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, takewhile
from typing import TypeGuard

from packaging.version import Version
from pysat.examples.hitman import Hitman
from pysat.solvers import Minisat22

from resolver.errors import ResolverError
from resolver.model import text
from resolver.model.dependency import Candidate, Edge, NeedLine, Package, PackageKind, StackLine
from resolver.model.explanation import Branch, Closing, Contradiction
from resolver.model.fact import Warns
from resolver.model.release import Release
from resolver.model.resolution import Lack, Needs, Statement
from resolver.resolve.clauses import Clauses
from resolver.resolve.core_statements import release_ranges, statements_of
from resolver.resolve.grounds import (
    CollisionGround,
    ComponentGround,
    ExclusionGround,
    Ground,
    LackGround,
    LineGround,
    RequirementGround,
)
from resolver.resolve.universe import Universe

_DEPTH = 3  # of the look around the stack
_LOOKED_AT = 600  # releases
_QUESTIONS = 300  # to the solver, for one smallest core
_MOST = 12  # sets of user constraints, and cores, of each round
_SAME_CONSTRAINTS = 4  # cores of the same user constraints
_DEEPEST = 4  # cases within cases

UserConstraint = StackLine | NeedLine | ComponentGround


def constraint_of(ground: Ground) -> UserConstraint | None:
    """The user constraint that a ground belongs to, if any."""
    match ground:
        case LineGround():
            return ground.origin
        case ComponentGround():
            return ground
        case _:
            return None


def user_constraints(clauses: Clauses) -> dict[UserConstraint, list[Ground]]:
    """Every user constraint with its grounds: the lines in the order of the stack, then the target's components."""
    rows: dict[UserConstraint, list[Ground]] = {
        root.origin: [] for root in clauses.universe.problem.stack.requirements
    }
    for ground in clauses.known:
        if (constraint := constraint_of(ground)) is not None:
            rows.setdefault(constraint, []).append(ground)
    return {constraint: grounds for constraint, grounds in rows.items() if grounds}


def clashing(
    clauses: Clauses, reasons: Sequence[Ground], expired: Callable[[], bool]
) -> Iterator[tuple[UserConstraint, ...]]:
    """Every minimal set of user constraints that is unsatisfiable with these reasons (MARCO, Liffiton et al. 2016)."""
    grounds = user_constraints(clauses)
    numbers = {constraint: number for number, constraint in enumerate(grounds, 1)}

    def is_satisfiable(constraints: Iterable[UserConstraint]) -> bool:
        return clauses.satisfiable(
            among=[*reasons, *chain.from_iterable(map(grounds.__getitem__, constraints))]
        )

    with Minisat22() as seeds:
        seeds.set_phases(list(numbers.values()))
        for number in numbers.values():
            seeds.add_clause([number, -number])
        while seeds.solve() and not expired():
            model = set(seeds.get_model())
            seed = [constraint for constraint, number in numbers.items() if number in model]
            if is_satisfiable(seed):
                for constraint in numbers:
                    if constraint not in seed and is_satisfiable([*seed, constraint]):
                        seed.append(constraint)
                seeds.add_clause(
                    [number for constraint, number in numbers.items() if constraint not in seed]
                )
            else:
                blamed = {constraint_of(ground) for ground in clauses.core()}
                clash = [constraint for constraint in seed if constraint in blamed]
                for constraint in clash[::-1]:
                    if not is_satisfiable(other for other in clash if other != constraint):
                        clash.remove(constraint)
                yield tuple(clash)
                seeds.add_clause([-numbers[constraint] for constraint in clash])


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
    core: Sequence[Ground],
    hard: Collection[Ground],
    soft: Iterable[Ground],
    expired: Callable[[], bool],
) -> tuple[Ground, ...]:
    """A core with the fewest grounds, or `core`, which must be minimal, if none has fewer.

    `hard` grounds are part of it, needed or not; the others come from `soft`.
    Past the limits the result is `core`: minimal, but perhaps not smallest.
    """
    softs = [ground for ground in soft if ground not in set(hard)]
    size = len(set(core).difference(hard))
    with Hitman(solver="m22", htype="sorted") as hitman:
        for _ in takewhile(lambda _: not expired(), range(_QUESTIONS if size > 1 else 0)):
            hit: list[Ground] | None = hitman.get()
            if hit is None or len(hit) >= size:
                break
            if not clauses.satisfiable(among=[*hard, *hit]):
                return (*hard, *hit)
            broken = clauses.broken()
            hitman.hit([ground for ground in softs if ground in broken])
    return tuple(core)


def is_open(ground: Ground, clauses: Clauses) -> TypeGuard[LackGround]:
    """Whether a ground is a lack of what an index may have that could not be reached."""
    if not isinstance(ground, LackGround) or ground.lack in (
        Lack.SOURCE,
        Lack.PRERELEASE,
        Lack.NEEDLESS,
    ):
        return False  # the stack itself rules these out on any index
    return bool(clauses.universe.project(ground.name).unreachable)


def cores(clauses: Clauses, expired: Callable[[], bool]) -> Iterator[tuple[Ground, ...]]:
    """Independent cores: with different user constraints, or with the same ones but disjoint reasons.

    A user constraint that is impossible by itself hides its other clashes, so in a second round the
    reasons of those cores are left out. If something clashes whatever an index has that could not
    be reached, no core rests on that.
    """
    explore(clauses, expired)
    certain = [ground for ground in clauses.known if not is_open(ground, clauses)]
    grounds = clauses.known if clauses.satisfiable(among=certain) else certain
    reasons = [ground for ground in grounds if constraint_of(ground) is None]
    seen: set[frozenset[Ground]] = set()
    subjects: dict[tuple[UserConstraint, ...], set[str]] = {}
    for _ in range(2):
        hiding: set[Ground] = set()
        for core in islice(_cores(clauses, reasons, subjects, expired), _MOST):
            if len({constraint_of(ground) for ground in core} - {None}) == 1:
                hiding.update(ground for ground in core if constraint_of(ground) is None)
            if frozenset(core) not in seen:
                seen.add(frozenset(core))
                yield core
        if not hiding:
            return
        reasons = [ground for ground in reasons if ground not in hiding]


def _cores(
    clauses: Clauses,
    reasons: Sequence[Ground],
    subjects: dict[tuple[UserConstraint, ...], set[str]],
    expired: Callable[[], bool],
) -> Iterator[tuple[Ground, ...]]:
    """Cores with these reasons; `subjects` are those in which cores of the same user constraints met so far."""
    grounds = user_constraints(clauses)
    for constraints in sorted(islice(clashing(clauses, reasons, expired), _MOST), key=len):
        hard = [ground for constraint in constraints for ground in grounds[constraint]]
        unused = reasons
        met = subjects.setdefault(constraints, set())
        for _ in range(_SAME_CONSTRAINTS):
            if clauses.satisfiable(among=[*hard, *unused]):
                break
            core = readable_core(clauses, hard, unused, expired)
            subject = closing_subject(clauses, core)
            if subject not in met:  # otherwise it is the same in another way
                met.add(subject)
                yield core
            used = {ground for ground in core if constraint_of(ground) is None}
            if not used:
                break
            unused = [ground for ground in unused if ground not in used]


def readable_core(
    clauses: Clauses, hard: Sequence[Ground], reasons: Sequence[Ground], expired: Callable[[], bool]
) -> tuple[Ground, ...]:
    """A smallest core of user constraints that clash for these reasons, with no needless aspect, as reported to people.

    If a version does not exist, that is enough: faults of releases that no user constraint admits
    are not reported.
    """
    missing = [
        ground
        for ground in reasons
        if isinstance(ground, LackGround) and ground.lack is Lack.RELEASE
    ]
    if missing and not clauses.satisfiable(among=[*hard, *missing]):
        reasons = missing
    core = smallest(clauses, clauses.minimal(among=[*hard, *reasons]), hard, reasons, expired)
    return tuple(clauses.minimal(among=core))


# --- for people


def contradiction(
    clauses: Clauses, core: Sequence[Ground], expired: Callable[[], bool] = lambda: False
) -> Contradiction:
    """A core in the form for people, with its cases as far as time allows."""
    statement_of = statements_of(clauses, core)
    statements = tuple(dict.fromkeys(statement_of.values()))
    numbers = {
        ground: statements.index(statement) + 1 for ground, statement in statement_of.items()
    }
    cases = branches(clauses, numbers, expired=expired)
    return Contradiction(
        statements=statements,
        closing=None if cases else closing(clauses, numbers, core),
        branches=cases,
        notes=tuple(_notes(clauses, statements)),
    )


def _notes(clauses: Clauses, statements: Iterable[Statement]) -> Iterator[Warns]:
    ends = {
        (row.subject, Version(end))
        for row in statements
        if isinstance(row, Needs)
        for span in row.versions
        for end in (span.newest, span.oldest)
    }
    for fact in clauses.universe.problem.facts:
        if not isinstance(fact, Warns) or fact.unless or fact.extra or fact.together_with:
            continue
        if any(fact.is_about(subject, version) for subject, version in ends):
            yield fact


def closing(
    clauses: Clauses,
    numbers: Mapping[Ground, int],
    grounds: Sequence[Ground],
    assumed: Sequence[Candidate] = (),
) -> Closing:
    """The package for which the `grounds` leave nothing.

    `numbers` are the numbers of the core's statements.
    """
    subject = closing_subject(clauses, grounds, assumed)
    if _is_empty(clauses, grounds, subject, assumed):
        grounds = [ground for ground in grounds if subject in _restricted_packages(clauses, ground)]
    return Closing(subject=subject, numbers=tuple(sorted({numbers[ground] for ground in grounds})))


def closing_subject(
    clauses: Clauses, core: Sequence[Ground], assumed: Sequence[Candidate] = ()
) -> str:
    """What the grounds of a core meet in: the package that most of them are about, the latest known of several."""
    pairs = {
        (ground.origin if isinstance(ground, LineGround) else ground, name): None
        for ground in core
        for name in _restricted_packages(clauses, ground)
    }
    subjects = Counter(name for _, name in pairs)
    order = list(subjects)
    ranked = sorted(order, key=lambda name: (subjects[name], order.index(name)), reverse=True)
    return next((name for name in ranked if _is_empty(clauses, core, name, assumed)), ranked[0])


def _is_empty(
    clauses: Clauses, core: Sequence[Ground], name: str, cases: Sequence[Candidate]
) -> bool:
    """Whether the grounds of a core about a package, through chosen releases, leave none of its releases."""
    restricting = [ground for ground in core if name in _restricted_packages(clauses, ground)]
    chosen: dict[Package, set[Candidate]] = {case.package: {case} for case in cases}
    for ground in restricting:
        if isinstance(ground, (RequirementGround, CollisionGround)):
            parents: dict[Package, set[Candidate]] = {}
            for parent, _ in clauses.edges.get(ground, ()):
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
    numbers: Mapping[Ground, int],
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
    clauses: Clauses, core: Sequence[Ground], package: Package, assumed: Sequence[Candidate]
) -> list[list[Candidate]]:
    """The releases of a package that a core leaves, newest first, grouped by what the core says about them."""
    cases: dict[tuple[Ground, ...], list[Candidate]] = {}
    variables = [*map(clauses.variable, assumed)]
    others = [
        ground
        for ground in core
        if not (isinstance(ground, RequirementGround) and ground.package == package)
    ]
    for candidate in clauses.packages[package]:
        if clauses.satisfiable([*variables, clauses.variable(candidate)], others):
            says = tuple(
                ground
                for ground in core
                if any(parent is candidate for parent, _ in clauses.edges.get(ground, ()))
            )
            cases.setdefault(says, []).append(candidate)
    return sorted(cases.values(), key=lambda candidates: _position(candidates[0]))


def _splits(core: Sequence[Ground], done: set[Package]) -> list[Package]:
    """The packages whose releases have different requirements in a core, those with the most statements first."""
    texts = dict.fromkeys(
        (ground.package, ground.text) for ground in core if isinstance(ground, RequirementGround)
    )
    counts = Counter(package for package, _ in texts)
    return [package for package, count in counts.most_common() if count > 1 and package not in done]


def _position(candidate: Candidate) -> int:
    return candidate.chosen.position if isinstance(candidate.chosen, Release) else 0


def _restricted_packages(clauses: Clauses, ground: Ground) -> list[str]:
    match ground:
        case ComponentGround() | LackGround():
            return [ground.name]
        case ExclusionGround():
            return [ground.project]
        case LineGround() | RequirementGround() | CollisionGround():
            packages = (edge.package for _, edge in clauses.edges.get(ground, ()))
            names = (
                package.name for package in packages if package.kind is not PackageKind.UNAVAILABLE
            )
            return list(dict.fromkeys(names))


def hidden_contradiction(
    core: Sequence[Ground], clauses: Clauses, expired: Callable[[], bool]
) -> Contradiction | None:
    """A core that shows once other grounds are relaxed, with whole lines: what their versions rule out is no reason.

    None if it rests on what is excluded in a changed stack alone.
    """
    constraints = {constraint_of(ground) for ground in core} - {None}
    hard = [ground for ground in clauses.known if constraint_of(ground) in constraints]
    reasons = [ground for ground in core if constraint_of(ground) is None]
    with clauses.without():
        if clauses.satisfiable(among=[*hard, *reasons]):
            return None
        return contradiction(clauses, readable_core(clauses, hard, reasons, expired), expired)
