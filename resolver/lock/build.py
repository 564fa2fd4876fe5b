"""From resolution to lock. Pure except for hashes and metadata, which come from the catalog."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from resolver.errors import InputError, WrongRelease
from resolver.index.parse.address import read_root
from resolver.index.protocol import Catalog, UnusableFile
from resolver.lock import warnings as lock_warnings
from resolver.lock.order import stages
from resolver.lock.warnings import drivers
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.constraint import BuildLine, Line, RequirementSource, Requires, StackLine
from resolver.model.lock import (
    FORMAT,
    Lock,
    LockedAbsent,
    LockedExport,
    LockedFact,
    LockedFile,
    LockedGit,
    LockedIndex,
    LockedOptional,
    LockedPin,
    LockedSubmodule,
    LockedTarget,
    LockedVariant,
    Mode,
    Override,
)
from resolver.model.message import Message
from resolver.model.problem import PYPI, Indexes
from resolver.model.release import File, Release, Source
from resolver.model.repository import Recipe
from resolver.model.requirement import ComponentRequirement, Requirement
from resolver.model.resolution import Pin, Resolution
from resolver.model.target import Target
from resolver.model.variant import Variant


def build(
    resolution: Resolution,
    builds: Sequence[tuple[Sequence[str], Resolution | Message]],
    catalog: Catalog,
) -> Lock:
    """The lock of a resolution.

    `builds` are the isolated environments: the archives of each (none: all), and its pins.

    An environment without a solution has a message instead, which says why. The lock then has it as
    a warning, and install.sh builds with what is installed already and downloads nothing.
    """
    problem = resolution.problem
    solved = [(archives, tools) for archives, tools in builds if isinstance(tools, Resolution)]
    tool_pins = [pin for _, tools in solved for pin in tools.pins]
    catalog.prefetch_metadata(
        other for pin in (*resolution.pins, *tool_pins) for other in pin.release.others
    )
    facts_in_use = list(applied_facts(resolution))
    of_pins = [constraint for pin in resolution.pins for constraint in pin.because]
    of_tools = [constraint for pin in tool_pins for constraint in pin.because]
    of_builds = [constraint for constraint in of_tools if isinstance(constraint, BuildLine)]
    requirements = _by_project((*of_pins, *of_builds))
    pins = tuple(
        _pin(
            pin,
            requirements,
            catalog,
            external=_external(pin, facts_in_use, resolution.pins, tool_pins),
        )
        for pin in resolution.pins
    )
    build_pins = tuple(
        _pin(pin, tool_requirements, catalog, archives)
        for archives, tools in solved
        for tool_requirements in [
            _by_project(constraint for pin in tools.pins for constraint in pin.because)
        ]
        for pin in tools.pins
    )
    return Lock(
        format=FORMAT,
        stack=problem.stack.name,
        summary=problem.stack.summary,
        summary_zh=problem.stack.summary_zh,
        source=problem.stack.source,
        inputs=problem.digest,
        requires=_sorted(line.text for line in of_pins if isinstance(line, StackLine)),
        target=_target(problem.target),
        index=tuple(_indexes((*pins, *build_pins), problem.indexes)),
        stage=stages(
            pins,
            [fact for fact in facts_in_use if isinstance(fact, facts.After)],
            [pin.release.source for pin in resolution.pins if pin.release.source is not None],
            {
                pin.name: number
                for number, (archives, _) in enumerate(solved)
                for pin in pins
                if pin.mode == "built-apart" and pin.name in (archives or (pin.name,))
            },
        ),
        pin=pins,
        build_pin=build_pins,
        fact=tuple(map(_fact, facts_in_use)),
        driver=tuple(drivers(resolution, facts_in_use)),
        override=tuple(_overrides(resolution, catalog)),
        skipped=resolution.skipped_releases,
        export=tuple(_exports(fact for fact in facts_in_use if isinstance(fact, facts.Exports))),
        absent=tuple(_absent(resolution, facts_in_use)),
        departs=problem.stack.departures,
        warnings=(
            *lock_warnings.warnings(resolution, facts_in_use, catalog),
            *(
                warning
                for pin in tool_pins
                for warning in lock_warnings.on_trust(pin, resolution, catalog)
            ),
            *lock_warnings.unbuilt(pins, builds),
        ),
        notes=(*lock_warnings.notes(problem), *lock_warnings.variants(pins)),
        exclude_newer=problem.policy.exclude_newer.isoformat()
        if problem.policy.exclude_newer
        else "",
        as_of=resolution.as_of,
        newer=resolution.newer_pins,
        imports=problem.stack.checks.imports,
        import_env=dict(problem.stack.checks.env),
        optional=tuple(_optional(facts_in_use)),
    )


def _target(target: Target) -> LockedTarget:
    return LockedTarget(
        name=target.name,
        python=target.python,
        platform=target.platform,
        glibc=".".join(map(str, target.glibc)),
        system={
            key: str(value)
            for key, value in sorted(target.system.items())
            if key not in ("python", "glibc")
        },
    )


def _indexes(pins: Sequence[LockedPin], indexes: Indexes) -> Iterator[LockedIndex]:
    """The indexes that files come from, without the address of pip's own."""
    for name in sorted({pin.index for pin in pins if pin.git is None}):
        url = "" if name == PYPI else read_root(indexes.indexes[name].url, name).url
        yield LockedIndex(name=name, url=url)


