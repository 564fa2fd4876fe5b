"""RECORD: every file that an installer put there, with hash and size, against what is on disk now.

Every file must be there in its size. Contents are compared of all files with `--full`, else of a sample.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import shlex
import stat
from collections.abc import Mapping, Set
from itertools import combinations
from typing import NamedTuple

from resolver.verify.environment import Installed
from resolver.verify.findings import Asked, Finding, Group, UnreadableError, read_text, some

_SMALL_FILES = 40
_SMALL_BYTES = 1 << 18
_SAMPLE = 12
_SAMPLE_BYTES = 1 << 18
_CHUNK = 1 << 20


class RecordRow(NamedTuple):
    """A file of a distribution. `digest` is `sha256=…` as in RECORD, without padding; a size of -1 is not told."""

    path: str
    digest: str
    size: int


def read_records(asked: Asked, found: Mapping[str, Installed]) -> tuple[dict[str, list[RecordRow]], dict[str, Finding]]:
    """The rows of every distribution's RECORD, and what is wrong with those that have none."""
    records: dict[str, list[RecordRow]] = {}
    broken: dict[str, Finding] = {}
    for name, one in found.items():
        values = {"name": name, "version": one.version, "folder": one.info}
        anew = asked.after(f"rm -r {shlex.quote(one.info)}")
        try:
            rows = _read_record(one)
            if rows is not None:
                records[name] = rows
            elif not one.source:
                broken[name] = Finding("record-missing", values, anew)
        except UnreadableError as error:
            broken[name] = Finding("record-broken", {**values, **error.values}, anew)
    return records, broken


def _read_record(one: Installed) -> list[RecordRow] | None:
    """The rows of RECORD with absolute paths, without compiled files."""
    path = os.path.join(one.info, "RECORD")
    text = read_text(path)
    if text is None:
        return None
    rows = []
    table = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for name, digest, size in table:
            if not name.endswith(".pyc"):  # Python writes these anew as it likes
                rows.append(
                    RecordRow(os.path.normpath(os.path.join(one.root, name)), digest.rstrip("="), int(size or -1))
                )
    except csv.Error as error:
        raise UnreadableError(path, str(error)) from None
    except ValueError:
        raise UnreadableError(path, f"line {table.line_num} is not path, hash and size") from None
    if not any(row.path == path for row in rows):
        raise UnreadableError(path, "it has no row for itself, so it is truncated")
    return rows


def check_files(
    asked: Asked,
    found: Mapping[str, Installed],
    records: Mapping[str, list[RecordRow]],
    broken: Mapping[str, Finding],
    excused: Set[tuple[str, str]],
) -> Group:
    """Every locked distribution's files. `excused` are those that belong to another distribution now."""
    findings: list[Finding] = []
    compared = files = 0
    kept = sorted(name for name in asked.lock.rewritten if name in found)
    for name in sorted(asked.lock.pins):
        one = found.get(name)
        if one is None or name in kept or one.installer == "conda":
            continue
        if not one.version:  # its METADATA is broken: told already, with what mends all of it
            continue
        if name in broken:
            findings.append(broken[name])
        rows = [row for row in records.get(name, ()) if (name, row.path) not in excused]
        sample = {row.path for row in (rows if asked.full else _sample(rows)) if row.digest}
        wrong: dict[str, list[str]] = {"file-missing": [], "file-changed": [], "file-unreadable": [], "": []}
        for row in rows:
            wrong[_wrong(row, compare=row.path in sample)].append(row.path)
        files += len(rows)
        compared += len(sample)
        for code, paths in wrong.items():
            if code and paths:
                shown = [os.path.relpath(path, one.root) for path in paths]
                findings.append(Finding(code, {"name": name, "version": one.version, **some(shown)}))
    values = {"files": str(files), "compared": str(compared), "kept": ", ".join(kept)}
    return Group("files", findings, values, "files-kept" if kept else "")


