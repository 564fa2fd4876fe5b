"""The environment variables of a lock, merged from its facts."""

from __future__ import annotations

from collections.abc import Iterable

from resolver.errors import InputError
from resolver.model.fact import Exports
from resolver.model.lock import LockedExport


def exports(facts: Iterable[Exports]) -> tuple[LockedExport, ...]:
    """A row for each variable, by name. It is optional if all facts that name it say so.

    Raises InputError if two facts give it different values.
    """
    said: dict[str, list[tuple[Exports, str]]] = {}
    for fact in facts:
        for name, value in fact.env:
            said.setdefault(name, []).append((fact, value))
    return tuple(_row(name, rows) for name, rows in sorted(said.items()))


def _row(name: str, rows: list[tuple[Exports, str]]) -> LockedExport:
    first, value = rows[0]
    for other, another in rows[1:]:
        if another != value:
            raise InputError(
                f"the facts `{first.id}` and `{other.id}` give {name} different values",
                where=f"{first.where}, {other.where}",
                why=f"{name} is `{value}` in the first and `{another}` in the second",
                hint=f'set one of them aside in the stack: [[relax]] fact = "{first.id}" or "{other.id}", with a '
                f"reason",
            )
    optional = all(fact.optional for fact, _ in rows)
    return LockedExport(name=name, value=value, optional=optional, facts=tuple(fact.id for fact, _ in rows))