def _fact(fact: facts.Fact) -> LockedFact:
    return LockedFact(
        id=fact.id,
        where=fact.where,
        strength=fact.strength,
        reason=fact.reason,
        reason_zh=fact.reason_zh,
        source=str(fact.source),
        checked=fact.checked.isoformat(),
    )


def _pin(
    pin: Pin,
    requirements: Mapping[str, Sequence[BuildLine | Requires]],
    catalog: Catalog,
    builds: Sequence[str] = (),
    external: Iterable[facts.MachineNeed] = (),
) -> LockedPin:
    release = pin.release
    source = release.source
    recipe = _recipe(release)
    requires: list[str] = []
    build_requires: list[str] = []
    fact_requires: dict[str, list[str]] = {}
    for row in requirements.get(pin.name, ()):
        if isinstance(row, BuildLine) or row.source is RequirementSource.BUILD:
            build_requires.append(row.text)
        elif row.is_metadata:
            requires.append(row.text)
        elif row.source is RequirementSource.FACT and row.fact is not None:
            fact_requires.setdefault(row.fact.id, []).append(row.text)
    files = () if source is not None else (release.file, *_interchangeable(pin, catalog))
    return LockedPin(
        name=pin.name,
        version=str(release.version),
        index=release.index,
        mode=_mode(release),
        extras=pin.extras,
        env={
            key: value.replace("{version}", str(release.version))
            for key, value in (recipe.env if recipe else ())
        },
        label=release.builds.label if release.builds is not None else "",
        external=tuple(external),
        yanked=release.file.yanked,
        builds=tuple(builds),
        requires=_sorted(requires),
        build_requires=_sorted(build_requires),
        fact_requires={fact: _sorted(texts) for fact, texts in sorted(fact_requires.items())},
        file=tuple(
            LockedFile(name=file.filename, sha256=file.sha256)
            for file in map(catalog.sha256, files)
        ),
        git=_git(source) if source is not None else None,
        variant=_variant(release.variant) if release.variant is not None else None,
    )


def _variant(variant: Variant) -> LockedVariant:
    return LockedVariant(label=variant.label, properties=variant.properties)


def _by_project(
    constraints: Iterable[Line | Requires],
) -> dict[str, list[BuildLine | Requires]]:
    """Return the requirements of metadata, builds and facts, by the project that has them."""
    requirements: dict[str, list[BuildLine | Requires]] = {}
    for constraint in dict.fromkeys(constraints):
        match constraint:
            case Requires(package=package):
                requirements.setdefault(package.name, []).append(constraint)
            case BuildLine(package=name):
                requirements.setdefault(name, []).append(constraint)
            case StackLine():
                pass
    return requirements


def _sorted(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(texts)))


def _external(
    pin: Pin, facts_in_use: Sequence[facts.Fact], pins: Sequence[Pin], tools: Sequence[Pin]
) -> Iterator[facts.MachineNeed]:
    """What the build of a pin needs of the machine according to the facts, without distributions installed for it."""
    installed = {other.name for other in (pins if _mode(pin.release) == "built-here" else tools)}
    external = (
        fact
        for fact in facts_in_use
        if isinstance(fact, facts.External) and fact.package == pin.name
    )
    return (
        need
        for need in dict.fromkeys(need for fact in external for need in fact.needs)
        if need not in installed
    )


def _recipe(release: Release) -> Recipe | facts.Builds | None:
    """How a release is built, if a fact says so."""
    return release.source.recipe if release.source is not None else release.builds


