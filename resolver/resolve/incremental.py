"""resolvelib's resolution, at a cost that grows with what changes in a round.

resolvelib looks at every requirement of every decided package twice a round (its issue 147), and copies all that it
knows into each state (its issue 7). With two hundred projects that is half of the time; with three thousand it is half
a minute and a gigabyte. This one remembers which decision met which requirements, and keeps of older states only what
differs. What is decided stays the same (tests/property/test_incremental_laws.py). It overrides what resolvelib calls
private, so the minor version of resolvelib is pinned.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice
from typing import NamedTuple, SupportsIndex, cast

from resolvelib.resolvers import Criterion, Resolution
from resolvelib.structs import RequirementInformation, State

from resolver.model.dependency import Candidate, Edge, Package
from resolver.resolve.provider import Provider, Reporter

_Criterion = Criterion[Edge, Candidate]
_State = State[Edge, Candidate, Package]


class IncrementalResolution(Resolution[Edge, Candidate, Package]):
    """A resolution that answers what it asked before from memory."""

    def __init__(self, provider: Provider, reporter: Reporter) -> None:
        super().__init__(provider, reporter)
        self._provider = provider
        self._met: dict[Package, tuple[_Criterion, Candidate | None, bool]] = {}

    def _is_current_pin_satisfying(self, name: Package, criterion: _Criterion) -> bool:
        """Criteria are never changed, only replaced: the same one and the same pin have the same answer."""
        pin = self._states[-1].mapping.get(name)
        known = self._met.get(name)
        if known is None or known[0] is not criterion or known[1] is not pin:
            met = pin is not None and self._provider.admits(criterion, pin)
            known = self._met[name] = criterion, pin, met
        return known[2]

    def _remove_information_from_criteria(
        self, criteria: dict[Package, _Criterion], parents: Collection[Package]
    ) -> None:
        """Criteria from which nothing is removed stay the same objects."""
        if parents:
            concerned = {name: criterion for name, criterion in criteria.items() if _comes_from(criterion, parents)}
            super()._remove_information_from_criteria(concerned, parents)
            criteria.update(concerned)

    def _push_new_state(self) -> None:
        if not isinstance(self._states, _States):
            # a dictionary is copied ten times as fast as an OrderedDict, and ordered, too
            self._states = _States([one._replace(mapping=dict(one.mapping)) for one in self._states])
        super()._push_new_state()

    def _save_state(self) -> None:
        if self._save_states is None:
            self._save_states = cast("_States", self._states).saved()


def _comes_from(criterion: _Criterion, parents: Collection[Package]) -> bool:
    return any(row.parent is not None and row.parent.package in parents for row in criterion.information)


class _Difference(NamedTuple):
    """How a state differs from the one after it."""

    pins: dict[Package, Candidate] | None  # None if the next state has the same, and perhaps one more
    more: int
    criteria: dict[Package, _Criterion]  # those that the next state has replaced
    added: int  # how many criteria the next state has at the end
    causes: list[RequirementInformation[Edge, Candidate]]

    @classmethod
    def between(cls, state: _State, following: _State) -> _Difference:
        """The difference of two neighbours: criteria are replaced or added, none is removed."""
        pins = zip(state.mapping.items(), following.mapping.items(), strict=False)
        more = len(following.mapping) - len(state.mapping)
        same = more >= 0 and all(one == other for one, other in pins)
        criteria = zip(state.criteria.items(), following.criteria.values(), strict=False)
        return cls(
            None if same else state.mapping,
            more,
            {name: one for (name, one), other in criteria if one is not other},
            len(following.criteria) - len(state.criteria),
            state.backtrack_causes,
        )

    def before(self, following: _State) -> _State:
        """The state, from the one after it. What it is made of is copied, as it will be changed."""
        same = len(following.mapping) - self.more
        pins = dict(islice(following.mapping.items(), same) if self.pins is None else self.pins)
        criteria = dict(islice(following.criteria.items(), len(following.criteria) - self.added))
        return State(pins, {**criteria, **self.criteria}, self.causes[:])


class _States(list[_State]):
    """States, the last two of them whole, the others in `older`; in their place is an empty one."""

    def __init__(self, states: Collection[_State]) -> None:
        super().__init__(states)
        self.older: list[_Difference] = []

    def append(self, state: _State) -> None:
        """Add a state; the one below the last is packed, as nothing changes it as long as it is not the last."""
        if len(self) >= 2:
            self.older.append(_Difference.between(self[-2], self[-1]))
            self[-2] = State({}, {}, [])
        super().append(state)

    def pop(self, index: SupportsIndex = -1) -> _State:
        """Remove the last state: resolvelib removes no other."""
        last = super().pop(index)
        if self.older:
            self[-2] = self.older.pop().before(self[-1])
        return last

    def __delitem__(self, index: SupportsIndex | slice) -> None:
        self.pop()

    def saved(self) -> _States:
        """The states as they are now."""
        copy = _States([State(one.mapping.copy(), one.criteria.copy(), one.backtrack_causes[:]) for one in self])
        copy.older = list(self.older)
        return copy
