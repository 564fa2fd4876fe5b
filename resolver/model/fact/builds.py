"""`builds`: a source build in place of a wheel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec
from packaging.utils import NormalizedName

from resolver.model import patterns
from resolver.model.fact.base import Fact, Need, is_for_machines_of
from resolver.model.repository import Inside
from resolver.model.requirement import ComponentRequirement, Requirement, Value
from resolver.model.text import Variables, matching

if TYPE_CHECKING:
    from resolver.model.resolution import Pin, Resolution
    from resolver.model.variant import Variant

# No file of upstream sets these variables: one keeps a build from asking git for its version, the
# other keeps `import torch` from loading plugins.
_OWN_VARIABLES: Final = ("SETUPTOOLS_SCM_PRETEND_VERSION", "TORCH_DEVICE_BACKEND_AUTOLOAD")


class Builds(Fact, frozen=True, kw_only=True):
    """A source build whose requirements differ from those of the wheel on the index."""

    from_: Literal["sdist"] = msgspec.field(name="from", default="sdist")
    # A requirements file inside the archive.
    requires_from: Inside
    # The fact is there only for targets that meet all of these.
    when: tuple[ComponentRequirement, ...] = ()
    # A local version (PEP 440) that the build appends to the version: pip then does not accept it
    # from an index, but only by its path.
    label: Annotated[str, matching(patterns.LABEL)] = ""
    # Variables of the build; `{version}` stands for the release.
    env: Variables = ()
    # Without isolation, what the build requires constrains the environment itself.
    isolation: bool = True
    # What the build requires is that of the archive's pyproject.toml, without and with these.
    build_drop: tuple[NormalizedName, ...] = ()
    build_add: tuple[Requirement, ...] = ()

    def is_spared_by(self, variant: Variant | None) -> bool:
        """Return whether a release need not be built, as a variant of it is for the same machines."""
        return is_for_machines_of(self.when, variant)

    def applies_on(self, system: Mapping[str, Value], needs: Iterable[Need]) -> bool:
        """Return whether the target meets all of `when`."""
        return all(need.is_promised_by(system) for need in self.when)

    @property
    def cited_needs(self) -> tuple[Need, ...]:
        """Return the machines that the build is for."""
        return self.when

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return the variables that upstream sets, and the tools that are left out."""
        variables = [name for name, _ in self.env if name not in _OWN_VARIABLES]
        return (*variables, *self.build_drop)

    @property
    def build_tools(self) -> tuple[Requirement, ...]:
        """Return the tools that are added."""
        return self.build_add

    def concerns_pin(self, pin: Pin, resolution: Resolution) -> bool:
        """Return whether a pin is built from an archive."""
        return pin.release.source is None and not pin.release.file.is_wheel
