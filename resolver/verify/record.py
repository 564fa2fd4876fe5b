"""The installed files against RECORD: their sizes, and the hashes of a sample or, with `--full`, of all."""

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

from resolver.verify.distributions import InstalledDistribution
from resolver.verify.findings import (
    CheckContext,
    Finding,
    Group,
    UnreadableError,
    list_and_count,
    read_text,
)

_SMALL_FILES = 40
_SMALL_BYTES = 1 << 18
_SAMPLE = 12
_SAMPLE_BYTES = 1 << 18
_CHUNK = 1 << 20


class RecordRow(NamedTuple):
    """A file of a distribution.

    `digest` is `sha256=…` as in RECORD, without padding; -1 is an unknown size.
    """

    path: str
    digest: str
    size: int


def read_records(
    context: CheckContext, installed: Mapping[str, InstalledDistribution]
) -> tuple[dict[str, list[RecordRow]], dict[str, Finding]]:
    """The rows of every distribution's RECORD, and what is wrong with those that have none."""
    records: dict[str, list[RecordRow]] = {}
    unreadable: dict[str, Finding] = {}
    for name, distribution in installed.items():
        values = {"name": name, "version": distribution.version, "folder": distribution.info}
        remedy = context.then_install(f"rm -r {shlex.quote(distribution.info)}")
        try:
            rows = _read_record(distribution)
            if rows is not None:
                records[name] = rows
            elif not distribution.editable_folder:
                unreadable[name] = Finding("record-missing", values, remedy)
        except UnreadableError as error:
            unreadable[name] = Finding("record-broken", {**values, **error.values}, remedy)
    return records, unreadable


def _read_record(distribution: InstalledDistribution) -> list[RecordRow] | None:
    """The rows of RECORD with absolute paths, without what Python compiles."""
    path = os.path.join(distribution.info, "RECORD")
    text = read_text(path)
    if text is None:
        return None
    rows = []
    table = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for name, digest, size in table:
            file = os.path.normpath(os.path.join(distribution.root, name))
            if not (
                name.endswith(".pyc") and "/__pycache__/" in file
            ):  # Python writes these anew as it likes
                rows.append(RecordRow(file, digest.rstrip("="), int(size or -1)))
    except csv.Error as error:
        raise UnreadableError(path, str(error)) from None
    except ValueError:
        raise UnreadableError(path, f"line {table.line_num} is not path, hash and size") from None
    if not any(row.path == path for row in rows):
        raise UnreadableError(path, "it has no row for itself, so it is truncated")
    return rows


def check_files(
    context: CheckContext,
    installed: Mapping[str, InstalledDistribution],
    records: Mapping[str, list[RecordRow]],
    unreadable: Mapping[str, Finding],
    overwritten: Set[tuple[str, str]],
) -> Group:
    """Every locked distribution's files.

    `overwritten` are those that belong to another distribution now.
    """
    findings: list[Finding] = []
    compared = files = 0
    rewritten = sorted(name for name in context.lock.rewritten if name in installed)
    for name in sorted(context.lock.pins):
        distribution = installed.get(name)
        if distribution is None or name in rewritten or distribution.installer == "conda":
            continue
        if (
            not distribution.version
        ):  # its METADATA is broken, which is a finding with a remedy for all of it
            continue
        if name in unreadable:
            findings.append(unreadable[name])
        rows = [row for row in records.get(name, ()) if (name, row.path) not in overwritten]
        sample = {row.path for row in (rows if context.full else _sample(rows)) if row.digest}
        wrong: dict[str, list[str]] = {
            "file-missing": [],
            "file-changed": [],
            "file-unreadable": [],
            "": [],
        }
        for row in rows:
            wrong[_wrong(row, compare=row.path in sample)].append(row.path)
        files += len(rows)
        compared += len(sample)
        for code, paths in wrong.items():
            if code and paths:
                shown = list_and_count([os.path.relpath(path, distribution.root) for path in paths])
                findings.append(
                    Finding(code, {"name": name, "version": distribution.version, **shown})
                )
    values = {"files": str(files), "compared": str(compared), "kept": ", ".join(rewritten)}
    return Group("files", findings, values, "files-kept" if rewritten else "")


