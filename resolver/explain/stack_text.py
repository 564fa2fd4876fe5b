"""The text of a stack file, edited: comments are kept, and nothing but the change is touched.

A comment on the line of a changed value gets the previous value added, as the comment was about
that.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import tomli_w
import tomlkit

from resolver import toml
from resolver.config.decode import parse_need
from resolver.config.stack_lines import FileLine, number_lines
from resolver.errors import InputError
from resolver.model.as_of import AUTO, NEWEST
from resolver.model.component import BUILT_IN, Components
from resolver.model.edit import (
    AddRows,
    AllowPrereleases,
    DropConstraint,
    DropCutoff,
    Edit,
    Edits,
    SetAside,
    SetComponent,
    SetLine,
    TurnOnPractice,
    UseFacts,
)
from resolver.model.fact import Need
from resolver.model.problem import NO_OPTIONS, PolicyOptions
from resolver.model.requirement import Requirement
from resolver.resolve.reasons import cutoff_text

_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'')
_COMMENT = re.compile(rf"^((?:{_STRING.pattern}|[^\"'#\n])*#[ \t]*)(?:instead of (.+?): )?([^\n]*)")
# the beginning of a header, where tomli_w has written no text on several lines
_HEADER = re.compile(r"^\[+", re.MULTILINE)
# characters
_LONGEST_NAME = 80
# the key in [policy]
CUTOFF = "exclude-newer"

# the keys and indexes that lead to a value, such as ("target", "system", "cann")
Path = Sequence[str | int]


def with_suffix(name: str, suffix: str) -> str:
    """Return a stack's name with a suffix, no longer than names may be."""
    return name[: _LONGEST_NAME - len(suffix)].rstrip("._-") + suffix


def subject(need: Need) -> str:
    """Return the project or the component that a line is about."""
    return need.name if isinstance(need, Requirement) else need.component


def table_text(key: str, row: Mapping[str, object]) -> str:
    """Return a row of an array of tables in TOML."""
    # tables within the row have a header of their own, which begins with the row's
    body = _HEADER.sub(rf"\g<0>{key}.", tomli_w.dumps(row).rstrip())
    return f"[[{key}]]\n{body}"


