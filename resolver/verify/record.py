"""Compare installed files with RECORD: sizes and hashes, and files that two distributions have."""

from __future__ import annotations

import base64
import hashlib
import os
import shlex
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import combinations
from typing import NamedTuple

from resolver.verify.distributions import UNKNOWN_SIZE, Installed, InstalledDistribution, RecordRow
from resolver.verify.findings import (
    CheckContext,
    Finding,
    Group,
    UnreadableError,
    is_project_name,
    list_and_count,
)

# If a distribution has at most this many files and bytes, all its files are hashed.
_SMALL_FILES = 40
_SMALL_BYTES = 1 << 18
# Of a larger distribution, this many modules of at most this many bytes are hashed.
_SAMPLE = 12
_SAMPLE_BYTES = 1 << 18
_CHUNK = 1 << 20


class _SharedFile(NamedTuple):
    """A file that two distributions list with different hashes."""

    # The row in the RECORD of the distribution that should own the file (`_shared_files`).
    owner: RecordRow
    # The row in the RECORD of the other distribution.
    other: RecordRow


def check_files(
    context: CheckContext, installed: Installed, overwritten: Set[tuple[str, str]]
) -> Group:
    """Compare the files of the locked distributions with RECORD.

    With the option --full, files of all other distributions in this environment are compared, too.
    `overwritten` has pairs of a distribution's name and a path: these files were replaced by
    another distribution, and are left out.
    """
    findings = []
    file_count = compared_count = 0
    rewritten = sorted(name for name in context.lock.rewritten if name in installed)
    for name in sorted(context.lock.pins):
        if name not in installed or name in rewritten:
            continue
        distribution = installed[name]
        # conda changes files; invalid METADATA has a finding that reinstalls everything
        if distribution.is_of_conda or not distribution.version:
            continue
        if not distribution.rows:
            findings += _record_findings(context, distribution)
        rows = [row for row in distribution.rows if (name, row.path) not in overwritten]
        hashed = [row for row in rows if row.digest]
        compared = set(hashed if context.full else _sample(hashed))
        file_count += len(rows)
        compared_count += len(compared)
        findings += _file_findings(
            distribution, [*rows, *_missing_commands(distribution)], compared
        )
        if context.full:
            findings += _unhashed_finding(distribution, rows)
    if context.full:
        for distribution in others_here(context, installed):
            hashed = [row for row in distribution.rows if row.digest]
            rows = [row for row in hashed if (distribution.name, row.path) not in overwritten]
            findings += _extra_findings(context, distribution, rows)
    values = {
        "files": str(file_count),
        "compared": str(compared_count),
        "kept": ", ".join(rewritten),
    }
    note = "files-kept" if rewritten else ""
    if not any(name in installed for name in context.lock.pins):
        note = "nothing"
    return Group("files", findings, values, note)


def others_here(context: CheckContext, installed: Installed) -> list[InstalledDistribution]:
    """Return the distributions in this environment that are not locked, such as pip.

    Distributions of conda are left out, since conda changes files after installing them.
    """
    others = [installed[name] for name in sorted(installed) if name not in context.lock.pins]
    return [other for other in others if other.is_ours and not other.is_of_conda]


def _extra_findings(
    context: CheckContext, distribution: InstalledDistribution, rows: Sequence[RecordRow]
) -> Iterator[Finding]:
    """Yield one finding about all changed files of a distribution that is not locked.

    Missing files are ignored.
    """
    changed = [
        os.path.relpath(row.path, distribution.root)
        for row in rows
        if _file_code(row, compare=True) == "file-changed"
    ]
    if changed:
        pinned = f"{distribution.name}=={distribution.version}"
        install = f"{context.python} -m pip install --force-reinstall --no-deps"
        about = {"name": distribution.name, "version": distribution.version}
        remedy = f"{install} {shlex.quote(pinned)}"
        if not is_project_name(distribution.name):
            remedy = context.venv_command
        yield Finding("extra-changed", {**about, **list_and_count(changed)}, remedy)


def _record_findings(context: CheckContext, distribution: InstalledDistribution) -> list[Finding]:
    """Return the finding about a distribution whose RECORD is missing or invalid.

    There is none for an editable installation without RECORD.
    """
    values = {
        "name": distribution.name,
        "version": distribution.version,
        "folder": distribution.info,
    }
    remedy = context.then_install(f"rm -r {shlex.quote(distribution.info)}")
    try:
        distribution.read_record()
    except UnreadableError as error:
        return [Finding("record-broken", {**values, **error.values}, remedy)]
    if distribution.editable_folder:
        return []
    return [Finding("record-missing", values, remedy)]


