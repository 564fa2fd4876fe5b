"""The search: resolvelib's algorithm plus five rules, at a cost that grows with what changes in a round.

resolvelib copies and rescans everything it knows in each round. With two hundred projects nobody notices; with three
thousand it takes a minute and a gigabyte. Here there is a single picture of what is known, with a trail by which states
are undone, and a heap of undecided packages. Which decisions are made, in which order, and where the search goes back
to after a conflict is as in resolvelib (tests/property/test_search_laws.py compares the two). The additional rules:

1. A decision is not taken back by its own consequences. In resolvelib it is, and what took it back stays and keeps its
   requirements, though nothing needs it any more; so releases are given up for older ones, or for pre-releases.
2. Conflicts are learned (`clashes`). A candidate that would cause a known clash again is skipped, and decisions without
   which the clash persists are undone at once on the way back.
3. If a long run of releases seems to be in vain, the package in its way may have to wait. This never skips a release.
4. When a decision is taken back, so is what was decided because of it. Otherwise a release would stay excluded by a
   requirement that no longer exists, be it of its own project or of another one that it needs.
5. The requirements of a decision that will be taken back anyway exclude no release. Otherwise the newest torch-npu
   requires a torch that leaves only an old vllm-ascend, which then takes that very torch-npu back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from heapq import heappop, heappush
from itertools import islice
from typing import Any, NamedTuple

from resolver.model.candidate import Candidate
from resolver.model.edge import Edge
from resolver.model.package import Package
from resolver.solve.demand import ANYTHING, Demand
from resolver.solve.provider import Matches, Provider

ROUNDS = 1_000  # four times what a stack of 200 projects takes
_ROUNDS_EACH = 5  # per package, if that is more
_GIVE_WAY = 40  # releases tried in vain, after which another order may be better
LONG_RUN = 8  # releases tried in vain before one that fits, after which the reason is learned
_TRIES_EACH = 20  # candidates tried per round on average, as long runs of clashing releases take
_OPTIMISTIC = 0.1  # share of the rounds that may be spent on jumps that may skip solutions

Tick = Callable[[int, int], None]


class DeadEnd(Exception):
    """The search found nothing, which proves nothing."""


class _Clash(Exception):
    """Nothing is left of a package."""

    def __init__(self, criterion: _Criterion) -> None:
        super().__init__()
        self.criterion = criterion


class _Rows(NamedTuple):
    """What requires a package: an edge, its parent (None for the stack), and the rows before it.

    `demand` combines the demands of all of them.
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
    """The requirements on a package, the candidates they leave, and those that were tried in vain."""

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
    """What changed since the previous state: the last pin, and each change with its old value."""

    __slots__ = ("causes", "changes", "last")

    def __init__(self, causes: frozenset[Package]) -> None:
        self.last: tuple[Package, Candidate] | None = None
        self.changes: list[tuple[dict[Package, Any], Package, Any, Any]] = []
        self.causes = causes  # the packages of the last conflict


