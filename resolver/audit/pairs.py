"""Which versions go together, by facts and the recorded readings of files. Nothing is solved, no index is asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Final, TypeGuard

import msgspec
from packaging.requirements import InvalidRequirement
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.index.parse.distribution import archive_version
from resolver.index.protocol import UnusableFile
from resolver.index.store.readings import read_archives, read_wheels
from resolver.model import text
from resolver.model.fact import (
    Builds,
    Fact,
    Need,
    Replaces,
    Requires,
    Sources,
    Strength,
    Warns,
    component_requirements,
)
from resolver.model.requirement import ComponentRequirement, Requirement, Value, named_values
from resolver.model.system import SystemVersion
from resolver.model.target import PLATFORMS, Platform, wheel_glibc
from resolver.resolve.needs import requirements_file

_TORCH_NPU: Final = NormalizedName("torch-npu")  # the facts about the drivers of CANN releases are about it


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """The metadata of a release: the pins in `file`, and the names of all wheels."""

    file: str
    pins: tuple[Requirement, ...]
    wheels: tuple[str, ...] = ()


class Pairing(msgspec.Struct, frozen=True, kw_only=True):
    """What goes with one release of a project.

    `projects` are the releases of others that it is made for. Of the components of a machine, `needs` must hold,
    `wheel_needs` for its wheels, and `paired` is what a table or guide has it with. `built` are the conditions under
    which it is built from source, an empty one if it always is. `canns` are the known releases of CANN that go with it
    and `hdk` the drivers that it or they ask for. `facts` say all this, and `file` pins the projects that they do not.
    """

    project: NormalizedName
    release: Version
    projects: Mapping[NormalizedName, SpecifierSet]
    needs: tuple[ComponentRequirement, ...] = ()
    wheel_needs: tuple[ComponentRequirement, ...] = ()
    paired: tuple[ComponentRequirement, ...] = ()
    built: tuple[tuple[ComponentRequirement, ...], ...] = ()
    canns: tuple[SystemVersion, ...] = ()
    hdk: tuple[ComponentRequirement, ...] = ()
    facts: tuple[Fact, ...]
    file: str = ""
    wheels: tuple[str, ...] = ()

    def paired_or_needed(self, component: str) -> tuple[ComponentRequirement, ...]:
        """What it is paired with of a component or, without such facts, what it needs."""
        return self.paired_with(component) or self.needed(component)

    def paired_with(self, component: str) -> tuple[ComponentRequirement, ...]:
        """What a table or guide has it with of a component."""
        return _on_component(component, self.paired)

    def needed(self, component: str) -> tuple[ComponentRequirement, ...]:
        """What it needs of a component, its wheels in particular."""
        return _on_component(component, (*self.needs, *self.wheel_needs))

    def goes_with(self, cann: Value) -> bool:
        """Whether facts say that it goes with this CANN."""
        needs = self.needed("cann") or self.paired_with("cann")
        return bool(needs) and all(need.allows(cann) for need in needs)

    def runs_on(self, soc: Value) -> bool:
        """Whether no fact speaks against this SoC, with a wheel or built from source."""
        as_wheel = _admit((*self.wheel_needs, *self.paired), soc)
        return _admit(self.needs, soc) and (as_wheel or any(_admit(conditions, soc) for conditions in self.built))

    @property
    def driver(self) -> SystemVersion | None:
        """The oldest driver that all of `hdk` admit, None without any."""
        values = (value for need in self.hdk for value in named_values(need, "hdk"))
        return max((value for value in values if isinstance(value, SystemVersion)), default=None)

    @property
    def glibc(self) -> dict[Platform, str]:
        """The oldest glibc that its wheels need, for each platform that has one."""
        versions = ((platform, wheel_glibc(self.wheels, platform)) for platform in PLATFORMS)
        return {platform: glibc for platform, glibc in versions if glibc}


def projects_with_pairs(facts: Iterable[Fact]) -> list[NormalizedName]:
    """The projects of which facts pair releases, sorted."""
    return sorted({fact.package for fact in facts if _is_pairing(fact) and any(_releases(fact))})


def read_declared(
    project: NormalizedName, facts: Iterable[Fact], archives: Path, wheels: Path
) -> dict[Version, Declared]:
    """The metadata recorded in these folders of a project's wheels, or else archives. Raises InputError."""
    declared: dict[Version, Declared] = {}
    builds = [fact for fact in facts if isinstance(fact, Builds) and fact.package == project]
    for row in read_archives(archives, project):
        version = text.version(archive_version(row.file, project) or "")
        if version is not None:
            path = next((fact.requires_from for fact in builds if fact.applies_to(version)), "")
            with suppress(UnusableFile):  # reported when locking
                lines = requirements_file(row.member(path) or "")
                declared[version] = Declared(file=row.file if lines else "", pins=tuple(read_pins(lines)))
    for wheel in read_wheels(wheels, project):
        if (version := text.version(wheel.version)) is not None:
            declared[version] = Declared(file=wheel.file, pins=tuple(read_pins(wheel.pins)), wheels=wheel.wheels)
    return declared