def _file_findings(
    distribution: InstalledDistribution, rows: Sequence[RecordRow], compared: Set[RecordRow]
) -> list[Finding]:
    """Return a finding for the missing, the changed and the unreadable files of a distribution.

    All files in `rows` are compared by size, those in `compared` also by hash.
    """
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


def _missing_commands(distribution: InstalledDistribution) -> list[RecordRow]:
    """Return rows for the commands that neither RECORD nor the folder of commands has.

    An installer that was interrupted leaves the RECORD of the wheel, which lists none. There are
    none for a distribution without rows, since `_record_findings` is about it.
    """
    if not distribution.rows:
        return []
    listed = {os.path.basename(row.path) for row in distribution.rows}
    folder = os.path.dirname(sys.executable)
    paths = [os.path.join(folder, name) for name in distribution.commands() if name not in listed]
    return [RecordRow(path, "", UNKNOWN_SIZE) for path in paths if not os.path.lexists(path)]


def _unhashed_finding(
    distribution: InstalledDistribution, rows: Sequence[RecordRow]
) -> Iterator[Finding]:
    """Yield a finding about files without a hash in RECORD, which cannot be compared.

    RECORD itself has none, and its signatures need not have one, so these are left out.
    """
    names = [os.path.relpath(row.path, distribution.root) for row in rows if not row.digest]
    record = os.path.relpath(f"{distribution.info}/RECORD", distribution.root)
    unhashed = [name for name in names if name not in (record, f"{record}.jws", f"{record}.p7s")]
    if unhashed:
        about = {"name": distribution.name, "version": distribution.version}
        yield Finding("file-unhashed", {**about, **list_and_count(unhashed)})


def _file_code(row: RecordRow, *, compare: bool) -> str:
    """Return the code of the finding about a file; empty if it agrees with RECORD.

    Its hash is computed only with `compare`.
    """
    try:
        status = os.stat(row.path)
    except (FileNotFoundError, NotADirectoryError):
        return "file-missing"
    except (OSError, ValueError):
        return "file-unreadable"
    if row.size not in (UNKNOWN_SIZE, status.st_size):
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
    """Return the hash of a file in the form of RECORD, with the algorithm of its row.

    Empty if the file cannot be read, or the algorithm is not supported.
    """
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
    """Return the rows of the files to hash: all of a small distribution, otherwise a few modules.

    For the same distribution they are always the same.
    """
    size = sum(row.size for row in rows if row.size > 0)
    if len(rows) <= _SMALL_FILES and size <= _SMALL_BYTES:
        return rows
    modules = [row for row in rows if row.path.endswith(".py") and row.size <= _SAMPLE_BYTES]
    return sorted(modules, key=_sample_key)[:_SAMPLE]


def _sample_key(row: RecordRow) -> bytes:
    """Return a sort key that looks random, but is the same in every environment."""
    return hashlib.sha256(row.path.rpartition("site-packages")[2].encode()).digest()


def check_collisions(
    context: CheckContext, installed: Installed
) -> tuple[Group, set[tuple[str, str]]]:
    """Check for files that two distributions list with different hashes.

    Returns the result of the check, and the files that were overwritten: pairs of a distribution's
    name and the path of a file in its RECORD that now has the content of another distribution.
    """
    findings = []
    overwritten = set()
    stages = {name: pin.stage for name, pin in context.lock.pins.items()}
    for (owner, other), files in sorted(_shared_files(installed, stages).items()):
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
    installed: Installed, stages: Mapping[str, int]
) -> dict[tuple[str, str], list[_SharedFile]]:
    """Return the files that two distributions list with different hashes.

    The keys are pairs of names. The first name is the distribution whose file should be on the
    disk, the owner: a locked one, and of two locked ones the one that is installed later.
    """
    claims: dict[str, list[tuple[str, RecordRow]]] = {}
    for name in sorted(installed, key=lambda name: (-stages.get(name, 0), name)):
        for row in installed[name].rows:
            if row.digest:
                claims.setdefault(row.path, []).append((name, row))
    shared: dict[tuple[str, str], list[_SharedFile]] = {}
    for claimants in claims.values():
        for (owner, owner_row), (other, other_row) in combinations(claimants, 2):
            if owner in stages and owner_row.digest != other_row.digest:
                shared.setdefault((owner, other), []).append(_SharedFile(owner_row, other_row))
    return shared


def _top_name(owner: InstalledDistribution, path: str) -> str:
    """Return the first part of a file's path in site-packages; its name if it is elsewhere."""
    relative = os.path.relpath(path, owner.root)
    if relative.startswith(".."):
        return os.path.basename(relative)
    return relative.split("/")[0]
