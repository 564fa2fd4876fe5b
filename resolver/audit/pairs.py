"""Which versions go together, by facts and the recorded readings of files.

Nothing is solved, no index is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, combinations
from pathlib import Path
from typing import Final, TypeGuard

import msgspec
from packaging.requirements import InvalidRequirement
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName, parse_wheel_filename
from packaging.version import Version

from resolver.index.parse.distribution import archive_version
from resolver.index.protocol import UnusableFile
from resolver.index.store.readings import read_archives, read_wheels
from resolver.model import text
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
from resolver.model.requirement import ComponentRequirement, Requirement, Value, named_values
from resolver.model.system import SystemVersion
from resolver.model.target import PLATFORMS, Platform, wheel_glibc
from resolver.resolve.needs import requirements_file

_TORCH_NPU: Final = NormalizedName(
    "torch-npu"
)  # the facts about the drivers of CANN releases are about it


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """The metadata of a release: the pins in `file`, and the names of all wheels."""

    file: str
    pins: tuple[Requirement, ...]
    wheels: tuple[str, ...] = ()


class Pairing(msgspec.Struct, frozen=True, kw_only=True):
    """What goes with one release of a project, or with what upstream calls `release` if that is no version.

    `projects` are the releases of others that it is made for. Of the components of a machine,
    `needs` must hold, `wheel_needs` for its wheels, and `paired` is what a table or guide has it
    with. `built` are the conditions under which it is built from source, an empty one if it always
    is. `canns` are the known releases of CANN that go with it and `hdk` the drivers that it or they
    ask for. `facts` say all this, and `file` pins the projects that they do not. `beside` are the
    projects that tables and guides have it with, whether or not it requires them.
    """

    project: NormalizedName
    release: Version | str
    projects: Mapping[NormalizedName, SpecifierSet]
    beside: tuple[NormalizedName, ...] = ()
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
        return _admit(self.needs, soc) and (
            as_wheel or any(_admit(conditions, soc) for conditions in self.built)
        )

    @property
    def driver(self) -> SystemVersion | None:
        """The oldest driver that all of `hdk` admit, None without any."""
        values = (value for need in self.hdk for value in named_values(need, "hdk"))
        return max((value for value in values if isinstance(value, SystemVersion)), default=None)

    @property
    def pythons(self) -> tuple[str, ...]:
        """The releases of CPython that it has wheels of their own for, oldest first."""
        minors: set[int] = set()
        for wheel in self.wheels:
            for tag in parse_wheel_filename(wheel)[3]:
                if tag.abi == tag.interpreter and tag.abi.startswith("cp3"):
                    minors.add(int(tag.abi.removeprefix("cp3")))
        return tuple(f"3.{minor}" for minor in sorted(minors))

    @property
    def glibc(self) -> dict[Platform, str]:
        """The oldest glibc that its wheels need, for each platform that has one."""
        versions = ((platform, wheel_glibc(self.wheels, platform)) for platform in PLATFORMS)
        return {platform: glibc for platform, glibc in versions if glibc}


def projects_with_pairs(facts: Iterable[Fact]) -> list[NormalizedName]:
    """The projects of which facts pair releases, sorted."""
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
    """The metadata recorded in these folders of a project's wheels, or else archives.

    Raises InputError.
    """
    declared: dict[Version, Declared] = {}
    builds = [fact for fact in facts if isinstance(fact, Builds) and fact.package == project]
    for row in read_archives(archives, project):
        version = text.version(archive_version(row.file, project) or "")
        if version is not None:
            path = next((fact.requires_from for fact in builds if fact.applies_to(version)), "")
            with suppress(UnusableFile):  # reported when locking
                lines = requirements_file(row.member(path) or "")
                declared[version] = Declared(
                    file=row.file if lines else "", pins=tuple(read_pins(lines))
                )
    for wheel in read_wheels(wheels, project):
        if (version := text.version(wheel.version)) is not None:
            declared[version] = Declared(
                file=wheel.file, pins=tuple(read_pins(wheel.pins)), wheels=wheel.wheels
            )
    return declared


def pairings(
    project: NormalizedName,
    facts: Sequence[Fact],
    declared: Mapping[Version, Declared] = {},
    canns: Sequence[Value] = (),
    system: Mapping[str, Value] = {},
) -> list[Pairing]:
    """Return the releases of a project that facts pair by name, newest first.

    Releases known by a name, such as branches, come last. `canns` are the known releases of CANN.
    Facts about other targets than one with the components of `system` are left out.
    """
    facts = [
        fact
        for fact in facts
        if not isinstance(fact, (Requires, Replaces)) or fact.applies_on(system)
    ]
    of_project = [fact for fact in facts if fact.package == project and _is_pairing(fact)]
    releases = {release for fact in of_project for release in _releases(fact)}
    newest_first = sorted(releases, key=_age, reverse=True)
    return [_pairing(project, release, facts, declared, canns) for release in newest_first]


def _age(release: Version | str) -> tuple[bool, list[tuple[int, str]] | Version]:
    """Return a sort key for releases, in which numbers in names count as numbers, and names come before versions."""
    if isinstance(release, Version):
        return True, release
    parts = re.findall(r"[0-9]+|[^0-9.]+", release)
    return False, [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def _pairing(
    project: NormalizedName,
    release: Version | str,
    facts: Sequence[Fact],
    known: Mapping[Version, Declared],
    canns: Sequence[Value],
) -> Pairing:
    nothing = Declared(file="", pins=())
    if isinstance(release, Version):
        declared = known.get(release, nothing)
        of_release = [fact for fact in facts if fact.is_about(project, release)]
    else:
        declared = nothing
        of_project = [fact for fact in facts if fact.package == project]
        of_release = [
            fact for fact in of_project if isinstance(fact, Pairs) and fact.release == release
        ]
    paired_by = [fact for fact in of_release if _is_pairing(fact)]
    requires = [fact for fact in paired_by if isinstance(fact, Requires)]
    builds = [fact for fact in of_release if _makes(fact, release)]
    pins = {
        need.name: need.specifier
        for fact in paired_by
        if isinstance(fact, Pairs)
        for need in _pins(fact)
    }
    beside = tuple(pins)
    commits = [fact for fact in _at_commits(project, release, facts) if fact not in builds]
    for fact in commits:
        pins |= {need.name: need.specifier for need in read_pins(fact.recipe.requires)}
    pins |= {need.name: need.specifier for need in declared.pins}
    pins |= {need.name: need.specifier for fact in requires for need in _pins(fact)}
    pairing = Pairing(
        project=project,
        release=release,
        projects=pins,
        beside=beside,
        needs=tuple(
            need
            for fact in requires
            if not fact.wheels
            for need in component_requirements(fact.needs)
        ),
        wheel_needs=tuple(
            need for fact in requires if fact.wheels for need in component_requirements(fact.needs)
        ),
        paired=tuple(need for fact in paired_by for need in _paired_components(fact)),
        built=(*(fact.when for fact in builds), *(() for _ in commits)),
        facts=(*paired_by, *builds, *commits),
        file=declared.file,
        wheels=declared.wheels,
    )
    needs = pairing.paired_or_needed("cann")
    fitting = [cann for cann in canns if needs and all(need.allows(cann) for need in needs)]
    drivers = {
        fact: need
        for fact in (*of_release, *_of_torch_npu(pairing, facts))
        for need in _driver(fact, fitting)
    }
    return msgspec.structs.replace(
        pairing,
        canns=tuple(cann for cann in fitting if isinstance(cann, SystemVersion)),
        hdk=tuple(drivers.values()),
        facts=(*pairing.facts, *drivers),
    )


def _at_commits(
    project: NormalizedName, release: Version | str, facts: Iterable[Fact]
) -> list[Sources]:
    """Return what is known of commits of a project that call themselves a release."""
    of_project = (fact for fact in facts if isinstance(fact, Sources) and fact.package == project)
    return [fact for fact in of_project if fact.recipe.version == release]


def unpaired(
    pins: Mapping[NormalizedName, Version],
    projects: Sequence[NormalizedName],
    facts: Sequence[Fact],
) -> list[tuple[NormalizedName, NormalizedName]]:
    """Return the pairs of pinned projects that tables speak of, but not at these versions.

    `projects` are those to compare. Tables speak of two projects if any fact pairs a release of one
    with a pin of the other; the two are paired at their versions if such a fact is about them.
    """
    spoken: set[tuple[NormalizedName, NormalizedName]] = set()
    paired: set[tuple[NormalizedName, NormalizedName]] = set()
    compared = [name for name in dict.fromkeys(projects) if name in pins]
    for fact in facts:
        if fact.package not in compared or not _is_pairing(fact):
            continue
        for need in _pins(fact):
            if need.name not in compared or need.name == fact.package:
                continue
            first, second = sorted((fact.package, need.name), key=compared.index)
            spoken.add((first, second))
            if fact.applies_to(pins[fact.package]) and need.specifier.contains(
                pins[need.name], prereleases=True
            ):
                paired.add((first, second))
    pairs = combinations(compared, 2)
    return [pair for pair in pairs if pair in spoken and pair not in paired]


def _makes(fact: Fact, release: Version | str) -> TypeGuard[Builds | Sources]:
    """Return whether a fact about a release builds it, from its archive or from a commit."""
    return isinstance(fact, Builds) or (
        isinstance(fact, Sources) and isinstance(release, Version) and fact.makes_release(release)
    )


def _is_pairing(fact: Fact) -> bool:
    """Whether it pairs a release with something: needs on a machine, pins, or the CANN or SoC that it is made for."""
    match fact:
        case Requires(needs=needs):
            return fact.strength is not Strength.PRACTICE and any(
                isinstance(need, ComponentRequirement) or is_pin(need) for need in needs
            )
        case Warns(unless=(ComponentRequirement() as need,)):
            return all(
                clause.operator == "==" for clauses in need.alternatives for clause in clauses
            )
        case Pairs():
            return True
        case _:
            return False


def _pins(fact: Fact) -> Iterator[Requirement]:
    """Yield the pins of other projects that a fact requires or names."""
    match fact:
        case Requires():
            needs = fact.needs
        case Pairs():
            needs = fact.others
        case _:
            needs = ()
    for need in needs:
        if is_pin(need):
            yield need


def _paired_components(fact: Fact) -> list[ComponentRequirement]:
    """Return what a table or guide has a release with of the machine."""
    match fact:
        case Warns():
            return component_requirements(fact.unless)
        case Pairs():
            return component_requirements(fact.others)
        case _:
            return []


def _releases(fact: Fact) -> Iterator[Version | str]:
    """Yield the releases that a fact names, other than in ranges."""
    if isinstance(fact, Pairs) and fact.release:
        return iter((fact.release,))
    return chain.from_iterable(
        _exact_versions(versions) for versions in fact.versions if len(versions) == 1
    )


def _exact_versions(specifiers: SpecifierSet) -> Iterator[Version]:
    """Yield the releases that specifiers name, other than in ranges and series."""
    for specifier in specifiers:
        if text.is_exact(specifier):
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


def _on_component(
    component: str, needs: Iterable[ComponentRequirement]
) -> tuple[ComponentRequirement, ...]:
    return tuple(need for need in needs if need.component == component)


def _admit(needs: Iterable[ComponentRequirement], soc: Value) -> bool:
    return all(need.allows(soc) for need in _on_component("soc", needs))


def _of_torch_npu(pairing: Pairing, facts: Iterable[Fact]) -> Iterator[Fact]:
    """The facts about the torch-npu that a release goes with."""
    versions = list(_exact_versions(pairing.projects.get(_TORCH_NPU, SpecifierSet())))
    return (
        fact for fact in facts if fact.package == _TORCH_NPU and any(map(fact.applies_to, versions))
    )


def _driver(fact: Fact, canns: Sequence[Value]) -> Iterator[ComponentRequirement]:
    """The driver that a fact warns for the lack of, if it does so with each of these CANNs."""
    if isinstance(fact, Warns):
        needs = component_requirements(fact.unless)
        on_cann = _on_component("cann", needs)
        if not on_cann or (
            canns and not any(need.allows(cann) for need in on_cann for cann in canns)
        ):
            yield from _on_component("hdk", needs)
