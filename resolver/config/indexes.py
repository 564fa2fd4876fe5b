"""The compiler of the indexes of a problem, and of the projects bound to them.

They are read from a stack's file and from indexes.toml.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from resolver.config.components import require_no_component
from resolver.config.load import Inputs
from resolver.config.schema import IndexesFile, IndexRow, StackFile
from resolver.config.toml_files import Document
from resolver.errors import InputError
from resolver.model.component import Components
from resolver.model.problem import PYPI, Binding, Index, Indexes, Recorded
from resolver.model.target import PLATFORMS
from resolver.phrase import phrase

# The files with tables about indexes: a stack may have the same tables as indexes.toml.
_IndexDocument = Document[StackFile] | Document[IndexesFile]

# The path of a table in its file, such as `("binding", 0)`.
_TablePath = tuple[str, int]

# The indexes without any file.
_ONLY_PYPI: Final = Indexes(indexes={PYPI: Index(name=PYPI)}, bindings=())


def compile_indexes(inputs: Inputs) -> Indexes:
    """Return the indexes and bindings of a stack and of indexes.toml.

    The bindings of the stack come first. With the policy `own-indexes-only`, indexes.toml is
    ignored. Raises InputError with file:line:key.
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
        own_indexes=frozenset(index.name for index in stack.index),
        own_bindings=indexes.bindings,
        own_only=own_only,
        shipped=shipped.bindings,
    )


def compile_recorded(inputs: Inputs, indexes: Indexes) -> tuple[Recorded, ...]:
    """Return the recorded wheels of the problem's indexes.

    A wheel of the stack's file replaces the same wheel of matrices/recorded/. If the stack defines
    an index itself, the wheels of matrices/recorded/ for an index of this name do not count.
    """
    wheels = {(wheel.index, wheel.filename): wheel for wheel in inputs.stack.content.recorded}
    shared_indexes = indexes.indexes.keys() - indexes.own_indexes
    for document in inputs.recorded:
        for wheel in document.content.recorded:
            if wheel.index in shared_indexes:
                wheels.setdefault((wheel.index, wheel.filename), wheel)
    return tuple(wheels.values())


def _extended(base: Indexes, document: _IndexDocument, components: Components) -> Indexes:
    """Return the indexes of `base` and of a file, and the bindings of the file.

    The bindings of `base` are left out. Raises InputError for a mistake in the file.
    """
    indexes = dict(base.indexes)
    seen: set[str] = set()
    for number, index in enumerate(document.content.index):
        _check_index(index, seen, document.place("index", number, "name"))
        seen.add(index.name)
        indexes[index.name] = Index(
            name=index.name, url=index.url, mirrors=index.mirrors, complete=index.complete
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


def _check_index(index: IndexRow, seen: set[str], where: str) -> None:
    """Raise InputError if an index has a name that was seen before, or lacks an address.

    Only `pypi` must not have an address. `where` is the file:line of the index.
    """
    if index.name in seen:
        raise InputError(phrase("two indexes are named `{name}`", name=index.name), where=where)
    is_pypi = index.name == PYPI
    has_url = index.url != ""
    if is_pypi == has_url:
        complaint = phrase("index `{name}` needs a url", name=index.name)
        if has_url:
            complaint = phrase("index `{name}` takes no url", name=index.name)
        raise InputError(
            complaint,
            where=where,
            why=phrase(
                "`pypi` is the index that pip on this machine is configured with; every other "
                "index needs an address"
            ),
        )


def _bindings(document: _IndexDocument) -> dict[_TablePath, Binding]:
    """Return the bindings of a file by the path of their table.

    First come the tables `binding`, then the keys `packages` of indexes.
    """
    bindings: dict[_TablePath, Binding] = {}
    for number, binding in enumerate(document.content.binding):
        bindings["binding", number] = binding
    indexes: Sequence[IndexRow] = document.content.index
    for number, index in enumerate(indexes):
        if index.packages:
            bindings["index", number] = Binding(packages=index.packages, indexes=(index.name,))
    return bindings


def _require_effect(document: _IndexDocument, bindings: Mapping[_TablePath, Binding]) -> None:
    """Raise InputError if a project of a binding is bound already, so that it has no effect.

    Earlier bindings must name the project for all platforms of the binding.
    """
    bound: dict[tuple[str, str], str] = {}
    for path, binding in bindings.items():
        platforms = binding.platforms or PLATFORMS
        for position, project in enumerate(binding.packages):
            package_path = (*path, "packages", position)
            if all((project, platform) in bound for platform in platforms):
                complaint = phrase("`{project}` is already bound", project=project)
                if project == "*":
                    complaint = phrase("all other projects are already bound")
                first = bound[project, platforms[0]]
                raise InputError(
                    complaint,
                    where=document.place(*package_path),
                    why=phrase(
                        "the first binding counts, and that is the one at {where}", where=first
                    ),
                )
            for platform in platforms:
                bound.setdefault((project, platform), document.line(*package_path))
