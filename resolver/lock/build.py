"""Make a lock of a resolution. The catalog gives the sha256 and the metadata of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain

from resolver.errors import InputError, WrongRelease
from resolver.index.parse.address import read_root
from resolver.index.protocol import Catalog, UnusableFile
from resolver.lock import warnings as lock_warnings
from resolver.lock.applied_facts import applied_facts
from resolver.lock.order import stages
from resolver.lock.warnings import drivers
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.component import Component
from resolver.model.constraint import BuildLine, ReleaseRequires, RequirementSource, StackLine
from resolver.model.lock import (
    FORMAT,
    Lock,
    LockedAbsent,
    LockedComponent,
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
from resolver.model.package import Package
from resolver.model.problem import PYPI, Indexes
from resolver.model.release import File, Release, Source
from resolver.model.repository import Recipe
from resolver.model.resolution import Pin, Resolution
from resolver.model.target import Target
from resolver.model.variant import Variant
from resolver.phrase import phrase

# An isolated build environment: the names of the projects that are built in it (an empty list
# stands for all that are built in isolation), and the resolution of its tools.
_Environment = tuple[Sequence[str], Resolution]


def build(
    resolution: Resolution,
    builds: Sequence[tuple[Sequence[str], Resolution | Message]],
    catalog: Catalog,
) -> Lock:
    """Return the lock of a resolution.

    `builds` has the isolated build environments (see `_Environment`). If the tools of one have no
    solution, a message takes the place of the resolution and says why. The lock then has a warning,
    and install.sh builds with the tools that are installed.

    Raises IndexFailure if a file cannot be hashed or its metadata cannot be read, and InputError if
    facts contradict each other.
    """
    problem = resolution.problem
    stack = problem.stack
    environments: list[_Environment] = []
    for archives, tools in builds:
        if isinstance(tools, Resolution):
            environments.append((archives, tools))
    tool_pins = list(chain.from_iterable(tools.pins for _, tools in environments))
    similar_files: list[File] = []
    for pin in (*resolution.pins, *tool_pins):
        similar_files += pin.release.others
    catalog.prefetch_metadata(similar_files)
    facts_in_use = list(applied_facts(resolution))
    pins = _pins(resolution, tool_pins, facts_in_use, catalog)
    build_pins = _build_pins(environments, catalog)
    warnings = [
        *lock_warnings.warnings(resolution, facts_in_use, catalog),
        *chain.from_iterable(lock_warnings.on_trust(pin, resolution, catalog) for pin in tool_pins),
        *lock_warnings.unbuilt(pins, builds),
    ]
    cutoff = problem.policy.exclude_newer
    return Lock(
        format=FORMAT,
        stack=stack.name,
        summary=stack.summary,
        summary_zh=stack.summary_zh,
        source=stack.source,
        inputs=problem.digest,
        requires=_sorted(_stack_lines(resolution.pins)),
        target=_target(problem.target),
        index=tuple(_indexes((*pins, *build_pins), problem.indexes)),
        stage=stages(
            pins,
            [fact for fact in facts_in_use if isinstance(fact, facts.After)],
            [pin.release.source for pin in resolution.pins if pin.release.source is not None],
            _environment_numbers(pins, [archives for archives, _ in environments]),
        ),
        pin=tuple(pins),
        build_pin=tuple(build_pins),
        fact=tuple(_fact(fact) for fact in facts_in_use),
        driver=tuple(drivers(resolution, facts_in_use)),
        override=tuple(_overrides(resolution, catalog)),
        skipped=resolution.skipped_releases,
        export=tuple(_exports(facts_in_use)),
        absent=tuple(_absent(resolution, facts_in_use)),
        departs=stack.departures,
        warnings=tuple(warnings),
        notes=(*lock_warnings.notes(problem), *lock_warnings.variants(pins)),
        exclude_newer=cutoff.isoformat() if cutoff is not None else "",
        as_of=resolution.as_of,
        newer=resolution.newer_pins,
        imports=stack.checks.imports,
        import_env=dict(stack.checks.env),
        optional=tuple(_optional(facts_in_use)),
    )


def _stack_lines(pins: Iterable[Pin]) -> Iterator[str]:
    """Yield the lines of the stack that require these pins. A line can come several times."""
    for pin in pins:
        for constraint in pin.because:
            if isinstance(constraint, StackLine):
                yield constraint.text


def _pins(
    resolution: Resolution,
    tool_pins: Sequence[Pin],
    facts_in_use: Sequence[facts.Fact],
    catalog: Catalog,
) -> list[LockedPin]:
    """Return the pins of a resolution in the form of a lock. Raises IndexFailure.

    `tool_pins` are the tools of the isolated build environments.
    """
    requirements = _by_project(resolution.pins, tool_pins)
    pins = []
    for pin in resolution.pins:
        tools = resolution.pins if _mode(pin.release) == "built-here" else tool_pins
        external = _external(pin, facts_in_use, tools)
        pins.append(_pin(pin, requirements, catalog, external=external))
    return pins


def _build_pins(environments: Iterable[_Environment], catalog: Catalog) -> list[LockedPin]:
    """Return the tools of the isolated build environments. Raises IndexFailure."""
    build_pins: list[LockedPin] = []
    for archives, tools in environments:
        requirements = _by_project(tools.pins)
        build_pins += [_pin(pin, requirements, catalog, builds=archives) for pin in tools.pins]
    return build_pins


def _target(target: Target) -> LockedTarget:
    """Return the description of a target for a lock, with the components that it states."""
    system = {name: str(value) for name, value in sorted(target.stated.items())}
    return LockedTarget(
        name=target.name,
        python=target.python,
        platform=target.platform,
        glibc=".".join(map(str, target.glibc)),
        system=system,
        component=tuple(_component(target.components[name]) for name in system),
    )


def _component(component: Component) -> LockedComponent:
    """Return a component of the target as the lock describes it."""
    return LockedComponent(
        name=component.name,
        title=component.title,
        title_zh=component.title_zh,
        minimum=component.minimum,
    )


def _indexes(pins: Iterable[LockedPin], indexes: Indexes) -> Iterator[LockedIndex]:
    """Yield the indexes of these pins, by name.

    The default index of pip has no address in a lock: on another machine it may be another one.
    """
    for name in sorted({pin.index for pin in pins if pin.git is None}):
        url = "" if name == PYPI else read_root(indexes.indexes[name].url, name).url
        yield LockedIndex(name=name, url=url)


def _environment_numbers(
    pins: Iterable[LockedPin], environments: Sequence[Sequence[str]]
) -> dict[str, int]:
    """Return the number of the isolated environment in which each pin is built, by name.

    `environments` has, for each environment, the names of the projects that are built in it; an
    empty list stands for all projects.
    Pins that are not built in isolation are left out.
    """
    built_apart = [pin.name for pin in pins if pin.mode == "built-apart"]
    numbers = {}
    for number, archives in enumerate(environments):
        for name in built_apart:
            if not archives or name in archives:
                numbers[name] = number
    return numbers


def _fact(fact: facts.Fact) -> LockedFact:
    """Return a fact as the lock cites it."""
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
    requirements: Mapping[str, Sequence[BuildLine | ReleaseRequires]],
    catalog: Catalog,
    *,
    builds: Sequence[str] = (),
    external: Iterable[facts.MachineNeed] = (),
) -> LockedPin:
    """Return a pin in the form of a lock, with its files and requirements.

    `requirements` has the requirements of all projects (`_by_project`). For a build tool, `builds`
    has the names of the projects that are built with it. `external` has the needs of the pin's
    build that only the machine can meet. Raises IndexFailure if a file cannot be hashed.
    """
    release = pin.release
    version = str(release.version)
    requires: list[str] = []
    build_requires: list[str] = []
    fact_requires: dict[str, list[str]] = {}
    for constraint in requirements.get(pin.name, ()):
        match constraint:
            case BuildLine() | ReleaseRequires(source=RequirementSource.BUILD):
                build_requires.append(constraint.text)
            case ReleaseRequires() if constraint.is_metadata:
                requires.append(constraint.text)
            case ReleaseRequires(source=RequirementSource.FACT, fact=fact) if fact is not None:
                fact_requires.setdefault(fact.id, []).append(constraint.text)
            case ReleaseRequires(override=StackLine() as line):
                fact_requires.setdefault(line.where, []).append(constraint.text)
            case _:
                pass  # requirements of its binaries, which follow from its files
    recipe = _recipe(release)
    variables = recipe.env if recipe is not None else ()
    files = [] if release.source is not None else [release.file, *_interchangeable(pin, catalog)]
    locked_files = [catalog.sha256(file) for file in files]
    return LockedPin(
        name=pin.name,
        version=version,
        index=release.index,
        mode=_mode(release),
        extras=pin.extras,
        env={key: value.replace("{version}", version) for key, value in variables},
        label=release.builds.label if release.builds is not None else "",
        external=tuple(external),
        yanked=release.file.yanked,
        builds=tuple(builds),
        requires=_sorted(requires),
        build_requires=_sorted(build_requires),
        fact_requires={fact: _sorted(texts) for fact, texts in sorted(fact_requires.items())},
        file=tuple(LockedFile(name=file.filename, sha256=file.sha256) for file in locked_files),
        git=_git(release.source) if release.source is not None else None,
        variant=_variant(release.variant) if release.variant is not None else None,
    )


def _variant(variant: Variant) -> LockedVariant:
    """Return the description of a wheel's variant (PEP 825) for a lock."""
    return LockedVariant(label=variant.label, properties=variant.properties)


