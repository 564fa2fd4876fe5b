"""All contradictions of a refuted problem, each with its smallest core: the fewest grounds that clash."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice

from packaging.version import Version
from pysat.examples.hitman import Hitman

from resolver.explain.branches import branches, closing, closing_subject
from resolver.explain.wishes import Wish, clashing, explore, wish_of, wishes
from resolver.model.explanation import Contradiction
from resolver.model.fact import Warns
from resolver.model.resolution import Lack, Needs, Statement
from resolver.resolve.clauses import Clauses
from resolver.resolve.core_statements import tell
from resolver.resolve.grounded import Ground, Lacking

_QUESTIONS = 300
_IN_VAIN = 4  # grounds in a row that cannot be restored: perhaps none of the rest can


def smallest(
    clauses: Clauses,
    core: Sequence[Ground],
    *,
    hard: Collection[Ground] = (),
    soft: Collection[Ground] | None = None,
    expired: Callable[[], bool] = lambda: False,
) -> tuple[Ground, ...]:
    """A core with the fewest grounds, or `core`, which must be minimal, if none has fewer.

    `hard` grounds are part of it, needed or not; the others come from `soft`, all known ones if not given.
    Past the limits the result is `core`: minimal, but perhaps not smallest.
    """
    softs = [ground for ground in (clauses.known if soft is None else soft) if ground not in set(hard)]
    fixed = [ground for ground in core if ground in set(hard)]
    size = len(core) - len(fixed)
    asked = _Asked(clauses, expired)
    if size <= 1 or (size == 2 and not _clashes_alone(asked, hard, softs)):
        return tuple(core)
    with Hitman(solver="m22", htype="sorted") as hitman:
        while not asked.is_over():
            hit: list[Ground] | None = hitman.get()
            if hit is None or len(hit) >= size:
                return tuple(core)
            if not asked.satisfiable(among=[*hard, *hit]):
                return (*hard, *hit)
            hitman.hit(_correction(asked, [*hard, *hit], softs))
    return tuple(core)


class _Asked:
    """Clauses, and whether they have been asked often enough."""

    def __init__(self, clauses: Clauses, expired: Callable[[], bool]) -> None:
        self._clauses = clauses
        self._expired = expired
        self._left = _QUESTIONS
        self.broken = clauses.broken

    def satisfiable(self, *, among: Collection[Ground], any_of: Collection[Ground] = ()) -> bool:
        """See `Clauses`."""
        self._left -= 1
        return self._clauses.satisfiable(among=among, any_of=any_of)

    def is_over(self) -> bool:
        """Whether the limit is reached, or time is up."""
        return self._left <= 0 or self._expired()


def _clashes_alone(clauses: _Asked, hard: Collection[Ground], softs: Sequence[Ground]) -> bool:
    """Whether one ground alone clashes with the hard ones. Then it is in every correction set."""
    one, other = (_correction(clauses, list(hard), order) for order in (softs, softs[::-1]))
    both = set(one) & set(other)
    return any(not clauses.satisfiable(among=[*hard, ground]) for ground in softs if ground in both)


def _correction(clauses: _Asked, kept: list[Ground], softs: Sequence[Ground]) -> list[Ground]:
    """Soft grounds without which the others can hold, reduced by restoring as many as possible within the limits."""
    broken = clauses.broken()
    held = [*kept, *(ground for ground in softs if ground not in broken)]
    out = [ground for ground in softs if ground in broken]
    correction: list[Ground] = []
    in_vain = 0
    while out and not clauses.is_over():
        if in_vain >= _IN_VAIN:
            if not clauses.satisfiable(among=held, any_of=out):
                return [*correction, *out]
            in_vain = -len(out)  # one of them can be restored: ask again once it was found, not for each
        ground = out.pop(0)
        if clauses.satisfiable(among=[*held, ground]):
            broken = clauses.broken()
            held += [ground, *(other for other in out if other not in broken)]
            out = [other for other in out if other in broken]
            in_vain = 0
        else:
            correction.append(ground)
            in_vain += 1
    return [*correction, *out]


_MOST = 12
_SAME_WISHES = 4  # contradictions reported about the same lines


def cores(
    clauses: Clauses, expired: Callable[[], bool], is_spare: Callable[[Ground], bool] = lambda _: False
) -> Iterator[tuple[Ground, ...]]:
    """Independent cores: with different wishes, or with the same wishes but disjoint reasons.

    A wish that is impossible by itself hides its other clashes, so in a second round the reasons of those cores are
    left out. Spare grounds are not used if there is a core without them.
    """
    explore(clauses, expired)
    needed = [ground for ground in clauses.known if not is_spare(ground)]
    among = clauses.known if clauses.satisfiable(among=needed) else needed
    given = [ground for ground in among if wish_of(ground) is None]
    told: set[frozenset[Ground]] = set()
    met: dict[tuple[Wish, ...], set[str]] = {}
    hiding: set[Ground] = set()
    for _ in range(2):
        left = [ground for ground in given if ground not in hiding]
        for core in islice(_cores(clauses, left, met, expired), _MOST):
            wanted = {wish_of(ground) for ground in core} - {None}
            if len(wanted) == 1:
                hiding.update(ground for ground in core if wish_of(ground) is None)
            if frozenset(core) not in told:
                told.add(frozenset(core))
                yield core
        if not hiding:
            return


def _cores(
    clauses: Clauses, given: Sequence[Ground], met: dict[tuple[Wish, ...], set[str]], expired: Callable[[], bool]
) -> Iterator[tuple[Ground, ...]]:
    """Cores of these grounds; `met` are the subjects in which cores of the same wishes met so far."""
    grounds = wishes(clauses)
    for wanted in sorted(islice(clashing(clauses, given, expired), _MOST), key=len):
        hard = [ground for wish in wanted for ground in grounds[wish]]
        left = given
        subjects = met.setdefault(wanted, set())
        for _ in range(_SAME_WISHES):
            if clauses.satisfiable(among=[*hard, *left]):
                break
            core = readable(clauses, hard, left, expired)
            subject = closing_subject(clauses, core)
            if subject not in subjects:  # otherwise it is the same in another way
                subjects.add(subject)
                yield core
            used = {ground for ground in core if wish_of(ground) is None}
            if not used:
                break
            left = [ground for ground in left if ground not in used]


def readable(
    clauses: Clauses, wished: Sequence[Ground], reasons: Sequence[Ground], expired: Callable[[], bool]
) -> tuple[Ground, ...]:
    """A smallest core of wishes that clash for these reasons, with no needless aspect, as reported to people.

    If a version does not exist, that is enough: faults of other releases, which no wish admits, are not reported.
    """
    missing = [ground for ground in reasons if isinstance(ground, Lacking) and ground.lack is Lack.RELEASE]
    if missing and not clauses.satisfiable(among=[*wished, *missing]):
        reasons = missing
    found = clauses.minimal(among=[*wished, *reasons])
    core = smallest(clauses, found, hard=wished, soft=reasons, expired=expired)
    return tuple(clauses.minimal(among=core))


def contradiction(
    clauses: Clauses, core: Sequence[Ground], expired: Callable[[], bool] = lambda: False
) -> Contradiction:
    """A core in the form for people, with its cases as far as time allows."""
    told = tell(clauses, core)
    statements = tuple(dict.fromkeys(told.values()))
    numbers = {ground: statements.index(statement) + 1 for ground, statement in told.items()}
    cases = branches(clauses, numbers, expired=expired)
    return Contradiction(
        statements=statements,
        closing=None if cases else closing(clauses, numbers, core),
        branches=cases,
        notes=tuple(_notes(clauses, statements)),
    )


def _notes(clauses: Clauses, statements: Iterable[Statement]) -> Iterator[Warns]:
    """Known faults of the releases that the statements are about."""
    for fact in clauses.universe.problem.facts:
        if not isinstance(fact, Warns) or fact.unless or fact.extra or fact.beside:
            continue
        for row in statements:
            ends = (
                [end for span in row.versions for end in (span.newest, span.oldest)] if isinstance(row, Needs) else []
            )
            if isinstance(row, Needs) and row.subject == fact.package and any(fact.speaks_of(Version(e)) for e in ends):
                yield fact
                break
