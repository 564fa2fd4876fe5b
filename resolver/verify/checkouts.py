"""The check of editable checkouts: whether each is at the lock's commit and has its files.

Somebody works in a checkout, so nothing in it is run. HEAD is read as a file. git lists the files
of the commit from a folder without settings, hooks and filters, and uses only the objects of the
checkout. The files are then hashed here. install.sh notes which files the lock's own steps and
builds have changed.
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

from resolver.verify.distributions import Installed
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

# In .git of a finished checkout, install.sh writes `LockedDistribution.key` into this file.
_MARK = "ascend-lock"
# And it writes the output of `--changed-files` into this one.
_CHANGED = "ascend-lock-changed"
_COMMIT = re.compile(r"[0-9a-f]{40}")
_REFERENCE = re.compile(r"refs(/[A-Za-z0-9_+=@-][A-Za-z0-9_.+=@-]*)+")
_SUBMODULE = "160000"
_GIT_SECONDS = 300


class _Entry(NamedTuple):
    """A file or submodule of a commit."""

    # The type and permissions, as git writes them.
    mode: str
    # The hash of the content as git computes it, or the commit of a submodule.
    digest: str
    # Relative to the checkout.
    path: str


class _UncomparedError(Exception):
    """The files of a checkout cannot be compared with its commit; the text says why."""


def check_checkouts(context: CheckContext, installed: Installed) -> Group:
    """Check whether the checkout of each editable distribution has the files of its commit."""
    findings = []
    pins = context.lock.pins
    names = sorted(name for name in pins if pins[name].editable and name in installed)
    for name in names:
        folder = checkout_folder(name)
        move_aside = shlex.join(["mv", folder, f"{folder}.mine"])
        about = {"name": name, "folder": folder, "wanted": pins[name].commit}
        for code, values in _checkout_differences(context, pins[name]):
            remedy = context.then_install(move_aside)
            if code == "checkout-uncompared":
                remedy = ""
            findings.append(Finding(code, {**about, **values}, remedy))
    return Group("checkouts", findings, {"list": ", ".join(names)})


def _checkout_differences(
    context: CheckContext, pin: LockedDistribution
) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the code and the values of each finding about a checkout."""
    folder = checkout_folder(pin.name)
    git = f"{folder}/.git"
    try:
        head = _head(git)
        mark = read_text(f"{git}/{_MARK}") or ""
        noted = read_text(f"{git}/{_CHANGED}", errors="surrogateescape") or ""
    except UnreadableError as error:
        yield "checkout-unreadable", error.values
        return
    if head != pin.commit:
        yield "checkout-other", {"found": head or "-"}
        return
    if mark.strip() != pin.key:
        yield "checkout-unmarked", {}
    if pin.name in context.lock.rewritten:
        return
    try:
        changes = set(_changes(folder, pin.commit)) - set(noted.split("\0"))
    except _UncomparedError as error:
        yield "checkout-uncompared", {"why": str(error)}
        return
    if changes:
        paths = sorted(change.partition(" ")[2] for change in changes)
        yield "checkout-changed", list_and_count(paths)


def print_changed_files(pin: LockedDistribution) -> int:
    """Write the changed files of a checkout for install.sh, each followed by a zero byte.

    Return the exit status.
    """
    try:
        changes = list(_changes(checkout_folder(pin.name), pin.commit))
    except _UncomparedError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    for change in changes:
        sys.stdout.buffer.write(os.fsencode(f"{change}\0"))
    sys.stdout.buffer.flush()
    return 0


def _head(git: str) -> str:
    """Return the commit that is checked out, empty if there is none. Raises UnreadableError."""
    text = (read_text(f"{git}/HEAD") or "").strip()
    if text.startswith("ref: "):
        text = _commit_of(git, text[len("ref: ") :])
    return text if _COMMIT.fullmatch(text) else ""


def _commit_of(git: str, reference: str) -> str:
    """Return the content of a reference, empty if there is none. Raises UnreadableError."""
    if not _REFERENCE.fullmatch(reference):
        return ""
    text = read_text(f"{git}/{reference}")
    if text:
        return text.strip()
    for line in (read_text(f"{git}/packed-refs") or "").splitlines():
        commit, _, name = line.partition(" ")
        if name == reference:
            return commit
    return ""


def _changes(folder: str, commit: str, inside: str = "") -> Iterator[str]:
    """Yield `DIGEST PATH` for each file that is not the commit's; `-` is one that cannot be read.

    Submodules that are checked out are compared, too. Paths in them begin with `inside`, the path
    of the submodule. Raises _UncomparedError.
    """
    for entry in _entries(folder, commit):
        path = f"{folder}/{entry.path}"
        if entry.mode == _SUBMODULE:
            yield from _submodule_changes(path, entry.digest, f"{inside}{entry.path}")
            continue
        digest = _blob_digest(path)
        if digest != entry.digest:
            yield f"{digest} {inside}{entry.path}"


def _submodule_changes(folder: str, commit: str, shown_path: str) -> Iterator[str]:
    """Yield the changes of a submodule, none if it is not checked out. Raises _UncomparedError."""
    git = f"{folder}/.git"
    if not os.path.isdir(git):
        return
    try:
        head = _head(git)
    except UnreadableError as error:
        raise _UncomparedError(error.values["why"]) from None
    if head == commit:
        yield from _changes(folder, commit, f"{shown_path}/")
    else:
        yield f"{head or '-'} {shown_path}"


def _entries(folder: str, commit: str) -> list[_Entry]:
    """Return the files and submodules of a commit. Raises _UncomparedError."""
    with tempfile.TemporaryDirectory() as empty:
        for name in ("objects", "refs"):
            os.mkdir(f"{empty}/{name}")
        with open(f"{empty}/HEAD", "w", encoding="ascii") as file:
            file.write("ref: refs/heads/none\n")
        environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environ.update(
            HOME=empty,
            LC_ALL="C",
            GIT_CONFIG_NOSYSTEM="1",
            GIT_CONFIG_GLOBAL=os.devnull,
            GIT_NO_REPLACE_OBJECTS="1",
            GIT_DIR=empty,
            GIT_OBJECT_DIRECTORY=f"{folder}/.git/objects",
        )
        listing = _run_git(["ls-tree", "-r", "-z", "--full-tree", commit], environ, empty)
    entries = []
    for line in os.fsdecode(listing).split("\0"):
        description, _, path = line.partition("\t")
        if path:
            mode, _, digest = description.split(" ")
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


def _blob_digest(path: str) -> str:
    """Return git's hash of the content of a file or link; `-` if it cannot be read."""
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
    # git identifies content by its sha1
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()  # noqa: S324
