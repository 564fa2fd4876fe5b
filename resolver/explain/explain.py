"""The complete explanation of a conflict: its contradictions, then the ways out, two environments among them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, combinations, islice
from string import ascii_uppercase

from msgspec.structs import replace
from packaging.utils import NormalizedName, canonicalize_name

from resolver.config.load import Inputs
from resolver.explain.contradictions import contradiction, cores, explore, is_open
from resolver.explain.costs import (
    SPLIT,
    broken_without,
    changes_less,
    cost,
    no_longer_needed,
    project_of,
)
from resolver.explain.repairs import find_fixes
from resolver.explain.stack_text import StackText, with_suffix
from resolver.explain.trial import ChangedStack, Clock, Expired, Trials
from resolver.index.protocol import Catalog, polling
from resolver.lock.applied_facts import applied_facts
from resolver.model.constraint import (
    BuildLine,
    ComponentValue,
    Constraint,
    Excluded,
    Exclusive,
    Requires,
    StackLine,
    Unavailable,
)
from resolver.model.explanation import (
    Awaited,
    Change,
    ChangeKind,
    Contradiction,
    Environment,
    Explanation,
    Fix,
    ShownPin,
)
from resolver.model.fact import Warns, as_warning
from resolver.model.package import PackageKind
from resolver.model.problem import NO_OPTIONS, PolicyOptions, Problem
from resolver.model.requirement import COMPONENTS, Requirement
from resolver.model.resolution import Resolution
from resolver.resolve.candidates import pins
from resolver.resolve.clauses import Clauses
from resolver.resolve.reasons import cutoff_text
from resolver.resolve.shortfalls import lost_extras
from resolver.resolve.solver import Refutation
from resolver.resolve.universe import Universe

_SHARE = 1 / 3  # of the time, at most, for contradictions: fixes have what is left
_SHOWN = 10  # pins reported for a fix
_ATTEMPTS = 8  # changes without a solution that are reported
_DIVISIONS = 4  # of the lines to two environments


def explanation_of(
    refutation: Refutation,
    inputs: Inputs,
    clock: Clock,
    catalog_of: Callable[[Problem], Catalog],
    *,
    options: PolicyOptions = NO_OPTIONS,
    report: Callable[[Problem, tuple[Contradiction, ...], tuple[Awaited, ...]], None] = lambda *_: (
        None
    ),
    report_fix: Callable[[tuple[Change, ...]], None] = lambda _: None,
) -> Explanation:
    """The explanation of a refuted problem.

    Its fixes hold for all targets, whose catalogs `catalog_of` gives.

    `report` is called with the contradictions, and what is awaited, as soon as they are known, and
    `report_fix` with the first fix. The search for these may reveal further contradictions, which
    come last. Anything not found within the clock's limit is left out, and the explanation says so.
    """
    clauses = refutation.clauses
    problem = clauses.universe.problem
    share = clock.within(clock.seconds * _SHARE)
    awaited = _awaited(refutation, share)
    found_cores = _found_cores(refutation, share)
    clock.limited |= share.limited
    contradictions = tuple(contradiction(clauses, core, clock.expired) for core in found_cores)
    report(problem, contradictions, awaited)
    trials = Trials(inputs, clauses.universe, clock, options, catalog_of)
    with polling(clock.look):
        results = find_fixes(clauses, found_cores, trials, report_fix)
    reported = [set(row.reasons) for row in contradictions]
    contradictions += tuple(
        hidden for _, hidden in results.further if set(hidden.reasons) not in reported
    )
    all_cores = [*found_cores, *(core for core, _ in results.further)]
    concerned = _projects_of(contradictions)
    solved = results.fixes or results.useless.values()
    fixes = [_fix_of(problem, changed, resolution, concerned) for changed, resolution in solved]
    fixes += _split(trials, all_cores, concerned)
    attempts = {
        row.changes: row for row in sorted(results.attempts, key=lambda row: not row.target)
    }
    return Explanation(
        problem=problem,
        contradictions=contradictions,
        fixes=tuple(_lettered(fixes, problem.stack.name, options)),
        attempts=tuple(islice(attempts.values(), _ATTEMPTS)),
        limited=clock.limited,
        missing=tuple(_missing(clauses.universe, contradictions)),
        options=tuple(_options(inputs, problem, options)),
        awaited=awaited,
        unreached=tuple(sorted(results.unreached.items())),
    )


def reason_of(refutation: Refutation, clock: Clock) -> tuple[Contradiction, tuple[Awaited, ...]]:
    """The first contradiction of an explanation, and what is awaited, without any ways out."""
    clauses = refutation.clauses
    awaited = _awaited(refutation, clock)
    core = refutation.core
    with polling(clock.look), suppress(Expired):
        core = next(cores(clauses, clock.expired), core)
    return contradiction(clauses, core, clock.expired), awaited


def _awaited(refutation: Refutation, clock: Clock) -> tuple[Awaited, ...]:
    """Return what the answer needs from indexes that could not be reached.

    That is nothing if there is no solution whatever they have. Of several constraints that rest on
    them, each is left out in turn, until nothing clashes or others alone do.
    """
    clauses = refutation.clauses
    if not any(is_open(constraint, clauses) for constraint in refutation.core):
        return ()
    with polling(clock.look), suppress(Expired):
        explore(clauses, clock.expired)
    needs: dict[NormalizedName, dict[str, None]] = {}
    needed_by: dict[NormalizedName, dict[str, None]] = {}
    among = list(clauses.known)
    while not clauses.satisfiable(among=among):
        core = clauses.minimal(among=among)
        missing = [constraint for constraint in core if is_open(constraint, clauses)]
        if not missing:
            return ()
        among = [constraint for constraint in among if constraint not in missing]
        for name in (constraint.project for constraint in missing):
            for text, requirer in _requirements_on(name, core, clauses):
                needs.setdefault(name, {})[text] = None
                if requirer:
                    needed_by.setdefault(name, {})[requirer] = None
    return tuple(
        Awaited(
            indexes=clauses.universe.project(name).unreachable,
            project=name,
            needs=tuple(texts),
            by=tuple(needed_by.get(name, ())),
        )
        for name, texts in needs.items()
    )


def _requirements_on(
    name: NormalizedName, core: Iterable[Constraint], clauses: Clauses
) -> Iterator[tuple[str, str]]:
    """Yield the requirements of a core on a project, each with the first release that has it.

    The stack's own lines have an empty text there.
    """
    for constraint in core:
        edges = clauses.edges.get(constraint, ())
        if not edges or edges[0][1].package.name != name:
            continue
        match constraint:
            case StackLine():
                yield constraint.text, ""
            case BuildLine():
                yield constraint.text, f"{constraint.package} {constraint.version}"
            case Requires():
                yield constraint.text, str(edges[0][0])
            case ComponentValue() | Excluded() | Exclusive() | Unavailable():
                pass  # these require nothing


def _found_cores(refutation: Refutation, clock: Clock) -> list[Sequence[Constraint]]:
    """The cores that are found in time; without any, that of the refutation."""
    result: list[Sequence[Constraint]] = []
    with polling(clock.look), suppress(Expired):
        for core in cores(refutation.clauses, clock.expired):
            result += [core]  # one by one, as each takes its time
    return result or [refutation.core]


def _options(inputs: Inputs, problem: Problem, options: PolicyOptions) -> Iterator[str]:
    """The options that select this problem of the stack in a command; the letters of fixes differ between targets."""
    yield from option_words(options)
    targets = inputs.stack.content.target
    if isinstance(targets, tuple) and len(targets) > 1:
        yield from ("--target", problem.target.name)


def _missing(universe: Universe, contradictions: Iterable[Contradiction]) -> Iterator[str]:
    """The projects that the stack asks for and no index has, except those in the contradictions."""
    reported = {
        reason.subject
        for contradiction in contradictions
        for reason in contradiction.reasons
        if isinstance(reason.constraint, Unavailable)
    }
    names = {
        edge.package.name: None
        for edge in universe.roots()
        if edge.package.kind is PackageKind.PROJECT
    }
    return (
        name
        for name in names
        if name not in reported and not universe.project(canonicalize_name(name)).exists
    )


def _projects_of(contradictions: Iterable[Contradiction]) -> list[str]:
    names: dict[str, None] = {}
    for row in contradictions:
        for reason in row.reasons:
            if isinstance(reason.constraint, (Requires, BuildLine, Unavailable)):
                names[reason.subject.partition("[")[0]] = None
        if row.closing is not None:
            names[row.closing.subject] = None
    return list(names)


# --- fixes as they are reported


def _fix_of(
    problem: Problem, changed: ChangedStack, resolution: Resolution, concerned: Sequence[str]
) -> Fix:
    """A fix of a problem, and its lock; `concerned` are the projects to report."""
    not_gone = {pin.name for pin in resolution.pins}.union(COMPONENTS)
    not_gone |= {change.subject for change in changed.changes if change.kind is ChangeKind.DROP}
    not_gone |= {
        project_of(change.before) for change in changed.changes if change.kind is ChangeKind.VERSION
    }
    removed = [name for change in changed.changes for name in no_longer_needed(change)]
    gone = [name for name in dict.fromkeys([*concerned, *removed]) if name not in not_gone]
    gone += [f"{pin.name}[{extra}]" for pin, extra in lost_extras(resolution)]
    return Fix(
        name="",
        changes=changed.reported,
        environments=(replace(_environment(resolution, problem, concerned), gone=tuple(gone)),),
        files=((problem.stack.name, changed.text),),
        risky=changed.risky,
        price=changed.price + changed.surcharge,
    )


def _environment(
    resolution: Resolution, original: Problem, concerned: Sequence[str]
) -> Environment:
    """The lock of a changed stack with the pins that matter: those of the stack's lines and of `concerned` projects."""
    requirements = resolution.problem.stack.requirements
    requested = [root.need.name for root in requirements if isinstance(root.need, Requirement)]
    names = list(dict.fromkeys([*requested, *concerned]))
    if len(names) > _SHOWN:
        names = list(dict.fromkeys([*concerned, *requested]))[:_SHOWN]
    return Environment(
        name=resolution.problem.stack.name,
        requires=tuple(root.origin.text for root in requirements),
        pins=tuple(
            ShownPin(name=pin.name, version=str(pin.version), wished=pin.name in requested)
            for pin in filter(None, map(resolution.pin, names))
        ),
        count=len(resolution.pins),
        warnings=tuple(_warnings(resolution, original, concerned)),
    )


