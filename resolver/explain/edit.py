"""Changing a stack file: its own text, with its comments, and nothing touched but what changes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tomli
import tomli_w

from resolver.matrix.lines import Lines

_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'')


_LONGEST_NAME = 80


def with_suffix(name: str, suffix: str) -> str:
    """A stack's name with something after it, no longer than names may be."""
    return name[: _LONGEST_NAME - len(suffix)].rstrip("._-") + suffix


class StackText:
    """The text of a stack file. Each change gives a new one."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._raw: dict[str, Any] = tomli.loads(text)

    def renamed(self, name: str) -> StackText:
        """The same stack under another name."""
        return self._with(("stack", "name"), self._raw["stack"]["name"], name)

    def with_line(self, number: int, after: str) -> StackText:
        """With another text for one of its requirements."""
        return self._with(("stack", "requires", number), self._raw["stack"]["requires"][number], after)

    def without_lines(self, numbers: Sequence[int]) -> StackText:
        """Without some of its requirements."""
        rows = self._raw["stack"]["requires"]
        kept = [row for at, row in enumerate(rows) if at not in set(numbers)]
        stack = self
        for at in sorted(numbers, reverse=True):
            stack = stack._cut(at)
        if tomli.loads(stack.text)["stack"]["requires"] == kept:
            return stack
        return self._dumped({**self._raw, "stack": {**self._raw["stack"], "requires": kept}})

    def with_value(self, path: tuple[str | int, ...], after: str) -> StackText:
        """With another text at a key, such as ("target", "system", "cann")."""
        before: Any = self._raw
        for step in path:
            before = before[step]
        return self._with(path, before, after)

    def with_fact_file(self, name: str) -> StackText:
        """With one more name in its list of facts."""
        names = list(self._raw["stack"]["facts"])
        expected = _put(self._raw, ("stack", "facts"), [*names, name])
        if names:
            rows = self.text.splitlines(keepends=True)
            at = Lines(self.text).line(("stack", "facts", len(names) - 1)) - 1
            for match in _STRING.finditer(rows[at]):
                row = f'{rows[at][: match.end()]}, "{name}"{rows[at][match.end() :]}'
                text = "".join([*rows[:at], row, *rows[at + 1 :]])
                if tomli.loads(text) == expected:
                    return StackText(text)
        return self._dumped(expected)

    def without_cutoff(self) -> StackText:
        """Without exclude-newer."""
        policy = {key: value for key, value in self._raw["policy"].items() if key != "exclude-newer"}
        expected = {**self._raw, "policy": policy}
        at = Lines(self.text).line(("policy", "exclude-newer")) - 1
        rows = self.text.splitlines(keepends=True)
        text = "".join(rows[:at] + rows[at + 1 :])
        try:
            if tomli.loads(text) == expected:
                return StackText(text)
        except tomli.TOMLDecodeError:
            pass
        return self._dumped(expected)

    def with_prereleases(self, project: str) -> StackText:
        """With pre-releases of a project allowed."""
        policy = self._raw.get("policy", {})
        allowed = {**policy.get("prereleases-of", {}), project: "allow"}
        expected = {**self._raw, "policy": {**policy, "prereleases-of": allowed}}
        text = f'{self.text.rstrip()}\n\n[policy.prereleases-of]\n{project} = "allow"\n'
        try:
            if tomli.loads(text) == expected:
                return StackText(text)
        except tomli.TOMLDecodeError:
            pass
        return self._dumped(expected)

    def with_table(self, key: str, row: Mapping[str, Any]) -> StackText:
        """With one more row of an array of tables at its end: ("relax", {…}), ("fact.replaces", {…})."""
        try:
            return StackText(f"{self.text.rstrip()}\n\n[[{key}]]\n{tomli_w.dumps(dict(row))}")
        except tomli.TOMLDecodeError:  # the rows that are there stand in an array of inline tables
            return self._dumped(_with_row(self._raw, key.split("."), row))

    # --- the text

    def _with(self, path: tuple[str | int, ...], before: str, after: str) -> StackText:
        """The one string at a path replaced where it stands; the whole file written anew where it cannot be found."""
        rows = self.text.splitlines(keepends=True)
        at = Lines(self.text).line(path) - 1
        changed = self._swapped(rows[at], before, after)
        expected = _put(self._raw, path, after)
        if changed is not None:
            text = "".join([*rows[:at], changed, *rows[at + 1 :]])
            if tomli.loads(text) == expected:
                return StackText(text)
        return self._dumped(expected)

    @staticmethod
    def _swapped(row: str, before: str, after: str) -> str | None:
        for match in _STRING.finditer(row):
            if tomli.loads(f"x = {match[0]}")["x"] == before:
                quoted = tomli_w.dumps({"x": after}).strip().removeprefix("x = ")
                return row[: match.start()] + quoted + row[match.end() :]
        return None

    def _cut(self, number: int) -> StackText:
        """Without one requirement: its line, or its place in one; the whole file anew where neither will do."""
        rows = self.text.splitlines(keepends=True)
        at = Lines(self.text).line(("stack", "requires", number)) - 1
        kept = list(self._raw["stack"]["requires"])
        gone = kept.pop(number)
        expected = _put(self._raw, ("stack", "requires"), kept)
        for row in ("", *_without(rows[at], gone)):
            text = "".join([*rows[:at], row, *rows[at + 1 :]])
            try:
                if tomli.loads(text) == expected:
                    return StackText(text)
            except tomli.TOMLDecodeError:
                continue
        return self._dumped(expected)

    @staticmethod
    def _dumped(raw: Mapping[str, Any]) -> StackText:
        return StackText(tomli_w.dumps(raw))


def _without(row: str, gone: str) -> Iterator[str]:
    """A line without a string in it, and without the comma that goes with it."""
    for match in _STRING.finditer(row):
        if tomli.loads(f"x = {match[0]}")["x"] == gone:
            before, after = row[: match.start()], row[match.end() :]
            yield before + re.sub(r"^\s*,\s*", "", after)
            yield re.sub(r"\s*,\s*$", "", before) + after


def _with_row(tree: Mapping[str, Any], keys: Sequence[str], row: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a tree with one more row in the array of tables at these keys."""
    key, *rest = keys
    if rest:
        return {**tree, key: _with_row(tree.get(key, {}), rest, row)}
    return {**tree, key: [*tree.get(key, ()), dict(row)]}


def _put(tree: Any, path: tuple[str | int, ...], value: Any) -> Any:
    """A copy of a tree with another value at a path."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(tree, list):
        return [_put(one, rest, value) if at == step else one for at, one in enumerate(tree)]
    return {**tree, step: _put(tree[step], rest, value)}
