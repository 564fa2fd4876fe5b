"""Facts: sentences about the world that no project's metadata says, with their evidence.

Each kind is a type of its own. A fact speaks of the releases of `package` that
any of its `versions` (PEP 440 specifier sets) contains; pre-releases count.
Where a text in Chinese (`…_zh`) is empty, the English one is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from enum import Enum
from typing import TypeVar

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model.component import ComponentRequirement, Value
from resolver.model.recipe import Recipe
from resolver.model.requirement import Requirement


class Strength(Enum):
    """How strong a fact is, which decides what a fix may touch."""

    ENFORCED = "enforced"  # an installer acts on it: never relaxed
    VENDOR = "vendor"  # a table of the vendor: relaxed as a last resort
    DOCUMENTED = "documented"  # a guide or requirements file: likewise
    OBSERVED = "observed"  # somebody saw it

    def __str__(self) -> str:
        return self.value


Need = Requirement | ComponentRequirement


class _Common(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    package: NormalizedName
    versions: tuple[SpecifierSet, ...]
    reason: str
    reason_zh: str = ""
    strength: Strength
    source: str
    checked: date
    where: str  # file:line

    def speaks_of(self, release: Version) -> bool:
        """Whether the fact is about this release."""
        return any(versions.contains(release, prereleases=True) for versions in self.versions)


class Requires(_Common, frozen=True, kw_only=True):
    """A requirement that the metadata leaves out.

    With `wheels` it is one of the wheels on an index, and not of what is built from source.
    """

    needs: tuple[Need, ...]
    wheels: bool = False


class Excludes(_Common, frozen=True, kw_only=True):
    """Releases that must not be used."""


class Replaces(_Common, frozen=True, kw_only=True):
    """Upstream metadata is wrong: the requirements on `drop` go, `add` takes their place."""

    drop: tuple[NormalizedName, ...]
    add: tuple[Need, ...]


class Metadata(_Common, frozen=True, kw_only=True):
    """The requirements of an archive that has no static metadata."""

    requires: tuple[Requirement, ...]
    build_requires: tuple[Requirement, ...] | None
    requires_python: SpecifierSet | None


class Builds(_Common, frozen=True, kw_only=True):
    """A source build whose requirements differ from those of the wheel on the index.

    `requires_from` names a requirements file inside the archive. The build's
    own requirements are those of the archive's pyproject.toml without
    `build_drop`, and `build_add`. Without isolation they constrain the
    environment itself. `label` is a PEP 440 local version that the build adds to
    its own: pip then refuses it from an index, and takes it by its path only.
    """

    requires_from: str
    label: str
    env: tuple[tuple[str, str], ...]  # `{version}` stands for the release
    isolation: bool
    build_drop: tuple[NormalizedName, ...]
    build_add: tuple[Requirement, ...]


class Collides(_Common, frozen=True, kw_only=True):
    """`package` and `other` own the same importable `module`: one of them at most."""

    other: NormalizedName
    module: str


class After(_Common, frozen=True, kw_only=True):
    """`package` is installed after `others`, where they are in the lock."""

    others: tuple[NormalizedName, ...]


class Warns(_Common, frozen=True, kw_only=True):
    """Something to know when `package` is in the lock, and all of `beside`, and none of `unless` holds.

    With `extra`, only when that extra is in use; with `wheels`, only where it is a wheel of an index that is in the
    lock. A `grave` one says that what the project is wanted for fails. With `last`, releases that differ in their post
    number alone are taken after those that nothing puts last, or with a lower number.
    """

    text: str
    text_zh: str = ""
    grave: bool = False
    wheels: bool = False
    extra: str
    beside: tuple[Requirement, ...] = ()
    unless: tuple[Need, ...]
    last: int = 0

    @property
    def components(self) -> frozenset[str]:
        """The components of a target that it depends on: with others it would be needless."""
        return frozenset(need.component for need in self.unless if isinstance(need, ComponentRequirement))

    def is_needless_on(self, system: Mapping[str, Value]) -> bool:
        """Whether the components of a target meet one of `unless`."""
        needs = (need for need in self.unless if isinstance(need, ComponentRequirement))
        return any(need.component in system and need.allows(system[need.component]) for need in needs)


class Names(_Common, frozen=True, kw_only=True):
    """A distribution on an index that is not what its name suggests: releases not to be taken."""

    index: str


class Exports(_Common, frozen=True, kw_only=True):
    """Environment variables that what is installed runs with, where `package` is in the lock.

    An `optional` one is proposed and not set. The environment of a *build* belongs to `Builds`.
    """

    env: tuple[tuple[str, str], ...]
    optional: bool


class Sources(_Common, frozen=True, kw_only=True):
    """What is known of `package` at one commit of a git repository.

    It counts where a stack asks for that commit. `requires_from` are files of the
    repository that the requirements were taken from; where the repository can
    be read they are compared.
    """

    git: str
    commit: str
    ref: str
    subdirectory: str
    recipe: Recipe
    requires_from: tuple[str, ...]


class Absent(_Common, frozen=True, kw_only=True):
    """Where `package` is, `other` must not be, whoever asks for it.

    Where the stack itself names `package`, requirements on `other` are left out. Else the two
    exclude each other, as distributions that collide do.
    """

    other: NormalizedName

    @property
    def module(self) -> str:
        """What stands for the place that only one of the two can have."""
        return f"{self.other} or {self.package}"


Fact = (
    Requires | Excludes | Replaces | Metadata | Builds | Collides | After | Warns | Names | Exports | Sources | Absent
)
FactKind = TypeVar("FactKind", bound=Fact)
