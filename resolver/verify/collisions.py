"""Two distributions that own the same file, with different contents: whose is on disk now."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from resolver.verify.finding import Finding, Group
from resolver.verify.installed import Installed
from resolver.verify.locked import Asked
from resolver.verify.record import RecordRow, file_digest


class _Pair(NamedTuple):
    """`owner` must have the files, `other` also claims them. None of both must where the lock has no order."""

    owner: str
    other: str
    ordered: bool


def check_collisions(
    asked: Asked, found: Mapping[str, Installed], records: Mapping[str, list[RecordRow] | None]
) -> tuple[Group, set[tuple[str, str]]]:
    """The collisions, and the files whose RECORD need not hold for a distribution, as another one's are there."""
    findings: list[Finding] = []
    excused: set[tuple[str, str]] = set()
    shared = _shared(asked, records)
    for pair, rows in sorted(shared.items()):
        ours = theirs = 0
        for mine, other in rows:
            now = _now(mine)
            if now == mine.digest:
                ours += 1
                excused.add((pair.other, other.path))
            elif now == other.digest:
                theirs += 1
                excused.add((pair.owner, mine.path))
        strange = pair.other not in asked.lock.pins
        if strange or (pair.ordered and theirs):
            values = {
                "owner": pair.owner,
                "other": pair.other,
                "module": _module(found[pair.owner], rows),
                "count": str(len(rows)),
                "ours": str(ours),
                "theirs": str(theirs),
            }
            command = asked.again(pair.other, pair.owner)
            findings.append(Finding("collision" if strange else "collision-order", values, command))
    return Group("collisions", tuple(findings), "collisions", {}), excused


def _shared(
    asked: Asked, records: Mapping[str, list[RecordRow] | None]
) -> dict[_Pair, list[tuple[RecordRow, RecordRow]]]:
    owners: dict[str, list[tuple[str, RecordRow]]] = {}
    for name in sorted(records):
        for row in records[name] or ():
            if row.digest:
                owners.setdefault(row.path, []).append((name, row))
    pairs: dict[_Pair, list[tuple[RecordRow, RecordRow]]] = {}
    for claims in owners.values():
        for at, (one, row) in enumerate(claims):
            for other, other_row in claims[at + 1 :]:
                pair = _pair(asked, one, other)
                if row.digest != other_row.digest and pair is not None:
                    rows = (row, other_row) if pair.owner == one else (other_row, row)
                    pairs.setdefault(pair, []).append(rows)
    return pairs


def _pair(asked: Asked, one: str, other: str) -> _Pair | None:
    """Who must own what both have: what is locked, and of two such what is installed later."""
    first, second = asked.lock.pins.get(one), asked.lock.pins.get(other)
    if first is None and second is None:
        return None
    if first is None:
        return _Pair(other, one, True)
    if second is None:
        return _Pair(one, other, True)
    return _Pair(one, other, first.stage != second.stage) if first.stage >= second.stage else _Pair(other, one, True)


def _now(row: RecordRow) -> str:
    try:
        return file_digest(row.path, row.digest.partition("=")[0])
    except (OSError, ValueError):
        return ""


def _module(owner: Installed, rows: list[tuple[RecordRow, RecordRow]]) -> str:
    """What both own, as it is imported where it is a package."""
    path = os.path.relpath(rows[0][0].path, owner.root)
    return path.split("/")[0] if not path.startswith("..") else os.path.basename(path)
