"""What reasons claim and whether it is true, judged by trying everything, with `packaging` alone.

`Told` is a world in which only what some reasons say is known: releases have no other
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
from resolver.model.constraint import (
    BuildLine,
    ComponentValue,
    Excluded,
    Exclusive,
    NoCandidate,
    ReleaseRequires,
    RequirementSource,
    StackLine,
    Unavailable,
)
from resolver.model.reason import Evidence, Reason, ReleaseRange, requirement_of
from resolver.model.release import RejectionReason
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
    """A world reduced to reasons. `values` are the values of components that exist."""

    def __init__(
        self, world: World, reasons: Iterable[Reason], values: Mapping[str, Sequence[str]]
    ) -> None:
        self._world = world
        self._reasons = tuple(reasons)
        self._values = values
        self._gone = {
            (name, version) for one in self._reasons for name, version in taken_away(world, one)
        }

    def satisfiable(self, pins: Pins | None = None) -> bool:
        """Whether the reasons can all hold, with some releases chosen in any case."""
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
        for one in self._reasons:
            if isinstance(one.constraint, StackLine):
                self._need(pins, one.constraint.text, walk, todo, ask=True)
        while todo:
            name, extra = todo.pop()
            if (name, extra) in done:
                continue
            done.add((name, extra))
            subject = f"{name}[{extra}]" if extra else name
            walk.wrong |= (subject, pins[name]) in self._gone
            for one in self._reasons:
                required = requirement_of(one)
                if required is None or one.subject != subject:
                    continue
                if pins[name] not in within(self._world, name, one.versions):
                    continue
                if isinstance(one.fact, facts.Constrains):
                    walk.wrong |= self._is_beyond(pins, required)
                else:
                    self._need(pins, required, walk, todo)
        walk.wrong |= self._has_shared_module(pins)
        walk.wrong |= not self._components(walk.components)
        for name, asked in walk.asked.items():
            walk.wrong |= any(self._apart(name, *pair) for pair in combinations(asked, 2))
        return walk

    def _has_shared_module(self, pins: Pins) -> bool:
        """Return whether several of the pins own a module that only one can have."""
        owners: dict[str, set[str]] = {}
        for reason in self._reasons:
            if not isinstance(reason.constraint, Exclusive):
                continue
            fact = reason.constraint.fact
            names = owners.setdefault(fact.module, set())
            if fact.package in pins and fact.applies_to(Version(pins[fact.package])):
                names.add(fact.package)
            if fact.other in pins:
                names.add(fact.other)
        return any(len(names) > 1 for names in owners.values())

    def _need(
        self, pins: Pins, line: str, walk: _Walk, todo: list[tuple[str, str]], *, ask: bool = False
    ) -> None:
        """The meaning of a line.

        A line of the stack requires a project, and separately a version of it.
        """
        if line in COMPONENT_NEEDS:
            walk.components.add(line)
            return
        need = Requirement(line)
        name, specifier = need.name, need.specifier
        lacking = {
            (one.constraint.why, one.constraint.wanted)
            for one in self._reasons
            if isinstance(one.constraint, Unavailable) and one.subject == name
        }
        walk.asked.setdefault(name, set()).add(specifier)
        if self._may_be_elsewhere(name, specifier):
            walk.wrong |= bool(
                lacking & {(NoCandidate.PROJECT, ""), (NoCandidate.RELEASE, str(specifier))}
            )
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
        stated = {
            one.constraint.component: one.constraint.value
            for one in self._reasons
            if isinstance(one.constraint, ComponentValue)
        }
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
    """The releases of the indexes from the oldest to the newest of each span."""
    return [
        version
        for version in world.projects.get(name, ())
        if any(
            Version(span.oldest) <= Version(version) <= Version(span.newest) for span in versions
        )
    ]


def taken_away(world: World, reason: Reason) -> Iterator[tuple[str, str]]:
    match reason.constraint:
        case Excluded(project=name, fact=fact):
            for version in within(world, name, reason.versions):
                if fact.applies_to(Version(version)):
                    yield name, version
        case Unavailable(package=package):
            for refusal in reason.evidence.refusals:
                yield str(package), refusal.version


def left(world: World, subject: str, reasons: Iterable[Reason], values: Sequence[str]) -> list[str]:
    """The choices that reasons about a project or component leave."""
    if any(component == subject for component, _ in COMPONENT_NEEDS.values()):
        kept = list(values)
        for one in reasons:
            match one.constraint:
                case ComponentValue(component=component, value=value) if component == subject:
                    kept = [other for other in kept if other == value]
                case ReleaseRequires(text=line) | StackLine(text=line) if line in COMPONENT_NEEDS:
                    kept = [other for other in kept if COMPONENT_NEEDS[line][1](other)]
        return kept
    kept = list(world.projects.get(subject, ()))
    for one in reasons:
        gone = {version for name, version in taken_away(world, one) if _base(name) == subject}
        kept = [version for version in kept if version not in gone]
        if isinstance(one.constraint, (StackLine, ReleaseRequires)):
            line = one.constraint.text
            if line not in COMPONENT_NEEDS and Requirement(line).name == subject:
                kept = [
                    version
                    for version in kept
                    if Requirement(line).specifier.contains(version, prereleases=True)
                ]
    return kept


# --- whether reasons are true


def falsehoods(world: World, reason: Reason) -> Iterator[str]:
    constraint = reason.constraint
    match constraint:
        case StackLine() if constraint.text not in world.asks:
            yield "the stack does not ask for this"
        case BuildLine():
            yield "these worlds have no builds"
        case ComponentValue() if world.system[constraint.component] != constraint.value:
            yield "the target has another value"
        case ReleaseRequires():
            yield from _needs(world, constraint, reason.versions)
        case Excluded():
            yield from _excluded(world, constraint, reason.versions)
        case Exclusive() if constraint.fact not in world.facts:
            yield "there is no such fact"
        case Unavailable():
            yield from _unavailable(world, constraint, reason.evidence)


def _needs(
    world: World, constraint: ReleaseRequires, versions: Sequence[ReleaseRange]
) -> Iterator[str]:
    name, extra = constraint.package.name, constraint.package.extra
    usable = [version for version in within(world, name, versions) if world.fits(name, version)]
    if not usable or sum(span.count for span in versions) != len(usable):
        yield f"{usable} are the releases there"
    for span in versions:
        if not {span.oldest, span.newest} <= set(usable):
            yield f"{span} ends at a release that is not there"
    for version in usable:
        if not _says(world, constraint, name, version, extra):
            yield f"{version} does not say so"


def _says(world: World, constraint: ReleaseRequires, name: str, version: str, extra: str) -> bool:
    """Whether a release, or a fact about it, has a requirement."""
    fact = constraint.fact
    if constraint.source is RequirementSource.METADATA:
        lines = world.projects[name][version].requires
        replacing = world.facts_about(name, version, facts.Replaces)
        dropped = {gone for replaces in replacing for gone in replaces.drop}
        return any(
            line_holds(line, extra, world.system["python"]) and _same(line, constraint.text)
            for line in lines
            if _name(line) not in dropped
        )
    stating = (facts.Requires, facts.Replaces, facts.Constrains)
    if extra or fact is None or fact not in world.facts_about(name, version, *stating):
        return False
    bounds = fact.bounds if isinstance(fact, facts.Constrains) else ()
    return constraint.text in map(str, (*fact.added_needs, *bounds))


def _excluded(
    world: World, constraint: Excluded, versions: Sequence[ReleaseRange]
) -> Iterator[str]:
    project = constraint.project
    spoken = [
        version
        for version in within(world, project, versions)
        if constraint.fact in world.facts_about(project, version, facts.Excludes)
    ]
    if not spoken or sum(span.count for span in versions) > len(spoken):
        yield f"{spoken} are what the fact speaks of"
    for span in versions:
        if not {span.oldest, span.newest} <= set(spoken):
            yield f"{span} ends at a release that the fact does not speak of"


def _unavailable(world: World, constraint: Unavailable, evidence: Evidence) -> Iterator[str]:
    name = constraint.project
    there = world.projects.get(name, {})
    newest = max(there, key=Version) if there else ""
    if evidence.newest != newest:
        yield f"{newest or 'nothing'} is the newest"
    if len(evidence.refusals) != min(evidence.count, 4):
        yield "not every release that is counted is told"
    for refusal in evidence.refusals:
        if not _is_refused(world, constraint, refusal.version):
            yield f"{refusal.version} is not what it is said to be"
    yield from _untrue_lack(constraint, evidence, there)


def _untrue_lack(
    constraint: Unavailable, evidence: Evidence, there: Collection[str]
) -> Iterator[str]:
    """Yield why nothing is lacking in this way, given the releases of the project."""
    match constraint.why:
        case NoCandidate.PROJECT:
            if there:
                yield "there is such a project"
        case NoCandidate.RELEASE:
            wanted = SpecifierSet(constraint.wanted)
            if any(wanted.contains(version, prereleases=True) for version in there):
                yield "there is such a release"
        case RejectionReason.NEWER | NoCandidate.UNREACHABLE:
            yield "nothing is cut off or out of reach"
        case _:
            if not evidence.refusals:
                yield "no release is concerned"


def _is_refused(world: World, constraint: Unavailable, version: str) -> bool:
    """Whether a release cannot be used for the reason that is given."""
    name, why = constraint.project, constraint.why
    release = world.projects[name][version]
    fits, is_candidate = world.fits(name, version), Version(version).is_prerelease
    match why:
        case NoCandidate.FILE:
            return not fits and not world.facts_about(name, version, facts.Excludes)
        case RejectionReason.YANKED:
            return release.yanked
        case NoCandidate.PRERELEASE:
            return is_candidate and world.prereleases == "never"
        case NoCandidate.NEEDLESS:
            return is_candidate and world.prereleases == "if-necessary"
        case _ if constraint.is_unusable:
            is_broken = not release.readable or not world.admits(release.own_python)
            refuses = any(_never(world, name, version, line) for line in release.requires)
            return fits and (is_broken or refuses)
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


def _same(line: str, told: str) -> bool:
    """Whether a line of metadata is as stated, apart from its marker."""
    if _bad(line):
        return False
    one, other = Requirement(line), Requirement(told)
    return (one.name, set(one.extras), one.specifier) == (
        other.name,
        set(other.extras),
        other.specifier,
    )
