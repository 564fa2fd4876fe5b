"""Say which versions go together, by facts and the recorded readings of files.

Nothing is solved, and no index is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from typing import Final, TypeGuard

import msgspec
from packaging.requirements import InvalidRequirement
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName, parse_wheel_filename
from packaging.version import Version

from resolver.ascend.names import CHIP, DRIVER, TOOLKIT, TORCH_PLUGIN
from resolver.index.parse.distribution import archive_version
from resolver.index.protocol import UnusableFile
from resolver.index.store.readings import read_archives, read_wheels
from resolver.model import text
from resolver.model.component import Value
from resolver.model.fact import (
    Builds,
    Fact,
    Need,
    Pairs,
    Replaces,
    Requires,
    Sources,
    Strength,
    Warns,
    component_requirements,
)
from resolver.model.requirement import (
    Comparison,
    ComponentRequirement,
    Requirement,
    named_values,
)
from resolver.model.system import SystemVersion
from resolver.model.target import PLATFORMS, Platform, wheel_glibc
from resolver.resolve.needs import requirements_file

# The facts about the drivers of CANN releases are about this project.
_PLUGIN: Final = NormalizedName(TORCH_PLUGIN)


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded metadata of a release."""

    # The file that has the pins; empty if none has.
    file: str = ""
    # The requirements on one release or series of a project.
    pins: tuple[Requirement, ...] = ()
    # The names of all wheels.
    wheels: tuple[str, ...] = ()


class Pairing(msgspec.Struct, frozen=True, kw_only=True):
    """What goes with one release of a project."""

    project: NormalizedName
    # The version, or what upstream calls the release if that is no version.
    release: Version | str
    # The releases of other projects that it is made for.
    projects: Mapping[NormalizedName, SpecifierSet]
    # The projects that tables and guides have it with, whether or not it requires them.
    beside: tuple[NormalizedName, ...] = ()
    # What it needs of the machine.
    needs: tuple[ComponentRequirement, ...] = ()
    # What its wheels need of the machine besides.
    wheel_needs: tuple[ComponentRequirement, ...] = ()
    # What a table or guide has it with of the machine.
    paired: tuple[ComponentRequirement, ...] = ()
    # The conditions under which it is built from source, for each fact that builds it. No
    # condition means that the fact always builds it.
    built: tuple[tuple[ComponentRequirement, ...], ...] = ()
    # The known releases of CANN that go with it.
    toolkits: tuple[SystemVersion, ...] = ()
    # The drivers that it, or each of these CANN releases, asks for.
    drivers: tuple[ComponentRequirement, ...] = ()
    # The facts that say all this.
    facts: tuple[Fact, ...]
    # The file whose pins say what the facts do not; empty if there is none.
    file: str = ""
    # The names of its wheels.
    wheels: tuple[str, ...] = ()

    def paired_or_needed(self, component: str) -> tuple[ComponentRequirement, ...]:
        """Return `paired_with` for a component or, if that is empty, `needed`."""
        return self.paired_with(component) or self.needed(component)

    def paired_with(self, component: str) -> tuple[ComponentRequirement, ...]:
        """Return what a table or guide has it with of a component."""
        return _on_component(component, self.paired)

    def needed(self, component: str) -> tuple[ComponentRequirement, ...]:
        """Return what it, or its wheels, need of a component."""
        return _on_component(component, (*self.needs, *self.wheel_needs))

    def goes_with(self, toolkit: Value) -> bool:
        """Return whether facts say that it goes with this CANN."""
        needs = self.needed(TOOLKIT) or self.paired_with(TOOLKIT)
        return bool(needs) and all(need.allows(toolkit) for need in needs)

    def runs_on(self, chip: Value) -> bool:
        """Return whether no fact speaks against this SoC, for a wheel or a build from source."""
        if not _admit(self.needs, chip):
            return False
        if _admit((*self.wheel_needs, *self.paired), chip):
            return True
        return any(_admit(conditions, chip) for conditions in self.built)

    @property
    def driver(self) -> SystemVersion | None:
        """Return the oldest driver that all of `drivers` admit; None without any."""
        drivers = []
        for need in self.drivers:
            values = named_values(need, DRIVER)
            drivers += [value for value in values if isinstance(value, SystemVersion)]
        return max(drivers, default=None)

    @property
    def pythons(self) -> tuple[str, ...]:
        """Return the releases of CPython that it has wheels of their own for, oldest first."""
        minors: set[int] = set()
        for wheel in self.wheels:
            for tag in parse_wheel_filename(wheel)[3]:
                if tag.abi == tag.interpreter and tag.abi.startswith("cp3"):
                    minors.add(int(tag.abi.removeprefix("cp3")))
        return tuple(f"3.{minor}" for minor in sorted(minors))

    @property
    def glibc(self) -> dict[Platform, str]:
        """Return the oldest glibc that its wheels need, for each platform that has one."""
        oldest = {}
        for platform in PLATFORMS:
            glibc = wheel_glibc(self.wheels, platform)
            if glibc:
                oldest[platform] = glibc
        return oldest


