"""From resolution to lock. Pure except for hashes and metadata, which come from the catalog."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from resolver.errors import InputError, WrongRelease
from resolver.index.parse.address import read_root
from resolver.index.protocol import Catalog, UnusableFile
from resolver.lock import warnings as lock_warnings
from resolver.lock.order import stages
from resolver.lock.warnings import drivers
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.dependency import NeedLine, NeedSource, Origin, StackLine
from resolver.model.lock import (
    FORMAT,
    Lock,
    LockedAbsent,
    LockedExport,
    LockedFact,
    LockedFile,
    LockedGit,
    LockedIndex,
    LockedPin,
    LockedSubmodule,
    LockedTarget,
    Mode,
    Override,
)
from resolver.model.message import Message
from resolver.model.problem import PYPI, Indexes
from resolver.model.release import File, Release, Source
from resolver.model.requirement import ComponentRequirement, Requirement
from resolver.model.resolution import Pin, Resolution
from resolver.model.target import Target


def build(
    resolution: Resolution, builds: Sequence[tuple[Sequence[str], Resolution | Message]], catalog: Catalog
) -> Lock:
    """The lock of a resolution. `builds` are the isolated environments: the archives of each (none: all), and its pins.

    An environment without a solution has a message instead, which says why. The lock then has it as a warning, and
    install.sh builds with what is installed already and downloads nothing.
    """
    problem = resolution.problem
    tools = [pin for _, one in builds if isinstance(one, Resolution) for pin in one.pins]
    every = (*resolution.pins, *tools)
    catalog.prefetch_metadata(other for pin in every for other in pin.release.others)
    facts_in_use = list(applied_facts(resolution))
    apart, here = {pin.name for pin in tools}, {pin.name for pin in resolution.pins}
    origins = (one for pin in tools for one in pin.because)
    of_builds = (one for one in origins if isinstance(one, NeedLine) and one.source is NeedSource.BUILD)
    lines = _required((*(one for pin in resolution.pins for one in pin.because), *of_builds))
    pins = tuple(
        _pin(
            pin,
            lines,
            catalog,
            external=_external(pin, facts_in_use, here if _mode(pin.release) == "built-here" else apart),
        )
        for pin in resolution.pins
    )
    build_pins = tuple(_environments(builds, catalog))
    return Lock(
        format=FORMAT,
        stack=problem.stack.name,
        summary=problem.stack.summary,
        summary_zh=problem.stack.summary_zh,
        source=problem.stack.source,
        inputs=problem.digest,
        requires=_lines(one.text for pin in resolution.pins for one in pin.because if isinstance(one, StackLine)),
        target=_target(problem.target),
        index=tuple(_indexes((*pins, *build_pins), problem.indexes)),
        stage=stages(
            pins,
            [fact for fact in facts_in_use if isinstance(fact, facts.After)],
            [pin.release.source for pin in resolution.pins if pin.release.source is not None],
            {
                pin.name: at
                for at, (archives, one) in enumerate(builds)
                for pin in pins
                if isinstance(one, Resolution) and pin.mode == "built-apart" and pin.name in (archives or (pin.name,))
            },
        ),
        pin=pins,
        build_pin=build_pins,
        fact=tuple(map(_fact, facts_in_use)),
        driver=tuple(drivers(resolution, facts_in_use)),
        override=tuple(_overrides(resolution, catalog)),
        export=tuple(_exports(fact for fact in facts_in_use if isinstance(fact, facts.Exports))),
        absent=tuple(_absent(resolution, facts_in_use)),
        departs=problem.stack.departures,
        warnings=(
            *lock_warnings.warnings(resolution, facts_in_use, catalog),
            *(line for pin in tools for line in lock_warnings.on_trust(pin, resolution, catalog)),
            *lock_warnings.unbuilt(pins, builds),
        ),
        notes=tuple(lock_warnings.notes(problem)),
        exclude_newer=problem.policy.exclude_newer.isoformat() if problem.policy.exclude_newer else "",
        imports=problem.stack.checks.imports,
        import_env=dict(problem.stack.checks.env),
    )


def _target(target: Target) -> LockedTarget:
    return LockedTarget(
        name=target.name,
        python=target.python,
        platform=target.platform,
        glibc=".".join(map(str, target.glibc)),
        system={key: str(value) for key, value in sorted(target.system.items()) if key not in ("python", "glibc")},
    )


def _indexes(pins: Sequence[LockedPin], known: Indexes) -> Iterator[LockedIndex]:
    """The indexes that files come from, without the address of pip's own."""
    for name in sorted({pin.index for pin in pins if pin.git is None}):
        url = "" if name == PYPI else read_root(known.indexes[name].url, name).url
        yield LockedIndex(name=name, url=url)


