"""The files and releases of a project on an index, their metadata, and a release built from a commit."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from enum import Enum
from types import MappingProxyType
from typing import Final

import msgspec
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model import text
from resolver.model.fact import Builds, Sources
from resolver.model.message import Message
from resolver.model.repository import Recipe
from resolver.model.variant import NO_VARIANTS, Variant, VariantTable


class File(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One file of an index page (PEP 503, 592, 629, 658, 691, 700, 714).

    Texts are the index's own. `sha256` is empty if the page has none. `yanked` is None, or the
    reason (which may be empty). `metadata` is None if no `.metadata` file is offered, else its
    sha256, or empty without one. `uploaded` is the page's text, ISO 8601, or empty. `url` is
    absolute; empty for files of a snapshot.
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
        """Whether this is a wheel; other files of a release are source archives."""
        return self.filename.endswith(".whl")


class RejectionReason(Enum):
    """Why a file or a release was rejected.

    The value is the sentence's predicate; `code` names it in `locale/`.
    """

    FORMAT = "is not a wheel, .tar.gz or .zip"
    NAME = "has an unreadable file name"
    TWICE = "is listed with more than one sha256"
    ADDRESS = "has an address that an index must not point to"
    FOREIGN = "belongs to another project"
    VERSION = "has a version that violates PEP 440"
    TAGS = "is built for another platform or Python"
    VARIANT = "is a variant for other machines"
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
    BINARIES = "has binaries that cannot be read"
    LIBRARY = "has binaries that cannot be loaded on the target"
    GLIBC = "has binaries that need a newer glibc than its name says"
    UNOPENED = "was not opened, because other archives of its project have no static metadata"

    @property
    def code(self) -> str:
        """The code of the message about one or several files."""
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
    """A project on an index: its files by version, files that were rejected while reading, and its status.

    `releases` is keyed by the version as spelled in the file names, with one key per distinct PEP
    440 version. `variant_files` are the lists of variants (PEP 825) of releases that have variant
    wheels, and `variants` what was read from them; both by the same keys. A release without such a
    list has None.
    """

    project: NormalizedName
    index: str
    releases: Mapping[str, tuple[File, ...]]
    rejections: tuple[Rejection, ...] = ()
    project_status: ProjectStatus = ACTIVE
    variant_files: Mapping[str, File | None] = MappingProxyType({})
    variants: Mapping[str, VariantTable] = MappingProxyType({})

    def variants_of(self, version: str) -> VariantTable:
        """Return what the labels of a release's wheels stand for."""
        return self.variants.get(version, NO_VARIANTS)


class CoreMetadata(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The core metadata of one file; the texts are unchanged.

    `own_variant` are the properties that a variant wheel itself has (PEP 825); None for a plain
    wheel.
    """

    name: str
    version: str
    requires_dist: tuple[str, ...] = ()
    requires_python: str = ""
    provides_extra: tuple[str, ...] = ()
    own_variant: dict[str, tuple[str, ...]] | None = None


class Archive(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The static content of a source archive.

    `metadata` is None if the archive has no static requirements (PEP 643 or PEP 621); `why_dynamic`
    then says why. `build_requires` is build-system.requires of its pyproject.toml (PEP 518), or
    None if it has no such file or table.
    """

    metadata: CoreMetadata | None
    build_requires: tuple[str, ...] | None = None
    why_dynamic: str = ""


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A release that is built from a commit.

    `commit` is the full hash; `ref` a tag or description, or empty.

    `committed` is the day of the commit in UTC; None if it is not known.

    The recipe is from `fact`, or without one from the files of the commit. `trust` says why the
    requirements of the fact were not verified; it is None if they were read at the commit.
    """

    name: NormalizedName
    url: str
    commit: str
    ref: str = ""
    subdirectory: str = ""
    recipe: Recipe
    committed: date | None = None
    fact: Sources | None
    trust: Message | None = None

    @classmethod
    def of_fact(cls, fact: Sources, trust: Message | None, ref: str = "") -> Source:
        """Return the source that a fact describes; `ref` is for a fact that has none."""
        return cls(
            name=fact.package,
            url=fact.git,
            commit=fact.commit,
            ref=fact.ref or ref,
            subdirectory=fact.subdirectory,
            recipe=fact.recipe,
            committed=fact.committed,
            fact=fact,
            trust=trust,
        )

    @property
    def version(self) -> Version:
        """The version that its build has."""
        return self.recipe.version

    @property
    def address(self) -> str:
        """The repository and the commit, for people."""
        return f"{self.url}@{self.commit[:12]}"

    @property
    def where(self) -> str:
        """file:line of the fact, or else the repository and commit."""
        return self.fact.where if self.fact is not None else self.address

    @property
    def extras(self) -> tuple[str, ...]:
        """The extras in the markers of its requirements."""
        return text.all_extras(self.recipe.requires)


class Release(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A release of a project that the target can use.

    `file` is the one that pip chooses on the target: the best wheel by tag, then by build tag; or a
    source archive if there is no wheel, or a fact has it built (`builds`). `others` are the other
    wheels that the target accepts, best first, and of the same variant. `position` is the rank
    among the project's releases, 0 for the newest. With a `source` the release is built from a
    commit, and `file` has only a name. `variant` is what the label in the file's name stands for;
    None without one.
    """

    version: Version
    file: File
    others: tuple[File, ...] = ()
    index: str
    builds: Builds | None = None
    yanked: bool = False
    position: int
    source: Source | None = None
    variant: Variant | None = None