def pairings(
    project: NormalizedName,
    facts: Sequence[Fact],
    declared: Mapping[Version, Declared] = {},
    canns: Sequence[Value] = (),
    system: Mapping[str, Value] = {},
) -> list[Pairing]:
    """Return the releases of a project that facts pair by name, newest first.

    `canns` are the known releases of CANN. Facts count that are there for a target with the components of `system`.
    """
    facts = [fact for fact in facts if not isinstance(fact, (Requires, Replaces)) or fact.applies_on(system)]
    of_project = (fact for fact in facts if fact.package == project and _is_pairing(fact))
    releases = {version for fact in of_project for version in _releases(fact)}
    return [
        _pairing(project, release, facts, declared.get(release), canns) for release in sorted(releases, reverse=True)
    ]


def _pairing(
    project: NormalizedName, release: Version, facts: Sequence[Fact], declared: Declared | None, canns: Sequence[Value]
) -> Pairing:
    declared = declared or Declared(file="", pins=())
    of_release = [fact for fact in facts if fact.is_about(project, release)]
    paired_by = [fact for fact in of_release if _is_pairing(fact)]
    requires = [fact for fact in paired_by if isinstance(fact, Requires)]
    builds = [fact for fact in of_release if _makes(fact, release)]
    pins = [*declared.pins, *(need for fact in requires for need in fact.needs)]
    pairing = Pairing(
        project=project,
        release=release,
        projects={need.name: need.specifier for need in pins if is_pin(need)},
        needs=tuple(need for fact in requires if not fact.wheels for need in component_requirements(fact.needs)),
        wheel_needs=tuple(need for fact in requires if fact.wheels for need in component_requirements(fact.needs)),
        paired=tuple(
            need for fact in paired_by if isinstance(fact, Warns) for need in component_requirements(fact.unless)
        ),
        built=tuple(fact.when for fact in builds),
        facts=(*paired_by, *builds),
        file=declared.file,
        wheels=declared.wheels,
    )
    needs = pairing.paired_or_needed("cann")
    fitting = [cann for cann in canns if needs and all(need.allows(cann) for need in needs)]
    drivers = {fact: need for fact in (*of_release, *_of_torch_npu(pairing, facts)) for need in _driver(fact, fitting)}
    return msgspec.structs.replace(
        pairing,
        canns=tuple(cann for cann in fitting if isinstance(cann, SystemVersion)),
        hdk=tuple(drivers.values()),
        facts=(*pairing.facts, *drivers),
    )


def _makes(fact: Fact, release: Version) -> TypeGuard[Builds | Sources]:
    """Return whether a fact about a release builds it, from its archive or from a commit."""
    return isinstance(fact, Builds) or (isinstance(fact, Sources) and fact.makes_release(release))


def _is_pairing(fact: Fact) -> bool:
    """Whether it pairs a release with something: needs on a machine, pins, or the CANN or SoC that it is made for."""
    match fact:
        case Requires(needs=needs):
            return fact.strength is not Strength.PRACTICE and any(
                isinstance(need, ComponentRequirement) or is_pin(need) for need in needs
            )
        case Warns(unless=(ComponentRequirement() as need,)):
            return all(clause.operator == "==" for clauses in need.alternatives for clause in clauses)
        case _:
            return False


def _releases(fact: Fact) -> Iterator[Version]:
    """The releases that a fact names, other than in ranges."""
    return chain.from_iterable(_exact_versions(versions) for versions in fact.versions if len(versions) == 1)


def _exact_versions(specifiers: SpecifierSet) -> Iterator[Version]:
    """The releases that specifiers name, other than in ranges and series."""
    for specifier in specifiers:
        if specifier.operator == "==" and not specifier.version.endswith(".*"):
            yield Version(specifier.version)


def is_pin(need: Need) -> TypeGuard[Requirement]:
    """Whether it is a requirement on one release of a project, or on one series (`==2.8.*`), for every machine."""
    if not isinstance(need, Requirement) or need.marker is not None:
        return False
    return any(specifier.operator == "==" for specifier in need.specifier)


def read_pins(lines: Iterable[str]) -> Iterator[Requirement]:
    """The pins among requirements in metadata; invalid ones are left out."""
    for line in lines:
        with suppress(InvalidRequirement):
            if is_pin(need := text.requirement(line)):
                yield need


def _on_component(component: str, needs: Iterable[ComponentRequirement]) -> tuple[ComponentRequirement, ...]:
    return tuple(need for need in needs if need.component == component)


def _admit(needs: Iterable[ComponentRequirement], soc: Value) -> bool:
    return all(need.allows(soc) for need in _on_component("soc", needs))


def _of_torch_npu(pairing: Pairing, facts: Iterable[Fact]) -> Iterator[Fact]:
    """The facts about the torch-npu that a release goes with."""
    versions = list(_exact_versions(pairing.projects.get(_TORCH_NPU, SpecifierSet())))
    return (fact for fact in facts if fact.package == _TORCH_NPU and any(map(fact.applies_to, versions)))


def _driver(fact: Fact, canns: Sequence[Value]) -> Iterator[ComponentRequirement]:
    """The driver that a fact warns for the lack of, if it does so with each of these CANNs."""
    if isinstance(fact, Warns):
        needs = component_requirements(fact.unless)
        on_cann = _on_component("cann", needs)
        if not on_cann or (canns and not any(need.allows(cann) for need in on_cann for cann in canns)):
            yield from _on_component("hdk", needs)
