"""Run git safely, and turn its errors into reasons without secrets.

Hooks, prompts and automatic maintenance are turned off (`_SETTINGS`, `_VARIABLES`). `repositories`
and `references` call this module, and so does `ascend-lock diff` for locks of an earlier commit.

The `config` of a repository can name programs that git runs. Left to itself, git takes any folder
above the current one for a repository that has files such as `HEAD` and `config`, and a proposed
change can add these. So each call names the repository, and git searches for none.
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
from typing import IO, Final, NamedTuple

from resolver.errors import InputError
from resolver.index.git_netrc import without_default_entry
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
    # A folder is a repository only if it is named, or by its `.git`.
    "safe.bareRepository": "explicit",
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
# The variable by which git fetches nothing that is missing in a repository.
_NO_LAZY_FETCH: Final = "GIT_NO_LAZY_FETCH"
# Stands for no repository. Git then reads only the settings of the user and of the system.
NO_REPOSITORY: Final = Path(os.devnull)
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
_NOT_A_REPOSITORY: Final = "not a git repository"
# What git says of a text that names no revision.
_NO_REVISION: Final = "Needed a single revision"
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


class WorkTree(NamedTuple):
    """The folder of the user's files in a repository, which is the `.git` in it.

    Git itself judges whether that may be trusted, by its owner and `safe.directory`. For a
    repository that is named otherwise, it does not.
    """

    # The folder. It is absolute and has no links.
    folder: Path


def run_git(
    repository: Path | WorkTree,
    *arguments: str,
    seconds: float = 60,
    output: IO[bytes] | None = None,
    fetches_missing: bool = False,
) -> bytes:
    """Run git in a repository, and return its standard output.

    `repository` is the folder of a bare repository, `NO_REPOSITORY`, or a work tree. With `output`,
    the standard output is written into that file, and the result is empty. With `fetches_missing`,
    git fetches an object when it is read, if the repository was fetched without it. git is killed
    after `seconds`. Raises GitError if it fails, takes longer, or is not installed.
    """
    environment = {key: value for key, value in os.environ.items() if key not in _IGNORED}
    environment |= _VARIABLES
    environment.setdefault("GIT_SSH_COMMAND", "ssh -o BatchMode=yes -o ConnectTimeout=15")
    if fetches_missing:
        environment.pop(_NO_LAZY_FETCH, None)
    else:
        environment[_NO_LAZY_FETCH] = "1"
    if isinstance(repository, WorkTree):
        # So that git looks for `.git` in this folder alone.
        environment["GIT_CEILING_DIRECTORIES"] = str(repository.folder.parent)
        place = ["-C", str(repository.folder)]
    else:
        place = [f"--git-dir={repository}"]
    command = ["git", *place]
    for key, value in _SETTINGS.items():
        command += ["-c", f"{key}={value}"]
    command += arguments
    with without_default_entry() as variables:
        status, printed, errors = _finished(command, environment | variables, seconds, output)
    if status:
        raise GitError(errors.decode("utf-8", "replace"))
    return printed or b""


def _finished(
    command: list[str], environment: dict[str, str], seconds: float, output: IO[bytes] | None
) -> tuple[int, bytes | None, bytes]:
    """Run a command. Return its status, its standard output and its standard error.

    The parameters and errors are those of `run_git`.
    """
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
    return process.returncode, printed, errors


def init_bare(folder: Path) -> None:
    """Make an empty bare repository in a folder. Raises GitError."""
    run_git(folder, "init", "--quiet", "--bare", "--template=")


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
    # Git does not follow links in paths.
    real = existing.resolve()
    work_tree = _work_tree_of(real)
    if work_tree is None:
        raise _not_in_repository(revision, folder)
    start = real.relative_to(work_tree.folder)
    tree = start / folder.relative_to(existing)
    # The folder of the whole tree has no name in git.
    paths = () if tree == Path() else (f"{tree.as_posix()}/",)
    try:
        commit = _text_of(
            work_tree, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}"
        ).strip()
        listed = _text_of(
            work_tree, "ls-tree", "-r", "-z", "--full-tree", "--name-only", commit, "--", *paths
        )
        texts = {}
        for path in map(Path, listed.split("\0")):
            if path.name == name:
                text = _text_of(work_tree, "cat-file", "blob", f"{commit}:{path.as_posix()}")
                texts[existing / path.relative_to(start)] = text
        return texts
    except (GitError, UnicodeDecodeError) as error:
        if isinstance(error, GitError) and _NOT_A_REPOSITORY in error.output:
            raise _not_in_repository(revision, folder) from None
        why = cause(error)
        if isinstance(error, GitError) and _NO_REVISION in error.output:
            why = phrase("it is no commit, tag or branch of the repository")
        hint = phrase("see `git log -- {folder}`", folder=shlex.quote(str(folder)))
        raise InputError(
            phrase("there is no `{revision}` of {folder}", revision=revision, folder=folder),
            why=why,
            hint=hint,
        ) from None


def _work_tree_of(folder: Path) -> WorkTree | None:
    """Return the work tree that contains a folder; None if it is in none.

    Only a `.git` makes a work tree. Git checks out no file or folder of this name.
    """
    for above in (folder, *folder.parents):
        if (above / ".git").exists():
            return WorkTree(above)
    return None


def _not_in_repository(revision: str, folder: Path) -> InputError:
    """Return the error for a folder that is in no repository."""
    return InputError(
        phrase("{folder} is in no git repository", folder=folder),
        why=phrase("so there is no `{revision}` of it", revision=revision),
        hint=phrase(
            "name two locks, each by the folder of a stack's locks or by a lock.toml: {command}",
            command="ascend-lock diff OLD NEW",
        ),
    )


def _text_of(repository: WorkTree, *arguments: str) -> str:
    """Return what git prints in a work tree. Raises GitError and UnicodeDecodeError."""
    return run_git(repository, *arguments).decode()