class Search:
    """One search, of at most `most` rounds unless there are many packages. `rounds` counts those done."""

    def __init__(self, provider: Provider, tick: Tick | None = None, *, most: int = ROUNDS) -> None:
        self._provider = provider
        provider.asked = self._asked
        self._tick = tick
        self._most = most
        self._criteria: dict[Package, _Criterion] = {}
        self._pins: dict[Package, Candidate] = {}
        self._undone: dict[Package, bool] = {}  # packages whose pin no longer counts
        provider.pinned = self._pins.get
        self._states: list[_State] = []
        self._children: dict[Package, set[Package]] = {}  # the packages that a package ever required
        self._kept_out: dict[Package, set[Package]] = {}  # the packages of which it ever kept a release out
        self._banned: dict[Package, None] = {}  # packages with any candidate ever tried in vain
        self._open: set[Package] = set()
        self._changed: set[Package] = set()
        self._heap: list[tuple[tuple[Any, ...], Package]] = []
        self._optimistic = True
        self._saved: list[_State] | None = None
        self._since = self._patience = 0  # the round in which jumps became optimistic, and for how many
        self._tries = 0
        self.rounds = 0

    def run(self, roots: Iterable[Edge]) -> Mapping[Package, Candidate]:
        """A choice for each required package. Raises DeadEnd."""
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
        """Change the picture, and record how to undo that."""
        self._states[-1].changes.append((table, package, table.get(package), new))
        self._put(table, package, new)

    def _put(self, table: dict[Package, Any], package: Package, value: Any) -> None:
        """Put a value into the picture; None removes the one that is there."""
        if value is None:
            del table[package]
        else:
            table[package] = value
        self._changed.add(package)

    def _leave(self) -> _State:
        """Drop the last state and undo its changes."""
        state = self._states.pop()
        for table, package, old, _ in reversed(state.changes):
            self._put(table, package, old)
        return state

    def _enter(self, state: _State) -> None:
        """Redo the changes of a state that was left."""
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
        """Update the set of undecided packages."""
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
        """The package to decide now: one of the last conflict if possible; None if nothing is undecided."""
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
        """Decide a package for the first candidate whose needs all leave some choice.

        If there is none, the result is the criteria that were in the way; otherwise it is empty.
        """
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
            for other in _packages(causes) - {package}:
                self._kept_out.setdefault(other, set()).add(package)
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
        """Decide a package before the one that leaves it no room, if that is likely to avoid a long run of releases.

        If it is not, nothing changes. Whether it did so.
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
        """The criteria of packages with these edges added. Raises _Clash if that leaves nothing of one of them.

        Requirements of packages in `back` exclude nothing: they are withdrawn once the parent is decided.
        """
        added: dict[Package, _Criterion] = {}
        for edge in edges:
            self._ask(added, edge, parent, back)
        return added

    def _ask(
        self, added: dict[Package, _Criterion], edge: Edge, parent: Candidate | None, back: Collection[Package]
    ) -> None:
        """Add an edge's demand on its package. Raises _Clash if that leaves nothing."""
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
        """Whether a package would be required even if another one, `without`, had not been decided.

        If not, it must not take that decision back: it would stay, with its requirements, though nothing needs it.
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
        """Drop the requirements of packages that are to be decided again, and what was decided because of them.

        Packages that nothing else requires are dropped, and packages for which another candidate now comes first are
        decided again, except for the package `by` that caused this.
        """
        waiting = list(parents)
        let_in: set[Package] = set()
        while waiting:
            parent = waiting.pop()
            self._change(self._undone, parent, True)
            fewer = [one for one in sorted(self._children.get(parent, ())) if self._ask_no_more(one, parent)]
            waiting += [one for one in fewer if one != by and not self._is_still_first(one)]
            let_in |= self._kept_out.get(parent, set())
            if not waiting:
                waiting += islice((one for one in sorted(let_in - {by}) if self._is_let_in(one)), 1)

    def _ask_no_more(self, package: Package, parent: Package) -> bool:
        """Remove a parent's requirements on a package; False if there are none."""
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
        """Whether a package is undecided, or would be decided the same way again."""
        pin = self._pins.get(package)
        if pin is None or package in self._undone:
            return True
        criterion = self._criteria[package]
        return criterion.rows is not None and next(iter(criterion.candidates), None) == pin

    def _is_let_in(self, package: Package) -> bool:
        """Whether a package is decided, and one of the releases before its own, of the first few, fits by now."""
        pin = self._pins.get(package)
        criterion = self._criteria.get(package)
        if pin is None or package in self._undone or criterion is None or criterion.rows is None:
            return False
        for candidate in islice(criterion.candidates, LONG_RUN):
            if candidate == pin:
                break
            with suppress(_Clash):
                self._asks(self._provider.dependencies(candidate), candidate, (package,))
                return True
        return False

    def _again(self, rows: Sequence[_Rows]) -> _Rows | None:
        """Link the given rows, the latest first, without those that were between them."""
        found: _Rows | None = None
        for row in reversed(rows):
            own = self._provider.demand(row.edge)
            found = _Rows(row.edge, row.parent, own if found is None else found.demand & own, found)
        return found

    # --- going back

    def _patient(self, number: int) -> bool:
        """Whether optimistic jumps may go on; if not, the states saved before them are restored."""
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
        """Return to the states before the first optimistic jump, and make no more such jumps.

        This begins a new state, unlike in resolvelib, where the next jump drops the last decision untried.
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
        """Go back to where a conflict may be avoided. Raises DeadEnd."""
        packages = _packages(criteria)
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
        """Leave states that make no difference to the clash learned last."""
        while len(self._states) >= 3:
            last, before = self._leave(), self._leave()
            clashes = self._provider.still_clashes()
            self._enter(before)
            if not clashes:
                self._enter(last)
                return

    def _jump(self, packages: Collection[Package]) -> bool:
        """Go back to a state that may have caused the conflict, and ban the candidate that was tried there."""
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
        """Exclude candidates from here on; False if that leaves nothing of a package."""
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


def _packages(criteria: Iterable[_Criterion]) -> set[Package]:
    """The packages that these criteria are about, and those that require them."""
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
    return packages
