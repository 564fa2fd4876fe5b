"""Answer a problem: with its lock, or with an explanation of why it has none.

This module imports the solver, so it is imported only where something is solved.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from msgspec.structs import replace

from resolver.config.compile import StackCompiler
from resolver.config.load import shipped_stacks
from resolver.index.protocol import Catalog
from resolver.index.unhashed import UnhashedCatalog
from resolver.lock.build import build
from resolver.lock.previous import Preferences
from resolver.lock.remembered import StackOfFix
from resolver.model.change import Change
from resolver.model.explanation import (
    Awaited,
    Contradiction,
    Expected,
    Explanation,
    Fix,
)
from resolver.model.lock import Lock
from resolver.model.message import Message, joined
from resolver.model.problem import Problem
from resolver.model.reason import Reason
from resolver.model.resolution import Resolution
from resolver.report.explanation.grouping import grouped
from resolver.report.explanation.sentences import sentence
from resolver.report.links import way_to_matrices
from resolver.resolve.builds import solve_builds
from resolver.resolve.missing_extras import missing_extras
from resolver.resolve.newer_pins import newer_pins, undated_pins
from resolver.resolve.outdated_pins import outdated_pins
from resolver.resolve.provider import Tick
from resolver.resolve.refutation import Refutation
from resolver.resolve.skipped_releases import skipped_releases
from resolver.resolve.solver import decide
from resolver.resolve.universe import Universe

if TYPE_CHECKING:
    from resolver.cli.session import Session

# After so many new objects, garbage is collected while changed stacks are tried.
_MOST_NEW = 20_000


def lock_or_refutation(
    universe: Universe,
    preferences: Preferences,
    tick: Tick | None = None,
    verify: Callable[[Resolution], Resolution] | None = None,
) -> Lock | Refutation:
    """Solve the problem of a universe. Return its lock, or a refutation if it has no solution.

    The lock does not say yet what changed since the previous one. `tick` is called in each round of
    the solver. `verify` compares what facts state about commits with these commits.
    """
    answer = decide(universe, hints=preferences.pins, tick=tick)
    if isinstance(answer, Refutation):
        return answer
    if verify is not None:
        answer = verify(answer)
    # A lock has all files of a release, so the metadata of all are needed.
    others = chain.from_iterable(pin.release.others for pin in answer.pins)
    universe.catalog.prefetch_metadata(others)
    outdated = [
        replace(pin, why=reasons_text(pin.because)) if pin.because else pin
        for pin in outdated_pins(universe, answer)
    ]
    answer = replace(
        answer,
        skipped_releases=skipped_releases(universe, answer, preferences.skipped),
        missing_extras=missing_extras(universe, answer),
        newer_pins=tuple(newer_pins(universe, answer)),
        as_of=replace(answer.as_of, undated=undated_pins(universe, answer)),
        outdated_pins=tuple(outdated),
    )
    environments = solve_builds(answer, universe.catalog, preferred=preferences.builds, tick=tick)
    builds = [(archives, _resolution_or_text(solved)) for archives, solved in environments]
    return build(answer, builds, universe.catalog)


def _resolution_or_text(answer: Resolution | Refutation) -> Resolution | Message:
    """Return a resolution unchanged, and a refutation as its reasons in one line."""
    if isinstance(answer, Refutation):
        return reasons_text(answer.reasons)
    return answer


def reasons_text(reasons: Sequence[Reason]) -> Message:
    """Return reasons as one line. Reasons with the same cause share a sentence."""
    together = grouped(Contradiction(reasons=tuple(reasons), closing=None)).reasons
    return joined("semicolon", map(sentence, together))


def expected_pins(resolution: Resolution) -> Expected:
    """Return the pins of a resolution, and its wheels whose sha256 is not known yet."""
    files = [pin.release.file for pin in resolution.pins]
    names = {file.filename for file in files if not file.sha256}
    recorded = resolution.problem.recorded
    return Expected(
        pins={pin.name: str(pin.version) for pin in resolution.pins},
        unhashed=tuple(row for row in recorded if not row.sha256 and row.filename in names),
    )


def _expected(refutation: Refutation, tick: Tick | None) -> Expected | None:
    """Return the pins that are expected once an index answers that did not.

    None if the refutation depends on no such index, or if it is not recorded what that index has.
    """
    from resolver.explain.unreachable_indexes import depends_on_unreachable_index

    clauses = refutation.clauses
    universe = clauses.universe
    recorded = [row for row in universe.problem.recorded if not row.sha256]
    if not recorded or not any(
        depends_on_unreachable_index(constraint, clauses) for constraint in refutation.core
    ):
        return None
    catalog = UnhashedCatalog(universe.catalog, recorded)
    answer = decide(universe.over(catalog), tick=tick)
    if isinstance(answer, Refutation):
        return None
    expected = expected_pins(answer)
    return expected if expected.unhashed else None


def explanation_of_refutation(
    refutation: Refutation, compiler: StackCompiler, session: Session
) -> Explanation:
    """Explain why a problem has no solution, and write the explanation to the session's page.

    The ways out hold for all targets of the stack. The search for them ends at the session's time
    limit. Contradictions are written as soon as they are known. Raises IndexFailure if an index
    seems to have a wrong address.
    """
    # A run without conflicts does not need these modules.
    from resolver.explain.clock import Clock
    from resolver.explain.explain import explanation_of
    from resolver.report.explanation.fixes import changes_sentence

    run, catalogs, page = session.settings, session.catalogs, session.page
    universe = refutation.clauses.universe
    target, progress = universe.problem.target, run.progress
    names = {"stack": universe.problem.stack.name, "target": target.name}

    def catalog_of(problem: Problem) -> Catalog:
        """Return the catalog for the problem of a target."""
        if problem.target.platform == target.platform:
            return universe.catalog
        return opened.enter_context(closing(catalogs.for_other_target(problem)))

    def report_fix(changes: tuple[Change, ...]) -> None:
        """Show the first way out in the progress."""
        progress.label("cli.first-way-out", way=changes_sentence(changes), **names)

    catalogs.require_an_index(universe)
    progress.label("cli.ways-out", **names)
    expected: Expected | None = None

    def report_why(
        problem: Problem,
        contradictions: tuple[Contradiction, ...],
        awaited: tuple[Awaited, ...],
    ) -> None:
        """Write the contradictions."""
        nonlocal expected
        if awaited:
            expected = _expected(refutation, progress.solving)
        page.why(problem, contradictions, awaited, expected)

    clock = Clock(run.seconds, progress.solving)
    with ExitStack() as opened:
        opened.enter_context(_collecting())
        explanation = explanation_of(
            refutation,
            compiler,
            clock,
            catalog_of,
            options=run.policy_options,
            read_shipped=partial(shipped_stacks, run.matrices),
            report=report_why,
            report_fix=report_fix,
        )
    way = way_to_matrices(run.locks, run.matrices)
    explanation = replace(explanation, expected=expected, way_to_matrices=way)
    page.ways(explanation)
    return explanation


def stack_of_fix(fix: Fix) -> StackOfFix:
    """Return the name, the sentence and the TOML of a fix: all that `--apply` needs."""
    from resolver.report.explanation.fixes import changes_sentence

    return StackOfFix(fix.name, changes_sentence(fix.changes), fix.files, fix.texts)


@contextmanager
def _collecting() -> Iterator[None]:
    """Collect garbage while the block runs: changed stacks leave 100 MB of reference cycles."""
    was_enabled, threshold = gc.isenabled(), gc.get_threshold()
    # First collect what other targets of the stack have left. Objects that remain are skipped
    # later.
    gc.collect()
    gc.freeze()
    gc.set_threshold(_MOST_NEW)
    gc.enable()
    try:
        yield
    finally:
        gc.set_threshold(*threshold)
        if not was_enabled:
            gc.disable()
        gc.unfreeze()
