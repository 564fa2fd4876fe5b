"""The files and releases of a project on an index, and releases that are built from a commit."""

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
    """A file of an index page (PEP 503, PEP 691). Texts are the index's own."""

    filename: str
    # The absolute address; empty for files of a snapshot.
    url: str = ""
    # Empty if the page has none.
    sha256: str = ""
    # In bytes; None if the page does not state it (PEP 700).
    size: int | None = None
    requires_python: str = ""
    # Why the file was yanked, which may be empty; None if it was not (PEP 592).
    yanked: str | None = None
    # When the file was uploaded, in ISO 8601; empty if the page does not state it (PEP 700).
    uploaded: str = ""
    # The sha256 of the `.metadata` file (PEP 658, PEP 714); empty if the page has none, and None if
    # the index does not offer the file.
    metadata: str | None = None

    @property
    def is_wheel(self) -> bool:
        """Return whether this is a wheel; other files of a release are source archives."""
        return self.filename.endswith(".whl")


class RejectionReason(Enum):
    """Why a file or a release was rejected.

    The value is the predicate of an English sentence about the file.
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
        """Return the code of its message in `locale/`."""
        return f"rejection.{self.name.lower().replace('_', '-')}"


class Rejection(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A file that cannot be used, and why."""

    filename: str
    reason: RejectionReason
    # What the reason is about, such as the Python that the file needs; may be empty.
    detail: str = ""

    def __str__(self) -> str:
        text = f"{self.filename} {self.reason.value}"
        return f"{text} ({self.detail})" if self.detail else text


class ProjectStatus(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What an index says about a project as a whole (PEP 792). Both texts are the index's own."""

    # `active`, also if the index says nothing, or `archived`, `quarantined` or `deprecated`.
    status: str = "active"
    # Why; may be empty.
    reason: str = ""


ACTIVE: Final = ProjectStatus()
QUARANTINED: Final = "quarantined"


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A project on an index."""

    project: NormalizedName
    # The name of the index.
    index: str
    # The files of each release, by the version as the first file name spells it. Spellings of one
    # version (PEP 440) are one release.
    releases: Mapping[str, tuple[File, ...]]
    # The files that were rejected while the page was read.
    rejections: tuple[Rejection, ...] = ()
    project_status: ProjectStatus = ACTIVE
    # The file that lists the variants of a release (PEP 825), by version. A release with variant
    # wheels and without such a file has None; releases without variant wheels have no key.
    variant_files: Mapping[str, File | None] = MappingProxyType({})
    # What was read from these files, by version.
    variants: Mapping[str, VariantTable] = MappingProxyType({})

    def variants_of(self, version: str) -> VariantTable:
        """Return what the labels of a release's wheels stand for."""
        return self.variants.get(version, NO_VARIANTS)


class CoreMetadata(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The core metadata of one file. Texts are unchanged."""

    name: str
    version: str
    requires_dist: tuple[str, ...] = ()
    requires_python: str = ""
    provides_extra: tuple[str, ...] = ()
    # The properties that a variant wheel itself states (PEP 825); None for a plain wheel.
    own_variant: dict[str, tuple[str, ...]] | None = None


class Archive(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The static content of a source archive."""

    # None if the archive has no static requirements (PEP 643 or PEP 621).
    metadata: CoreMetadata | None
    # `build-system.requires` of pyproject.toml (PEP 518); None without such a file or table.
    build_requires: tuple[str, ...] | None = None
    # Why the requirements are not static; empty if they are.
    why_dynamic: str = ""


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A release that is built from a commit."""

    name: NormalizedName
    # The address of the repository.
    url: str
    # The full hash of the commit.
    commit: str
    # A tag or a description of the commit; empty if none is known.
    ref: str = ""
    # The folder of the project in the repository; empty for the top.
    subdirectory: str = ""
    # The requirements, and how it is built.
    recipe: Recipe
    # The day of the commit in UTC; None if it is not known.
    committed: date | None = None
    # The fact that has the recipe; None if the recipe was read at the commit.
    fact: Sources | None
    # Why the requirements of the fact were not verified; None if they were read at the commit.
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
        """Return the version that its build has."""
        return self.recipe.version

    @property
    def address(self) -> str:
        """Return the repository and the short commit, for people."""
        return f"{self.url}@{self.commit[:12]}"

    @property
    def where(self) -> str:
        """Return file:line of the fact, or without one the repository and the commit."""
        return self.fact.where if self.fact is not None else self.address

    @property
    def extras(self) -> tuple[str, ...]:
        """Return the extras in the markers of its requirements."""
        return text.all_extras(self.recipe.requires)


class Release(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A release of a project that the target can use."""

    version: Version
    # The file that pip chooses on the target: the best wheel by tag, then by build tag. It is a
    # source archive if there is no wheel, or if a fact says so. With a `source` it is a name only.
    file: File
    # The other wheels of the same variant that the target accepts, the best first.
    others: tuple[File, ...] = ()
    # The name of the index that has the files.
    index: str
    # The fact that has it built from the archive; None if none does.
    builds: Builds | None = None
    yanked: bool = False
    # The rank among the project's releases; 0 is the newest.
    position: int
    # The commit that it is built from; None if an index has the files.
    source: Source | None = None
    # The variant that the label in the file's name stands for; None without a label (PEP 825).
    variant: Variant | None = None
