"""Explain a refuted stack: its contradictions first, then its fixes.

`cli/answers` calls `explanation_of` for a report, and `reason_of` for a cell of a grid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace
from packaging.utils import canonicalize_name

from resolver.config.compile import StackCompiler
from resolver.config.load import Inputs
from resolver.config.schema import StackFile
from resolver.config.toml_files import Document
from resolver.explain.causes import with_marks
from resolver.explain.clock import Clock
from resolver.explain.contradiction import contradiction_of
from resolver.explain.cores import checked_cores, found_cores, shown_core
from resolver.explain.fix_search import FixSearch
from resolver.explain.fixes import fix_of, lettered
from resolver.explain.loss import Loss, loss_of
from resolver.explain.split import split
from resolver.explain.supposed_files import Supposed, suppose, wanted_wheels
from resolver.explain.trials import Trials
from resolver.explain.unreachable_indexes import awaited_by, depends_on_unreachable_index
from resolver.index.protocol import Catalog
from resolver.model.change import Change
from resolver.model.constraint import (
    BuildLine,
    Constraint,
    ReleaseRequires,
    Unavailable,
)
from resolver.model.explanation import Attempt, Awaited, Contradiction, Explanation, Fix
from resolver.model.package import PackageKind
from resolver.model.problem import NO_OPTIONS, PolicyOptions, Problem
from resolver.model.reason import Reason
from resolver.resolve.clauses import Clauses
from resolver.resolve.reasons import cutoff_text, described
from resolver.resolve.refutation import Refutation
from resolver.resolve.universe import Universe

# The largest share of the time for whether the answer depends on an index that did not answer.
_SHARE_OF_AWAITED = 1 / 4
# The share of the time that is left for ways that need nothing of such an index.
_SHARE_OF_SOLVED = 3 / 4
# The share of the time that is left for one part of the two searches.
_SHARE_OF_PHASE = 1 / 2
# The largest share of the time for ways that need something of such an index, if another way keeps
# all lines.
_SHARE_OF_NEARER = 1 / 6
# The largest share of the time for contradictions. Fixes get what is left.
_SHARE = 1 / 8
# How many ways out are reported that need something of an index that did not answer.
_AWAITING = 2
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
    found = _found_in_time(refutation, clock)
    report(problem, tuple(found.contradictions), awaited)
    is_all_reachable = not any(
        depends_on_unreachable_index(constraint, clauses) for constraint in clauses.known
    )
    # Where an index could not be reached, time is left for what it might have.
    own_clock = clock if is_all_reachable else clock.within(clock.left * _SHARE_OF_SOLVED)
    trials = Trials(compiler, clauses.universe, own_clock, options, catalog_of, read_shipped)
    trials.learn(refutation)
    search = FixSearch(clauses, found.cores, trials, report_fix)
    supposed = None
    if is_all_reachable:
        search.try_known()
    else:
        supposed = _try_known_of_both(search, clauses, clock)
    search.try_changes()
    for core, hidden in search.results.further:
        found.add(core, hidden)
    concerned = _projects_of(found.contradictions)
    fixes = [(loss_of(fix), fix) for fix in split(trials, found.cores, concerned)]
    clock.limited |= own_clock.limited
    fixes += _solved_fixes(search, found.contradictions, concerned)
    awaiting: Sequence[tuple[Loss, Fix]] = ()
    if not is_all_reachable:
        best = min((loss for loss, _ in fixes), default=None)
        is_poor = best is None or bool(best.lost) or best.other_hardware
        rest = clock if is_poor else clock.within(clock.seconds * _SHARE_OF_NEARER)
        searches: Sequence[Supposed] = ()
        if _may_be_nearer(best):
            searches = _finish_supposed(supposed, trials, clauses, rest)
        clock.limited |= rest.limited
        awaiting = _awaiting_fixes(searches, found.contradictions, concerned, best)
    return Explanation(
        problem=problem,
        text=trials.files.stack.text,
        contradictions=tuple(found.contradictions),
        fixes=tuple(lettered(fixes, problem.stack.name, options)),
        awaiting=tuple(islice(lettered(awaiting, problem.stack.name, options, "0"), _AWAITING)),
        attempts=_reported(search.results.attempts),
        limited=clock.limited,
        missing=tuple(_missing(clauses.universe, found.contradictions)),
        options=tuple(_options(compiler.inputs, problem, options)),
        awaited=awaited,
        unreachable_projects=tuple(sorted(search.results.unreachable_projects.items())),
    )


class _Found(NamedTuple):
    """The cores of a stack that were found so far, and the contradictions made of them."""

    # The cores.
    cores: list[Sequence[Constraint]]
    # The contradictions that are shown: fewer, if several cores say the same to people.
    contradictions: list[Contradiction]
    # The reasons of each core and each contradiction that was found before the search for fixes.
    known_reasons: list[set[Reason]]

    def add(self, core: Sequence[Constraint], contradiction: Contradiction) -> None:
        """Add a core, and its contradiction unless its reasons are known."""
        self.cores.append(core)
        if set(contradiction.reasons) not in self.known_reasons:
            self.contradictions.append(contradiction)


def _found_in_time(refutation: Refutation, clock: Clock) -> _Found:
    """Return the cores that are found in their share of the time, with their contradictions."""
    clauses = refutation.clauses
    share = clock.within(clock.seconds * _SHARE)
    cores = found_cores(refutation, share)
    clock.limited |= share.limited
    shown = dict.fromkeys(shown_core(clauses, core) for core in cores)
    contradictions = [contradiction_of(clauses, core, clock.expired) for core in shown]
    known_reasons = [set(contradiction.reasons) for contradiction in contradictions]
    known_reasons += [set(described(clauses, core).values()) for core in cores]
    return _Found(cores, contradictions, known_reasons)


def _try_known_of_both(search: FixSearch, clauses: Clauses, clock: Clock) -> Supposed | None:
    """Try what is known about the projects, then the same with what indexes are supposed to have.

    The latter is left out if the former has a fix that contradicts nothing. Each takes at most half
    of the time that is left, and so will the rest of `search`. Return the search that supposes
    files, if there was one.
    """
    own_clock = search.trials.clock
    own_clock.grant(clock.left * _SHARE_OF_PHASE)
    search.try_known()
    if search.results.safe:
        return None
    supposed = suppose(search.trials, clauses, clock.within(clock.left * _SHARE_OF_PHASE))
    if supposed is not None:
        supposed.search.try_known()
    own_clock.grant(clock.left * _SHARE_OF_PHASE)
    return supposed


def _may_be_nearer(best: Loss | None) -> bool:
    """Return whether what needs an unreachable index may lose less than the best fix."""
    return best is None or bool(best.lost) or best.changes > 1


def _finish_supposed(
    supposed: Supposed | None, trials: Trials, clauses: Clauses, clock: Clock
) -> list[Supposed]:
    """Run the search that supposes files (`supposed_files`) to its end or the clock's.

    Return all such searches. `supposed` is the one that was begun; None if there is none. If more
    wheels are wanted by now than were supposed for it, a new search is made, and comes first.
    """
    if supposed is not None and supposed.wheels == wanted_wheels(clauses):
        supposed.search.trials.clock.grant(clock.left)
        supposed.search.try_changes()
        return [supposed]
    searches = [] if supposed is None else [supposed]
    further = suppose(trials, clauses, clock.within(clock.left))
    if further is not None:
        further.search.try_known()
        further.search.try_changes()
        searches.insert(0, further)
    return searches


def _awaiting_fixes(
    searches: Sequence[Supposed],
    contradictions: Sequence[Contradiction],
    concerned: Sequence[str],
    best: Loss | None,
) -> list[tuple[Loss, Fix]]:
    """Return the fixes that are expected to lock where an index answers, with what they lose.

    `best` is the least loss of the fixes that were solved; None if there are none. Only fixes that
    are nearer to the stack are returned, each once.
    """
    found: dict[tuple[Change, ...], tuple[Loss, Fix]] = {}
    for supposed in searches:
        for loss, fix in _solved_fixes(supposed.search, contradictions, concerned, supposed):
            if best is None or _is_nearer(loss, best):
                found.setdefault(fix.changes, (loss, fix))
    return list(found.values())


def _is_nearer(loss: Loss, best: Loss) -> bool:
    """Return whether a way that was not solved is worth a line before the best one that was.

    It loses less, and either changes less, or the other loses what the stack is for.
    """
    is_poor = best.broken or best.other_hardware or best.lost > loss.lost
    return loss < best and (is_poor or loss.changes < best.changes)


def _solved_fixes(
    search: FixSearch,
    contradictions: Sequence[Contradiction],
    concerned: Sequence[str],
    supposed: Supposed | None = None,
) -> Iterator[tuple[Loss, Fix]]:
    """Yield the fixes of a search with what they lose, as they are reported.

    Only searches end early: what was found is solved once more without help from similar locks. If
    the search supposes files (`supposed`), only fixes are yielded that depend on them.
    """
    trials = search.trials
    problem, universe = trials.problem, trials.universe
    trials.clock.restore()
    for changed, locked in search.results.fixes:
        resolution = trials.exact(changed.edits, locked)
        awaited = () if supposed is None else supposed.awaited(resolution)
        if supposed is not None and not awaited:
            continue
        fix = fix_of(problem, changed, trials.text(changed.edits), resolution, concerned)
        fix = with_marks(fix, contradictions, resolution, universe)
        fix = replace(fix, twin=trials.twin(changed.edits), awaited=awaited)
        loss = loss_of(
            fix,
            years_older=changed.years_older,
            others_older=changed.others_older,
            unproven=changed.unproven,
            price=changed.price,
        )
        yield loss, fix


def reason_of(refutation: Refutation, clock: Clock) -> tuple[Contradiction, tuple[Awaited, ...]]:
    """Return the first contradiction of a refuted stack, and what unreachable indexes may change.

    No fixes are looked for. If time is up, the contradiction is the core of the refutation itself.
    """
    clauses = refutation.clauses
    awaited = awaited_by(refutation, clock)
    core: Sequence[Constraint] = refutation.core
    with clock.limiting():
        core = next(checked_cores(clauses, clock), core)
    return contradiction_of(clauses, core, clock.expired), awaited


def _reported(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """Return the attempts that a report shows.

    Those that lock and are of no use come first, then failures for another target. Of several
    attempts with the same changes, the last one in this order is shown.
    """
    ordered = sorted(attempts, key=lambda attempt: (attempt.warning is None, not attempt.target))
    by_changes = {attempt.changes: attempt for attempt in ordered}
    return tuple(islice(by_changes.values(), _ATTEMPTS))


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

    Left out are the projects of lines that name a commit, and those that a contradiction already
    tells to be unavailable.
    """
    reported = set()
    for found in contradictions:
        for reason in found.reasons:
            if isinstance(reason.constraint, Unavailable):
                reported.add(reason.subject)
    packages = [edge.package for edge in universe.roots()]
    names = [package.name for package in packages if package.kind is PackageKind.PROJECT]
    missing = []
    for name in dict.fromkeys(names):
        project = universe.project(canonicalize_name(name))
        if name not in reported and project.source is None and not project.exists:
            missing.append(name)
    return missing


def _projects_of(contradictions: Iterable[Contradiction]) -> list[str]:
    """Return the projects that contradictions are about, each once."""
    names: dict[str, None] = {}
    for found in contradictions:
        for reason in found.reasons:
            if isinstance(reason.constraint, (ReleaseRequires, BuildLine, Unavailable)):
                names[reason.project] = None
        # The subject is a message, and no text, if it is a component with a label.
        if found.closing is not None and isinstance(found.closing.subject, str):
            names[found.closing.subject] = None
    return list(names)
