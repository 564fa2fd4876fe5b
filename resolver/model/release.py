"""The pages of indexes, their files, and the releases of projects.

`index/parse` makes pages of what indexes send. `resolve/project` makes releases of pages, and
chooses the files that a target can use.
"""

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
    """A file on the page of an index (PEP 503, PEP 691). Texts are as the index wrote them."""

    # The name of the file.
    filename: str
    # The absolute address; empty for files of a snapshot.
    url: str = ""
    # The hash of the file; empty if the page has none.
    sha256: str = ""
    # The size in bytes; None if the page does not state it (PEP 700).
    size: int | None = None
    # Requires-Python; empty if the page has none.
    requires_python: str = ""
    # Why the file was yanked, which may be empty; None if it was not (PEP 592).
    yanked: str | None = None
    # When the file was uploaded, in ISO 8601; empty if the page does not state it (PEP 700).
    uploaded: str = ""
    # The sha256 of the `.metadata` file (PEP 658, PEP 714). Empty if the page does not state the
    # hash. None if the index has no such file.
    metadata: str | None = None

    @property
    def is_wheel(self) -> bool:
        """Return whether the file is a wheel; all other files of a release are source archives."""
        return self.filename.endswith(".whl")


class RejectionReason(Enum):
    """Why a file or a release was rejected.

    The value completes an English sentence that begins with the name of the file.
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
        """Return the code of the reason's text in `locale/`, such as `rejection.tags`."""
        return f"rejection.{self.name.lower().replace('_', '-')}"


class Rejection(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A file that cannot be used, and why."""

    # The name of the file. If a whole release is rejected, this is its version.
    filename: str
    # Why the file cannot be used.
    reason: RejectionReason
    # What the reason is about, such as the Python that the file needs; may be empty.
    detail: str = ""

    def __str__(self) -> str:
        text = f"{self.filename} {self.reason.value}"
        return f"{text} ({self.detail})" if self.detail else text


class ProjectStatus(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The status of a project on an index (PEP 792). Texts are as the index wrote them."""

    # `active`, `archived`, `quarantined` or `deprecated`. `active` if the index states none.
    status: str = "active"
    # Why the project has the status; may be empty.
    reason: str = ""


# The status of a project without a statement of the index.
ACTIVE: Final = ProjectStatus()
# The status of a project that is considered unsafe to use (PEP 792).
QUARANTINED: Final = "quarantined"


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """The page of a project on an index."""

    # The project.
    project: NormalizedName
    # The name of the index.
    index: str
    # The files of each release. The key is the version as the first file name of the release spells
    # it. Different spellings of one version (PEP 440) are one release.
    releases: Mapping[str, tuple[File, ...]]
    # The files that were rejected while the page was read. They belong to no release.
    rejections: tuple[Rejection, ...] = ()
    # The status of the project on the index.
    project_status: ProjectStatus = ACTIVE
    # For each version with variant wheels, the file that lists its variants (PEP 825). None if the
    # index has no such file.
    variant_files: Mapping[str, File | None] = MappingProxyType({})
    # The content of these files, by version.
    variants: Mapping[str, VariantTable] = MappingProxyType({})

    def variants_of(self, version: str) -> VariantTable:
        """Return the variants of a release.

        `version` is a key of `releases`. The table is empty if the release has no variants.
        """
        return self.variants.get(version, NO_VARIANTS)


class CoreMetadata(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The core metadata of one file. Texts are as in the file."""

    # The name of the project.
    name: str
    # The version of the project.
    version: str
    # The lines of Requires-Dist.
    requires_dist: tuple[str, ...] = ()
    # Requires-Python; empty if there is none.
    requires_python: str = ""
    # The lines of Provides-Extra.
    provides_extra: tuple[str, ...] = ()
    # The properties that a variant wheel contains (PEP 825): the values by `namespace :: feature`.
    # None for a plain wheel.
    own_variant: dict[str, tuple[str, ...]] | None = None


class Archive(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The metadata that a source archive contains, read without running its code."""

    # The core metadata; None if the archive has no static requirements (PEP 643 or PEP 621).
    metadata: CoreMetadata | None
    # `build-system.requires` of pyproject.toml (PEP 518); None without such a file or table.
    build_requires: tuple[str, ...] | None = None
    # Why the requirements are not static; empty if they are.
    why_dynamic: str = ""


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A release that is built from a commit of a git repository."""

    # The project.
    name: NormalizedName
    # The address of the repository.
    url: str
    # The full hash of the commit.
    commit: str
    # A tag or a description of the commit; empty if none is known.
    ref: str = ""
    # The folder of the project in the repository; empty for the top.
    subdirectory: str = ""
    # The requirements, and how to build the release.
    recipe: Recipe
    # The day of the commit in UTC; None if it is not known.
    committed: date | None = None
    # The fact that states the recipe; None if the recipe was read from files at the commit.
    fact: Sources | None
    # Why the fact's requirements were not compared with the files at the commit; None if they were,
    # or if there is no fact.
    trust: Message | None = None
    # Why it is not known what the commit requires; None if it is known. Nothing can be built from
    # an unknown commit, and its recipe is empty.
    unknown: Message | None = None
    # If the commit is unknown because its repository could not be read: the host of the repository.
    unreachable: str = ""

    @classmethod
    def of_fact(cls, fact: Sources, trust: Message | None, ref: str = "") -> Source:
        """Return the release that a `sources` fact describes.

        `ref` is used if the fact has no `ref`.
        """
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
        """Return the version that the build gives itself."""
        return self.recipe.version

    @property
    def address(self) -> str:
        """Return the repository's address and 12 digits of the commit, for people."""
        return f"{self.url}@{self.commit[:12]}"

    @property
    def where(self) -> str:
        """Return file:line of the fact; without a fact, the repository and the commit."""
        return self.fact.where if self.fact is not None else self.address

    @property
    def extras(self) -> tuple[str, ...]:
        """Return the extras that the markers of its requirements name, sorted."""
        return text.all_extras(self.recipe.requires)


class Release(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A release of a project that the target can use, with the file that would be installed."""

    # The version of the release.
    version: Version
    # The file that pip chooses on the target: the best wheel by tag, then by build tag. It is a
    # source archive if there is no such wheel, or if a fact has the release built. If `source` is
    # set, no file exists, and only the file's name means something.
    file: File
    # The other wheels of the same variant that the target accepts, the best first.
    others: tuple[File, ...] = ()
    # The name of the index that has the files.
    index: str
    # The fact that says that the release is built from its archive; None if no fact says so.
    builds: Builds | None = None
    # Whether the file was yanked (PEP 592).
    yanked: bool = False
    # The position among all releases of the project, newest first; 0 is the newest release.
    position: int
    # The commit that the release is built from; None if an index has the files.
    source: Source | None = None
    # The variant that the label in the file's name stands for; None without a label (PEP 825).
    variant: Variant | None = None
