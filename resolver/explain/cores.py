"""Find the cores of a refuted stack that a report shows.

A core is a set of constraints that cannot all hold; it is minimal if it can hold once any one of
them is left out (docs/explaining.md).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, islice

from pysat.examples.hitman import Hitman

from resolver.explain.clock import Clock
from resolver.explain.closing import closing_subject, restricted_packages
from resolver.explain.costs import is_pairing
from resolver.explain.nearby_releases import open_nearby_releases
from resolver.explain.unreachable_indexes import depends_on_unreachable_index
from resolver.explain.user_constraints import (
    UserConstraint,
    clashing,
    user_constraints,
    user_set_of,
    without_user_constraints,
)
from resolver.model.constraint import (
    Constraint,
    NoCandidate,
    ReleaseRequires,
    StackLine,
    Unavailable,
)
from resolver.model.package import Package
from resolver.resolve.clauses import Clauses
from resolver.resolve.refutation import Refutation
from resolver.resolve.solver import faults_of_core

# A smallest core is looked for only if the minimal one has at most so many constraints, user
# constraints apart.
_COUNTED = 8
# How many questions the solver is asked for one smallest core.
_QUESTIONS = 300
# How many sets of user constraints, and how many cores, are taken in each round of
# `enumerate_cores`.
_MOST = 12
# How many cores are looked for with the same user constraints.
_SAME_USER_SET = 4


def found_cores(refutation: Refutation, clock: Clock) -> list[Sequence[Constraint]]:
    """Return the cores that are found in time; the core of the refutation if there are none."""
    found: list[Sequence[Constraint]] = []
    with clock.limiting():
        # Not `extend`: if time is up, the cores that were found before must stay.
        for core in checked_cores(refutation.clauses, clock):
            found.append(core)  # noqa: PERF402  an exception leaves those found before
    return found or [refutation.core]


def checked_cores(clauses: Clauses, clock: Clock) -> Iterator[Sequence[Constraint]]:
    """Yield the cores that pass the independent check of `resolve.check_refutation`.

    The core of the refutation passed it before, but a report shows other cores.
    """
    for core in enumerate_cores(clauses, clock.expired):
        if not faults_of_core(clauses, core):
            yield core


def enumerate_cores(
    clauses: Clauses, expired: Callable[[], bool]
) -> Iterator[tuple[Constraint, ...]]:
    """Yield the cores of a refuted stack that are shown to the user.

    Two cores have different user constraints, or leave no candidate for different packages. A user
    constraint that is impossible by itself hides other cores with it. So in a second round the
    reasons why it is impossible are left out. If the stack is refuted whatever an unreachable index
    has, only constraints that do not depend on that index are considered.
    """
    open_nearby_releases(clauses, expired)
    certain = [
        constraint
        for constraint in clauses.known
        if not depends_on_unreachable_index(constraint, clauses)
    ]
    constraints = clauses.known if clauses.satisfiable(among=certain) else certain
    background = without_user_constraints(constraints)
    seen: set[frozenset[Constraint]] = set()
    subjects: dict[tuple[UserConstraint, ...], set[Package]] = {}
    for _ in range(2):
        hiding: set[Constraint] = set()
        for core in islice(_cores(clauses, background, subjects, expired), _MOST):
            if len(user_set_of(core)) == 1:
                hiding.update(without_user_constraints(core))
            if frozenset(core) not in seen:
                seen.add(frozenset(core))
                yield core
        if not hiding:
            return
        background = [constraint for constraint in background if constraint not in hiding]


def _cores(
    clauses: Clauses,
    background: Sequence[Constraint],
    subjects: dict[tuple[UserConstraint, ...], set[Package]],
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
        known_subjects = subjects.setdefault(user_set, set())
        for _ in range(_SAME_USER_SET):
            if clauses.satisfiable(among=[*hard, *unused]):
                break
            core = readable_core(clauses, hard, unused, expired)
            subject = closing_subject(clauses, core)
            # A core for the same package would be the same contradiction with other reasons.
            if subject not in known_subjects:
                known_subjects.add(subject)
                yield core
            used = without_user_constraints(core)
            if not used:
                break
            unused = [constraint for constraint in unused if constraint not in used]


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
        if len(without_user_constraints(core)) <= _COUNTED:
            core = smallest(clauses, core, hard, background, expired)
    else:
        # Requirements from tables about the same projects are preferred to other ones. A core with
        # the fewest constraints would take too long to find.
        packages = {
            constraint.package for constraint in core if isinstance(constraint, ReleaseRequires)
        }
        related = [constraint for constraint in tables if isinstance(constraint, ReleaseRequires)]
        related = [constraint for constraint in related if constraint.package in packages]
        core = tuple(clauses.preferred([], list(dict.fromkeys([*hard, *related, *core]))))
    return tuple(clauses.minimal(among=core))


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
    soft_constraints = [constraint for constraint in soft if constraint not in hard]
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
            hitman.hit([constraint for constraint in soft_constraints if constraint in broken])
    return tuple(core)


def shown_core(clauses: Clauses, core: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """Return the core that is shown for one that was found, see `_against_line`.

    It is checked as the other was.
    """
    nearer = _against_line(clauses, core)
    return tuple(core if faults_of_core(clauses, nearer) else nearer)


def _against_line(clauses: Clauses, core: Sequence[Constraint]) -> Sequence[Constraint]:
    """Return a core in which a line of the stack stands for what is unusable, if there is one.

    A release may need one of another project that cannot be used, while a line of the stack asks
    for another release of that project: `vllm-ascend needs vllm==0.7.3`, and the stack asks for
    vllm==0.9.1. What the line says is the nearer reason. Otherwise return the core unchanged.
    """
    unusable = {
        Package(constraint.project) for constraint in core if isinstance(constraint, Unavailable)
    }
    for user_constraint in user_set_of(core):
        unusable.difference_update(restricted_packages(clauses, user_constraint))
    lines: list[Constraint] = []
    for user_constraint, parts in user_constraints(clauses).items():
        named = restricted_packages(clauses, user_constraint)
        if isinstance(user_constraint, StackLine) and not unusable.isdisjoint(named):
            lines += parts
    kept = [constraint for constraint in core if not isinstance(constraint, Unavailable)]
    if not lines or clauses.satisfiable(among=[*kept, *lines]):
        return core
    return clauses.minimal(among=[*kept, *lines])
