"""What may be chosen for a package."""

from __future__ import annotations

import msgspec
from packaging.version import Version

from resolver.model.component import Value
from resolver.model.fact import Builds
from resolver.model.package import Package
from resolver.model.release import File
from resolver.model.source import Source


class Release(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A release of a project that the target can use.

    `file` is the one that pip takes on the target: the best wheel by tag, then by build
    tag; or a source archive if there is no wheel, or a fact builds it
    (`builds`). `others` are the other wheels of the release that the target
    accepts, best first. `position` is the rank among the project's releases,
    0 for the newest. With a `source` the release comes from a repository, and `file` only names it.
    """

    version: Version
    file: File
    others: tuple[File, ...]
    index: str
    builds: Builds | None
    yanked: bool
    position: int
    source: Source | None = None


class Candidate(msgspec.Struct, frozen=True, eq=False):
    """One choice for a package. There is one object per choice, so identity is equality.

    `chosen` is a Release for a project, a component's value, or the owner of a module.
    """

    package: Package
    chosen: Release | Value

    @property
    def version(self) -> Version:
        """The version of a project's candidate; other candidates have none."""
        assert isinstance(self.chosen, Release)  # noqa: S101  the solver asks projects only
        return self.chosen.version

    def __str__(self) -> str:
        match self.chosen:
            case Release():
                return f"{self.package} {self.chosen.version}"
            case _:
                return f"{self.package} {self.chosen}"
