"""`[[recorded]]` rows of a stack: what is known about files on an index that cannot be reached from everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from resolver.config import schema
from resolver.config.document import Document
from resolver.config.needs import parse_requirement
from resolver.errors import InputError
from resolver.model.index import Binding, Indexes
from resolver.model.problem import Recorded
from resolver.model.target import PLATFORMS


def compile_recorded(document: Document[schema.StackFile], indexes: Indexes) -> Iterator[Recorded]:
    """The rows. Raises InputError with file:line:key. A row is ignored if no binding leads to its index."""
    seen: dict[str, str] = {}
    for number, row in enumerate(document.content.recorded):
        path = ("recorded", number)
        try:
            project, version, _, _ = parse_wheel_filename(row.file)
        except InvalidWheelFilename as error:
            raise InputError(
                f"`{row.file}` is not the name of a wheel", where=document.place(*path, "file"), why=str(error)
            ) from None
        bindings = [indexes.binding(project, platform) for platform in PLATFORMS]
        bindings = [binding for binding in bindings if row.index in binding.indexes]
        if not bindings:
            raise InputError(
                f"no binding looks `{project}` up on the index `{row.index}`",
                where=document.place(*path, "index"),
                why="a record can only replace an index that is asked for the project",
                hint=f"name the index that {row.file} is from, as matrices/indexes.toml does",
            )
        if any(len(binding.indexes) > 1 and binding.unreachable == "fail" for binding in bindings):
            raise InputError(
                f"the record of `{project}` could never be used",
                where=document.place(*path, "index"),
                why="the project is bound to several indexes, and locking fails if one of them cannot be reached",
                hint='bind it to a single index, or use `unreachable = "next"`',
            )
        where = document.line(*path)
        if row.file in seen:
            raise InputError(
                f"`{row.file}` is recorded twice",
                where=document.place(*path, "file"),
                why=f"the other row is at {seen[row.file]}",
            )
        seen[row.file] = where
        yield Recorded(
            project=project,
            version=str(version),
            index=row.index,
            filename=row.file,
            sha256=row.sha256,
            requires=tuple(
                str(parse_requirement(document, line, *path, "requires", at)) for at, line in enumerate(row.requires)
            ),
            requires_python=str(
                document.parse(
                    SpecifierSet, row.requires_python, *path, "requires-python", hint="write for example `>=3.10`"
                )
            )
            if row.requires_python
            else "",
            source=" ".join(row.source.split()),
            checked=row.checked,
            where=where,
        )


def with_recorded(indexes: Indexes, rows: Sequence[Recorded]) -> Indexes:
    """The bindings, with separate ones for projects that have recorded files should their only index be unreachable."""
    bindings: list[Binding] = []
    for project, platform in product(sorted({row.project for row in rows}), PLATFORMS):
        binding = indexes.binding(project, platform)
        if binding.unreachable == "fail" and any(
            (row.project, (row.index,)) == (project, binding.indexes) for row in rows
        ):
            bindings.append(replace(binding, packages=(project,), platforms=(platform,), unreachable="recorded"))
    return replace(indexes, bindings=(*bindings, *indexes.bindings))
