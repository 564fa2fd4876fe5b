"""`[[sources]]` rows to facts: what is known about a project at one commit of a git repository."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.errors import InputError
from resolver.matrix import schema
from resolver.matrix.document import Document
from resolver.matrix.needs import parse_env, parse_project, parse_requirement
from resolver.model import direct
from resolver.model.fact import Sources
from resolver.model.recipe import Comment, Move, Recipe, Run, Step

_FORMS = "write { move, to }, { comment, in }, { run } or { run, wheels }"
_EXAMPLES: Final = {
    "git": 'write for example git = "https://github.com/volcengine/verl.git", without user and password',
    "commit": "`git rev-parse HEAD` in a checkout prints it",
    "subdirectory": "write for example `python`",
    "requires-from": "write for example `requirements/common.txt`",
}


def compile_source(
    document: Document[schema.FactFile], row: schema.SourcesRow, common: dict[str, Any], *path: str | int
) -> Sources:
    """The fact of a row; `common` are the fields that all facts have. Raises InputError with file:line:key."""

    def lines(rows: list[str], key: str) -> tuple[str, ...]:
        return tuple(str(parse_requirement(document, line, *path, key, at)) for at, line in enumerate(rows))

    def projects(names: list[str], key: str) -> tuple[NormalizedName, ...]:
        return tuple(parse_project(document, name, *path, key, at) for at, name in enumerate(names))

    def checked(read: Callable[[str], str], value: str, key: str, *more: str | int) -> str:
        try:
            return read(value)
        except ValueError as error:  # its message has no secret in it; the value might
            raise InputError(
                f"`{key}` cannot be used", where=document.place(*path, key, *more), why=str(error), hint=_EXAMPLES[key]
            ) from None

    if not row.ref.isprintable():
        raise InputError(
            "`ref` has characters that do not print",
            where=document.place(*path, "ref"),
            hint="write the name of the tag or branch, on one line",
        )
    recipe = Recipe(
        version=document.parse(
            Version, row.version, *path, "version", hint="write the version that its build has, such as 0.8.0.dev0"
        ),
        requires=lines(row.requires, "requires"),
        drop=projects(row.drop, "drop"),
        requires_python=str(
            document.parse(
                SpecifierSet, row.requires_python, *path, "requires-python", hint="write for example `>=3.10`"
            )
        )
        if row.requires_python
        else "",
        build_requires=lines(row.build_requires, "build-requires"),
        isolation=row.isolation,
        editable=row.editable,
        env=parse_env(document, row.env, *path, "env"),
        steps=tuple(_steps(document, row, *path)),
        rewrites=projects(row.rewrites, "rewrites"),
    )
    if recipe.script is not None and row.editable:
        raise InputError(
            "what a script builds cannot be an editable install",
            where=document.place(*path, "editable"),
            hint="remove `editable`, or the step that runs the script",
        )
    return Sources(
        **common,
        git=checked(direct.repository, row.git, "git"),
        commit=checked(direct.commit, row.commit, "commit"),
        ref=row.ref,
        subdirectory=checked(direct.inside, row.subdirectory, "subdirectory") if row.subdirectory else "",
        recipe=recipe,
        requires_from=tuple(
            checked(direct.inside, one, "requires-from", at) for at, one in enumerate(row.requires_from)
        ),
    )


def _steps(document: Document[schema.FactFile], row: schema.SourcesRow, *path: str | int) -> Iterator[Step]:
    for number, step in enumerate(row.steps):
        place = (*path, "steps", number)
        given = {key for key in ("move", "to", "comment", "in_", "run", "wheels") if getattr(step, key) is not None}
        if given == {"move", "to"}:
            yield Move(_inside(document, step.move, *place, "move"), _inside(document, step.to, *place, "to"))
        elif given == {"comment", "in_"}:
            try:
                re.compile(step.comment or "")
            except re.error as error:
                raise InputError(
                    f"`{step.comment}` is not a regular expression",
                    where=document.place(*place, "comment"),
                    why=str(error),
                    hint="use Python's syntax; in single quotes, TOML leaves a backslash as it is",
                ) from None
            _plain(document, step.comment or "", *place, "comment")
            yield Comment(step.comment or "", _inside(document, step.in_, *place, "in"))
        elif given in ({"run"}, {"run", "wheels"}):
            if step.wheels is not None and number != len(row.steps) - 1:
                raise InputError(
                    "there is a step after the one that builds the wheel",
                    where=document.place(*path, "steps", number + 1),
                    hint="the step with `wheels` must be the last",
                )
            for at, word in enumerate(step.run or ()):
                _plain(document, word, *place, "run", at)
            wheels = "" if step.wheels is None else _inside(document, step.wheels, *place, "wheels")
            yield Run(tuple(step.run or ()), wheels)
        else:
            raise InputError("this is not a known step", where=document.place(*place), hint=_FORMS)


def _inside(document: Document[schema.FactFile], value: str | None, *path: str | int) -> str:
    return document.parse(direct.inside, value or "", *path, hint=_EXAMPLES["requires-from"])


def _plain(document: Document[schema.FactFile], value: str, *path: str | int) -> None:
    if not value.isprintable():
        raise InputError(
            "a step has characters that do not print",
            where=document.place(*path),
            hint="write it without line breaks, tabs and control characters",
        )
