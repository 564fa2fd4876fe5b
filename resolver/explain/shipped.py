"""What shipped stacks know of projects that no index has: the commit, and how it is built."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from packaging.utils import NormalizedName

from resolver import toml
from resolver.config.decode import parse_need
from resolver.config.load import Document, with_fact_defaults
from resolver.config.schema import StackFile, TargetTable
from resolver.explain import costs
from resolver.explain.changes import Changes
from resolver.explain.proposals import Proposals
from resolver.explain.rows import named_projects
from resolver.explain.stack_text import table_text
from resolver.explain.trial import ChangedStack, Trials
from resolver.model import text
from resolver.model.component import Components
from resolver.model.constraint import Constraint, Excluded, NoCandidate, Unavailable
from resolver.model.edit import AddRows, SetLine
from resolver.model.explanation import Change, ChangeKind
from resolver.model.fact import KINDS, Names
from resolver.model.problem import RootRequirement
from resolver.model.requirement import Requirement


class _Shipped:
    """A shipped stack: its lines about projects, and what it says of them."""

    def __init__(self, stack: Document[StackFile], components: Components) -> None:
        self._stack = stack
        self.name = stack.content.stack.name
        targets = stack.content.target
        self.machines = (targets,) if isinstance(targets, TargetTable) else targets
        # the lines by project, and those that take it from a commit
        self.lines: dict[NormalizedName, str] = {}
        self.commits: dict[NormalizedName, str] = {}
        for line in stack.content.stack.requires:
            need = parse_need(line, components, direct=True)
            if isinstance(need, Requirement):
                self.lines[need.name] = line
                if need.url:
                    self.commits[need.name] = line

    def rows(self, projects: Collection[NormalizedName]) -> str:
        """Return its own facts about some projects, and what must be absent, in TOML."""
        raw = toml.loads(self._stack.text, toml.STACK)
        tables = [table_text("absent", row) for row in raw.get("absent", ())]
        facts = with_fact_defaults(raw.get("fact", {}))
        for kind in KINDS:
            rows = facts.get(kind, ())
            about = [row for row in rows if text.name(row["package"]) in projects]
            tables += [table_text(f"fact.{kind}", row) for row in about]
        return "\n\n".join(tables)


class ShippedStacks:
    """The shipped stacks as ways out of one problem."""

    def __init__(self, trials: Trials, changes: Changes, proposals: Proposals) -> None:
        self._trials = trials
        self._proposals = proposals
        self._changes = changes
        self._named = named_projects(trials.problem)

    def stacks(self, constraints: Iterable[Constraint]) -> Iterator[ChangedStack]:
        """Yield the stack with what each shipped stack has instead of projects that no index has.

        First only those projects come from there, then all lines about projects of both. Stacks
        with more of the projects come first.
        """
        wanted = _lacking(constraints)
        components = self._trials.problem.target.components
        stacks = self._trials.shipped if wanted else ()
        shipped = [_Shipped(stack, components) for stack in stacks]
        fitting = [stack for stack in shipped if wanted & stack.commits.keys()]
        fitting.sort(key=lambda stack: len(self._named & stack.lines.keys()), reverse=True)
        for stack in fitting[:_STACKS]:
            yield self._with(stack, stack.commits, wanted)
            whole = self._with(stack, stack.lines, wanted)
            yield whole
            yield from self._on_its_machine(stack, whole)

    def _with(
        self,
        stack: _Shipped,
        lines: Mapping[NormalizedName, str],
        wanted: Collection[NormalizedName],
    ) -> ChangedStack:
        """Return the stack with some lines of a shipped one, and what it says of them."""
        changes: list[Change] = []
        price = costs.ADD
        for root in self._trials.problem.stack.requirements:
            if not isinstance(root.need, Requirement):
                continue
            name = root.need.name
            if name in lines and lines[name] != root.origin.text:
                changes.append(self._replaced(root, lines[name]))
            elif name in wanted and name not in stack.lines and lines is stack.lines:
                changes.append(self._changes.dropped(root))
                price += costs.DROP
        added = [name for name in stack.commits if name not in self._named and name in wanted]
        number = self._trials.next_number
        where = self._trials.files.stack.line("stack", "requires")
        for position, name in enumerate(added):
            line = lines[name]
            edit = SetLine(number + position, line)
            changes.append(Change(ChangeKind.LINE, name, "", line, where, edit=edit))
        taken = {name for name in stack.commits if name in self._named or name in added}
        rows = stack.rows(taken)
        subject = ", ".join(sorted(taken))
        changes.append(
            Change(ChangeKind.SOURCE, subject, stack.name, rows, where, edit=AddRows(rows))
        )
        return ChangedStack(tuple(changes), price, risky=False)

    def _on_its_machine(self, stack: _Shipped, changed: ChangedStack) -> Iterator[ChangedStack]:
        """Yield a changed stack with the toolkit of a shipped one, if that is another.

        All else of the machine must be the same: what has no order, such as a chip, and Python.
        """
        target = self._trials.problem.target
        for machine in stack.machines:
            is_same = (machine.platform, machine.python) == (target.platform, target.python)
            others = []
            for name, value in machine.system.items():
                component = target.components[name]
                is_stated = component.parse_stated(value) == target.system.get(name)
                is_same = is_same and (is_stated or component.grammar.is_ordered)
                if component.by_line and not is_stated and name in target.system:
                    others.append(self._proposals.component(name, value))
            if is_same and others:
                yield changed.then(others[0])
                return

    def _replaced(self, root: RootRequirement, line: str) -> Change:
        edit = SetLine(self._changes.number(root), line)
        origin = root.origin
        need = root.need
        assert isinstance(need, Requirement)  # noqa: S101  the line is about a project
        return Change(
            ChangeKind.VERSION, need.name, origin.text, line, where=origin.where, edit=edit
        )


# shipped stacks that are tried
_STACKS = 2


def _lacking(constraints: Iterable[Constraint]) -> set[NormalizedName]:
    """Return the projects that no index has, or has another project by the name of."""
    projects = set()
    for constraint in constraints:
        match constraint:
            case Unavailable(why=NoCandidate.PROJECT):
                projects.add(constraint.project)
            case Excluded(fact=Names()):
                projects.add(constraint.project)
            case _:
                pass
    return projects
