"""The search: resolvelib's algorithm, with five rules more, at a cost that grows with what changes in a round.

resolvelib copies all that is known in each round, and looks through all of it again: two hundred projects do not
notice, three thousand take a minute and a gigabyte. Here there is one picture of what is known, with a trail by which
a state is left again, and a heap of what is undecided. Which decisions are taken, in which order, and what is gone back
to after a conflict is as it is there (tests/property/test_search_laws.py holds one against the other).

The first rule: a decision is not taken back by what it led to. There it is, and what took it back stays, though nothing
needs it any more, and asks for things still: a release is then given up for one that is older, or for a pre-release.

The second: what clashed is learned (`clashes`). A candidate that would make it clash again is not taken, and what was
decided since, without which it clashes all the same, is left on the way back.

The third: where a long run of releases seems to be in vain, the package in its way may have to wait. No release is
passed over for that.

The fourth: with a decision that is taken back goes what was decided by it. Else a release stays out for a requirement
that nobody has any more.

The fifth: what is asked for by a decision that is taken back anyway keeps no release out. Else the newest torch-npu
asks for a torch that leaves only an old vllm-ascend, which then takes this very torch-npu back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from heapq import heappop, heappush
from typing import Any, NamedTuple

from resolver.model.candidate import Candidate
from resolver.model.edge import Edge
from resolver.model.package import Package
from resolver.solve.demand import ANYTHING, Demand
from resolver.solve.provider import Matches, Provider

ROUNDS = 1_000  # four times what a stack of 200 projects takes
_ROUNDS_EACH = 5  # for each package, where there are more
_GIVE_WAY = 40  # releases tried in vain: from then on another order may be better
LONG_RUN = 8  # releases tried in vain before one that fits: why is remembered for the next time
_TRIES_EACH = 20  # candidates tried for each round, on the average: long runs of releases that all clash take as many
_OPTIMISTIC = 0.1  # share of the rounds that may be spent on jumps which may leave out solutions

Tick = Callable[[int, int], None]


class DeadEnd(Exception):
    """The search found nothing, which proves nothing."""


class _Clash(Exception):
    """Nothing is left of a package."""

    def __init__(self, criterion: _Criterion) -> None:
        super().__init__()
        self.criterion = criterion


class _Rows(NamedTuple):
    """Who asks for a package: an edge, who has it (None is the stack), and those that came before.

    `demand` is what all of them ask together.
    """

    edge: Edge
    parent: Candidate | None
    demand: Demand
    before: _Rows | None

    def each(self) -> Iterator[_Rows]:
        """The rows, the latest first."""
        row: _Rows | None = self
        while row is not None:
            yield row
            row = row.before


class _Criterion(NamedTuple):
    """What is asked of a package, which candidates that leaves, and which were tried in vain."""

    candidates: Matches
    rows: _Rows | None
    banned: Sequence[Candidate]

    @property
    def demand(self) -> Demand:
        """What is asked."""
        return ANYTHING if self.rows is None else self.rows.demand

    def each(self) -> Iterator[_Rows]:
        """Who asks."""
        return iter(()) if self.rows is None else self.rows.each()


class _State:
    """What came after the state before: the last pin, and each change with the way back."""

    __slots__ = ("causes", "changes", "last")

    def __init__(self, causes: frozenset[Package]) -> None:
        self.last: tuple[Package, Candidate] | None = None
        self.changes: list[tuple[dict[Package, Any], Package, Any, Any]] = []
        self.causes = causes  # the packages of the last conflict


class Search:
    """One search, of `most` rounds unless there are many packages. `rounds` is how far it went."""

    def __init__(self, provider: Provider, tick: Tick | None = None, *, most: int = ROUNDS) -> None:
        self._provider = provider
        provider.asked = self._asked
        self._tick = tick
        self._most = most
        self._criteria: dict[Package, _Criterion] = {}
        self._pins: dict[Package, Candidate] = {}
        self._undone: dict[Package, bool] = {}  # of which the pin does not count any more
        provider.pinned = self._pins.get
        self._states: list[_State] = []
        self._children: dict[Package, set[Package]] = {}  # what a package ever asked something of
        self._banned: dict[Package, None] = {}  # of which anything was ever tried in vain
        self._open: set[Package] = set()
        self._changed: set[Package] = set()
        self._heap: list[tuple[tuple[Any, ...], Package]] = []
        self._optimistic = True
        self._saved: list[_State] | None = None
        self._since = self._patience = 0  # the round in which jumps became optimistic, and for how many
        self._tries = 0
        self.rounds = 0

    def run(self, roots: Iterable[Edge]) -> Mapping[Package, Candidate]:
        """A choice for each package that was asked for. Raises DeadEnd."""
        self._states = [_State(frozenset())]
        try:
            self._apply(self._asks(roots, None))
        except _Clash:
            raise DeadEnd from None
        self._states.append(_State(frozenset()))
        number = 0
        while number < self._limit() and self._tries < _TRIES_EACH * self._limit():
            if not self._patient(number):
                number += 1
                continue
            package = self._next()
            if package is None:
                return self._pins
            causes = self._pin(package)
            if causes:
                self._resolve(causes)
            number += 1
            self.rounds = number
            if self._tick is not None:
                self._tick(number, len(self._pins))
        raise DeadEnd

    def _limit(self) -> int:
        return max(self._most, _ROUNDS_EACH * len(self._criteria))

    # --- what is known

    def _change(self, table: dict[Package, Any], package: Package, new: Any) -> None:
        """Change the picture, with the way back."""
        self._states[-1].changes.append((table, package, table.get(package), new))
        self._put(table, package, new)

    def _put(self, table: dict[Package, Any], package: Package, value: Any) -> None:
        """Put a value in the picture; None takes out what is there."""
        if value is None:
            del table[package]
        else:
            table[package] = value
        self._changed.add(package)

    def _leave(self) -> _State:
        """Drop the last state, and undo what came with it."""
        state = self._states.pop()
        for table, package, old, _ in reversed(state.changes):
            self._put(table, package, old)
        return state

    def _enter(self, state: _State) -> None:
        """Do again what a state that was left had done."""
        for table, package, _, new in state.changes:
            self._put(table, package, new)
        self._states.append(state)

    def _push(self) -> None:
        self._states.append(_State(self._states[-1].causes))

    def _apply(self, added: Mapping[Package, _Criterion]) -> None:
        for package, criterion in added.items():
            self._change(self._criteria, package, criterion)

    def _is_satisfied(self, package: Package) -> bool:
        pin = self._pins.get(package)
        if pin is None or package in self._undone:
            return False
        return self._provider.is_admitted(pin, self._criteria[package].demand)

    # --- what comes next

    def _settle(self) -> None:
        """Bring what is undecided up to date."""
        for package in self._changed:
            criterion = self._criteria.get(package)
            if criterion is None or criterion.rows is None or self._is_satisfied(package):
                self._open.discard(package)
            else:
                self._open.add(package)
                heappush(self._heap, (self._preference(package), package))
        self._changed.clear()

    def _preference(self, package: Package) -> tuple[Any, ...]:
        return self._provider.preference(package, self._criteria[package].demand)

    def _next(self) -> Package | None:
        """The undecided package to decide now: of the last conflict, else of all; None where nothing is undecided."""
        self._settle()
        causes = self._states[-1].causes & self._open
        if causes:
            return min(causes, key=self._preference)
        while self._heap:
            preference, package = self._heap[0]
            if package in self._open and preference == self._preference(package):
                return package
            heappop(self._heap)  # what changed since was put in anew
        return None

    def _asked(self, package: Package) -> Demand | None:
        criterion = self._criteria.get(package)
        return None if criterion is None or criterion.rows is None else criterion.rows.demand

    # --- deciding

    def _pin(self, package: Package) -> list[_Criterion]:
        """Decide a package for the first candidate that leaves something of all it needs; else what was in the way."""
        causes: list[_Criterion] = []
        criterion = self._criteria[package]
        tried = 0
        in_vain: list[Candidate] = []
        for candidate in criterion.candidates:
            in_vain.append(candidate)
            clash = self._provider.passed_over(candidate)
            if clash is not None:
                causes += (self._criteria[one] for one in clash)
                continue
            if tried == _GIVE_WAY and self._put_ahead(package, candidate):
                return []
            if tried and self._tick is not None:
                self._tick(self.rounds, len(self._pins))  # to read one may take long
            tried += 1
            try:
                added = self._asks(self._provider.decide(candidate), candidate)
            except _Clash as clashed:
                causes.append(clashed.criterion)
                continue
            clash = self._provider.doomed(candidate)
            if clash is not None:
                causes += (added.get(one) or self._criteria[one] for one in clash)
                continue
            candidate, added = self._sooner(in_vain) or (candidate, added)
            if not self._provider.is_admitted(candidate, criterion.demand):
                raise DeadEnd
            if tried > LONG_RUN:
                self._provider.learn(package)
            self._tries += tried
            before = [one for one in added if one in self._pins and one not in self._open]
            self._apply(added)
            self._change(self._pins, package, candidate)
            if package in self._undone:
                self._change(self._undone, package, None)
            self._states[-1].last = package, candidate
            self._children.setdefault(package, set()).update(added)
            self._forget([one for one in before if not self._is_satisfied(one)], package)
            self._push()
            return []
        self._tries += tried
        self._provider.learn(package)
        base = self._criteria.get(package.base) if package.extra else None
        if causes and base is not None and criterion.demand.mask & ~base.demand.mask:
            causes.append(base)  # what is asked of its project left releases of the extra out
        return causes

    def _sooner(self, candidates: Sequence[Candidate]) -> tuple[Candidate, dict[Package, _Criterion]] | None:
        """A better choice than the last of these candidates, with what it asks for; None where there is none.

        It is an earlier one that clashes only with what decisions ask for which both of them take back.
        """
        back = self._provider.taken_back(candidates[-1])
        for candidate in candidates[:-1] if back else ():
            same = back & self._provider.taken_back(candidate)
            if same:
                with suppress(_Clash):
                    return candidate, self._asks(self._provider.dependencies(candidate), candidate, same)
        return None

    def _put_ahead(self, package: Package, candidate: Candidate) -> bool:
        """Decide a package before the one that leaves it no room, if that is likely to spare a long run of releases.

        Where it is not, all is as it was.
        """
        clash = self._provider.in_the_way(candidate)
        if clash is None:
            return False
        left: list[_State] = []
        while len(self._states) >= 2 and self._provider.still_met(clash):
            left.append(self._leave())
        decided = left[-1].last if left else None
        if decided and package in self._criteria and self._provider.gives_way(decided[0], package, clash):
            self._push()
            self._states[-1].causes = frozenset((package,))
            return True
        for state in reversed(left):
            self._enter(state)
        return False

    def _asks(
        self, edges: Iterable[Edge], parent: Candidate | None, back: Collection[Package] = ()
    ) -> dict[Package, _Criterion]:
        """What is asked of packages with these edges, too. Raises _Clash where that leaves nothing of one.

        What is asked by packages that go `back` leaves nothing out: it is forgotten once the parent is decided.
        """
        added: dict[Package, _Criterion] = {}
        for edge in edges:
            self._ask(added, edge, parent, back)
        return added

    def _ask(
        self, added: dict[Package, _Criterion], edge: Edge, parent: Candidate | None, back: Collection[Package]
    ) -> None:
        package = edge.package
        known = added.get(package) or self._criteria.get(package)
        before = known.rows if known else None
        banned = known.banned if known else ()
        own = self._provider.demand(edge)
        rows = _Rows(edge, parent, own if before is None else before.demand & own, before)
        criterion = _Criterion(self._provider.matches(package, rows.demand, banned), rows, banned)
        pin = self._pins.get(package)
        taken_back = pin is not None and not self._provider.is_admitted(pin, own)
        by_itself = taken_back and parent is not None and not self._stands(parent.package, without=package)
        if by_itself or not (criterion.candidates or (back and self._leaves_without(back, package, criterion))):
            raise _Clash(criterion)
        added[package] = criterion

    def _leaves_without(self, parents: Collection[Package], package: Package, criterion: _Criterion) -> bool:
        """Whether something is left of a package where what these parents ask of it does not count."""
        rest = self._again([row for row in criterion.each() if row.parent is None or row.parent.package not in parents])
        demand = ANYTHING if rest is None else rest.demand
        return bool(self._provider.matches(package, demand, criterion.banned))

    def _stands(self, package: Package, without: Package) -> bool:
        """Whether a package would be asked for if another one had not been decided.

        What a decision led to must not take it back, or it stays, and what it asks for, though nothing needs it.
        """
        seen = {package, without}
        waiting = [package]
        while waiting:
            for row in self._criteria[waiting.pop()].each():
                if row.parent is None:
                    return True
                if row.parent.package not in seen:
                    seen.add(row.parent.package)
                    waiting.append(row.parent.package)
        return False

    def _forget(self, parents: Iterable[Package], by: Package) -> None:
        """What packages asked for that are to be decided again does not count any more.

        Nor does what was decided by it count: what nothing else asks for is not decided any more, and where another
        candidate comes first now, the package is decided again. The package `by` which that came about stays.
        """
        waiting = list(parents)
        while waiting:
            parent = waiting.pop()
            self._change(self._undone, parent, True)
            fewer = [one for one in sorted(self._children.get(parent, ())) if self._ask_no_more(one, parent)]
            waiting += [one for one in fewer if one != by and not self._is_still_first(one)]

    def _ask_no_more(self, package: Package, parent: Package) -> bool:
        """Take out what a parent asks of a package; False where that is nothing."""
        criterion = self._criteria.get(package)
        if criterion is None:
            return False
        rows = list(criterion.each())
        kept = [row for row in rows if row.parent is None or row.parent.package != parent]
        if len(kept) == len(rows):
            return False
        again = self._again(kept)
        demand = ANYTHING if again is None else again.demand
        candidates = self._provider.matches(package, demand, criterion.banned)
        self._change(self._criteria, package, _Criterion(candidates, again, criterion.banned))
        return True

    def _is_still_first(self, package: Package) -> bool:
        """Whether a package would be decided as it is, if it is."""
        pin = self._pins.get(package)
        if pin is None or package in self._undone:
            return True
        criterion = self._criteria[package]
        return criterion.rows is not None and next(iter(criterion.candidates), None) == pin

    def _again(self, rows: Sequence[_Rows]) -> _Rows | None:
        """Rows, the latest first, without those that stood between them."""
        found: _Rows | None = None
        for row in reversed(rows):
            own = self._provider.demand(row.edge)
            found = _Rows(row.edge, row.parent, own if found is None else found.demand & own, found)
        return found

    # --- going back

    def _patient(self, number: int) -> bool:
        """Whether optimistic jumps may go on; where not, what was saved before them is brought back."""
        if self._saved is None or not self._optimistic:
            return True
        if not self._since:
            self._since = number
            self._patience = int((self._limit() - number) * _OPTIMISTIC)
        if number - self._since < self._patience:
            return True
        self._bring_back()
        return False

    def _bring_back(self) -> None:
        """Take up what was there before the first optimistic jump; none comes any more.

        In a new state, which resolvelib does not begin: the next jump would drop the last decision untried.
        """
        self._optimistic = False
        saved, self._saved = self._saved or [], None
        same = 0
        while same < min(len(saved), len(self._states)) and saved[same] is self._states[same]:
            same += 1
        while len(self._states) > same:
            self._leave()
        for state in saved[same:]:
            self._enter(state)
        self._push()

    def _resolve(self, criteria: Sequence[_Criterion]) -> None:
        """After a conflict: go back to where it may be avoided. Raises DeadEnd."""
        packages: set[Package] = set()
        seen: set[int] = set()
        for criterion in criteria:
            for row in criterion.each():
                if id(row) in seen:
                    break  # and so were those before it
                seen.add(id(row))
                packages.add(row.edge.package)
                if row.parent is not None:
                    packages.add(row.parent.package)
        self._provider.blame(packages)
        self._changed.update(package for package in packages if package in self._open)
        try:
            found = self._jump(packages)
        except DeadEnd:
            if not (self._optimistic and self._saved):
                raise
            found = False
        if not found and self._optimistic and self._saved:
            self._bring_back()
            return
        self._states[-1].causes = frozenset(packages)
        if not found:
            raise DeadEnd

    def _skip(self) -> None:
        """Leave the states without which what was learned clashes all the same."""
        while len(self._states) >= 3:
            last, before = self._leave(), self._leave()
            clashes = self._provider.still_clashes()
            self._enter(before)
            if not clashes:
                self._enter(last)
                return

    def _jump(self, packages: Collection[Package]) -> bool:
        """Leave states up to one that may have caused the conflict, and remember what was tried there in vain."""
        self._skip()
        while len(self._states) >= 3:
            self._leave()
            while True:
                if self._states[-1].last is None:
                    raise DeadEnd
                banned = [(one, self._criteria[one].banned) for one in self._banned if one in self._criteria]
                package, candidate = self._states[-1].last
                last_but_one = len(self._pins) == 1
                self._leave()
                if not self._optimistic and package not in packages:
                    break
                if self._optimistic and self._saved is None and package not in packages:
                    self._saved = list(self._states)
                needed = {edge.package for edge in self._provider.dependencies(candidate)}
                if not needed.isdisjoint(packages) or last_but_one:
                    break
                if len(self._states) <= 1:
                    raise DeadEnd
            self._push()
            self._banned[package] = None
            if self._ban([*banned, (package, (candidate,))]):
                return True
        return False

    def _ban(self, rows: Iterable[tuple[Package, Sequence[Candidate]]]) -> bool:
        """Leave candidates out from here on; False where nothing is left of a package."""
        for package, more in rows:
            criterion = self._criteria.get(package)
            if not more or criterion is None:
                continue
            banned = tuple(dict.fromkeys((*more, *criterion.banned)))
            candidates = self._provider.matches(package, criterion.demand, banned)
            if not candidates:
                return False
            self._change(self._criteria, package, _Criterion(candidates, criterion.rows, banned))
        return True
