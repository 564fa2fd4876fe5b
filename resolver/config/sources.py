"""`[[sources]]` rows to facts: what is known about a project at one commit of a git repository."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.config import schema
from resolver.config.needs import require_printable
from resolver.config.row import Row
from resolver.errors import InputError
from resolver.model import direct
from resolver.model.fact import Sources
from resolver.model.recipe import Comment, Move, Recipe, Run, Step, Submodule

_FORMS = "write { move, to }, { comment, in }, { run } or { run, wheels }"
_EXAMPLES: Final = {
    "git": 'write for example git = "https://github.com/volcengine/verl.git", without user and password',
    "commit": "`git rev-parse HEAD` in a checkout prints it",
    "subdirectory": "write for example `python`",
    "requires-from": "write for example `requirements/common.txt`",
    "submodules": "write { path, git, commit }, as `git submodule status` and .gitmodules tell them",
}


def compile_source(given: schema.SourcesRow, row: Row, common: dict[str, Any]) -> Sources:
    """The fact of a row; `common` are the fields that all facts have. Raises InputError with file:line:key."""
    if not given.ref.isprintable():
        raise InputError(
            "`ref` has characters that do not print",
            where=row.place("ref"),
            hint="write the name of the tag or branch, on one line",
        )
    recipe = _recipe(given, row)
    if recipe.script is not None and given.editable:
        raise InputError(
            "what a script builds cannot be an editable install",
            where=row.place("editable"),
            hint="remove `editable`, or the step that runs the script",
        )
    return Sources(
        **common,
        git=_checked(direct.repository, given.git, row, "git"),
        commit=_checked(direct.commit, given.commit, row, "commit"),
        ref=given.ref,
        subdirectory=_checked(direct.inside, given.subdirectory, row, "subdirectory") if given.subdirectory else "",
        recipe=recipe,
        requires_from=tuple(
            _checked(direct.inside, one, row, "requires-from", at) for at, one in enumerate(given.requires_from)
        ),
    )


def _recipe(given: schema.SourcesRow, row: Row) -> Recipe:
    python = given.requires_python
    return Recipe(
        version=row.parse(
            Version, given.version, "version", hint="write the version that its build has, such as 0.8.0.dev0"
        ),
        requires=tuple(map(str, row.requirements(given.requires, "requires"))),
        drop=row.projects(given.drop, "drop"),
        requires_python=str(row.parse(SpecifierSet, python, "requires-python", hint="write for example `>=3.10`"))
        if python
        else "",
        build_requires=tuple(map(str, row.requirements(given.build_requires, "build-requires"))),
        isolation=given.isolation,
        editable=given.editable,
        env=row.env(given.env, "env"),
        steps=tuple(_step(step, given, row, at) for at, step in enumerate(given.steps)),
        rewrites=row.projects(given.rewrites, "rewrites"),
        submodules=_submodules(given, row),
    )


def _submodules(given: schema.SourcesRow, row: Row) -> tuple[Submodule, ...]:
    """Sorted by path, so that one in another comes after it."""
    found = [
        Submodule(
            path=_checked(direct.inside, one.path, row, "submodules", at, "path"),
            git=_checked(direct.repository, one.git, row, "submodules", at, "git"),
            commit=_checked(direct.commit, one.commit, row, "submodules", at, "commit"),
        )
        for at, one in enumerate(given.submodules)
    ]
    found.sort(key=lambda one: one.path)
    for one, other in pairwise(found):
        if one.path == other.path:
            raise InputError(f"two submodules are at `{one.path}`", where=row.place("submodules"))
    return tuple(found)


def _checked(read: Callable[[str], str], value: str, row: Row, key: str, *more: str | int) -> str:
    try:
        return read(value)
    except ValueError as error:  # its message has no secret in it; the value might
        raise InputError(
            f"`{key}` cannot be used", where=row.place(key, *more), why=str(error), hint=_EXAMPLES[key]
        ) from None


def _step(step: schema.StepRow, given: schema.SourcesRow, row: Row, at: int) -> Step:
    place = ("steps", at)
    keys = {key for key in ("move", "to", "comment", "in_", "run", "wheels") if getattr(step, key) is not None}
    if keys == {"move", "to"}:
        return Move(_inside(step.move, row, *place, "move"), _inside(step.to, row, *place, "to"))
    if keys == {"comment", "in_"}:
        pattern = step.comment or ""
        try:
            re.compile(pattern)
        except re.error as error:
            raise InputError(
                f"`{pattern}` is not a regular expression",
                where=row.place(*place, "comment"),
                why=str(error),
                hint="use Python's syntax; in single quotes, TOML leaves a backslash as it is",
            ) from None
        require_printable(pattern, "a step", row.place(*place, "comment"))
        return Comment(pattern, _inside(step.in_, row, *place, "in"))
    if keys in ({"run"}, {"run", "wheels"}):
        if step.wheels is not None and at != len(given.steps) - 1:
            raise InputError(
                "there is a step after the one that builds the wheel",
                where=row.place("steps", at + 1),
                hint="the step with `wheels` must be the last",
            )
        for number, word in enumerate(step.run or ()):
            require_printable(word, "a step", row.place(*place, "run", number))
        wheels = "" if step.wheels is None else _inside(step.wheels, row, *place, "wheels")
        return Run(tuple(step.run or ()), wheels)
    raise InputError("this is not a known step", where=row.place(*place), hint=_FORMS)


def _inside(value: str | None, row: Row, *path: str | int) -> str:
    return row.parse(direct.inside, value or "", *path, hint=_EXAMPLES["requires-from"])