class StackText:
    """The text of a stack file. Each change returns a new one."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _raw(self) -> Any:
        return toml.loads(self.text, toml.STACK)

    def way_out(
        self, letter: str, original: str, name: str, options: PolicyOptions = NO_OPTIONS
    ) -> StackText:
        """Name the stack, and say in its head and summaries of which stack it is a way out.

        What `options` replace of the stack's policy is written into it.
        """
        stack = self.with_key(("stack", "name"), name)
        summaries = {
            "summary": "way out {letter} of {original} ({summary})",
            "summary-zh": "{original} 的解决办法 {letter}（{summary}）",
        }
        for key, form in summaries.items():
            # A summary in one language alone, whichever, is what people of the other one read, too.
            summary = self._raw["stack"].get(key) or self._raw["stack"].get("summary")
            if summary:
                summary = form.format(letter=letter, original=original, summary=summary)
                stack = stack.with_key(("stack", key), summary)
        cutoff, as_of = cutoff_text(options.exclude_newer), options.as_of
        if cutoff:
            stack = stack.with_key(("policy", CUTOFF), tomlkit.value(cutoff))
        if as_of:
            value = as_of if as_of in (AUTO, NEWEST) else tomlkit.value(as_of)
            stack = stack.with_key(("policy", "as-of"), value)
        head = f"# Way out {letter} of `{original}`: what follows was written for that stack."
        return StackText(f"{head}\n{stack.text}")

    def needs(self, components: Components, group: str | None = None) -> dict[int, Need]:
        """Return the requirements of its lines, by number: of one group, or of all.

        Lines of every group are those of the group "". Lines that cannot be parsed are left out:
        compiling reports them.
        """
        needs: dict[int, Need] = {}
        for number, line in enumerate(self.lines):
            if group is not None and line.group != group:
                continue
            with suppress(InputError, ValueError):
                needs[number] = parse_need(line.text, components, direct=True)
        return needs

    @cached_property
    def lines(self) -> tuple[FileLine, ...]:
        """Return its requirements, by number."""
        groups = {name: table.get("requires", ()) for name, table in self.groups.items()}
        return tuple(number_lines(self._raw["stack"]["requires"], groups))

    @property
    def groups(self) -> Mapping[str, Any]:
        """Return the tables of its groups, by name."""
        groups: dict[str, Any] = self._raw.get("group", {})
        return groups

    def with_new_line(self, line: str, group: str = "") -> StackText:
        """Add a requirement, as the last of the group, or of every group."""
        table = ("group", group) if group else ("stack",)
        return self.with_names("requires", [line], table)

    def with_line(self, number: int, after: str) -> StackText:
        """Replace one of its requirements."""
        return self.with_value(self.lines[number].path, after)

    def without_lines(self, numbers: Collection[int]) -> StackText:
        """Remove some of its requirements."""
        stack = self
        for number in sorted(numbers, reverse=True):
            stack = stack.without(self.lines[number].path)
        return stack

    def with_component(self, target: int, name: str, after: str) -> StackText:
        """Set another value of a component of the target at this place."""
        table: Path = ("target", target) if isinstance(self._raw["target"], list) else ("target",)
        if name not in BUILT_IN:
            table = (*table, "system")
        return self.with_value((*table, name), after)

    def with_edits(self, edits: Edits, names: Iterable[tuple[int, str]]) -> StackText:
        """Apply edits. `names` are those of targets that need one for it, by number."""
        stack = self
        lines: dict[int, SetLine] = {}
        for edit in edits:
            if isinstance(edit, SetLine):
                lines[edit.number] = edit
            else:
                stack = stack._with_edit(edit)
        for target, name in names:
            stack = stack.with_key(("target", target, "name"), name)
        return stack._with_lines(lines)

    def _with_lines(self, lines: Mapping[int, SetLine]) -> StackText:
        """Set lines by number; a number after the last one adds a line, an empty text drops one."""
        known = len(self.lines)
        stack = self
        for number, line in lines.items():
            if line.text and number < known:
                stack = stack.with_line(number, line.text)
        # The lines keep their numbers until the last one is dropped.
        dropped = [number for number, line in lines.items() if not line.text and number < known]
        stack = stack.without_lines(dropped)
        for number, line in sorted(lines.items()):
            if line.text and number >= known:
                stack = stack.with_new_line(line.text, line.group)
        return stack

    def _with_edit(self, edit: Edit) -> StackText:
        match edit:
            case SetLine():
                return self._with_lines({edit.number: edit})
            case SetComponent():
                return self.with_component(edit.target, edit.component, edit.value)
            case DropConstraint():
                return self._without_constraint(edit.text)
            case TurnOnPractice():
                return self.with_names("practices", [edit.name])
            case UseFacts():
                return self.with_names("facts", [edit.project])
            case AllowPrereleases():
                return self.with_key(("policy", "prereleases-of", edit.project), "allow")
            case DropCutoff():
                return self.without(("policy", CUTOFF))
            case SetAside():
                needs = {"needs": [edit.need]} if edit.need else {}
                row = {"fact": edit.fact, **needs, "reason": edit.reason}
                return self.with_table(table_text("relax", row))
            case AddRows():
                return self.with_table(edit.text)

    def _without_constraint(self, line: str) -> StackText:
        number = self._raw["stack"]["constraints"].index(line)
        return self.without(("stack", "constraints", number))

    def with_value(self, path: Path, after: str) -> StackText:
        """Set another text at a key or an index, or at a new key.

        The previous value is added to the comment on its line.
        """
        *steps, key = path
        table = self._raw
        for step in steps:
            table = table[step]
        changed = self.with_key(path, after)
        if isinstance(table, dict) and key not in table:
            return changed
        before = table[key]
        old_lines, new_lines = self.text.split("\n"), changed.text.split("\n")
        if len(old_lines) != len(new_lines):
            # A value on several lines has no comment to add to.
            return changed
        lines = zip(old_lines, new_lines, strict=True)
        return StackText(
            "\n".join(new if new == old else _noted(new, before, after) for old, new in lines)
        )

    def with_names(self, key: str, names: Sequence[str], table: Path = ("stack",)) -> StackText:
        """Add names to its list of lines, facts or practices, which is made if there is none."""
        document = tomlkit.parse(self.text)
        _table(document, table).setdefault(key, []).extend(names)
        return StackText(tomlkit.dumps(document))

    def with_table(self, table: str) -> StackText:
        """Add rows of arrays of tables, such as `[[fact.replaces]]`, at the end of the file.

        An array that the file has in brackets gets them there: no header can add to it.
        """
        text = f"{self.text.rstrip()}\n\n{table}\n"
        with suppress(toml.DecodeError):
            toml.loads(text, toml.STACK)
            return StackText(text)
        document = tomlkit.parse(self.text)
        for key, rows in toml.loads(table, toml.STACK).items():
            kinds = rows if isinstance(rows, dict) else {key: rows}
            place = _table(document, (key,)) if isinstance(rows, dict) else document
            for kind, added in kinds.items():
                place.setdefault(kind, []).extend(added)
        return StackText(tomlkit.dumps(document))

    def with_key(self, path: Path, value: object) -> StackText:
        """Set a value at a path, whose tables are made where there are none."""
        document = tomlkit.parse(self.text)
        _table(document, path[:-1])[path[-1]] = value
        return StackText(tomlkit.dumps(document))

    def without(self, path: Path) -> StackText:
        """Remove the key or the element at a path."""
        document = tomlkit.parse(self.text)
        del _table(document, path[:-1])[path[-1]]
        return StackText(tomlkit.dumps(document))


def _table(document: Any, path: Path) -> Any:
    """Return the table or list at a path; tables that are missing are made."""
    table = document
    for step in path:
        table = table[step] if isinstance(step, int) else table.setdefault(step, {})
    return table


def _noted(line: str, before: str, after: str) -> str:
    """Add the previous value to the comment of a line, if there is a comment.

    After several changes it is the value before any of them, and none if it is the same again.
    """

    def note(match: re.Match[str]) -> str:
        start, earlier, comment = match.groups()
        if earlier == after:
            return f"{start}{comment}"
        return f"{start}instead of {earlier or before}: {comment}"

    return _COMMENT.sub(note, line, count=1)