def _warnings(
    resolution: Resolution, original: Problem, concerned: Sequence[str]
) -> Iterator[Warns]:
    """The warnings about a lock.

    Those about a release that the original stack itself pins are left out, as they are not caused
    by the change, unless they are grave, or are about the machine and would be moot on the original
    one.
    """
    needs = {
        root.need.name: root.need
        for root in original.stack.requirements
        if isinstance(root.need, Requirement)
    }
    facts = {fact.id for fact in original.facts}
    yield from (
        as_warning(practice) for practice in resolution.used_practices if practice.id not in facts
    )
    for fact in applied_facts(resolution):
        if not isinstance(fact, Warns):
            continue
        pin, need = resolution.pin(fact.package), needs.get(fact.package)
        is_original = (
            pin
            and need
            and pins(need.specifier)
            and need.specifier.contains(pin.version, prereleases=True)
        )
        averted = any(isinstance(need, Requirement) and need.name in needs for need in fact.unless)
        averted |= fact.is_averted_on(original.target.system)
        if averted or (
            (fact.package in (*concerned, *needs) or fact.components)
            and (fact.grave or not is_original)
        ):
            yield fact


def option_words(options: PolicyOptions) -> Iterator[str]:
    """Yield the words of a command line that give these options."""
    if options.exclude_newer is not None:
        yield from ("--exclude-newer", cutoff_text(options.exclude_newer))
    if options.as_of:
        yield from ("--as-of", options.as_of)


