"""The facts that a stack uses, and the rules for them that keys and types do not express."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from msgspec.structs import asdict, replace
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from resolver.config.decode import ComponentValues, require_known_socs
from resolver.config.load import Document, is_generated
from resolver.config.schema import FactFile, StackFile
from resolver.errors import InputError, did_you_mean
from resolver.model import fact as model
from resolver.model import patterns
from resolver.model.repository import Recipe
from resolver.model.requirement import Requirement
from resolver.model.text import Variables, is_exact

_KINDS: Final = tuple(name for name in FactFile.__struct_fields__ if name != "defaults")
# The keys of each kind of step of a recipe.
_STEPS: Final = ({"move", "to"}, {"comment", "in_"}, {"run"}, {"run", "wheels"})

# Returns file:line: key of a value, given the keys that lead to it in a fact's row.
Place = Callable[..., str]


class _Row(NamedTuple):
    """A fact where it is written."""

    fact: model.Fact
    place: Place
    # The project that the file is about; "" for a stack, whose facts may be about any.
    project: str

    @property
    def file(self) -> str:
        """Return the name of the file."""
        return self.fact.where.rpartition(":")[0]


def compile_facts(
    documents: Sequence[Document[FactFile]],
    stack: Document[StackFile] | None = None,
    known: ComponentValues | None = None,
) -> tuple[model.Fact, ...]:
    """Return all facts, in the order of files, of kinds in the schema, and of rows.

    The facts of the stack itself come last. `known` are the values of components. Raises InputError
    with file:line:key.
    """
    facts: dict[str, model.Fact] = {}
    rows = list(_rows(documents, stack))
    replaced = _replaced(documents, rows)
    for row in rows:
        fact = row.fact
        _check(fact, row.place, known or {})
        if replaced.get(fact.id) == row.file:
            continue
        if row.project and fact.package != row.project:
            raise InputError(
                f"a fact about `{fact.package}` is in the file of `{row.project}`",
                where=row.place("package"),
                hint=f"facts about a project belong in facts/{fact.package}.toml",
            )
        if fact.id in facts:
            raise InputError(
                f"two facts have the id `{fact.id}`",
                where=row.place("id"),
                why=f"the other is at {facts[fact.id].where}",
            )
        facts[fact.id] = fact
    return tuple(facts.values())


def _rows(
    documents: Sequence[Document[FactFile]], stack: Document[StackFile] | None
) -> Iterator[_Row]:
    """Yield the facts of all files, then of the stack, each with an id."""
    for document in documents:
        project = canonicalize_name(PurePosixPath(document.name).stem)
        yield from _rows_of_table(document.content, document.place, project)
    if stack is not None:
        yield from _rows_of_table(stack.content.fact, partial(stack.place, "fact"), "")


def _rows_of_table(table: FactFile, place: Place, project: str) -> Iterator[_Row]:
    prefix = "" if project else "stack-"
    for kind in _KINDS:
        for number, fact in enumerate(getattr(table, kind)):
            fact_id = fact.id or f"{prefix}{fact.package}-{kind}-{number + 1}"
            yield _Row(replace(fact, id=fact_id), partial(place, kind, number), project)


def _replaced(documents: Sequence[Document[FactFile]], rows: Sequence[_Row]) -> dict[str, str]:
    """Return the files of the generated facts that others replace, by id. Raises InputError."""
    generated_files = {document.name for document in documents if is_generated(document)}
    generated = {row.fact.id: row.file for row in rows if row.file in generated_files}
    replaced: dict[str, str] = {}
    for row in rows:
        if row.fact.over:
            _check_over(row, generated_files, generated)
        for replaced_id in row.fact.over:
            replaced[replaced_id] = generated[replaced_id]
    return replaced


def _check_over(row: _Row, generated_files: Collection[str], generated: Collection[str]) -> None:
    """Raise InputError unless a fact is written by hand and replaces generated facts."""
    where = row.place("over")
    if row.file in generated_files:
        why = "only a fact that was written by hand takes the place of another"
        raise InputError("a generated fact has the key `over`", where=where, why=why)
    for replaced_id in row.fact.over:
        if replaced_id not in generated:
            otherwise = "it may be gone upstream: see `ascend-lock facts import --diff`"
            hint = did_you_mean(replaced_id, generated, otherwise)
            raise InputError(f"there is no generated fact `{replaced_id}`", where=where, hint=hint)


def _check(fact: model.Fact, place: Place, known: ComponentValues) -> None:
    """Raise InputError for values, and combinations of keys, that a fact must not have."""
    for key in ("needs", "add", "unless", "when"):
        for position, need in enumerate(getattr(fact, key, ())):
            require_known_socs(need, known, place(key, position))
    match fact:
        case model.Constrains():
            _check_bounds(fact, place)
        case model.Warns():
            _check_warning(fact, place)
        case model.Builds():
            _check_variables(fact.env, place)
        case model.Optional():
            _check_optional(fact, place)
        case model.Links():
            _check_links(fact, place)
        case model.Sources():
            _check_variables(fact.recipe.env, place)
            _check_recipe(fact.recipe, place)
        case model.Pairs():
            _check_pairing(fact, known, place)
        case _:
            pass
    _check_practice(fact, place)


def _check_practice(fact: model.Fact, place: Place) -> None:
    """Raise InputError unless `risk` and practice go together, in a kind that can be one."""
    is_practice = fact.strength is model.Strength.PRACTICE
    if not isinstance(fact, model.Practice):
        if is_practice:
            what = "only a `replaces` or `requires` fact can be a practice"
            raise InputError(what, where=place("strength"))
    elif is_practice != bool(fact.risk):
        raise InputError(
            "a practice says what is at risk, and nothing else does",
            where=place("risk"),
            hint='add risk = "…": what may fail because metadata is not followed, or leave it out',
        )


def _check_bounds(fact: model.Constrains, place: Place) -> None:
    """Raise InputError for a bound that bounds nothing, or more than another project."""
    for position, bound in enumerate(fact.bounds):
        where = place("bounds", position)
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
                why="a bound is a project with versions and without extras, "
                "as in a constraints file",
                hint='write for instance "numpy>=2"; what must be installed is a `requires` fact',
            )


def _check_warning(fact: model.Warns, place: Place) -> None:
    """Raise InputError if the order of releases would depend on what else is in the lock."""
    unless_projects = [need for need in fact.unless if isinstance(need, Requirement)]
    depends_on_lock = fact.together_with or fact.extra or fact.wheels or unless_projects
    if fact.last and depends_on_lock:
        raise InputError(
            "which releases come last cannot hang on what else is in the lock",
            where=place("last"),
            why="so there can be no `with`, `extra` and `wheels`, and only components in `unless`",
        )


def _check_variables(variables: Variables, place: Place) -> None:
    """Raise InputError for a variable that install.sh keeps from every build."""
    for name, _ in variables:
        if not patterns.BUILD_VARIABLE.matches(name):
            why = (
                "install.sh keeps it from builds: it decides which modules or libraries are loaded"
            )
            raise InputError(f"`{name}` cannot be set here", where=place("env", name), why=why)


def _check_optional(fact: model.Optional, place: Place) -> None:
    """Raise InputError unless a fact names what is optional, and one thing that this needs."""
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


def _check_links(fact: model.Links, place: Place) -> None:
    """Raise InputError for a fact that says nothing, or a pattern with more than `*`."""
    if not fact.to and not fact.provides and not fact.optional:
        hint = "write `to`, `provides` or `optional`"
        raise InputError("a fact about links says nothing", where=place("to"), hint=hint)
    for position, pattern in enumerate(fact.optional):
        if any(character in pattern for character in "?[]"):
            raise InputError(
                f"`{pattern}` is not a pattern of a library",
                where=place("optional", position),
                why="`*` stands for any text, and `?` and `[` for nothing",
            )


def _check_pairing(fact: model.Pairs, known: ComponentValues, place: Place) -> None:
    """Raise InputError for a pairing that names no release, or a SoC that is not known."""
    for position, need in enumerate(fact.others):
        require_known_socs(need, known, place("with", position))
    if not fact.release and not all(map(_is_one_release, fact.versions)):
        raise InputError(
            "a pairing is about releases by name",
            where=place("versions"),
            hint='write "==1.2.0", or release = "…" for a branch or tag',
        )


def _is_one_release(versions: SpecifierSet) -> bool:
    return len(versions) == 1 and all(map(is_exact, versions))


def _check_recipe(recipe: Recipe, place: Place) -> None:
    """Raise InputError for a step of a build that is unknown, unreadable or out of place."""
    last = len(recipe.steps) - 1
    for position, step in enumerate(recipe.steps):
        keys = {key for key, value in asdict(step).items() if value}
        if keys not in _STEPS:
            hint = "write { move, to }, { comment, in }, { run } or { run, wheels }"
            where = place("steps", position)
            raise InputError("this is not a known step", where=where, hint=hint)
        try:
            re.compile(step.comment)
        except re.error as error:
            what = f"`{step.comment}` is not a regular expression"
            where = place("steps", position, "comment")
            raise InputError(what, where=where, why=str(error)) from None
        if step.wheels and (recipe.editable or position != last):
            what = "the step that builds the wheel must be the last, and not of an editable install"
            raise InputError(what, where=place("steps", position, "wheels"))
