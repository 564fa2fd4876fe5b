"""Real git repositories on this machine, created on the fly and fetched through file://."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

# Independent of the machine's settings, and the same commits at any time.
_ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.test",
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.test",
    "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
}


# What is static of a project `verl`.
PROJECT = """\
[build-system]
requires = ["tool"]
[project]
name = "verl"
version = "0.6"
dependencies = ["numpy<2"]
optional-dependencies = { npu = ["torch"], gpu = ["nosuch"] }
"""


class Repository:
    """A repository in `folder`, created if `new`. Each `commit` replaces the whole tree."""

    def __init__(self, folder: Path, *, new: bool = True) -> None:
        self.folder = folder
        if new:
            folder.mkdir(parents=True)
            self.git("init", "--quiet", "--initial-branch=main")

    @property
    def url(self) -> str:
        """Return the address of the repository in a stack."""
        return f"file://{self.folder}"

    def git(self, *arguments: str) -> str:
        """Run git and return its output."""
        command = ["git", "-C", str(self.folder), *arguments]
        return subprocess.run(
            command, env=_ENVIRONMENT, capture_output=True, text=True, check=True
        ).stdout.strip()

    def commit(
        self,
        files: Mapping[str, str],
        *,
        tag: str = "",
        submodules: Mapping[str, str] = MappingProxyType({}),
    ) -> str:
        """Commit these files and submodules (path and commit) and no others.

        Returns the full commit id.
        """
        for path in [path for path in self.folder.iterdir() if path.name != ".git"]:
            self.git("rm", "-rqf", "--", path.name)
        for name, text in files.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text)
        self.git("add", "--all")
        for path, commit in submodules.items():
            self.git("update-index", "--add", "--cacheinfo", f"160000,{commit},{path}")
        self.git("commit", "--quiet", "--allow-empty", "--message", f"tree of {len(files)}")
        if tag:
            self.git("tag", "--annotate", "--message", tag, tag)
        return self.git("rev-parse", "HEAD")

    def fact(
        self,
        commit: str,
        more: str = "",
        *,
        version: str = "1.0",
        requires: str = "[]",
        build: str = "[]",
    ) -> str:
        """Return the row of a fact about a commit."""
        return (
            f'[[sources]]\ngit = "{self.url}"\ncommit = "{commit}"\n'
            f'version = "{version}"\nrequires = {requires}\n'
            f'build-requires = {build}\nreason = "a guide names it"\n{more}\n'
        )
