"""Run git safely, and turn its errors into reasons without secrets.

Hooks, prompts and automatic maintenance are turned off (`_SETTINGS`, `_VARIABLES`). `repositories`
and `references` call this module, and so does `ascend-lock diff` for locks of an earlier commit.
"""

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

# Settings that are passed to every command.
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
# Environment variables that are set for every command.
_VARIABLES: Final = {
    "GIT_ALLOW_PROTOCOL": "https:ssh:file",
    # So that a path in a fact is taken literally, even if it begins with `:(glob)`.
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "LC_ALL": "C",
}
# Arguments with which git prints the committer's date of a commit, in seconds since 1970.
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
# An address that git quotes in a message.
_QUOTED_ADDRESS: Final = re.compile(r" *'[^']*(//|@).*'")
_NO_REPOSITORY: Final = "not a git repository"
# A message that does not say why: the message before it does.
_NO_REASON: Final = "fatal: Could not read from remote repository."


class RepositoryUnreadable(Exception):
    """A repository cannot be read now. The text is the reason, without an address."""


class GitError(RepositoryUnreadable):
    """Git failed. The text is the message that says why, without addresses."""

    def __init__(self, output: str | Phrase) -> None:
        """Give all that git printed on its standard error, or the reason as a phrase."""
        # All messages of git, with addresses: not for users.
        self.output = str(output)
        if isinstance(output, Phrase):
            super().__init__(output)
        else:
            # git quotes addresses unchanged, with passwords and with any quotes in them.
            why = _QUOTED_ADDRESS.sub("", _last_message(output))
            super().__init__(without_secrets(why).strip())


def _last_message(output: str) -> str:
    """Return the line of git's messages that says why it failed, without `fatal:` or `error:`."""
    lines = [line for line in output.splitlines() if line.strip()]
    if not lines:
        return "git printed no message"
    fatal = [line for line in lines if line.startswith(("fatal:", "error:"))]
    last = fatal[-1] if fatal else lines[-1]
    position = lines.index(last)
    if last == _NO_REASON and position > 0:
        # The message of ssh, or of git on the server, precedes it.
        last = lines[position - 1]
    if len(last) > LONGEST:
        # Cutting it could cut a quoted address, whose password would then not be recognized.
        return "git printed a message that is too long to be shown"
    return re.sub(r"^(fatal|error): (unable to access '.*': )?", "", last)


def run_git(*arguments: str, seconds: float = 60, output: IO[bytes] | None = None) -> bytes:
    """Run git, and return its standard output.

    With `output`, the standard output is written into that file, and the result is empty. git is
    killed after `seconds`. Raises GitError if it fails, takes longer, or is not installed.
    """
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
    """Make an empty bare repository in a folder. Raises GitError."""
    run_git("init", "--quiet", "--bare", "--template=", "--", str(folder))


def ref_of(commit: str) -> str:
    """Return the name of the reference under which a fetched commit is kept."""
    return f"refs/ascend-lock/{commit}"


def parse_references(output: bytes) -> dict[str, str]:
    """Return the commit of each reference in the output of `git ls-remote`.

    For an annotated tag it is the tagged commit.
    """
    commits: dict[str, str] = {}
    for line in output.decode("utf-8", "replace").splitlines():
        commit, _, reference = line.partition("\t")
        # An annotated tag is an object of its own. The line with this ending has its commit.
        name = reference.removesuffix("^{}")
        if reference != name or name not in commits:
            commits[name] = commit
    return commits


def parse_day(output: bytes, commit: str) -> dt.date:
    """Return the day of a commit in UTC, from the output of git for `SHOW_TIME`.

    Raises RepositoryUnreadable if it is not a valid date.
    """
    try:
        seconds = int(output.decode("ascii", "replace"))
        return dt.datetime.fromtimestamp(seconds, dt.timezone.utc).date()
    except (ValueError, OverflowError, OSError):
        raise RepositoryUnreadable(
            phrase("the commit {commit} has no valid date", commit=commit)
        ) from None


def files_at(revision: str, folder: Path, name: str) -> dict[Path, str]:
    """Return the texts of all files with a name below a folder, as they were at a commit.

    The keys are their paths on this machine. `revision` names the commit, in the repository that
    contains the folder. The folder may have been removed since. Raises InputError if there is no
    such repository or commit, or if a file is not UTF-8.
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
    """Run git in a folder, and return its output. Raises GitError and UnicodeDecodeError."""
    return run_git("-C", str(folder), *arguments).decode()
