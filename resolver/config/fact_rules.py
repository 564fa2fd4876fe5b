"""All facts of a stack, and the rules for their rows that keys and types do not express."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import PurePosixPath

from msgspec.structs import asdict, replace
from packaging.utils import canonicalize_name

from resolver.config.decode import ComponentValues, require_known_socs
from resolver.config.lines import TomlText
from resolver.config.load import Document, is_generated
from resolver.config.schema import FactFile, StackFile
from resolver.errors import InputError, did_you_mean
from resolver.model import fact as model
from resolver.model.repository import Recipe
from resolver.model.requirement import Requirement
from resolver.model.text import is_exact

# What bash does not allow to be set, and what set_env.sh and activation extend, but a fact would
# replace.
_SET_ALREADY = frozenset(
    ["BASHOPTS", "BASH_VERSINFO", "EUID", "PPID", "SHELLOPTS", "UID"]
) | frozenset(["LD_LIBRARY_PATH", "PATH", "PYTHONPATH", "VIRTUAL_ENV"])
_KINDS = tuple(name for name in FactFile.__struct_fields__ if name != "defaults")
_STEPS = ({"move", "to"}, {"comment", "in_"}, {"run"}, {"run", "wheels"})

Place = Callable[..., str]  # the keys of a value in the row -> file:line: key
_Row = tuple[model.Fact, Place, str]  # a fact, the places of its keys, and the project of its file


def compile_facts(
    documents: Sequence[Document[FactFile]],
    stack: Document[StackFile] | None = None,
    known: ComponentValues | None = None,
) -> tuple[model.Fact, ...]:
    """All facts, in the order of files, of kinds in the schema, and of rows.

    Raises InputError with file:line:key.

    Those of the stack itself come last. `known` are the values of components.
    """
    facts: dict[str, model.Fact] = {}
    rows = list(_rows(documents, stack))
    replaced = _replaced(documents, rows)
    for fact, place, project in rows:
        _check(fact, place, known or {})
        if replaced.get(fact.id) == fact.where.rpartition(":")[0]:
            continue
        if project and fact.package != project:
            raise InputError(
                f"a fact about `{fact.package}` is in the file of `{project}`",
                where=place("package"),
                hint=f"facts about a project belong in facts/{fact.package}.toml",
            )
        if fact.id in facts:
            raise InputError(
                f"two facts have the id `{fact.id}`",
                where=place("id"),
                why=f"the other is at {facts[fact.id].where}",
            )
        facts[fact.id] = fact
    return tuple(facts.values())


def _rows(
    documents: Sequence[Document[FactFile]], stack: Document[StackFile] | None
) -> Iterator[tuple[model.Fact, Place, str]]:
    """Each fact, the places of its keys, and the project of its file, "" for a stack, whose facts may be about any."""
    tables: list[tuple[TomlText, tuple[str, ...], FactFile, str]] = [
        (document, (), document.content, canonicalize_name(PurePosixPath(document.name).stem))
        for document in documents
    ]
    if stack is not None:
        tables.append((stack, ("fact",), stack.content.fact, ""))
    for text, path, table, project in tables:
        for kind in _KINDS:
            for number, fact in enumerate(getattr(table, kind)):
                fact_id = (
                    fact.id or f"{'' if project else 'stack-'}{fact.package}-{kind}-{number + 1}"
                )
                yield replace(fact, id=fact_id), partial(text.place, *path, kind, number), project


def _replaced(documents: Sequence[Document[FactFile]], rows: Sequence[_Row]) -> dict[str, str]:
    """Return the generated facts that others take the place of: id -> the name of its file.

    Raises InputError.
    """
    files = {document.name for document in documents if is_generated(document)}
    generated = {
        fact.id: name for fact, _, _ in rows if (name := fact.where.rpartition(":")[0]) in files
    }
    replaced: dict[str, str] = {}
    for fact, place, _ in rows:
        if fact.over and fact.where.rpartition(":")[0] in files:
            why = "only a fact that was written by hand takes the place of another"
            raise InputError("a generated fact has the key `over`", where=place("over"), why=why)
        for other in fact.over:
            if other not in generated:
                hint = did_you_mean(
                    other,
                    generated,
                    "it may be gone upstream: see `ascend-lock facts import --diff`",
                )
                raise InputError(
                    f"there is no generated fact `{other}`", where=place("over"), hint=hint
                )
            replaced[other] = generated[other]
    return replaced


def _check(fact: model.Fact, place: Place, known: ComponentValues) -> None:
    """Raise InputError for combinations and values that the types of the keys allow."""
    practice = fact.strength is model.Strength.PRACTICE
    for key in ("needs", "add", "unless", "when"):
        for at, need in enumerate(getattr(fact, key, ())):
            require_known_socs(need, known, place(key, at))
    match fact:
        case model.Requires() | model.Replaces():
            if practice != bool(fact.risk):
                raise InputError(
                    "a practice says what is at risk, and nothing else does",
                    where=place("risk"),
                    hint='add risk = "…": what may fail because metadata is not followed, or leave it out',
                )
            return
        case model.Constrains():
            for at, bound in enumerate(fact.bounds):
                _check_bound(fact, bound, place("bounds", at))
        case model.Warns() if fact.last:
            if (
                fact.together_with
                or fact.extra
                or fact.wheels
                or any(isinstance(need, Requirement) for need in fact.unless)
            ):
                why = "so there can be no `with`, `extra` and `wheels`, and only components in `unless`"
                what = "which releases come last cannot hang on what else is in the lock"
                raise InputError(what, where=place("last"), why=why)
        case model.Exports():
            for key, _ in fact.env:
                if key in _SET_ALREADY:
                    why = "bash keeps it read-only, or CANN and the environment extend it"
                    raise InputError(f"a fact cannot set `{key}`", where=place("env", key), why=why)
        case model.Optional():
            if not fact.modules and not fact.scripts:
                raise InputError(
                    "a fact about what is optional says what that is",
                    where=place("modules"),
                    hint='add modules = ["…"] or scripts = ["…"]',
                )
            if fact.npu and fact.needs:
                raise InputError(
                    "what is optional needs either an NPU or other projects",
                    where=place("npu"),
                    hint="write a row for each of the two",
                )
        case model.Links() if not (fact.to or fact.provides or fact.optional):
            hint = "write `to`, `provides` or `optional`"
            raise InputError("a fact about links says nothing", where=place("to"), hint=hint)
        case model.Links():
            _check_patterns(fact, place)
        case model.Sources():
            _check_recipe(fact.recipe, place)
        case model.Pairs():
            _check_pairing(fact, known, place)
        case _:
            pass
    if practice:
        raise InputError(
            "only a `replaces` or `requires` fact can be a practice", where=place("strength")
        )


def _check_pairing(fact: model.Pairs, known: ComponentValues, place: Place) -> None:
    """Raise InputError for a pairing that names no release, or a SoC that is not known."""
    for at, need in enumerate(fact.others):
        require_known_socs(need, known, place("with", at))
    is_by_name = all(
        len(versions) == 1 and all(map(is_exact, versions)) for versions in fact.versions
    )
    if not fact.release and not is_by_name:
        raise InputError(
            "a pairing is about releases by name",
            where=place("versions"),
            hint='write "==1.2.0", or release = "…" for a branch or tag',
        )


def _check_bound(fact: model.Constrains, bound: Requirement, where: str) -> None:
    """Raise InputError for a bound that bounds nothing, or more than another project."""
    if bound.name == fact.package:
        raise InputError(
            f"`{bound}` bounds the project itself",
            where=where,
            hint="`constrains` is about other projects; an `excludes` fact takes releases out",
        )
    if bound.extras or not str(bound.specifier):
        raise InputError(
            f"`{bound}` is not a bound",
            where=where,
            why="a bound is a project with versions and without extras, as in a constraints file",
            hint='write for instance "numpy>=2"; what must be installed is a `requires` fact',
        )


def _check_patterns(fact: model.Links, place: Place) -> None:
    """Raise InputError for a pattern of a library that has more than `*`."""
    for at, pattern in enumerate(fact.optional):
        if any(letter in pattern for letter in "?[]"):
            what = f"`{pattern}` is not a pattern of a library"
            why = "`*` stands for any text, and `?` and `[` for nothing"
            raise InputError(what, where=place("optional", at), why=why)


def _check_recipe(recipe: Recipe, place: Place) -> None:
    for at, step in enumerate(recipe.steps):
        if {key for key, value in asdict(step).items() if value} not in _STEPS:
            hint = "write { move, to }, { comment, in }, { run } or { run, wheels }"
            raise InputError("this is not a known step", where=place("steps", at), hint=hint)
        try:
            re.compile(step.comment)
        except re.error as error:
            what, where = (
                f"`{step.comment}` is not a regular expression",
                place("steps", at, "comment"),
            )
            raise InputError(what, where=where, why=str(error)) from None
        if step.wheels and (recipe.editable or at != len(recipe.steps) - 1):
            what = "the step that builds the wheel must be the last, and not of an editable install"
            raise InputError(what, where=place("steps", at, "wheels"))
