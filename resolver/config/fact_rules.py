"""The facts that a stack uses, and rules for facts that the types of their keys do not express."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import NamedTuple

from msgspec.structs import replace
from packaging.utils import NormalizedName, canonicalize_name

from resolver.config.components import require_no_component
from resolver.config.decode import require_known_values
from resolver.config.load import is_generated
from resolver.config.schema import FactFile, StackFile
from resolver.config.toml_files import Document
from resolver.errors import InputError, did_you_mean, known_names
from resolver.model import fact as model
from resolver.model.component import BUILT_IN, Components
from resolver.model.requirement import ComponentRequirement
from resolver.phrase import phrase

# A function that returns file:line: key of a value, given the keys that lead to it in a row.
Place = Callable[..., str]


class _Row(NamedTuple):
    """A row of a file: a fact and its place."""

    # The fact, with an id.
    fact: model.Fact
    # Returns the place of a value of the row.
    place: Place
    # The project that the file is about; empty for a stack's file, whose facts may be about any
    # project.
    project: str

    @property
    def file(self) -> str:
        """Return the name of the file that has the row."""
        return self.fact.where.rpartition(":")[0]


class FactFiles:
    """A cache of the checked facts of files, which several stacks use."""

    def __init__(self, components: Components) -> None:
        """Begin without files. `components` are the components that facts may be about."""
        self._components = components
        # The rows of each file that was checked, by the file's name.
        self._rows: dict[str, list[_Row]] = {}

    def facts(
        self,
        documents: Sequence[Document[FactFile]],
        stack: Document[StackFile] | None = None,
    ) -> tuple[model.Fact, ...]:
        """Return the facts of some files, and then the facts in the file of a stack.

        The facts of a file are in the order of `KINDS`, and facts of one kind are in the order of
        the file. Generated facts that another fact replaces are left out. Raises InputError with
        file:line:key for a mistake in a fact, and if two facts have the same id.
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
        """Return the checked rows of a file. Raises InputError."""
        if document.name not in self._rows:
            project = canonicalize_name(PurePosixPath(document.name).stem)
            rows = self._checked(document.content, document.place, project)
            self._rows[document.name] = rows
        return self._rows[document.name]

    def _checked(self, table: FactFile, place: Place, project: str) -> list[_Row]:
        """Return the rows of a file after checking them. Raises InputError.

        `place` returns the place of a key, and `project` is the project that the file is about;
        empty for a stack's file.
        """
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
    """Return the checked facts of some files, as `FactFiles.facts` does. Raises InputError."""
    return FactFiles(components).facts(documents)


def _rows_of_table(table: FactFile, place: Place, project: str) -> Iterator[_Row]:
    """Yield the rows of a file. A fact without an id gets one, such as `vllm-requires-2`."""
    prefix = "" if project else "stack-"
    for kind in model.KINDS:
        for number, fact in enumerate(getattr(table, kind)):
            fact_id = fact.id or f"{prefix}{fact.package}-{kind}-{number + 1}"
            yield _Row(replace(fact, id=fact_id), partial(place, kind, number), project)


def _replaced(documents: Sequence[Document[FactFile]], rows: Sequence[_Row]) -> dict[str, str]:
    """Return the ids of the generated facts that other facts replace, each with its file.

    Raises InputError if a fact may not replace another one, or if there is no such fact.
    """
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
    """Raise InputError if a fact with the key `over` is generated, or replaces no generated fact.

    `generated_files` are the names of the files with generated facts, and `generated` their ids.
    """
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
    """Return the projects that a fact is about or names.

    `package` of a `pairs` fact is left out, since it may be a component.
    """
    if isinstance(fact, model.Pairs):
        return fact.named_projects
    return (fact.package, *fact.named_projects)


def _component_requirements(
    fact: model.Fact,
) -> Iterator[tuple[str, int, ComponentRequirement]]:
    """Yield the requirements on components in a fact, each with its key and its position there."""
    for field, key in zip(fact.__struct_fields__, fact.__struct_encode_fields__, strict=True):
        values = getattr(fact, field)
        if not isinstance(values, tuple):
            continue
        for position, value in enumerate(values):
            if isinstance(value, ComponentRequirement):
                yield key, position, value


def _check(fact: model.Fact, place: Place, components: Components) -> None:
    """Raise InputError for values and combinations of keys that a fact must not have."""
    for key, position, need in _component_requirements(fact):
        require_known_values(need, components, place(key, position))
    if isinstance(fact, model.Names | model.Warns) and fact.component not in ("", *components):
        raise InputError(
            phrase("there is no component `{name}`", name=fact.component),
            where=place("component"),
            hint=did_you_mean(fact.component, components, known_names(components)),
        )
    for mistake in fact.mistakes():
        raise InputError(
            mistake.what, where=place(*mistake.path), why=mistake.why, hint=mistake.hint
        )
    _check_practice(fact, place)


def _check_practice(fact: model.Fact, place: Place) -> None:
    """Raise InputError for a practice without `risk`, and for any other fact with `risk`.

    A practice of a kind that cannot be a practice is refused as well.
    """
    is_practice = fact.strength is model.Strength.PRACTICE
    if not isinstance(fact, model.Practice):
        if is_practice:
            raise InputError(
                phrase("only a `replaces` or `requires` fact can be a practice"),
                where=place("strength"),
            )
    elif is_practice != bool(fact.risk):
        raise InputError(
            phrase("a practice says what is at risk, and nothing else does"),
            where=place("risk"),
            hint=phrase(
                'add risk = "…": what may fail because metadata is not followed, or leave it out'
            ),
        )
