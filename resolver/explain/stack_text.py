"""Edit the text of a stack's TOML file. Comments and layout stay, and nothing else changes.

`trials` writes the text of fixes with it. If a changed value has a comment on its line, the
previous value is added to that comment, as the comment was about it.
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
from resolver.model.change import CUTOFF
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
from resolver.model.text import Language
from resolver.phrase import Phrase, phrase
from resolver.resolve.reasons import cutoff_text

_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'')
# What a comment on a changed value begins with: the previous value.
_NOTES: Mapping[Language, str] = {"en": "instead of {value}: ", "zh": "原为 {value}："}
# A line with a comment: what is before it, the previous value in either language, and the rest.
_COMMENT = re.compile(
    rf"^((?:{_STRING.pattern}|[^\"'#\n])*#[ \t]*)"
    r"(?:instead of (.+?): |原为 (.+?)：)?"
    r"([^\n]*)"
)
# The beginning of a table's header. tomli_w writes no strings on several lines, which could look
# like one.
_HEADER = re.compile(r"^\[+", re.MULTILINE)
# The longest name of a stack, in characters.
_LONGEST_NAME = 80

# The keys and indexes that lead to a value, such as ("target", "system", "cann").
Path = Sequence[str | int]


def with_suffix(name: str, suffix: str) -> str:
    """Return a stack's name with a suffix. The name is shortened if it would be too long."""
    return name[: _LONGEST_NAME - len(suffix)].rstrip("._-") + suffix


def way_out_comment(letter: str, original: str) -> Phrase:
    """Return the comment at the top of the way out of a stack `original` with this letter."""
    return phrase(
        "Way out {letter} of `{original}`: what follows was written for that stack.",
        letter=letter,
        original=original,
    )


def table_text(key: str, element: Mapping[str, object]) -> str:
    """Return one element of an array of tables as TOML: a `[[key]]` header and its keys."""
    # A table within the element has a header of its own, which must begin with the key.
    body = _HEADER.sub(rf"\g<0>{key}.", tomli_w.dumps(element).rstrip())
    return f"[[{key}]]\n{body}"


class StackText:
    """The text of a stack's TOML file. It does not change: each edit returns a new one."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _raw(self) -> Any:
        """Return the TOML as read, without a check against the schema."""
        return toml.loads(self.text, toml.STACK)

    def way_out(
        self, letter: str, original: str, name: str, options: PolicyOptions = NO_OPTIONS
    ) -> StackText:
        """Return the text of the way out of a conflict with this letter, named `name`.

        A comment at the top, and the stack's summaries, say that it is a way out of the stack
        `original`. Parts of the policy that `options` replace are written.
        """
        stack = self.with_key(("stack", "name"), name)
        summaries = {
            "summary": "way out {letter} of {original} ({summary})",
            "summary-zh": "{original} 的解决办法 {letter}（{summary}）",
        }
        for key, form in summaries.items():
            # If the summary is in one language only, it is used for both.
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
        return StackText(f"# {way_out_comment(letter, original)}\n{stack.text}")

    def needs(self, components: Components, group: str | None = None) -> dict[int, Need]:
        """Return the requirements of the stack's lines, by the number of the line.

        `group` is the name of a group, empty for the lines of every group, and None for all lines.
        Lines that cannot be parsed are left out: compiling the stack reports them.
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
        """Return the lines of `requires` in the stack and its groups, ordered by their numbers."""
        groups = {name: table.get("requires", ()) for name, table in self.groups.items()}
        return tuple(number_lines(self._raw["stack"]["requires"], groups))

    @property
    def groups(self) -> Mapping[str, Any]:
        """Return the tables of the stack's groups, by name."""
        groups: dict[str, Any] = self._raw.get("group", {})
        return groups

    def with_new_line(self, line: str, group: str) -> StackText:
        """Return the text with a new last requirement of a group; without a group, of the stack."""
        table = ("group", group) if group else ("stack",)
        return self.with_names("requires", [line], table)

    def with_line(self, number: int, after: str) -> StackText:
        """Return the text with another requirement in place of the one with this number."""
        return self.with_value(self.lines[number].path, after)

    def without_lines(self, numbers: Collection[int]) -> StackText:
        """Return the text without the requirements with these numbers."""
        stack = self
        for number in sorted(numbers, reverse=True):
            stack = stack.without(self.lines[number].path)
        return stack

    def with_component(self, target: int, name: str, after: str) -> StackText:
        """Return the text with another value of a component of the target with this number."""
        table: Path = ("target", target) if isinstance(self._raw["target"], list) else ("target",)
        if name not in BUILT_IN:
            table = (*table, "system")
        return self.with_value((*table, name), after)

    def with_edits(self, edits: Edits, names: Iterable[tuple[int, str]]) -> StackText:
        """Return the text after edits of the stack as it was read.

        `names` has the names that targets get, by number, because they would be the same machine as
        another target otherwise.
        """
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
        """Return the text with lines set by number, as `SetLine` describes it."""
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
        """Return the text after one edit."""
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
        """Return the text without a line of `constraints`. Raise ValueError if there is none."""
        number = self._raw["stack"]["constraints"].index(line)
        return self.without(("stack", "constraints", number))

    def with_value(self, path: Path, after: str) -> StackText:
        """Return the text with another value at a path whose table exists. The key may be new.

        The previous value is added to the comment on its line, if there is one.
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
        """Return the text with names at the end of a list, such as `practices` of `stack`.

        The list is made if there is none.
        """
        document = tomlkit.parse(self.text)
        _table(document, table).setdefault(key, []).extend(names)
        return StackText(tomlkit.dumps(document))

    def with_table(self, table: str) -> StackText:
        """Return the text with elements of arrays of tables, as TOML with headers, at its end.

        If the file has such an array as a list in brackets, the elements are added to that list:
        TOML does not allow a header for it.
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
        """Return the text with another value at a path. Tables that are missing are made."""
        document = tomlkit.parse(self.text)
        _table(document, path[:-1])[path[-1]] = value
        return StackText(tomlkit.dumps(document))

    def without(self, path: Path) -> StackText:
        """Return the text without the key or the element at a path.

        Raise KeyError or IndexError if there is none.
        """
        document = tomlkit.parse(self.text)
        del _table(document, path[:-1])[path[-1]]
        return StackText(tomlkit.dumps(document))


def _table(document: Any, path: Path) -> Any:
    """Return the table or the list at a path. Tables that are missing are made."""
    table = document
    for step in path:
        table = table[step] if isinstance(step, int) else table.setdefault(step, {})
    return table


def _noted(line: str, before: str, after: str) -> str:
    """Return a line with the previous value added to its comment, if it has a comment.

    After several changes it is the first value, before all changes. The addition is removed if the
    value is what it was first. It is in English, see `with_notes_in`.
    """

    def note(match: re.Match[str]) -> str:
        start, in_english, in_chinese, comment = match.groups()
        first = in_english or in_chinese or before
        note = "" if first == after else _NOTES["en"].format(value=first)
        return f"{start}{note}{comment}"

    return _COMMENT.sub(note, line, count=1)


def with_notes_in(language: Language, text: str, original: str) -> str:
    """Return the text of an edited stack with the previous values in comments in a language.

    Lines of the `original` text stay as they are.
    """

    def note(match: re.Match[str]) -> str:
        start, in_english, in_chinese, comment = match.groups()
        value = in_english or in_chinese
        return f"{start}{_NOTES[language].format(value=value)}{comment}" if value else match[0]

    kept = set(original.split("\n"))
    lines = text.split("\n")
    return "\n".join(line if line in kept else _COMMENT.sub(note, line, count=1) for line in lines)
