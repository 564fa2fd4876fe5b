"""Facts: statements that no project's metadata makes, with their source.

Each kind is a type of its own, and the shape of its rows in a TOML file. A fact is about those
releases of `package` that any of its `versions` (PEP 440 specifier sets) contains, including
pre-releases. If a Chinese text (`…_zh`) is empty, the English one is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from enum import Enum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model import patterns
from resolver.model.repository import Address, Commit, Inside, Recipe
from resolver.model.requirement import (
    Component,
    ComponentRequirement,
    Requirement,
    Value,
    named_values,
)
from resolver.model.source import References
from resolver.model.system import SystemVersion
from resolver.model.text import (
    ALONE,
    NOT_EMPTY,
    SAME_TABLE,
    UNWRITTEN,
    Sentence,
    Text,
    Variables,
    Where,
    matching,
    printable,
)

if TYPE_CHECKING:
    from resolver.model.release import Release
    from resolver.model.variant import Variant


class Strength(Enum):
    """How strong a fact is, on which depends whether a fix may relax it."""

    ENFORCED = "enforced"  # by an installer or the package itself: never relaxed
    VENDOR = "vendor"  # from a table of the vendor: relaxed as a last resort
    DOCUMENTED = "documented"  # in a guide or requirements file: likewise
    OBSERVED = "observed"  # by somebody
    # against metadata, as in an image of the vendor: only in force if a stack says so
    PRACTICE = "practice"

    def __str__(self) -> str:
        return self.value


Need = Requirement | ComponentRequirement


def component_requirements(needs: Iterable[Need]) -> list[ComponentRequirement]:
    """The needs that are about components of the target."""
    return [need for need in needs if isinstance(need, ComponentRequirement)]


MachineNeed = Literal["c", "c++", "python-headers", "cmake", "make", "git"]


class _Common(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """The keys of every fact.

    The file's name and its `defaults` give those that a row leaves out.
    """

    id: Text = ""
    package: NormalizedName
    versions: Annotated[tuple[SpecifierSet, ...], NOT_EMPTY, ALONE] = (SpecifierSet(">=0"),)
    reason: Sentence
    reason_zh: Sentence = ""
    strength: Strength
    source: References
    checked: date
    # The generated facts, by their ids, that this one takes the place of; `reason` says why.
    over: Annotated[tuple[Text, ...], ALONE] = ()
    where: Where

    def applies_to(self, version: Version) -> bool:
        """Whether the fact is about this release of its project."""
        return any(specifiers.contains(version, prereleases=True) for specifiers in self.versions)

    def is_about(self, project: str, version: Version) -> bool:
        """Whether the fact is about this release of this project."""
        return self.package == project and self.applies_to(version)


class _OfWheels:
    """A fact that is only about wheels on an index, not about anything built from source, if `wheels` says so.

    It is then about plain wheels: not about a variant (PEP 825) that itself says for which values
    of a component it was built, if the fact states something about that component.
    """

    __slots__ = ()
    wheels: bool

    def counts_for(self, release: Release) -> bool:
        """Whether the fact is about a release, given the file that it is installed from."""
        if not self.wheels:
            return True
        if not release.file.is_wheel:
            return False
        stated = release.variant.components if release.variant is not None else frozenset()
        return not stated or stated.isdisjoint(
            need.component for need in component_requirements(self._about())
        )

    def _about(self) -> Iterable[Need]:
        """Return what the fact states about the target."""
        raise NotImplementedError


class _Requirements(_Common, frozen=True, kw_only=True):
    """A fact that may be a practice, and that may be there for some targets only."""

    # What may fail if the practice is followed; only a practice has it.
    risk: Sentence = ""
    # The same in Chinese.
    risk_zh: Sentence = ""
    # The fact is there only for targets that state components which meet all of these.
    when: tuple[ComponentRequirement, ...] = ()
    # It is not there for targets that state a component which meets one of these.
    unless: tuple[ComponentRequirement, ...] = ()

    def applies_on(self, system: Mapping[str, Value]) -> bool:
        """Return whether the fact is there for a target with these components."""
        if any(need.is_promised_by(system) for need in self.unless):
            return False
        return all(need.is_promised_by(system) for need in self.when)


class Requires(_Requirements, _OfWheels, frozen=True, kw_only=True):
    """Requirements that the metadata leaves out."""

    needs: Annotated[tuple[Need, ...], NOT_EMPTY]
    wheels: bool = False

    def _about(self) -> Iterable[Need]:
        return self.needs


class Constrains(_Common, frozen=True, kw_only=True):
    """Bounds on other projects that hold only if those are installed as well, like a constraints file of pip.

    The metadata leaves them out because `package` works without these projects, or checks for them
    only when it runs.
    """

    bounds: Annotated[tuple[Requirement, ...], NOT_EMPTY]


class Excludes(_Common, frozen=True, kw_only=True):
    """Releases that must not be used."""


class Replaces(_Requirements, frozen=True, kw_only=True):
    """Wrong metadata: the requirements on the projects in `drop` are replaced by `add`.

    A practice also replaces the requirements on them in other facts, unless those are enforced.
    """

    drop: Annotated[tuple[NormalizedName, ...], NOT_EMPTY]
    add: tuple[Need, ...] = ()


class Metadata(_Common, frozen=True, kw_only=True):
    """The requirements of an archive that has no static metadata."""

    requires: tuple[Requirement, ...]
    build_requires: tuple[Requirement, ...] | None = None
    requires_python: SpecifierSet | None = None


class Builds(_Common, frozen=True, kw_only=True):
    """A source build whose requirements differ from those of the wheel on the index.

    `requires_from` names a requirements file inside the archive. The build requirements are those
    of the archive's pyproject.toml without `build_drop`, plus `build_add`. Without isolation they
    constrain the environment itself. `label` is a PEP 440 local version that the build appends to
    the version: pip then does not accept it from an index, but only by its path. The fact applies
    only to targets that meet all of `when`.
    """

    from_: Literal["sdist"] = msgspec.field(name="from", default="sdist")
    requires_from: Inside
    when: tuple[ComponentRequirement, ...] = ()
    label: Annotated[str, matching(patterns.LABEL)] = ""
    env: Variables = ()  # `{version}` stands for the release
    isolation: bool = True
    build_drop: tuple[NormalizedName, ...] = ()
    build_add: tuple[Requirement, ...] = ()

    def is_spared_by(self, variant: Variant | None) -> bool:
        """Return whether a release need not be built, as a variant (PEP 825) of it is for the machines of the fact."""
        return _is_for_machines_of(self.when, variant)


class Collides(_Common, frozen=True, kw_only=True):
    """`package` and `other` have the same importable `module`, so at most one of them can be installed."""

    other: NormalizedName = msgspec.field(name="with")
    module: Text


class After(_Common, frozen=True, kw_only=True):
    """`package` is installed after `others`, as far as they are in the lock."""

    others: Annotated[tuple[NormalizedName, ...], NOT_EMPTY]


class Warns(_Common, _OfWheels, frozen=True, kw_only=True):
    """A warning if `package` and all of `together_with` are in the lock, and none of `unless` holds.

    With `extra`, only if that extra is in use. A `grave` one says that the project fails at its
    main purpose. `last` puts releases after others that differ in their post number alone and have
    a lower `last`.
    """

    text: Text
    text_zh: Text = ""
    grave: bool = False
    wheels: bool = False
    extra: NormalizedName = NormalizedName("")
    together_with: tuple[Requirement, ...] = msgspec.field(name="with", default=())
    unless: tuple[Need, ...] = ()
    last: Literal[0, 1, 2, 3, 4, 5, 6, 7, 8, 9] = 0

    def _about(self) -> Iterable[Need]:
        return self.unless

    @property
    def components(self) -> frozenset[str]:
        """The target's components that it depends on: with other values it might not apply."""
        return frozenset(need.component for need in component_requirements(self.unless))

    def is_averted_on(self, system: Mapping[str, Value]) -> bool:
        """Whether the components of a target meet one of `unless`."""
        return any(need.is_promised_by(system) for need in component_requirements(self.unless))

    def is_averted_on_release_line(self, system: Mapping[str, Value]) -> bool:
        """Whether one of `unless` names a CANN of the same release line as the target's: 8.5.0 where that is 8.5.2."""
        cann = system.get("cann")
        values = (value for need in self.unless for value in named_values(need, "cann"))
        return isinstance(cann, SystemVersion) and any(
            isinstance(value, SystemVersion) and value.line == cann.line for value in values
        )