def projects_with_pairs(facts: Iterable[Fact]) -> list[NormalizedName]:
    """Return the projects of which facts pair releases, sorted."""
    return sorted({fact.package for fact in facts if _is_pairing(fact) and any(_releases(fact))})


def projects_paired_with(name: NormalizedName, facts: Iterable[Fact]) -> list[NormalizedName]:
    """Return the projects whose releases facts pair with releases of the project `name`, sorted."""
    naming: set[NormalizedName] = set()
    for fact in facts:
        if _is_pairing(fact) and any(need.name == name for need in _pins(fact)):
            naming.add(fact.package)
    return sorted(naming)


def read_declared(
    project: NormalizedName, facts: Iterable[Fact], archives: Path, wheels: Path
) -> dict[Version, Declared]:
    """Return the recorded metadata of a project's releases: of a wheel or else of an archive.

    `archives` and `wheels` are the folders of the records. Raise InputError.
    """
    declared: dict[Version, Declared] = {}
    builds = [fact for fact in facts if isinstance(fact, Builds) and fact.package == project]
    for archive in read_archives(archives, project):
        version = text.version(archive_version(archive.file, project) or "")
        if version is None:
            continue
        paths = [fact.requires_from for fact in builds if fact.applies_to(version)]
        content = archive.member(paths[0]) if paths else None
        # What cannot be read is reported when locking.
        with suppress(UnusableFile):
            lines = requirements_file(content or "")
            pins = tuple(read_pins(lines))
            declared[version] = Declared(file=archive.file if lines else "", pins=pins)
    for wheel in read_wheels(wheels, project):
        version = text.version(wheel.version)
        if version is not None:
            pins = tuple(read_pins(wheel.pins))
            declared[version] = Declared(file=wheel.file, pins=pins, wheels=wheel.wheels)
    return declared


def pairings(
    project: NormalizedName,
    facts: Sequence[Fact],
    declared: Mapping[Version, Declared] = {},
    toolkits: Sequence[Value] = (),
    system: Mapping[str, Value] = {},
) -> list[Pairing]:
    """Return the releases of a project that facts pair by name, newest first.

    Releases known by a name, such as branches, come last. `canns` are the known releases of CANN.
    Facts that do not apply to a target with the components of `system` are left out.
    """
    applying = [fact for fact in facts if _applies_on(fact, system)]
    releases: set[Version | str] = set()
    for fact in applying:
        if fact.package == project and _is_pairing(fact):
            releases.update(_releases(fact))
    newest_first = sorted(releases, key=_age, reverse=True)
    return [_pairing(project, release, applying, declared, toolkits) for release in newest_first]


def _applies_on(fact: Fact, system: Mapping[str, Value]) -> bool:
    return not isinstance(fact, Requires | Replaces) or fact.applies_on(system, ())


