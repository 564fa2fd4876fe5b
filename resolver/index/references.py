"""Branches and tags of a repository: their newest commits, and of these the files that are asked for.

Commits and folders are fetched at once, without the files' content where the server can leave it
out (git calls that a filter); then the content of all files that are asked for. As in `index/git`,
nothing is checked out and no code runs.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from resolver.index.git import GitError, RepositoryUnreadable, run_git

LARGEST: Final = 1 << 20  # bytes of a file that has a table
_FETCH_SECONDS: Final = 1800
_ASK_SECONDS: Final = 60
_BLOB: Final = re.compile(r"100(?:644|755) blob ([0-9a-f]{40})\t(.*)", re.DOTALL)
_SUBMODULE: Final = re.compile(r"160000 commit ([0-9a-f]{40})\t(.*)", re.DOTALL)


class Place(NamedTuple):
    """A file of a repository at a commit."""

    commit: str
    path: str


class References:
    """A repository's branches and tags, read into a folder that is empty at first."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self._folder = folder
        self._files: dict[str, dict[str, str]] = {}  # of a commit: path -> blob
        self._submodules: dict[str, dict[str, str]] = {}  # of a commit: path -> commit

    def listed(self) -> dict[str, str]:
        """Return the commit of each reference, such as `refs/heads/main`.

        Raises RepositoryUnreadable.
        """
        output = run_git(
            "ls-remote", "--heads", "--tags", "--", self.url, seconds=_ASK_SECONDS
        ).decode("utf-8", "replace")
        commits: dict[str, str] = {}
        for line in output.splitlines():
            commit, _, reference = line.partition("\t")
            # an annotated tag is an object of its own; its commit has a line with this ending
            name = reference.removesuffix("^{}")
            if reference != name or name not in commits:
                commits[name] = commit
        return commits

    def fetch(self, commits: Collection[str]) -> None:
        """Fetch commits with their folders.

        Raises RepositoryUnreadable, also if there is no such commit.
        """
        run_git("init", "--quiet", "--bare", "--template=", "--", str(self._folder))
        wanted = [f"+{commit}:refs/ascend-lock/{commit}" for commit in sorted(set(commits))]
        self._git(
            *(
                "fetch",
                "--quiet",
                "--depth=1",
                "--no-tags",
                "--no-write-fetch-head",
                "--filter=blob:none",
            ),
            *("--", self.url, *wanted),
            seconds=_FETCH_SECONDS,
        )
        for commit in set(commits):
            self._files[commit], self._submodules[commit] = self._tree(commit)

    def day(self, commit: str) -> dt.date:
        """Return the day of a commit in UTC, as its committer's clock had it.

        Raises RepositoryUnreadable.
        """
        seconds = self._git("show", "--no-patch", "--format=%ct", commit).decode("ascii", "replace")
        try:
            return dt.datetime.fromtimestamp(int(seconds), dt.timezone.utc).date()
        except (ValueError, OverflowError, OSError):
            raise RepositoryUnreadable(f"the commit {commit} has no valid date") from None

    def paths(self, commit: str) -> Iterable[str]:
        """Return the files at a commit."""
        return self._files[commit]

    def submodules(self, commit: str) -> Mapping[str, str]:
        """Return the commits of the submodules at a commit, by their paths."""
        return self._submodules[commit]

    def read(self, places: Iterable[Place]) -> dict[Place, bytes]:
        """Return the content of files; of those that do not exist, none.

        Raises RepositoryUnreadable.

        That is also raised if one of them is larger than `LARGEST`.
        """
        blobs = {
            place: blob for place in places if (blob := self._files[place.commit].get(place.path))
        }
        if not blobs:
            return {}
        self._fetch_blobs(sorted(set(blobs.values())))
        content: dict[str, bytes] = {}
        for blob in set(blobs.values()):
            if int(self._git("cat-file", "-s", blob)) > LARGEST:
                path = next(place.path for place, other in blobs.items() if other == blob)
                raise RepositoryUnreadable(f"`{path}` is larger than {LARGEST >> 20} MiB")
            content[blob] = self._git("cat-file", "blob", blob)
        return {place: content[blob] for place, blob in blobs.items()}

    def _fetch_blobs(self, blobs: Collection[str]) -> None:
        """Fetch the content of files that a filter left out, all at once; git would do it one by one."""
        try:
            self._git(
                *(
                    "-c",
                    "fetch.negotiationAlgorithm=noop",
                    "fetch",
                    "--quiet",
                    "--no-tags",
                    "--no-write-fetch-head",
                ),
                *("--recurse-submodules=no", "--filter=blob:none", "--", self.url, *blobs),
                seconds=_FETCH_SECONDS,
            )
        except GitError:
            # A server that ignores filters has sent them, and may refuse to be asked for them:
            # `cat-file` will tell.
            return

    def _tree(self, commit: str) -> tuple[dict[str, str], dict[str, str]]:
        """Return files and submodules at a commit, by their paths."""
        files: dict[str, str] = {}
        submodules: dict[str, str] = {}
        output = self._git("ls-tree", "-r", "-z", "--full-tree", commit).decode("utf-8", "replace")
        for entry in output.split("\0"):
            if match := _BLOB.fullmatch(entry):
                files[match[2]] = match[1]
            elif match := _SUBMODULE.fullmatch(entry):
                submodules[match[2]] = match[1]
        return files, submodules

    def _git(self, *arguments: str, seconds: float = 60) -> bytes:
        return run_git(f"--git-dir={self._folder}", *arguments, seconds=seconds)
