"""Applying a set of changes to the stack's file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date

import msgspec
from msgspec.structs import replace
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.explain.alternatives import Alternatives
from resolver.explain.costs import EXTRA, LATER, PRACTICE, RENAME, UNLISTED_LAST, Costs, aged, drops
from resolver.explain.edit import StackText, as_list
from resolver.explain.trial import Trials
from resolver.model import text
from resolver.model.dependency import Candidate, Package, SameRelease
from resolver.model.explanation import Change, ChangeKind
from resolver.model.fact import Fact
from resolver.model.problem import Problem
from resolver.model.release import Release
from resolver.model.requirement import Requirement
from resolver.model.resolution import Lack
from resolver.resolve.clauses import Clauses
from resolver.resolve.core_statements import cutoff_text
from resolver.resolve.grounded import Component, Ground, Lacking, Line, Said, Taken

CUTOFF = "exclude-newer"


class Changed(msgspec.Struct, frozen=True):
    """A changed stack: what changed, its text, the price, and whether it goes against a fact.

    `surcharge` is added to the price when ways out are listed, and plays no part in the search.
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
    def practices(self) -> list[str]:
        """The practices that are turned on."""
        return [name for one in self.changes if one.kind is ChangeKind.PRACTICE for name in one.subject.split(", ")]

    def without_practices(self, idle: Collection[str]) -> Changed:
        """The same without some of the practices that are turned on."""
        kept = [name for name in self.practices if name not in idle]
        changes = [one for one in self.changes if one.kind is not ChangeKind.PRACTICE]
        where = next(one.where for one in self.changes if one.kind is ChangeKind.PRACTICE)
        own = [practices_on(kept, where)] if kept else []
        text = StackText(self.text).without_practices(idle).text
        return replace(self, changes=(*own, *changes), text=text, price=self.price - PRACTICE * len(idle))

    def until(self, day: date, text: str) -> Changed:
        """The same with a later cut-off instead of none; `text` has it."""
        later = tuple(replace(one, after=f"{CUTOFF} = {day}") if one is self.lifted else one for one in self.changes)
        return Changed(later, text, self.price + LATER, self.risky, self.surcharge)

    def then(self, other: Changed) -> Changed:
        """These changes followed by those of the changed stack. A line that changes twice is reported once."""
        first = {change.after: change for change in self.changes if change.kind is ChangeKind.VERSION}
        further = [
            replace(one, before=own.before, steps=own.steps + one.steps, years=own.years + one.years)
            if (own := first.pop(one.before, None)) is not None
            else one
            for one in other.changes
        ]
        kept = [change for change in self.changes if change.kind is not ChangeKind.VERSION or change.after in first]
        if self.practices and other.practices:  # told as one change
            (own,) = (change for change in kept if change.kind is ChangeKind.PRACTICE)
            kept[kept.index(own)] = practices_on([*self.practices, *other.practices], own.where)
            further = [change for change in further if change.kind is not ChangeKind.PRACTICE]
        surcharge = self.surcharge + other.surcharge
        return Changed((*kept, *further), other.text, self.price + other.price, self.risky or other.risky, surcharge)


def practices_on(names: Sequence[str], where: str) -> Change:
    """The one change that turns practices on; `where` is file:line of the stack's table."""
    names = sorted(dict.fromkeys(names))
    return Change(ChangeKind.PRACTICE, ", ".join(names), after=f"practices = {as_list(names)}", where=where)


