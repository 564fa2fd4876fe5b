"""From schema types to problems. Pure, and the only place where schema and model meet."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeGuard

from msgspec.structs import asdict, replace

from resolver.config import schema
from resolver.config.document import Document
from resolver.config.facts import compile_facts
from resolver.config.load import Inputs
from resolver.config.needs import known_values, parse_env, parse_need, parse_project, require_known, require_markers
from resolver.config.recorded import compile_recorded, with_recorded
from resolver.errors import InputError
from resolver.json_text import digest
from resolver.model.component import COMPONENTS, Value, named_values, nearest, parse_value
from resolver.model.fact import Builds, Fact, Names, Need, Practice, Requires, Strength
from resolver.model.index import PYPI, Binding, Index, Indexes
from resolver.model.origin import StackLine
from resolver.model.problem import Absence, Ask, Checks, Departure, Policy, Problem, Relaxed, Stack
from resolver.model.requirement import Requirement
from resolver.model.source import Source
from resolver.model.system import SystemVersion
from resolver.model.target import PLATFORMS, Target, default_name
from resolver.suggestions import did_you_mean

_Path = tuple[str | int, ...]
_Document = Document[schema.StackFile] | Document[schema.IndexesFile]
_FORMAT: Final = 1  # raised when the meaning of the same input changes


def compile_problems(
    inputs: Inputs, *, exclude_newer: dt.datetime | None = None, sources: Mapping[str, Source] | None = None
) -> tuple[Problem, ...]:
    """One problem per target of the stack, in the order of the file.

    `exclude_newer` overrides the stack's own cut-off. `sources` are the stack's direct references as far as
    they are resolved already; without them, they are resolved later. Raises InputError with file:line:key.
    """
    own = Document(inputs.stack.name, inputs.stack.text, inputs.stack.content.fact, ("fact",))
    facts = compile_facts((*inputs.facts, own), inputs.systems)
    indexes = _indexes(inputs)
    stack = _stack(inputs.stack, facts, indexes, inputs.systems)
    indexes = with_recorded(indexes, stack.recorded)
    facts = _without(facts, stack.relaxed)
    practices = tuple(fact for fact in facts if _is_off(fact, inputs.stack.content.stack.practices))
    facts = tuple(fact for fact in facts if fact not in practices)
    policy = _policy(inputs.stack, exclude_newer)
    targets = _targets(inputs.stack, inputs.systems)
    require_markers(stack.asks, targets)
    digest = _digest(inputs, policy)
    needs = [ask.need for ask in stack.asks]
    return tuple(
        Problem(
            stack=stack,
            target=target,
            facts=tuple(fact for fact in facts if _applies(fact, target, needs)),
            policy=policy,
            indexes=indexes,
            digest=digest,
            readings=inputs.readings,
            values=_values(target, facts, inputs.systems),
            unknown=_unknown(target, inputs.systems),
            sources=dict(sources or {}),
            practices=practices,
        )
        for target in targets
    )


def _stack(
    document: Document[schema.StackFile],
    facts: tuple[Fact, ...],
    indexes: Indexes,
    systems: Document[schema.SystemsFile] | None,
) -> Stack:
    table = document.content.stack
    practices = tuple(_named_practices(document, facts))
    asks = []
    if not table.requires:
        raise InputError(
            "the stack asks for nothing",
            where=document.place("stack", "requires"),
            hint='write requires = ["torch-npu==2.8.0", …], one requirement for each project to install',
        )
    for number, line in enumerate(table.requires):
        need = parse_need(document, line, systems, "stack", "requires", number, direct=True)
        asks.append(Ask(need=need, origin=StackLine(line, document.line("stack", "requires", number))))
    return Stack(
        name=table.name,
        summary=table.summary,
        summary_zh=table.summary_zh or "",
        source=table.source,
        where=document.name,
        asks=tuple(asks),
        departures=tuple(
            Departure(**{key: value or "" for key, value in asdict(row).items()}) for row in document.content.departs
        ),
        relaxed=tuple(_relaxed(document, facts)),
        absent=tuple(_absences(document, asks)),
        practices=practices if not isinstance(document.content.target, list) else (),
        recorded=tuple(compile_recorded(document, indexes)),
        checks=Checks(
            imports=tuple(document.content.check.imports),
            env=parse_env(document, document.content.check.env, "check", "env"),
        ),
    )


def _relaxed(document: Document[schema.StackFile], facts: tuple[Fact, ...]) -> Iterator[Relaxed]:
    """The facts that the stack sets aside; never an enforced one."""
    known = {fact.id: fact for fact in facts}
    for number, row in enumerate(document.content.relax):
        fact = known.get(row.fact)
        if fact is None:
            raise InputError(
                f"there is no fact `{row.fact}` to relax",
                where=document.place("relax", number, "fact"),
                hint=did_you_mean(row.fact, known, "facts are named by their `id`"),
            )
        if fact.strength is Strength.ENFORCED:
            raise InputError(
                f"the fact `{fact.id}` cannot be relaxed",
                where=document.place("relax", number, "fact"),
                why="it is enforced: an installer or the package itself checks it",
                hint=f"see {fact.where}",
            )
        stated = [str(need) for need in fact.needs] if isinstance(fact, Requires) else []
        for at, need in enumerate(row.needs or ()):
            if need not in stated:
                raise InputError(
                    f"the fact `{fact.id}` has no need `{need}`",
                    where=document.place("relax", number, "needs", at),
                    hint=f"its needs are {', '.join(stated)}" if stated else "it has no needs: leave `needs` out",
                )
        yield Relaxed(fact=fact, needs=tuple(row.needs or ()), reason=row.reason, where=document.line("relax", number))


def _named_practices(document: Document[schema.StackFile], facts: tuple[Fact, ...]) -> Iterator[str]:
    """The practices that the stack turns on by name."""
    known = [fact.id for fact in facts if fact.strength is Strength.PRACTICE]
    names = document.content.stack.practices
    for number, name in enumerate(names if isinstance(names, list) else ()):
        if name not in known:
            raise InputError(
                f"there is no practice `{name}`",
                where=document.place("stack", "practices", number),
                hint=did_you_mean(name, known, f"known are {', '.join(sorted(known)) or 'none'}"),
            )
        yield name


def _is_off(fact: Fact, named: Sequence[str]) -> TypeGuard[Practice]:
    """Whether a fact is a practice that the stack does not turn on."""
    return fact.strength is Strength.PRACTICE and named != "all" and fact.id not in named


def _absences(document: Document[schema.StackFile], asks: Sequence[Ask]) -> Iterator[Absence]:
    """The distributions that the stack excludes; never one that it requires itself."""
    known: dict[str, str] = {}
    for number, row in enumerate(document.content.absent):
        package = parse_project(document, row.package, "absent", number, "package")
        where = document.line("absent", number)
        if package in known:
            raise InputError(
                f"`{package}` is listed as absent twice",
                where=document.place("absent", number, "package"),
                why=f"the other row is at {known[package]}",
            )
        known[package] = where
        for ask in asks:
            if isinstance(ask.need, Requirement) and ask.need.name == package:
                raise InputError(
                    f"the stack both asks for `{package}` and lists it as absent",
                    where=document.place("absent", number, "package"),
                    why=f"`{ask.origin.text}` is asked for at {ask.origin.where}",
                    hint="remove one of the two lines",
                )
        reason = " ".join(row.reason.split())
        if not reason:
            raise InputError(
                "the row has an empty reason",
                where=document.place("absent", number, "reason"),
                hint="give the reason in a sentence",
            )
        yield Absence(package=package, reason=reason, reason_zh=" ".join((row.reason_zh or "").split()), where=where)


def _without(facts: tuple[Fact, ...], relaxed: tuple[Relaxed, ...]) -> tuple[Fact, ...]:
    """The facts that remain, some with fewer needs."""
    for row in relaxed:
        kept: list[Fact] = []
        for fact in facts:
            if fact.id != row.fact.id:
                kept.append(fact)
            elif row.needs and isinstance(fact, Requires):
                needs = tuple(need for need in fact.needs if str(need) not in row.needs)
                kept += [replace(fact, needs=needs)] if needs else []
        facts = tuple(kept)
    return facts


def _applies(fact: Fact, target: Target, asked: Iterable[Need]) -> bool:
    match fact:
        case Builds():
            return all(need.is_promised_by(target.system) for need in fact.when)
        case Names():
            return fact.concerns(target.system, asked)
        case _:
            return True


def _targets(document: Document[schema.StackFile], systems: Document[schema.SystemsFile] | None) -> tuple[Target, ...]:
    tables = document.content.target
    several = isinstance(tables, list)
    rows = tables if isinstance(tables, list) else [tables]
    if not rows:
        raise InputError("the stack has no target", where=document.place("target"), hint="add a [target] table")
    targets: list[Target] = []
    for number, row in enumerate(rows):
        path: _Path = ("target", number) if several else ("target",)
        stated = _stated(document, row, path)
        system = {component: _value(document, component, *stated[component], systems) for component in sorted(stated)}
        major, minor = (int(part) for part in row.glibc.split("."))
        name = row.name or default_name(row.python, row.platform, system)
        if any(name == target.name for target in targets):
            raise InputError(
                f"two targets are named `{name}`", where=document.place(*path), hint="give one of them a `name`"
            )
        targets.append(
            Target(
                name=name,
                python=row.python,
                platform=row.platform,
                glibc=(major, minor),
                system=system,
                places={component: document.line(*stated[component][1]) for component in system},
            )
        )
    return tuple(targets)


def _stated(document: Document[schema.StackFile], row: schema.TargetTable, path: _Path) -> dict[str, tuple[str, _Path]]:
    """What a target states of each component, and where in the file."""
    stated: dict[str, tuple[str, _Path]] = {
        "python": (row.python, (*path, "python")),
        "glibc": (row.glibc, (*path, "glibc")),
    }
    for component in sorted(row.system):
        if component in stated or component not in COMPONENTS:
            meant = did_you_mean(component.lower(), ("cann", "hdk", "soc"), "")
            known = "components are cann, hdk and soc; python and glibc are keys of the target itself"
            raise InputError(
                f"`{component}` is not a component of a system table",
                where=document.place(*path, "system", component),
                hint=f"{meant} {known}".lstrip(),
            )
        stated[component] = (row.system[component], (*path, "system", component))
    return stated


def _value(
    document: Document[schema.StackFile],
    component: str,
    text: str,
    path: _Path,
    systems: Document[schema.SystemsFile] | None,
) -> Value:
    value = document.parse(partial(parse_value, component), text, *path, hint=known_values(component, systems))
    if component == "soc":
        require_known([value], systems, document.place(*path))
    return value


def _values(
    target: Target, facts: tuple[Fact, ...], systems: Document[schema.SystemsFile] | None
) -> dict[str, tuple[Value, ...]]:
    """The values that exist of the target's components: those in systems.toml and those that facts name."""
    values: dict[str, tuple[Value, ...]] = {}
    for component, own in target.system.items():
        known: list[Value] = [own]
        if systems is not None and component in systems.content.component:
            known += [
                systems.parse(partial(parse_value, component), value, "component", component, "known", number)
                for number, value in enumerate(systems.content.component[component].known)
            ]
        for fact in facts:
            if isinstance(fact, Requires):
                known += [value for need in fact.needs for value in named_values(need, component)]
        values[component] = nearest(own, known)
    return values


