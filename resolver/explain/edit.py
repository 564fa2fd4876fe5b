"""Editing a stack file's text: comments are kept, and nothing but the change is touched.

A comment beside a changed value gets the previous value added, as the comment was about that one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from functools import reduce
from itertools import count
from operator import getitem
from typing import Any

import tomli
import tomli_w
from packaging.requirements import InvalidRequirement

from resolver.config.lines import Lines
from resolver.model import text as texts
from resolver.model.requirement import Requirement, parse_value
from resolver.model.target import default_name

_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'')
_COMMENT = re.compile(rf"((?:{_STRING.pattern}|[^\"'#\n])*#[ \t]*)([^\n]*)")
_CUTOFF = re.compile(r"(exclude-newer[\"']?\s*=\s*)[0-9][-+:.0-9TtZz ]*[0-9Zz]")
_ROW = re.compile(r"[^\n]*\n|[^\n]+")
_NOTE = re.compile(r"instead of (.+?): ")
_LONGEST_NAME = 80


def with_suffix(name: str, suffix: str) -> str:
    """A stack's name with a suffix, no longer than names may be."""
    return name[: _LONGEST_NAME - len(suffix)].rstrip("._-") + suffix


def as_list(names: Iterable[str]) -> str:
    """The names as a list in TOML, on one line."""
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


