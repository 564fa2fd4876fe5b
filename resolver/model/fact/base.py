"""What all facts have in common, and what each kind says of itself.

The methods of `Fact` describe a fact that only informs. A kind overrides what is different for it.
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

from resolver.model import patterns
from resolver.model.component import Value
from resolver.model.message import Message, message
from resolver.model.requirement import ComponentRequirement, Requirement
from resolver.model.source import References
from resolver.model.text import ALONE, NOT_EMPTY, Sentence, Text, Variables, Where
from resolver.phrase import EMPTY, Phrase, phrase

if TYPE_CHECKING:
    from resolver.model.release import Release
    from resolver.model.resolution import Pin, Resolution
    from resolver.model.variant import Variant

# A requirement on a project or on a component of the target.
Need = Requirement | ComponentRequirement


def component_requirements(needs: Iterable[Need]) -> list[ComponentRequirement]:
    """Return the requirements on components of the target."""
    return [need for need in needs if isinstance(need, ComponentRequirement)]


def projects_of(needs: Iterable[Need]) -> tuple[NormalizedName, ...]:
    """Return the projects that are required, one for each requirement on a project."""
    return tuple(need.name for need in needs if isinstance(need, Requirement))


class Strength(Enum):
    """How certain a fact is. It decides whether a fix may set the fact aside."""

    # An installer or the package itself enforces it: no fix sets it aside.
    ENFORCED = "enforced"
    # A table of the vendor states it: a fix sets it aside as a last resort.
    VENDOR = "vendor"
    # A guide or a requirements file states it: a fix sets it aside as a last resort.
    DOCUMENTED = "documented"
    # Somebody saw it: a fix may set it aside.
    OBSERVED = "observed"
    # An image of the vendor does it, against metadata: it is in force only if a stack says so.
    PRACTICE = "practice"

    def __str__(self) -> str:
        return self.value


class Mistake(NamedTuple):
    """A value, or a combination of keys, that a row of a TOML file must not have."""

    # What is wrong.
    what: Phrase
    # The keys and positions that lead to it in the row.
    path: tuple[str | int, ...]
    # Why it is wrong; may be empty.
    why: Phrase = EMPTY
    # What to write instead; may be empty.
    hint: Phrase = EMPTY


class Fact(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A statement that no project's metadata makes, with its source.

    The fields are the keys of a row in a TOML file, for every kind. If a row leaves out `package`,
    the name of the file gives it; the `defaults` of the file may give other keys.
    """

    # Unique across all files. By default it has the project, the kind and the number of the row.
    id: Text = ""
    # The project that it is about.
    package: NormalizedName
    # The releases that it is about: one of these sets contains their version. Pre-releases count.
    versions: Annotated[tuple[SpecifierSet, ...], NOT_EMPTY, ALONE] = (SpecifierSet(">=0"),)
    # Why, in one true sentence.
    reason: Sentence
    # The reason in Chinese; reports show the English one if it is empty.
    reason_zh: Sentence = ""
    # How certain it is, and so what a fix may do with it.
    strength: Strength
    # Where it can be looked up.
    source: References
    # The day on which somebody last looked.
    checked: date
    # The ids of generated facts that this one replaces; `reason` says why.
    over: Annotated[tuple[Text, ...], ALONE] = ()
    # file:line of the row.
    where: Where

    def applies_to(self, version: Version) -> bool:
        """Return whether the fact is about this release of its project."""
        return any(specifiers.contains(version, prereleases=True) for specifiers in self.versions)

    def is_about(self, project: str, version: Version) -> bool:
        """Return whether the fact is about this release of this project."""
        return self.package == project and self.applies_to(version)

    # --- when a row is valid, and for which targets it holds

    def mistakes(self) -> Iterator[Mistake]:
        """Yield the mistakes of the row that the types of its keys do not exclude."""
        return iter(())

    def applies_on(self, system: Mapping[str, Value], needs: Iterable[Need]) -> bool:
        """Return whether the fact holds for a target with these components.

        `needs` are the requirements of the stack's own lines.
        """
        return True

    # --- what it adds to the requirements of a release

    @property
    def added_needs(self) -> tuple[Need, ...]:
        """Return the requirements that it adds to metadata, or replaces some of it with."""
        return ()

    def needs_for(self, release: Release) -> tuple[Need, ...]:
        """Return the requirements that it adds to a release that it is about."""
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
        """Return the requirements that a stack may set aside one by one."""
        return ()

    # --- what else it names

    @property
    def conditions(self) -> tuple[Need, ...]:
        """Return the requirements that decide whether it concerns a lock with its project."""
        return ()

    @property
    def named_projects(self) -> tuple[NormalizedName, ...]:
        """Return the projects that it names, other than its own."""
        needed = projects_of((*self.added_needs, *self.conditions))
        return (*needed, *self.bounded_projects)

    @property
    def cited_needs(self) -> tuple[Need, ...]:
        """Return the requirements whose names and versions its sources must have."""
        return ()

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return other names that its sources must have."""
        return ()

    @property
    def build_tools(self) -> tuple[Requirement, ...]:
        """Return the tools that it adds to a build."""
        return ()

    # --- what indexes say of it

    @property
    def unconfirmed(self) -> Message:
        """Return what an audit says of a fact that adds no requirement: no index confirms it."""
        return message("upstream.remark-pairing")

    # --- whether a lock rests on it

    def is_used(self, resolution: Resolution) -> bool:
        """Return whether a lock cites it.

        By default a lock does if the fact is about the pinned release of its project, and concerns
        the pin.
        """
        pin = resolution.pin(self.package)
        if pin is None or not self.applies_to(pin.version):
            return False
        return self.concerns_pin(pin, resolution)

    def concerns_pin(self, pin: Pin, resolution: Resolution) -> bool:
        """Return whether it concerns the pin of its project, given that it is about the version."""
        return True


class RequirementFact(Fact, frozen=True, kw_only=True):
    """A fact about requirements, which may be a practice, and may hold for some targets only."""

    # What may fail if the practice is followed. A practice must have it, and other facts must not.
    risk: Sentence = ""
    # The risk in Chinese; may be empty.
    risk_zh: Sentence = ""
    # The fact holds only for targets whose components meet all of these. A component that the
    # target does not state meets none.
    when: tuple[ComponentRequirement, ...] = ()
    # The fact does not hold for targets with a component that meets one of these.
    unless: tuple[ComponentRequirement, ...] = ()

    def applies_on(self, system: Mapping[str, Value], needs: Iterable[Need]) -> bool:
        """Return whether the target meets all of `when` and none of `unless`."""
        if any(need.is_promised_by(system) for need in self.unless):
            return False
        return all(need.is_promised_by(system) for need in self.when)


def refused_build_variables(variables: Variables) -> Iterator[Mistake]:
    """Yield the variables that install.sh keeps from every build."""
    for name, _ in variables:
        if not patterns.BUILD_VARIABLE.matches(name):
            why = phrase(
                "install.sh keeps it from builds: it decides which modules or libraries are loaded"
            )
            yield Mistake(phrase("`{name}` cannot be set here", name=name), ("env", name), why=why)


class BuildFact(Fact, frozen=True, kw_only=True):
    """A fact that says how releases are built, maybe for some targets only."""

    # The fact holds only for targets whose components meet all of these.
    when: tuple[ComponentRequirement, ...] = ()

    def applies_on(self, system: Mapping[str, Value], needs: Iterable[Need]) -> bool:
        """Return whether the target meets all of `when`."""
        return all(need.is_promised_by(system) for need in self.when)

    def is_spared_by(self, variant: Variant | None) -> bool:
        """Return whether a release need not be built, since it has a variant (PEP 825).

        A build for some targets is there because the plain wheels are for others. A variant with
        properties of the same components replaces it.
        """
        if not self.when or variant is None:
            return False
        return variant.components.issuperset(need.component for need in self.when)


def counts_for(release: Release, wheels: bool, needs: Iterable[Need]) -> bool:
    """Return whether a fact counts for a release, given the file that it is installed from.

    With `wheels` the fact is about plain wheels alone: not about a source build, and not about a
    variant (PEP 825) with properties of a component that the fact's own `needs` are about.
    """
    if not wheels:
        return True
    if not release.file.is_wheel:
        return False
    if release.variant is None:
        return True
    components = {need.component for need in component_requirements(needs)}
    return release.variant.components.isdisjoint(components)