def _unknown(target: Target, systems: Document[schema.SystemsFile] | None) -> dict[str, tuple[str, ...]]:
    """A CANN of the target that is no build of a known release, with the known ones just before and after it."""
    own = target.system.get("cann")
    rows = systems.content.component.get("cann") if systems is not None else None
    if rows is None or not isinstance(own, SystemVersion):
        return {}
    known = sorted(map(SystemVersion.parse, rows.known))
    if not known or any(own.same_release(one) for one in known):
        return {}
    near = [one for one in known if one < own][-1:] + [one for one in known if one > own][:1]
    return {"cann": tuple(map(str, near))}


def _policy(document: Document[schema.StackFile], exclude_newer: dt.datetime | None) -> Policy:
    table = document.content.policy
    if exclude_newer is None and table.exclude_newer is not None:
        try:
            if not isinstance(table.exclude_newer, dt.date):
                raise ValueError
            exclude_newer = moment(table.exclude_newer)
        except ValueError as error:
            raise InputError(
                f"`{table.exclude_newer}` is not a date",
                where=document.place("policy", "exclude-newer"),
                why=str(error),
                hint="write exclude-newer = 2026-01-31, without quotes",
            ) from None
    return Policy(
        prereleases=table.prereleases,
        prereleases_of={
            parse_project(document, name, "policy", "prereleases-of", name): value
            for name, value in sorted(table.prereleases_of.items())
        },
        exclude_newer=exclude_newer,
    )


