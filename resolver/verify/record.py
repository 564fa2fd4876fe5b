"""RECORD: every file that an installer put there, with hash and size, against what is on disk now.

Without `--full` every file must be there in its size, and the content is
compared of all files of small distributions and of some Python files of
others: the same ones on every run, by the hash of their paths.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import os
import re
import stat
from collections.abc import Mapping, Set
from typing import NamedTuple

from resolver.verify.environment import Installed
from resolver.verify.findings import Asked, Finding, Group, UnreadableError, is_shared, some

_SMALL_FILES = 40
_SMALL_BYTES = 1 << 18
_SAMPLE = 12
_SAMPLE_BYTES = 1 << 18
_CHUNK = 1 << 20
_SIZE = re.compile(r"[0-9]{1,18}")


class RecordRow(NamedTuple):
    """A file of a distribution. `digest` is as in RECORD, `sha256=…`; a size of -1 is not told."""

    path: str
    digest: str
    size: int


def read_record(one: Installed) -> list[RecordRow] | None:
    """The rows of RECORD with absolute paths, without compiled files; None where there is no RECORD."""
    path = os.path.join(one.info, "RECORD")
    try:
        if not os.path.isfile(path) and os.path.exists(path):
            raise UnreadableError(path, "it is not a regular file")
        with open(path, encoding="utf-8", newline="") as handle:
            rows = list(csv.reader(handle, strict=True))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UnreadableError(path, error.strerror or str(error)) from None
    except (ValueError, csv.Error) as error:
        raise UnreadableError(path, str(error)) from None
    found = []
    for number, row in enumerate(rows, 1):
        if len(row) != 3 or not row[0] or not (row[2] == "" or _SIZE.fullmatch(row[2])) or "\0" in row[0]:
            raise UnreadableError(path, f"line {number} is not path, hash and size")
        name, digest, size = row
        if not name.endswith(".pyc"):  # Python writes these anew as it likes
            found.append(RecordRow(_absolute(one.root, name), digest, int(size) if size else -1))
    if not any(row.path == path for row in found):
        raise UnreadableError(path, "it has no row for itself, so it is truncated")
    return found


def _absolute(root: str, name: str) -> str:
    # normpath costs more than all the rest, and few paths need it
    path = f"{root}/{name}"
    return os.path.normpath(path) if ".." in name or name.startswith("/") or "./" in name else path


def file_digest(path: str, kind: str) -> str:
    """The hash of a file as RECORD writes it, `sha256=…` without padding. OSError where it cannot be read."""
    digest = hashlib.new(kind)
    with open(path, "rb") as handle:
        chunk = handle.read(_CHUNK)
        while chunk:
            digest.update(chunk)
            chunk = handle.read(_CHUNK)
    return f"{kind}={base64.urlsafe_b64encode(digest.digest()).rstrip(b'=').decode()}"


def check_files(
    asked: Asked,
    found: Mapping[str, Installed],
    records: Mapping[str, list[RecordRow] | UnreadableError | None],
    excused: Set[tuple[str, str]],
) -> Group:
    """Every locked distribution's files. `excused` are those that belong to another distribution now."""
    findings: list[Finding] = []
    compared = files = 0
    fresh = asked.fresh if is_shared() else ""  # a system's own packages are not to be taken away by hand
    kept = sorted(name for name in asked.lock.rewritten if name in found)
    for name in sorted(asked.lock.pins):
        one = found.get(name)
        if one is None or name in asked.lock.rewritten or one.installer == "conda":
            continue
        if not one.version:  # its METADATA is broken: told already, with what mends all of it
            continue
        values = {"name": name, "version": one.version, "again": asked.again(name), "install": asked.install}
        values["folder"] = one.info
        record = records.get(name)
        if isinstance(record, UnreadableError):
            findings.append(Finding("record-broken", {**values, **record.values}, fresh))
        elif record is None:
            if not one.source:
                findings.append(Finding("record-missing", values, fresh))
        else:
            rows = [row for row in record if (name, row.path) not in excused]
            contents, wrong = _compare(rows, full=asked.full)
            files += len(rows)
            compared += contents
            for code, paths in wrong.items():
                if paths:
                    shown = [os.path.relpath(path, one.root) for path in paths]
                    findings.append(Finding(code, {**values, **some(shown)}))
    values = {"files": str(files), "compared": str(compared), "kept": ", ".join(kept)}
    return Group("files", findings, values, "files-kept" if kept else "")


