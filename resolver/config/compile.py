"""From the content of files to problems: references between the files are resolved and checked."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, Final, TypeGuard

from msgspec.structs import asdict, replace
from packaging.markers import UndefinedComparison, UndefinedEnvironmentName

from resolver.config.decode import (
    ComponentValues,
    parse_need,
    require_known_soc,
    require_known_socs,
)
from resolver.config.fact_rules import compile_facts
from resolver.config.load import Document, Inputs
from resolver.config.schema import IndexesFile, IndexRow, StackFile, SystemsFile, VariantsFile
from resolver.errors import InputError
from resolver.files import digest
from resolver.model import text
from resolver.model.constraint import StackLine
from resolver.model.fact import (
    Builds,
    Constrains,
    Fact,
    Names,
    Need,
    Practice,
    Replaces,
    Requires,
    Sources,
    Strength,
    bounds_of,
    conditions_of,
    needs_of,
    relaxable_needs,
)
from resolver.model.problem import (
    NO_OPTIONS,
    PYPI,
    Binding,
    Index,
    Indexes,
    Policy,
    PolicyOptions,
    Problem,
    Recorded,
    Relaxed,
    RootRequirement,
    Stack,
)
from resolver.model.release import Source
from resolver.model.requirement import Requirement, Value, named_values, nearest, parse_value
from resolver.model.system import SystemVersion
from resolver.model.target import PLATFORMS, Target, default_name
from resolver.model.variant import PropertyRow, TargetFeature

_Path = tuple[str | int, ...]
_PIPS: Final = {PYPI: Index(name=PYPI)}
_FORMAT: Final = 1  # raised when the meaning of the same input changes


def compile_problems(
    inputs: Inputs,
    *,
    options: PolicyOptions = NO_OPTIONS,
    sources: Mapping[str, Source] | None = None,
) -> tuple[Problem, ...]:
    """One problem per target of the stack, in the order of the file.

    `options` replace parts of the stack's own policy. `sources` are the stack's direct references
    as far as they are resolved already; the others are resolved later. Raises InputError with
    file:line:key.
    """
    known = known_values(inputs.systems)
    facts = compile_facts(inputs.facts, inputs.stack, known)
    indexes = _indexes(inputs)
    recorded = _recorded(inputs, indexes)
    stack = _stack(inputs.stack, facts, known)
    facts = tuple(_without_relaxed(facts, stack.relaxed))
    targets = tuple(
        _with_features(target, inputs.variants, known) for target in _targets(inputs.stack, known)
    )
    _require_markers(stack.requirements, facts, targets)
    practices = tuple(
        fact for fact in facts if _is_disabled(fact, inputs.stack.content.stack.practices)
    )
    facts = tuple(fact for fact in facts if fact not in practices)
    policy = options.applied_to(inputs.stack.content.policy)
    digest = _digest(inputs, policy)
    needs = [root.need for root in stack.requirements]
    return tuple(
        Problem(
            stack=stack,
            target=target,
            facts=tuple(fact for fact in facts if _applies(fact, target, needs)),
            policy=policy,
            indexes=indexes,
            digest=digest,
            readings=inputs.readings,
            libraries=_libraries(inputs.systems),
            values=_values(target, facts, known),
            near_canns=_near_canns(target, known),
            sources=dict(sources or {}),
            available_practices=tuple(
                practice for practice in practices if practice.applies_on(target.system)
            ),
            recorded=recorded,
        )
        for target in targets
    )


def _stack(document: Document[StackFile], facts: tuple[Fact, ...], known: ComponentValues) -> Stack:
    content = document.content
    table = content.stack
    practices = _enabled_practices(document, facts)
    requirements = tuple(
        _root_requirement(document, number, known) for number in range(len(table.requires))
    )
    _require_absences(document, requirements)
    return Stack(
        name=table.name,
        summary=table.summary,
        summary_zh=table.summary_zh,
        source=table.source,
        where=document.name,
        requirements=requirements,
        departures=content.departs,
        relaxed=tuple(_relaxed(document, facts)),
        absent=content.absent,
        enabled_practices=practices if not isinstance(content.target, tuple) else (),
        checks=content.check,
    )


def _root_requirement(
    document: Document[StackFile], number: int, known: ComponentValues
) -> RootRequirement:
    line = document.content.stack.requires[number]
    path = ("stack", "requires", number)
    need = document.parse(partial(parse_need, direct=True), line, *path)
    require_known_socs(need, known, document.place(*path))
    return RootRequirement(need=need, origin=StackLine(line, document.line(*path)))


def _require_markers(
    requirements: Iterable[RootRequirement], facts: Iterable[Fact], targets: Iterable[Target]
) -> None:
    """Raise InputError if a marker compares what cannot be compared (PEP 508), or the kernel, which is not known."""
    needs = [(root.need, root.origin.where) for root in requirements]
    for fact in facts:
        needs += [
            (need, fact.where) for need in (*needs_of(fact), *bounds_of(fact), *conditions_of(fact))
        ]
    for need, where in needs:
        if not isinstance(need, Requirement) or need.marker is None:
            continue
        what = f"the marker of `{need}` cannot be evaluated"
        if text.depends_on_kernel(str(need.marker)):
            why = "It depends on the machine's kernel, which is unknown when locking."
            hint = "leave `platform_release` and `platform_version` out of the marker"
            raise InputError(what, where=where, why=why, hint=hint)
        try:
            for target in targets:
                need.marker.evaluate(target.markers)
        except (UndefinedComparison, UndefinedEnvironmentName) as error:
            hint = "a marker compares a variable of PEP 508 with a text, such as `python_version < '3.12'`"
            raise InputError(what, where=where, why=str(error), hint=hint) from None


def _relaxed(document: Document[StackFile], facts: tuple[Fact, ...]) -> Iterator[Relaxed]:
    """The facts that the stack sets aside; never an enforced one."""
    known = {fact.id: fact for fact in facts}
    for number, row in enumerate(document.content.relax):
        fact = known.get(row.fact)
        if fact is None:
            raise document.unknown("there is no fact", row.fact, known, "relax", number, "fact")
        if fact.strength is Strength.ENFORCED:
            why = f"it is enforced: an installer or the package itself checks it; see {fact.where}"
            where = document.place("relax", number, "fact")
            raise InputError(f"the fact `{fact.id}` cannot be relaxed", where=where, why=why)
        needs = [str(need) for need in relaxable_needs(fact)]
        for at, need in enumerate(row.needs):
            if need not in needs:
                raise InputError(
                    f"the fact `{fact.id}` has no need `{need}`",
                    where=document.place("relax", number, "needs", at),
                    hint=f"its needs are {', '.join(needs)}"
                    if needs
                    else "it has no needs: leave `needs` out",
                )
        yield Relaxed(
            fact=fact, needs=row.needs, reason=row.reason, where=document.line("relax", number)
        )


def _enabled_practices(document: Document[StackFile], facts: tuple[Fact, ...]) -> tuple[str, ...]:
    """The practices that the stack turns on by name."""
    known = [fact.id for fact in facts if fact.strength is Strength.PRACTICE]
    names = document.content.stack.practices
    if names == "all":
        return ()
    for number, name in enumerate(names):
        if name not in known:
            raise document.unknown(
                "there is no practice", name, known, "stack", "practices", number
            )
    return names


def _is_disabled(fact: Fact, enabled: Sequence[str]) -> TypeGuard[Practice]:
    """Whether a fact is a practice that the stack does not turn on."""
    return fact.strength is Strength.PRACTICE and enabled != "all" and fact.id not in enabled


def _require_absences(
    document: Document[StackFile], requirements: Sequence[RootRequirement]
) -> None:
    """Raise InputError where the stack keeps a distribution out that it requires itself."""
    origins = {
        root.need.name: root.origin for root in requirements if isinstance(root.need, Requirement)
    }
    for number, row in enumerate(document.content.absent):
        if origin := origins.get(row.package):
            raise InputError(
                f"the stack both asks for `{row.package}` and lists it as absent",
                where=document.place("absent", number, "package"),
                why=f"`{origin.text}` is asked for at {origin.where}",
            )


def _without_relaxed(facts: Iterable[Fact], relaxed: Sequence[Relaxed]) -> Iterator[Fact]:
    """The facts in force, without the needs that the stack sets aside."""
    for fact in facts:
        rows = [row for row in relaxed if row.fact.id == fact.id]
        if not rows:
            yield fact
        elif isinstance(fact, Requires) and all(row.needs for row in rows):
            ignored = {need for row in rows for need in row.needs}
            if needs := tuple(need for need in fact.needs if str(need) not in ignored):
                yield replace(fact, needs=needs)
        elif isinstance(fact, Constrains) and all(row.needs for row in rows):
            ignored = {need for row in rows for need in row.needs}
            if bounds := tuple(bound for bound in fact.bounds if str(bound) not in ignored):
                yield replace(fact, bounds=bounds)


def _applies(fact: Fact, target: Target, needs: Iterable[Need]) -> bool:
    match fact:
        case Builds() | Sources():
            return all(need.is_promised_by(target.system) for need in fact.when)
        case Requires() | Replaces():
            return fact.applies_on(target.system)
        case Names():
            return fact.concerns(target.system, needs)
        case _:
            return True


def _targets(document: Document[StackFile], known: ComponentValues) -> tuple[Target, ...]:
    tables = document.content.target
    if not tables:
        raise InputError("the stack has no target", where=document.place("target"))
    targets: dict[str, Target] = {}
    for number, row in enumerate(tables if isinstance(tables, tuple) else (tables,)):
        path: _Path = ("target", number) if isinstance(tables, tuple) else ("target",)
        values = {key: value for key, value in asdict(row.system).items() if value}
        places = {key: (*path, "system", key) for key in values}
        for key, value in (("python", row.python), ("glibc", row.glibc)):
            values[key], places[key] = value, (*path, key)
        system = {
            component: parse_value(component, values[component]) for component in sorted(values)
        }
        if "soc" in system:
            require_known_soc(system["soc"], known, document.place(*places["soc"]))
        major, minor = (int(part) for part in row.glibc.split("."))
        name = row.name or default_name(row.python, row.platform, system)
        if name in targets:
            raise InputError(f"two targets are named `{name}`", where=document.place(*path))
        targets[name] = Target(
            name=name,
            python=row.python,
            platform=row.platform,
            glibc=(major, minor),
            system=system,
            places={component: document.line(*places[component]) for component in system},
        )
    return tuple(targets.values())


def _with_features(
    target: Target, variants: Document[VariantsFile] | None, known: ComponentValues
) -> Target:
    """Return the target with what it has of the properties of wheel variants.

    Raises InputError for rows that err.
    """
    if variants is None:
        return target
    features: list[TargetFeature] = []
    for number, row in enumerate(variants.content.property):
        _require_sound(row, variants, number, known, [feature.name for feature in features])
        value = target.system.get(row.component)
        features.append(row.for_value("" if value is None else str(value)))
    return dataclasses.replace(target, features=tuple(features))


def _require_sound(
    row: PropertyRow,
    variants: Document[VariantsFile],
    number: int,
    known: ComponentValues,
    earlier: Sequence[str],
) -> None:
    """Raise InputError if a row has the wrong form, repeats an earlier one or names what is not known."""
    if fault := row.fault():
        raise InputError(fault, where=variants.place("property", number))
    if row.name in earlier:
        raise InputError(
            f"two rows are about `{row.name}`", where=variants.place("property", number, "name")
        )
    if row.component not in known:
        raise variants.unknown(
            "there is no component", row.component, known, "property", number, "component"
        )
    for value in row.values:
        texts = list(map(str, known[row.component]))
        if value not in texts:
            what = f"there is no {row.component}"
            raise variants.unknown(what, value, texts, "property", number, "values", value)


def known_values(systems: Document[SystemsFile] | None) -> ComponentValues:
    """The values in systems.toml, by component."""
    if systems is None:
        return {}
    return {
        component: tuple(
            systems.parse(
                partial(parse_value, component), value, "component", component, "known", number
            )
            for number, value in enumerate(row.known)
        )
        for component, row in systems.content.component.items()
    }


def _libraries(systems: Document[SystemsFile] | None) -> frozenset[str]:
    """Return the libraries that come with any component, whether or not a target states it: then it is not checked."""
    rows = systems.content.component.values() if systems is not None else ()
    return frozenset(chain.from_iterable(row.libraries for row in rows))


def _values(
    target: Target, facts: Iterable[Fact], known: ComponentValues
) -> dict[str, tuple[Value, ...]]:
    """The values of the target's components that are known or that facts name, the nearest to the target's first."""
    needs = [need for fact in facts if isinstance(fact, Requires) for need in fact.needs]
    return {
        component: nearest(
            value,
            (
                value,
                *known.get(component, ()),
                *chain(*(named_values(need, component) for need in needs)),
            ),
        )
        for component, value in target.system.items()
    }


def _near_canns(target: Target, known: ComponentValues) -> tuple[str, ...]:
    """The known releases of CANN just before and after the target's; none if that is a build of a known one."""
    cann = target.system.get("cann")
    releases = sorted(value for value in known.get("cann", ()) if isinstance(value, SystemVersion))
    if not isinstance(cann, SystemVersion) or any(map(cann.same_release, releases)):
        return ()
    older = [str(release) for release in releases if release < cann]
    newer = [str(release) for release in releases if release > cann]
    return (*older[-1:], *newer[:1])


