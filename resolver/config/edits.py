"""Stacks with edits (see `model/edit`): the content that the edited text would have."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from msgspec.structs import replace

from resolver import toml
from resolver.config.decode import decode
from resolver.config.lines import TomlText
from resolver.config.schema import FactFile, RelaxRow, StackFile, StackTable, TargetTable
from resolver.config.source_text import read_own_reference
from resolver.config.stack_lines import FileLine, stack_lines, with_lines
from resolver.config.targets import target_name
from resolver.config.toml_files import Document, with_defaults
from resolver.model import edit as edits
from resolver.model.component import BUILT_IN, Components
from resolver.model.edit import Edits
from resolver.model.fact import KINDS
from resolver.model.problem import Absence, Policy


class EditedStack(Document[StackFile], frozen=True, dict=True):
    """The file of a stack with edited content. The text and its places are not edited."""

    # The lines of the file.
    of_file: tuple[FileLine, ...]
    # For each line of the content, its number in the file. An added line has a higher number than
    # all lines of the file.
    numbers: tuple[int, ...]
    # The targets that need a name because of the edits, as number in the file and name (see
    # `_distinct_names`).
    names: tuple[tuple[int, str], ...]

    @cached_property
    def digest(self) -> str:
        """Return an empty text: a changed stack is locked only after its text was written."""
        return ""

    def line(self, *path: str | int) -> str:
        """Return file:line of a key of the content.

        For an added key, it is the line of the list or table to which it was added.
        """
        if path in self._lines:
            number = self.numbers[self._lines.index(path)]
            is_added = number >= len(self.of_file)
            path = path[:-1] if is_added else self.of_file[number].path
        return super().line(*path)

    @cached_property
    def _lines(self) -> list[tuple[str | int, ...]]:
        """Return the path of each line of the content."""
        return [line.path for line in stack_lines(self.content)]


def edited(stack: Document[StackFile], changes: Edits, components: Components) -> EditedStack:
    """Return a stack with edits.

    `components` are the components that its targets and facts may have.
    """
    content = stack.content
    of_file = stack_lines(content)
    lines = {number: (line.group, line.text) for number, line in enumerate(of_file)}
    for change in changes:
        match change:
            case edits.SetLine():
                group = lines.get(change.number, (change.group,))[0]
                lines[change.number] = (group, change.text)
            case edits.SetComponent():
                content = _with_component(content, change)
            case edits.DropConstraint() | edits.TurnOnPractice() | edits.UseFacts():
                content = replace(content, stack=_with_list(content.stack, change))
            case edits.AllowPrereleases() | edits.DropCutoff():
                content = replace(content, policy=_policy(content.policy, change))
            case edits.SetAside():
                needs = (change.need,) if change.need else ()
                relax = RelaxRow(fact=change.fact, needs=needs, reason=change.reason)
                content = replace(content, relax=(*content.relax, relax))
            case edits.AddRows():
                content = _with_rows(content, change, stack, components)
    kept = {number: line for number, line in lines.items() if line[1]}
    # The content has its lines group by group. An added line is the last line of its group.
    order = ["", *content.group]
    numbers = sorted(kept, key=lambda number: (order.index(kept[number][0]), number))
    content = with_lines(content, [kept[number] for number in numbers])
    names = tuple(_distinct_names(content, changes, components))
    for number, name in names:
        content = _with_target(content, number, replace(_target(content, number), name=name))
    return EditedStack(stack.name, stack.text, content, of_file, tuple(numbers), names)


def _with_list(
    table: StackTable, change: edits.DropConstraint | edits.TurnOnPractice | edits.UseFacts
) -> StackTable:
    """Return the table `stack` with an edit of `constraints`, `practices` or `facts`."""
    match change:
        case edits.DropConstraint():
            kept = [line for line in table.constraints if line != change.text]
            return replace(table, constraints=tuple(kept))
        case edits.TurnOnPractice():
            # If all practices are turned on, no way out turns on another one.
            assert table.practices != "all"  # noqa: S101
            return replace(table, practices=(*table.practices, change.name))
        case edits.UseFacts():
            return replace(table, facts=(*(table.facts or ()), change.project))


def _distinct_names(
    content: StackFile, changes: Edits, components: Components
) -> Iterator[tuple[int, str]]:
    """Yield the targets that need a name, as number in the file and name.

    A target without a name gets one that is made of its values. If edits give two such targets the
    same values, their locks would have the same name. So a number is appended to the name.
    """
    if isinstance(content.target, TargetTable):
        return
    names = [target_name(table, components) for table in content.target]
    changed = {change.target for change in changes if isinstance(change, edits.SetComponent)}
    for number in sorted(changed):
        derived = names[number]
        others = names[:number] + names[number + 1 :]
        if content.target[number].name is not None or derived not in others:
            continue
        suffix = 2
        while f"{derived}-{suffix}" in others:
            suffix += 1
        names[number] = f"{derived}-{suffix}"
        yield number, names[number]


def _policy(policy: Policy, change: edits.AllowPrereleases | edits.DropCutoff) -> Policy:
    """Return a policy with the change that an edit makes to it."""
    if isinstance(change, edits.DropCutoff):
        return replace(policy, exclude_newer=None)
    return replace(policy, prereleases_of={**policy.prereleases_of, change.project: "allow"})


def _target(content: StackFile, number: int) -> TargetTable:
    """Return the target with a number. If the file has a single target, return that one."""
    if isinstance(content.target, TargetTable):
        return content.target
    return content.target[number]


def _with_target(content: StackFile, number: int, table: TargetTable) -> StackFile:
    """Return the content with another target of this number."""
    if isinstance(content.target, TargetTable):
        return replace(content, target=table)
    targets = list(content.target)
    targets[number] = table
    return replace(content, target=tuple(targets))


def _with_component(content: StackFile, change: edits.SetComponent) -> StackFile:
    """Return the content with another value of a component."""
    table = _target(content, change.target)
    value = {change.component: change.value}
    if change.component in BUILT_IN:
        table = replace(table, **value)
    else:
        table = replace(table, system={**table.system, **value})
    return _with_target(content, change.target, table)


def _with_rows(
    content: StackFile,
    change: edits.AddRows,
    stack: Document[StackFile],
    components: Components,
) -> StackFile:
    """Return the content with the facts and the `absent` entries of an edit.

    The edit has them as TOML. Their place is the line of the table `fact` or `absent` in the file
    of the stack.
    """
    tables = toml.loads(change.text, toml.STACK)
    assert tables.keys() <= {"absent", "fact"}  # noqa: S101
    place = TomlText(stack.name, change.text)
    absent = [
        replace(absence, where=stack.line("absent"))
        for absence in decode(tuple[Absence, ...], tables.get("absent", []), place, components)
    ]
    file = content.fact
    facts = with_defaults(tables.get("fact", {}))
    added = decode(FactFile, facts, place, components, read_own_reference)
    for kind in KINDS:
        new_facts = [replace(fact, where=stack.line("fact")) for fact in getattr(added, kind)]
        if new_facts:
            file = replace(file, **{kind: (*getattr(file, kind), *new_facts)})
    return replace(content, fact=file, absent=(*content.absent, *absent))
