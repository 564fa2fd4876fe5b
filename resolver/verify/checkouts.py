"""Check that each editable checkout is at the locked commit and has the files of that commit.

People work in a checkout, so no code of it is run. HEAD is read as a file. git reads the objects of
the checkout through an empty repository without its settings, hooks and filters. The commit, its
trees and the files are hashed here, since git does not check the hash of a tree. install.sh notes
which files the steps and builds of the lock itself have changed, and which modules they have added.
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
from collections.abc import Container, Iterator, Mapping
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
from resolver.verify.ownership import IMPORTABLE, module_path
from resolver.verify.strays import entries_in, is_folder, is_loadable

# The file in .git into which install.sh writes `LockedDistribution.key` when the checkout is built.
_MARK = "ascend-lock"
# The file in .git into which install.sh writes the output of `--changed-files`.
_CHANGED = "ascend-lock-changed"
_COMMIT = re.compile(r"[0-9a-f]{40}")
_REFERENCE = re.compile(r"refs(/[A-Za-z0-9_+=@-][A-Za-z0-9_.+=@-]*)+")
# The modes of entries of a tree.
_SUBMODULE = "160000"
_TREE = "40000"
# The size of a hash in a tree.
_HASH_BYTES = 20
_GIT_SECONDS = 300


class _Entry(NamedTuple):
    """An entry of a tree of a commit: a file, a submodule or another tree."""

    # The type and permissions, as git writes them.
    mode: str
    # The hash of the content as git computes it; for a submodule its commit.
    digest: str
    # The path relative to the checkout.
    path: str


class _Change(NamedTuple):
    """A file of a checkout that differs from the commit."""

    # `changed` if the commit has the file with another content, `added` if it does not have it, or
    # `hiding` if it does not have it but has another file for a module of the same name.
    kind: str
    # The hash of the content as git computes it; `-` if it cannot be read.
    digest: str
    # The path relative to the checkout.
    path: str

    @property
    def note(self) -> str:
        """Return the text by which install.sh notes this change."""
        return f"{self.digest} {self.path}"


class _UncomparedError(Exception):
    """The files of a checkout cannot be compared with its commit. The text says why."""


def check_checkouts(context: CheckContext, installed: Installed) -> Group:
    """Check that the checkout of each editable distribution has the files of the locked commit."""
    findings = []
    pins = context.lock.pins
    names = sorted(name for name in pins if pins[name].editable and name in installed)
    for name in names:
        folder = checkout_folder(name)
        move_aside = shlex.join(["mv", folder, f"{folder}.mine"])
        about = {"name": name, "folder": folder, "wanted": pins[name].commit}
        for code, values in _checkout_differences(context, pins[name]):
            remedy = context.then_install(move_aside)
            if code in ("checkout-uncompared", "checkout-added"):
                remedy = ""
            findings.append(Finding(code, {**about, **values}, remedy))
    return Group("checkouts", findings, {"list": ", ".join(names)})


def _checkout_differences(
    context: CheckContext, pin: LockedDistribution
) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the code and the values of each finding about the checkout of a pin."""
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
    known = set(noted.split("\0"))
    try:
        changes = [change for change in _changes(folder, pin.commit) if change.note not in known]
    except _UncomparedError as error:
        yield "checkout-uncompared", {"why": str(error)}
        return
    except UnreadableError as error:
        yield "checkout-unreadable", error.values
        return
    codes = {"changed": "checkout-changed", "hiding": "checkout-hidden", "added": "checkout-added"}
    for kind, code in codes.items():
        paths = sorted(change.path for change in changes if change.kind == kind)
        if paths:
            yield code, list_and_count(paths)