def _indexes(inputs: Inputs) -> Indexes:
    """Return the indexes of the stack and, unless it asks for its own only, of matrices/indexes.toml after them."""
    nothing = Indexes(indexes=_PIPS, bindings=())
    shipped = nothing if inputs.indexes is None else _compile_indexes(inputs.indexes, nothing)
    stack = inputs.stack.content
    is_alone = stack.policy.own_indexes_only
    if not is_alone and not stack.index and not stack.binding:
        return shipped
    base = nothing if is_alone else shipped
    indexes = _compile_indexes(inputs.stack, base)
    return replace(
        indexes,
        bindings=(*indexes.bindings, *base.bindings),
        own_indexes=frozenset(row.name for row in stack.index),
        own_bindings=indexes.bindings,
        own_only=is_alone,
        shipped=shipped.bindings,
    )


def _recorded(inputs: Inputs, indexes: Indexes) -> tuple[Recorded, ...]:
    """Return what is recorded about files of the problem's indexes; the stack's own row about a file counts.

    An index that the stack defines itself is another one than the index of recorded/ with its name.
    """
    rows = {(row.index, row.filename): row for row in inputs.stack.content.recorded}
    for document in inputs.recorded:
        for row in document.content.recorded:
            if row.index in indexes.indexes and row.index not in indexes.own_indexes:
                rows.setdefault((row.index, row.filename), row)
    return tuple(rows.values())


