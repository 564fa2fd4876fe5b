"""The complete explanation of a conflict: its contradictions, then the ways out, two environments among them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import chain, combinations, islice
from string import ascii_uppercase

from msgspec.structs import replace
from packaging.utils import NormalizedName, canonicalize_name

from resolver.config.load import Inputs
from resolver.explain.contradictions import constraint_of, contradiction, cores, explore, is_open
from resolver.explain.costs import SPLIT, broken_without, changes_less, cost, no_longer_needed, project_of
from resolver.explain.repairs import find_fixes
from resolver.explain.stack_text import StackText, with_suffix
from resolver.explain.trial import ChangedStack, Clock, Expired, Trials
from resolver.index.protocol import Catalog, polling
from resolver.lock.build import applied_facts
from resolver.model.dependency import NeedLine, Origin, PackageKind, SameRelease, StackLine
from resolver.model.explanation import Awaited, Change, ChangeKind, Contradiction, Environment, Explanation, Fix, PinOf
from resolver.model.fact import Warns, as_warning
from resolver.model.problem import Problem
from resolver.model.requirement import COMPONENTS, Requirement
from resolver.model.resolution import Lacks, Needs, Resolution
from resolver.resolve.candidates import pins
from resolver.resolve.core_statements import cutoff_text
from resolver.resolve.grounded import Ground
from resolver.resolve.solver import Refutation
from resolver.resolve.universe import Universe

_SHARE = 1 / 3  # of the time, at most, for what clashes: the rest is for ways out
_SHOWN = 10  # pins shown for a way out
_ATTEMPTS = 8  # changes that are no way out, which are told
_DIVISIONS = 4  # of the lines to two environments


def explanation_of(
    refutation: Refutation,
    inputs: Inputs,
    clock: Clock,
    catalog_of: Callable[[Problem], Catalog] | None = None,
    *,
    cutoff: datetime | None = None,
    tell: Callable[[Problem, tuple[Contradiction, ...], tuple[Awaited, ...]], None] | None = None,
    tell_way: Callable[[tuple[Change, ...]], None] | None = None,
) -> Explanation:
    """The explanation of a refuted problem. Its ways out hold for all targets that `catalog_of` gives a catalog for.

    `tell` is called with the contradictions, and what is awaited, as soon as they are known, and `tell_way` with the
    first way out. The search for these may reveal further contradictions, which come last.
    Anything not found within the clock's limit is left out, and the explanation says so.
    """
    clauses = refutation.clauses
    problem = clauses.universe.problem
    share = clock.within(clock.seconds * _SHARE)
    waiting = _awaited(refutation, share)
    found_cores = _found_cores(refutation, share)
    clock.limited |= share.limited
    contradictions = tuple(contradiction(clauses, core, clock.expired) for core in found_cores)
    if tell is not None:
        tell(problem, contradictions, waiting)
    trials = Trials(inputs, clauses.universe, clock, cutoff, catalog_of)
    with polling(clock.look):
        found = find_fixes(clauses, found_cores, trials, tell_way)
    known = [set(one.statements) for one in contradictions]
    contradictions += tuple(hidden for _, hidden in found.further if set(hidden.statements) not in known)
    all_cores = [*found_cores, *(core for core, _ in found.further)]
    matter = _what_matters(contradictions)
    solved = found.fixes or found.useless.values()
    fixes = [_fix_of(problem, changed, resolution, matter) for changed, resolution in solved]
    fixes += _split(trials, all_cores, matter)
    tried = {one.changes: one for one in sorted(found.attempts, key=lambda one: not one.target)}
    return Explanation(
        problem=problem,
        contradictions=contradictions,
        fixes=tuple(_lettered(fixes, problem.stack.name, cutoff_text(cutoff))),
        attempts=tuple(islice(tried.values(), _ATTEMPTS)),
        limited=clock.limited,
        missing=tuple(_missing(clauses.universe, contradictions)),
        options=tuple(_options(inputs, problem, cutoff)),
        awaited=waiting,
        unreached=tuple(sorted(found.unreached.items())),
    )


def reason_of(refutation: Refutation, clock: Clock) -> tuple[Contradiction, tuple[Awaited, ...]]:
    """The first contradiction of an explanation, and what is awaited, without any ways out."""
    clauses = refutation.clauses
    waiting = _awaited(refutation, clock)
    core = refutation.core
    with polling(clock.look), suppress(Expired):
        core = next(cores(clauses, clock.expired), core)
    return contradiction(clauses, core, clock.expired), waiting


def _awaited(refutation: Refutation, clock: Clock) -> tuple[Awaited, ...]:
    """What is wanted from indexes that could not be reached; nothing if there is no solution whatever they have.

    Of several grounds that rest on them, each is left out in turn, until nothing clashes or others alone do.
    """
    clauses = refutation.clauses
    wanted: dict[NormalizedName, list[Origin]] = {}
    if not any(is_open(ground, clauses) for ground in refutation.core):
        return ()
    with polling(clock.look), suppress(Expired):
        explore(clauses, clock.expired)
    among = list(clauses.known)
    while not clauses.satisfiable(among=among):
        core = clauses.minimal(among=among)
        missing = [ground for ground in core if is_open(ground, clauses)]
        if not missing:
            return ()
        among = [ground for ground in among if ground not in missing]
        edges = [edges[0][1] for ground in core if (edges := clauses.edges.get(ground))]
        for name in (ground.name for ground in missing):
            wanted.setdefault(name, []).extend(edge.origin for edge in edges if edge.package.name == name)
    return tuple(
        Awaited(
            indexes=clauses.universe.project(name).unreachable,
            project=name,
            needs=tuple(dict.fromkeys(getattr(origin, "text", name) for origin in origins)),
            by=tuple(dict.fromkeys(origin.parent for origin in origins if isinstance(origin, (NeedLine, SameRelease)))),
        )
        for name, origins in wanted.items()
    )


def _found_cores(refutation: Refutation, clock: Clock) -> list[Sequence[Ground]]:
    """What clashes, as far as it is found in time: that something does is known."""
    found: list[Sequence[Ground]] = []
    with polling(clock.look), suppress(Expired):
        for core in cores(refutation.clauses, clock.expired):
            found += [core]  # one by one, as each takes its time
    return found or [refutation.core]


def _options(inputs: Inputs, problem: Problem, cutoff: datetime | None) -> Iterator[str]:
    """The options by which a command is about this problem of the stack; each target has letters of its own."""
    if cutoff is not None:
        yield from ("--exclude-newer", cutoff_text(cutoff))
    targets = inputs.stack.content.target
    if isinstance(targets, tuple) and len(targets) > 1:
        yield from ("--target", problem.target.name)


def _missing(universe: Universe, contradictions: Iterable[Contradiction]) -> Iterator[str]:
    """The projects that the stack asks for and no index has, except those in the contradictions."""
    lacking = {one.subject for row in contradictions for one in row.statements if isinstance(one, Lacks)}
    names = {edge.package.name: None for edge in universe.roots() if edge.package.kind is PackageKind.PROJECT}
    return (name for name in names if name not in lacking and not universe.project(canonicalize_name(name)).found)


def _what_matters(contradictions: Iterable[Contradiction]) -> list[str]:
    """The projects that the contradictions are about."""
    names: dict[str, None] = {}
    for one in contradictions:
        for statement in one.statements:
            if isinstance(statement, (Needs, Lacks)):
                names[statement.subject.partition("[")[0]] = None
        if one.closing is not None:
            names[one.closing.subject] = None
    return list(names)


# --- ways out as they are shown


def _fix_of(problem: Problem, changed: ChangedStack, resolution: Resolution, matter: Sequence[str]) -> Fix:
    """A way out of a problem, and what it was locked to; `matter` are the projects to report."""
    known = {pin.name for pin in resolution.pins}.union(COMPONENTS)
    reported = {change.subject for change in changed.changes if change.kind is ChangeKind.DROP}
    reported |= {project_of(change.before) for change in changed.changes if change.kind is ChangeKind.VERSION}
    needed = [name for change in changed.changes for name in no_longer_needed(change)]
    gone = [one for one in dict.fromkeys([*matter, *needed]) if one not in known and one not in reported]
    gone += _lost_extras(resolution)
    return Fix(
        name="",
        changes=changed.reported,
        environments=(replace(_environment(resolution, problem, matter), gone=tuple(gone)),),
        files=((problem.stack.name, changed.text),),
        risky=changed.risky,
        price=changed.price + changed.surcharge,
    )


def _lost_extras(resolution: Resolution) -> Iterator[str]:
    """The extras that lines ask for but the locked release does not have."""
    for pin in resolution.pins:
        needs = [root.need for root in resolution.problem.requirements_on(pin.name)]
        asked = {canonicalize_name(extra) for need in needs if isinstance(need, Requirement) for extra in need.extras}
        yield from (f"{pin.name}[{extra}]" for extra in pin.unknown_extras if canonicalize_name(extra) in asked)


def _environment(resolution: Resolution, wish: Problem, matter: Sequence[str]) -> Environment:
    """The lock of a changed stack; `matter` are the projects whose pins are shown."""
    asked = [root.need.name for root in resolution.problem.stack.requirements if isinstance(root.need, Requirement)]
    known = dict.fromkeys([*asked, *matter])
    shown = known if len(known) <= _SHOWN else list(dict.fromkeys([*matter, *asked]))[:_SHOWN]
    return Environment(
        name=resolution.problem.stack.name,
        requires=tuple(root.origin.text for root in resolution.problem.stack.requirements),
        pins=tuple(
            PinOf(name=pin.name, version=str(pin.version), wished=pin.name in asked)
            for pin in filter(None, map(resolution.pin, shown))
        ),
        count=len(resolution.pins),
        warnings=tuple(_warnings(resolution, wish, matter)),
    )


def _warnings(resolution: Resolution, wish: Problem, matter: Sequence[str]) -> Iterator[Warns]:
    """The warnings about a lock.

    Those about a release that the wish itself pins are left out, as they are not caused by the change, unless they
    are grave, or are about the machine and would be moot on the wish's own machine.
    """
    wished = {root.need.name: root.need for root in wish.stack.requirements if isinstance(root.need, Requirement)}
    own = {fact.id for fact in wish.facts}
    yield from (as_warning(practice) for practice in resolution.practices if practice.id not in own)
    for fact in applied_facts(resolution):
        if not isinstance(fact, Warns):
            continue
        pin = resolution.pin(fact.package)
        need = wished.get(fact.package)
        as_wished = pin and need and pins(need.specifier) and need.specifier.contains(pin.version, prereleases=True)
        averted = any(isinstance(one, Requirement) and one.name in wished for one in fact.unless)
        averted |= fact.is_averted_on(wish.target.system)
        if averted or ((fact.package in (*matter, *wished) or fact.components) and (fact.grave or not as_wished)):
            yield fact


def _lettered(fixes: Iterable[Fix], of: str, cutoff: str) -> Iterator[Fix]:
    """The ways out of a stack with letters: the smallest loss first, those that go against a fact last.

    One that goes against a fact is left out if it changes all of the wish that one before it changes.
    The files of each carry its letter, the name of the stack, and any `cutoff` that replaced the
    stack's own, since that is what was solved.
    """
    ranked = sorted(fixes, key=lambda fix: (fix.risky, cost(fix)))
    kept = [
        fix
        for at, fix in enumerate(ranked)
        if not (fix.risky and any(changes_less(one.changes, fix.changes) for one in ranked[:at]))
    ]
    return (_with_letter(fix, letter, of, cutoff) for fix, letter in zip(kept, ascii_uppercase, strict=False))


def _with_letter(fix: Fix, letter: str, of: str, cutoff: str) -> Fix:
    numbers = [""] if len(fix.files) == 1 else [str(at) for at, _ in enumerate(fix.files, 1)]
    names = [with_suffix(of, f"-{letter.lower()}{number}") for number in numbers]
    changes = fix.changes
    if len(names) > 1:
        changes = tuple(replace(change, subject=name) for change, name in zip(changes, names, strict=True))
    return replace(
        fix,
        name=letter,
        changes=changes,
        files=tuple(
            (name, StackText(text).way_out(letter, of, name, cutoff).text)
            for name, (_, text) in zip(names, fix.files, strict=True)
        ),
        environments=tuple(replace(one, name=name) for one, name in zip(fix.environments, names, strict=True)),
    )


# --- two environments


def _split(trials: Trials, found: Iterable[Sequence[Ground]], matter: Sequence[str]) -> Iterator[Fix]:
    """Two environments instead of one, both of them locked, if that solves all of these cores.

    Lines that are in none of them go to both, but for those that do not work without a line of the other one.
    """
    problem = trials.problem
    order = {root.origin: at for at, root in enumerate(problem.stack.requirements)}
    clashes = [{order[wish] for one in core if isinstance(wish := constraint_of(one), StackLine)} for core in found]
    if any(len(clash) < 2 for clash in clashes):
        return  # something clashes with the target, or with itself
    for here, there in islice(_divisions(clashes, trials.clock.expired), _DIVISIONS):
        one = _side(trials, there, here)
        two = None if one is None else _side(trials, here, there)
        if one is None or two is None:
            continue
        sides = one, two
        lines = [[root.origin.text for root in resolution.problem.stack.requirements] for _, resolution in sides]
        changes = tuple(
            Change(
                ChangeKind.SPLIT,
                problem.stack.name,
                after=", ".join(line for line in own if line not in other),
                where=problem.stack.where,
            )
            for own, other in (lines, lines[::-1])
        )
        yield Fix(
            name="",
            changes=changes,
            environments=tuple(_environment(resolution, problem, matter) for _, resolution in sides),
            files=tuple((problem.stack.name, text) for text, _ in sides),
            risky=False,
            price=SPLIT,
        )
        return


def _divisions(clashes: Sequence[set[int]], expired: Callable[[], bool]) -> Iterator[tuple[list[int], list[int]]]:
    """Every division of the lines concerned that separates each clash, those with few lines in the second first."""
    lines = sorted(set(chain.from_iterable(clashes)))
    for size in range(1, len(lines) // 2 + 1):
        for apart in combinations(reversed(lines), size):
            if expired():
                return
            second = set(apart)
            if all(clash & second and clash - second for clash in clashes):
                yield [line for line in lines if line not in second], sorted(second)


def _side(trials: Trials, without: Collection[int], other: Collection[int]) -> tuple[str, Resolution] | None:
    """One of the two stacks; None if it does not lock, or has something that does not work without the lines that go.

    What has a line of its own goes with them, if it is not among the `other` lines, which only this stack has.
    """
    needs = [root.need for root in trials.problem.stack.requirements]
    gone = {need.name for at in without if isinstance(need := needs[at], Requirement)}
    while True:
        text = StackText(trials.text).without_lines(without).text
        answer = trials.lock_all(text)
        if not isinstance(answer, Resolution):
            return None
        idle = set(broken_without(gone, applied_facts(answer)))
        if not idle:
            return text, answer
        lines = [at for at, need in enumerate(needs) if isinstance(need, Requirement) and need.name in idle]
        further = [at for at in lines if at not in without and at not in other]
        if not further:
            return None
        without = [*without, *further]