def _mode(release: Release) -> Mode:
    if release.source is None and release.file.is_wheel:
        return "wheels"
    recipe = _recipe(release)
    return "built-apart" if recipe is None or recipe.isolation else "built-here"


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
            LockedSubmodule(path=row.path, url=row.git, commit=row.commit)
            for row in source.recipe.submodules
        ),
        trust=source.trust,
    )


def _interchangeable(pin: Pin, catalog: Catalog) -> Iterator[File]:
    """Further wheels that would do as well.

    They must have the same requirements, since metadata is per file.
    """
    if pin.release.others:
        requires = sorted(catalog.metadata(pin.release.file).requires_dist)
        for other in pin.release.others:
            with suppress(UnusableFile, WrongRelease):
                if sorted(catalog.metadata(other).requires_dist) == requires:
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
            concerns = fact.counts_for(release) and (not fact.extra or fact.extra in pin.extras)
            so = concerns and all(_is_met(need, resolution) for need in fact.together_with)
            return so and not any(_is_met(need, resolution) for need in fact.unless)
        case facts.Requires():
            return fact.counts_for(release)
        case facts.Constrains():
            return any(resolution.pin(bound.name) is not None for bound in fact.bounds)
        case facts.Metadata() | facts.Builds():
            return not release.file.is_wheel and release.source is None
        case facts.External():
            return _mode(release) != "wheels"
        case facts.Optional():
            return not fact.needs or not all(_is_met(need, resolution) for need in fact.needs)
        case facts.Links():
            return bool(fact.to) and release.file.is_wheel
        case facts.Collides() | facts.Replaces() | facts.Absent() | facts.Exports():
            return True
        case facts.Pairs():
            return False  # it decides nothing


def _is_met(need: facts.Need, resolution: Resolution) -> bool:
    match need:
        case ComponentRequirement():
            return need.is_promised_by(resolution.problem.target.system)
        case Requirement():
            pin = resolution.pin(need.name)
            applies = need.marker is None or need.marker.evaluate(resolution.problem.target.markers)
            return (
                applies
                and pin is not None
                and need.specifier.contains(pin.version, prereleases=True)
            )


def _absent(resolution: Resolution, facts_in_use: Sequence[facts.Fact]) -> Iterator[LockedAbsent]:
    """What must not be installed: the stack's rows, and the other one of two projects that facts keep apart."""
    rows = {
        row.package: (row.reason, row.reason_zh, row.where)
        for row in resolution.problem.stack.absent
    }
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
    rows: dict[str, list[tuple[str, facts.Exports]]] = {}
    for fact in facts_in_use:
        for name, value in fact.env:
            rows.setdefault(name, []).append((value, fact))
    for name, stated in sorted(rows.items()):
        value, first = stated[0]
        for other_value, other in stated:
            if other_value != value:
                either = f'fact = "{first.id}" or "{other.id}"'
                raise InputError(
                    f"the facts `{first.id}` and `{other.id}` give {name} different values",
                    where=f"{first.where}, {other.where}",
                    why=f"{name} is `{value}` in the first and `{other_value}` in the second",
                    hint=f"set one of them aside in the stack: [[relax]] {either}, with a reason",
                )
        optional = all(fact.optional for _, fact in stated)
        yield LockedExport(
            name=name, value=value, optional=optional, facts=tuple(fact.id for _, fact in stated)
        )


def _optional(facts_in_use: Iterable[facts.Fact]) -> Iterator[LockedOptional]:
    """Yield what may fail to start, in the order of the facts."""
    for fact in facts_in_use:
        if isinstance(fact, facts.Optional):
            yield LockedOptional(
                package=fact.package,
                modules=fact.modules,
                scripts=fact.scripts,
                npu=fact.npu,
                fact=fact.id,
            )


def _overrides(resolution: Resolution, catalog: Catalog) -> Iterator[Override]:
    for fact in resolution.problem.facts:
        pin = resolution.pin(fact.package)
        if isinstance(fact, facts.Replaces) and pin is not None and fact.applies_to(pin.version):
            for line in lock_warnings.own_lines(pin, catalog, fact.drop):
                name = text.requirement(line).name
                if name in fact.drop:
                    yield Override(
                        package=pin.name,
                        version=str(pin.version),
                        name=name,
                        dropped=line,
                        fact=fact.id,
                    )
    for pin in resolution.pins:
        if pin.release.source is not None and (source := pin.release.source.fact) is not None:
            for name in source.recipe.drop:
                yield Override(
                    package=pin.name,
                    version=str(pin.version),
                    name=name,
                    dropped=name,
                    fact=source.id,
                )
    yield from resolution.overrides
