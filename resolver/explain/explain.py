"""The complete explanation of a conflict: its contradictions, then the ways out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from packaging.utils import NormalizedName, canonicalize_name

from resolver.config.compile import StackCompiler
from resolver.config.load import Document, Inputs
from resolver.config.schema import StackFile
from resolver.explain.contradictions import contradiction, cores, explore, is_open
from resolver.explain.fixes import fix_of, lettered
from resolver.explain.loss import loss_of
from resolver.explain.repairs import find_fixes
from resolver.explain.split import split
from resolver.explain.trial import Clock, Trials
from resolver.index.protocol import Catalog
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
from resolver.model.explanation import Attempt, Awaited, Change, Contradiction, Explanation
from resolver.model.package import PackageKind
from resolver.model.problem import NO_OPTIONS, PolicyOptions, Problem
from resolver.resolve.clauses import Clauses
from resolver.resolve.reasons import cutoff_text
from resolver.resolve.solver import Refutation, faults_of_core
from resolver.resolve.universe import Universe

# of the time, at most, for contradictions: fixes have what is left
_SHARE = 1 / 8
# changes without a solution that are reported
_ATTEMPTS = 8


def _ignore(*_: object) -> None:
    """Report nothing."""


def explanation_of(
    refutation: Refutation,
    compiler: StackCompiler,
    clock: Clock,
    catalog_of: Callable[[Problem], Catalog],
    *,
    options: PolicyOptions = NO_OPTIONS,
    read_shipped: Callable[[], Sequence[Document[StackFile]]] = tuple,
    report: Callable[[Problem, tuple[Contradiction, ...], tuple[Awaited, ...]], None] = _ignore,
    report_fix: Callable[[tuple[Change, ...]], None] = _ignore,
) -> Explanation:
    """Return the explanation of a refuted problem, which the compiler made.

    Its fixes hold for all targets, whose catalogs `catalog_of` gives. `read_shipped` reads the
    stacks that ship. `report` is called with the
    contradictions, and what is awaited, as soon as they are known, and `report_fix` with the first
    fix. The search for these may reveal further contradictions, which come last. Anything not found
    within the clock's limit is left out, and the explanation says so.
    """
    clauses = refutation.clauses
    problem = clauses.universe.problem
    share = clock.within(clock.seconds * _SHARE)
    awaited = _awaited(refutation, share)
    core_list = found_cores(refutation, share)
    clock.limited |= share.limited
    contradictions = [contradiction(clauses, core, clock.expired) for core in core_list]
    report(problem, tuple(contradictions), awaited)
    trials = Trials(compiler, clauses.universe, clock, options, catalog_of, read_shipped)
    trials.learn(refutation)
    results = find_fixes(clauses, core_list, trials, report_fix)
    known = [set(found.reasons) for found in contradictions]
    for core, hidden in results.further:
        core_list.append(core)
        if set(hidden.reasons) not in known:
            contradictions.append(hidden)
    concerned = _projects_of(contradictions)
    solved = results.fixes or results.useless.values()
    fixes = [(loss_of(fix), fix) for fix in split(trials, core_list, concerned)]
    for changed, locked in solved:
        text = trials.text(changed.edits)
        resolution = trials.exact(changed.edits, locked)
        fix = fix_of(problem, changed, text, resolution, concerned)
        loss = loss_of(
            fix,
            years_older=changed.years_older,
            unproven=changed.unproven,
            price=changed.price,
        )
        fixes.append((loss, fix))
    return Explanation(
        problem=problem,
        contradictions=tuple(contradictions),
        fixes=tuple(lettered(fixes, problem.stack.name, options)),
        attempts=_reported(results.attempts),
        limited=clock.limited,
        missing=tuple(_missing(clauses.universe, contradictions)),
        options=tuple(_options(compiler.inputs, problem, options)),
        awaited=awaited,
        unreached=tuple(sorted(results.unreached.items())),
    )


def reason_of(refutation: Refutation, clock: Clock) -> tuple[Contradiction, tuple[Awaited, ...]]:
    """Return the first contradiction of an explanation, and what is awaited, without ways out."""
    clauses = refutation.clauses
    awaited = _awaited(refutation, clock)
    core: Sequence[Constraint] = refutation.core
    with clock.limiting():
        core = next(_checked_cores(clauses, clock), core)
    return contradiction(clauses, core, clock.expired), awaited


def _reported(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """Return the attempts that a report shows, those that failed for another target first.

    Of attempts with the same changes the last one counts.
    """
    ordered = sorted(attempts, key=lambda attempt: not attempt.target)
    by_changes = {attempt.changes: attempt for attempt in ordered}
    return tuple(islice(by_changes.values(), _ATTEMPTS))


# --- indexes that did not answer


def _awaited(refutation: Refutation, clock: Clock) -> tuple[Awaited, ...]:
    """Return what the answer needs from indexes that could not be reached.

    That is nothing if there is no solution whatever they have. Constraints that rest on them are
    left out, one core after the other, until nothing clashes or others alone do.
    """
    clauses = refutation.clauses
    if not any(is_open(constraint, clauses) for constraint in refutation.core):
        return ()
    with clock.limiting():
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
        for constraint in missing:
            name = constraint.project
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
                # these require nothing
                pass


def found_cores(refutation: Refutation, clock: Clock) -> list[Sequence[Constraint]]:
    """Return the cores that are found in time; without any, that of the refutation."""
    found: list[Sequence[Constraint]] = []
    with clock.limiting():
        # one by one, as each takes its time
        for core in _checked_cores(refutation.clauses, clock):
            found.append(core)  # noqa: PERF402  an exception leaves those found before
    return found or [refutation.core]


def _checked_cores(clauses: Clauses, clock: Clock) -> Iterator[Sequence[Constraint]]:
    """Yield the cores that pass the independent check, as the core of the refutation did.

    They are others than that one: what a page says is chosen for people.
    """
    for core in cores(clauses, clock.expired):
        if not faults_of_core(clauses, core):
            yield core


# --- what else is reported


def _options(inputs: Inputs, problem: Problem, options: PolicyOptions) -> Iterator[str]:
    """Yield the options that select this problem of the stack in a command.

    The letters of fixes differ between targets.
    """
    yield from option_words(options)
    targets = inputs.stack.content.target
    if isinstance(targets, tuple) and len(targets) > 1:
        yield from ("--target", problem.target.name)


def option_words(options: PolicyOptions) -> Iterator[str]:
    """Yield the words of a command line that give these options."""
    if options.exclude_newer is not None:
        yield from ("--exclude-newer", cutoff_text(options.exclude_newer))
    if options.as_of:
        yield from ("--as-of", options.as_of)


def _missing(universe: Universe, contradictions: Iterable[Contradiction]) -> list[str]:
    """Return the projects that the stack asks for and no index has.

    Those in the contradictions are left out.
    """
    reported = set()
    for found in contradictions:
        for reason in found.reasons:
            if isinstance(reason.constraint, Unavailable):
                reported.add(reason.subject)
    packages = [edge.package for edge in universe.roots()]
    names = [package.name for package in packages if package.kind is PackageKind.PROJECT]
    return [
        name
        for name in dict.fromkeys(names)
        if name not in reported and not universe.project(canonicalize_name(name)).exists
    ]


def _projects_of(contradictions: Iterable[Contradiction]) -> list[str]:
    """Return the projects that contradictions are about, each once."""
    names: dict[str, None] = {}
    for found in contradictions:
        for reason in found.reasons:
            if isinstance(reason.constraint, (Requires, BuildLine, Unavailable)):
                names[reason.subject.partition("[")[0]] = None
        # components have labels
        if found.closing is not None and isinstance(found.closing.subject, str):
            names[found.closing.subject] = None
    return list(names)