class Names(_Common, frozen=True, kw_only=True):
    """Releases on `index` that are not what the project's name suggests, and must not be used.

    With `component`, only for targets that state it; not if a line of the stack asks for one of
    `unless_asked`.
    """

    index: Text = "pypi"
    component: Component | None = None
    unless_asked: tuple[Requirement, ...] = ()

    def concerns(self, system: Mapping[str, Value], needs: Iterable[Need]) -> bool:
        """Whether it applies to a target with these components and a stack with these needs."""
        if self.component and self.component not in system:
            return False
        lines = [need for need in needs if isinstance(need, Requirement)]
        return not any(
            _asks_for(line, exception) for line in lines for exception in self.unless_asked
        )


class Exports(_Common, frozen=True, kw_only=True):
    """Environment variables to set at run time if `package` is in the lock.

    `optional` ones are suggested but not set. Those of a build are in `Builds`.
    """

    env: Annotated[Variables, NOT_EMPTY]
    optional: bool = False


class External(_Common, frozen=True, kw_only=True):
    """What a build of `package`, from an archive or a commit, needs of the machine.

    install.sh checks for it first, except for what the lock has itself, such as cmake.
    """

    needs: Annotated[tuple[MachineNeed, ...], NOT_EMPTY]


class Sources(_Common, frozen=True, kw_only=True):
    """How `package` is built at one commit of a git repository, if a stack asks for that commit.

    `committed` is the day of the commit, from which the day of a lock may follow. `requires_from`
    are the files of the repository from which the requirements were taken; they are compared if the
    repository can be read.

    With `release`, the commit is also that of the release of this version: where no line names a
    commit, targets that meet all of `when` take the release from there, whatever files an index has
    of it. A fact with `when` is there only for such targets.
    """

    versions: Annotated[tuple[SpecifierSet, ...], UNWRITTEN] = (SpecifierSet(),)
    git: Address
    commit: Commit
    ref: Annotated[str, printable] = ""
    committed: date | None = None
    subdirectory: Inside = ""
    recipe: Annotated[Recipe, SAME_TABLE]
    requires_from: tuple[Inside, ...] = ()
    release: bool = False
    when: tuple[ComponentRequirement, ...] = ()

    def makes_release(self, version: Version) -> bool:
        """Return whether the release of this version is built from the commit."""
        return self.release and self.recipe.version == version

    def is_spared_by(self, variant: Variant | None) -> bool:
        """Return whether a release need not be built, as a variant (PEP 825) of it is for the machines of the fact."""
        return _is_for_machines_of(self.when, variant)


