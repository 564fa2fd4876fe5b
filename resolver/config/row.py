"""A row of a facts file: its texts parsed, each error with the place of its key."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import NormalizedName

from resolver.config import schema
from resolver.config.document import Document, Parsed
from resolver.config.needs import parse_env, parse_need, parse_project, parse_requirement
from resolver.errors import InputError
from resolver.model import text
from resolver.model.fact import Need
from resolver.model.requirement import Requirement


class Row(msgspec.Struct, frozen=True):
    """The row `[[kind]]` of this number. Every method takes values of the row, and the key that has them.

    All of them raise InputError with file:line:key.
    """

    document: Document[schema.FactFile]
    systems: Document[schema.SystemsFile] | None
    kind: str
    number: int

    def line(self) -> str:
        """file:line of the row."""
        return self.document.line(self.kind, self.number)

    def place(self, *path: str | int) -> str:
        """file:line: key, for errors; without a path, of the row."""
        return self.document.place(self.kind, self.number, *path)

    def needs(self, lines: Sequence[str], key: str) -> tuple[Need, ...]:
        """Requirements on projects and components."""
        return tuple(
            parse_need(self.document, line, self.systems, self.kind, self.number, key, at)
            for at, line in enumerate(lines)
        )

    def requirements(self, lines: Sequence[str], key: str) -> tuple[Requirement, ...]:
        """Requirements on projects."""
        return tuple(
            parse_requirement(self.document, line, self.kind, self.number, key, at) for at, line in enumerate(lines)
        )

    def project(self, name: str, *path: str | int) -> NormalizedName:
        """The name of a project."""
        return parse_project(self.document, name, self.kind, self.number, *path)

    def projects(self, names: Sequence[str], key: str) -> tuple[NormalizedName, ...]:
        """Names of projects."""
        return tuple(self.project(name, key, at) for at, name in enumerate(names))

    def env(self, variables: dict[str, str], key: str) -> tuple[tuple[str, str], ...]:
        """Environment variables, sorted by name."""
        return parse_env(self.document, variables, self.kind, self.number, key)

    def parse(self, read: Callable[[str], Parsed], value: str, *path: str | int, hint: str = "") -> Parsed:
        """`read(value)`, with its ValueError turned into an InputError."""
        return self.document.parse(read, value, self.kind, self.number, *path, hint=hint)

    def versions(self, texts: str | Sequence[str], key: str) -> tuple[SpecifierSet, ...]:
        """One set of versions, or several."""
        if isinstance(texts, str):
            return (self._version_set(texts, key),)
        return tuple(self._version_set(one, key, at) for at, one in enumerate(texts))

    def _version_set(self, given: str, *path: str | int) -> SpecifierSet:
        try:
            return text.specifier_set(given)
        except InvalidSpecifier as error:
            raise InputError(
                f"`{given}` is not a set of versions",
                where=self.place(*path),
                why=str(error),
                hint="write for example `==0.13.0` or `>=0.10,<0.14` (PEP 440)",
            ) from None
