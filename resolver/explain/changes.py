"""Turn a set of changes into a changed stack, and say what changes cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import TypeGuard

from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.config.decode import parse_need
from resolver.config.stack_lines import stack_lines
from resolver.explain import costs
from resolver.explain.alternatives import NO_DISTANCE, Alternatives, Replacements
from resolver.explain.changed_stack import ChangedStack
from resolver.explain.stack_text import table_text
from resolver.explain.trials import Trials
from resolver.model import fact as facts
from resolver.model import text as texts
from resolver.model.change import (
    CUTOFF,
    Change,
    ChangeKind,
    ComponentChanged,
    ConstraintDropped,
    CutoffDropped,
    ExtrasRemoved,
    FactSetAside,
    LineChanged,
    LineDropped,
    PrereleasesAdmitted,
    RequirementRemoved,
    VersionChanged,
)
from resolver.model.constraint import (
    VERSION_PART,
    BuildLine,
    ComponentValue,
    Constraint,
    Excluded,
    Line,
    LinePart,
    NoCandidate,
    ReleaseRequires,
    RequirementSource,
    StackLine,
    Unavailable,
    extra_part,
)
from resolver.model.dependency import Candidate
from resolver.model.package import Package
from resolver.model.problem import Problem, RootRequirement
from resolver.model.release import RejectionReason
from resolver.model.requirement import Requirement, name_of
from resolver.model.source import Document
from resolver.resolve.clauses import Clauses


def is_cutoff(constraint: Constraint) -> bool:
    """Return whether a constraint rules out releases that were uploaded after `exclude-newer`."""
    return isinstance(constraint, Unavailable) and constraint.why is RejectionReason.NEWER


def _names_machines(fact: facts.Requires) -> bool:
    """Return whether a fact says which machines releases are for, such as chips.

    No stack makes a release run on a machine that it was not made for.
    """
    return any(need.names_machines for need in facts.component_requirements(fact.needs))


class Changes:
    """The changes that the constraints of one problem can undergo, and their prices."""

    def __init__(self, clauses: Clauses, trials: Trials) -> None:
        self.alternatives = Alternatives(clauses, trials.clock.expired)
        self._clauses = clauses
        self._trials = trials
        self._has_cutoff = trials.files.stack.content.policy.exclude_newer is not None
        self._problem = trials.problem
        self._requirements = trials.problem.stack.requirements
        # The position of each line among the stack's requirements.
        self._places: dict[object, int] = {
            root.origin: place for place, root in enumerate(self._requirements)
        }
        # The lines of `constraints`.
        self._constraints: dict[object, RootRequirement] = {
            root.origin: root for root in trials.problem.stack.constraints
        }

    # --- prices

    def price(self, constraint: Constraint) -> int | None:
        """Return the price of changing a constraint; None if the user cannot change it.

        See `costs` for the prices.
        """
        match constraint:
            case StackLine() | BuildLine() if constraint.whole in self._places:
                return self._price_of_line(self._places[constraint.whole], constraint.part)
            case StackLine() if constraint in self._constraints:
                return costs.POLICY
            case ComponentValue():
                return costs.component_price(self._problem.target.components[constraint.component])
            case ReleaseRequires() if _is_override(constraint):
                return costs.OVERRIDE
            case ReleaseRequires(fact=facts.Requires() as fact) if _names_machines(fact):
                return None
            case ReleaseRequires(fact=facts.Requires() as fact) | Excluded(fact=fact):
                return costs.RELAX.get(fact.strength)
            case Unavailable(why=RejectionReason.NEWER) if self._has_cutoff:
                return costs.POLICY
            case Unavailable(why=NoCandidate.PRERELEASE | NoCandidate.NEEDLESS):
                return costs.POLICY
            case _:
                return None

    def _price_of_line(self, place: int, part: LinePart) -> int | None:
        """Return the price of changing a part of the line at a position; None if it cannot change.

        Without a `part` it is the price of dropping the line; the only line cannot be dropped.
        """
        # Of two equal changes, the one to the later line is cheaper: people put what matters first.
        later = len(self._requirements) - place
        if part == VERSION_PART:
            # For a line about a component, the value of the component may change instead.
            is_project = isinstance(self._requirements[place].need, Requirement)
            return later + costs.VERSION if is_project else None
        if part:
            return later + costs.EXTRA
        return later + costs.DROP if len(self._requirements) > 1 else None

    def total_price(self, changing: Sequence[Constraint]) -> int:
        """Return the sum of the prices of a set of changes."""
        return sum(self.price(constraint) or 0 for constraint in changing)

    def lines_of(self, core: Iterable[Constraint]) -> list[Line]:
        """Return the stack's lines that are in a core, in the order of the stack."""
        lines = {
            constraint.whole
            for constraint in core
            if isinstance(constraint, (StackLine, BuildLine))
        }
        return [root.origin for root in self._requirements if root.origin in lines]

    def changed_by(self, changing: Iterable[Constraint]) -> set[costs.ChangedConstraint]:
        """Return the lines and components that a set of changes concerns.

        A line that is dropped has two entries, see `costs.ChangedConstraint`.
        """
        changed: set[costs.ChangedConstraint] = set()
        for constraint in changing:
            match constraint:
                case ComponentValue():
                    changed.add((constraint.component, self._trials.target, False))
                case StackLine() | BuildLine() if constraint.whole in self._places:
                    root = self._requirements[self._places[constraint.whole]]
                    changed.add((name_of(root.need), "", False))
                    if costs.drops(constraint):
                        changed.add((name_of(root.need), "", True))
                case _:
                    pass
        return changed

    def keeps_a_line(self, changing: Sequence[Constraint]) -> bool:
        """Return whether a set of changes keeps at least one line of the original stack."""
        dropped = {constraint for constraint in changing if costs.drops(constraint)}
        kept = [place for line, place in self._places.items() if line not in dropped]
        count = len(stack_lines(self._trials.files.stack.content))
        return any(self._requirements[place].number < count for place in kept)

    # --- what changes together

    def changed_together(self, constraint: Constraint) -> list[Constraint]:
        """Return the constraints that change whenever this one changes, itself included.

        Removing the cut-off admits all newer releases. A `replaces` fact removes all requirements
        of one project on another.
        """
        if is_cutoff(constraint):
            return [other for other in self._clauses.known if is_cutoff(other)]
        if _is_override(constraint):
            return [*self._overridden_together(constraint)]
        return [constraint]

    def _overridden_together(self, constraint: ReleaseRequires) -> list[ReleaseRequires]:
        """Return the requirements that the same `replaces` fact removes, the given one included."""
        package = constraint.package.name
        needed = texts.requirement(constraint.text).name
        overrides = [other for other in self._clauses.known if _is_override(other)]
        return [
            other
            for other in overrides
            if other.package.name == package and texts.requirement(other.text).name == needed
        ]

    # --- the changed stack

    def apply(self, changing: Sequence[Constraint], replacements: Replacements) -> ChangedStack:
        """Return the stack with a set of changes.

        `replacements` has the release or value for each line or component that gets another one.
        """
        lines = [line for line in changing if isinstance(line, (StackLine, BuildLine))]
        changes = list(self._changes_of_lines(lines, replacements))
        bounds = [self._constraints[line] for line in lines if line in self._constraints]
        changes += map(_of_bound, bounds)
        for constraint in changing:
            match constraint:
                case ComponentValue():
                    changes.append(
                        self._of_component(constraint, str(replacements[constraint].chosen))
                    )
                case ReleaseRequires() if _is_override(constraint):
                    changes.append(self._of_metadata(constraint, changes))
                case ReleaseRequires() | Excluded():
                    changes.append(self._of_fact(constraint))
                case Unavailable():
                    changes.append(self._of_policy(constraint))
                case _:
                    pass
        lost_extras: list[str] = []
        for line in lines:
            lost_extras += self._lost_extras(line, replacements)
        return ChangedStack(
            changes=tuple(changes),
            price=self.total_price(changing)
            + self.alternatives.doubt(replacements)
            + costs.EXTRA * len(lost_extras),
            risky=any(change.kind in (ChangeKind.RELAX, ChangeKind.ADD) for change in changes),
        )

    def _of_component(self, constraint: ComponentValue, after: str) -> Change:
        """Return the change that gives a component of the target the value `after`."""
        trials = self._trials
        return ComponentChanged(
            component=self._problem.target.components[constraint.component],
            before=constraint.value,
            after=after,
            where=constraint.where,
            target=trials.target,
            target_number=trials.problem.target_number,
        )

    def _of_policy(self, constraint: Unavailable) -> Change:
        """Return the change that removes the cut-off, or admits pre-releases of a project."""
        if is_cutoff(constraint):
            stack = self._trials.files.stack
            cutoff = stack.content.policy.exclude_newer
            # Without a cut-off, no constraint rests on it.
            assert cutoff is not None  # noqa: S101
            where = stack.line("policy", CUTOFF)
            return CutoffDropped(cutoff=cutoff, where=where)
        project, where = constraint.project, self._problem.stack.where
        return PrereleasesAdmitted(project=project, where=where)

    def _of_fact(self, constraint: ReleaseRequires | Excluded) -> FactSetAside:
        """Return the change that sets aside a fact, or one requirement that it states."""
        fact = constraint.fact
        # Requirements of metadata are removed by `_of_metadata`.
        assert fact is not None  # noqa: S101
        text = constraint.text if isinstance(constraint, ReleaseRequires) else ""
        need = parse_need(text, self._problem.target.components, direct=True) if text else None
        return FactSetAside(
            fact=fact.id,
            need=text,
            removed=need.name if isinstance(need, Requirement) else None,
            where=fact.where,
        )

    # --- lines

    def _changes_of_lines(
        self, changing: Sequence[Line], replacements: Replacements
    ) -> Iterator[Change]:
        """Yield the change of each line with a part in `changing`, in the order of the stack."""
        for root in self._requirements:
            parts = [constraint for constraint in changing if constraint.whole == root.origin]
            if any(map(costs.drops, parts)):
                yield self.dropped(root)
            elif parts:
                yield self._change_of_line(root, parts, replacements)

    def dropped(self, root: RootRequirement) -> LineDropped:
        """Return the change that drops a line of the stack."""
        return LineDropped(before=root, where=root.origin.where)

    def _change_of_line(
        self,
        root: RootRequirement,
        parts: Sequence[Line],
        replacements: Replacements,
    ) -> LineChanged:
        """Return the change of a line to the release in `replacements`, or without some extras.

        `parts` are the parts of the line that change.
        """
        need = root.need
        # A line about a component is only ever dropped.
        assert isinstance(need, Requirement)  # noqa: S101
        removed: set[str] = set()
        specifier, distance = None, NO_DISTANCE
        for part in parts:
            if part.part == VERSION_PART:
                specifier = SpecifierSet(f"=={replacements[part].version}")
                distance = self.alternatives.distance(part.whole, replacements[part])
                removed.update(self._lost_extras(part, replacements))
            else:
                removed.add(part.part.removeprefix(extra_part("")))
        extras = tuple(extra for extra in need.extras if extra not in removed)
        where = root.origin.where
        if specifier is None:
            after = replace(need, extras=extras)
            return ExtrasRemoved(before=root, after=after, where=where)
        after = replace(need, extras=extras, specifier=specifier)
        return VersionChanged(
            before=root,
            after=after,
            where=where,
            steps=distance.releases,
            years=distance.years,
            days=distance.days,
        )

    def _lost_extras(self, part: Line, replacements: Replacements) -> list[str]:
        """Return the extras of a line that its new release neither declares nor uses.

        Empty if the version of the line does not change.
        """
        if part.part != VERSION_PART:
            return []
        need = self._requirements[self._places[part.whole]].need
        extras = need.extras if isinstance(need, Requirement) else ()
        return [extra for extra in extras if self._is_lost(replacements[part], extra)]

    def _is_lost(self, candidate: Candidate, extra: str) -> bool:
        """Return whether a release neither declares an extra nor requires anything for it.

        False if the metadata of the release was not read yet: that shows when it is locked.
        """
        universe = self._clauses.universe
        if not universe.opened(candidate) or universe.provides(candidate, extra):
            return False
        package = Package(candidate.package.name, extra)
        with_extra = universe.candidate(package, candidate.release.position)
        if with_extra is None:
            return True
        return all(edge.constraint is None for edge in universe.edges(with_extra))

    # --- metadata

    def _of_metadata(self, constraint: ReleaseRequires, changes: Sequence[Change]) -> Change:
        """Return the change that removes a requirement from upstream metadata.

        It adds a `replaces` fact for the releases that the stack asks for after the other
        `changes`.
        """
        package, needed = constraint.package, texts.requirement(constraint.text).name
        texts_by_version = self._texts_by_version(constraint)
        specifiers = self._specifiers_of(package.name, changes)
        admitted = [
            version
            for version in texts_by_version
            if all(specifier.contains(version, prereleases=True) for specifier in specifiers)
        ]
        versions = sorted(admitted or texts_by_version)
        stated = set[str]().union(*(texts_by_version[version] for version in versions))
        upstream = ", ".join(sorted(stated))
        pins = [f"=={version}" for version in versions]
        fact: dict[str, object] = {
            "package": package.name,
            "versions": pins if len(pins) > 1 else pins[0],
            "drop": [needed],
            "add": [] if package.extra else [needed],
            "reason": f"To be confirmed: this stack goes against upstream, "
            f"which asks for {upstream}.",
        }
        rows = new_fact(self._problem, "replaces", fact)
        return RequirementRemoved(
            package=str(package),
            removed=needed,
            needs=tuple(sorted(stated)),
            rows=rows,
        )

    def _texts_by_version(self, constraint: ReleaseRequires) -> dict[Version, set[str]]:
        """Return the requirements that one `replaces` fact removes, by the version with them."""
        texts_by_version: dict[Version, set[str]] = {}
        for removed in self._overridden_together(constraint):
            for parent, _ in self._clauses.edges[removed]:
                if parent is not None:
                    texts_by_version.setdefault(parent.version, set()).add(removed.text)
        return texts_by_version

    def _specifiers_of(self, name: str, changes: Iterable[Change]) -> list[SpecifierSet]:
        """Return the specifiers that the lines about a project have after some changes.

        Lines whose marker is false for the target are left out.
        """
        target = self._problem.target
        lines = self._trials.lines(change.edit for change in changes)
        needs = [parse_need(line, target.components, direct=True) for line in lines]
        return [
            need.specifier
            for need in needs
            if isinstance(need, Requirement) and need.name == name and need.applies(target.markers)
        ]


def _is_override(constraint: Constraint) -> TypeGuard[ReleaseRequires]:
    """Return whether a constraint is a requirement that a `replaces` fact can remove.

    Those are requirements from the metadata of an archive, and from facts in place of such
    metadata.
    """
    if not isinstance(constraint, ReleaseRequires):
        return False
    if constraint.source is RequirementSource.METADATA:
        return True
    return isinstance(constraint.fact, (facts.Builds, facts.Metadata))


def _of_bound(root: RootRequirement) -> ConstraintDropped:
    """Return the change that removes a line of the stack's `constraints`."""
    line = root.origin
    return ConstraintDropped(before=root, where=line.where)


def new_fact(problem: Problem, kind: str, keys: Mapping[str, object], source: str = "") -> str:
    """Return a new fact of this kind as TOML, which the user must confirm.

    `keys` has the keys of the fact. Without a `source`, the source is the command that proposes the
    fact. The fact is dated like the newest known fact, as no output depends on the clock.
    """
    checked = max((fact.checked for fact in problem.facts), default=date(2026, 1, 1))
    source = source or str(Document(title="proposed by ascend-lock explain", day=checked))
    keys = {**keys, "strength": "observed", "source": source, "checked": checked}
    return table_text(f"fact.{kind}", keys)
