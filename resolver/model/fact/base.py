"""The base types of facts: the keys that every kind has, and the questions that it must answer.

The methods of `Fact` are those of a fact that has no effect on a resolution. Each kind overrides
the methods that are different for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import date
from enum import Enum
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, NamedTuple

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
    """Return the projects of the requirements on projects, in their order.

    A project can be among them several times.
    """
    return tuple(need.name for need in needs if isinstance(need, Requirement))


class Strength(Enum):
    """How certain a fact is.

    The strength decides whether a way out of a conflict may set the fact aside. Setting aside a
    less certain fact is preferred.
    """

    # An installer or the package itself enforces the fact. No way out sets it aside.
    ENFORCED = "enforced"
    # A table of the vendor states the fact. A way out sets it aside only as a last resort.
    VENDOR = "vendor"
    # A guide or a requirements file states the fact. A way out sets it aside only as a last resort.
    DOCUMENTED = "documented"
    # Somebody saw that the fact is true. A way out may set it aside.
    OBSERVED = "observed"
    # The fact is a practice: an image of the vendor does it, although metadata forbids it. It is
    # off, that is without effect, unless a stack turns it on by its id.
    PRACTICE = "practice"

    def __str__(self) -> str:
        return self.value


class Mistake(NamedTuple):
    """A mistake in a row of a TOML file: a value or a combination of keys that is not allowed."""

    # What is wrong.
    what: Phrase
    # The key in the row, followed by a position if the value is a list.
    path: tuple[str | int, ...]
    # Why it is wrong; may be empty.
    why: Phrase = EMPTY
    # What to write instead; may be empty.
    hint: Phrase = EMPTY


# The specifier set of a fact that names no versions.
_ALL: Final = SpecifierSet(">=0")


class Fact(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A fact: a statement about releases of a project that their metadata does not make.

    The fields are the keys of a row in a TOML file that every kind has. If a row has no `package`,
    the project is the name of the file. Keys that a row does not have are taken from the table
    `defaults` of the file.
    """

    # The name of the fact, unique in all files. By default it is made of the project, the kind and
    # the number of the row.
    id: Text = ""
    # The project that the fact is about.
    package: NormalizedName
    # The releases that the fact is about: all versions that one of these specifier sets contains,
    # pre-releases included.
    versions: Annotated[tuple[SpecifierSet, ...], NOT_EMPTY, ALONE] = (_ALL,)
    # Why the fact is true, in one sentence.
    reason: Sentence
    # The reason in Chinese; may be empty. Then reports show the English reason.
    reason_zh: Sentence = ""
    # How certain the fact is. It decides whether a way out may set the fact aside.
    strength: Strength
    # Where the fact can be looked up.
    source: References
    # The day on which somebody last looked.
    checked: date
    # The ids of generated facts that this fact replaces; `reason` says why.
    over: Annotated[tuple[Text, ...], ALONE] = ()
    # file:line of the row.
    where: Where

    def applies_to(self, version: Version) -> bool:
        """Return whether the fact is about this version of its project."""
        return any(specifiers.contains(version, prereleases=True) for specifiers in self.versions)

    @property
    def is_about_all(self) -> bool:
        """Return whether the fact is about all releases of its project."""
        return _ALL in self.versions

    def is_about(self, project: str, version: Version) -> bool:
        """Return whether the fact is about this version of this project."""
        return self.package == project and self.applies_to(version)

    # --- when a row is valid, and for which targets it holds

    def mistakes(self) -> Iterator[Mistake]:
        """Yield the mistakes of the row, apart from values that do not have the type of the key."""
        return iter(())

    def applies_on(self, system: Mapping[str, Value], needs: Iterable[Need]) -> bool:
        """Return whether the fact holds for a target.

        `system` has the values of the target's components. `needs` are the requirements of the
        stack's own lines. A fact that does not hold is ignored for the target.
        """
        return True

    # --- what the fact adds to the requirements of a release

    @property
    def added_needs(self) -> tuple[Need, ...]:
        """Return the requirements that the fact adds, whatever file a release has."""
        return ()

    def needs_for(self, release: Release) -> tuple[Need, ...]:
        """Return the requirements that the fact adds to a release.

        The fact must be about the version of the release.
        """
        return self.added_needs

    @property
    def bounded_projects(self) -> tuple[NormalizedName, ...]:
        """Return the projects whose versions the fact bounds without requiring the projects."""
        return ()

    def bounds_for(self, release: Release) -> tuple[Requirement, ...]:
        """Return the bounds on the `bounded_projects` that hold if a release is installed.

        The fact must be about the version of the release.
        """
        return ()

    # The field with the requirements or bounds that a stack may set aside one by one; empty if the
    # kind has none.
    relaxable_field: ClassVar[str] = ""

    @property
    def relaxable_needs(self) -> tuple[Need, ...]:
        """Return the requirements and bounds that a stack may set aside one by one."""
        needs: tuple[Need, ...] = getattr(self, self.relaxable_field, ())
        return needs

    def without_needs(self, texts: Collection[str]) -> Fact | None:
        """Return the fact without the `relaxable_needs` with these texts; None if none is left."""
        remaining = tuple(need for need in self.relaxable_needs if str(need) not in texts)
        if not remaining:
            return None
        return msgspec.structs.replace(self, **{self.relaxable_field: remaining})

    # --- other names and requirements in the fact

    @property
    def conditions(self) -> tuple[Need, ...]:
        """Return the requirements in the fact that decide whether it concerns a lock.

        They add nothing to a release.
        """
        return ()

    @property
    def named_projects(self) -> tuple[NormalizedName, ...]:
        """Return the projects that the fact names, except for its own project."""
        needed = projects_of((*self.added_needs, *self.conditions))
        return (*needed, *self.bounded_projects)

    @property
    def cited_needs(self) -> tuple[Need, ...]:
        """Return the requirements whose names and versions must be in the cited sources.

        `audit/source_claims` lists what each source must contain.
        """
        return ()

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return other names that must be in the cited sources."""
        return ()

    @property
    def build_tools(self) -> tuple[Requirement, ...]:
        """Return the requirements that the fact adds to a build."""
        return ()

    # --- what indexes say of it

    @property
    def unconfirmed(self) -> Message:
        """Return an audit's remark on a fact without requirements: no index can confirm it."""
        return message("upstream.remark-pairing")

    # --- whether a lock cites the fact

    def is_used(self, resolution: Resolution) -> bool:
        """Return whether the lock of a resolution cites the fact.

        By default it does if the fact's project is pinned, the fact is about the pinned version,
        and `concerns_pin` is true.
        """
        pin = resolution.pin(self.package)
        if pin is None or not self.applies_to(pin.version):
            return False
        return self.concerns_pin(pin, resolution)

    def concerns_pin(self, pin: Pin, resolution: Resolution) -> bool:
        """Return whether the fact concerns the pin of its project.

        It is called only if the fact is about the pinned version.
        """
        return True


