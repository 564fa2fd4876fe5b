"""What all facts have in common, and what each kind says of itself.

A kind overrides what it has: the defaults are those of a fact that only informs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from enum import Enum
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model.requirement import ComponentRequirement, Requirement, Value
from resolver.model.source import References
from resolver.model.text import ALONE, NOT_EMPTY, Sentence, Text, Where

if TYPE_CHECKING:
    from resolver.model.release import Release
    from resolver.model.resolution import Pin, Resolution
    from resolver.model.variant import Variant

Need = Requirement | ComponentRequirement


def component_requirements(needs: Iterable[Need]) -> list[ComponentRequirement]:
    """Return the needs that are about components of the target."""
    return [need for need in needs if isinstance(need, ComponentRequirement)]


def projects_of(needs: Iterable[Need]) -> tuple[NormalizedName, ...]:
    """Return the projects that needs are about."""
    return tuple(need.name for need in needs if isinstance(need, Requirement))


class Strength(Enum):
    """How strong a fact is, on which depends whether a fix may relax it."""

    # by an installer or the package itself: never relaxed
    ENFORCED = "enforced"
    # from a table of the vendor: relaxed as a last resort
    VENDOR = "vendor"
    # in a guide or requirements file: likewise
    DOCUMENTED = "documented"
    # by somebody
    OBSERVED = "observed"
    # against metadata, as in an image of the vendor: only in force if a stack says so
    PRACTICE = "practice"

    def __str__(self) -> str:
        return self.value


class Mistake(NamedTuple):
    """A value, or a combination of keys, that a row must not have."""

    # what is wrong
    what: str
    # the keys and positions that lead to it in the row
    path: tuple[str | int, ...]
    why: str = ""
    hint: str = ""


class Fact(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A statement that no project's metadata makes, with its source.

    The fields are the keys of every kind. The file's name and its `defaults` give those that a row
    leaves out.
    """

    # Unique across all files; by default project, kind and number of the row.
    id: Text = ""
    # The project that it is about.
    package: NormalizedName
    # The releases that it is about: those that any of these sets contains, pre-releases included.
    versions: Annotated[tuple[SpecifierSet, ...], NOT_EMPTY, ALONE] = (SpecifierSet(">=0"),)
    # Why, in one true sentence.
    reason: Sentence
    # The same in Chinese; the English one is shown if it is empty.
    reason_zh: Sentence = ""
    strength: Strength
    # Where to look it up.
    source: References
    # The day somebody last looked.
    checked: date
    # The generated facts, by their ids, that this one takes the place of; `reason` says why.
    over: Annotated[tuple[Text, ...], ALONE] = ()
    # file:line
    where: Where

    def applies_to(self, version: Version) -> bool:
        """Return whether the fact is about this release of its project."""
        return any(specifiers.contains(version, prereleases=True) for specifiers in self.versions)

    def is_about(self, project: str, version: Version) -> bool:
        """Return whether the fact is about this release of this project."""
        return self.package == project and self.applies_to(version)

    # --- what a kind says of its rows

    def mistakes(self) -> Iterator[Mistake]:
        """Yield what keys and types do not express, and a row must not have."""
        return iter(())

    def applies_on(self, system: Mapping[str, Value], needs: Iterable[Need]) -> bool:
        """Return whether the fact is there for a target with these components.

        `needs` are what the stack's own lines ask for.
        """
        return True

    # --- what it adds to a release

    @property
    def added_needs(self) -> tuple[Need, ...]:
        """Return the requirements that it adds to metadata, or puts in its place."""
        return ()

    def needs_for(self, release: Release) -> tuple[Need, ...]:
        """Return what it adds to the requirements of a release that it is about."""
        return self.added_needs

    @property
    def bounded_projects(self) -> tuple[NormalizedName, ...]:
        """Return the projects that it bounds without requiring them."""
        return ()

    def bounds_for(self, release: Release) -> tuple[Requirement, ...]:
        """Return the bounds that a release which it is about puts on them."""
        return ()

    @property
    def relaxable_needs(self) -> tuple[Need, ...]:
        """Return what a stack may set aside one by one, leaving the rest in force."""
        return ()

    # --- what else it names

    @property
    def conditions(self) -> tuple[Need, ...]:
        """Return what decides whether it concerns a lock that has its project."""
        return ()

    @property
    def named_projects(self) -> tuple[NormalizedName, ...]:
        """Return the projects that it names, other than its own."""
        needed = projects_of((*self.added_needs, *self.conditions))
        return (*needed, *self.bounded_projects)

    @property
    def cited_needs(self) -> tuple[Need, ...]:
        """Return the needs whose versions its sources must have."""
        return ()

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return the names that its sources must have, without a version."""
        return ()

    @property
    def build_tools(self) -> tuple[Requirement, ...]:
        """Return the tools that it says a build needs."""
        return ()

    # --- whether a lock rests on it

    def is_used(self, resolution: Resolution) -> bool:
        """Return whether a lock is to cite it: it is about a pinned release, and its conditions are met."""
        pin = resolution.pin(self.package)
        if pin is None or not self.applies_to(pin.version):
            return False
        return self.concerns_pin(pin, resolution)

    def concerns_pin(self, pin: Pin, resolution: Resolution) -> bool:
        """Return whether it concerns a pin of a version that it is about."""
        return True


class OfTarget(Fact, frozen=True, kw_only=True):
    """A fact that may be a practice, and that may be there for some targets only."""

    # What may fail if the practice is followed; only a practice has it.
    risk: Sentence = ""
    # The same in Chinese.
    risk_zh: Sentence = ""
    # The fact is there only for targets that state components which meet all of these.
    when: tuple[ComponentRequirement, ...] = ()
    # It is not there for targets that state a component which meets one of these.
    unless: tuple[ComponentRequirement, ...] = ()

    def applies_on(self, system: Mapping[str, Value], needs: Iterable[Need]) -> bool:
        """Return whether the fact is there for a target with these components."""
        if any(need.is_promised_by(system) for need in self.unless):
            return False
        return all(need.is_promised_by(system) for need in self.when)


def counts_for(release: Release, wheels: bool, stated: Iterable[Need]) -> bool:
    """Return whether a fact, which with `wheels` is about wheels alone, is about a release.

    A fact about wheels is about plain ones: not about a variant (PEP 825) that itself says for
    which values of a component it was built, if that is among what the fact `stated`.
    """
    if not wheels:
        return True
    if not release.file.is_wheel:
        return False
    of_variant = release.variant.components if release.variant is not None else frozenset()
    of_fact = {need.component for need in component_requirements(stated)}
    return of_variant.isdisjoint(of_fact)


def is_for_machines_of(when: tuple[ComponentRequirement, ...], variant: Variant | None) -> bool:
    """Return whether a variant (PEP 825) states the components that limit a build to some targets.

    Such a build is there since the plain wheels are for other targets.
    """
    stated = variant.components if variant is not None else frozenset()
    return bool(when) and stated.issuperset(need.component for need in when)
