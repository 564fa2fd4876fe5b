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
from resolver.model import fact as facts
from resolver.model import text as texts
from resolver.model.constraint import (
    VERSION_PART,
    BuildLine,
    ComponentValue,
    Constraint,
    Excluded,
    Line,
    LinePart,
    NoCandidate,
    RequirementSource,
    Requires,
    StackLine,
    Unavailable,
    extra_part,
)
from resolver.model.dependency import Candidate
from resolver.model.explanation import Change, ChangeKind
from resolver.model.package import Package
from resolver.model.problem import Problem, RootRequirement
from resolver.model.release import RejectionReason
from resolver.model.requirement import Requirement
from resolver.model.source import Document
from resolver.resolve.clauses import Clauses
from resolver.resolve.reasons import cutoff_text


def is_cutoff(constraint: Constraint) -> bool:
    """Return whether a constraint rules releases out that were uploaded after the cut-off."""
    return isinstance(constraint, Unavailable) and constraint.why is RejectionReason.NEWER


class Changes:
    """The changes that constraints of one problem stand for, and what they cost."""

    def __init__(self, clauses: Clauses, trials: Trials) -> None:
        self.alternatives = Alternatives(clauses, trials.clock.expired)
        self._clauses = clauses
        self._trials = trials
        self._has_cutoff = trials.inputs.stack.content.policy.exclude_newer is not None
        self._problem = trials.problem
        self._places: dict[object, int] = {
            root.origin: at for at, root in enumerate(self._problem.stack.requirements)
        }

    def price(self, constraint: Constraint) -> int | None:
        """Return the price of changing a constraint; None if the user cannot change it."""
        match constraint:
            case StackLine() | BuildLine() if constraint.whole in self._places:
                return self._price_of_line(self._places[constraint.whole], constraint.part)
            case ComponentValue():
                return costs.COMPONENT.get(constraint.component)
            case Requires() if constraint.source is RequirementSource.METADATA:
                return costs.OVERRIDE
            case Requires(fact=fact) | Excluded(fact=fact) if fact is not None:
                return self._price_of_fact(fact)
            case Unavailable(why=RejectionReason.NEWER) if self._has_cutoff:
                return costs.WITHOUT_CUTOFF
            case Unavailable(why=NoCandidate.PRERELEASE | NoCandidate.NEEDLESS):
                return costs.PRERELEASES
            case _:
                return None

    def _price_of_fact(self, fact: facts.Fact) -> int | None:
        """Return the price of going against a fact; None if it may not be set aside."""
        match fact:
            case facts.Builds() | facts.Metadata():
                return costs.OVERRIDE  # requirements stated by the archive, or for it
            case facts.Requires() | facts.Excludes() | facts.Names():
                return costs.RELAX.get(fact.strength)
            case _:
                return None

    def _price_of_line(self, place: int, part: LinePart) -> int | None:
        requirements = self._problem.stack.requirements
        later = len(requirements) - place  # of two equal changes the later line's is cheaper
        if part == VERSION_PART:  # of a line about a component, the component itself may change
            return (
                later + costs.VERSION if isinstance(requirements[place].need, Requirement) else None
            )
        if part:
            return later + costs.EXTRA
        return later + costs.DROP if len(requirements) > 1 else None

    def keeps_a_line(self, changing: Sequence[Constraint]) -> bool:
        """Whether a set of changes leaves anything to lock."""
        return sum(map(costs.drops, changing)) < len(self._places)

    def changed_together(self, constraint: Constraint) -> list[Constraint]:
        """The constraints that change along with one: a `replaces` fact removes every requirement on a project."""
        known = self._clauses.known
        if is_cutoff(constraint):
            return [other for other in known if is_cutoff(other)]
        if not self._is_override(constraint):
            return [constraint]
        package, needed = constraint.package.name, texts.requirement(constraint.text).name
        overrides = [
            other for other in filter(self._is_override, known) if other.package.name == package
        ]
        return [other for other in overrides if texts.requirement(other.text).name == needed]

    def _is_override(self, constraint: Constraint) -> TypeGuard[Requires]:
        """Whether a constraint is changed by a `replaces` fact."""
        return isinstance(constraint, Requires) and self.price(constraint) == costs.OVERRIDE

    def apply(
        self, changing: Sequence[Constraint], choice: Mapping[Constraint, Candidate]
    ) -> ChangedStack:
        """The stack with these changes."""
        document = self._trials.inputs.stack
        stack, changes = self._lines(
            [
                constraint
                for constraint in changing
                if isinstance(constraint, (StackLine, BuildLine))
            ],
            choice,
        )
        for constraint in changing:
            match constraint:
                case ComponentValue(component=name):
                    after = str(choice[constraint].chosen)
                    change = Change(
                        ChangeKind.COMPONENT,
                        name,
                        constraint.value,
                        after,
                        constraint.where,
                        target=self._trials.target,
                    )
                    stack = stack.with_component(self._trials.current_target, name, after)
                case Requires() if self._is_override(constraint):
                    change, stack = self._override(stack, constraint)
                case Requires() | Excluded():
                    change, stack = self._relax(stack, constraint)
                case Unavailable(why=NoCandidate.PRERELEASE | NoCandidate.NEEDLESS):
                    project = constraint.project
                    after = f'prereleases-of.{project} = "allow"'
                    change = Change(
                        ChangeKind.POLICY, project, after=after, where=self._problem.stack.where
                    )
                    stack = stack.with_key(("policy", "prereleases-of", project), "allow")
                case Unavailable():
                    before = f"{CUTOFF} = {cutoff_text(document.content.policy.exclude_newer).replace('T', ' ')}"
                    change = Change(
                        ChangeKind.POLICY, CUTOFF, before, where=document.line("policy", CUTOFF)
                    )
                    stack = stack.without(("policy", CUTOFF))
                case _:
                    continue
            changes.append(change)
        stack = stack.apart(self._trials.current_target)
        price = sum(self.price(constraint) or 0 for constraint in changing)
        price += self.alternatives.doubt(choice)
        price += costs.EXTRA * sum(
            len(self._lost_extras(constraint, choice)) for constraint in changing
        )
        risky = any(change.kind in (ChangeKind.RELAX, ChangeKind.ADD) for change in changes)
        return ChangedStack(tuple(changes), stack.text, price, risky)

    def _lines(
        self, changing: Sequence[Line], choice: Mapping[Constraint, Candidate]
    ) -> tuple[StackText, list[Change]]:
        stack, changes = StackText(self._trials.text), []
        dropped: list[int] = []
        for place, root in enumerate(self._problem.stack.requirements):
            constraints = [constraint for constraint in changing if constraint.whole == root.origin]
            if any(map(costs.drops, constraints)):
                changes.append(
                    Change(
                        ChangeKind.DROP,
                        subject(root.need),
                        root.origin.text,
                        where=root.origin.where,
                    )
                )
                dropped.append(place)
            elif constraints:
                changes.append(self._line(root, constraints, choice))
                stack = stack.with_line(place, changes[-1].after)
        return stack.without_lines(dropped), changes

    def _line(
        self,
        root: RootRequirement,
        constraints: Sequence[Line],
        choice: Mapping[Constraint, Candidate],
    ) -> Change:
        need = root.need
        assert isinstance(need, Requirement)  # noqa: S101  a line about a component is dropped or stays
        without = {constraint.part.removeprefix(extra_part("")) for constraint in constraints}
        without |= {
            extra for constraint in constraints for extra in self._lost_extras(constraint, choice)
        }
        extras = [extra for extra in need.extras if extra not in without]
        specifier, steps, years, kind = str(need.specifier), 0, 0, ChangeKind.EXTRA
        for constraint in constraints:
            if constraint.part == VERSION_PART:
                kind = ChangeKind.VERSION
                specifier = f"=={choice[constraint].version}"
                steps, years = self.alternatives.distance(constraint.whole, choice[constraint])
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

    def _lost_extras(
        self, constraint: Constraint, choice: Mapping[Constraint, Candidate]
    ) -> list[str]:
        """The extras of a line that its new release does not have, or that require nothing there."""
        if not isinstance(constraint, (StackLine, BuildLine)) or constraint.part != VERSION_PART:
            return []
        need = self._problem.stack.requirements[self._places[constraint.whole]].need
        extras = need.extras if isinstance(need, Requirement) else ()
        return [extra for extra in extras if self._is_lost(choice[constraint], extra)]

    def _is_lost(self, candidate: Candidate, extra: str) -> bool:
        universe = self._clauses.universe
        if not universe.opened(candidate) or universe.provides(candidate, extra):
            return False  # what is not known is decided by locking
        with_extra = universe.candidate(
            Package(candidate.package.name, extra), candidate.release.position
        )
        return with_extra is None or all(
            edge.constraint is None for edge in universe.edges(with_extra)
        )

    def _relax(self, stack: StackText, constraint: Requires | Excluded) -> tuple[Change, StackText]:
        fact = constraint.fact
        assert fact is not None  # noqa: S101  metadata is overridden
        need = constraint.text if isinstance(constraint, Requires) else ""
        row = {
            "fact": fact.id,
            **({"needs": [need]} if need else {}),
            "reason": "To be confirmed: say why this fact does not hold here.",
        }
        return Change(ChangeKind.RELAX, fact.id, need, where=fact.where), stack.with_table(
            "relax", row
        )

    def _override(self, stack: StackText, constraint: Requires) -> tuple[Change, StackText]:
        """A `replaces` fact that removes a requirement from upstream metadata, for the releases now required."""
        need, markers = texts.requirement(constraint.text), self._problem.target.markers
        lines = [
            line.specifier
            for line in stack.needs().values()
            if isinstance(line, Requirement)
            and line.name == constraint.package.name
            and (line.marker is None or line.marker.evaluate(markers))
        ]
        texts_by_version: dict[Version, set[str]] = {}
        for same in self.changed_together(constraint):
            for parent, _ in self._clauses.edges[same]:
                if parent is not None and isinstance(same, Requires):
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
            "package": constraint.package.name,
            "versions": [f"=={version}" for version in releases]
            if len(releases) > 1
            else f"=={releases[0]}",
            "drop": [need.name],
            "add": [] if constraint.package.extra else [need.name],
            "reason": f"To be confirmed: this stack goes against upstream, which asks for {upstream}.",
        }
        return proposed(
            self._problem,
            stack,
            Change(ChangeKind.ADD, str(constraint.package), upstream),
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