def _lettered(fixes: Iterable[Fix], stack_name: str, options: PolicyOptions) -> Iterator[Fix]:
    """The fixes of a stack with letters: the smallest loss first, those that go against a fact last.

    One that goes against a fact is left out if it changes all of the stack that one before it
    changes. The files of each carry its letter, the name of the stack, and the options that
    replaced parts of the stack's policy, since that is what was solved.
    """
    ranked = sorted(fixes, key=lambda fix: (fix.risky, cost(fix)))
    listed = [
        fix
        for at, fix in enumerate(ranked)
        if not (
            fix.risky and any(changes_less(better.changes, fix.changes) for better in ranked[:at])
        )
    ]
    letters = zip(listed, ascii_uppercase, strict=False)
    return (_with_letter(fix, letter, stack_name, options) for fix, letter in letters)


def _with_letter(fix: Fix, letter: str, stack_name: str, options: PolicyOptions) -> Fix:
    numbers = [""] if len(fix.files) == 1 else [str(at) for at, _ in enumerate(fix.files, 1)]
    names = [with_suffix(stack_name, f"-{letter.lower()}{number}") for number in numbers]
    changes = fix.changes
    if len(names) > 1:
        changes = tuple(
            replace(change, subject=name) for change, name in zip(changes, names, strict=True)
        )
    return replace(
        fix,
        name=letter,
        changes=changes,
        files=tuple(
            (name, StackText(text).way_out(letter, stack_name, name, options).text)
            for name, (_, text) in zip(names, fix.files, strict=True)
        ),
        environments=tuple(
            replace(row, name=name) for row, name in zip(fix.environments, names, strict=True)
        ),
    )


