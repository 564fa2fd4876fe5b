"""Changed stacks: what a set of changes makes of the stack's file, and what came of locking it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from math import inf
from typing import TypeGuard

import msgspec
from msgspec.structs import replace
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.explain import costs
from resolver.explain.alternatives import Alternatives
from resolver.explain.edit import CUTOFF, StackText, as_list, table_text
from resolver.explain.trial import Trials, Undecided
from resolver.lock.build import applied
from resolver.model import text
from resolver.model.dependency import Candidate, NeedSource, Package, SameRelease
from resolver.model.explanation import Attempt, Change, ChangeKind, Contradiction, Outcome
from resolver.model.fact import Builds, Excludes, Metadata, Names, Requires
from resolver.model.problem import Ask, Problem
from resolver.model.release import Release
from resolver.model.requirement import Requirement
from resolver.model.resolution import Lack, Resolution, Statement
from resolver.resolve.clauses import Clauses
from resolver.resolve.core_statements import cutoff_text, tell
from resolver.resolve.grounded import Component, Ground, Lacking, Line, Said, Taken
from resolver.resolve.solver import Refutation

_FIXES = 6
_RISKY = 2  # fixes that go against a fact or metadata and spare some of the wish
_AGAINST = 3  # fixes that go against a fact or metadata


class Changed(msgspec.Struct, frozen=True):
    """A changed stack: what changed, its text, the price, and whether it goes against a fact.

    `surcharge` is added to the price of one that locks when ways out are listed, and plays no part in the search.
    """

    changes: tuple[Change, ...]
    text: str
    price: int
    risky: bool
    surcharge: int = 0

    @property
    def lifted(self) -> Change | None:
        """The change that removes the stack's cut-off, if it is among these."""
        return next((one for one in self.changes if one.subject == CUTOFF and not one.after), None)

    @property
    def reported(self) -> tuple[Change, ...]:
        """The changes as people are told: the practices that are turned on are one."""
        practices = [one for one in self.changes if one.kind is ChangeKind.PRACTICE]
        if not practices:
            return self.changes
        names = sorted(one.subject for one in practices)
        one = replace(practices[0], subject=", ".join(names), after=f"practices = {as_list(names)}")
        return (one, *(other for other in self.changes if other not in practices))

    def then(self, other: Changed) -> Changed:
        """These changes followed by those of the changed stack. What changes twice is reported, and costs, once."""
        changes, price = list(self.changes), self.price + other.price
        for change in other.changes:
            earlier = next((one for one in changes if _is_continued(one, change)), None)
            if earlier is None:
                changes.append(change)
                continue
            both = _joined(earlier, change)
            is_undone = both.before == both.after
            changes[changes.index(earlier)] = both
            if is_undone:
                changes.remove(both)
            price -= costs.saved(earlier) + costs.saved(change) * is_undone
        return Changed(tuple(changes), other.text, price, self.risky or other.risky)


def _is_continued(change: Change, later: Change) -> bool:
    """Whether a later change is one of the same line or of the same component."""
    if change.kind is later.kind is ChangeKind.COMPONENT:
        return (change.subject, change.target) == (later.subject, later.target)
    of_lines = {change.kind, later.kind} <= {ChangeKind.VERSION, ChangeKind.EXTRA}
    return of_lines and change.after == later.before


def _joined(change: Change, later: Change) -> Change:
    kind = later.kind if change.kind is ChangeKind.EXTRA else change.kind
    steps, years = change.steps + later.steps, change.years + later.years
    return replace(later, kind=kind, before=change.before, steps=steps, years=years)