def _fact(fact: facts.Fact) -> LockedFact:
    return LockedFact(
        id=fact.id,
        where=fact.where,
        strength=fact.strength,
        reason=fact.reason,
        reason_zh=fact.reason_zh,
        source=fact.source,
        checked=fact.checked.isoformat(),
    )


def _pin(
    pin: Pin,
    lines: Mapping[str, Sequence[NeedLine]],
    catalog: Catalog,
    builds: Sequence[str] = (),
    external: Iterable[facts.MachineNeed] = (),
) -> LockedPin:
    release = pin.release
    source = release.source
    own = lines.get(pin.name, ())
    of_facts = [(one.fact.id, one.text) for one in own if one.source is NeedSource.FACT and one.fact is not None]
    served = () if source is not None else (release.file, *_alike(pin, catalog))
    return LockedPin(
        name=pin.name,
        version=str(release.version),
        index=release.index,
        mode=_mode(release),
        extras=pin.extras,
        env={key: value.replace("{version}", str(release.version)) for key, value in _env(release)},
        label=release.builds.label if release.builds is not None else "",
        external=tuple(external),
        yanked=release.file.yanked,
        builds=tuple(builds),
        requires=_lines(one.text for one in own if one.source is NeedSource.METADATA),
        build_requires=_lines(one.text for one in own if one.source is NeedSource.BUILD),
        fact_requires={
            fact: _lines(line for other, line in of_facts if other == fact)
            for fact in sorted({fact for fact, _ in of_facts})
        },
        file=tuple(LockedFile(name=file.filename, sha256=file.sha256) for file in map(catalog.sha256, served)),
        git=_git(source) if source is not None else None,
    )


def _environments(
    builds: Sequence[tuple[Sequence[str], Resolution | Message]], catalog: Catalog
) -> Iterator[LockedPin]:
    for archives, one in builds:
        if isinstance(one, Resolution):
            lines = _required(origin for pin in one.pins for origin in pin.because)
            yield from (_pin(pin, lines, catalog, archives) for pin in one.pins)


def _required(origins: Iterable[Origin]) -> dict[str, list[NeedLine]]:
    """The lines of metadata, builds and facts, by the project whose they are."""
    found: dict[str, list[NeedLine]] = {}
    for origin in dict.fromkeys(origins):
        if isinstance(origin, NeedLine):
            found.setdefault(re.split(r"[\[ ]", origin.parent)[0], []).append(origin)
    return found


def _lines(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(texts)))


def _external(pin: Pin, facts_in_use: Sequence[facts.Fact], there: Collection[str]) -> Iterator[facts.MachineNeed]:
    """What the build of a pin needs of the machine according to the facts, without distributions that are `there`."""
    stated = (fact for fact in facts_in_use if isinstance(fact, facts.External) and fact.package == pin.name)
    return (need for need in dict.fromkeys(need for fact in stated for need in fact.needs) if need not in there)


def _mode(release: Release) -> Mode:
    if release.source is not None:
        return "built-apart" if release.source.recipe.isolation else "built-here"
    if release.file.is_wheel:
        return "wheels"
    return "built-here" if release.builds is not None and not release.builds.isolation else "built-apart"


def _env(release: Release) -> Sequence[tuple[str, str]]:
    """The variables of the build, in which `{version}` stands for the release."""
    if release.source is not None:
        return release.source.recipe.env
    return release.builds.env if release.builds is not None else ()


def _git(source: Source) -> LockedGit:
    return LockedGit(
        url=source.url,
        commit=source.commit,
        ref=source.ref,
        subdirectory=source.subdirectory,
        editable=source.recipe.editable,
        steps=source.recipe.steps,
        rewrites=source.recipe.rewrites,
        submodules=tuple(
            LockedSubmodule(path=one.path, url=one.git, commit=one.commit) for one in source.recipe.submodules
        ),
        trust=source.trust,
    )


def _alike(pin: Pin, catalog: Catalog) -> Iterator[File]:
    """Further wheels that would do as well. They must have the same requirements, since metadata is per file."""
    if not pin.release.others:
        return
    wanted = catalog.metadata(pin.release.file)
    for other in pin.release.others:
        try:
            found = catalog.metadata(other)
        except (UnusableFile, WrongRelease):
            continue
        if sorted(found.requires_dist) == sorted(wanted.requires_dist):
            yield other