class StackText:
    """The text of a stack file. Each change returns a new one."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._raw: Any = tomli.loads(text)

    def renamed(self, name: str) -> StackText:
        """The stack under another name."""
        return self._with(("stack", "name"), self._raw["stack"]["name"], name)

    def way_out(self, letter: str, of: str) -> StackText:
        """The stack with a head and summaries that name the stack it is a way out of, as the rest is about that one."""
        stack = self
        for key, form in (("summary", "way out {} of {} ({})"), ("summary-zh", "{1} 的解决办法 {0}（{2}）")):
            if (summary := self._raw["stack"].get(key)) is not None:
                stack = stack._with(("stack", key), summary, form.format(letter, of, summary))
        return StackText(f"# Way out {letter} of `{of}`: what follows was written for that stack.\n{stack.text}")

    def requirements(self) -> Iterator[Requirement]:
        """The lines about projects, whatever their markers."""
        for line in self._raw["stack"]["requires"]:
            with suppress(InvalidRequirement):  # a component
                yield texts.requirement(line)

    def with_line(self, number: int, after: str) -> StackText:
        """With one of its requirements replaced."""
        return self._instead(("stack", "requires", number), self._raw["stack"]["requires"][number], after)

    def without_lines(self, numbers: Sequence[int]) -> StackText:
        """Without some of its requirements."""
        stack = self
        for at in sorted(numbers, reverse=True):
            stack = stack._cut("requires", at)
        return stack

    def with_component(self, target: int, name: str, after: str) -> StackText:
        """With another value of a component of the target at this place."""
        path: tuple[str | int, ...] = ("target", target) if isinstance(self._raw["target"], list) else ("target",)
        return self.with_value((*path, name) if name in ("python", "glibc") else (*path, "system", name), after)

    def apart(self, target: int, others: Collection[str]) -> StackText:
        """With a name for the target at this place, if it has none and its derived one would be among the `others`."""
        if not isinstance(self._raw["target"], list) or "name" in self._raw["target"][target]:
            return self
        row = self._raw["target"][target]
        system = {name: parse_value(name, value) for name, value in row.get("system", {}).items()}
        name = default_name(row["python"], row["platform"], system)
        if name not in others:
            return self
        numbered = (f"{name}-{number}" for number in count(2))
        return self.with_value(("target", target, "name"), next(one for one in numbered if one not in others))

    def places_of(self, line: str) -> list[int]:
        """The positions of a requirement among those of the stack."""
        return [at for at, one in enumerate(self._raw["stack"]["requires"]) if one == line]

    def with_value(self, path: tuple[str | int, ...], after: str) -> StackText:
        """With another text at a key, such as ("target", "system", "cann"), or with a new key."""
        table: Any = reduce(getitem, path[:-1], self._raw)
        if isinstance(table, dict) and path[-1] not in table:
            return self._with_key(path, table, after)
        return self._instead(path, table[path[-1]], after)

    def with_fact_file(self, name: str) -> StackText:
        """With one more name in its list of facts."""
        return self._with_name("facts", name)

    def with_practices(self, names: Collection[str]) -> StackText:
        """With these practices turned on as well."""
        stack = self
        for name in names:
            if "practices" in stack._raw["stack"]:
                stack = stack._with_name("practices", name)
            else:
                stack = stack._with_key(("stack", "practices"), stack._raw["stack"], [name])
        return stack

    def without_practices(self, names: Collection[str]) -> StackText:
        """With none of these practices turned on; others are."""
        stack = self
        for name in names:
            stack = stack._cut("practices", stack._raw["stack"]["practices"].index(name))
        return stack

    def _with_name(self, key: str, name: str) -> StackText:
        """With one more name in a list of the stack's."""
        names = list(self._raw["stack"][key])
        expected = _put(self._raw, ("stack", key), [*names, name])
        if not names:
            return self._first([], expected)

        def longer(row: str) -> Iterator[str]:
            return (f'{row[: match.end()]}, "{name}"{row[match.end() :]}' for match in _STRING.finditer(row))

        return self._edited(("stack", key, len(names) - 1), longer, expected)

    def without_cutoff(self) -> StackText:
        """Without exclude-newer."""
        policy = {key: value for key, value in self._raw["policy"].items() if key != "exclude-newer"}
        return self._edited(("policy", "exclude-newer"), lambda _: [""], {**self._raw, "policy": policy})

    def with_cutoff(self, before: StackText, day: date | None = None) -> StackText:
        """With the exclude-newer line that this stack lacks and one before it had, or with another day in it."""
        at = Lines(before.text).line(("policy", "exclude-newer")) - 1
        row = _rows(before.text)[at]
        value = before._raw["policy"]["exclude-newer"] if day is None else day
        if day is not None:
            row = _CUTOFF.sub(rf"\g<1>{day}", row, count=1)
        rows = _rows(self.text)
        places = sorted(range(len(rows) + 1), key=lambda place: abs(place - at))
        longer = ("".join([*rows[:place], row, *rows[place:]]) for place in places)
        return self._first(longer, _put(self._raw, ("policy", "exclude-newer"), value))

    def until(self, cutoff: str) -> StackText:
        """With this cut-off, a day or a moment in TOML, instead of its own or none."""
        row, path = f"exclude-newer = {cutoff}\n", ("policy", "exclude-newer")
        expected = _put(self._raw, path, tomli.loads(row)["exclude-newer"])
        if "exclude-newer" in self._raw.get("policy", {}):
            return self._edited(path, lambda own: [_CUTOFF.sub(rf"\g<1>{cutoff}", own, count=1)], expected)
        rows = _rows(self.text)
        longer = [f"{self.text.rstrip()}\n\n[policy]\n{row}"]
        if "policy" in self._raw:
            longer = ["".join([*rows[:at], row, *rows[at:]]) for at in range(1, len(rows) + 1)]
        return self._first(longer, expected)

    def with_prereleases(self, project: str) -> StackText:
        """With pre-releases of a project allowed."""
        longer = f'{self.text.rstrip()}\n\n[policy.prereleases-of]\n{project} = "allow"\n'
        return self._first([longer], _put(self._raw, ("policy", "prereleases-of", project), "allow"))

    def with_table(self, key: str, row: Mapping[str, Any]) -> StackText:
        """With one more row of an array of tables at its end: ("relax", {…}), ("fact.replaces", {…})."""
        longer = f"{self.text.rstrip()}\n\n[[{key}]]\n{tomli_w.dumps(dict(row))}"
        path = tuple(key.split("."))
        known = reduce(lambda table, step: table.get(step, {}), path, self._raw)
        return self._first([longer], _put(self._raw, path, [*known, dict(row)]))

    # --- the text

    def _instead(self, path: tuple[str | int, ...], before: str, after: str) -> StackText:
        """With another value at a path, and the previous value in the comment beside it."""
        return self._with(path, before, after, f"instead of {before}: ")

    def _with(self, path: tuple[str | int, ...], before: str, after: str, note: str = "") -> StackText:
        """With the text at a path replaced; a comment beside it then begins with `note`."""
        return self._edited(path, lambda row: _swapped(row, before, after, note), _put(self._raw, path, after))

    def _with_key(self, path: tuple[str | int, ...], table: Mapping[str, Any], value: str | Sequence[str]) -> StackText:
        """With one more key in a table, after the last of its plain ones."""
        rows = _rows(self.text)
        plain = [name for name, known in table.items() if not isinstance(known, (dict, list))]
        lines = Lines(self.text)
        places = [lines.line((*path[:-1], name)) for name in plain]
        text = f'"{value}"' if isinstance(value, str) else as_list(value)
        row = f"{path[-1]} = {text}\n"
        longer = (_joined(rows, at - 1, f"{rows[at - 1].rstrip()}\n{row}") for at in places[::-1])
        return self._first(longer, _put(self._raw, path, value))

    def _cut(self, key: str, number: int) -> StackText:
        """Without one text of a list of the stack's: without its line, or its part of a line."""
        kept = list(self._raw["stack"][key])
        gone = kept.pop(number)
        expected = _put(self._raw, ("stack", key), kept)
        return self._edited(("stack", key, number), lambda row: ["", *_without(row, gone)], expected)

    def _edited(
        self, path: tuple[str | int, ...], edit: Callable[[str], Iterable[str]], expected: Mapping[str, Any]
    ) -> StackText:
        """With the line of a key replaced by the first that gives the expected content."""
        rows = _rows(self.text)
        at = Lines(self.text).line(path) - 1
        return self._first((_joined(rows, at, row) for row in edit(rows[at])), expected)

    @staticmethod
    def _first(texts: Iterable[str], expected: Mapping[str, Any]) -> StackText:
        """The first of these texts with the expected content; if none has it, the whole file written anew."""
        for text in texts:
            with suppress(tomli.TOMLDecodeError):
                if tomli.loads(text) == expected:
                    return StackText(text)
        return StackText(tomli_w.dumps(expected))