class Absent(_Common, frozen=True, kw_only=True):
    """If `package` is installed, `other` must not be, whatever requires it.

    If the stack itself names `package`, requirements on `other` are ignored. Otherwise the two
    exclude each other, like distributions that collide.
    """

    other: NormalizedName = msgspec.field(name="without")

    @property
    def module(self) -> str:
        """What stands for the module that both would own."""
        return f"{self.other} or {self.package}"


class Optional(_Common, frozen=True, kw_only=True):
    """Modules and commands of `package` that may fail to start: verify.py tells them with the reason.

    The excuse holds wherever one of `needs` is not in the lock; with `npu`, where there is no NPU
    that works; with neither, always.
    """

    # Modules by their dotted names, as they are imported.
    modules: tuple[Annotated[str, matching(patterns.MODULE)], ...] = ()
    # Entry points by their names: commands, and plugins of vllm.
    scripts: tuple[Text, ...] = ()
    # What they need of other projects: those of an extra that was not asked for.
    needs: tuple[Requirement, ...] = ()
    # Whether they need an NPU with its driver and CANN.
    npu: bool = False


class Links(_Common, frozen=True, kw_only=True):
    """How the binaries in wheels of `package` are linked with those of others."""

    # The projects whose libraries they need. Releases with such a fact are judged before they are
    # chosen.
    to: tuple[NormalizedName, ...] = ()
    # The libraries of `package` that others need; known by name even if nobody has read the wheel.
    provides: tuple[Text, ...] = ()
    # Libraries, as patterns with `*`, that only parts need which are loaded if the machine has
    # them.
    optional: tuple[Text, ...] = ()

    def is_optional(self, library: str) -> bool:
        """Return whether nothing fails to load if a library is missing."""
        return any(fnmatchcase(library, pattern) for pattern in self.optional)