def applied_facts(resolution: Resolution) -> Iterator[facts.Fact]:
    """The facts that count as used, in the order of the files: about a pinned release, with their conditions met."""
    return (fact for fact in resolution.problem.facts if _is_used(fact, resolution))


def _is_used(fact: facts.Fact, resolution: Resolution) -> bool:
    pin = resolution.pin(fact.package)
    if isinstance(fact, facts.Collides) and resolution.pin(fact.other) is not None:
        return True
    if pin is None:
        return False
    release = pin.release
    if isinstance(fact, facts.Sources):
        return release.source is not None and release.source.fact == fact
    if isinstance(fact, (facts.Excludes, facts.Names)):
        return True
    if not fact.applies_to(pin.version):
        return False
    match fact:
        case facts.After():
            return any(map(resolution.pin, fact.others))
        case facts.Warns():
            concerns = fact.counts_for(release.file) and (not fact.extra or fact.extra in pin.extras)
            so = concerns and all(_is_met(need, resolution) for need in fact.together_with)
            return so and not any(_is_met(need, resolution) for need in fact.unless)
        case facts.Requires():
            return fact.counts_for(release.file)
        case facts.Metadata() | facts.Builds():
            return not release.file.is_wheel and release.source is None
        case facts.External():
            return _mode(release) != "wheels"
        case facts.Collides() | facts.Replaces() | facts.Absent() | facts.Exports():
            return True


def _is_met(need: facts.Need, resolution: Resolution) -> bool:
    match need:
        case ComponentRequirement():
            return need.is_promised_by(resolution.problem.target.system)
        case Requirement():
            pin = resolution.pin(need.name)
            return pin is not None and need.specifier.contains(pin.version, prereleases=True)


def _absent(resolution: Resolution, facts_in_use: Sequence[facts.Fact]) -> Iterator[LockedAbsent]:
    """What must not be installed: the stack's rows, and the other one of two projects that facts keep apart."""
    rows = {row.package: (row.reason, row.reason_zh, row.where) for row in resolution.problem.stack.absent}
    for fact in facts_in_use:
        if isinstance(fact, (facts.Collides, facts.Absent)):
            pin, other = resolution.pin(fact.package), resolution.pin(fact.other)
            if pin is not None and fact.applies_to(pin.version) and other is None:
                rows.setdefault(fact.other, (fact.reason, fact.reason_zh, fact.id))
            elif isinstance(fact, facts.Collides) and pin is None and other is not None:
                rows.setdefault(fact.package, (fact.reason, fact.reason_zh, fact.id))
    for name, (reason, reason_zh, because) in sorted(rows.items()):
        yield LockedAbsent(name=name, reason=reason, reason_zh=reason_zh, because=because)


def _exports(facts_in_use: Iterable[facts.Exports]) -> Iterator[LockedExport]:
    """A row for each variable, by name. It is optional if all facts that name it say so.

    Raises InputError if two facts give it different values.
    """
    stated = sorted((name, number, value, fact) for number, fact in enumerate(facts_in_use) for name, value in fact.env)
    for name, group in groupby(stated, itemgetter(0)):
        (_, _, value, first), *others = group
        for _, _, another, other in others:
            if another != value:
                raise InputError(
                    f"the facts `{first.id}` and `{other.id}` give {name} different values",
                    where=f"{first.where}, {other.where}",
                    why=f"{name} is `{value}` in the first and `{another}` in the second",
                    hint=f'set one of them aside in the stack: [[relax]] fact = "{first.id}" or "{other.id}", with a '
                    f"reason",
                )
        all_facts = (first, *(fact for _, _, _, fact in others))
        optional = all(fact.optional for fact in all_facts)
        yield LockedExport(name=name, value=value, optional=optional, facts=tuple(fact.id for fact in all_facts))


def _overrides(resolution: Resolution, catalog: Catalog) -> Iterator[Override]:
    for fact in resolution.problem.facts:
        pin = resolution.pin(fact.package)
        if isinstance(fact, facts.Replaces) and pin is not None and fact.applies_to(pin.version):
            for line in lock_warnings.own_lines(pin, catalog, fact.drop):
                name = text.requirement(line).name
                if name in fact.drop:
                    yield Override(package=pin.name, version=str(pin.version), name=name, dropped=line, fact=fact.id)
    for pin in resolution.pins:
        known = pin.release.source.fact if pin.release.source is not None else None
        if known is not None:
            for name in known.recipe.drop:
                yield Override(package=pin.name, version=str(pin.version), name=name, dropped=name, fact=known.id)
    yield from resolution.overrides
