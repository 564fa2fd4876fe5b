"""`warns`: a warning about releases in a lock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal, TypeGuard

import msgspec
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model.component import Value
from resolver.model.fact.base import (
    Fact,
    Mistake,
    Need,
    RequirementFact,
    component_requirements,
    counts_for,
)
from resolver.model.requirement import Requirement, named_values
from resolver.model.system import SystemVersion
from resolver.model.text import Text
from resolver.phrase import phrase

if TYPE_CHECKING:
    from resolver.model.release import Release
    from resolver.model.resolution import Pin, Resolution


class Warns(Fact, frozen=True, kw_only=True):
    """A warning for locks with `package`."""

    # The warning.
    text: Text
    # The warning in Chinese; reports show the English one if it is empty.
    text_zh: Text = ""
    # Whether the project fails at its main purpose.
    grave: bool = False
    # The fact holds only for targets with this component; empty for all targets.
    component: Text = ""
    # Whether the warning is about wheels alone, and not about what is built from source.
    wheels: bool = False
    # The extra that the lock must have; empty for none.
    extra: NormalizedName = NormalizedName("")
    # What the lock must have as well.
    together_with: tuple[Requirement, ...] = msgspec.field(name="with", default=())
    # A lock, or a target, that meets one of these is not warned.
    unless: tuple[Need, ...] = ()
    # If it is not 0, the releases come after releases with a lower `last` and the same version
    # except for the number of the post-release.
    last: Literal[0, 1, 2, 3, 4, 5, 6, 7, 8, 9] = 0

    def mistakes(self) -> Iterator[Mistake]:
        """Yield that the order of releases would depend on what else is in the lock."""
        projects = [need for need in self.unless if isinstance(need, Requirement)]
        if self.last and (self.together_with or self.extra or self.wheels or projects):
            yield Mistake(
                phrase("which releases come last cannot hang on what else is in the lock"),
                ("last",),
                why=phrase(
                    "so there can be no `with`, `extra` and `wheels`, and only components in "
                    "`unless`"
                ),
            )

    def applies_on(self, system: Mapping[str, Value], needs: Iterable[Need]) -> bool:
        """Return whether the target states the component."""
        return not self.component or self.component in system

    @property
    def conditions(self) -> tuple[Need, ...]:
        """Return what a lock must have, and what it must not have."""
        return (*self.together_with, *self.unless)

    @property
    def cited_needs(self) -> tuple[Need, ...]:
        """Return what a lock must not have, and what it must have."""
        return (*self.unless, *self.together_with)

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return its extra, if it has one."""
        return (self.extra,) if self.extra else ()

    def counts_for(self, release: Release) -> bool:
        """Return whether the fact counts for the file that a release is installed from."""
        return counts_for(release, self.wheels, self.unless)

    def concerns_pin(self, pin: Pin, resolution: Resolution) -> bool:
        """Return whether the lock is to be warned."""
        if not self.counts_for(pin.release):
            return False
        if self.extra and self.extra not in pin.extras:
            return False
        if not all(resolution.meets(need) for need in self.together_with):
            return False
        return not any(resolution.meets(need) for need in self.unless)

    @property
    def components(self) -> frozenset[str]:
        """Return the components of a target that it depends on."""
        return frozenset(need.component for need in component_requirements(self.unless))

    def is_averted_on(self, system: Mapping[str, Value]) -> bool:
        """Return whether a target with these components meets one of `unless`."""
        return any(need.is_promised_by(system) for need in component_requirements(self.unless))

    def is_averted_on_release_line(self, releases: Mapping[str, Value]) -> bool:
        """Return whether `unless` names a release of the release line of one of these components.

        If a component has 8.5.2, 8.5.0 is one.
        """
        for component, release in releases.items():
            for need in self.unless:
                if any(_are_of_one_line(value, release) for value in named_values(need, component)):
                    return True
        return False


def _are_of_one_line(one: Value, other: Value) -> bool:
    if isinstance(one, SystemVersion) and isinstance(other, SystemVersion):
        return one.line == other.line
    if isinstance(one, Version) and isinstance(other, Version):
        return one.release[:2] == other.release[:2]
    return False


def is_put_last(fact: Fact) -> TypeGuard[Warns]:
    """Return whether a fact puts releases after others."""
    return isinstance(fact, Warns) and bool(fact.last)


def as_warning(practice: RequirementFact) -> Warns:
    """Return the warning about a practice in force."""
    common_fields = {key: getattr(practice, key) for key in Fact.__struct_fields__}
    return Warns(
        **common_fields,
        text=f"the practice `{practice.id}` goes against metadata, as the vendor's image does. "
        f"{practice.reason} Risk: {practice.risk}",
        text_zh=f"惯例 `{practice.id}` 与元数据相违，厂商的镜像也是如此。"
        f"{practice.reason_zh or practice.reason}风险：{practice.risk_zh or practice.risk}",
    )