class Changes:
    """The changes that grounds of one problem stand for."""

    def __init__(self, clauses: Clauses, trials: Trials, prices: Costs, offers: Alternatives) -> None:
        self._clauses = clauses
        self._trials = trials
        self._prices = prices
        self._offers = offers
        self._problem = trials.problem
        self._facts = {fact.id: fact for fact in self._problem.facts}
        self._places: dict[object, list[int]] = {}
        for at, ask in enumerate(self._problem.stack.asks):
            self._places.setdefault(ask.origin, []).append(at)  # the same line may occur twice

    def apply(self, wanted: Sequence[Ground], choice: Mapping[Ground, Candidate]) -> Changed:
        """The stack with these changes."""
        stack, changes = self._lines([ground for ground in wanted if isinstance(ground, Line)], choice)
        for ground in wanted:
            match ground:
                case Component():
                    change, stack = self.component(stack, ground.name, str(choice[ground].chosen))
                case Said() if self._prices.is_override(ground):
                    change, stack = self._override(stack, ground)
                case Said() | Taken():
                    change, stack = self._relax(stack, ground)
                case Lacking() if ground.lack in (Lack.PRERELEASE, Lack.NEEDLESS):
                    change, stack = self._prereleases(stack, ground)
                case Lacking():
                    change, stack = self._no_cutoff(stack)
                case _:
                    continue
            changes.append(change)
        stack = stack.apart(self._trials.at, self._trials.others)
        price = sum(self._prices.of(ground) or 0 for ground in wanted)
        price += self._offers.doubt(choice)
        price += EXTRA * sum(len(self._lost(ground, choice)) for ground in wanted)
        risky = any(change.kind in (ChangeKind.RELAX, ChangeKind.ADD) for change in changes)
        surcharge = sum(map(aged, changes)) + UNLISTED_LAST * self._offers.count_unlisted(choice)
        return Changed(tuple(changes), stack.text, price, risky, surcharge)

    def renamed(self, names: Mapping[str, str]) -> Changed:
        """The stack with projects in its lines renamed."""
        stack, changes, price = StackText(self._trials.text), [], 0
        for at, ask in enumerate(self._problem.stack.asks):
            if isinstance(ask.need, Requirement) and ask.need.name in names:
                need = replace(ask.need, name=text.name(names[ask.need.name]))
                change = Change(ChangeKind.VERSION, need.name, ask.origin.text, str(need), where=ask.origin.where)
                stack = stack.with_line(at, change.after)
                changes.append(change)
                price += RENAME
        return Changed(tuple(changes), stack.text, price, risky=False)

    def _lines(self, wanted: Sequence[Line], choice: Mapping[Ground, Candidate]) -> tuple[StackText, list[Change]]:
        """The changes of lines, in the order of the file."""
        stack, changes = StackText(self._trials.text), []
        lines: dict[object, list[Line]] = {}
        for ground in wanted:
            lines.setdefault(ground.origin, []).append(ground)
        gone: list[int] = []
        for origin, grounds in sorted(lines.items(), key=lambda row: self._places[row[0]]):
            places = self._places[origin]
            dropped = any(map(drops, grounds))
            change = self._drop(places[0]) if dropped else self._line(places[0], grounds, choice)
            changes.append(change)
            if dropped:
                gone += places
            else:
                for at in places:
                    stack = stack.with_line(at, change.after)
        return stack.without_lines(gone), changes

    def _drop(self, at: int) -> Change:
        ask = self._problem.stack.asks[at]
        name = ask.need.name if isinstance(ask.need, Requirement) else ask.need.component
        return Change(ChangeKind.DROP, name, ask.origin.text, where=ask.origin.where)

    def _line(self, at: int, grounds: Sequence[Line], choice: Mapping[Ground, Candidate]) -> Change:
        ask = self._problem.stack.asks[at]
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
                steps = self._offers.steps(ground.origin, choice[ground])
                years = self._offers.years(ground.origin, choice[ground])
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

    def component(self, stack: StackText, name: str, after: str) -> tuple[Change, StackText]:
        """A change of a component that the target states."""
        target = self._problem.target
        where = target.places.get(name, self._problem.stack.where)
        change = Change(ChangeKind.COMPONENT, name, str(target.system[name]), after, where=where)
        return change, stack.with_component(self._trials.at, name, after)

    def _prereleases(self, stack: StackText, ground: Lacking) -> tuple[Change, StackText]:
        after = f'prereleases-of.{ground.project} = "allow"'
        change = Change(ChangeKind.POLICY, ground.project, after=after, where=self._problem.stack.where)
        return change, stack.with_prereleases(ground.project)

    def _no_cutoff(self, stack: StackText) -> tuple[Change, StackText]:
        document = self._trials.inputs.stack
        before = f"{CUTOFF} = {cutoff_text(document.content.policy.exclude_newer).replace('T', ' ')}"
        change = Change(ChangeKind.POLICY, CUTOFF, before, where=document.line("policy", CUTOFF))
        return change, stack.without_cutoff()

    def _relax(self, stack: StackText, ground: Said | Taken) -> tuple[Change, StackText]:
        fact: Fact = self._facts[ground.fact]
        row: dict[str, object] = {"fact": fact.id}
        if isinstance(ground, Said):
            row["needs"] = [ground.text]
        row["reason"] = "To be confirmed: say why this fact does not hold here."
        need = ground.text if isinstance(ground, Said) else ""
        return Change(ChangeKind.RELAX, fact.id, need, where=fact.where), stack.with_table("relax", row)

    def _asked(self, stack: StackText) -> Iterator[Requirement]:
        """The lines that apply to the target."""
        markers = self._problem.target.markers
        return (line for line in stack.requirements() if line.marker is None or line.marker.evaluate(markers))

    def _override(self, stack: StackText, ground: Said) -> tuple[Change, StackText]:
        """A `replaces` fact that removes a requirement from upstream metadata, for the releases now required."""
        need = text.requirement(ground.text)
        asked = [line.specifier for line in self._asked(stack) if line.name == ground.package.name]
        asking: dict[Version, set[str]] = {}
        for other in self._prices.same(ground):
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
        change = Change(ChangeKind.ADD, str(ground.package), said)
        return proposed(self._problem, stack, change, "replaces", row)


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
    longer = stack.with_table(f"fact.{kind}", {**row, "strength": "observed", "source": source, "checked": day})
    return replace(change, after=longer.text[len(stack.text.rstrip()) :].strip()), longer
