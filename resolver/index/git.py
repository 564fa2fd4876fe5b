"""Git repositories: commits by name, files at a commit, a commit as a bundle.

Nothing is checked out: no hook, filter or submodule of a repository counts, and no code of it runs.
What is fetched stays in the cache, as a bare repository for each commit. Git checks every object
against its name (transfer.fsckObjects), so what is read at a commit is what the commit has.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from resolver import address
from resolver.errors import InputError
from resolver.index.store.cache import set_aside
from resolver.model.message import Message, message
from resolver.openat import Kind
from resolver.owned_folder import OwnedFolder
from resolver.redaction import without_secrets

_FOLDER = "git"
_REPOSITORY = re.compile(r"[0-9a-f]{32}-[0-9a-f]{40}(?:\.blobless)?\.git")
_PREFIX = ".ascend-lock-"
_ASK_SECONDS = 20
_FETCH_SECONDS = 600
_LARGEST = 8 * 1024 * 1024
_SETTINGS = {
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
# In messages of git, curl and ssh if no server was reached
_NO_NETWORK = re.compile(
    "resolve host|connect|timed out|no answer within|SSL|TLS|reset by peer|too slow", re.I
)
_OF_SERVER = "remote error:"  # begins what a server said
_QUOTED_ADDRESS = re.compile(r" *'[^']*(//|@).*'")
_NO_REASON = "fatal: Could not read from remote repository."
# Variables that would make git use another repository than the given one.
_IGNORED = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_NAMESPACE",
    "GIT_COMMON_DIR",
)


class RepositoryUnreadable(Exception):
    """A repository cannot be read now; the text is the reason, without an address."""


class NoSuchCommit(InputError):
    """A repository does not have the commit. `where` is the line that names it, if known."""

    def __init__(self, url: str, commit: str, where: str = "") -> None:
        super().__init__(
            "the repository does not have the commit",
            where=where or url,
            why=f"{url} does not give {commit}" if where else commit,
            hint="check the hash: a commit that a force push removed, or that only another copy has, cannot be fetched",
        )
        self.url = url
        self.commit = commit


class _Access:
    """What a run has found out about hosts and repositories.

    A host that no connection reaches is not tried again, nor is a repository or a commit that a
    host refuses; what a host says of one repository (it does not exist, it is private) or commit is
    nothing about another.
    """

    def __init__(self) -> None:
        self._reached: set[str] = set()
        self._failures: dict[
            tuple[str, str], str
        ] = {}  # by host, or by address and commit ("" for all of it)

    def is_reached(self, url: str) -> bool:
        """Return whether the host of an address answered before."""
        return _host(url) in self._reached

    def failure(self, url: str, commit: str) -> str:
        """Return why a commit of a repository cannot be read, "" if that is not known."""
        keys = ((_host(url), ""), (url, ""), (url, commit))
        return next((self._failures[key] for key in keys if key in self._failures), "")

    def succeeded(self, url: str) -> None:
        """Note that a host answered."""
        self._reached.add(_host(url))

    def failed(self, url: str, commit: str, why: str, *, has_network: bool) -> None:
        """Note why a commit could not be read: because no connection reached its host, or why the host refused."""
        host = _host(url)
        if has_network:
            self._reached.add(host)
        self._failures[(url, commit) if host in self._reached else (host, "")] = why


class Repositories:
    """Reads repositories, and warns once of each that cannot be read.

    With `offline` only those in the cache, a folder, can be read. If they are `blobless`, git
    fetches a file only when it is read, from a server that can do so: for single files of many
    commits.
    """

    def __init__(
        self,
        folder: Path,
        *,
        offline: bool = False,
        blobless: bool = False,
        warn: Callable[[Message], None],
    ) -> None:
        self._cache = folder
        self._folder = folder / _FOLDER
        self._offline = offline
        self._blobless = blobless
        self._warn = warn
        self._access = _Access()

    def clear(self) -> None:
        """Remove all repositories from the cache."""
        with suppress(OSError), self._opened() as repositories:
            for name in repositories.names():
                if _REPOSITORY.fullmatch(name) or name.startswith(_PREFIX):
                    repositories.remove_tree(name)

    def resolve_ref(self, url: str, name: str) -> tuple[str, str]:
        """The commit of a tag and that of a branch with this name, "" for none.

        Raises RepositoryUnreadable.
        """
        tag, annotated, branch = f"refs/tags/{name}", f"refs/tags/{name}^{{}}", f"refs/heads/{name}"
        with self._network(url):
            output = run_git("ls-remote", "--", url, tag, annotated, branch, seconds=_ASK_SECONDS)
        commits = {
            ref: commit
            for commit, _, ref in (line.partition("\t") for line in output.decode().splitlines())
        }
        return commits.get(annotated) or commits.get(tag, ""), commits.get(branch, "")

    def read(self, url: str, commit: str, path: str) -> bytes | None:
        """A file at a commit; None if there is none.

        Raises RepositoryUnreadable and NoSuchCommit.
        """
        entry = self._run(url, commit, "ls-tree", "-l", "-z", commit, "--", path).decode(
            "utf-8", "replace"
        )
        match = re.match(r"100(?:644|755) blob [0-9a-f]+ +([0-9]+)\t(.*)\0\Z", entry, re.DOTALL)
        if match is None or match[2] != path:  # nothing, a folder, a link or a submodule
            return None
        if int(match[1]) > _LARGEST:
            raise InputError(
                f"`{path}` is larger than {_LARGEST >> 20} MiB, which is the most that is read of a file",
                where=f"{url}@{commit}",
                hint="state what it says in a [[sources]] fact, without the file in `requires-from`",
            )
        return self._run(url, commit, "cat-file", "blob", f"{commit}:{path}")

    def committed(self, url: str, commit: str) -> dt.date:
        """Return the day of a commit in UTC, as its committer's clock had it.

        Raises as `read` does.
        """
        seconds = self._run(url, commit, "show", "--no-patch", "--format=%ct", commit).decode(
            "ascii", "replace"
        )
        try:
            return dt.datetime.fromtimestamp(int(seconds), dt.timezone.utc).date()
        except (ValueError, OverflowError, OSError):
            raise RepositoryUnreadable(f"the commit {commit} has no valid date") from None

    def submodule(self, url: str, commit: str, path: str) -> str | None:
        """The commit of the submodule at a path; None if there is none. Raises as `read` does."""
        entry = self._run(url, commit, "ls-tree", "-z", commit, "--", path).decode(
            "utf-8", "replace"
        )
        match = re.match(r"160000 commit ([0-9a-f]{40})\t(.*)\0\Z", entry, re.DOTALL)
        return match[1] if match is not None and match[2] == path else None

    def save(self, url: str, commit: str, target: IO[bytes]) -> None:
        """Write the commit with its tree as a bundle for install.sh into a file.

        Raises RepositoryUnreadable.
        """
        self._run(url, commit, "bundle", "create", "--quiet", "-", _ref(commit), output=target)

    def is_complete_bundle(self, path: Path, commit: str) -> bool:
        """Whether a file is a bundle with the whole commit, checked like install.sh does."""
        if not path.is_file():
            return False
        with TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as temporary:
            folder = Path(temporary)
            try:
                run_git("init", "--quiet", "--bare", "--template=", "--", str(folder))
                (folder / "shallow").write_text(f"{commit}\n")
                ref = _ref(commit)
                run_git(
                    f"--git-dir={folder}",
                    "fetch",
                    "--quiet",
                    "--no-tags",
                    str(path.resolve()),
                    f"+{ref}:{ref}",
                )
            except GitError:
                return False
            return _has(folder, commit)

    def _run(
        self, url: str, commit: str, *arguments: str, output: IO[bytes] | None = None
    ) -> bytes:
        """The output of git in the repository of a commit.

        A damaged one in the cache is fetched again, once.

        With `output` it goes into that file instead, whose content is replaced.
        """
        repository = self.fetched(url, commit)
        try:
            return run_git(f"--git-dir={repository}", *arguments, output=output)
        except GitError:
            if self._offline:
                raise
            with suppress(OSError), self._opened() as repositories:
                repositories.remove_tree(repository.name)
            if output is not None:
                output.seek(0)
                output.truncate()
            return run_git(f"--git-dir={self.fetched(url, commit)}", *arguments, output=output)

    def fetched(self, url: str, commit: str) -> Path:
        """The bare repository with this commit alone. Raises NoSuchCommit and RepositoryUnreadable.

        It is fetched to a temporary folder and then renamed: git leaves stale locks behind if it is
        killed.
        """
        kind = ".blobless" if self._blobless else ""
        name = f"{blake2b(url.encode(), digest_size=16).hexdigest()}-{commit}{kind}.git"
        filters = ["--filter=blob:none"] if self._blobless else []
        repository = self._folder / name
        try:
            self._set_aside_strangers(name)
            if _has(repository, commit):
                return repository
            with self._network(url, commit), self._opened(make=True) as repositories:
                if not self._access.is_reached(
                    url
                ):  # a host that never answers is given up sooner than a slow fetch
                    run_git("ls-remote", "--", url, "HEAD", seconds=_ASK_SECONDS)
                with TemporaryDirectory(
                    prefix=_PREFIX, dir=self._folder, ignore_cleanup_errors=True
                ) as temporary:
                    fresh = Path(temporary, "git")
                    run_git("init", "--quiet", "--bare", "--template=", "--", str(fresh))
                    run_git(
                        f"--git-dir={fresh}",
                        *(
                            "fetch",
                            "--quiet",
                            "--depth=1",
                            "--no-tags",
                            "--no-write-fetch-head",
                            *filters,
                        ),
                        *("--", url, f"+{commit}:{_ref(commit)}"),
                        seconds=_FETCH_SECONDS,
                    )
                    repositories.remove_tree(name)  # it lacked the commit
                    with suppress(OSError):  # another run was faster, or the check below fails
                        repositories.replace(f"{Path(temporary).name}/git", name)
        except OSError as error:
            raise RepositoryUnreadable(error.strerror or str(error)) from None
        if not _has(repository, commit):
            raise RepositoryUnreadable("the fetched commit is not the requested one")
        return repository

    @contextmanager
    def _opened(self, *, make: bool = False) -> Iterator[OwnedFolder]:
        """Open the folder of the repositories, which is in the cache. Raises OSError."""
        with (
            OwnedFolder.open(self._cache, make=make) as cache,
            cache.folder(_FOLDER, make=make) as repositories,
        ):
            yield repositories

    def _set_aside_strangers(self, name: str) -> None:
        """Set aside what stands in the place of a repository, or of the folder of all, and is no folder."""
        with (
            suppress(FileNotFoundError, NotADirectoryError),
            OwnedFolder.open(self._cache) as cache,
        ):
            set_aside(cache, _FOLDER, Kind.FOLDER, self._warn)
            with cache.folder(_FOLDER) as repositories:
                set_aside(repositories, name, Kind.FOLDER, self._warn)

    @contextmanager
    def _network(self, url: str, commit: str = "") -> Iterator[None]:
        """The context of commands that use the network."""
        if self._offline:
            raise RepositoryUnreadable("the network is not used")
        if known := self._access.failure(url, commit):
            raise RepositoryUnreadable(known)
        try:
            yield
            self._access.succeeded(url)
        except GitError as error:
            if re.search(r"not our ref|couldn't find remote ref|no such remote ref", error.output):
                self._access.succeeded(url)
                raise NoSuchCommit(url, commit) from None
            why, parts = str(error), address.split(url)
            has_network = (
                not parts.host or not _NO_NETWORK.search(why) or why.startswith(_OF_SERVER)
            )
            self._access.failed(url, commit, why, has_network=has_network)
            code, command = "index.repository-unread", ""
            if not has_network:
                code = "index.repository-unread-mirror"
                command = f"git config --global url.https://MIRROR/.insteadOf {parts.scheme}://{parts.netloc}/"
            self._warn(message(code, url=url, why=why, command=command))
            raise


def _host(url: str) -> str:
    """The host of an address with scheme and port, or its path on this machine."""
    parts = address.split(url)
    return f"{parts.scheme}://{parts.host}:{parts.port or ''}" if parts.host else parts.path


def _ref(commit: str) -> str:
    return f"refs/ascend-lock/{commit}"


def _has(repository: Path, commit: str) -> bool:
    try:
        output = run_git(
            f"--git-dir={repository}",
            "rev-parse",
            "--verify",
            "--quiet",
            f"{_ref(commit)}^{{commit}}",
        )
    except GitError:
        return False
    return output.decode().strip() == commit


def files_at(revision: str, folder: Path, name: str) -> dict[Path, str]:
    """The files with this name below a folder at a commit of the repository that it is in: path -> text.

    The folder need not exist any more. Raises InputError if there is no such commit or repository.
    """
    existing = next(path for path in (folder, *folder.parents) if path.is_dir())
    git = partial(run_git, "-C", str(existing))
    try:
        commit = (
            git("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
            .decode()
            .strip()
        )
        names = git(
            "ls-tree", "-r", "-z", "--name-only", commit, "--", f"{folder.relative_to(existing)}/"
        )
        paths = [path for path in map(Path, names.decode().split("\0")) if path.name == name]
        return {
            existing / path: git("cat-file", "blob", f"{commit}:./{path.as_posix()}").decode()
            for path in paths
        }
    except (GitError, UnicodeDecodeError) as error:
        hint = f"see `git log -- {shlex.quote(str(folder))}`"
        raise InputError(
            f"there is no `{revision}` of {folder}", why=str(error), hint=hint
        ) from None


class GitError(RepositoryUnreadable):
    """Git failed. `output` is all of its messages, the text the last one without addresses."""

    def __init__(self, output: str) -> None:
        lines = [line for line in output.splitlines() if line.strip()]
        fatal = [line for line in lines if line.startswith(("fatal:", "error:"))]
        last = (fatal or lines or ["git printed no message"])[-1]
        if last == _NO_REASON and lines.index(
            last
        ):  # the message of ssh, or of git on the server, is before it
            last = lines[lines.index(last) - 1]
        last = re.sub(r"^(fatal|error): (unable to access '.*': )?", "", last)
        # git quotes an address as it is, with the password and the quotes in it
        super().__init__(without_secrets(_QUOTED_ADDRESS.sub("", last)).strip())
        self.output = output


def run_git(*arguments: str, seconds: float = 60, output: IO[bytes] | None = None) -> bytes:
    """The output of git, empty if it goes into the file `output`. Raises GitError."""
    environment = {key: value for key, value in os.environ.items() if key not in _IGNORED}
    environment |= {
        "GIT_ALLOW_PROTOCOL": "https:ssh:file",
        # a path of a fact is a path, also if it begins with `:(glob)`
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "SSH_ASKPASS": "",
        "LC_ALL": "C",
    }
    environment.setdefault("GIT_SSH_COMMAND", "ssh -o BatchMode=yes -o ConnectTimeout=15")
    settings = [word for key, value in _SETTINGS.items() for word in ("-c", f"{key}={value}")]
    try:
        process = subprocess.Popen(  # noqa: S603  no shell; addresses and names are checked where they are parsed
            ["git", *settings, *arguments],  # noqa: S607  the git on PATH
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if output is None else output,
            stderr=subprocess.PIPE,
            # so that programs that git starts for the network can be killed with it
            start_new_session=True,
        )
    except FileNotFoundError:
        raise GitError("git is not installed") from None
    with process:
        try:
            printed, errors = process.communicate(timeout=seconds)
        except BaseException as error:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise GitError(f"no answer within {seconds:.0f} seconds") from None
            raise
    if process.returncode:
        raise GitError(errors.decode("utf-8", "replace"))
    return printed or b""
