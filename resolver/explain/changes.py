"""What may change and at what price, and how a change reads in the stack file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import PurePosixPath
from typing import TypeGuard

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from resolver.catalog.protocol import UnusableFile
from resolver.errors import ResolverError
from resolver.explain.edit import StackText
from resolver.explain.trial import Trials
from resolver.matrix.document import Document
from resolver.matrix.schema import FactFile
from resolver.model import text
from resolver.model.candidate import Candidate, Release
from resolver.model.component import ComponentRequirement
from resolver.model.explanation import Change, ChangeKind
from resolver.model.fact import Builds, Excludes, Fact, Names, Requires, Strength, Warns
from resolver.model.package import Kind, Package
from resolver.model.release import File
from resolver.model.requirement import Requirement
from resolver.model.statement import Lack, Source
from resolver.solve.admits import names_prerelease, satisfies
from resolver.solve.clauses import Clauses
from resolver.solve.ground import Component, Ground, Lacking, Line, Said, Taken
from resolver.solve.project import Project

_VERSION = 100
_EXTRA = 130
_COMPONENT = {"cann": 140, "hdk": 150, "python": 160, "soc": 800}  # another machine is the dearest
_DROP = 450
_UNSURE = 200  # for a release with known faults, or that the tables of its project leave out
_CUTOFF = 170
_PRERELEASES = 180
_ADD = 120
_OVERRIDE = 900
_REQUIREMENTS_FILES = ("requirements/common.txt", "requirements-common.txt")
_RELAX = {Strength.OBSERVED: 500, Strength.DOCUMENTED: 600, Strength.VENDOR: 700}


@dataclass(frozen=True)
class Changed:
    """A changed stack: what changed, its text, the price, and whether it goes against a fact."""

    changes: tuple[Change, ...]
    text: str
    price: int
    risky: bool


class Changes:
    """The changes that grounds of one problem stand for."""

    def __init__(self, clauses: Clauses, trials: Trials) -> None:
        self._clauses = clauses
        self._trials = trials
        self._problem = trials.problem
        self._facts = {fact.id: fact for fact in self._problem.facts}
        self._about: dict[str, list[Fact]] = {}
        self._unsure: dict[Candidate, bool] = {}
        for fact in self._problem.facts:
            self._about.setdefault(fact.package, []).append(fact)
        self._lines = {ask.origin: at for at, ask in enumerate(self._problem.stack.asks)}

    def price(self, ground: Ground) -> int | None:
        """What changing a ground costs; None where the user cannot change it."""
        match ground:
            case Line(origin, aspect) if origin in self._lines:
                at = len(self._lines) - self._lines[origin]  # of two equal changes the later line's is cheaper
                if aspect == "version" and not isinstance(self._problem.stack.asks[-at].need, Requirement):
                    return None  # a line about a component: the component itself may change
                if aspect:
                    return at + (_VERSION if aspect == "version" else _EXTRA)
                return at + _DROP if len(self._lines) > 1 else None
            case Component():
                return _COMPONENT.get(ground.name)
            case Said() if ground.source is Source.METADATA:
                return _OVERRIDE
            case Said() | Taken() if ground.fact in self._facts:
                fact = self._facts[ground.fact]
                if isinstance(fact, Builds):
                    return _OVERRIDE  # what the archive itself says of its requirements
                return _RELAX.get(fact.strength) if isinstance(fact, (Requires, Excludes, Names)) else None
            case Lacking() if ground.lack is Lack.CUTOFF and self._own_cutoff:
                return _CUTOFF
            case Lacking() if ground.lack is Lack.PRERELEASE:
                return _PRERELEASES
            case _:
                return None

    def keeps_a_line(self, wanted: Sequence[Ground]) -> bool:
        """Whether a set of changes leaves anything to lock."""
        return sum(map(_drops, wanted)) < len(self._lines)

    def same(self, ground: Ground) -> list[Ground]:
        """The grounds that change together with one: a `replaces` fact takes out all that is said of a project."""
        if isinstance(ground, Lacking) and ground.lack is Lack.CUTOFF:
            return [one for one in self._clauses.known if isinstance(one, Lacking) and one.lack is Lack.CUTOFF]
        if self.price(ground) != _OVERRIDE or not isinstance(ground, Said):
            return [ground]
        key = (ground.package.name, text.requirement(ground.text).name)
        return [
            other
            for other in self._clauses.known
            if isinstance(other, Said)
            and other.package.name == key[0]
            and self.price(other) == _OVERRIDE
            and text.requirement(other.text).name == key[1]
        ]

    def risky(self, ground: Ground) -> bool:
        """Whether changing a ground goes against a fact, or against what upstream says of its package."""
        return isinstance(ground, (Said, Taken))

    @property
    def _own_cutoff(self) -> bool:
        return self._trials.inputs.stack.content.policy.exclude_newer is not None

    def candidates(self, ground: Ground, *, newest: bool) -> Iterator[Candidate]:
        """What a line or a component may become, the nearest to the wish first, or the newest."""
        if isinstance(ground, Component):
            package = Package(ground.name, "", Kind.SYSTEM)
            known = self._clauses.packages[package][1:]
            yield from known
            return
        assert isinstance(ground, Line)  # noqa: S101  nothing else has candidates
        package, project = self._project(ground)
        self._clauses.introduce(package)
        releases = [
            one for one in self._clauses.packages[package] if isinstance(one.chosen, Release) and not one.chosen.yanked
        ]
        wish = self._wish(ground)
        releases = [one for one in releases if not wish.contains(one.version, prereleases=True)]
        stable = [one for one in releases if not one.version.is_prerelease]
        if newest or not names_prerelease(wish):
            releases = stable or releases
        if newest:
            releases.sort(key=_position)  # not what the lock before had
        else:
            at = self._wished(wish, project)
            releases.sort(key=lambda one: abs(_position(one) - at) * 2 + (_position(one) > at))
        # last comes what there is something to say against, and what the tables of its project leave out
        yield from sorted(releases, key=self._is_unsure)

    def _is_unsure(self, candidate: Candidate) -> bool:
        known = self._unsure.get(candidate)
        if known is None:
            release = isinstance(candidate.chosen, Release)
            known = self._unsure[candidate] = release and (self._has_faults(candidate) or self._is_unlisted(candidate))
        return known

    def _has_faults(self, candidate: Candidate) -> bool:
        """Whether a warning speaks of a release that nothing about the target makes needless."""
        system = self._problem.target.system
        for fact in self._about.get(candidate.package.name, ()):
            if isinstance(fact, Warns) and not fact.extra and fact.speaks_of(candidate.version):
                stated = [need for need in fact.unless if isinstance(need, ComponentRequirement)]
                if not any(need.component not in system or need.allows(system[need.component]) for need in stated):
                    return True
        return False

    def _is_unlisted(self, candidate: Candidate) -> bool:
        """Whether facts say which CANN the project's releases need, but not for this one."""
        stated = [
            fact
            for fact in self._about.get(candidate.package.name, ())
            if isinstance(fact, Requires) and any(isinstance(need, ComponentRequirement) for need in fact.needs)
        ]
        return bool(stated) and not any(fact.speaks_of(candidate.version) for fact in stated)

    def apply(self, wanted: Sequence[Ground], choice: Mapping[Ground, Candidate]) -> Changed:
        """The stack with these changes."""
        stack = StackText(self._trials.text)
        changes: list[Change] = []
        lines: dict[int, tuple[str, list[Ground]]] = {}
        price = 0
        for ground in wanted:
            price += self.price(ground) or 0
            if isinstance(ground, Line):
                lines.setdefault(self._lines[ground.origin], ("", []))[1].append(ground)
        dropped = [at for at, (_, grounds) in lines.items() if any(_drops(ground) for ground in grounds)]
        for at, (_, grounds) in sorted(lines.items()):
            change = self._line(at, [] if at in dropped else grounds, choice)
            changes.append(change)
            if at not in dropped:
                stack = stack.with_line(at, change.after)
        stack = stack.without_lines(dropped)
        for ground in wanted:
            match ground:
                case Component():
                    change, stack = self._component(stack, ground, choice[ground])
                case Said() if self.price(ground) == _OVERRIDE:
                    change, stack = self._override(stack, ground)
                case Said() | Taken():
                    change, stack = self._relax(stack, ground)
                case Lacking() if ground.lack is Lack.PRERELEASE:
                    change = Change(
                        kind=ChangeKind.POLICY,
                        subject=ground.project,
                        before="",
                        after=f'prereleases-of.{ground.project} = "allow"',
                        where=self._problem.stack.where,
                    )
                    stack = stack.with_prereleases(ground.project)
                case Lacking():
                    before = f"exclude-newer = {self._trials.inputs.stack.content.policy.exclude_newer}"
                    where = self._trials.inputs.stack.line("policy", "exclude-newer")
                    change = Change(
                        kind=ChangeKind.POLICY, subject="exclude-newer", before=before, after="", where=where
                    )
                    stack = stack.without_cutoff()
                case _:
                    continue
            changes.append(change)
        risky = any(change.kind in (ChangeKind.RELAX, ChangeKind.ADD) for change in changes)
        price += _UNSURE * sum(map(self._is_unsure, choice.values()))
        return Changed(tuple(changes), stack.text, price, risky)

    def other_pythons(self) -> Iterator[Changed]:
        """The stack for other Pythons, the nearest first."""
        ground = Component("python")
        for value in self._problem.values.get("python", ()):
            if value != self._problem.target.system["python"]:
                candidate = Candidate(Package("python", "", Kind.SYSTEM), value)
                yield self.apply([ground], {ground: candidate})

    def builds(self, core: Sequence[Ground]) -> Iterator[Changed]:
        """The stack with facts that build a project of a core from source: its wheel's requirements do not count then.

        They are facts that the stack leaves out, or a proposal where the archive
        has a requirements file of its own for such a build.
        """
        for name in dict.fromkeys(ground.package.name for ground in core if _of_metadata(ground)):
            if any(isinstance(fact, Builds) for fact in self._about.get(name, ())):
                continue
            spare = [one for one in self._trials.inputs.spare if PurePosixPath(one.name).stem == name]
            if spare and spare[0].content.builds:
                yield self._with_facts(spare[0])
                continue
            for ground in core:
                if isinstance(ground, Said) and ground.package.name == name:
                    yield from self._proposed(ground)
                    break

    def _with_facts(self, spare: Document[FactFile]) -> Changed:
        name = PurePosixPath(spare.name).stem
        stack = StackText(self._trials.text).with_fact_file(name)
        where = self._trials.inputs.stack.line("stack", "facts")
        change = Change(kind=ChangeKind.ADD, subject=name, before="", after=spare.name, where=where)
        return Changed((change,), stack.text, _ADD, risky=False)

    def _proposed(self, ground: Said) -> Iterator[Changed]:
        """A `builds` fact for the releases that a ground speaks of, if the archive of one has the file for it."""
        project = self._clauses.universe.project(text.name(ground.package.name))
        for parent, _ in self._clauses.edges[ground][:1]:
            if parent is None or not isinstance(parent.chosen, Release) or not parent.chosen.file.is_wheel:
                continue
            for archive in project.archives(parent.chosen.position):
                found = self._requirements_file(archive)
                if found is None:
                    continue
                row: dict[str, object] = {
                    "package": project.name,
                    "versions": f"=={parent.version}",
                    "from": "sdist",
                    "requires-from": found,
                    "reason": "To be confirmed: built from source it needs what this file says, not its wheel",
                    "strength": "observed",
                    "source": "proposed by ascend-lock explain",
                    "checked": self._day,
                }
                base = StackText(self._trials.text)
                stack = base.with_table("fact.builds", row)
                change = Change(
                    kind=ChangeKind.ADD,
                    subject=project.name,
                    before="",
                    after=stack.text[len(base.text.rstrip()) :].strip(),
                    where="",
                )
                yield Changed((change,), stack.text, _OVERRIDE, risky=True)

    def _requirements_file(self, archive: File) -> str | None:
        for path in _REQUIREMENTS_FILES:
            try:
                self._trials.catalog.member(archive, path)
            except (UnusableFile, ResolverError):
                continue
            return path
        return None

    @property
    def _day(self) -> date:
        """A day for facts that are proposed: that of the newest fact, as nothing here depends on today."""
        return max((fact.checked for fact in self._problem.facts), default=date(2026, 1, 1))

    # --- one change

    def _project(self, ground: Line) -> tuple[Package, Project]:
        need = self._problem.stack.asks[self._lines[ground.origin]].need
        assert isinstance(need, Requirement)  # noqa: S101  lines about components have no candidates
        return Package(need.name), self._clauses.universe.project(need.name)

    def _wish(self, ground: Line) -> SpecifierSet:
        need = self._problem.stack.asks[self._lines[ground.origin]].need
        assert isinstance(need, Requirement)  # noqa: S101  see _project
        return need.specifier

    def _wished(self, wish: SpecifierSet, project: Project) -> int:
        """Where a wish stands among the releases."""
        mask = project.mask(wish)
        if mask:
            return next(project.positions(mask))
        bounds = [text.version(one.version.removesuffix(".*")) for one in wish]
        highest = max((bound for bound in bounds if bound is not None), default=None)
        if highest is None:
            return 0
        return sum(1 for version in project.versions if version > highest)

    def _line(self, at: int, grounds: Sequence[Ground], choice: Mapping[Ground, Candidate]) -> Change:
        ask = self._problem.stack.asks[at]
        need = ask.need
        if not grounds:
            name = need.name if isinstance(need, Requirement) else need.component
            return Change(kind=ChangeKind.DROP, subject=name, before=ask.origin.text, after="", where=ask.origin.where)
        assert isinstance(need, Requirement)  # noqa: S101  see _project
        dropped = {ground.aspect.removeprefix("extra ") for ground in grounds if isinstance(ground, Line)}
        extras = [extra for extra in need.extras if canonicalize_name(extra) not in dropped]
        specifier, steps = str(need.specifier), 0
        kind = ChangeKind.EXTRA
        for ground in grounds:
            if isinstance(ground, Line) and ground.aspect == "version":
                candidate = choice[ground]
                kind = ChangeKind.VERSION
                specifier = f"=={candidate.version}"
                _, project = self._project(ground)
                steps = self._wished(self._wish(ground), project) - _position(candidate)
        marker = f" ; {need.marker}" if need.marker else ""
        source = f" @ {need.url}" if need.url else specifier
        after = f"{need.name}{'[' + ','.join(extras) + ']' if extras else ''}{source}{marker}"
        return Change(
            kind=kind, subject=need.name, before=ask.origin.text, after=after, where=ask.origin.where, steps=steps
        )

    def _component(self, stack: StackText, ground: Component, candidate: Candidate) -> tuple[Change, StackText]:
        target = self._problem.target
        before, after = str(target.system[ground.name]), str(candidate.chosen)
        path: tuple[str | int, ...] = ("target",)
        tables = self._trials.inputs.stack.content.target
        if isinstance(tables, list):
            path = (*path, self._trials.at)
        path = (*path, ground.name) if ground.name == "python" else (*path, "system", ground.name)
        change = Change(
            kind=ChangeKind.COMPONENT,
            subject=ground.name,
            before=before,
            after=after,
            where=target.places.get(ground.name, self._problem.stack.where),
        )
        return change, stack.with_value(path, after)

    def _relax(self, stack: StackText, ground: Said | Taken) -> tuple[Change, StackText]:
        fact: Fact = self._facts[ground.fact]
        row: dict[str, object] = {"fact": fact.id}
        if isinstance(ground, Said):
            row["needs"] = [ground.text]
        row["reason"] = "To be confirmed: say why this fact does not hold here."
        change = Change(
            kind=ChangeKind.RELAX,
            subject=fact.id,
            before=ground.text if isinstance(ground, Said) else "",
            after="",
            where=fact.where,
        )
        return change, stack.with_table("relax", row)

    def _override(self, stack: StackText, ground: Said) -> tuple[Change, StackText]:
        """A `replaces` fact that takes one requirement of upstream's metadata out."""
        need = text.requirement(ground.text)
        asked = [edge for edge in self._clauses.roots() if edge.package.base == ground.package.base]
        rows = [row for other in self.same(ground) for row in self._clauses.edges[other]]
        parents = [parent for parent, _ in rows if parent is not None]
        wished = [
            one
            for one in parents
            if all(satisfies(Candidate(one.package.base, one.chosen), edge.allows) for edge in asked)
        ]
        releases = sorted({one.version for one in wished or parents})
        row: dict[str, object] = {
            "package": ground.package.name,
            "versions": [f"=={version}" for version in releases] if len(releases) > 1 else f"=={releases[0]}",
            "drop": [need.name],
            "add": [] if ground.package.extra else [need.name],
            "reason": f"To be confirmed: upstream asks for {ground.text}, which this stack goes against.",
            "strength": "observed",
            "source": "proposed by ascend-lock explain",
            "checked": self._day,
        }
        changed = stack.with_table("fact.replaces", row)
        change = Change(
            kind=ChangeKind.ADD,
            subject=str(ground.package),
            before=ground.text,
            after=changed.text[len(stack.text.rstrip()) :].strip(),
            where="",
        )
        return change, changed


def _of_metadata(ground: Ground) -> TypeGuard[Said]:
    return isinstance(ground, Said) and ground.source is Source.METADATA


def _drops(ground: Ground) -> bool:
    return isinstance(ground, Line) and not ground.aspect


def _position(candidate: Candidate) -> int:
    assert isinstance(candidate.chosen, Release)  # noqa: S101  only releases stand in an order
    return candidate.chosen.position