def _compile_indexes(
    document: Document[StackFile] | Document[IndexesFile], base: Indexes
) -> Indexes:
    """Return the indexes of a file added to those of `base`, and the bindings of the file alone."""
    rows: Sequence[IndexRow] = document.content.index
    binding_rows: Sequence[Binding] = document.content.binding
    indexes = dict(base.indexes)
    for number, row in enumerate(rows):
        place = document.place("index", number, "name")
        if row.name in (earlier.name for earlier in rows[:number]):
            raise InputError(f"two indexes are named `{row.name}`", where=place)
        if (row.url == "") != (row.name == PYPI):
            why = "`pypi` is the index that pip on this machine is configured with; every other index needs an address"
            raise InputError(
                f"index `{row.name}` {'takes no' if row.url else 'needs a'} url",
                where=place,
                why=why,
            )
        indexes[row.name] = Index(
            name=row.name, url=row.url, mirrors=row.mirrors, complete=row.complete
        )
    for number, binding in enumerate(binding_rows):
        for position, name in enumerate(binding.indexes):
            if name not in indexes:
                raise document.unknown(
                    "there is no index", name, indexes, "binding", number, "indexes", position
                )
    bindings: dict[_Path, Binding] = {
        ("binding", number): binding for number, binding in enumerate(binding_rows)
    }
    for number, row in enumerate(rows):
        if row.packages:
            bindings["index", number] = Binding(packages=row.packages, indexes=(row.name,))
    _require_effect(document, bindings)
    return Indexes(indexes=indexes, bindings=tuple(bindings.values()))


