"""The checks of installed files against RECORD: sizes, hashes, and files of two distributions."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import shlex
import stat
from collections.abc import Mapping, Sequence, Set
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

# All files are hashed of a distribution with at most so many files and bytes.
_SMALL_FILES = 40
_SMALL_BYTES = 1 << 18
# Of a larger one, so many modules of at most so many bytes.
_SAMPLE = 12
_SAMPLE_BYTES = 1 << 18
_CHUNK = 1 << 20
_UNKNOWN_SIZE = -1


class RecordRow(NamedTuple):
    """A file of a distribution, as RECORD lists it."""

    # Absolute and normalized.
    path: str
    # Such as `sha256=…`, without padding. Empty if RECORD has none.
    digest: str
    # In bytes; -1 if RECORD has none.
    size: int


class _SharedFile(NamedTuple):
    """A file that two distributions have with different content."""

    # Its row in the RECORD of the distribution that owns it.
    owner: RecordRow
    # Its row in the other RECORD.
    other: RecordRow


def read_records(
    context: CheckContext, installed: Mapping[str, InstalledDistribution]
) -> tuple[dict[str, list[RecordRow]], dict[str, Finding]]:
    """Return the rows of every RECORD by name, and a finding for each that is missing or broken."""
    records: dict[str, list[RecordRow]] = {}
    findings: dict[str, Finding] = {}
    for name, distribution in installed.items():
        values = {"name": name, "version": distribution.version, "folder": distribution.info}
        remedy = context.then_install(f"rm -r {shlex.quote(distribution.info)}")
        try:
            rows = _read_record(distribution)
        except UnreadableError as error:
            findings[name] = Finding("record-broken", {**values, **error.values}, remedy)
            continue
        if rows is not None:
            records[name] = rows
        elif not distribution.editable_folder:
            findings[name] = Finding("record-missing", values, remedy)
    return records, findings


def _read_record(distribution: InstalledDistribution) -> list[RecordRow] | None:
    """Return the rows of RECORD, without compiled files; None if there is no RECORD.

    Raises UnreadableError.
    """
    path = os.path.join(distribution.info, "RECORD")
    text = read_text(path)
    if text is None:
        return None
    rows = []
    table = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for name, digest, size in table:
            file = os.path.normpath(os.path.join(distribution.root, name))
            # Python compiles a module again whenever it likes
            is_compiled = file.endswith(".pyc") and "/__pycache__/" in file
            if not is_compiled:
                rows.append(RecordRow(file, digest.rstrip("="), int(size or _UNKNOWN_SIZE)))
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
    records: Mapping[str, Sequence[RecordRow]],
    record_findings: Mapping[str, Finding],
    overwritten: Set[tuple[str, str]],
) -> Group:
    """Check the files of the lock's distributions against RECORD.

    `record_findings` is what `read_records` found. `overwritten` has the names of distributions and
    the paths of files that belong to another distribution now.
    """
    findings: list[Finding] = []
    file_count = compared_count = 0
    rewritten = sorted(name for name in context.lock.rewritten if name in installed)
    for name in sorted(context.lock.pins):
        if name not in installed or name in rewritten:
            continue
        distribution = installed[name]
        # conda changes files; broken METADATA is a finding with a remedy for all of it
        if distribution.installer == "conda" or not distribution.version:
            continue
        if name in record_findings:
            findings.append(record_findings[name])
        rows = [row for row in records.get(name, ()) if (name, row.path) not in overwritten]
        hashed = [row for row in rows if row.digest]
        compared = set(hashed if context.full else _sample(hashed))
        file_count += len(rows)
        compared_count += len(compared)
        findings += _file_findings(distribution, rows, compared)
    values = {
        "files": str(file_count),
        "compared": str(compared_count),
        "kept": ", ".join(rewritten),
    }
    return Group("files", findings, values, "files-kept" if rewritten else "")


def _file_findings(
    distribution: InstalledDistribution, rows: Sequence[RecordRow], compared: Set[RecordRow]
) -> list[Finding]:
    """Return a finding for each way in which files differ; the hash of `compared` files counts."""
    paths: dict[str, list[str]] = {"file-missing": [], "file-changed": [], "file-unreadable": []}
    for row in rows:
        code = _file_code(row, compare=row in compared)
        if code:
            paths[code].append(os.path.relpath(row.path, distribution.root))
    about = {"name": distribution.name, "version": distribution.version}
    return [
        Finding(code, {**about, **list_and_count(different)})
        for code, different in paths.items()
        if different
    ]


def _file_code(row: RecordRow, *, compare: bool) -> str:
    """Return the code of the finding about a file, empty if it is as in RECORD.

    Its hash is computed only to `compare`.
    """
    try:
        status = os.stat(row.path)
    except (FileNotFoundError, NotADirectoryError):
        return "file-missing"
    except (OSError, ValueError):
        return "file-unreadable"
    if row.size not in (_UNKNOWN_SIZE, status.st_size):
        return "file-changed"
    if not stat.S_ISREG(status.st_mode):
        return "file-unreadable"
    if not compare:
        return ""
    digest = _digest(row)
    if not digest:
        return "file-unreadable"
    return "" if digest == row.digest else "file-changed"


def _digest(row: RecordRow) -> str:
    """Return the digest of a file as in its row, empty if it cannot be read or computed."""
    algorithm = row.digest.partition("=")[0]
    try:
        digest = hashlib.new(algorithm)
        with open(row.path, "rb") as file:
            while True:
                chunk = file.read(_CHUNK)
                if not chunk:
                    break
                digest.update(chunk)
        encoded = base64.urlsafe_b64encode(digest.digest()).decode()
    except (OSError, ValueError, TypeError):
        # ValueError and TypeError: an unknown algorithm, or one whose digests have any length
        return ""
    return f"{algorithm}={encoded.rstrip('=')}"


def _sample(rows: Sequence[RecordRow]) -> Sequence[RecordRow]:
    """Return the rows to hash: all of a small distribution, else a few modules, always the same."""
    size = sum(row.size for row in rows if row.size > 0)
    if len(rows) <= _SMALL_FILES and size <= _SMALL_BYTES:
        return rows
    modules = [row for row in rows if row.path.endswith(".py") and row.size <= _SAMPLE_BYTES]
    return sorted(modules, key=_sample_key)[:_SAMPLE]


def _sample_key(row: RecordRow) -> bytes:
    """Return a random but repeatable sort key, the same in every environment."""
    return hashlib.sha256(row.path.rpartition("site-packages")[2].encode()).digest()


def check_collisions(
    context: CheckContext,
    installed: Mapping[str, InstalledDistribution],
    records: Mapping[str, Sequence[RecordRow]],
) -> tuple[Group, set[tuple[str, str]]]:
    """Check for files that two distributions both have with different content.

    Return the group, and the files that a distribution has in RECORD but another one has on disk,
    as names and paths.
    """
    findings: list[Finding] = []
    overwritten: set[tuple[str, str]] = set()
    stages = {name: pin.stage for name, pin in context.lock.pins.items()}
    for (owner, other), files in sorted(_shared_files(records, stages).items()):
        ours = theirs = 0
        for file in files:
            digest = _digest(file.owner)
            if digest == file.owner.digest:
                ours += 1
                overwritten.add((other, file.other.path))
            elif digest == file.other.digest:
                theirs += 1
                overwritten.add((owner, file.owner.path))
        if other not in stages:
            code = "collision"
        elif theirs and stages[owner] != stages[other]:
            code = "collision-order"
        else:
            continue
        values = {
            "owner": owner,
            "other": other,
            "module": _top_name(installed[owner], files[0].owner.path),
            "count": str(len(files)),
            "ours": str(ours),
            "theirs": str(theirs),
        }
        findings.append(Finding(code, values, context.reinstall_command(other, owner)))
    return Group("collisions", findings), overwritten


def _shared_files(
    records: Mapping[str, Sequence[RecordRow]], stages: Mapping[str, int]
) -> dict[tuple[str, str], list[_SharedFile]]:
    """Return the files that two distributions have with different content, by their names.

    The first name is the owner: a locked distribution, and of two locked ones the one that is
    installed later.
    """
    claims: dict[str, list[tuple[str, RecordRow]]] = {}
    for name in sorted(records, key=lambda name: (-stages.get(name, 0), name)):
        for row in records[name]:
            if row.digest:
                claims.setdefault(row.path, []).append((name, row))
    shared: dict[tuple[str, str], list[_SharedFile]] = {}
    for claimants in claims.values():
        for (owner, owner_row), (other, other_row) in combinations(claimants, 2):
            if owner in stages and owner_row.digest != other_row.digest:
                shared.setdefault((owner, other), []).append(_SharedFile(owner_row, other_row))
    return shared


def _top_name(owner: InstalledDistribution, path: str) -> str:
    """Return the name of the package that a file is in, or of the file outside of site-packages."""
    relative = os.path.relpath(path, owner.root)
    if relative.startswith(".."):
        return os.path.basename(relative)
    return relative.split("/")[0]
