"""Whether statements are true, judged by trying everything with `packaging` alone.

`Told` is a world in which only what some statements say is known: releases have no other
requirements, every release on the indexes is usable, and missing releases or projects may exist one
day.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.model import fact as facts
from resolver.model.dependency import NeedSource
from resolver.model.resolution import (
    Asks,
    Forbids,
    Has,
    Lack,
    Lacks,
    Needs,
    ReleaseRange,
    Shares,
    Statement,
)
from tests.property.bruteforce import line_holds
from tests.property.worlds import COMPONENT_NEEDS, World

Pins = Mapping[str, str]


@dataclass
class _Walk:
    """What some pins lead to: projects not pinned yet, and whether there is a fault."""

    wrong: bool = False
    missing: list[str] = field(default_factory=list)
    components: set[str] = field(default_factory=set)
    asked: dict[str, set[SpecifierSet]] = field(default_factory=dict)


class Told:
    """A world reduced to statements. `values` are the values of components that exist."""

    def __init__(
        self, world: World, statements: Iterable[Statement], values: Mapping[str, Sequence[str]]
    ) -> None:
        self._world = world
        self._statements = tuple(statements)
        self._values = values
        self._gone = {
            (name, version) for one in self._statements for name, version in taken_away(world, one)
        }

    def satisfiable(self, pins: Pins | None = None) -> bool:
        """Whether the statements can all hold, with some releases chosen in any case."""
        pins = dict(pins or {})
        walk = self._walk(pins)
        if walk.wrong:
            return False
        if not walk.missing:
            return True
        name = walk.missing[0]
        return any(
            self.satisfiable({**pins, name: version}) for version in self._world.projects[name]
        )

    def _walk(self, pins: Pins) -> _Walk:
        walk = _Walk()
        todo = [(name, "") for name in pins]
        done: set[tuple[str, str]] = set()
        for one in self._statements:
            if isinstance(one, Asks):
                self._need(pins, one.text, walk, todo, ask=True)
        while todo:
            name, extra = todo.pop()
            if (name, extra) in done:
                continue
            done.add((name, extra))
            subject = f"{name}[{extra}]" if extra else name
            walk.wrong |= (subject, pins[name]) in self._gone
            for one in self._statements:
                if not isinstance(one, Needs) or one.subject != subject:
                    continue
                if pins[name] not in within(self._world, name, one.versions):
                    continue
                if isinstance(one.fact, facts.Constrains):
                    walk.wrong |= self._is_beyond(pins, one.needs)
                else:
                    self._need(pins, one.needs, walk, todo)
        walk.wrong |= self._has_shared_module(pins)
        walk.wrong |= not self._components(walk.components)
        for name, asked in walk.asked.items():
            walk.wrong |= any(self._apart(name, *pair) for pair in combinations(asked, 2))
        return walk

    def _has_shared_module(self, pins: Pins) -> bool:
        """Return whether several of the pins own a module that only one can have."""
        owners: dict[str, set[str]] = {}
        for statement in self._statements:
            if not isinstance(statement, Shares):
                continue
            fact = statement.fact
            names = owners.setdefault(fact.module, set())
            if fact.package in pins and fact.applies_to(Version(pins[fact.package])):
                names.add(fact.package)
            if fact.other in pins:
                names.add(fact.other)
        return any(len(names) > 1 for names in owners.values())

    def _need(
        self, pins: Pins, line: str, walk: _Walk, todo: list[tuple[str, str]], *, ask: bool = False
    ) -> None:
        """Note what a line means.

        A line of the stack requires a project, and separately a version of it.
        """
        if line in COMPONENT_NEEDS:
            walk.components.add(line)
            return
        need = Requirement(line)
        name, specifier = need.name, need.specifier
        lacking = {
            (one.lack, one.wanted)
            for one in self._statements
            if isinstance(one, Lacks) and one.subject == name
        }
        walk.asked.setdefault(name, set()).add(specifier)
        if self._may_be_elsewhere(name, specifier):
            walk.wrong |= bool(lacking & {(Lack.PROJECT, ""), (Lack.RELEASE, str(specifier))})
            if not ask or not self._world.projects.get(name):
                return
            specifier = SpecifierSet()
        if name not in pins:
            walk.missing.append(name)
        else:
            walk.wrong |= not specifier.contains(pins[name], prereleases=True)
            todo += [(name, ""), *((name, canonicalize_name(extra)) for extra in need.extras)]

    def _is_beyond(self, pins: Pins, bound: str) -> bool:
        """Whether a project that is pinned is not within a bound."""
        need = Requirement(bound)
        return need.name in pins and not need.specifier.contains(pins[need.name], prereleases=True)

    def _may_be_elsewhere(self, name: str, specifier: SpecifierSet) -> bool:
        return not any(
            specifier.contains(one, prereleases=True) for one in self._world.projects.get(name, ())
        )

    def _apart(self, name: str, one: SpecifierSet, other: SpecifierSet) -> bool:
        """Whether no release could meet both pins, one of which no existing release meets."""
        pins = [
            [
                row.version
                for row in each
                if row.operator in ("==", "===") and "*" not in row.version
            ]
            for each in (one, other)
        ]
        if not all(pins) or not any(self._may_be_elsewhere(name, each) for each in (one, other)):
            return False
        return not any(
            one.contains(version, prereleases=True) and other.contains(version, prereleases=True)
            for version in chain(*pins)
        )

    def _components(self, needs: Iterable[str]) -> bool:
        """Return whether some values meet these needs.

        They are the target's own if stated, otherwise any that exist.
        """
        stated = {one.component: one.value for one in self._statements if isinstance(one, Has)}
        asked: dict[str, list[str]] = {}
        for line in needs:
            asked.setdefault(COMPONENT_NEEDS[line][0], []).append(line)
        for component, lines in asked.items():
            known = (
                [stated[component]]
                if component in stated
                else list(self._values.get(component, ()))
            )
            rows = [{value for value in known if COMPONENT_NEEDS[line][1](value)} for line in lines]
            if component not in stated:
                rows = [row for row in rows if row]  # an unknown value may meet it
            if rows and not set.intersection(*rows):
                return False
        return True


def within(world: World, name: str, versions: Sequence[ReleaseRange]) -> list[str]:
    """Return the releases of the indexes from the oldest to the newest of each span."""
    return [
        version
        for version in world.projects.get(name, ())
        if any(
            Version(span.oldest) <= Version(version) <= Version(span.newest) for span in versions
        )
    ]


def taken_away(world: World, statement: Statement) -> Iterator[tuple[str, str]]:
    match statement:
        case Forbids(subject=name, versions=versions, fact=fact):
            for version in within(world, name, versions):
                if fact.applies_to(Version(version)):
                    yield name, version
        case Lacks(subject=name, refusals=refusals):
            for refusal in refusals:
                yield name, refusal.version


def left(
    world: World, subject: str, statements: Iterable[Statement], values: Sequence[str]
) -> list[str]:
    """Return the choices that statements about a project or component leave."""
    if any(component == subject for component, _ in COMPONENT_NEEDS.values()):
        kept = list(values)
        for one in statements:
            match one:
                case Has(component=component, value=value) if component == subject:
                    kept = [other for other in kept if other == value]
                case Needs(needs=line) | Asks(text=line) if line in COMPONENT_NEEDS:
                    kept = [other for other in kept if COMPONENT_NEEDS[line][1](other)]
        return kept
    kept = list(world.projects.get(subject, ()))
    for one in statements:
        gone = {version for name, version in taken_away(world, one) if _base(name) == subject}
        kept = [version for version in kept if version not in gone]
        if isinstance(one, (Asks, Needs)):
            line = one.text if isinstance(one, Asks) else one.needs
            if line not in COMPONENT_NEEDS and Requirement(line).name == subject:
                kept = [
                    version
                    for version in kept
                    if Requirement(line).specifier.contains(version, prereleases=True)
                ]
    return kept


# --- whether statements are true


def falsehoods(world: World, statement: Statement) -> Iterator[str]:
    match statement:
        case Asks():
            if statement.text not in world.asks:
                yield "the stack does not ask for this"
        case Has():
            if world.system[statement.component] != statement.value:
                yield "the target has another value"
        case Needs():
            yield from _needs(world, statement)
        case Forbids():
            yield from _forbids(world, statement)
        case Shares():
            if statement.fact not in world.facts:
                yield "there is no such fact"
        case Lacks():
            yield from _lacks(world, statement)


def _needs(world: World, statement: Needs) -> Iterator[str]:
    name, _, extra = statement.subject.removesuffix("]").partition("[")
    usable = [
        version for version in within(world, name, statement.versions) if world.fits(name, version)
    ]
    if not usable or sum(span.count for span in statement.versions) != len(usable):
        yield f"{usable} are the releases there"
    for span in statement.versions:
        if not {span.oldest, span.newest} <= set(usable):
            yield f"{span} ends at a release that is not there"
    for version in usable:
        if statement.source is NeedSource.METADATA:
            lines = world.projects[name][version].requires
            dropped = {
                gone
                for fact in world.facts_about(name, version, facts.Replaces)
                for gone in fact.drop
            }
            said = any(
                line_holds(line, extra, world.system["python"]) and _same(line, statement.needs)
                for line in lines
                if _name(line) not in dropped
            )
        else:
            said = not extra and any(
                statement.needs == str(need)
                for fact in (statement.fact,)
                if fact
                in world.facts_about(
                    name, version, facts.Requires, facts.Replaces, facts.Constrains
                )
                for need in (*facts.needs_of(fact), *facts.bounds_of(fact))
            )
        if not said:
            yield f"{version} does not say so"


def _forbids(world: World, statement: Forbids) -> Iterator[str]:
    spoken = [
        version
        for version in within(world, statement.subject, statement.versions)
        if statement.fact in world.facts_about(statement.subject, version, facts.Excludes)
    ]
    if not spoken or sum(span.count for span in statement.versions) > len(spoken):
        yield f"{spoken} are what the fact speaks of"
    for span in statement.versions:
        if not {span.oldest, span.newest} <= set(spoken):
            yield f"{span} ends at a release that the fact does not speak of"


def _lacks(world: World, statement: Lacks) -> Iterator[str]:
    name = _base(statement.subject)
    there = world.projects.get(name, {})
    newest = max(there, key=Version, default="")
    if statement.newest != newest:
        yield f"{newest or 'nothing'} is the newest"
    if len(statement.refusals) != min(statement.count, 4):
        yield "not every release that is counted is told"
    for refusal in statement.refusals:
        if not _is_refused(world, name, refusal.version, statement.lack):
            yield f"{refusal.version} is not what it is said to be"
    yield from _untrue_lack(statement, there)


def _untrue_lack(statement: Lacks, there: Collection[str]) -> Iterator[str]:
    """Yield why nothing is lacking in this way, given the releases of the project."""
    match statement.lack:
        case Lack.PROJECT:
            if there:
                yield "there is such a project"
        case Lack.RELEASE:
            wanted = SpecifierSet(statement.wanted)
            if any(wanted.contains(version, prereleases=True) for version in there):
                yield "there is such a release"
        case Lack.CUTOFF | Lack.UNREACHABLE:
            yield "nothing is cut off or out of reach"
        case _:
            if not statement.refusals:
                yield "no release is concerned"


def _is_refused(world: World, name: str, version: str, lack: Lack) -> bool:
    """Return whether a release cannot be had for this reason."""
    release = world.projects[name][version]
    is_prerelease = Version(version).is_prerelease
    match lack:
        case Lack.FILE:
            is_excluded = bool(world.facts_about(name, version, facts.Excludes))
            return not world.fits(name, version) and not is_excluded
        case Lack.UNUSABLE:
            is_broken = not release.readable or not world.admits(release.own_python)
            is_never_met = any(_never(world, name, version, line) for line in release.requires)
            return world.fits(name, version) and (is_broken or is_never_met)
        case Lack.YANKED:
            return release.yanked
        case Lack.PRERELEASE:
            return is_prerelease and world.prereleases == "never"
        case Lack.NEEDLESS:
            return is_prerelease and world.prereleases == "if-necessary"
        case _:
            return False


def _base(subject: str) -> str:
    return subject.partition("[")[0]


def _never(world: World, name: str, version: str, line: str) -> bool:
    """Whether a line of a release's own metadata can never be met."""
    if _bad(line):
        return True
    need = Requirement(line)
    return need.name == name and not need.specifier.contains(version, prereleases=True)


def _bad(line: str) -> bool:
    try:
        return bool(Requirement(line).url)
    except InvalidRequirement:
        return True


def _name(line: str) -> str:
    return "" if _bad(line) else Requirement(line).name


def _same(line: str, stated: str) -> bool:
    """Return whether a line of metadata is as stated, apart from its marker."""
    if _bad(line):
        return False
    requirements = [Requirement(line), Requirement(stated)]
    first, second = [(need.name, set(need.extras), need.specifier) for need in requirements]
    return first == second