def _by_project(
    pins: Iterable[Pin], build_tools: Iterable[Pin] = ()
) -> dict[str, list[BuildLine | ReleaseRequires]]:
    """Return the requirements on these pins, by the project that has the requirement.

    Of `build_tools`, only the requirements of builds are included. Lines of the stack are left out.
    """
    requirements: dict[str, list[BuildLine | ReleaseRequires]] = {}
    for pin in pins:
        for constraint in pin.because:
            match constraint:
                case BuildLine(project=name) | ReleaseRequires(package=Package(name=name)):
                    requirements.setdefault(name, []).append(constraint)
                case StackLine():
                    pass
    for pin in build_tools:
        for constraint in pin.because:
            if isinstance(constraint, BuildLine):
                requirements.setdefault(constraint.project, []).append(constraint)
    return requirements


def _sorted(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the texts sorted, each once."""
    return tuple(sorted(set(texts)))


def _external(
    pin: Pin, facts_in_use: Iterable[facts.Fact], installed: Iterable[Pin]
) -> dict[facts.MachineNeed, None]:
    """Return the needs of a pin's build that only the machine can meet, such as a C compiler.

    Facts state them. A need is left out if an `installed` pin has its name, such as cmake. The keys
    of the result are the needs, in the order of the facts.
    """
    names = {other.name for other in installed}
    needs: dict[facts.MachineNeed, None] = {}
    for fact in facts_in_use:
        if isinstance(fact, facts.External) and fact.package == pin.name:
            needs |= dict.fromkeys(need for need in fact.needs if need not in names)
    return needs


def _recipe(release: Release) -> Recipe | facts.Builds | None:
    """Return the recipe for building a release from a commit or an archive; None without one."""
    return release.source.recipe if release.source is not None else release.builds


def _mode(release: Release) -> Mode:
    """Return how install.sh installs a release.

    It installs a wheel, builds it in an isolated environment, or builds it in the environment.
    """
    if release.source is None and release.file.is_wheel:
        return "wheels"
    recipe = _recipe(release)
    return "built-apart" if recipe is None or recipe.isolation else "built-here"


def _git(source: Source) -> LockedGit:
    """Return the description of the source of a release from a commit, for a lock."""
    recipe = source.recipe
    return LockedGit(
        url=source.url,
        commit=source.commit,
        ref=source.ref,
        subdirectory=source.subdirectory,
        editable=recipe.editable,
        steps=recipe.steps,
        rewrites=recipe.rewrites,
        submodules=tuple(
            LockedSubmodule(path=submodule.path, url=submodule.git, commit=submodule.commit)
            for submodule in recipe.submodules
        ),
        trust=source.trust,
    )


def _interchangeable(pin: Pin, catalog: Catalog) -> Iterator[File]:
    """Yield further wheels of a pin's release that may be installed in place of its file.

    Their metadata must have the same requirements, since each wheel has metadata of its own. A
    wheel whose metadata cannot be used is left out.
    """
    if not pin.release.others:
        return
    requires = sorted(catalog.metadata(pin.release.file).requires_dist)
    for other in pin.release.others:
        with suppress(UnusableFile, WrongRelease):
            if sorted(catalog.metadata(other).requires_dist) == requires:
                yield other


def _absent(resolution: Resolution, facts_in_use: Iterable[facts.Fact]) -> Iterator[LockedAbsent]:
    """Yield the projects that must not be installed, by name.

    Both the stack and facts can exclude a project; the reason of the stack counts first.
    """
    absent: dict[str, LockedAbsent] = {}
    for excluded in resolution.problem.stack.absent:
        absent[excluded.package] = LockedAbsent(
            name=excluded.package,
            reason=excluded.reason,
            reason_zh=excluded.reason_zh,
            because=excluded.where,
        )
    for fact in facts_in_use:
        if not isinstance(fact, (facts.Collides, facts.Absent)):
            continue
        # The fact says that two projects must not be installed together. At least one of them is
        # pinned, since the fact is in use.
        name = fact.package if resolution.pin(fact.package) is None else fact.other
        if resolution.pin(name) is None and name not in absent:
            absent[name] = LockedAbsent(
                name=name, reason=fact.reason, reason_zh=fact.reason_zh, because=fact.id
            )
    for project in sorted(absent):
        yield absent[project]


def _exports(facts_in_use: Iterable[facts.Fact]) -> Iterator[LockedExport]:
    """Yield the environment variables that facts set, by name.

    A variable is optional if all facts that set it say so. Raises InputError if two facts give a
    variable different values.
    """
    stated: dict[str, list[tuple[str, facts.Exports]]] = {}
    for fact in facts_in_use:
        if isinstance(fact, facts.Exports):
            for name, value in fact.env:
                stated.setdefault(name, []).append((value, fact))
    for name in sorted(stated):
        value, first = stated[name][0]
        for other_value, other in stated[name]:
            if other_value != value:
                raise InputError(
                    phrase(
                        "the facts `{fact}` and `{other}` give {name} different values",
                        fact=first.id,
                        other=other.id,
                        name=name,
                    ),
                    where=f"{first.where}, {other.where}",
                    why=phrase(
                        "{name} is `{value}` in the first and `{other}` in the second",
                        name=name,
                        value=value,
                        other=other_value,
                    ),
                    hint=phrase(
                        "set one of them aside in the stack: "
                        '[[relax]] fact = "{fact}" or "{other}", with a reason',
                        fact=first.id,
                        other=other.id,
                    ),
                )
        yield LockedExport(
            name=name,
            value=value,
            optional=all(fact.optional for _, fact in stated[name]),
            facts=tuple(fact.id for _, fact in stated[name]),
        )


def _optional(facts_in_use: Iterable[facts.Fact]) -> Iterator[LockedOptional]:
    """Yield the modules and commands that may fail to start, in the order of the facts."""
    for fact in facts_in_use:
        if isinstance(fact, facts.Optional):
            yield LockedOptional(
                package=fact.package,
                modules=fact.modules,
                scripts=fact.scripts,
                device=fact.device,
                fact=fact.id,
            )


def _overrides(resolution: Resolution, catalog: Catalog) -> Iterator[Override]:
    """Yield the requirements of pins that the lock ignores.

    Requirements that a `replaces` fact drops come first, then those of recipes of commits, then the
    overrides of the resolution (of absent projects, for example).
    """
    for fact in resolution.problem.facts:
        pin = resolution.pin(fact.package)
        if not isinstance(fact, facts.Replaces) or pin is None or not fact.applies_to(pin.version):
            continue
        for line in lock_warnings.own_lines(pin, catalog, fact.drop):
            required = text.requirement(line).name
            if required in fact.drop:
                yield _override(pin, required, line, fact)
    for pin in resolution.pins:
        source = pin.release.source
        if source is None or source.fact is None:
            continue
        for name in source.fact.recipe.drop:
            yield _override(pin, name, name, source.fact)
    yield from resolution.overrides


def _override(pin: Pin, name: str, line: str, fact: facts.Fact) -> Override:
    """Return the requirement `line` of a pin on the project `name`, which a fact drops."""
    version = str(pin.version)
    return Override(package=pin.name, version=version, name=name, dropped=line, fact=fact.id)
