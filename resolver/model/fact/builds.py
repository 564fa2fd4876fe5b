"""`builds`: releases that are built from their source archives instead of taking a wheel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec
from packaging.utils import NormalizedName

from resolver.model import patterns
from resolver.model.fact.base import BuildFact, Mistake, Need, is_built, refused_build_variables
from resolver.model.repository import Inside
from resolver.model.requirement import Requirement
from resolver.model.text import Variables, matching

if TYPE_CHECKING:
    from resolver.model.resolution import Pin, Resolution

# Variables that facts set and no file of upstream does, so that no source can be cited for them.
# The first gives the build its version, for which it would otherwise run git. The second keeps
# `import torch` from loading plugins.
_OWN_VARIABLES: Final = ("SETUPTOOLS_SCM_PRETEND_VERSION", "TORCH_DEVICE_BACKEND_AUTOLOAD")


class Builds(BuildFact, frozen=True, kw_only=True):
    """How releases are built from their source archives, instead of taking a wheel of the index.

    The requirements of such a build differ from the requirements of the wheel.
    """

    # What the release is built from; only source archives are supported.
    from_: Literal["sdist"] = msgspec.field(name="from", default="sdist")
    # The path in the archive of the requirements file with the requirements of the release.
    requires_from: Inside
    # The local version label (PEP 440) that the build appends to its version; empty for none. pip
    # does not take such a wheel from an index, so it is installed by its path.
    label: Annotated[str, matching(patterns.LABEL)] = ""
    # The environment variables of the build. `{version}` in a value stands for the version.
    env: Variables = ()
    # Whether the release is built in an isolated environment. If not, the requirements of the build
    # are installed in the environment where the release is installed.
    isolation: bool = True
    # The projects in `build-system.requires` of the archive that the build does not need.
    build_drop: tuple[NormalizedName, ...] = ()
    # The requirements of the build that `build-system.requires` does not have.
    build_add: tuple[Requirement, ...] = ()

    def mistakes(self) -> Iterator[Mistake]:
        """Yield a mistake for each variable that no fact may set for a build."""
        return refused_build_variables(self.env)

    @property
    def cited_needs(self) -> tuple[Need, ...]:
        """Return the requirements in `when`: the sources must contain them."""
        return self.when

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return the variables that files of upstream set, and the build tools that are dropped."""
        variables = [name for name, _ in self.env if name not in _OWN_VARIABLES]
        return (*variables, *self.build_drop)

    @property
    def build_tools(self) -> tuple[Requirement, ...]:
        """Return the requirements of the build that the fact adds."""
        return self.build_add

    def concerns_pin(self, pin: Pin, resolution: Resolution) -> bool:
        """Return whether the pin is built from a source archive."""
        return is_built(pin)