class Pairs(_Common, frozen=True, kw_only=True):
    """What a table or a guide has together with releases.

    `ascend-lock pairs` shows it; it decides no lock.
    """

    # A branch, a tag, or a version that is not PEP 440, as upstream writes it; empty for the
    # releases in `versions`.
    release: Text = ""
    # The releases of other projects, and the components of the machine, that it goes with.
    others: Annotated[tuple[Need, ...], NOT_EMPTY] = msgspec.field(name="with")

    def applies_to(self, version: Version) -> bool:
        """Return whether the fact is about this release of its project."""
        return not self.release and super().applies_to(version)


def _is_for_machines_of(when: Sequence[ComponentRequirement], variant: Variant | None) -> bool:
    """Return whether a variant states the components by which a build is limited to some targets.

    Such a build is there since the plain wheels are for other targets.
    """
    stated = variant.components if variant is not None else frozenset()
    return bool(when) and stated.issuperset(need.component for need in when)


def _asks_for(line: Requirement, exception: Requirement) -> bool:
    """Whether a line names the project and, if the exception has a specifier, a version or lower bound in it."""
    lower = ("==", "===", ">=", ">", "~=")
    versions = [
        clause.version.removesuffix(".*") for clause in line.specifier if clause.operator in lower
    ]
    specifier = exception.specifier
    return line.name == exception.name and (
        not str(specifier)
        or any(specifier.contains(version, prereleases=True) for version in versions)
    )


Fact = (
    Requires
    | Constrains
    | Excludes
    | Replaces
    | Metadata
    | Builds
    | Collides
    | After
    | Warns
    | Names
    | Exports
    | External
    | Sources
    | Absent
    | Optional
    | Links
    | Pairs
)
FactKind = TypeVar("FactKind", bound=Fact)
Practice = Requires | Replaces  # those of this strength


def needs_of(fact: Fact) -> tuple[Need, ...]:
    """The requirements that a fact adds to those of metadata, or puts in their place."""
    if isinstance(fact, Requires):
        return fact.needs
    return fact.add if isinstance(fact, Replaces) else ()


def bounds_of(fact: Fact) -> tuple[Requirement, ...]:
    """Return the bounds that a fact puts on projects which it does not require."""
    return fact.bounds if isinstance(fact, Constrains) else ()


def conditions_of(fact: Fact) -> tuple[Need, ...]:
    """Return what decides whether a warning, or what may fail to start, concerns a lock."""
    match fact:
        case Warns():
            return (*fact.together_with, *fact.unless)
        case Optional():
            return fact.needs
        case _:
            return ()


def relaxable_needs(fact: Fact) -> tuple[Need, ...]:
    """Return the needs of a fact that a stack may set aside one by one, leaving the others in force."""
    match fact:
        case Requires():
            return fact.needs
        case Constrains():
            return fact.bounds
        case _:
            return ()


def projects_named_by(fact: Fact) -> tuple[NormalizedName, ...]:
    """The projects that a fact names, other than its own."""
    match fact:
        case Collides() | Absent():
            return (fact.other,)
        case After():
            return fact.others
        case Links():
            return fact.to
        case _:
            needs = (*needs_of(fact), *bounds_of(fact), *conditions_of(fact))
            return tuple(need.name for need in needs if isinstance(need, Requirement))


def needs_kept(fact: Requires, replacing: Iterable[Replaces]) -> tuple[Need, ...]:
    """The needs of a fact without those that `replaces` facts about the same release drop."""
    if fact.strength in (Strength.ENFORCED, Strength.PRACTICE):
        return fact.needs
    dropped = {
        name
        for replaces in replacing
        if replaces.strength is Strength.PRACTICE
        for name in replaces.drop
    }
    return tuple(
        need for need in fact.needs if not (isinstance(need, Requirement) and need.name in dropped)
    )


def as_warning(practice: Practice) -> Warns:
    """The warning about a practice in force."""
    return Warns(
        **{key: getattr(practice, key) for key in _Common.__struct_fields__},
        text=f"the practice `{practice.id}` goes against metadata, as the vendor's image does. {practice.reason} "
        f"Risk: {practice.risk}",
        text_zh=f"惯例 `{practice.id}` 与元数据相违，厂商的镜像也是如此。{practice.reason_zh or practice.reason}"
        f"风险：{practice.risk_zh or practice.risk}",
    )
