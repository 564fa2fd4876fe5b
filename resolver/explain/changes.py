"""What a set of changes makes of a stack's file, and what the changes cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import TypeGuard

from msgspec.structs import replace
from packaging.version import Version

from resolver.explain import costs
from resolver.explain.alternatives import Alternatives
from resolver.explain.stack_text import StackText, subject, table_text
from resolver.explain.trial import CUTOFF, ChangedStack, Trials
from resolver.model import text as texts
from resolver.model.dependency import Candidate, NeedSource, Package, SameRelease
from resolver.model.explanation import Change, ChangeKind
from resolver.model.fact import Builds, Excludes, Metadata, Names, Requires
from resolver.model.problem import Problem, RootRequirement
from resolver.model.requirement import Requirement
from resolver.model.resolution import Lack
from resolver.model.source import Document
from resolver.resolve.clauses import Clauses
from resolver.resolve.core_statements import cutoff_text
from resolver.resolve.grounds import (
    ComponentGround,
    ExclusionGround,
    Ground,
    LackGround,
    LineGround,
    RequirementGround,
)


class Changes:
    """The changes that grounds of one problem stand for, and what they cost."""

    def __init__(self, clauses: Clauses, trials: Trials) -> None:
        self.alternatives = Alternatives(clauses, trials.clock.expired)
        self._clauses = clauses
        self._trials = trials
        self._has_cutoff = trials.inputs.stack.content.policy.exclude_newer is not None
        self._problem = trials.problem
        self._facts = {fact.id: fact for fact in self._problem.facts}
        self._places: dict[object, int] = {
            root.origin: at for at, root in enumerate(self._problem.stack.requirements)
        }

    def price(self, ground: Ground) -> int | None:
        """The price of changing a ground; None if the user cannot change it."""
        match ground:
            case LineGround(origin, aspect) if origin in self._places:
                return self._price_of_line(self._places[origin], aspect)
            case ComponentGround():
                return costs.COMPONENT.get(ground.name)
            case RequirementGround() if ground.source is NeedSource.METADATA:
                return costs.OVERRIDE
            case RequirementGround() | ExclusionGround() if ground.fact in self._facts:
                fact = self._facts[ground.fact]
                if isinstance(fact, (Builds, Metadata)):
                    return costs.OVERRIDE  # requirements stated by the archive, or for it
                return (
                    costs.RELAX.get(fact.strength)
                    if isinstance(fact, (Requires, Excludes, Names))
                    else None
                )
            case LackGround() if ground.lack is Lack.CUTOFF and self._has_cutoff:
                return costs.WITHOUT_CUTOFF
            case LackGround() if ground.lack in (Lack.PRERELEASE, Lack.NEEDLESS):
                return costs.PRERELEASES
            case _:
                return None

    def _price_of_line(self, place: int, aspect: str) -> int | None:
        requirements = self._problem.stack.requirements
        later = len(requirements) - place  # of two equal changes the later line's is cheaper
        if aspect == "version":  # of a line about a component, the component itself may change
            return (
                later + costs.VERSION if isinstance(requirements[place].need, Requirement) else None
            )
        if aspect:
            return later + costs.EXTRA
        return later + costs.DROP if len(requirements) > 1 else None

    def keeps_a_line(self, changing: Sequence[Ground]) -> bool:
        """Whether a set of changes leaves anything to lock."""
        return sum(map(costs.drops, changing)) < len(self._places)

    def changed_together(self, ground: Ground) -> list[Ground]:
        """The grounds that change along with one: a `replaces` fact removes every requirement on a project."""
        known = self._clauses.known
        if isinstance(ground, LackGround) and ground.lack is Lack.CUTOFF:
            return [
                same for same in known if isinstance(same, LackGround) and same.lack is Lack.CUTOFF
            ]
        if not self._is_override(ground):
            return [ground]
        package, needed = ground.package.name, texts.requirement(ground.text).name
        overrides = [
            other for other in filter(self._is_override, known) if other.package.name == package
        ]
        return [other for other in overrides if texts.requirement(other.text).name == needed]

    def _is_override(self, ground: Ground) -> TypeGuard[RequirementGround]:
        """Whether a ground is changed by a `replaces` fact."""
        return isinstance(ground, RequirementGround) and self.price(ground) == costs.OVERRIDE

    def apply(self, changing: Sequence[Ground], choice: Mapping[Ground, Candidate]) -> ChangedStack:
        """The stack with these changes."""
        document = self._trials.inputs.stack
        target = self._problem.target
        stack, changes = self._lines(
            [ground for ground in changing if isinstance(ground, LineGround)], choice
        )
        for ground in changing:
            match ground:
                case ComponentGround(name):
                    before, after = str(target.system[name]), str(choice[ground].chosen)
                    where = target.places.get(name, self._problem.stack.where)
                    change = Change(
                        ChangeKind.COMPONENT, name, before, after, where, target=self._trials.target
                    )
                    stack = stack.with_component(self._trials.current_target, name, after)
                case RequirementGround() if self._is_override(ground):
                    change, stack = self._override(stack, ground)
                case RequirementGround() | ExclusionGround():
                    change, stack = self._relax(stack, ground)
                case LackGround(project, Lack.PRERELEASE | Lack.NEEDLESS):
                    after = f'prereleases-of.{project} = "allow"'
                    change = Change(
                        ChangeKind.POLICY, project, after=after, where=self._problem.stack.where
                    )
                    stack = stack.with_key(("policy", "prereleases-of", project), "allow")
                case LackGround():
                    before = f"{CUTOFF} = {cutoff_text(document.content.policy.exclude_newer).replace('T', ' ')}"
                    change = Change(
                        ChangeKind.POLICY, CUTOFF, before, where=document.line("policy", CUTOFF)
                    )
                    stack = stack.without(("policy", CUTOFF))
                case _:
                    continue
            changes.append(change)
        stack = stack.apart(self._trials.current_target)
        price = sum(self.price(ground) or 0 for ground in changing)
        price += self.alternatives.doubt(choice)
        price += costs.EXTRA * sum(len(self._lost_extras(ground, choice)) for ground in changing)
        risky = any(change.kind in (ChangeKind.RELAX, ChangeKind.ADD) for change in changes)
        return ChangedStack(tuple(changes), stack.text, price, risky)

    def _lines(
        self, changing: Sequence[LineGround], choice: Mapping[Ground, Candidate]
    ) -> tuple[StackText, list[Change]]:
        stack, changes = StackText(self._trials.text), []
        dropped: list[int] = []
        for place, root in enumerate(self._problem.stack.requirements):
            grounds = [ground for ground in changing if ground.origin == root.origin]
            if any(map(costs.drops, grounds)):
                changes.append(
                    Change(
                        ChangeKind.DROP,
                        subject(root.need),
                        root.origin.text,
                        where=root.origin.where,
                    )
                )
                dropped.append(place)
            elif grounds:
                changes.append(self._line(root, grounds, choice))
                stack = stack.with_line(place, changes[-1].after)
        return stack.without_lines(dropped), changes

    def _line(
        self,
        root: RootRequirement,
        grounds: Sequence[LineGround],
        choice: Mapping[Ground, Candidate],
    ) -> Change:
        need = root.need
        assert isinstance(need, Requirement)  # noqa: S101  a line about a component is dropped or stays
        without = {ground.aspect.removeprefix("extra ") for ground in grounds}
        without |= {extra for ground in grounds for extra in self._lost_extras(ground, choice)}
        extras = [extra for extra in need.extras if extra not in without]
        specifier, steps, years, kind = str(need.specifier), 0, 0, ChangeKind.EXTRA
        for ground in grounds:
            if ground.aspect == "version":
                kind = ChangeKind.VERSION
                specifier = f"=={choice[ground].version}"
                steps, years = self.alternatives.distance(ground.origin, choice[ground])
        marker = f" ; {need.marker}" if need.marker else ""
        source = f" @ {need.url}" if need.url else specifier
        after = f"{need.name}{'[' + ','.join(extras) + ']' if extras else ''}{source}{marker}"
        return Change(
            kind,
            need.name,
            root.origin.text,
            after,
            where=root.origin.where,
            steps=steps,
            years=years,
        )

    def _lost_extras(self, ground: Ground, choice: Mapping[Ground, Candidate]) -> list[str]:
        """The extras of a line that its new release does not have, or that require nothing there."""
        if not isinstance(ground, LineGround) or ground.aspect != "version":
            return []
        need = self._problem.stack.requirements[self._places[ground.origin]].need
        extras = need.extras if isinstance(need, Requirement) else ()
        return [extra for extra in extras if self._is_lost(choice[ground], extra)]

    def _is_lost(self, candidate: Candidate, extra: str) -> bool:
        universe = self._clauses.universe
        if not universe.opened(candidate) or universe.provides(candidate, extra):
            return False  # what is not known is decided by locking
        with_extra = universe.candidate(
            Package(candidate.package.name, extra), candidate.release.position
        )
        return with_extra is None or all(
            isinstance(edge.origin, SameRelease) for edge in universe.edges(with_extra)
        )

    def _relax(
        self, stack: StackText, ground: RequirementGround | ExclusionGround
    ) -> tuple[Change, StackText]:
        fact = self._facts[ground.fact]
        need = ground.text if isinstance(ground, RequirementGround) else ""
        row = {
            "fact": fact.id,
            **({"needs": [need]} if need else {}),
            "reason": "To be confirmed: say why this fact does not hold here.",
        }
        return Change(ChangeKind.RELAX, fact.id, need, where=fact.where), stack.with_table(
            "relax", row
        )

    def _override(self, stack: StackText, ground: RequirementGround) -> tuple[Change, StackText]:
        """A `replaces` fact that removes a requirement from upstream metadata, for the releases now required."""
        need, markers = texts.requirement(ground.text), self._problem.target.markers
        lines = [
            line.specifier
            for line in stack.needs().values()
            if isinstance(line, Requirement)
            and line.name == ground.package.name
            and (line.marker is None or line.marker.evaluate(markers))
        ]
        texts_by_version: dict[Version, set[str]] = {}
        for same in self.changed_together(ground):
            for parent, _ in self._clauses.edges[same]:
                if parent is not None and isinstance(same, RequirementGround):
                    texts_by_version.setdefault(parent.version, set()).add(same.text)
        admitted = [
            version
            for version in texts_by_version
            if all(line.contains(version, prereleases=True) for line in lines)
        ]
        releases = sorted(admitted or texts_by_version)
        upstream = ", ".join(
            sorted(set().union(*(texts_by_version[version] for version in releases)))
        )
        row: dict[str, object] = {
            "package": ground.package.name,
            "versions": [f"=={version}" for version in releases]
            if len(releases) > 1
            else f"=={releases[0]}",
            "drop": [need.name],
            "add": [] if ground.package.extra else [need.name],
            "reason": f"To be confirmed: this stack goes against upstream, which asks for {upstream}.",
        }
        return proposed(
            self._problem,
            stack,
            Change(ChangeKind.ADD, str(ground.package), upstream),
            "replaces",
            row,
        )


def proposed(
    problem: Problem,
    stack: StackText,
    change: Change,
    kind: str,
    row: Mapping[str, object],
    source: str = "",
) -> tuple[Change, StackText]:
    """A stack with one more fact, for people to confirm, and the change with the fact's text.

    Without a `source` the fact names the command that proposes it. Its date is that of the newest
    fact, as nothing depends on the clock.
    """
    checked = max((fact.checked for fact in problem.facts), default=date(2026, 1, 1))
    source = source or str(Document(title="proposed by ascend-lock explain", day=checked))
    row = {**row, "strength": "observed", "source": source, "checked": checked}
    return replace(change, after=table_text(f"fact.{kind}", row)), stack.with_table(
        f"fact.{kind}", row
    )