class Found(msgspec.Struct):
    """The results of a search for fixes.

    `seen` says of every stack that was tried for a target whether it locks. `refused` are those that lock for one
    target, and not for another. `further` contradictions were found on the way. `useless` are stacks that lock, but
    something in them does not work without a line that was dropped.
    `report` is called with the first fix that goes against nothing.
    """

    report: Callable[[tuple[Change, ...]], None] | None = None
    fixes: list[tuple[Changed, Resolution]] = msgspec.field(default_factory=list)
    useless: list[tuple[Changed, Resolution]] = msgspec.field(default_factory=list)
    attempts: list[Attempt] = msgspec.field(default_factory=list)
    seen: dict[tuple[int, str], bool] = msgspec.field(default_factory=dict)
    refused: set[str] = msgspec.field(default_factory=set)
    further: list[tuple[Sequence[Ground], Contradiction]] = msgspec.field(default_factory=list)

    def add(self, changed: Changed, resolution: Resolution) -> None:
        """One more fix."""
        if self.report is not None and not changed.risky and not self.safe:
            self.report(changed.reported)
        self.fixes.append((changed, resolution))

    @property
    def safe(self) -> int:
        """How many fixes go against nothing."""
        return sum(not changed.risky for changed, _ in self.fixes)

    @property
    def cheapest(self) -> float:
        """The price of the cheapest fix that goes against nothing; infinite if there is none."""
        return min((changed.price for changed, _ in self.fixes if not changed.risky), default=inf)

    def is_enough(self) -> bool:
        """Whether there are so many fixes that no more are looked for."""
        rows = [changed for changed, _ in self.fixes]
        against = [one for one in rows if one.risky]
        sparing = [
            one
            for one in against
            if not any(costs.spares(other.changes, one.changes) for other in rows if other.price < one.price)
        ]
        return len(rows) >= _FIXES or len(against) >= _AGAINST or len(sparing) >= _RISKY

    def is_lesser(self, changed: Changed, resolution: Resolution) -> bool:
        """Whether a dropped line's project is installed all the same, and another fix only changes its version."""
        dropped = {name for name in _dropped(changed) if resolution.pin(name)}
        kept = {
            (ChangeKind.VERSION if change.subject in dropped else change.kind, change.subject, change.target)
            for change in changed.changes
        }
        return any(
            subjects(fix) <= kept and any((ChangeKind.VERSION, name, "") in subjects(fix) for name in dropped)
            for fix, _ in self.fixes
        )


def is_useless(changed: Changed, resolution: Resolution) -> bool:
    """Whether something does not work without a line that was dropped."""
    dropped = _dropped(changed)
    return any(costs.useless_without(dropped, applied(resolution))) if dropped else False


def subjects(changed: Changed) -> set[tuple[ChangeKind, str, str]]:
    """What changes, and for which other target."""
    return {(one.kind, one.subject, one.target) for one in changed.changes}


def _dropped(changed: Changed) -> set[str]:
    return {change.subject for change in changed.changes if change.kind is ChangeKind.DROP}


def attempt(changed: Changed, answer: Refutation | Undecided, target: str = "") -> Attempt:
    """Changes that gave no lock, for another `target` if there is one."""
    why, because = "", tuple[Statement, ...]()
    if isinstance(answer, Undecided):
        outcome, why = (Outcome.FAILED if answer.why else Outcome.UNDECIDED), answer.why
    elif target:
        outcome = Outcome.ELSEWHERE
    else:
        outcome, because = Outcome.CONFLICT, tuple(dict.fromkeys(tell(answer.engine.clauses, answer.core).values()))
    return Attempt(changes=changed.reported, outcome=outcome, because=because, why=why, target=target)