def moment(value: dt.date | dt.datetime) -> dt.datetime:
    """The moment that a cut-off names, in UTC; a day means its end. Raises ValueError if UTC has no such year."""
    if isinstance(value, dt.datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=dt.timezone.utc)
        try:
            aware.astimezone(dt.timezone.utc)
        except OverflowError:
            raise ValueError("it is in no year from 1 to 9999 of UTC") from None
        return aware
    if value == dt.date.max:  # which has no day after it
        return dt.datetime.max.replace(tzinfo=dt.timezone.utc)
    return dt.datetime.combine(value + dt.timedelta(days=1), dt.time(), dt.timezone.utc)


def _indexes(inputs: Inputs) -> Indexes:
    stack = inputs.stack.content
    if stack.index is not None or stack.binding is not None:
        own = _compile_indexes(inputs.stack, stack.index or [], stack.binding or [], own=True)
        if inputs.replaced is None:
            return own
        usual = _compile_indexes(
            inputs.replaced, inputs.replaced.content.index, inputs.replaced.content.binding, own=False
        )
        return replace(own, replaced=usual.bindings)
    if inputs.indexes is None:
        return Indexes(indexes={PYPI: Index(name=PYPI)}, bindings=())
    return _compile_indexes(inputs.indexes, inputs.indexes.content.index, inputs.indexes.content.binding, own=False)