class RequirementFact(Fact, frozen=True, kw_only=True):
    """A fact about requirements. It may be a practice, and may hold only for some targets."""

    # What may fail if the practice is followed. A practice must have this key, and other facts must
    # not have it.
    risk: Sentence = ""
    # The risk in Chinese; may be empty.
    risk_zh: Sentence = ""
    # The fact holds only for targets that meet all of these requirements. A requirement on a
    # component that the target does not state is not met.
    when: tuple[ComponentRequirement, ...] = ()
    # The fact does not hold for targets that meet one of these requirements.
    unless: tuple[ComponentRequirement, ...] = ()

    def applies_on(self, system: Mapping[str, Value], needs: Iterable[Need]) -> bool:
        """Return whether the target meets all requirements of `when`, and none of `unless`."""
        if any(need.is_promised_by(system) for need in self.unless):
            return False
        return all(need.is_promised_by(system) for need in self.when)


class ExclusionFact(Fact, frozen=True, kw_only=True):
    """A fact that keeps releases of its project from being used."""

    def is_used(self, resolution: Resolution) -> bool:
        """Return whether the project is pinned, at any version.

        The fact may be why this version, or another index, was chosen.
        """
        return resolution.pin(self.package) is not None


def refused_build_variables(variables: Variables) -> Iterator[Mistake]:
    """Yield a mistake for each environment variable that no fact may set for a build.

    install.sh removes these variables from the environment of every build.
    """
    for name, _ in variables:
        if not patterns.BUILD_VARIABLE.matches(name):
            why = phrase(
                "install.sh keeps it from builds: it decides which modules or libraries are loaded"
            )
            yield Mistake(phrase("`{name}` cannot be set here", name=name), ("env", name), why=why)


class BuildFact(Fact, frozen=True, kw_only=True):
    """A fact that says how releases are built. It may hold only for some targets."""

    # The fact holds only for targets that meet all of these requirements. A requirement on a
    # component that the target does not state is not met.
    when: tuple[ComponentRequirement, ...] = ()

    def applies_on(self, system: Mapping[str, Value], needs: Iterable[Need]) -> bool:
        """Return whether the target meets all requirements of `when`."""
        return all(need.is_promised_by(system) for need in self.when)

    def is_spared_by(self, variant: Variant | None) -> bool:
        """Return whether a release need not be built, since its wheel is a variant (PEP 825).

        A fact with `when` is needed because the plain wheels are for other targets. If the wheel is
        a variant with properties of all components in `when`, the wheel is used instead of a build.
        """
        if not self.when or variant is None:
            return False
        return variant.components.issuperset(need.component for need in self.when)


def is_built(pin: Pin) -> bool:
    """Return whether a pin is built from a source archive of an index."""
    return pin.release.source is None and not pin.release.file.is_wheel


def counts_for(release: Release, wheels: bool, needs: Iterable[Need]) -> bool:
    """Return whether a fact concerns the file from which a release is installed.

    `wheels` and `needs` are fields of the fact. Without `wheels`, the fact concerns every file.
    With `wheels`, it concerns no source build, and no variant wheel (PEP 825) with properties of a
    component that `needs` are about.
    """
    if not wheels:
        return True
    if not release.file.is_wheel:
        return False
    if release.variant is None:
        return True
    components = {need.component for need in component_requirements(needs)}
    return release.variant.components.isdisjoint(components)