def _wrong(row: RecordRow, *, compare: bool) -> str:
    """The code of a finding about a file; empty if it is as in RECORD.

    Its hash is computed only to `compare`.
    """
    try:
        status = os.stat(row.path)
    except (FileNotFoundError, NotADirectoryError):
        return "file-missing"
    except (OSError, ValueError):
        return "file-unreadable"
    if row.size not in (-1, status.st_size):
        return "file-changed"
    digest = _digest(row) if compare else row.digest
    if not stat.S_ISREG(status.st_mode) or (compare and not digest):
        return "file-unreadable"
    return "" if digest == row.digest else "file-changed"


def _digest(row: RecordRow) -> str:
    """The hash of a file as RECORD writes it, but without padding; nothing if it cannot be read or computed."""
    kind = row.digest.partition("=")[0]
    try:
        digest = hashlib.new(kind)
        with open(row.path, "rb") as handle:
            for chunk in iter(lambda: handle.read(_CHUNK), b""):
                digest.update(chunk)
        return f"{kind}={base64.urlsafe_b64encode(digest.digest()).rstrip(b'=').decode()}"
    except (
        OSError,
        ValueError,
        TypeError,
    ):  # a hash that this Python does not know, or of no length of its own
        return ""


def _sample(rows: list[RecordRow]) -> list[RecordRow]:
    """The rows whose contents are compared: all of a small distribution, the same few modules of any other."""
    hashed = [row for row in rows if row.digest]
    if len(hashed) <= _SMALL_FILES and sum(max(row.size, 0) for row in hashed) <= _SMALL_BYTES:
        return hashed
    modules = [row for row in hashed if row.path.endswith(".py") and row.size <= _SAMPLE_BYTES]
    modules.sort(
        key=lambda row: hashlib.sha256(row.path.rpartition("site-packages")[2].encode()).digest()
    )
    return modules[:_SAMPLE]


def check_collisions(
    context: CheckContext,
    installed: Mapping[str, InstalledDistribution],
    records: Mapping[str, list[RecordRow]],
) -> tuple[Group, set[tuple[str, str]]]:
    """The collisions, and the files whose RECORD need not hold for a distribution, as another one's are there."""
    findings: list[Finding] = []
    overwritten: set[tuple[str, str]] = set()
    stages = {name: pin.stage for name, pin in context.lock.pins.items()}
    for (owner, other), rows in sorted(_shared(records, stages).items()):
        ours = theirs = 0
        for of_owner, of_other in rows:
            digest = _digest(of_owner)
            if digest == of_owner.digest:
                ours += 1
                overwritten.add((other, of_other.path))
            elif digest == of_other.digest:
                theirs += 1
                overwritten.add((owner, of_owner.path))
        is_extra = other not in stages
        if is_extra or (theirs and stages[owner] != stages[other]):
            values = {
                "owner": owner,
                "other": other,
                "module": _module(installed[owner], rows),
                "count": str(len(rows)),
                "ours": str(ours),
                "theirs": str(theirs),
            }
            remedy = context.reinstall_command(other, owner)
            findings.append(Finding("collision" if is_extra else "collision-order", values, remedy))
    return Group("collisions", findings), overwritten


def _shared(
    records: Mapping[str, list[RecordRow]], stages: Mapping[str, int]
) -> dict[tuple[str, str], list[tuple[RecordRow, RecordRow]]]:
    """The files that two distributions both have with different contents, by their owner and the other distribution.

    A locked distribution is the owner, and of two such the one installed later.
    """
    claims: dict[str, list[tuple[str, RecordRow]]] = {}
    for name in sorted(records, key=lambda name: (-stages.get(name, 0), name)):
        for row in records[name]:
            if row.digest:
                claims.setdefault(row.path, []).append((name, row))
    shared: dict[tuple[str, str], list[tuple[RecordRow, RecordRow]]] = {}
    for rows in claims.values():
        for (owner, of_owner), (other, of_other) in combinations(rows, 2):
            if owner in stages and of_owner.digest != of_other.digest:
                shared.setdefault((owner, other), []).append((of_owner, of_other))
    return shared


def _module(owner: InstalledDistribution, rows: list[tuple[RecordRow, RecordRow]]) -> str:
    """What both have, by the name of its package if it is in one."""
    path = os.path.relpath(rows[0][0].path, owner.root)
    return path.split("/")[0] if not path.startswith("..") else os.path.basename(path)
