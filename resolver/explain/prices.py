"""What a change costs: fewest and smallest first, and what goes against a fact last."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import islice
from typing import TypeGuard

from packaging.requirements import InvalidRequirement

from resolver.model import text
from resolver.model.explanation import Change, ChangeKind, Fix
from resolver.model.fact import Builds, Excludes, Metadata, Names, Requires, Strength
from resolver.model.problem import Problem
from resolver.model.requirement import Requirement
from resolver.model.statement import Lack, Source
from resolver.solve.clauses import Clauses
from resolver.solve.ground import Component, Ground, Lacking, Line, Said, Taken

UNSURE = 100  # for a release of which a warning says that it fails, or may on this target
UNLISTED = 250  # for one that the tables of its project leave out: what it fails on nobody wrote down
RENAME = 50  # of a project that no index has to one of a similar name
NOTE = 10  # a fact that repeats what an archive itself notes: nothing of the wish is lost, however many they are
ADD = 120  # a fact that is there, but that the stack leaves out
SPLIT = 700  # two environments: dearer than two other versions with all that may be said against them
LATER = -10  # for a later cut-off in place of none
OVERRIDE = 900
_VERSION = 100
EXTRA = 130  # of a line, that it goes without or that its release does not have
_CUTOFF = 170
_PRERELEASES = 180
_DROP = 600  # when looking: sooner than what goes against vendors, or those would end the search
_LOST = 400  # more when ways out are told: without a line the stack is another one
_MACHINE = 2000  # more where it is for other hardware: whatever works on the machine comes first
_WARNED = 100  # more for an environment that is warned of: by the machine, or by what is not in it
_OTHER_KERNELS = 500  # the same about the SoC: it will not work there
_COMPONENT = {"cann": 140, "hdk": 150, "python": 160, "glibc": 165, "soc": 800}  # the last is another machine
_RELAX = {Strength.OBSERVED: 500, Strength.DOCUMENTED: 600, Strength.VENDOR: 700}


class Prices:
    """What it costs to change the grounds of one problem. `own_cutoff`: its stack has one, which can be changed."""

    def __init__(self, clauses: Clauses, problem: Problem, *, own_cutoff: bool) -> None:
        self._clauses = clauses
        self._asks = problem.stack.asks
        self._facts = {fact.id: fact for fact in problem.facts}
        self._own_cutoff = own_cutoff
        self._together: dict[Hashable, list[Ground]] = {}  # the first so many known grounds, by what they change with
        self._indexed = 0
        self._places = {ask.origin: at for at, ask in reversed(list(enumerate(problem.stack.asks)))}

    def of(self, ground: Ground) -> int | None:
        """What changing a ground costs; None where the user cannot change it."""
        match ground:
            case Line(origin, aspect) if origin in self._places:
                return self._of_line(self._places[origin], aspect)
            case Component():
                return _COMPONENT.get(ground.name)
            case Said() if ground.source is Source.METADATA:
                return OVERRIDE
            case Said() | Taken() if ground.fact in self._facts:
                fact = self._facts[ground.fact]
                if isinstance(fact, (Builds, Metadata)):
                    return OVERRIDE  # what the archive itself says of its requirements, or is said to
                return _RELAX.get(fact.strength) if isinstance(fact, (Requires, Excludes, Names)) else None
            case Lacking() if ground.lack is Lack.CUTOFF and self._own_cutoff:
                return _CUTOFF
            case Lacking() if ground.lack in (Lack.PRERELEASE, Lack.NEEDLESS):
                return _PRERELEASES
            case _:
                return None

    def _of_line(self, place: int, aspect: str) -> int | None:
        later = len(self._asks) - place  # of two equal changes the later line's is cheaper
        if aspect == "version":
            # a line about a component: the component itself may change
            return later + _VERSION if isinstance(self._asks[place].need, Requirement) else None
        if aspect:
            return later + EXTRA
        return later + _DROP if len(self._asks) > 1 else None

    def keeps_a_line(self, wanted: Sequence[Ground]) -> bool:
        """Whether a set of changes leaves anything to lock."""
        return sum(map(drops, wanted)) < len(self._places)

    def same(self, ground: Ground) -> list[Ground]:
        """The grounds that change together with one: a `replaces` fact takes out all that is said of a project."""
        for one in islice(self._clauses.known, self._indexed, None):
            self._together.setdefault(self._key(one), []).append(one)
        self._indexed = len(self._clauses.known)
        return self._together.get(self._key(ground), [ground])

    def _key(self, ground: Ground) -> Hashable:
        """What grounds that change together have in common."""
        if isinstance(ground, Lacking) and ground.lack is Lack.CUTOFF:
            return Lack.CUTOFF
        if self.is_override(ground):
            return "override", ground.package.name, text.requirement(ground.text).name
        return ground

    def is_override(self, ground: Ground) -> TypeGuard[Said]:
        """Whether a ground changes by a fact that replaces what upstream says."""
        return isinstance(ground, Said) and self.of(ground) == OVERRIDE


def cost(fix: Fix) -> int:
    """What a way out costs when it is told: its changes' price, what is lost, and what may not work on the machine."""
    price = fix.price
    gone = [name for where in fix.environments for name in where.gone]
    lost = sum(_LOST for change in fix.changes if change.kind is ChangeKind.DROP)
    lost += sum(_LOST for change in fix.changes if any(name in gone for name in no_longer_needed(change)))
    lost += sum(EXTRA for name in gone if "[" in name)
    lost += sum(_MACHINE for change in fix.changes if (change.kind, change.subject) == (ChangeKind.COMPONENT, "soc"))
    warnings = [fact for where in fix.environments for fact in where.warnings]
    if any("soc" in fact.components for fact in warnings):
        return price + lost + _OTHER_KERNELS
    return price + lost + (_WARNED if any(fact.unless for fact in warnings) else 0)


def saved(change: Change) -> int:
    """What is saved where a line, or a component, does not change so."""
    match change.kind:
        case ChangeKind.COMPONENT:
            return _COMPONENT.get(change.subject, 0)
        case ChangeKind.VERSION:
            return _VERSION
        case ChangeKind.EXTRA:
            return EXTRA
        case _:
            return 0


def spares(changes: Sequence[Change], others: Sequence[Change]) -> bool:
    """Whether others, of another way out, change something of the wish, and all of it that these do."""
    changed = _of_wish(others)
    return bool(changed) and _of_wish(changes) <= changed


def _of_wish(changes: Sequence[Change]) -> set[tuple[str, str, bool]]:
    """The lines, components and policies that change, and which of them go; what facts say is nobody's wish."""
    said = (ChangeKind.ADD, ChangeKind.STATE, ChangeKind.RELAX)
    wishes = [change for change in changes if change.kind not in said]
    gone = {(change.subject, change.target, True) for change in wishes if change.kind is ChangeKind.DROP}
    return gone | {(change.subject, change.target, False) for change in wishes}


def no_longer_needed(change: Change) -> list[str]:
    """The projects that a change takes out of what another one needs."""
    if change.kind not in (ChangeKind.RELAX, ChangeKind.ADD):
        return []
    return [name for need in change.before.split(", ") if (name := named(need))]


def named(need: str) -> str:
    """The project that a requirement is about; empty where it is about a component, or none."""
    try:
        return text.requirement(need).name
    except InvalidRequirement:
        return ""


def risky(ground: Ground) -> bool:
    """Whether changing a ground goes against a fact, or against what upstream says of its package."""
    return isinstance(ground, (Said, Taken))


def drops(ground: Ground) -> bool:
    """Whether changing a ground leaves its line out."""
    return isinstance(ground, Line) and not ground.aspect