def _rows(text: str) -> list[str]:
    """The lines with their ends, as TOML counts them: other characters at which Python splits are text to it."""
    return _ROW.findall(text)


def _joined(rows: Sequence[str], at: int, row: str) -> str:
    """The text of these rows with one replaced."""
    return "".join([*rows[:at], row, *rows[at + 1 :]])


def _swapped(row: str, before: str, after: str, note: str) -> Iterator[str]:
    """For each occurrence of a string, the line with it replaced, and a note before its comment."""
    quoted = tomli_w.dumps({"x": after}).strip().removeprefix("x = ")
    for match in _STRING.finditer(row):
        if tomli.loads(f"x = {match[0]}")["x"] == before:
            rest = row[match.end() :]
            comment = _COMMENT.match(rest)
            if comment is not None:
                rest = comment[1] + _noted(rest[comment.end(1) :], note, after)
            yield row[: match.start()] + quoted + rest


def _noted(comment: str, note: str, after: str) -> str:
    """A comment with a note before it; an earlier change's note is kept, unless the text is again what it was then."""
    earlier = _NOTE.match(comment) if note else None
    if earlier is None:
        return note + comment
    return comment[earlier.end() :] if earlier[1] == after else comment


def _without(row: str, gone: str) -> Iterator[str]:
    """A line without a string and its comma."""
    for match in _STRING.finditer(row):
        if tomli.loads(f"x = {match[0]}")["x"] == gone:
            before, after = row[: match.start()], row[match.end() :]
            yield before + re.sub(r"^\s*,\s*", "", after)
            yield re.sub(r"\s*,\s*$", "", before) + after


def _put(tree: Any, path: tuple[str | int, ...], value: Any) -> Any:
    """A copy of a tree with another value at a path, whose tables are made where there are none."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(tree, list):
        return [_put(one, rest, value) if at == step else one for at, one in enumerate(tree)]
    return {**tree, step: _put(tree.get(step, {}), rest, value)}