def _compare(rows: list[RecordRow], *, full: bool) -> tuple[int, dict[str, list[str]]]:
    """The number of files whose content was compared, and paths by the code of what is wrong with them."""
    compared = 0
    wrong: dict[str, list[str]] = {"file-missing": [], "file-changed": [], "file-unreadable": []}
    wanted = {row.path for row in (rows if full else _sample(rows))}
    for row in rows:
        try:
            there = os.stat(row.path)
            if row.size not in (-1, there.st_size):
                wrong["file-changed"].append(row.path)
            elif not stat.S_ISREG(there.st_mode):
                wrong["file-unreadable"].append(row.path)
            elif row.digest and row.path in wanted:
                compared += 1
                if file_digest(row.path, row.digest.partition("=")[0]) != row.digest.rstrip("="):
                    wrong["file-changed"].append(row.path)
        except (FileNotFoundError, NotADirectoryError):
            wrong["file-missing"].append(row.path)
        except (OSError, ValueError, TypeError):  # a hash that this Python does not know, or of no length of its own
            wrong["file-unreadable"].append(row.path)
    return compared, wrong


def _sample(rows: list[RecordRow]) -> list[RecordRow]:
    hashed = [row for row in rows if row.digest]
    if len(hashed) <= _SMALL_FILES and sum(max(row.size, 0) for row in hashed) <= _SMALL_BYTES:
        return hashed
    modules = [row for row in hashed if row.path.endswith(".py") and row.size <= _SAMPLE_BYTES]
    return sorted(modules, key=lambda row: hashlib.sha256(row.path.rpartition("site-packages")[2].encode()).digest())[
        :_SAMPLE
    ]


def read_records(found: Mapping[str, Installed]) -> dict[str, list[RecordRow] | UnreadableError | None]:
    """Every distribution's RECORD; None where there is none, and an error where it cannot be read."""
    records: dict[str, list[RecordRow] | UnreadableError | None] = {}
    for name, one in found.items():
        try:
            records[name] = read_record(one)
        except UnreadableError as error:
            records[name] = error
    return records


class _Pair(NamedTuple):
    """`owner` must have the files, `other` also claims them. None of both must where the lock has no order."""

    owner: str
    other: str
    ordered: bool


def check_collisions(
    asked: Asked, found: Mapping[str, Installed], records: Mapping[str, list[RecordRow] | UnreadableError | None]
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
    return Group("collisions", findings), excused


def _shared(
    asked: Asked, records: Mapping[str, list[RecordRow] | UnreadableError | None]
) -> dict[_Pair, list[tuple[RecordRow, RecordRow]]]:
    owners: dict[str, list[tuple[str, RecordRow]]] = {}
    for name in sorted(records):
        rows = records[name]
        for row in rows if isinstance(rows, list) else ():
            if row.digest:
                owners.setdefault(row.path, []).append((name, row))
    pairs: dict[_Pair, list[tuple[RecordRow, RecordRow]]] = {}
    for claims in owners.values():
        for at, (one, row) in enumerate(claims):
            for other, other_row in claims[at + 1 :]:
                pair = _pair(asked, one, other)
                if row.digest != other_row.digest and pair is not None:
                    both = (row, other_row) if pair.owner == one else (other_row, row)
                    pairs.setdefault(pair, []).append(both)
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
