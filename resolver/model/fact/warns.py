"""`warns`: a warning for locks that contain certain releases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal, TypeGuard

import msgspec
from packaging.utils import NormalizedName

from resolver.model.component import Value, are_of_one_line
from resolver.model.fact.base import (
    Fact,
    Mistake,
    Need,
    RequirementFact,
    component_requirements,
    counts_for,
)
from resolver.model.requirement import Requirement, named_values
from resolver.model.text import Text
from resolver.phrase import phrase

if TYPE_CHECKING:
    from resolver.model.release import Release
    from resolver.model.resolution import Pin, Resolution


class Warns(Fact, frozen=True, kw_only=True):
    """A warning for locks that contain releases of `package`."""

    # The text of the warning.
    text: Text
    # The text in Chinese; may be empty. Then reports show the English text.
    text_zh: Text = ""
    # Whether the warning is grave: the project fails at its main purpose.
    grave: bool = False
    # The fact holds only for targets that state this component; empty for all targets.
    component: Text = ""
    # The family of models that the warning is about, such as `Qwen3.5`; empty if it is about any.
    # On the page of a conflict, it is shown only if the stack names these models.
    model: Text = ""
    # Whether the warning is only about wheels. A release that is built from source is not meant.
    wheels: bool = False
    # The warning is shown only if this extra of `package` is in the lock; empty to ignore extras.
    extra: NormalizedName = NormalizedName("")
    # The warning is shown only if the pins meet all of these requirements.
    together_with: tuple[Requirement, ...] = msgspec.field(name="with", default=())
    # The warning is not shown if the pins or the target meet one of these requirements. Extras that
    # a requirement names must be in use, here and in `with`.
    unless: tuple[Need, ...] = ()
    # If it is not 0, the fact also changes the order of releases: among the post-releases of one
    # version, releases with a higher `last` are taken later. So a release for another machine is
    # taken last.
    last: Literal[0, 1, 2, 3, 4, 5, 6, 7, 8, 9] = 0

    def mistakes(self) -> Iterator[Mistake]:
        """Yield a mistake if `last` is set, and the warning depends on other pins.

        The order of releases must be known before anything is chosen.
        """
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
        """Return whether the target states the component of the fact, or the fact has none."""
        return not self.component or self.component in system

    @property
    def conditions(self) -> tuple[Need, ...]:
        """Return the requirements of `with`, then the requirements of `unless`."""
        return (*self.together_with, *self.unless)

    @property
    def cited_needs(self) -> tuple[Need, ...]:
        """Return the requirements of `unless`, then the requirements of `with`."""
        return (*self.unless, *self.together_with)

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return the extra, if the fact names one."""
        return (self.extra,) if self.extra else ()

    def counts_for(self, release: Release) -> bool:
        """Return whether the fact concerns the file from which a release is installed."""
        return counts_for(release, self.wheels, self.unless)

    def concerns_pin(self, pin: Pin, resolution: Resolution) -> bool:
        """Return whether the warning is shown for the resolution."""
        if not self.counts_for(pin.release):
            return False
        if self.extra and self.extra not in pin.extras:
            return False
        if not all(_is_met(need, resolution) for need in self.together_with):
            return False
        return not any(_is_met(need, resolution) for need in self.unless)

    @property
    def components(self) -> frozenset[str]:
        """Return the names of the components that `unless` is about."""
        return frozenset(need.component for need in component_requirements(self.unless))

    def is_averted_on(self, system: Mapping[str, Value]) -> bool:
        """Return whether a target meets a requirement of `unless` on a component.

        `system` has the values of the target's components.
        """
        return any(need.is_promised_by(system) for need in component_requirements(self.unless))

    def is_averted_on_release_line(self, releases: Mapping[str, Value]) -> bool:
        """Return whether `unless` names a release of the same release line as one of `releases`.

        `releases` has the values of a target's components by name. 8.5.0 and 8.5.2 are of the same
        release line.
        """
        for component, release in releases.items():
            for need in self.unless:
                if any(are_of_one_line(value, release) for value in named_values(need, component)):
                    return True
        return False


def _is_met(need: Need, resolution: Resolution) -> bool:
    """Return whether a resolution meets a requirement, with the extras that it names.

    An extra counts if it is in use, and if the pinned release has it.
    """
    if not resolution.meets(need):
        return False
    if not isinstance(need, Requirement) or not need.extras:
        return True
    pin = resolution.pin(need.name)
    # `meets` has found it.
    assert pin is not None  # noqa: S101
    return set(need.extras) <= set(pin.extras).difference(pin.unknown_extras)


def is_put_last(fact: Fact) -> TypeGuard[Warns]:
    """Return whether a fact changes the order of releases: a `warns` fact with `last`."""
    return isinstance(fact, Warns) and bool(fact.last)


def as_warning(practice: RequirementFact) -> Warns:
    """Return the warning that a lock has about a practice that the stack turns on."""
    common_fields = {key: getattr(practice, key) for key in Fact.__struct_fields__}
    return Warns(
        **common_fields,
        text=f"the practice `{practice.id}` goes against metadata, as the vendor's image does. "
        f"{practice.reason} Risk: {practice.risk}",
        text_zh=f"惯例 `{practice.id}` 与元数据相违，厂商的镜像也是如此。"
        f"{practice.reason_zh or practice.reason}风险：{practice.risk_zh or practice.risk}",
    )