class Changes:
    """The changes that grounds of one problem stand for, and what they cost."""

    def __init__(self, clauses: Clauses, trials: Trials) -> None:
        self.alternatives = Alternatives(clauses, trials.clock.expired)
        self._clauses = clauses
        self._trials = trials
        self._has_cutoff = trials.inputs.stack.content.policy.exclude_newer is not None
        self._problem = trials.problem
        self._facts = {fact.id: fact for fact in self._problem.facts}
        self._places: dict[object, list[int]] = {}
        for at, ask in enumerate(self._problem.stack.asks):
            self._places.setdefault(ask.origin, []).append(at)  # the same line may occur twice

    def price(self, ground: Ground) -> int | None:
        """The price of changing a ground; None if the user cannot change it."""
        match ground:
            case Line(origin, aspect) if origin in self._places:
                return self._price_of_line(self._places[origin][0], aspect)
            case Component():
                return costs.COMPONENT.get(ground.name)
            case Said() if ground.source is NeedSource.METADATA:
                return costs.OVERRIDE
            case Said() | Taken() if ground.fact in self._facts:
                fact = self._facts[ground.fact]
                if isinstance(fact, (Builds, Metadata)):
                    return costs.OVERRIDE  # requirements stated by the archive, or for it
                return costs.RELAX.get(fact.strength) if isinstance(fact, (Requires, Excludes, Names)) else None
            case Lacking() if ground.lack is Lack.CUTOFF and self._has_cutoff:
                return costs.WITHOUT_CUTOFF
            case Lacking() if ground.lack in (Lack.PRERELEASE, Lack.NEEDLESS):
                return costs.PRERELEASES
            case _:
                return None

    def _price_of_line(self, place: int, aspect: str) -> int | None:
        later = len(self._problem.stack.asks) - place  # of two equal changes the later line's is cheaper
        if aspect == "version":
            # a line about a component: the component itself may change
            return later + costs.VERSION if isinstance(self._problem.stack.asks[place].need, Requirement) else None
        if aspect:
            return later + costs.EXTRA
        return later + costs.DROP if len(self._problem.stack.asks) > 1 else None

    def keeps_a_line(self, wanted: Sequence[Ground]) -> bool:
        """Whether a set of changes leaves anything to lock."""
        return sum(map(costs.drops, wanted)) < len(self._places)

    def same(self, ground: Ground) -> list[Ground]:
        """The grounds that change along with one: a `replaces` fact removes every requirement on a project."""
        known = self._clauses.known
        if isinstance(ground, Lacking) and ground.lack is Lack.CUTOFF:
            return [one for one in known if isinstance(one, Lacking) and one.lack is Lack.CUTOFF]
        if not self.is_override(ground):
            return [ground]
        package, needed = ground.package.name, text.requirement(ground.text).name
        alike = [one for one in known if isinstance(one, Said) and one.package.name == package]
        return [one for one in alike if self.is_override(one) and text.requirement(one.text).name == needed]

    def is_override(self, ground: Ground) -> TypeGuard[Said]:
        """Whether a ground is changed by a `replaces` fact."""
        return isinstance(ground, Said) and self.price(ground) == costs.OVERRIDE

    def apply(self, wanted: Sequence[Ground], choice: Mapping[Ground, Candidate]) -> Changed:
        """The stack with these changes."""
        document = self._trials.inputs.stack
        target = self._problem.target
        stack, changes = self._lines([ground for ground in wanted if isinstance(ground, Line)], choice)
        for ground in wanted:
            match ground:
                case Component(name):
                    before, after = str(target.system[name]), str(choice[ground].chosen)
                    where = target.places.get(name, self._problem.stack.where)
                    change = Change(ChangeKind.COMPONENT, name, before, after, where, target=self._trials.target)
                    stack = stack.with_component(self._trials.at, name, after)
                case Said() if self.is_override(ground):
                    change, stack = self._override(stack, ground)
                case Said() | Taken():
                    change, stack = self._relax(stack, ground)
                case Lacking(project, Lack.PRERELEASE | Lack.NEEDLESS):
                    after = f'prereleases-of.{project} = "allow"'
                    change = Change(ChangeKind.POLICY, project, after=after, where=self._problem.stack.where)
                    stack = stack.with_key(("policy", "prereleases-of", project), "allow")
                case Lacking():
                    own = f"{CUTOFF} = {cutoff_text(document.content.policy.exclude_newer).replace('T', ' ')}"
                    change = Change(ChangeKind.POLICY, CUTOFF, own, where=document.line("policy", CUTOFF))
                    stack = stack.without(("policy", CUTOFF))
                case _:
                    continue
            changes.append(change)
        stack = stack.apart(self._trials.at)
        price = sum(self.price(ground) or 0 for ground in wanted)
        price += self.alternatives.doubt(choice)
        price += costs.EXTRA * sum(len(self._lost(ground, choice)) for ground in wanted)
        risky = any(change.kind in (ChangeKind.RELAX, ChangeKind.ADD) for change in changes)
        return Changed(tuple(changes), stack.text, price, risky)

    def _lines(self, wanted: Sequence[Line], choice: Mapping[Ground, Candidate]) -> tuple[StackText, list[Change]]:
        """The changes of lines, in the order of the file."""
        stack, changes = StackText(self._trials.text), []
        lines: dict[object, list[Line]] = {}
        for ground in wanted:
            lines.setdefault(ground.origin, []).append(ground)
        gone: list[int] = []
        for origin, grounds in sorted(lines.items(), key=lambda row: self._places[row[0]]):
            places = self._places[origin]
            ask = self._problem.stack.asks[places[0]]
            if any(map(costs.drops, grounds)):
                name = ask.need.name if isinstance(ask.need, Requirement) else ask.need.component
                changes.append(Change(ChangeKind.DROP, name, ask.origin.text, where=ask.origin.where))
                gone += places
                continue
            change = self._line(ask, grounds, choice)
            changes.append(change)
            for at in places:
                stack = stack.with_line(at, change.after)
        return stack.without_lines(gone), changes

    def _line(self, ask: Ask, grounds: Sequence[Line], choice: Mapping[Ground, Candidate]) -> Change:
        need = ask.need
        assert isinstance(need, Requirement)  # noqa: S101  a line about a component is dropped or stays
        without = {ground.aspect.removeprefix("extra ") for ground in grounds}
        without |= {extra for ground in grounds for extra in self._lost(ground, choice)}
        extras = [extra for extra in need.extras if canonicalize_name(extra) not in without]
        specifier, steps, years, kind = str(need.specifier), 0, 0, ChangeKind.EXTRA
        for ground in grounds:
            if ground.aspect == "version":
                kind = ChangeKind.VERSION
                specifier = f"=={choice[ground].version}"
                steps, years = self.alternatives.distance(ground.origin, choice[ground])
        marker = f" ; {need.marker}" if need.marker else ""
        source = f" @ {need.url}" if need.url else specifier
        after = f"{need.name}{'[' + ','.join(extras) + ']' if extras else ''}{source}{marker}"
        return Change(kind, need.name, ask.origin.text, after, where=ask.origin.where, steps=steps, years=years)

    def _lost(self, ground: Ground, choice: Mapping[Ground, Candidate]) -> list[str]:
        """The extras of a line that its new release does not have, or that require nothing there."""
        if not isinstance(ground, Line) or ground.aspect != "version":
            return []
        need = self._problem.stack.asks[self._places[ground.origin][0]].need
        extras = need.extras if isinstance(need, Requirement) else ()
        return [extra for extra in map(canonicalize_name, extras) if self._is_lost(choice[ground], extra)]

    def _is_lost(self, candidate: Candidate, extra: str) -> bool:
        universe = self._clauses.universe
        if not universe.opened(candidate) or universe.provides(candidate, extra):
            return False  # unknown extras are kept: locking will tell
        assert isinstance(candidate.chosen, Release)  # noqa: S101  a line comes to a release
        own = universe.candidate(Package(candidate.package.name, extra), candidate.chosen.position)
        return own is None or all(isinstance(edge.origin, SameRelease) for edge in universe.edges(own))

    def _relax(self, stack: StackText, ground: Said | Taken) -> tuple[Change, StackText]:
        fact = self._facts[ground.fact]
        need = ground.text if isinstance(ground, Said) else ""
        row = {
            "fact": fact.id,
            **({"needs": [need]} if need else {}),
            "reason": "To be confirmed: say why this fact does not hold here.",
        }
        return Change(ChangeKind.RELAX, fact.id, need, where=fact.where), stack.with_table("relax", row)

    def _override(self, stack: StackText, ground: Said) -> tuple[Change, StackText]:
        """A `replaces` fact that removes a requirement from upstream metadata, for the releases now required."""
        need, markers = text.requirement(ground.text), self._problem.target.markers
        asked = [
            line.specifier
            for line in stack.requirements()
            if line.name == ground.package.name and (line.marker is None or line.marker.evaluate(markers))
        ]
        asking: dict[Version, set[str]] = {}
        for other in self.same(ground):
            for parent, _ in self._clauses.edges[other]:
                if parent is not None and isinstance(other, Said):
                    asking.setdefault(parent.version, set()).add(other.text)
        wished = [one for one in asking if all(line.contains(one, prereleases=True) for line in asked)]
        releases = sorted(wished or asking)
        said = ", ".join(sorted(set().union(*(asking[one] for one in releases))))
        row: dict[str, object] = {
            "package": ground.package.name,
            "versions": [f"=={version}" for version in releases] if len(releases) > 1 else f"=={releases[0]}",
            "drop": [need.name],
            "add": [] if ground.package.extra else [need.name],
            "reason": f"To be confirmed: this stack goes against upstream, which asks for {said}.",
        }
        return proposed(self._problem, stack, Change(ChangeKind.ADD, str(ground.package), said), "replaces", row)


def proposed(
    problem: Problem,
    stack: StackText,
    change: Change,
    kind: str,
    row: Mapping[str, object],
    source: str = "proposed by ascend-lock explain",
) -> tuple[Change, StackText]:
    """A stack with one more fact, for people to confirm, and the change with the fact's text.

    The day for it is that of the newest fact, since nothing here depends on today's date.
    """
    day = max((fact.checked for fact in problem.facts), default=date(2026, 1, 1))
    row = {**row, "strength": "observed", "source": source, "checked": day}
    return replace(change, after=table_text(f"fact.{kind}", row)), stack.with_table(f"fact.{kind}", row)
