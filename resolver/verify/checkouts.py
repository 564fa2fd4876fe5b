"""The checkouts of editable distributions: whether each is at the commit of the lock and has its files.

A checkout is somebody's to work in, so nothing of it is run: HEAD is read as a file, and git lists
what the commit has by the checkout's objects alone, from a folder without any setting, hook or
filter. The files are then hashed here. install.sh notes which files the lock's own steps and builds
have changed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from resolver.verify.distributions import InstalledDistribution
from resolver.verify.environment import checkout_folder
from resolver.verify.findings import (
    CheckContext,
    Finding,
    Group,
    LockedDistribution,
    UnreadableError,
    list_and_count,
    read_text,
)

# What install.sh writes into .git: the digest of all that a finished checkout was made of, and the
# changed files.
_MARK = "ascend-lock"
_CHANGED = "ascend-lock-changed"
_COMMIT = re.compile(r"[0-9a-f]{40}")
_REFERENCE = re.compile(r"refs(/[A-Za-z0-9_+=@-][A-Za-z0-9_.+=@-]*)+")
_SUBMODULE = "160000"
_GIT_SECONDS = 300


class _Entry(NamedTuple):
    """What a commit has at a path of the checkout: the kind and rights, and the name of the content."""

    mode: str
    digest: str
    path: str


class _UncomparedError(Exception):
    """The files of a checkout cannot be compared with its commit; the text says why."""


def check_checkouts(context: CheckContext, installed: Mapping[str, InstalledDistribution]) -> Group:
    """Return how the checkout of each editable distribution differs from its commit."""
    findings: list[Finding] = []
    names = sorted(
        name for name, pin in context.lock.pins.items() if pin.editable and name in installed
    )
    for name in names:
        pin, folder = context.lock.pins[name], checkout_folder(name)
        remedy = context.then_install(f"mv {shlex.quote(folder)} {shlex.quote(folder)}.mine")
        for code, values in _differences(context, pin):
            described = {"name": name, "folder": folder, "wanted": pin.commit, **values}
            findings.append(
                Finding(code, described, "" if code == "checkout-uncompared" else remedy)
            )
    return Group("checkouts", findings, {"list": ", ".join(names)})


def _differences(
    context: CheckContext, pin: LockedDistribution
) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the code and values of each finding about a checkout."""
    git = os.path.join(checkout_folder(pin.name), ".git")
    try:
        head = _head(git)
        mark = read_text(os.path.join(git, _MARK)) or ""
        noted = read_text(os.path.join(git, _CHANGED), errors="surrogateescape") or ""
    except UnreadableError as error:
        yield "checkout-unreadable", error.values
        return
    if head != pin.commit:
        yield "checkout-other", {"found": head or "-"}
        return
    if mark.strip() != pin.source:
        yield "checkout-unmarked", {}
    if pin.name in context.lock.rewritten:
        return
    try:
        changed = set(_changes(checkout_folder(pin.name), pin.commit)) - set(noted.split("\0"))
    except _UncomparedError as error:
        yield "checkout-uncompared", {"why": str(error)}
        return
    if changed:
        yield "checkout-changed", list_and_count(sorted(row.partition(" ")[2] for row in changed))


def print_changed_files(pin: LockedDistribution) -> int:
    """Write the changed files of a checkout, each ended by a zero byte, for install.sh; return the exit status."""
    try:
        rows = list(_changes(checkout_folder(pin.name), pin.commit))
    except _UncomparedError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.buffer.write(b"".join(os.fsencode(f"{row}\0") for row in rows))
    sys.stdout.buffer.flush()
    return 0


def _head(git: str) -> str:
    """Return the commit that is checked out; nothing if there is none. Raises UnreadableError."""
    text = (read_text(os.path.join(git, "HEAD")) or "").strip()
    reference = text[len("ref: ") :] if text.startswith("ref: ") else ""
    if _REFERENCE.fullmatch(reference):
        packed = read_text(os.path.join(git, "packed-refs")) or ""
        lines = [line.split(" ") for line in packed.splitlines()]
        commits = [words[0] for words in lines if words[1:] == [reference]]
        text = (read_text(os.path.join(git, reference)) or "".join(commits[:1])).strip()
    return text if _COMMIT.fullmatch(text) else ""


def _changes(folder: str, commit: str, inside: str = "") -> Iterator[str]:
    """Yield `DIGEST PATH` for each file that is not the commit's, with `-` for one that cannot be read.

    A submodule that is checked out is compared in the same way; its paths begin with its own,
    `inside`. Raises _UncomparedError.
    """
    for entry in _entries(folder, commit):
        path = os.path.join(folder, entry.path)
        if entry.mode == _SUBMODULE:
            yield from _changes_of_submodule(path, entry.digest, f"{inside}{entry.path}")
            continue
        digest = _blob(path)
        if digest != entry.digest:
            yield f"{digest} {inside}{entry.path}"


def _changes_of_submodule(folder: str, commit: str, shown: str) -> Iterator[str]:
    """Yield the same of a submodule, which need not be checked out."""
    git = os.path.join(folder, ".git")
    if not os.path.isdir(git):
        return
    try:
        head = _head(git)
    except UnreadableError as error:
        raise _UncomparedError(error.values["why"]) from None
    if head == commit:
        yield from _changes(folder, commit, f"{shown}/")
    else:
        yield f"{head or '-'} {shown}"


def _entries(folder: str, commit: str) -> list[_Entry]:
    """Return what a commit has. Raises _UncomparedError."""
    with tempfile.TemporaryDirectory() as empty:
        for name in ("objects", "refs"):
            os.mkdir(os.path.join(empty, name))
        with open(os.path.join(empty, "HEAD"), "w", encoding="ascii") as file:
            file.write("ref: refs/heads/none\n")
        others = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environ = {
            **others,
            "HOME": empty,
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_DIR": empty,
            "GIT_OBJECT_DIRECTORY": os.path.join(folder, ".git", "objects"),
        }
        listed = _run_git(["ls-tree", "-r", "-z", "--full-tree", commit], environ, empty)
    entries = []
    for line in os.fsdecode(listed).split("\0"):
        head, _, path = line.partition("\t")
        if path:
            mode, _, digest = head.split(" ")
            entries.append(_Entry(mode, digest, path))
    return entries


def _run_git(arguments: list[str], environ: Mapping[str, str], folder: str) -> bytes:
    """Return the output of git. Raises _UncomparedError."""
    try:
        done = subprocess.run(  # noqa: S603
            ["git", *arguments],  # noqa: S607  the git on PATH
            cwd=folder,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GIT_SECONDS,
            check=False,
        )
    except OSError as error:
        raise _UncomparedError(f"git: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise _UncomparedError(f"git took more than {_GIT_SECONDS} s") from None
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise _UncomparedError(lines[-1] if lines else f"git: exit status {done.returncode}")
    return done.stdout


def _blob(path: str) -> str:
    """Return the name that git gives to the content of a file or link; `-` if it cannot be read."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            content = os.fsencode(os.readlink(path))
        elif stat.S_ISREG(mode):
            with open(path, "rb") as file:
                content = file.read()
        else:
            return "-"
    except OSError:
        return "-"
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()  # noqa: S324  git's own name
