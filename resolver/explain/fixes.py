"""Minimal changes that give a stack a solution, each one locked before it is shown.

Two kinds of change are searched side by side, always the cheapest next: sets of changes to what
the clauses know (`Repairs`), and changes to what can be used at all (`Proposals`), such as another
Python. A refuted proposal gets repairs of its own, as it may help together with
something else, and is pursued as long as they are not much dearer than what was found. What takes long to decide
comes back after everything that is not much dearer. The same goes for facts about archives
that merely note what they need, once a core of the stack is about one; if only a changed stack leads to one, they are
the last resort.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from math import inf

from resolver.explain.changes import Changed
from resolver.explain.costs import spares
from resolver.explain.repairs import Found, Repairs
from resolver.explain.trial import Expired, Trials
from resolver.resolve.clauses import Clauses
from resolver.resolve.grounded import Ground

_FIXES = 6
_RISKY = 2  # fixes that go against a fact or metadata and spare some of the wish
_AGAINST = 3  # fixes that go against a fact or metadata
_EACH = 4  # proposals of a kind, until one works
_STEPS = 240  # in all
_LATE = 300  # how much dearer what takes long is held to be: what goes against no fact still comes before what does


def find(
    clauses: Clauses,
    cores: Sequence[Sequence[Ground]],
    trials: Trials,
    tell: Callable[[Changed], None] | None = None,
) -> Found:
    """Fixes in the order in which they were found, and attempts that failed. For `tell` see `Found`."""
    found = Found(tell=tell)
    wish = Repairs(clauses, cores, trials, found)
    search = [wish]
    try:
        with suppress(Expired):
            _find(clauses, cores, trials, found, search)
    finally:
        for one in search:
            one.close()
    if found.late:
        trials.clock.cut()
    found.end()
    return found


def _find(
    clauses: Clauses, cores: Sequence[Sequence[Ground]], trials: Trials, found: Found, search: list[Repairs]
) -> None:
    """Step by step; each is `found` at once. `search` has the wish's own repairs, and gets those of other stacks."""
    (wish,) = search
    proposals = wish.proposals
    for several in (
        proposals.names(cores),
        proposals.practices(cores),
        proposals.pythons(cores),
        proposals.glibcs(cores),
        *map(proposals.builds, cores),
    ):
        search += _propose_each(wish, several, trials, found)
    noting = False
    for _ in range(_STEPS):
        if _enough(found) or trials.clock.expired():
            return
        if found.unstated_in_wish and not noting:
            noting = True
            search += _with_notes(clauses, trials, found)
        priced = [(price, at) for at, one in enumerate(search) if (price := one.price()) is not None]
        late = found.next_late()
        if late is not None and late.changed.price + _LATE <= min(priced, default=(inf, 0))[0]:
            found.late.remove(late)
            further = late.repairs.try_again(late)
            search += [] if further is None else [further]
        elif priced:
            further = search[min(priced)[1]].step()
            search += [] if further is None else [further]
        elif found.unstated and found.cheapest == inf and not noting:
            noting = True
            search += _with_notes(clauses, trials, found)
        else:
            return


def _propose_each(wish: Repairs, several: Iterator[Changed], trials: Trials, found: Found) -> Iterator[Repairs]:
    """Lock proposals until one works; the result is the repairs of those that did not."""
    before = len(found.fixes)
    for changed in islice(several, _EACH):
        if len(found.fixes) > before or trials.clock.expired():
            return
        further = wish.propose(changed, found.attempts)
        if further is not None:
            yield further


def _with_notes(clauses: Clauses, trials: Trials, found: Found) -> Iterator[Repairs]:
    """Lock the stack with facts made from archives' own notes; the result is its repairs, if it does not lock."""
    start = Repairs(clauses, [], trials.noting(), found)
    further = start.propose(Changed((), trials.text, 0, risky=False), [])
    start.close()
    if further is not None:
        yield further


def _enough(found: Found) -> bool:
    rows = [changed for changed, _ in found.fixes]
    against = [one for one in rows if one.risky]
    sparing = [
        one
        for one in against
        if not any(spares(other.changes, one.changes) for other in rows if other.price < one.price)
    ]
    return len(rows) >= _FIXES or len(against) >= _AGAINST or len(sparing) >= _RISKY
