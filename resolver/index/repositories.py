"""Read git repositories: the commit of a tag or branch, files at a commit, a commit as a bundle.

Nothing is checked out, so no hook, filter or submodule of a repository has an effect, and no code
of it runs. Each fetched commit is kept in the cache, as a bare repository of its own. Git checks
each object against its hash (transfer.fsckObjects), so a file that is read belongs to the commit.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Final

from resolver import address
from resolver.errors import InputError
from resolver.index.git import (
    NO_REPOSITORY,
    SHOW_TIME,
    GitError,
    RepositoryUnreadable,
    init_bare,
    parse_day,
    parse_references,
    ref_of,
    run_git,
)
from resolver.index.store.cache import set_aside
from resolver.model.message import Message, message
from resolver.openat import Kind
from resolver.owned_folder import OwnedFolder
from resolver.phrase import EMPTY, Phrase, cause, literal, phrase

# The folder of the repositories in the cache.
_FOLDER: Final = "git"
# The name of a repository in the cache: a hash of its address, and the commit.
_REPOSITORY: Final = re.compile(r"[0-9a-f]{32}-[0-9a-f]{40}(?:\.blobless)?\.git")
_PREFIX: Final = ".ascend-lock-"  # of temporary folders
_ASK_SECONDS: Final = 20  # for `git ls-remote`
_FETCH_SECONDS: Final = 600  # for `git fetch`
_LARGEST: Final = 8 * 1024 * 1024  # bytes of a file that is read
# Occurs in messages of git, curl and ssh if no server was reached.
_NO_NETWORK: Final = re.compile(
    "resolve host|connect|timed out|no answer within|SSL|TLS|reset by peer|too slow", re.I
)
# Occurs in messages of a server that does not have a commit or a reference.
_NO_COMMIT: Final = re.compile("not our ref|couldn't find remote ref|no such remote ref")
_OF_SERVER: Final = "remote error:"  # begins a message that came from the server
# Entries in the output of `git ls-tree`: files and submodules. Others are folders and links.
_FILE: Final = re.compile(r"100(?:644|755) blob [0-9a-f]+ +([0-9]+)\t(.*)\0\Z", re.DOTALL)
_SUBMODULE: Final = re.compile(r"160000 commit ([0-9a-f]{40})\t(.*)\0\Z", re.DOTALL)


class NoSuchCommit(InputError):
    """A repository does not have a commit that a fact, a stack or a lock names."""

    def __init__(self, url: str, commit: str, where: str = "") -> None:
        """Name the repository and the commit; `where` is the line that names them, if known."""
        super().__init__(
            phrase("the repository does not have the commit"),
            where=where or url,
            why=phrase("{url} does not give {commit}", url=url, commit=commit)
            if where
            else literal(commit),
            hint=phrase(
                "check the hash: a commit that a force push removed, or that only another copy "
                "has, cannot be fetched"
            ),
        )
        self.url = url
        self.commit = commit


class _Access:
    """Remembers which hosts, repositories and commits could not be read in this run.

    A host that cannot be reached is not tried again; neither is a repository or a commit that a
    host refused. A refusal of one repository or commit (it does not exist, it is private) does not
    mean that the host refuses others.
    """

    def __init__(self) -> None:
        # The hosts that answered.
        self._reached: set[str] = set()
        # The reason of each failure. The key is a host and ""; or a repository's address and "" for
        # the whole repository, or a commit of it.
        self._failures: dict[tuple[str, str], Phrase] = {}

    def is_reached(self, url: str) -> bool:
        """Return whether the host of an address answered before."""
        return _host(url) in self._reached

    def failure(self, url: str, commit: str) -> Phrase:
        """Return why a commit of a repository cannot be read; empty if no failure is known."""
        for key in ((_host(url), ""), (url, ""), (url, commit)):
            if key in self._failures:
                return self._failures[key]
        return EMPTY

    def succeeded(self, url: str) -> None:
        """Note that the host of an address answered."""
        self._reached.add(_host(url))

    def failed(self, url: str, commit: str, why: Phrase, *, has_network: bool) -> None:
        """Note why a commit could not be read; an empty commit stands for the whole repository.

        `has_network` says whether the host was reached. If the host never answered, the failure is
        noted for the host.
        """
        host = _host(url)
        if has_network:
            self._reached.add(host)
        key = (url, commit) if host in self._reached else (host, "")
        self._failures[key] = why


class Repositories:
    """Reads git repositories, and warns once about each that cannot be read.

    Methods that read a commit raise RepositoryUnreadable if the repository cannot be read now, and
    NoSuchCommit if it does not have the commit.
    """

    def __init__(
        self,
        folder: Path,
        *,
        offline: bool = False,
        blobless: bool = False,
        warn: Callable[[Message], None],
    ) -> None:
        """Keep repositories in `folder`, the folder of the cache.

        With `offline`, only repositories that are there already can be read. With `blobless`, git
        fetches the content of a file only when it is read, if the server supports that. This is
        quicker for single files of many commits.
        """
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
        """Return the commits of the tag and of the branch with this name; "" for a missing one.

        Raises RepositoryUnreadable.
        """
        tag, branch = f"refs/tags/{name}", f"refs/heads/{name}"
        # An annotated tag is an object of its own. This is the name of the commit that it tags.
        annotated = f"{tag}^{{}}"
        with self._network(url):
            names = (tag, annotated, branch)
            output = run_git(NO_REPOSITORY, "ls-remote", "--", url, *names, seconds=_ASK_SECONDS)
        commits = parse_references(output)
        return commits.get(tag, ""), commits.get(branch, "")

    def read(self, url: str, commit: str, path: str) -> bytes | None:
        """Return the content of the file at `path` in a commit; None if there is no such file.

        Raises RepositoryUnreadable, NoSuchCommit, and InputError if the file is too large.
        """
        match = _FILE.match(self._entry(url, commit, path, "-l"))
        if match is None or match[2] != path:
            return None
        if int(match[1]) > _LARGEST:
            raise InputError(
                phrase(
                    "`{path}` is larger than {limit} MiB, which is the most that is read of a file",
                    path=path,
                    limit=_LARGEST >> 20,
                ),
                where=f"{url}@{commit}",
                hint=phrase(
                    "state what it says in a [[sources]] fact, without the file in `requires-from`"
                ),
            )
        return self._run(url, commit, "cat-file", "blob", f"{commit}:{path}")

    def submodule(self, url: str, commit: str, path: str) -> str | None:
        """Return the commit of the submodule at `path` in a commit; None if there is no submodule.

        Raises RepositoryUnreadable and NoSuchCommit.
        """
        match = _SUBMODULE.match(self._entry(url, commit, path))
        if match is None or match[2] != path:
            return None
        return match[1]

    def _entry(self, url: str, commit: str, path: str, *options: str) -> str:
        """Return the output of `git ls-tree` for a path in a commit."""
        output = self._run(url, commit, "ls-tree", *options, "-z", commit, "--", path)
        return output.decode("utf-8", "replace")

    def committed(self, url: str, commit: str) -> dt.date:
        """Return the day of a commit in UTC, by the committer's date that it has.

        Raises RepositoryUnreadable and NoSuchCommit.
        """
        return parse_day(self._run(url, commit, *SHOW_TIME, commit), commit)

    def save(self, url: str, commit: str, target: IO[bytes]) -> None:
        """Write a git bundle into the file `target`, with the commit and its files, for install.sh.

        Raises RepositoryUnreadable and NoSuchCommit.
        """
        self._run(url, commit, "bundle", "create", "--quiet", "-", ref_of(commit), output=target)

    def is_complete_bundle(self, path: Path, commit: str) -> bool:
        """Return whether a file is a git bundle with the whole commit, as install.sh checks it."""
        if not path.is_file():
            return False
        with TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as temporary:
            folder = Path(temporary)
            refs = f"+{ref_of(commit)}:{ref_of(commit)}"
            try:
                init_bare(folder)
                (folder / "shallow").write_text(f"{commit}\n")
                run_git(folder, "fetch", "--quiet", "--no-tags", str(path.resolve()), refs)
            except GitError:
                return False
            return _has(folder, commit)

    def _run(
        self, url: str, commit: str, *arguments: str, output: IO[bytes] | None = None
    ) -> bytes:
        """Run git in the cached repository of a commit, and return its output.

        With `output`, the output is written into that file instead, replacing its content. If git
        fails, the repository may be damaged. Unless offline, it is then removed and fetched again,
        and git is run once more. Raises RepositoryUnreadable and NoSuchCommit.
        """
        repository = self.fetched(url, commit)
        try:
            return self._git(repository, *arguments, output=output)
        except GitError:
            if self._offline:
                raise
        with suppress(OSError), self._opened() as repositories:
            repositories.remove_tree(repository.name)
        if output is not None:
            output.seek(0)
            output.truncate()
        return self._git(self.fetched(url, commit), *arguments, output=output)

    def _git(self, repository: Path, *arguments: str, output: IO[bytes] | None) -> bytes:
        """Run git in a repository of the cache, with the arguments and result of `run_git`."""
        return run_git(repository, *arguments, output=output, fetches_missing=self._blobless)

    def fetched(self, url: str, commit: str) -> Path:
        """Return the folder of the bare repository that has this commit alone.

        It is fetched if the cache does not have it. Raises NoSuchCommit and RepositoryUnreadable.
        """
        ending = ".blobless.git" if self._blobless else ".git"
        name = f"{blake2b(url.encode(), digest_size=16).hexdigest()}-{commit}{ending}"
        repository = self._folder / name
        try:
            self._set_aside_strangers(name)
            if _has(repository, commit):
                return repository
            self._fetch(url, commit, name)
        except OSError as error:
            raise RepositoryUnreadable(cause(error)) from None
        if not _has(repository, commit):
            raise RepositoryUnreadable(phrase("the fetched commit is not the requested one"))
        return repository

    def _fetch(self, url: str, commit: str, name: str) -> None:
        """Fetch a commit into a new repository with this name in the cache.

        It is fetched into a temporary folder, which is then renamed, since git leaves lock files
        behind if it is killed. Raises OSError, NoSuchCommit and RepositoryUnreadable.
        """
        options = ["--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head"]
        if self._blobless:
            options.append("--filter=blob:none")
        with self._network(url, commit), self._opened(make=True) as repositories:
            # A quick request first, so that a host that does not answer costs 20 seconds and not
            # the 600 seconds of a fetch.
            if not self._access.is_reached(url):
                run_git(NO_REPOSITORY, "ls-remote", "--", url, "HEAD", seconds=_ASK_SECONDS)
            with TemporaryDirectory(
                prefix=_PREFIX, dir=self._folder, ignore_cleanup_errors=True
            ) as temporary:
                fresh = Path(temporary, "git")
                init_bare(fresh)
                refs = f"+{commit}:{ref_of(commit)}"
                run_git(fresh, "fetch", *options, "--", url, refs, seconds=_FETCH_SECONDS)
                repositories.remove_tree(name)  # if it exists, it lacks the commit
                # Another run may have made it meanwhile; `fetched` checks it afterwards.
                with suppress(OSError):
                    repositories.replace(f"{Path(temporary).name}/git", name)

    @contextmanager
    def _opened(self, *, make: bool = False) -> Iterator[OwnedFolder]:
        """Open the folder of the repositories in the cache. Raises OSError."""
        with (
            OwnedFolder.open(self._cache, make=make) as cache,
            cache.folder(_FOLDER, make=make) as repositories,
        ):
            yield repositories

    def _set_aside_strangers(self, name: str) -> None:
        """Rename whatever is in the place of a folder of the cache and is not a folder.

        These are the folder of all repositories, and the repository with this name.
        """
        with (
            suppress(FileNotFoundError, NotADirectoryError),
            OwnedFolder.open(self._cache) as cache,
        ):
            set_aside(cache, _FOLDER, Kind.FOLDER, self._warn)
            with cache.folder(_FOLDER) as repositories:
                set_aside(repositories, name, Kind.FOLDER, self._warn)

    @contextmanager
    def _network(self, url: str, commit: str = "") -> Iterator[None]:
        """Allow the body of `with` to run git commands that use the network.

        Their failures are noted, and warned about. Raises RepositoryUnreadable without running the
        body if the run is offline, or if an earlier failure is known. Raises NoSuchCommit if the
        server says so.
        """
        if self._offline:
            raise RepositoryUnreadable(phrase("the network is not used"))
        known_failure = self._access.failure(url, commit)
        if known_failure:
            raise RepositoryUnreadable(known_failure)
        try:
            yield
        except GitError as error:
            if _NO_COMMIT.search(error.output):
                self._access.succeeded(url)
                raise NoSuchCommit(url, commit) from None
            self._warn_unread(url, commit, cause(error))
            raise
        self._access.succeeded(url)

    def _warn_unread(self, url: str, commit: str, reason: Phrase) -> None:
        """Note why a commit could not be read, and warn about it."""
        why = str(reason)
        parts = address.split(url)
        is_local = not parts.host
        has_network = is_local or not _NO_NETWORK.search(why) or why.startswith(_OF_SERVER)
        self._access.failed(url, commit, reason, has_network=has_network)
        code = "index.repository-unread"
        command = ""
        if not has_network:
            code = "index.repository-unread-mirror"
            host = f"{parts.scheme}://{parts.netloc}/"
            command = f"git config --global url.https://MIRROR/.insteadOf {host}"
        self._warn(message(code, url=url, why=reason, command=command))


def _host(url: str) -> str:
    """Return scheme, host and port of an address; its path if it is a folder of this machine."""
    parts = address.split(url)
    return f"{parts.scheme}://{parts.host}:{parts.port or ''}" if parts.host else parts.path


def _has(repository: Path, commit: str) -> bool:
    """Return whether a repository has a commit under the reference that `ref_of` names."""
    ref = f"{ref_of(commit)}^{{commit}}"
    try:
        output = run_git(repository, "rev-parse", "--verify", "--quiet", ref)
    except GitError:
        return False
    return output.decode().strip() == commit
