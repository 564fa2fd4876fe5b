"""The complete explanation of a conflict: its contradictions, then the ways out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import zip_longest
from string import ascii_uppercase

from msgspec.structs import replace
from packaging.utils import canonicalize_name

from resolver.config.load import Inputs
from resolver.explain.awaited import awaited, is_open
from resolver.explain.changes import Changed
from resolver.explain.contradictions import contradiction, cores
from resolver.explain.costs import SPLIT, cost, named, no_longer_needed, spares
from resolver.explain.edit import StackText, with_suffix
from resolver.explain.fixes import find
from resolver.explain.split import split
from resolver.explain.trial import Clock, Expired, Trials, environment
from resolver.explain.wishes import wish_of
from resolver.index.protocol import looking
from resolver.model.dependency import Kind
from resolver.model.explanation import Awaited, Change, ChangeKind, Contradiction, Explanation, Fix
from resolver.model.problem import Problem
from resolver.model.requirement import COMPONENTS, Requirement
from resolver.model.resolution import Lacks, Needs, Resolution
from resolver.resolve.core_statements import cutoff_text
from resolver.resolve.grounded import Ground
from resolver.resolve.solver import Refutation
from resolver.resolve.universe import Universe

_SHARE = 1 / 3  # of the time, at most, for what clashes: the rest is for ways out


def draft(
    refutation: Refutation,
    inputs: Inputs,
    clock: Clock,
    *,
    cutoff: datetime | None = None,
    tell: Callable[[Problem, tuple[Contradiction, ...], tuple[Awaited, ...]], None] | None = None,
    tell_way: Callable[[Changed], None] | None = None,
) -> Explanation:
    """The explanation of a refuted problem, with its ways out as they were found, still without letters.

    `tell` is called with the contradictions, and what is awaited, as soon as they are known, as the ways out take
    longer, and `tell_way` with the first of these. The search for them may reveal further contradictions, which come
    last.
    Anything not found within the clock's limit is left out, and the explanation says so.
    """
    clauses = refutation.engine.clauses
    problem = clauses.universe.problem
    with looking(clock.look):
        verdict = awaited(refutation, clock.tick)
    waiting = () if isinstance(verdict, Refutation) else verdict
    if isinstance(verdict, Refutation) and verdict is not refutation:
        clauses.learn(verdict.engine.clauses)
    found_cores = _found_cores(refutation, clock.within(clock.seconds * _SHARE), certain=not waiting)
    contradictions = tuple(contradiction(clauses, core, clock.expired) for core in found_cores)
    if tell is not None:
        tell(problem, contradictions, waiting)
    trials = Trials(inputs, problem, clauses.universe, clock, cutoff)
    with looking(clock.look):
        found = find(clauses, found_cores, trials, tell_way)
    known = [set(one.statements) for one in contradictions]
    contradictions += tuple(told for _, told in found.further if set(told.statements) not in known)
    all_cores = [*found_cores, *(core for core, _ in found.further)]
    matter = what_matters(contradictions)
    fixes = [fix_of(problem, changed, resolution, matter) for changed, resolution in found.fixes or found.useless]
    return Explanation(
        problem=problem,
        contradictions=contradictions,
        fixes=(*fixes, *_splits(trials, all_cores, matter)),
        attempts=tuple(found.attempts),
        limited=clock.limited,
        missing=tuple(_missing(clauses.universe, contradictions)),
        options=tuple(_options(inputs, problem, cutoff)),
        awaited=waiting,
    )


def _found_cores(refutation: Refutation, clock: Clock, *, certain: bool) -> list[Sequence[Ground]]:
    """What clashes, as far as it is found in time: that something does is known.

    If that is `certain`, it does not rest on what an index may have that could not be reached.
    """
    clauses = refutation.engine.clauses
    found: list[Sequence[Ground]] = []
    with looking(clock.look), suppress(Expired):
        for core in cores(clauses, clock.expired, lambda one: certain and is_open(clauses.universe, one)):
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
    told = {one.subject for row in contradictions for one in row.statements if isinstance(one, Lacks)}
    names = {edge.package.name: None for edge in universe.roots() if edge.package.kind is Kind.PROJECT}
    return (name for name in names if name not in told and not universe.project(canonicalize_name(name)).found)


def what_matters(contradictions: Iterable[Contradiction]) -> list[str]:
    """The projects that the contradictions are about."""
    names: dict[str, None] = {}
    for one in contradictions:
        for statement in one.statements:
            if isinstance(statement, (Needs, Lacks)):
                names[statement.subject.partition("[")[0]] = None
        if one.closing is not None:
            names[one.closing.subject] = None
    return list(names)


def fix_of(problem: Problem, changed: Changed, resolution: Resolution, matter: Sequence[str]) -> Fix:
    """A way out of a problem, and what it was locked to; `matter` are the projects to report."""
    name = problem.stack.name
    known = {pin.name for pin in resolution.pins}.union(COMPONENTS)
    told = {change.subject for change in changed.changes if change.kind is ChangeKind.DROP}
    told |= {named(change.before) for change in changed.changes if change.kind is ChangeKind.VERSION}
    needed = [name for change in changed.changes for name in no_longer_needed(change)]
    gone = [one for one in dict.fromkeys([*matter, *needed]) if one not in known and one not in told]
    gone += _lost_extras(resolution)
    return Fix(
        name="",
        changes=changed.changes,
        environments=(replace(environment(resolution, problem, name, matter), gone=tuple(gone)),),
        files=((name, changed.text),),
        risky=changed.risky,
        price=changed.price + changed.surcharge,
    )


def _lost_extras(resolution: Resolution) -> Iterator[str]:
    """The extras that lines ask for but the locked release does not have."""
    for pin in resolution.pins:
        needs = [ask.need for ask in resolution.problem.asked(pin.name)]
        asked = {canonicalize_name(extra) for need in needs if isinstance(need, Requirement) for extra in need.extras}
        yield from (f"{pin.name}[{extra}]" for extra in pin.unknown_extras if canonicalize_name(extra) in asked)


def _splits(trials: Trials, found: Iterable[Sequence[Ground]], matter: Sequence[str]) -> list[Fix]:
    clashes = [{wish for ground in core if (wish := wish_of(ground)) is not None} for core in found]
    rows = split(clashes, trials)
    if not rows:
        return []
    lines = [tuple(ask.origin.text for ask in resolution.problem.stack.asks) for _, resolution in rows]
    changes = tuple(
        Change(
            ChangeKind.SPLIT,
            resolution.problem.stack.name,
            after=", ".join(line for line in lines[at] if line not in lines[1 - at]),
            where=trials.problem.stack.where,
        )
        for at, (_, resolution) in enumerate(rows)
    )
    return [
        Fix(
            name="",
            changes=changes,
            environments=tuple(
                environment(resolution, trials.problem, resolution.problem.stack.name, matter) for _, resolution in rows
            ),
            files=tuple((resolution.problem.stack.name, text) for text, resolution in rows),
            risky=False,
            price=SPLIT,
        )
    ]


def lettered(explanation: Explanation, cutoff: datetime | None = None) -> Explanation:
    """An explanation with letters for its ways out: the smallest loss first, those that go against a fact last.

    One that goes against a fact is left out if it changes all of the wish that one before it changes.
    The files of each carry its letter, the name of the stack, and any `cutoff` that replaced the
    stack's own, since that is what was solved.
    """
    of, until = explanation.problem.stack.name, cutoff_text(cutoff)
    ranked = sorted(explanation.fixes, key=lambda fix: (fix.risky, cost(fix)))
    kept = [
        fix
        for at, fix in enumerate(ranked)
        if not (fix.risky and any(spares(one.changes, fix.changes) for one in ranked[:at]))
    ]
    fixes = [_lettered(fix, letter, of, until) for fix, letter in zip(kept, ascii_uppercase, strict=False)]
    return replace(explanation, fixes=tuple(fixes))


def _lettered(fix: Fix, letter: str, of: str, cutoff: str) -> Fix:
    files, environments = [], []
    for at, ((name, text), where) in enumerate(zip(fix.files, fix.environments, strict=True), 1):
        base = name.removesuffix(f"-{at}") if len(fix.files) > 1 else name
        named = with_suffix(base, f"-{letter.lower()}" + (str(at) if len(fix.files) > 1 else ""))
        stack = StackText(text).renamed(named).way_out(letter, of)
        files.append((named, (stack.until(cutoff) if cutoff else stack).text))
        environments.append(replace(where, name=named))
    changes = tuple(
        replace(change, subject=where.name) if change.kind is ChangeKind.SPLIT else change
        for change, where in zip_longest(fix.changes, environments)
        if change is not None
    )
    return replace(fix, name=letter, changes=changes, files=tuple(files), environments=tuple(environments))