def _wrong(row: RecordRow, *, compare: bool) -> str:
    """The code of what is wrong with a file; nothing if it is as RECORD says, with its content if that is compared."""
    try:
        there = os.stat(row.path)
    except (FileNotFoundError, NotADirectoryError):
        return "file-missing"
    except (OSError, ValueError):
        return "file-unreadable"
    if row.size not in (-1, there.st_size):
        return "file-changed"
    digest = _digest(row) if compare else row.digest
    if not stat.S_ISREG(there.st_mode) or (compare and not digest):
        return "file-unreadable"
    return "" if digest == row.digest else "file-changed"


def _digest(row: RecordRow) -> str:
    """The hash of a file as RECORD writes it, but without padding; nothing if it cannot be told."""
    kind = row.digest.partition("=")[0]
    try:
        digest = hashlib.new(kind)
        with open(row.path, "rb") as handle:
            for chunk in iter(lambda: handle.read(_CHUNK), b""):
                digest.update(chunk)
        return f"{kind}={base64.urlsafe_b64encode(digest.digest()).rstrip(b'=').decode()}"
    except (OSError, ValueError, TypeError):  # a hash that this Python does not know, or of no length of its own
        return ""


def _sample(rows: list[RecordRow]) -> list[RecordRow]:
    """The rows whose contents are compared: all of a small distribution, the same few modules of any other."""
    hashed = [row for row in rows if row.digest]
    if len(hashed) <= _SMALL_FILES and sum(max(row.size, 0) for row in hashed) <= _SMALL_BYTES:
        return hashed
    modules = [row for row in hashed if row.path.endswith(".py") and row.size <= _SAMPLE_BYTES]
    modules.sort(key=lambda row: hashlib.sha256(row.path.rpartition("site-packages")[2].encode()).digest())
    return modules[:_SAMPLE]


def check_collisions(
    asked: Asked, found: Mapping[str, Installed], records: Mapping[str, list[RecordRow]]
) -> tuple[Group, set[tuple[str, str]]]:
    """The collisions, and the files whose RECORD need not hold for a distribution, as another one's are there."""
    findings: list[Finding] = []
    excused: set[tuple[str, str]] = set()
    stages = {name: pin.stage for name, pin in asked.lock.pins.items()}
    for (owner, other), rows in sorted(_shared(records, stages).items()):
        ours = theirs = 0
        for mine, their in rows:
            now = _digest(mine)
            if now == mine.digest:
                ours += 1
                excused.add((other, their.path))
            elif now == their.digest:
                theirs += 1
                excused.add((owner, mine.path))
        strange = other not in stages
        if strange or (theirs and stages[owner] != stages[other]):
            values = {
                "owner": owner,
                "other": other,
                "module": _module(found[owner], rows),
                "count": str(len(rows)),
                "ours": str(ours),
                "theirs": str(theirs),
            }
            findings.append(Finding("collision" if strange else "collision-order", values, asked.again(other, owner)))
    return Group("collisions", findings), excused


def _shared(
    records: Mapping[str, list[RecordRow]], stages: Mapping[str, int]
) -> dict[tuple[str, str], list[tuple[RecordRow, RecordRow]]]:
    """What two distributions both have and not alike, by who must own it and the other.

    What is locked must own it, and of two such what is installed later; nobody of two in a stage, or of two strangers.
    """
    claims: dict[str, list[tuple[str, RecordRow]]] = {}
    for name in sorted(records, key=lambda name: (-stages.get(name, 0), name)):
        for row in records[name]:
            if row.digest:
                claims.setdefault(row.path, []).append((name, row))
    shared: dict[tuple[str, str], list[tuple[RecordRow, RecordRow]]] = {}
    for several in claims.values():
        for (owner, mine), (other, theirs) in combinations(several, 2):
            if owner in stages and mine.digest != theirs.digest:
                shared.setdefault((owner, other), []).append((mine, theirs))
    return shared


def _module(owner: Installed, rows: list[tuple[RecordRow, RecordRow]]) -> str:
    """What both own, as it is imported where it is a package."""
    path = os.path.relpath(rows[0][0].path, owner.root)
    return path.split("/")[0] if not path.startswith("..") else os.path.basename(path)
