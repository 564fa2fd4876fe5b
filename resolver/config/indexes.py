"""The indexes of a problem and the projects bound to them, from a stack and indexes.toml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from resolver.config.components import require_no_component
from resolver.config.load import Document, Inputs
from resolver.config.schema import IndexesFile, IndexRow, StackFile
from resolver.errors import InputError
from resolver.model.component import Components
from resolver.model.problem import PYPI, Binding, Index, Indexes, Recorded
from resolver.model.target import PLATFORMS
from resolver.phrase import phrase

# A stack may have the tables of indexes.toml.
_IndexDocument = Document[StackFile] | Document[IndexesFile]

# The path of a table in its file, such as `("binding", 0)`.
_TablePath = tuple[str, int]

_ONLY_PYPI: Final = Indexes(indexes={PYPI: Index(name=PYPI)}, bindings=())


def compile_indexes(inputs: Inputs) -> Indexes:
    """Return the indexes of the stack, then those of indexes.toml unless it wants only its own.

    Raises InputError with file:line:key.
    """
    shipped = _ONLY_PYPI
    if inputs.indexes is not None:
        shipped = _extended(_ONLY_PYPI, inputs.indexes, inputs.components)
    stack = inputs.stack.content
    own_only = stack.policy.own_indexes_only
    if not own_only and not stack.index and not stack.binding:
        return shipped
    base = _ONLY_PYPI if own_only else shipped
    indexes = _extended(base, inputs.stack, inputs.components)
    return replace(
        indexes,
        bindings=(*indexes.bindings, *base.bindings),
        own_indexes=frozenset(row.name for row in stack.index),
        own_bindings=indexes.bindings,
        own_only=own_only,
        shipped=shipped.bindings,
    )


def compile_recorded(inputs: Inputs, indexes: Indexes) -> tuple[Recorded, ...]:
    """Return what is recorded about files on the problem's indexes, a row for each file.

    The stack's own row replaces one of recorded/. An index that the stack defines itself is not the
    index of recorded/ with the same name.
    """
    rows = {(row.index, row.filename): row for row in inputs.stack.content.recorded}
    shared_indexes = indexes.indexes.keys() - indexes.own_indexes
    for document in inputs.recorded:
        for row in document.content.recorded:
            if row.index in shared_indexes:
                rows.setdefault((row.index, row.filename), row)
    return tuple(rows.values())


def _extended(base: Indexes, document: _IndexDocument, components: Components) -> Indexes:
    """Return the indexes of `base` and of a file, with the bindings of the file alone."""
    indexes = dict(base.indexes)
    seen: set[str] = set()
    for number, row in enumerate(document.content.index):
        _check_index(row, seen, document.place("index", number, "name"))
        seen.add(row.name)
        indexes[row.name] = Index(
            name=row.name, url=row.url, mirrors=row.mirrors, complete=row.complete
        )
    for number, binding in enumerate(document.content.binding):
        for position, name in enumerate(binding.indexes):
            if name not in indexes:
                path = ("binding", number, "indexes", position)
                raise document.unknown(phrase("there is no index"), name, indexes, *path)
    bindings = _bindings(document)
    _require_effect(document, bindings)
    for table_path, bound in bindings.items():
        for position, project in enumerate(bound.packages):
            where = document.place(*table_path, "packages", position)
            require_no_component(project, components, where)
    return Indexes(indexes=indexes, bindings=tuple(bindings.values()))


def _check_index(row: IndexRow, seen: set[str], where: str) -> None:
    """Raise InputError for a second index of a name, and unless all but `pypi` have an address."""
    if row.name in seen:
        raise InputError(phrase("two indexes are named `{name}`", name=row.name), where=where)
    is_pypi = row.name == PYPI
    has_url = row.url != ""
    if is_pypi == has_url:
        what = phrase("index `{name}` needs a url", name=row.name)
        if has_url:
            what = phrase("index `{name}` takes no url", name=row.name)
        raise InputError(
            what,
            where=where,
            why=phrase(
                "`pypi` is the index that pip on this machine is configured with; every other "
                "index needs an address"
            ),
        )


def _bindings(document: _IndexDocument) -> dict[_TablePath, Binding]:
    """Return the bindings of a file by path: its `binding` rows, then `packages` of its indexes."""
    bindings: dict[_TablePath, Binding] = {}
    for number, binding in enumerate(document.content.binding):
        bindings["binding", number] = binding
    rows: Sequence[IndexRow] = document.content.index
    for number, row in enumerate(rows):
        if row.packages:
            bindings["index", number] = Binding(packages=row.packages, indexes=(row.name,))
    return bindings


def _require_effect(document: _IndexDocument, bindings: Mapping[_TablePath, Binding]) -> None:
    """Raise InputError if earlier bindings bind a project already on each platform of a binding."""
    bound: dict[tuple[str, str], str] = {}
    for path, binding in bindings.items():
        platforms = binding.platforms or PLATFORMS
        for position, project in enumerate(binding.packages):
            package_path = (*path, "packages", position)
            if all((project, platform) in bound for platform in platforms):
                what = phrase("`{project}` is already bound", project=project)
                if project == "*":
                    what = phrase("all other projects are already bound")
                first = bound[project, platforms[0]]
                raise InputError(
                    what,
                    where=document.place(*package_path),
                    why=phrase(
                        "the first binding counts, and that is the one at {where}", where=first
                    ),
                )
            for platform in platforms:
                bound.setdefault((project, platform), document.line(*package_path))
