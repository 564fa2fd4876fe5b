"""What an index offers for a project: files, grouped by release; and a release from a commit instead."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

import msgspec
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model import text
from resolver.model.fact import Builds, Sources
from resolver.model.message import Message
from resolver.model.repository import Recipe


class File(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One file of an index page (PEP 503, 592, 629, 658, 691, 700, 714).

    Texts are the index's own. `sha256` is empty if the page has none. `yanked` is None, or the reason (which may be
    empty). `metadata` is None if no `.metadata` file is offered, else its sha256, or empty without one. `uploaded` is
    the page's text, ISO 8601, or empty. `url` is absolute; empty for files of a snapshot.
    """

    filename: str
    url: str = ""
    sha256: str = ""
    size: int | None = None
    requires_python: str = ""
    yanked: str | None = None
    uploaded: str = ""
    metadata: str | None = None

    @property
    def is_wheel(self) -> bool:
        """Whether this is a wheel; any other file that is kept is a source archive."""
        return self.filename.endswith(".whl")


class RejectionReason(Enum):
    """Why a file or a release was rejected. The value is the sentence's predicate; `code` names it in `locale/`."""

    FORMAT = "is not a wheel, .tar.gz or .zip"
    NAME = "has an unreadable file name"
    TWICE = "is listed with more than one sha256"
    ADDRESS = "has an address that an index must not point to"
    FOREIGN = "belongs to another project"
    VERSION = "has a version that violates PEP 440"
    TAGS = "is built for another platform or Python"
    PYTHON = "needs a different Python"
    PATCH = "needs certain patch releases of Python, and the target states none"
    YANKED = "was yanked"
    NEWER = "was uploaded after the cut-off"
    NO_DATE = "has no upload time to compare with the cut-off"
    METADATA = "has unreadable metadata"
    DYNAMIC = "is a source archive without static metadata"
    FACT = "is excluded by a fact"
    SOURCE = "is a source archive, and build tools are not built from source themselves"
    DIRECT = "requires a direct URL, which is not supported"
    UNOPENED = "was not opened, because other archives of its project have no static metadata"

    @property
    def code(self) -> str:
        """The code of what is told about one or several files."""
        return f"rejection.{self.name.lower().replace('_', '-')}"


class Rejection(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A file that cannot be used, and why; `detail` gives the specifics."""

    filename: str
    reason: RejectionReason
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.filename} {self.reason.value}" + (f" ({self.detail})" if self.detail else "")


class ProjectStatus(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What an index says about a project as a whole (PEP 792); `status` is `active` if it says nothing.

    Both texts are the index's own. PEP 792 also defines `archived`, `quarantined` and `deprecated`.
    """

    status: str = "active"
    reason: str = ""


ACTIVE: Final = ProjectStatus()
QUARANTINED: Final = "quarantined"


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A project on an index: its files by version, what was set aside while reading, and its status.

    `releases` is keyed by the version as spelled in the file names, with one key per distinct PEP 440 version.
    """

    project: NormalizedName
    index: str
    releases: Mapping[str, tuple[File, ...]]
    rejections: tuple[Rejection, ...] = ()
    project_status: ProjectStatus = ACTIVE


class CoreMetadata(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The core metadata of one file, in its own words."""

    name: str
    version: str
    requires_dist: tuple[str, ...] = ()
    requires_python: str = ""
    provides_extra: tuple[str, ...] = ()


class Archive(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What was read from a source archive after its sha256 was checked.

    `metadata` is None if the archive has no static requirements (PEP 643 or PEP 621); `why_dynamic` then says why.
    `build_requires` is build-system.requires of its pyproject.toml (PEP 518), or None if it has no such file or table.
    """

    metadata: CoreMetadata | None
    build_requires: tuple[str, ...] | None = None
    why_dynamic: str = ""


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A project's one release. `commit` is in full; `ref` is what people call it, and may be empty.

    `fact` says what is known of it; without one it was read at the commit. `trust` tells why the
    requirements rest on the fact's word alone; it is None where they were read at the commit.
    """

    name: NormalizedName
    url: str
    commit: str
    ref: str = ""
    subdirectory: str = ""
    recipe: Recipe
    fact: Sources | None
    trust: Message | None = None

    @property
    def version(self) -> Version:
        """What its build calls itself."""
        return self.recipe.version

    @property
    def address(self) -> str:
        """The repository and the commit, for people."""
        return f"{self.url}@{self.commit[:12]}"

    @property
    def where(self) -> str:
        """file:line of the fact, or the repository that says so itself."""
        return self.fact.where if self.fact is not None else self.address

    @property
    def extras(self) -> tuple[str, ...]:
        """The extras that its requirements name."""
        return text.all_extras(self.recipe.requires)


class Release(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A release of a project that the target can use.

    `file` is the one that pip takes on the target: the best wheel by tag, then by build tag; or a source archive if
    there is no wheel, or a fact builds it (`builds`). `others` are the other wheels of the release that the target
    accepts, best first. `position` is the rank among the project's releases, 0 for the newest. With a `source` the
    release comes from a repository, and `file` only names it.
    """

    version: Version
    file: File
    others: tuple[File, ...] = ()
    index: str
    builds: Builds | None = None
    yanked: bool = False
    position: int
    source: Source | None = None
