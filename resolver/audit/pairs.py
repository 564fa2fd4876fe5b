"""Say which releases go together, by facts and by recorded metadata, for `matrix show`.

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
    """What the recorded wheels or archive of a release say about it."""

    # The file that the pins are from; empty if there is none.
    file: str = ""
    # Its requirements that pin a project to one release or one series (`==2.8.*`).
    pins: tuple[Requirement, ...] = ()
    # The file names of all its wheels.
    wheels: tuple[str, ...] = ()


class Pairing(msgspec.Struct, frozen=True, kw_only=True):
    """What goes with one release of a project."""

    # The project of the release.
    project: NormalizedName
    # The version; or the name of the release at upstream, such as a branch, if it has no version.
    release: Version | str
    # The releases of other projects that it is made for.
    projects: Mapping[NormalizedName, SpecifierSet]
    # The projects that tables and guides list together with it, whether it requires them or not.
    beside: tuple[NormalizedName, ...] = ()
    # Its requirements on components of the machine.
    needs: tuple[ComponentRequirement, ...] = ()
    # Further requirements on components that hold for its wheels only.
    wheel_needs: tuple[ComponentRequirement, ...] = ()
    # The values of components that tables and guides list together with it.
    paired: tuple[ComponentRequirement, ...] = ()
    # For each fact that builds it from source, the conditions under which it is built. Without
    # conditions it is always built.
    built: tuple[tuple[ComponentRequirement, ...], ...] = ()
    # The known releases of CANN that go with it.
    toolkits: tuple[SystemVersion, ...] = ()
    # The requirements on drivers of the release, or of each of these CANN releases.
    drivers: tuple[ComponentRequirement, ...] = ()
    # The facts that this pairing is from.
    facts: tuple[Fact, ...]
    # The file whose pins are used where no fact says more; empty if there is none.
    file: str = ""
    # The names of its wheels.
    wheels: tuple[str, ...] = ()

    def paired_or_needed(self, component: str) -> tuple[ComponentRequirement, ...]:
        """Return `paired_with` for a component or, if that is empty, `needed`."""
        return self.paired_with(component) or self.needed(component)

    def paired_with(self, component: str) -> tuple[ComponentRequirement, ...]:
        """Return the values of a component that tables and guides list with this release."""
        return _on_component(component, self.paired)

    def needed(self, component: str) -> tuple[ComponentRequirement, ...]:
        """Return the requirements on a component that this release or its wheels have."""
        return _on_component(component, (*self.needs, *self.wheel_needs))

    def goes_with(self, toolkit: Value) -> bool:
        """Return whether facts say that this release goes with a CANN release.

        False if no fact says anything about it.
        """
        needs = self.needed(TOOLKIT) or self.paired_with(TOOLKIT)
        return bool(needs) and all(need.allows(toolkit) for need in needs)

    def runs_on(self, chip: Value) -> bool:
        """Return whether the facts allow this release on a SoC, as a wheel or built from source."""
        if not _admit(self.needs, chip):
            return False
        if _admit((*self.wheel_needs, *self.paired), chip):
            return True
        return any(_admit(conditions, chip) for conditions in self.built)

    @property
    def driver(self) -> SystemVersion | None:
        """Return the newest of the drivers that `drivers` name, which is the oldest that fits all.

        None if none is named.
        """
        drivers = []
        for need in self.drivers:
            values = named_values(need, DRIVER)
            drivers += [value for value in values if isinstance(value, SystemVersion)]
        return max(drivers, default=None)

    @property
    def pythons(self) -> tuple[str, ...]:
        """Return the CPython series, such as 3.11, for which the release has wheels of their own.

        They are in order, the oldest first.
        """
        minors: set[int] = set()
        for wheel in self.wheels:
            for tag in parse_wheel_filename(wheel)[3]:
                if tag.abi == tag.interpreter and tag.abi.startswith("cp3"):
                    minors.add(int(tag.abi.removeprefix("cp3")))
        return tuple(f"3.{minor}" for minor in sorted(minors))

    @property
    def glibc(self) -> dict[Platform, str]:
        """Return the glibc that the release needs on each platform.

        It is the lowest that any of its wheels for the platform is built for. Platforms without
        such a wheel are left out.
        """
        oldest = {}
        for platform in PLATFORMS:
            glibc = wheel_glibc(self.wheels, platform)
            if glibc:
                oldest[platform] = glibc
        return oldest


def projects_with_pairs(facts: Iterable[Fact]) -> list[NormalizedName]:
    """Return the projects of which facts pair releases with something else, sorted by name."""
    return sorted({fact.package for fact in facts if _is_pairing(fact) and any(_releases(fact))})


def projects_paired_with(name: NormalizedName, facts: Iterable[Fact]) -> list[NormalizedName]:
    """Return the projects of which facts pair releases with releases of `name`, sorted by name."""
    naming: set[NormalizedName] = set()
    for fact in facts:
        if _is_pairing(fact) and any(need.name == name for need in _pins(fact)):
            naming.add(fact.package)
    return sorted(naming)


def read_declared(
    project: NormalizedName, facts: Iterable[Fact], archives: Path, wheels: Path
) -> dict[Version, Declared]:
    """Return the recorded metadata of a project's releases, by version.

    If a release has a record of its wheels and one of its archive, the wheels are taken. `archives`
    and `wheels` are the folders of the records. Raises InputError for a record that cannot be read.
    """
    declared: dict[Version, Declared] = {}
    builds = [fact for fact in facts if isinstance(fact, Builds) and fact.package == project]
    for archive in read_archives(archives, project):
        version = text.version(archive_version(archive.file, project) or "")
        if version is None:
            continue
        paths = [fact.requires_from for fact in builds if fact.applies_to(version)]
        content = archive.member(paths[0]) if paths else None
        # If the archive cannot be read, locking reports it.
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
    """Return what goes with each release of a project that facts name, newest release first.

    Releases that have a name and no version, such as branches, come last. `declared` is from
    `read_declared`, and `toolkits` are the known releases of CANN. Facts that do not apply to a
    target with the components in `system` are left out.
    """
    applying = [fact for fact in facts if _applies_on(fact, system)]
    releases: set[Version | str] = set()
    for fact in applying:
        if fact.package == project and _is_pairing(fact):
            releases.update(_releases(fact))
    newest_first = sorted(releases, key=_age, reverse=True)
    return [_pairing(project, release, applying, declared, toolkits) for release in newest_first]


def _applies_on(fact: Fact, system: Mapping[str, Value]) -> bool:
    """Return whether a fact may apply to a target with these components."""
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
    """Return what goes with one release."""
    declared = Declared()
    if isinstance(release, Version):
        declared = known.get(release, declared)
    of_release = [fact for fact in facts if _is_about(fact, project, release)]
    pairing_facts = [fact for fact in of_release if _is_pairing(fact)]
    builds = [fact for fact in of_release if _makes(fact, release)]
    commits = [fact for fact in _at_commits(project, release, facts) if fact not in builds]
    requires = [fact for fact in pairing_facts if isinstance(fact, Requires)]

    # A later statement about a project replaces an earlier one.
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
    """Return whether a fact is about a release, given by its version or by its name."""
    if isinstance(release, Version):
        return fact.is_about(project, release)
    return isinstance(fact, Pairs) and fact.package == project and fact.release == release


def _at_commits(
    project: NormalizedName, release: Version | str, facts: Iterable[Fact]
) -> list[Sources]:
    """Return the facts about commits of a project whose code has this version."""
    of_project = [fact for fact in facts if isinstance(fact, Sources) and fact.package == project]
    return [fact for fact in of_project if fact.recipe.version == release]


def _specifiers(needs: Iterable[Requirement]) -> dict[NormalizedName, SpecifierSet]:
    """Return the specifier of each requirement, by project."""
    return {need.name: need.specifier for need in needs}


def unpaired(
    pins: Mapping[NormalizedName, Version],
    projects: Sequence[NormalizedName],
    facts: Iterable[Fact],
) -> list[tuple[NormalizedName, NormalizedName]]:
    """Return the pairs of pinned projects that tables pair, but not at the pinned versions.

    Only the given `projects` are compared. Tables pair two projects if a fact pairs any release of
    one with a pin of the other.
    """
    in_tables: set[tuple[NormalizedName, NormalizedName]] = set()
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
            in_tables.add((first, second))
            if is_about_pin and need.specifier.contains(pins[need.name], prereleases=True):
                paired.add((first, second))
    only_at_other_versions = in_tables - paired
    return [pair for pair in combinations(compared, 2) if pair in only_at_other_versions]


def _makes(fact: Fact, release: Version | str) -> TypeGuard[Builds | Sources]:
    """Return whether a fact about a release builds it, from an archive or from a commit."""
    if isinstance(fact, Sources):
        return isinstance(release, Version) and fact.makes_release(release)
    return isinstance(fact, Builds)


def _is_pairing(fact: Fact) -> bool:
    """Return whether a fact says what goes with a release.

    It does so if it pins another project, states a requirement on a component, or warns unless a
    component has one of some exact values.
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
    """Return whether all comparisons are `==`."""
    return all(comparison.operator == "==" for comparison in comparisons)


