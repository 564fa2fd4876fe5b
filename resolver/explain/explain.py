"""Explain a refuted stack: its contradictions first, then its fixes.

`cli/answers` calls `explanation_of` for a report, and `reason_of` for a cell of a grid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from msgspec.structs import replace
from packaging.utils import canonicalize_name

from resolver.config.compile import StackCompiler
from resolver.config.load import Document, Inputs
from resolver.config.schema import StackFile
from resolver.explain.awaited import awaited_by
from resolver.explain.causes import with_marks
from resolver.explain.clock import Clock
from resolver.explain.contradictions import contradiction, cores
from resolver.explain.fix_search import find_fixes
from resolver.explain.fixes import fix_of, lettered
from resolver.explain.loss import loss_of
from resolver.explain.split import split
from resolver.explain.trials import Trials
from resolver.index.protocol import Catalog
from resolver.model.change import Change
from resolver.model.constraint import (
    BuildLine,
    Constraint,
    Requires,
    Unavailable,
)
from resolver.model.explanation import Attempt, Awaited, Contradiction, Explanation
from resolver.model.package import PackageKind
from resolver.model.problem import NO_OPTIONS, PolicyOptions, Problem
from resolver.resolve.clauses import Clauses
from resolver.resolve.reasons import cutoff_text
from resolver.resolve.solver import Refutation, faults_of_core
from resolver.resolve.universe import Universe

# The largest share of the time for whether the answer depends on an index that did not answer.
_SHARE_OF_AWAITED = 1 / 4
# The largest share of the time for contradictions. Fixes get what is left.
_SHARE = 1 / 8
# How many attempts without a solution are reported.
_ATTEMPTS = 8


def _ignore(*_: object) -> None:
    """Report nothing: the default of the callbacks."""


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
    """Return the explanation of a refuted problem: its contradictions, fixes and failed attempts.

    The problem is one of the compiler's. Each fix was locked for all targets of the stack;
    `catalog_of` returns the catalog for the problem of a target, and `read_shipped` the stacks that
    ship with this program. `report` is called with the contradictions, and with what unreachable
    indexes may change, as soon as these are known; `report_fix` is called with the first fix.
    Contradictions that the search for fixes reveals come last. If the clock ends, what was not
    found yet is missing, and `Explanation.limited` is set.
    """
    clauses = refutation.clauses
    problem = clauses.universe.problem
    awaited = awaited_by(refutation, clock.within(clock.seconds * _SHARE_OF_AWAITED))
    share = clock.within(clock.seconds * _SHARE)
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
    # Only searches end early: what was found is solved once more without help from similar locks.
    clock.restore()
    for changed, locked in solved:
        text = trials.text(changed.edits)
        resolution = trials.exact(changed.edits, locked)
        fix = fix_of(problem, changed, text, resolution, concerned)
        fix = with_marks(fix, contradictions, resolution, clauses.universe)
        fix = replace(fix, twin=trials.twin(changed.edits))
        loss = loss_of(
            fix,
            years_older=changed.years_older,
            others_older=changed.others_older,
            unproven=changed.unproven,
            price=changed.price,
        )
        fixes.append((loss, fix))
    return Explanation(
        problem=problem,
        text=trials.files.stack.text,
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
    """Return the first contradiction of a refuted stack, and what unreachable indexes may change.

    No fixes are looked for. If time is up, the contradiction is the core of the refutation itself.
    """
    clauses = refutation.clauses
    awaited = awaited_by(refutation, clock)
    core: Sequence[Constraint] = refutation.core
    with clock.limiting():
        core = next(_checked_cores(clauses, clock), core)
    return contradiction(clauses, core, clock.expired), awaited


def _reported(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """Return the attempts that a report shows. Failures for another target come first.

    Of several attempts with the same changes, the last one in this order is shown.
    """
    ordered = sorted(attempts, key=lambda attempt: not attempt.target)
    by_changes = {attempt.changes: attempt for attempt in ordered}
    return tuple(islice(by_changes.values(), _ATTEMPTS))


def found_cores(refutation: Refutation, clock: Clock) -> list[Sequence[Constraint]]:
    """Return the cores that are found in time; the core of the refutation if there are none."""
    found: list[Sequence[Constraint]] = []
    with clock.limiting():
        # Not `extend`: if time is up, the cores that were found before must stay.
        for core in _checked_cores(refutation.clauses, clock):
            found.append(core)  # noqa: PERF402  an exception leaves those found before
    return found or [refutation.core]


def _checked_cores(clauses: Clauses, clock: Clock) -> Iterator[Sequence[Constraint]]:
    """Yield the cores that pass the independent check of `resolve.check_refutation`.

    The core of the refutation passed it before, but a report shows other cores.
    """
    for core in cores(clauses, clock.expired):
        if not faults_of_core(clauses, core):
            yield core


# --- what else is reported


def _options(inputs: Inputs, problem: Problem, options: PolicyOptions) -> Iterator[str]:
    """Yield the command-line options with which a command finds the same fixes.

    The letters of fixes differ between targets, so the target is named if the stack has several.
    """
    yield from option_words(options)
    targets = inputs.stack.content.target
    if isinstance(targets, tuple) and len(targets) > 1:
        yield from ("--target", problem.target.name)


def option_words(options: PolicyOptions) -> Iterator[str]:
    """Yield the command-line words that give these policy options."""
    if options.exclude_newer is not None:
        yield from ("--exclude-newer", cutoff_text(options.exclude_newer))
    if options.as_of:
        yield from ("--as-of", options.as_of)


def _missing(universe: Universe, contradictions: Iterable[Contradiction]) -> list[str]:
    """Return the projects that the stack asks for and no index has, each once.

    Projects that a contradiction names as unavailable are left out.
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
                names[reason.project] = None
        # The subject is a message, and no text, if it is a component with a label.
        if found.closing is not None and isinstance(found.closing.subject, str):
            names[found.closing.subject] = None
    return list(names)