def _age(release: Version | str) -> tuple[bool, list[tuple[int, str]] | Version]:
    """Return a key that sorts releases, the oldest first.

    Names come before versions. Numbers within names are compared as numbers.
    """
    if isinstance(release, Version):
        return True, release
    parts = re.findall(r"[0-9]+|[^0-9.]+", release)
    return False, [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def _pairing(
    project: NormalizedName,
    release: Version | str,
    facts: Sequence[Fact],
    known: Mapping[Version, Declared],
    toolkits: Sequence[Value],
) -> Pairing:
    declared = Declared()
    if isinstance(release, Version):
        declared = known.get(release, declared)
    of_release = [fact for fact in facts if _is_about(fact, project, release)]
    pairing_facts = [fact for fact in of_release if _is_pairing(fact)]
    builds = [fact for fact in of_release if _makes(fact, release)]
    commits = [fact for fact in _at_commits(project, release, facts) if fact not in builds]
    requires = [fact for fact in pairing_facts if isinstance(fact, Requires)]

    # A later statement about a project takes the place of an earlier one.
    pins: dict[NormalizedName, SpecifierSet] = {}
    for fact in pairing_facts:
        if isinstance(fact, Pairs):
            pins |= _specifiers(_pins(fact))
    beside = tuple(pins)
    for commit in commits:
        pins |= _specifiers(read_pins(commit.recipe.requires))
    pins |= _specifiers(declared.pins)
    for fact in requires:
        pins |= _specifiers(_pins(fact))

    needs: list[ComponentRequirement] = []
    wheel_needs: list[ComponentRequirement] = []
    for fact in requires:
        of_kind = wheel_needs if fact.wheels else needs
        of_kind += component_requirements(fact.needs)
    paired: list[ComponentRequirement] = []
    for fact in pairing_facts:
        paired += _paired_components(fact)

    pairing = Pairing(
        project=project,
        release=release,
        projects=pins,
        beside=beside,
        needs=tuple(needs),
        wheel_needs=tuple(wheel_needs),
        paired=tuple(paired),
        built=(*(fact.when for fact in builds), *(() for _ in commits)),
        facts=(*pairing_facts, *builds, *commits),
        file=declared.file,
        wheels=declared.wheels,
    )
    return _with_drivers(pairing, of_release, facts, toolkits)


def _with_drivers(
    pairing: Pairing, of_release: Iterable[Fact], facts: Iterable[Fact], toolkits: Iterable[Value]
) -> Pairing:
    """Return a pairing with the CANN releases that go with it, and the drivers asked for."""
    needs = pairing.paired_or_needed(TOOLKIT)
    fitting = []
    if needs:
        fitting = [toolkit for toolkit in toolkits if all(need.allows(toolkit) for need in needs)]
    drivers: dict[Fact, ComponentRequirement] = {}
    for fact in (*of_release, *_of_plugin(pairing, facts)):
        for need in _drivers(fact, fitting):
            drivers[fact] = need
    return msgspec.structs.replace(
        pairing,
        toolkits=tuple(toolkit for toolkit in fitting if isinstance(toolkit, SystemVersion)),
        drivers=tuple(drivers.values()),
        facts=(*pairing.facts, *drivers),
    )


def _is_about(fact: Fact, project: NormalizedName, release: Version | str) -> bool:
    if isinstance(release, Version):
        return fact.is_about(project, release)
    return isinstance(fact, Pairs) and fact.package == project and fact.release == release


def _at_commits(
    project: NormalizedName, release: Version | str, facts: Iterable[Fact]
) -> list[Sources]:
    """Return the facts about commits of a project that call themselves a release."""
    of_project = [fact for fact in facts if isinstance(fact, Sources) and fact.package == project]
    return [fact for fact in of_project if fact.recipe.version == release]


def _specifiers(needs: Iterable[Requirement]) -> dict[NormalizedName, SpecifierSet]:
    return {need.name: need.specifier for need in needs}


def unpaired(
    pins: Mapping[NormalizedName, Version],
    projects: Sequence[NormalizedName],
    facts: Iterable[Fact],
) -> list[tuple[NormalizedName, NormalizedName]]:
    """Return the pairs of pinned projects that tables speak of, but not at these versions.

    `projects` are the ones to compare. Tables speak of two projects if any fact pairs a release of
    one with a pin of the other. The two are paired at their versions if such a fact is about them.
    """
    spoken: set[tuple[NormalizedName, NormalizedName]] = set()
    paired: set[tuple[NormalizedName, NormalizedName]] = set()
    compared = [name for name in dict.fromkeys(projects) if name in pins]
    for fact in facts:
        if fact.package not in compared or not _is_pairing(fact):
            continue
        is_about_pin = fact.applies_to(pins[fact.package])
        for need in _pins(fact):
            if need.name not in compared or need.name == fact.package:
                continue
            first, second = sorted((fact.package, need.name), key=compared.index)
            spoken.add((first, second))
            if is_about_pin and need.specifier.contains(pins[need.name], prereleases=True):
                paired.add((first, second))
    unpaired = spoken - paired
    return [pair for pair in combinations(compared, 2) if pair in unpaired]


def _makes(fact: Fact, release: Version | str) -> TypeGuard[Builds | Sources]:
    """Return whether a fact about a release builds it, from its archive or from a commit."""
    if isinstance(fact, Sources):
        return isinstance(release, Version) and fact.makes_release(release)
    return isinstance(fact, Builds)


def _is_pairing(fact: Fact) -> bool:
    """Return whether a fact says what goes with a release.

    It does if it has pins, needs on a machine, or the one component that the release is made for.
    """
    match fact:
        case Requires(strength=Strength.PRACTICE):
            return False
        case Requires(needs=needs):
            return any(isinstance(need, ComponentRequirement) or _is_pin(need) for need in needs)
        case Warns(unless=(ComponentRequirement() as need,)):
            return all(_are_equalities(comparisons) for comparisons in need.alternatives)
        case Pairs():
            return True
        case _:
            return False


def _are_equalities(comparisons: Iterable[Comparison]) -> bool:
    return all(comparison.operator == "==" for comparison in comparisons)


def _pins(fact: Fact) -> Iterator[Requirement]:
    """Yield the pins of other projects that a fact requires or names."""
    match fact:
        case Requires(needs=needs) | Pairs(others=needs):
            yield from filter(_is_pin, needs)
        case _:
            return


def _paired_components(fact: Fact) -> list[ComponentRequirement]:
    """Return what a table or guide has a release with of the machine."""
    match fact:
        case Warns(unless=needs) | Pairs(others=needs):
            return component_requirements(needs)
        case _:
            return []


def _releases(fact: Fact) -> Iterator[Version | str]:
    """Yield the releases that a fact names, other than in ranges."""
    if isinstance(fact, Pairs) and fact.release:
        yield fact.release
        return
    for specifiers in fact.versions:
        if len(specifiers) == 1:
            yield from _exact_versions(specifiers)


def _exact_versions(specifiers: SpecifierSet) -> Iterator[Version]:
    """Yield the releases that specifiers name, other than in ranges and series."""
    for specifier in specifiers:
        if text.is_exact(specifier):
            yield Version(specifier.version)


def _is_pin(need: Need) -> TypeGuard[Requirement]:
    """Return whether a need is one release or series (`==2.8.*`) of a project, on every machine."""
    if not isinstance(need, Requirement) or need.marker is not None:
        return False
    return any(specifier.operator == "==" for specifier in need.specifier)


def read_pins(lines: Iterable[str]) -> Iterator[Requirement]:
    """Yield the pins among requirements in metadata. Invalid requirements are left out."""
    for line in lines:
        with suppress(InvalidRequirement):
            need = text.requirement(line)
            if _is_pin(need):
                yield need


def _on_component(
    component: str, needs: Iterable[ComponentRequirement]
) -> tuple[ComponentRequirement, ...]:
    return tuple(need for need in needs if need.component == component)


def _admit(needs: Iterable[ComponentRequirement], chip: Value) -> bool:
    return all(need.allows(chip) for need in _on_component(CHIP, needs))


def _of_plugin(pairing: Pairing, facts: Iterable[Fact]) -> Iterator[Fact]:
    """Yield the facts about the torch-npu that a release goes with."""
    versions = list(_exact_versions(pairing.projects.get(_PLUGIN, SpecifierSet())))
    for fact in facts:
        if fact.package == _PLUGIN and any(map(fact.applies_to, versions)):
            yield fact


def _drivers(fact: Fact, toolkits: Sequence[Value]) -> Sequence[ComponentRequirement]:
    """Return the drivers without which a fact warns, if it does so with each of these CANNs."""
    if not isinstance(fact, Warns):
        return ()
    needs = component_requirements(fact.unless)
    on_toolkit = _on_component(TOOLKIT, needs)
    if on_toolkit:
        is_silent_with_one = any(
            need.allows(toolkit) for need in on_toolkit for toolkit in toolkits
        )
        if not toolkits or is_silent_with_one:
            return ()
    return _on_component(DRIVER, needs)