def _pins(fact: Fact) -> Iterator[Requirement]:
    """Yield the pins of other projects in a fact."""
    match fact:
        case Requires(needs=needs) | Pairs(others=needs):
            yield from filter(_is_pin, needs)
        case _:
            return


def _paired_components(fact: Fact) -> list[ComponentRequirement]:
    """Return the values of components that a fact lists together with a release."""
    match fact:
        case Warns(unless=needs) | Pairs(others=needs):
            return component_requirements(needs)
        case _:
            return []


def _releases(fact: Fact) -> Iterator[Version | str]:
    """Yield the releases that a fact names one by one. Ranges of versions are left out."""
    if isinstance(fact, Pairs) and fact.release:
        yield fact.release
        return
    for specifiers in fact.versions:
        if len(specifiers) == 1:
            yield from _exact_versions(specifiers)


def _exact_versions(specifiers: SpecifierSet) -> Iterator[Version]:
    """Yield the versions that specifiers name exactly."""
    for specifier in specifiers:
        if text.is_exact(specifier):
            yield Version(specifier.version)


def _is_pin(need: Need) -> TypeGuard[Requirement]:
    """Return whether a requirement pins one release or one series (`==2.8.*`) on every machine."""
    if not isinstance(need, Requirement) or need.marker is not None:
        return False
    return any(specifier.operator == "==" for specifier in need.specifier)


