"""`builds`: a build from source instead of a wheel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec
from packaging.utils import NormalizedName

from resolver.model import patterns
from resolver.model.fact.base import BuildFact, Mistake, Need, refused_build_variables
from resolver.model.repository import Inside
from resolver.model.requirement import Requirement
from resolver.model.text import Variables, matching

if TYPE_CHECKING:
    from resolver.model.resolution import Pin, Resolution

# Variables that no file of upstream sets. The first one gives a build its version, which it would
# ask git for; the second keeps `import torch` from loading plugins.
_OWN_VARIABLES: Final = ("SETUPTOOLS_SCM_PRETEND_VERSION", "TORCH_DEVICE_BACKEND_AUTOLOAD")


class Builds(BuildFact, frozen=True, kw_only=True):
    """A build from the source archive, with other requirements than the wheel on the index."""

    # What it is built from.
    from_: Literal["sdist"] = msgspec.field(name="from", default="sdist")
    # The requirements file in the archive that has the requirements.
    requires_from: Inside
    # A local version (PEP 440) that the build appends to its version. pip does not accept such a
    # wheel from an index, but only by its path.
    label: Annotated[str, matching(patterns.LABEL)] = ""
    # The variables of the build. `{version}` in a value stands for the version.
    env: Variables = ()
    # Whether it is built in an isolated environment. If not, what the build requires is installed
    # in the environment itself.
    isolation: bool = True
    # The projects that pyproject.toml of the archive names for the build and are not needed.
    build_drop: tuple[NormalizedName, ...] = ()
    # What the build requires besides pyproject.toml.
    build_add: tuple[Requirement, ...] = ()

    def mistakes(self) -> Iterator[Mistake]:
        """Yield the variables that no build may be given."""
        return refused_build_variables(self.env)

    @property
    def cited_needs(self) -> tuple[Need, ...]:
        """Return the components that the build is for."""
        return self.when

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return the variables that upstream sets, and the tools that are left out."""
        variables = [name for name, _ in self.env if name not in _OWN_VARIABLES]
        return (*variables, *self.build_drop)

    @property
    def build_tools(self) -> tuple[Requirement, ...]:
        """Return the tools that the fact adds."""
        return self.build_add

    def concerns_pin(self, pin: Pin, resolution: Resolution) -> bool:
        """Return whether the pin is built from an archive."""
        return pin.release.source is None and not pin.release.file.is_wheel