def print_changed_files(pin: LockedDistribution) -> int:
    """Print the notes of all changes in a checkout for install.sh, and return the exit status.

    Each note is followed by a zero byte.
    """
    try:
        changes = list(_changes(checkout_folder(pin.name), pin.commit))
    except (_UncomparedError, UnreadableError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    for change in changes:
        sys.stdout.buffer.write(os.fsencode(f"{change.note}\0"))
    sys.stdout.buffer.flush()
    return 0


def _head(git: str) -> str:
    """Return the commit that is checked out; empty if there is none.

    `git` is the folder .git. Raises UnreadableError.
    """
    text = (read_text(f"{git}/HEAD") or "").strip()
    if text.startswith("ref: "):
        text = _commit_of(git, text[len("ref: ") :])
    return text if _COMMIT.fullmatch(text) else ""


def _commit_of(git: str, reference: str) -> str:
    """Return the commit of a reference; empty if there is no such reference.

    `git` is the folder .git. Raises UnreadableError.
    """
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


def _changes(folder: str, commit: str, inside: str = "") -> Iterator[_Change]:
    """Yield each file of a checkout that differs from the commit, and each module that was added.

    Submodules that are checked out are compared, too. `inside` is put before all paths: the path of
    the submodule, with a slash. Raises _UncomparedError if git cannot be run, and UnreadableError
    if git lacks an object.
    """
    entries = _entries(folder, commit)
    for entry in entries:
        path = f"{folder}/{entry.path}"
        if entry.mode == _SUBMODULE:
            yield from _submodule_changes(path, entry.digest, f"{inside}{entry.path}")
            continue
        digest = _blob_digest(path)
        if digest != entry.digest:
            yield _Change("changed", digest, f"{inside}{entry.path}")
    modules = {module_path(entry.path) for entry in entries if entry.path.endswith(IMPORTABLE)}
    for name in _added_files(folder, {entry.path for entry in entries}):
        kind = "hiding" if module_path(name) in modules else "added"
        yield _Change(kind, _blob_digest(f"{folder}/{name}"), f"{inside}{name}")


def _submodule_changes(folder: str, commit: str, shown_path: str) -> Iterator[_Change]:
    """Yield the changes in a submodule; none if it is not checked out.

    `commit` is the commit that it should be at, and `shown_path` its path in the checkout. Raises
    _UncomparedError and UnreadableError.
    """
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
        yield _Change("changed", head or "-", shown_path)


def _added_files(folder: str, known: Container[str]) -> Iterator[str]:
    """Yield the paths of files in a checkout that Python can load and that are not `known`.

    `known` has the paths of the commit's files and submodules; submodules are not searched. A
    symbolic link to a folder counts as a file that can be loaded.
    """
    waiting = [""]
    while waiting:
        start = waiting.pop()
        for entry in entries_in(f"{folder}/{start}"):
            path = f"{start}{entry.name}"
            if path in known or entry.name == ".git":
                continue
            if not is_folder(entry):
                if is_loadable(f"{folder}/{start}".rstrip("/"), entry.name):
                    yield path
            elif not entry.is_symlink():
                waiting.append(f"{path}/")
            elif entry.name.isidentifier():
                yield path


def _entries(folder: str, commit: str) -> list[_Entry]:
    """Return the files and submodules of a commit, sorted by path.

    Raises _UncomparedError if git cannot be run, and UnreadableError if an object is missing or its
    content does not have its hash.
    """
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
        text = _read_objects([commit], environ, empty)[commit]
        trees = {"": text[len("tree ") :].partition(b"\n")[0].decode("ascii", "replace")}
        entries = []
        while trees:
            contents = _read_objects(sorted(set(trees.values())), environ, empty)
            inner = {}
            for start, name in trees.items():
                for entry in _tree_entries(contents[name], start):
                    if entry.mode == _TREE:
                        inner[f"{entry.path}/"] = entry.digest
                    else:
                        entries.append(entry)
            trees = inner
    return sorted(entries, key=lambda entry: entry.path)


def _tree_entries(content: bytes, start: str) -> Iterator[_Entry]:
    """Yield the entries of a tree from the content of its object. `start` is put before paths."""
    while content:
        description, _, hash_and_more = content.partition(b"\0")
        mode, _, name = os.fsdecode(description).partition(" ")
        yield _Entry(mode, hash_and_more[:_HASH_BYTES].hex(), f"{start}{name}")
        content = hash_and_more[_HASH_BYTES:]


def _read_objects(names: list[str], environ: Mapping[str, str], folder: str) -> dict[str, bytes]:
    """Return the contents of git objects by name. The name of an object is a hash of its content.

    Raises _UncomparedError if git cannot be run, and UnreadableError if an object is missing or its
    content does not have its hash.
    """
    question = "".join(f"{name}\n" for name in names).encode()
    output = _run_git(["cat-file", "--batch"], environ, folder, question)
    contents = {}
    for name in names:
        head, _, output = output.partition(b"\n")
        _, _, kind_and_size = head.partition(b" ")
        kind, _, size = kind_and_size.partition(b" ")
        content = output[: int(size)] if size.isdigit() else b""
        output = output[len(content) + 1 :] if size.isdigit() else output
        # git identifies content by its sha1
        digest = hashlib.sha1(b"%s %s\0" % (kind, size) + content).hexdigest()  # noqa: S324
        if digest != name:
            path = environ["GIT_OBJECT_DIRECTORY"]
            raise UnreadableError(path, f"the object {name} is missing or not as its name says")
        contents[name] = content
    return contents


def _run_git(
    arguments: list[str], environ: Mapping[str, str], folder: str, question: bytes
) -> bytes:
    """Return the standard output of git, with `question` on its standard input.

    The output is incomplete if git fails. Raises _UncomparedError if git cannot be run or takes too
    long.
    """
    try:
        done = subprocess.run(  # noqa: S603
            ["git", *arguments],  # noqa: S607  the git on PATH
            cwd=folder,
            env=dict(environ),
            input=question,
            capture_output=True,
            timeout=_GIT_SECONDS,
            check=False,
        )
    except OSError as error:
        raise _UncomparedError(f"git: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise _UncomparedError(f"git took more than {_GIT_SECONDS} s") from None
    return done.stdout


def _blob_digest(path: str) -> str:
    """Return git's hash of a file's content or of a symbolic link; `-` if it cannot be read."""
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