def _compile_indexes(
    document: _Document,
    rows: list[schema.IndexRow],
    binding_rows: list[schema.BindingRow],
    *,
    own: bool,
) -> Indexes:
    indexes = {PYPI: Index(name=PYPI)}
    rows_of: list[tuple[str, int]] = [("binding", number) for number in range(len(binding_rows))]
    bindings = [
        Binding(
            packages=_bound(document, row.packages, "binding", number),
            indexes=tuple(row.indexes),
            take=row.take,
            unreachable=row.unreachable,
            platforms=tuple(row.platforms),
            reason=row.reason,
        )
        for number, row in enumerate(binding_rows)
    ]
    seen: set[str] = set()
    for number, index in enumerate(rows):
        place = document.place("index", number, "name")
        if index.name in seen:
            raise InputError(
                f"two indexes are named `{index.name}`", where=place, hint="give one of them another `name`"
            )
        seen.add(index.name)
        if (index.url is None) != (index.name == PYPI):
            raise InputError(
                f"index `{index.name}` " + ("needs a url" if index.url is None else "takes no url"),
                where=place,
                why="`pypi` is the index that pip on this machine is configured with; every other index needs an "
                "address",
                hint="set it with `pip config set global.index-url URL`"
                if index.name == PYPI
                else 'add url = "https://HOST/simple"',
            )
        _require_addresses(document, number, index)
        indexes[index.name] = Index(
            name=index.name, url=index.url or "", mirrors=tuple(index.mirrors), complete=index.complete
        )
        if index.packages:
            packages = _bound(document, index.packages, "index", number)
            bindings.append(Binding(packages=packages, indexes=(index.name,)))
            rows_of.append(("index", number))
    for number, row in enumerate(binding_rows):
        for position, name in enumerate(row.indexes):
            if name not in indexes:
                raise InputError(
                    f"there is no index `{name}`",
                    where=document.place("binding", number, "indexes", position),
                    hint=did_you_mean(name, indexes, f"known are {', '.join(sorted(indexes))}"),
                )
    _require_effect(document, bindings, rows_of)
    return Indexes(indexes=indexes, bindings=tuple(bindings), own=own)


def _require_addresses(document: _Document, number: int, index: schema.IndexRow) -> None:
    """Raise InputError, which shows no password, for an address that would not be one word or one line elsewhere."""
    places: list[tuple[str | int, ...]] = [("url",), *(("mirrors", position) for position in range(len(index.mirrors)))]
    for place, url in zip(places, (index.url or "", *index.mirrors), strict=True):
        if " " in url or not url.isprintable():
            raise InputError(
                f"an address of index `{index.name}` has a space or a character that does not print",
                where=document.place("index", number, *place),
                hint="percent-encode what belongs to it (a space is %20) and leave out the rest",
            )


def _require_effect(document: _Document, bindings: Sequence[Binding], rows: Sequence[tuple[str, int]]) -> None:
    """Raise InputError where a row binds a project that earlier ones bind already on each of its platforms."""
    bound: dict[tuple[str, str], tuple[str | int, ...]] = {}
    for binding, row in zip(bindings, rows, strict=True):
        for at, name in enumerate(binding.packages):
            place = (*row, "packages", at)
            earlier = [bound.get((name, platform)) for platform in binding.platforms or PLATFORMS]
            if earlier[0] is not None and None not in earlier:
                raise InputError(
                    f"`{name}` is already bound" if name != "*" else "all other projects are already bound",
                    where=document.place(*place),
                    why=f"the first binding counts, and that is the one at {document.line(*earlier[0])}",
                    hint="remove one of the two, or restrict the first to some `platforms`",
                )
            for platform in binding.platforms or PLATFORMS:
                bound.setdefault((name, platform), place)


def _bound(document: _Document, names: list[str], *path: str | int) -> tuple[str, ...]:
    return tuple(
        name if name == "*" else parse_project(document, name, *path, "packages", at) for at, name in enumerate(names)
    )


def _digest(inputs: Inputs, policy: Policy) -> str:
    documents: list[Document[Any]] = [inputs.stack, *inputs.facts]
    documents += [document for document in (inputs.indexes, inputs.systems) if document is not None]
    parts = {
        "format": _FORMAT,
        "exclude-newer": policy.exclude_newer.isoformat() if policy.exclude_newer else "",
        "files": [[document.name.rpartition("/")[2], document.digest] for document in documents],
    }
    return digest(parts)
