"""The facts that a stack uses, and the rules for them that keys and types do not express."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import NamedTuple

from msgspec.structs import replace
from packaging.utils import NormalizedName, canonicalize_name

from resolver.config.components import require_no_component
from resolver.config.decode import require_known_values
from resolver.config.load import Document, is_generated
from resolver.config.schema import FactFile, StackFile
from resolver.errors import InputError, did_you_mean, known_names
from resolver.model import fact as model
from resolver.model.component import BUILT_IN, Components
from resolver.phrase import phrase

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


class FactFiles:
    """The facts of files, compiled once however many stacks use them."""

    def __init__(self, components: Components) -> None:
        """Begin without files. Facts may be about these components."""
        self._components = components
        # The rows of each file that was used, by the file's name.
        self._rows: dict[str, list[_Row]] = {}

    def facts(
        self,
        documents: Sequence[Document[FactFile]],
        stack: Document[StackFile] | None = None,
    ) -> tuple[model.Fact, ...]:
        """Return the facts of some files, in the order of files, of kinds in the schema, and rows.

        The facts of the stack itself come last. Raises InputError with file:line:key.
        """
        rows: list[_Row] = []
        for document in documents:
            rows += self._rows_of(document)
        if stack is not None:
            rows += self._checked(stack.content.fact, partial(stack.place, "fact"), "")
        replaced = _replaced(documents, rows)
        facts: dict[str, model.Fact] = {}
        for row in rows:
            fact = row.fact
            if replaced.get(fact.id) == row.file:
                continue
            if fact.id in facts:
                raise InputError(
                    phrase("two facts have the id `{fact}`", fact=fact.id),
                    where=row.place("id"),
                    why=phrase("the other is at {where}", where=facts[fact.id].where),
                )
            facts[fact.id] = fact
        return tuple(facts.values())

    def _rows_of(self, document: Document[FactFile]) -> list[_Row]:
        """Return the facts of a file, each with an id."""
        if document.name not in self._rows:
            project = canonicalize_name(PurePosixPath(document.name).stem)
            rows = self._checked(document.content, document.place, project)
            self._rows[document.name] = rows
        return self._rows[document.name]

    def _checked(self, table: FactFile, place: Place, project: str) -> list[_Row]:
        """Return the facts of a table. Raise InputError for what facts must not have."""
        rows = list(_rows_of_table(table, place, project))
        for row in rows:
            for named in _projects_of(row.fact):
                require_no_component(named, self._components, row.place())
            _check(row.fact, row.place, self._components)
            if project and row.fact.package != project:
                raise InputError(
                    phrase(
                        "a fact about `{package}` is in the file of `{project}`",
                        package=row.fact.package,
                        project=project,
                    ),
                    where=row.place("package"),
                    hint=phrase(
                        "facts about a project belong in facts/{package}.toml",
                        package=row.fact.package,
                    ),
                )
        return rows


def compile_facts(
    documents: Sequence[Document[FactFile]], components: Components = BUILT_IN
) -> tuple[model.Fact, ...]:
    """Return the facts of files, as `FactFiles.facts` does."""
    return FactFiles(components).facts(documents)


def _rows_of_table(table: FactFile, place: Place, project: str) -> Iterator[_Row]:
    prefix = "" if project else "stack-"
    for kind in model.KINDS:
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
        why = phrase("only a fact that was written by hand takes the place of another")
        raise InputError(phrase("a generated fact has the key `over`"), where=where, why=why)
    for replaced_id in row.fact.over:
        if replaced_id not in generated:
            otherwise = phrase("it may be gone upstream: see `ascend-lock facts import --diff`")
            hint = did_you_mean(replaced_id, generated, otherwise)
            raise InputError(
                phrase("there is no generated fact `{name}`", name=replaced_id),
                where=where,
                hint=hint,
            )


def _projects_of(fact: model.Fact) -> Sequence[NormalizedName]:
    """Return the projects that a fact is about or names. A pairing may be about a component."""
    if isinstance(fact, model.Pairs):
        return fact.named_projects
    return (fact.package, *fact.named_projects)


def _check(fact: model.Fact, place: Place, components: Components) -> None:
    """Raise InputError for values, and combinations of keys, that a fact must not have."""
    for key in ("needs", "add", "unless", "when", "with"):
        field = "others" if key == "with" else key
        for position, need in enumerate(getattr(fact, field, ())):
            require_known_values(need, components, place(key, position))
    if isinstance(fact, model.Names | model.Warns) and fact.component not in ("", *components):
        what = phrase("there is no component `{name}`", name=fact.component)
        hint = did_you_mean(
            fact.component,
            components,
            known_names(components),
        )
        raise InputError(what, where=place("component"), hint=hint)
    for mistake in fact.mistakes():
        raise InputError(
            mistake.what, where=place(*mistake.path), why=mistake.why, hint=mistake.hint
        )
    _check_practice(fact, place)


def _check_practice(fact: model.Fact, place: Place) -> None:
    """Raise InputError unless `risk` and practice go together, in a kind that can be one."""
    is_practice = fact.strength is model.Strength.PRACTICE
    if not isinstance(fact, model.Practice):
        if is_practice:
            what = phrase("only a `replaces` or `requires` fact can be a practice")
            raise InputError(what, where=place("strength"))
    elif is_practice != bool(fact.risk):
        raise InputError(
            phrase("a practice says what is at risk, and nothing else does"),
            where=place("risk"),
            hint=phrase(
                'add risk = "…": what may fail because metadata is not followed, or leave it out'
            ),
        )