def _require_effect(
    document: Document[StackFile] | Document[IndexesFile], bindings: Mapping[_Path, Binding]
) -> None:
    """Raise InputError where a row binds a project that earlier ones bind already on each of its platforms."""
    bound: dict[tuple[str, str], _Path] = {}
    for row, binding in bindings.items():
        platforms = binding.platforms or PLATFORMS
        for at, name in enumerate(binding.packages):
            place = (*row, "packages", at)
            earlier = [bound.get((name, platform)) for platform in platforms]
            if earlier[0] is not None and None not in earlier:
                raise InputError(
                    f"`{name}` is already bound"
                    if name != "*"
                    else "all other projects are already bound",
                    where=document.place(*place),
                    why=f"the first binding counts, and that is the one at {document.line(*earlier[0])}",
                )
            for platform in platforms:
                bound.setdefault((name, platform), place)


def _digest(inputs: Inputs, policy: Policy) -> str:
    documents: list[Document[Any]] = [inputs.stack, *inputs.facts, *inputs.recorded]
    documents += filter(None, (inputs.indexes, inputs.systems, inputs.variants))
    parts = {
        "format": _FORMAT,
        "exclude-newer": policy.exclude_newer.isoformat() if policy.exclude_newer else "",
        "as-of": policy.as_of,
        "files": [[document.name.rpartition("/")[2], document.digest] for document in documents],
    }
    return digest(parts)