def read_pins(lines: Iterable[str]) -> Iterator[Requirement]:
    """Yield the pins among requirements of metadata. Invalid requirements are skipped."""
    for line in lines:
        with suppress(InvalidRequirement):
            need = text.requirement(line)
            if _is_pin(need):
                yield need


def _on_component(
    component: str, needs: Iterable[ComponentRequirement]
) -> tuple[ComponentRequirement, ...]:
    """Return the requirements on one component."""
    return tuple(need for need in needs if need.component == component)


def _admit(needs: Iterable[ComponentRequirement], chip: Value) -> bool:
    """Return whether the requirements on the SoC allow this one."""
    return all(need.allows(chip) for need in _on_component(CHIP, needs))


def _of_plugin(pairing: Pairing, facts: Iterable[Fact]) -> Iterator[Fact]:
    """Yield the facts about the torch-npu that a release goes with."""
    versions = list(_exact_versions(pairing.projects.get(_PLUGIN, SpecifierSet())))
    for fact in facts:
        if fact.package == _PLUGIN and any(map(fact.applies_to, versions)):
            yield fact


def _drivers(fact: Fact, toolkits: Sequence[Value]) -> Sequence[ComponentRequirement]:
    """Return the drivers without which a fact warns.

    Empty if the warning depends on CANN, and at least one of these CANN releases averts it, or none
    is given.
    """
    if not isinstance(fact, Warns):
        return ()
    needs = component_requirements(fact.unless)
    on_toolkit = _on_component(TOOLKIT, needs)
    if on_toolkit:
        if not toolkits:
            return ()
        for need in on_toolkit:
            if any(map(need.allows, toolkits)):
                return ()
    return _on_component(DRIVER, needs)
