"""How git is run, and what its errors mean."""

from __future__ import annotations

import datetime as dt
import os
import re
import shlex
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from resolver.errors import InputError
from resolver.phrase import Phrase, cause, phrase
from resolver.redaction import LONGEST, without_secrets

_SETTINGS: Final = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "credential.interactive": "false",
    "fetch.recurseSubmodules": "false",
    "gc.auto": "0",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "20",
    "maintenance.auto": "false",
    "transfer.fsckObjects": "true",
}
_VARIABLES: Final = {
    "GIT_ALLOW_PROTOCOL": "https:ssh:file",
    # A path of a fact is a path, also if it begins with `:(glob)`.
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "LC_ALL": "C",
}
# Has git print the seconds since 1970 of a commit, by its committer's clock.
SHOW_TIME: Final = ("show", "--no-patch", "--format=%ct")
# Variables that would make git use another repository than the given one.
_IGNORED: Final = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_NAMESPACE",
    "GIT_COMMON_DIR",
)
_QUOTED_ADDRESS: Final = re.compile(r" *'[^']*(//|@).*'")
_NO_REPOSITORY: Final = "not a git repository"
_NO_REASON: Final = "fatal: Could not read from remote repository."


class RepositoryUnreadable(Exception):
    """A repository cannot be read now; the text is the reason, without an address."""


class GitError(RepositoryUnreadable):
    """Git failed. The text is its last message without addresses."""

    def __init__(self, output: str | Phrase) -> None:
        # All messages of git.
        self.output = str(output)
        if isinstance(output, Phrase):
            super().__init__(output)
        else:
            # git quotes an address as it is, with the password and the quotes in it.
            why = _QUOTED_ADDRESS.sub("", _last_message(output))
            super().__init__(without_secrets(why).strip())


def _last_message(output: str) -> str:
    """Return the message of git that says why it failed."""
    lines = [line for line in output.splitlines() if line.strip()]
    if not lines:
        return "git printed no message"
    fatal = [line for line in lines if line.startswith(("fatal:", "error:"))]
    last = fatal[-1] if fatal else lines[-1]
    position = lines.index(last)
    if last == _NO_REASON and position > 0:
        # The message of ssh, or of git on the server, is before it.
        last = lines[position - 1]
    if len(last) > LONGEST:
        # what is quoted could be cut before its end
        return "git printed a message that is too long to be shown"
    return re.sub(r"^(fatal|error): (unable to access '.*': )?", "", last)


def run_git(*arguments: str, seconds: float = 60, output: IO[bytes] | None = None) -> bytes:
    """Return the output of git, empty if it goes into the file `output`. Raises GitError."""
    environment = {key: value for key, value in os.environ.items() if key not in _IGNORED}
    environment |= _VARIABLES
    environment.setdefault("GIT_SSH_COMMAND", "ssh -o BatchMode=yes -o ConnectTimeout=15")
    command = ["git"]
    for key, value in _SETTINGS.items():
        command += ["-c", f"{key}={value}"]
    command += arguments
    try:
        process = subprocess.Popen(  # noqa: S603  no shell; addresses and names are checked where they are parsed
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if output is None else output,
            stderr=subprocess.PIPE,
            # So that programs that git starts for the network can be killed with it.
            start_new_session=True,
        )
    except FileNotFoundError:
        raise GitError(phrase("git is not installed")) from None
    with process:
        try:
            printed, errors = process.communicate(timeout=seconds)
        except BaseException as error:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise GitError(
                    phrase("no answer within {seconds} seconds", seconds=f"{seconds:.0f}")
                ) from None
            raise
    if process.returncode:
        raise GitError(errors.decode("utf-8", "replace"))
    return printed or b""


def init_bare(folder: Path) -> None:
    """Make an empty bare repository. Raises GitError."""
    run_git("init", "--quiet", "--bare", "--template=", "--", str(folder))


def ref_of(commit: str) -> str:
    """Return the name of the reference that a fetched commit has."""
    return f"refs/ascend-lock/{commit}"


def parse_references(output: bytes) -> dict[str, str]:
    """Return the commit of each reference in what `git ls-remote` printed."""
    commits: dict[str, str] = {}
    for line in output.decode("utf-8", "replace").splitlines():
        commit, _, reference = line.partition("\t")
        # An annotated tag is an object of its own; its commit has a line with this ending.
        name = reference.removesuffix("^{}")
        if reference != name or name not in commits:
            commits[name] = commit
    return commits


def parse_day(output: bytes, commit: str) -> dt.date:
    """Return the day in UTC of a commit, whose seconds since 1970 git printed.

    Raises RepositoryUnreadable.
    """
    try:
        seconds = int(output.decode("ascii", "replace"))
        return dt.datetime.fromtimestamp(seconds, dt.timezone.utc).date()
    except (ValueError, OverflowError, OSError):
        raise RepositoryUnreadable(
            phrase("the commit {commit} has no valid date", commit=commit)
        ) from None


def files_at(revision: str, folder: Path, name: str) -> dict[Path, str]:
    """Return the texts of the files with this name below a folder at a commit, by path.

    The commit is one of the repository that the folder is in. The folder need not exist any more.
    Raises InputError if there is no such commit or repository.
    """
    existing = folder
    while not existing.is_dir():
        existing = existing.parent
    try:
        commit = _git_in(
            existing, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}"
        ).strip()
        tree = f"{folder.relative_to(existing)}/"
        listed = _git_in(existing, "ls-tree", "-r", "-z", "--name-only", commit, "--", tree)
        texts = {}
        for path in map(Path, listed.split("\0")):
            if path.name == name:
                blob = f"{commit}:./{path.as_posix()}"
                texts[existing / path] = _git_in(existing, "cat-file", "blob", blob)
        return texts
    except (GitError, UnicodeDecodeError) as error:
        if isinstance(error, GitError) and _NO_REPOSITORY in error.output:
            raise InputError(
                phrase("{folder} is in no git repository", folder=folder),
                where=f"{folder}@{revision}",
                hint=phrase(
                    "name two folders or files of locks: {command}",
                    command="ascend-lock diff OLD NEW",
                ),
            ) from None
        hint = phrase("see `git log -- {folder}`", folder=shlex.quote(str(folder)))
        raise InputError(
            phrase("there is no `{revision}` of {folder}", revision=revision, folder=folder),
            why=cause(error),
            hint=hint,
        ) from None


def _git_in(folder: Path, *arguments: str) -> str:
    """Return what git prints in a folder. Raises GitError and UnicodeDecodeError."""
    return run_git("-C", str(folder), *arguments).decode()
