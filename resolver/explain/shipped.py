"""Take projects that no index has from commits that shipped stacks or facts know.

A shipped stack may name the commit of such a project, and facts that say how it is built. Facts of
all stacks may describe commits as well. A line may name a commit that could not be read, although
an index has releases of its project: then these are taken. `repairs` locks the stacks that are
proposed here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date

from msgspec.structs import replace
from packaging.utils import NormalizedName

from resolver import toml
from resolver.config.decode import parse_need
from resolver.config.schema import StackFile, TargetTable
from resolver.config.stack_lines import stack_lines
from resolver.config.toml_files import Document, with_defaults
from resolver.errors import InputError
from resolver.explain import costs
from resolver.explain.changed_stack import ChangedStack
from resolver.explain.changes import Changes
from resolver.explain.paired_lines import named_projects, pinned_versions
from resolver.explain.proposals import Proposals
from resolver.explain.stack_text import table_text
from resolver.explain.trials import Trials
from resolver.model import text
from resolver.model.change import LineAdded, LineDropped, ShippedTaken, VersionChanged
from resolver.model.component import find_component
from resolver.model.constraint import Constraint, Excluded, NoCandidate, Unavailable
from resolver.model.fact import KINDS, Names, Sources
from resolver.model.problem import Problem, RootRequirement
from resolver.model.repository import Direct
from resolver.model.requirement import Requirement
from resolver.model.target import Target

# How many shipped stacks are tried.
_STACKS = 2


class _Shipped:
    """A shipped stack: its lines about projects, its facts and its machines."""

    def __init__(self, stack: Document[StackFile], target: Target) -> None:
        """Read the lines of a shipped stack that apply to a target.

        Raise InputError or ValueError for a stack with a mistake.
        """
        self._stack = stack
        self.name = stack.content.stack.name
        targets = stack.content.target
        self.machines = (targets,) if isinstance(targets, TargetTable) else targets
        # The lines without their markers, by project; and the projects whose lines name a commit.
        self.lines: dict[NormalizedName, Requirement] = {}
        self.commits: dict[NormalizedName, None] = {}
        for line in stack_lines(stack.content):
            need = parse_need(line.text, target.components, direct=True)
            if isinstance(need, Requirement) and need.applies(target.markers):
                self.lines[need.name] = replace(need, marker=None)
                if need.url:
                    self.commits[need.name] = None
        # For each of its machines, the values of components other than Python, platform and glibc.
        self.values = [
            {
                name: find_component(name, target.components).parse_stated(value)
                for name, value in machine.system.items()
            }
            for machine in self.machines
        ]

        # The projects that must not be installed beside its lines.
        self.absent = {absence.package for absence in stack.content.absent}

    def supplies_any(self, projects: Collection[NormalizedName]) -> bool:
        """Return whether the shipped stack can supply one of some projects that no index has.

        A line that is only a name supplies nothing: it names no commit, no extra and no versions.
        """
        return any(name in projects and str(line) != name for name, line in self.lines.items())

    def rows(self, projects: Collection[NormalizedName]) -> str:
        """Return its own facts about some projects, and its `absent` entries, as TOML."""
        raw = toml.loads(self._stack.text, toml.STACK)
        tables = [table_text("absent", row) for row in raw.get("absent", ())]
        facts = with_defaults(raw.get("fact", {}))
        for kind in KINDS:
            rows = facts.get(kind, ())
            about = [row for row in rows if text.name(row["package"]) in projects]
            tables += [table_text(f"fact.{kind}", row) for row in about]
        return "\n\n".join(tables)


class ShippedStacks:
    """The changed stacks that shipped stacks suggest for one problem."""

    def __init__(self, trials: Trials, changes: Changes, proposals: Proposals) -> None:
        self._trials = trials
        self._proposals = proposals
        self._changes = changes
        self._named = named_projects(trials.problem)
        about = [fact for fact in trials.problem.facts if fact.package in self._named]
        self._partners = costs.partners(about)

    def stacks(self, constraints: Iterable[Constraint]) -> Iterator[Iterator[ChangedStack]]:
        """Yield changed stacks that take projects which no index has from shipped stacks.

        There is an iterator for each shipped stack that has one of these projects from a commit, or
        from an index with versions or an extra. It yields first a stack with its lines about these
        projects only, then with its lines about all projects that both stacks name, then also with
        its Python, and with its CANN. Shipped stacks that share more projects with this one come
        first. A shipped stack with a mistake is skipped. Projects that a shipped stack lacks are
        taken from commits that facts describe; if none has any, these alone are taken.
        """
        wanted = lacking_projects(constraints, self._trials.problem)
        shipped = []
        for document in self._trials.shipped if wanted else ():
            with suppress(InputError, ValueError):
                shipped.append(_Shipped(document, self._trials.problem.target))
        fitting = [stack for stack in shipped if stack.supplies_any(wanted)]
        fitting.sort(key=lambda stack: len(self._named & stack.lines.keys()), reverse=True)
        for stack in fitting[:_STACKS]:
            yield self._taking_more_and_more(stack, wanted)
        described = self._described(wanted)
        if described and not fitting:
            yield iter([self._with_lines(described)])

    def readable(self) -> ChangedStack | None:
        """Return the stack in which no line names a commit of which nothing is known.

        Such a line asks for any release of its project instead, if facts are about the project and
        an index has it; facts tell that it is no other project by that name. Else it names a commit
        that facts describe. None if no line changes.
        """
        unknown = unknown_commits(self._trials.problem)
        lines = dict(self._described(unknown))
        for name in unknown:
            if self._has_releases(name):
                lines[name] = Requirement(name=name)
        return self._with_lines(lines) if lines else None

    def _has_releases(self, name: NormalizedName) -> bool:
        """Return whether an index has a project that facts are about.

        False if facts say that releases on an index are of another project, or for another machine.
        """
        about = [fact for fact in self._trials.problem.facts if fact.package == name]
        if not about or any(isinstance(fact, Names) for fact in about):
            return False
        return any(page.releases for page in self._trials.universe.catalog.lookup(name).pages)

    def _taking_more_and_more(
        self, stack: _Shipped, wanted: Collection[NormalizedName]
    ) -> Iterator[ChangedStack]:
        """Yield the changed stacks that one shipped stack suggests, as `stacks` does."""
        lines = {**self._described(wanted), **stack.lines}
        lacking = {name: line for name, line in lines.items() if name in wanted}
        yield self._taking(stack, lacking, wanted)
        whole = self._taking(stack, lines, wanted, is_whole=True)
        yield whole
        yield from self._on_its_machine(stack, whole)

    def _described(
        self, wanted: Collection[NormalizedName]
    ) -> Mapping[NormalizedName, Requirement]:
        """Return a line with a commit for each wanted project of which facts describe one.

        Of several commits, it is the one whose requirements disagree with the fewest versions that
        lines pin, and of these the latest.
        """
        pinned = pinned_versions(self._trials.problem)

        def disagreements(fact: Sources) -> int:
            needs = map(text.requirement, fact.recipe.requires)
            return sum(
                need.name in pinned
                and not need.specifier.contains(pinned[need.name], prereleases=True)
                for need in needs
            )

        best: dict[NormalizedName, Sources] = {}
        about = [fact for fact in self._trials.problem.facts if isinstance(fact, Sources)]
        # Of equal ones, the first stays: the latest commit.
        for fact in sorted(about, key=lambda fact: fact.committed or date.min, reverse=True):
            if fact.package not in wanted:
                continue
            known = best.setdefault(fact.package, fact)
            if disagreements(fact) < disagreements(known):
                best[fact.package] = fact
        return {
            name: Requirement(name=name, url=str(Direct(fact.git, fact.commit, fact.subdirectory)))
            for name, fact in best.items()
        }

    def _with_lines(self, lines: Mapping[NormalizedName, Requirement]) -> ChangedStack:
        """Return the stack with other lines about some projects. They keep extras and markers."""
        changes: list[VersionChanged] = []
        for root in self._trials.problem.stack.requirements:
            need = root.need
            if isinstance(need, Requirement) and need.name in lines:
                after = replace(lines[need.name], extras=need.extras, marker=need.marker)
                changes.append(_replaced(root, after))
        return ChangedStack(tuple(changes), costs.VERSION * len(changes), risky=False)

    def _taking(
        self,
        stack: _Shipped,
        lines: Mapping[NormalizedName, Requirement],
        wanted: Collection[NormalizedName],
        *,
        is_whole: bool = False,
    ) -> ChangedStack:
        """Return the stack with some lines of a shipped stack, and with its facts about them.

        `lines` are the lines that are taken, by project; `wanted` are the projects that no index
        has. Lines about projects that the shipped stack lists as absent are dropped. With
        `is_whole`, so are lines about wanted projects that it lacks, and its lines are added about
        what projects of the stack need to work, according to grave warnings. Lines that do not
        apply to the target are kept, and a replaced line keeps its marker.
        """
        changed = list(self._changed_lines(stack, lines, wanted if is_whole else ()))
        price = costs.ADD
        for change in changed:
            if isinstance(change, LineDropped):
                price += costs.DROP
            elif change.subject not in stack.commits:
                price += costs.VERSION
        missing = {name for name in stack.commits if name in wanted}
        if is_whole:
            missing |= self._partners & lines.keys()
        missing -= self._named
        added = self._added_lines(line for name, line in lines.items() if name in missing)
        taken = {name for name in stack.commits if name in lines and name in self._named | missing}
        facts = ShippedTaken(
            stack=stack.name,
            names=tuple(sorted(taken)),
            rows=stack.rows(taken),
            where=self._trials.files.stack.line("stack", "requires"),
        )
        return ChangedStack((*changed, *added, facts), price, risky=False)

    def _changed_lines(
        self,
        stack: _Shipped,
        lines: Mapping[NormalizedName, Requirement],
        dropped: Collection[NormalizedName],
    ) -> Iterator[VersionChanged | LineDropped]:
        """Yield the changes of the stack's own lines, as `_taking` describes them, in their order.

        `dropped` are the projects whose lines are dropped if none of `lines` is about them.
        """
        problem = self._trials.problem
        for root in problem.stack.requirements:
            need = root.need
            if not isinstance(need, Requirement) or not need.applies(problem.target.markers):
                continue
            if need.name in lines:
                after = replace(lines[need.name], marker=need.marker)
                if after != need:
                    is_shipped = need.name in stack.lines
                    yield _replaced(root, after, stack.name if is_shipped else "")
            elif need.name in stack.absent:
                yield replace(self._changes.dropped(root), shipped=stack.name)
            elif need.name in dropped:
                yield self._changes.dropped(root)

    def _added_lines(self, needs: Iterable[Requirement]) -> Iterator[LineAdded]:
        """Yield the changes that add lines with these requirements after the last line."""
        where = self._trials.files.stack.line("stack", "requires")
        group = self._trials.problem.stack.group
        for number, need in enumerate(needs, self._trials.next_number):
            yield LineAdded(need=need, where=where, number=number, group=group)

    def _on_its_machine(self, stack: _Shipped, changed: ChangedStack) -> Iterator[ChangedStack]:
        """Yield a changed stack with the Python of a shipped stack, then also with its CANN.

        Both are left out if the target has the same. For the CANN, one of the shipped stack's
        machines must have the same platform, and the same values of components without an order,
        such as the SoC.
        """
        target = self._trials.problem.target
        pythons = [machine.python for machine in stack.machines]
        python = target.python
        if python not in pythons:
            python = pythons[0]
            changed = changed.then(self._proposals.component("python", python))
            yield changed
        for machine, values in zip(stack.machines, stack.values, strict=True):
            is_same = (machine.platform, machine.python) == (target.platform, python)
            others = []
            for name, value in values.items():
                component = target.components[name]
                is_same_value = value == target.system.get(name)
                is_same = is_same and (is_same_value or component.grammar.is_ordered)
                if component.by_line and not is_same_value and name in target.system:
                    others.append(self._proposals.component(name, str(value)))
            if is_same and others:
                yield changed.then(others[0])
                return


def _replaced(root: RootRequirement, after: Requirement, stack: str = "") -> VersionChanged:
    """Return the change that replaces a line about a project by another one.

    `stack` is the name of the shipped stack that has the other line; empty if facts know it.
    """
    return VersionChanged(
        before=root,
        after=after,
        where=root.origin.where,
        shipped=stack,
    )


def lacking_projects(constraints: Iterable[Constraint], problem: Problem) -> set[NormalizedName]:
    """Return the projects of some constraints that no index has.

    A project counts, too, if the indexes have only another project by this name (a `names` fact),
    or if its line names a commit of which nothing is known.
    """
    projects = set()
    for constraint in constraints:
        match constraint:
            case Unavailable(why=NoCandidate.PROJECT):
                projects.add(constraint.project)
            case Unavailable() if _is_at_unknown_commit(constraint.project, problem):
                projects.add(constraint.project)
            case Excluded(fact=Names()):
                projects.add(constraint.project)
            case _:
                pass
    return projects


def unknown_commits(problem: Problem) -> set[NormalizedName]:
    """Return the projects that lines take from commits of which nothing is known."""
    return {name for name in named_projects(problem) if _is_at_unknown_commit(name, problem)}


def _is_at_unknown_commit(project: NormalizedName, problem: Problem) -> bool:
    """Return whether a line takes a project from a commit of which nothing is known."""
    source = problem.source(project)
    return source is not None and source[1].unknown is not None
