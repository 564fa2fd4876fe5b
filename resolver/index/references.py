"""Read the branches and tags of a repository, and files at their commits.

All commits are fetched at once with their lists of files, but without the contents if the server
supports that (git calls this a filter). Then the contents of the files that are needed are fetched,
all at once, too. As in `repositories`, nothing is checked out and no code runs.
`audit.upstream.collect` reads tables of other projects this way.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

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
from resolver.phrase import phrase

LARGEST: Final = 1 << 20  # bytes of a file that is read
_FETCH_SECONDS: Final = 1800  # for `git fetch`
_ASK_SECONDS: Final = 60  # for `git ls-remote`
# Entries in the output of `git ls-tree`: the hash of a file's content or the commit of a submodule,
# and the path.
_BLOB: Final = re.compile(r"100(?:644|755) blob ([0-9a-f]{40})\t(.*)", re.DOTALL)
_SUBMODULE: Final = re.compile(r"160000 commit ([0-9a-f]{40})\t(.*)", re.DOTALL)


class Place(NamedTuple):
    """A path in a repository at a commit."""

    # The full hash of the commit.
    commit: str
    path: str


class References:
    """The branches and tags of a repository. `fetch` must be called before files are read."""

    def __init__(self, url: str, folder: Path) -> None:
        """Read the repository at an address; what is fetched is kept in `folder`, an empty one."""
        self.url = url
        self._folder = folder
        # For each commit: the hash of each file's content (its blob), by path.
        self._files: dict[str, dict[str, str]] = {}
        # For each commit: the commit of each submodule, by path.
        self._submodules: dict[str, dict[str, str]] = {}

    def listed(self) -> dict[str, str]:
        """Return the commit of each branch and tag, by reference, such as `refs/heads/main`.

        Raises RepositoryUnreadable.
        """
        arguments = ("ls-remote", "--heads", "--tags", "--", self.url)
        output = run_git(NO_REPOSITORY, *arguments, seconds=_ASK_SECONDS)
        return parse_references(output)

    def fetch(self, commits: Collection[str]) -> None:
        """Fetch commits with their lists of files.

        Raises RepositoryUnreadable if the repository cannot be read or lacks a commit.
        """
        init_bare(self._folder)
        different = sorted(set(commits))
        refs = [f"+{commit}:{ref_of(commit)}" for commit in different]
        self._fetch("--depth=1", "--", self.url, *refs)
        for commit in different:
            self._files[commit], self._submodules[commit] = self._tree(commit)

    def _fetch(self, *arguments: str, settings: Sequence[str] = ()) -> None:
        """Run `git fetch`, without the contents of files if the server supports that."""
        options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--filter=blob:none")
        self._git(*settings, "fetch", *options, *arguments, seconds=_FETCH_SECONDS)

    def day(self, commit: str) -> dt.date:
        """Return the day of a commit in UTC, by the committer's date that it has.

        Raises RepositoryUnreadable.
        """
        return parse_day(self._git(*SHOW_TIME, commit), commit)

    def paths(self, commit: str) -> Iterable[str]:
        """Return the paths of all files at a commit."""
        return self._files[commit]

    def submodules(self, commit: str) -> Mapping[str, str]:
        """Return the commits of the submodules at a commit, by their paths."""
        return self._submodules[commit]

    def read(self, places: Iterable[Place]) -> dict[Place, bytes]:
        """Return the contents of the files at these places. Missing files are left out.

        Raises RepositoryUnreadable if the repository cannot be read, or if a file is larger than
        `LARGEST`.
        """
        blobs: dict[Place, str] = {}
        for place in places:
            blob = self._files[place.commit].get(place.path)
            if blob is not None:
                blobs[place] = blob
        if not blobs:
            return {}
        self._fetch_blobs(sorted(set(blobs.values())))
        contents: dict[str, bytes] = {}
        for place, blob in blobs.items():
            if blob in contents:
                continue
            if int(self._git("cat-file", "-s", blob)) > LARGEST:
                raise RepositoryUnreadable(
                    phrase(
                        "`{path}` is larger than {limit} MiB", path=place.path, limit=LARGEST >> 20
                    )
                )
            contents[blob] = self._git("cat-file", "blob", blob)
        return {place: contents[blob] for place, blob in blobs.items()}

    def _fetch_blobs(self, blobs: Collection[str]) -> None:
        """Fetch the contents of files that `fetch` left out, all at once.

        Without this, git would fetch them one by one when they are read.
        """
        settings = ("-c", "fetch.negotiationAlgorithm=noop")
        arguments = ("--recurse-submodules=no", "--", self.url, *blobs)
        try:
            self._fetch(*arguments, settings=settings)
        except GitError:
            # A server without support for filters has sent them before, and may refuse this
            # request. If they are missing, `cat-file` fails later.
            return

    def _tree(self, commit: str) -> tuple[dict[str, str], dict[str, str]]:
        """Return the hashes of the files' contents and the commits of submodules, by path."""
        files: dict[str, str] = {}
        submodules: dict[str, str] = {}
        output = self._git("ls-tree", "-r", "-z", "--full-tree", commit)
        for entry in output.decode("utf-8", "replace").split("\0"):
            blob = _BLOB.fullmatch(entry)
            submodule = _SUBMODULE.fullmatch(entry)
            if blob is not None:
                files[blob[2]] = blob[1]
            elif submodule is not None:
                submodules[submodule[2]] = submodule[1]
        return files, submodules

    def _git(self, *arguments: str, seconds: float = 60) -> bytes:
        """Run git in the folder of this repository, and return its output. Raises GitError."""
        return run_git(self._folder, *arguments, seconds=seconds)
