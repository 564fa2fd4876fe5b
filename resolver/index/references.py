"""Branches and tags of a repository: their newest commits, and files at these.

Commits and folders are fetched at once, without the files' content where the server can leave it
out (git calls that a filter); then the content of all files that are asked for. As in
`repositories`, nothing is checked out and no code runs.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from resolver.index.git import (
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
        # By commit: the blob of each file by its path.
        self._files: dict[str, dict[str, str]] = {}
        # By commit: the commit of each submodule by its path.
        self._submodules: dict[str, dict[str, str]] = {}

    def listed(self) -> dict[str, str]:
        """Return the commit of each reference, such as `refs/heads/main`.

        Raises RepositoryUnreadable.
        """
        arguments = ("ls-remote", "--heads", "--tags", "--", self.url)
        output = run_git(*arguments, seconds=_ASK_SECONDS)
        return parse_references(output)

    def fetch(self, commits: Collection[str]) -> None:
        """Fetch commits with their folders.

        Raises RepositoryUnreadable, also if there is no such commit.
        """
        init_bare(self._folder)
        different = sorted(set(commits))
        refs = [f"+{commit}:{ref_of(commit)}" for commit in different]
        self._fetch("--depth=1", "--", self.url, *refs)
        for commit in different:
            self._files[commit], self._submodules[commit] = self._tree(commit)

    def _fetch(self, *arguments: str, settings: Sequence[str] = ()) -> None:
        """Fetch without the content of files where the server can leave it out."""
        options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--filter=blob:none")
        self._git(*settings, "fetch", *options, *arguments, seconds=_FETCH_SECONDS)

    def day(self, commit: str) -> dt.date:
        """Return the day of a commit in UTC, as its committer's clock had it.

        Raises RepositoryUnreadable.
        """
        return parse_day(self._git(*SHOW_TIME, commit), commit)

    def paths(self, commit: str) -> Iterable[str]:
        """Return the files at a commit."""
        return self._files[commit]

    def submodules(self, commit: str) -> Mapping[str, str]:
        """Return the commits of the submodules at a commit, by their paths."""
        return self._submodules[commit]

    def read(self, places: Iterable[Place]) -> dict[Place, bytes]:
        """Return the content of those files that exist.

        Raises RepositoryUnreadable, also if one of them is larger than `LARGEST`.
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
        """Fetch the content of files that a filter left out.

        All are fetched at once; git would fetch them one by one.
        """
        settings = ("-c", "fetch.negotiationAlgorithm=noop")
        arguments = ("--recurse-submodules=no", "--", self.url, *blobs)
        try:
            self._fetch(*arguments, settings=settings)
        except GitError:
            # A server that ignores filters has sent them, and may refuse to be asked for them:
            # `cat-file` will tell.
            return

    def _tree(self, commit: str) -> tuple[dict[str, str], dict[str, str]]:
        """Return the blobs of files and the commits of submodules at a commit, by their paths."""
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
        return run_git(f"--git-dir={self._folder}", *arguments, seconds=seconds)
