"""The text of a stack file, edited: comments are kept, and nothing but the change is touched.

A comment on the line of a changed value gets the previous value added, as the comment was about
that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, reduce
from itertools import count
from operator import delitem, getitem, setitem
from typing import Any

import tomli_w
import tomlkit

from resolver import toml
from resolver.config.decode import parse_need
from resolver.errors import InputError
from resolver.explain.trial import CUTOFF
from resolver.model.as_of import AUTO, NEWEST
from resolver.model.explanation import Change, ChangeKind
from resolver.model.fact import Need
from resolver.model.problem import NO_OPTIONS, PolicyOptions
from resolver.model.requirement import Requirement, parse_value
from resolver.model.target import default_name
from resolver.resolve.reasons import cutoff_text

_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'')
_COMMENT = re.compile(rf"^((?:{_STRING.pattern}|[^\"'#\n])*#[ \t]*)(?:instead of (.+?): )?([^\n]*)")
_LONGEST_NAME = 80

Path = Sequence[str | int]


def with_suffix(name: str, suffix: str) -> str:
    """A stack's name with a suffix, no longer than names may be."""
    return name[: _LONGEST_NAME - len(suffix)].rstrip("._-") + suffix


def subject(need: Need) -> str:
    """The project or the component that a line is about."""
    return need.name if isinstance(need, Requirement) else need.component


def table_text(key: str, row: Mapping[str, object]) -> str:
    """A row of an array of tables in TOML."""
    return f"[[{key}]]\n{tomli_w.dumps(row).rstrip()}"


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
        """The stack with a name of its own, and a head and summaries that say of which stack it is a way out.

        What `options` replace of the stack's policy is written into it.
        """
        stack = self.with_key(("stack", "name"), name)
        for key, form in (
            ("summary", "way out {} of {} ({})"),
            ("summary-zh", "{1} 的解决办法 {0}（{2}）"),
        ):
            if (summary := self._raw["stack"].get(key)) is not None:
                stack = stack.with_key(("stack", key), form.format(letter, original, summary))
        if cutoff := cutoff_text(options.exclude_newer):
            stack = stack.with_key(("policy", CUTOFF), tomlkit.value(cutoff))
        if options.as_of in (AUTO, NEWEST):
            stack = stack.with_key(("policy", "as-of"), options.as_of)
        elif options.as_of:
            stack = stack.with_key(("policy", "as-of"), tomlkit.value(options.as_of))
        return StackText(
            f"# Way out {letter} of `{original}`: what follows was written for that stack.\n{stack.text}"
        )

    def needs(self) -> dict[int, Need]:
        """The requirements of its lines, by number, as far as they can be parsed: compiling reports the others."""
        needs: dict[int, Need] = {}
        for number, line in enumerate(self._raw["stack"]["requires"]):
            with suppress(InputError, ValueError):
                needs[number] = parse_need(line, direct=True)
        return needs

    def with_new_line(self, line: str) -> StackText:
        """With one more requirement, the last."""
        return self._edited(lambda document: document["stack"]["requires"].append(line))

    def with_line(self, number: int, after: str) -> StackText:
        """With one of its requirements replaced."""
        return self.with_value(("stack", "requires", number), after)

    def without_lines(self, numbers: Collection[int]) -> StackText:
        """Without some of its requirements."""
        stack = self
        for at in sorted(numbers, reverse=True):
            stack = stack.without(("stack", "requires", at))
        return stack

    def with_component(self, target: int, name: str, after: str) -> StackText:
        """With another value of a component of the target at this place."""
        path: Path = ("target", target) if isinstance(self._raw["target"], list) else ("target",)
        return self.with_value(
            (*path, name) if name in ("python", "glibc") else (*path, "system", name), after
        )

    def apart(self, target: int) -> StackText:
        """With a name for the target at this place, if it has none and its derived one is another target's."""
        rows = self._raw["target"]
        if not isinstance(rows, list) or "name" in rows[target]:
            return self
        taken = {_target_name(row) for at, row in enumerate(rows) if at != target}
        name = _target_name(rows[target])
        if name not in taken:
            return self
        next_number = next(number for number in count(2) if f"{name}-{number}" not in taken)
        return self.with_key(("target", target, "name"), f"{name}-{next_number}")

    def undone(self, change: Change, target: int) -> StackText:
        """Without a change of a line, or of a component of the target at this place; unchanged for other changes."""
        if change.kind is ChangeKind.COMPONENT:
            return self.with_component(target, change.subject, change.before).apart(target)
        stack = self
        for at, line in enumerate(self._raw["stack"]["requires"]):
            if line == change.after and change.kind in (ChangeKind.VERSION, ChangeKind.EXTRA):
                stack = stack.with_line(at, change.before)
        return stack

    def with_value(self, path: Path, after: str) -> StackText:
        """With another text at a key, such as ("target", "system", "cann"), or with a new key.

        The previous value is added to the comment on its line.
        """
        table = reduce(getitem, path[:-1], self._raw)
        changed = self.with_key(path, after)
        if isinstance(table, dict) and path[-1] not in table:
            return changed
        rows = zip(self.text.split("\n"), changed.text.split("\n"), strict=True)
        return StackText(
            "\n".join(
                new if new == old else _noted(new, table[path[-1]], after) for old, new in rows
            )
        )

    def with_names(self, key: str, names: Iterable[str]) -> StackText:
        """With more names in its list of facts or practices, which is made if there is none."""

        def extend(document: Any) -> None:
            document["stack"].setdefault(key, []).extend(names)

        return self._edited(extend)

    def without_practice(self, name: str) -> StackText:
        """With this practice turned off; others stay on."""
        return self.without(("stack", "practices", self._raw["stack"]["practices"].index(name)))

    def with_table(self, key: str, row: Mapping[str, object]) -> StackText:
        """With one more row of an array of tables, at the end of the file: ("relax", {…}), ("fact.replaces", {…})."""
        return StackText(f"{self.text.rstrip()}\n\n{table_text(key, row)}\n")

    def _edited(self, edit: Callable[[Any], None]) -> StackText:
        document = tomlkit.parse(self.text)
        edit(document)
        return StackText(tomlkit.dumps(document))

    def with_key(self, path: Path, value: object) -> StackText:
        """With a value at a path, whose tables are made where there are none."""
        return self._edited(lambda document: setitem(_table(document, path[:-1]), path[-1], value))

    def without(self, path: Path) -> StackText:
        """Without the key or the element at a path."""
        return self._edited(lambda document: delitem(_table(document, path[:-1]), path[-1]))


def _target_name(row: Mapping[str, Any]) -> str:
    system = {name: parse_value(name, value) for name, value in row.get("system", {}).items()}
    return str(row.get("name") or default_name(row["python"], row["platform"], system))


def _table(document: Any, path: Path) -> Any:
    """The table or list at a path; tables that are missing are made."""
    for step in path:
        document = document[step] if isinstance(step, int) else document.setdefault(step, {})
    return document


def _noted(row: str, before: str, after: str) -> str:
    """A row with the previous value in its comment: that before any change, and none if it is the same again."""

    def note(match: re.Match[str]) -> str:
        start, earlier, comment = match.groups()
        if earlier == after:
            return f"{start}{comment}"
        return f"{start}instead of {earlier or before}: {comment}"

    return _COMMENT.sub(note, row, count=1)