# --- two environments


def _split(
    trials: Trials, found_cores: Iterable[Sequence[Constraint]], concerned: Sequence[str]
) -> list[Fix]:
    """Two environments instead of one, both of them locked, if that solves all of these cores.

    Lines that are in none of them go to both, but for those that do not work without a line of the
    other one.
    """
    stack = trials.problem.stack
    order = {root.origin: at for at, root in enumerate(stack.requirements)}
    clashes = [
        {order[row.whole] for row in core if isinstance(row, StackLine)} for core in found_cores
    ]
    if any(len(clash) < 2 for clash in clashes):
        return []  # something clashes with the target, or with itself
    for first, second in islice(_divisions(clashes, trials.clock.expired), _DIVISIONS):
        side = _side(trials, second, first)
        other_side = _side(trials, first, second) if side is not None else None
        if side is None or other_side is None:
            continue
        sides = side, other_side
        lines = [
            [root.origin.text for root in resolution.problem.stack.requirements]
            for _, resolution in sides
        ]
        unshared = [
            ", ".join(line for line in lines[at] if line not in lines[1 - at]) for at in (0, 1)
        ]
        return [
            Fix(
                name="",
                changes=tuple(
                    Change(ChangeKind.SPLIT, stack.name, after=text, where=stack.where)
                    for text in unshared
                ),
                environments=tuple(
                    _environment(resolution, trials.problem, concerned) for _, resolution in sides
                ),
                files=tuple((stack.name, text) for text, _ in sides),
                risky=False,
                price=SPLIT,
            )
        ]
    return []


def _divisions(
    clashes: Sequence[set[int]], expired: Callable[[], bool]
) -> Iterator[tuple[list[int], list[int]]]:
    """Every division of the lines concerned that separates each clash, those with few lines in the second first."""
    lines = sorted(set(chain.from_iterable(clashes)))
    for size in range(1, len(lines) // 2 + 1):
        for apart in combinations(reversed(lines), size):
            if expired():
                return
            second = set(apart)
            if all(clash & second and clash - second for clash in clashes):
                yield [line for line in lines if line not in second], sorted(second)


def _side(
    trials: Trials, without: Collection[int], only: Collection[int]
) -> tuple[str, Resolution] | None:
    """One of the two stacks; None if it does not lock, or something in it does not work without the removed lines.

    The lines of such projects are removed as well, unless they are among those that `only` this
    stack has.
    """
    needs = [root.need for root in trials.problem.stack.requirements]
    removed = {need.name for at in without if isinstance(need := needs[at], Requirement)}
    while True:
        text = StackText(trials.text).without_lines(without).text
        answer = trials.lock_all(text)
        if not isinstance(answer, Resolution):
            return None
        broken = set(broken_without(removed, applied_facts(answer)))
        if not broken:
            return text, answer
        lines = [
            at
            for at, need in enumerate(needs)
            if isinstance(need, Requirement) and need.name in broken
        ]
        further = [at for at in lines if at not in without and at not in only]
        if not further:
            return None
        without = [*without, *further]
