"""The answer to a problem: its lock, or the explanation of why there is none.

Loaded where something is solved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from resolver.config.load import Inputs
from resolver.index.protocol import Catalog
from resolver.index.unhashed import UnhashedCatalog
from resolver.lock.build import build
from resolver.lock.previous import Preferences
from resolver.model.explanation import Change, Contradiction, Expected, Explanation
from resolver.model.lock import Lock
from resolver.model.message import Message, joined
from resolver.model.problem import Problem
from resolver.model.reason import Reason
from resolver.model.resolution import Resolution
from resolver.report.explanation.reasons import grouped
from resolver.report.explanation.sentences import sentence
from resolver.report.links import way_to_matrices
from resolver.resolve.provider import Tick
from resolver.resolve.shortfalls import (
    missing_extras,
    newer_pins,
    outdated_pins,
    skipped_releases,
    undated_pins,
)
from resolver.resolve.solver import Refutation, decide, solve_builds
from resolver.resolve.universe import Universe

if TYPE_CHECKING:
    from resolver.cli.session import Session


def lock_or_refutation(
    universe: Universe,
    preferences: Preferences,
    tick: Tick | None = None,
    verify: Callable[[Resolution], Resolution] | None = None,
) -> Lock | Refutation:
    """Solve a universe's problem and build its lock, which has no changes since the one before; or refute it.

    `verify` compares releases that facts take from commits with these.
    """
    answer = decide(universe, hints=preferences.pins, tick=tick)
    if isinstance(answer, Refutation):
        return answer
    if verify is not None:
        answer = verify(answer)
    universe.catalog.prefetch_metadata(
        other for pin in answer.pins for other in pin.release.others
    )  # a lock needs it
    answer = replace(
        answer,
        skipped_releases=skipped_releases(universe, answer, preferences.skipped),
        missing_extras=missing_extras(universe, answer),
        newer_pins=tuple(newer_pins(universe, answer)),
        as_of=replace(answer.as_of, undated=undated_pins(universe, answer)),
        outdated_pins=tuple(
            replace(row, why=reasons_text(row.because)) if row.because else row
            for row in outdated_pins(universe, answer)
        ),
    )
    builds = [
        (
            env.archives,
            reasons_text(env.answer.reasons) if isinstance(env.answer, Refutation) else env.answer,
        )
        for env in solve_builds(answer, universe.catalog, preferred=preferences.builds, tick=tick)
    ]
    return build(answer, builds, universe.catalog)


def reasons_text(reasons: Sequence[Reason]) -> Message:
    """Return reasons in one line, those with one cause together."""
    together = grouped(Contradiction(reasons=tuple(reasons), closing=None)).reasons
    return joined("semicolon", map(sentence, together))


def expected_pins(resolution: Resolution) -> Expected:
    """Return the pins of a resolution in an UnhashedCatalog, and the wheels among them without a sha256."""
    files = {pin.release.file.filename for pin in resolution.pins if not pin.release.file.sha256}
    return Expected(
        pins={pin.name: str(pin.version) for pin in resolution.pins},
        unhashed=tuple(
            row for row in resolution.problem.recorded if not row.sha256 and row.filename in files
        ),
    )


def _expected(refutation: Refutation, tick: Tick | None) -> Expected | None:
    """Return what would be locked where an index answers that did not; None if that is not recorded."""
    from resolver.explain.contradictions import is_open

    clauses = refutation.clauses
    universe = clauses.universe
    recorded = [row for row in universe.problem.recorded if not row.sha256]
    if not recorded or not any(is_open(constraint, clauses) for constraint in refutation.core):
        return None
    answer = decide(
        Universe(universe.problem, UnhashedCatalog(universe.catalog, recorded)), tick=tick
    )
    if isinstance(answer, Refutation):
        return None
    expected = expected_pins(answer)
    return expected if expected.unhashed else None


def explanation_of_refutation(
    refutation: Refutation, inputs: Inputs, session: Session
) -> Explanation:
    """Why a refuted problem has no solution, and ways out that hold for all targets of its stack; it is on the page.

    It takes no longer than the session's time for that. The contradictions are on the page as soon
    as they are known. Raises IndexFailure if an index seems not to be one.
    """
    from resolver.explain.explain import explanation_of  # a lock needs no explaining
    from resolver.explain.trial import Clock
    from resolver.report.explanation.fixes import changes_sentence

    run, catalogs, page = session.settings, session.catalogs, session.page
    universe = refutation.clauses.universe
    target, progress = universe.problem.target, run.progress
    names = {"stack": universe.problem.stack.name, "target": target.name}

    def catalog_of(problem: Problem) -> Catalog:
        if problem.target.platform == target.platform:
            return universe.catalog
        return opened.enter_context(closing(catalogs.for_other_target(problem)))

    def report_fix(changes: tuple[Change, ...]) -> None:
        progress.label("cli.first-way-out", way=changes_sentence(changes), **names)

    catalogs.require_an_index(universe)
    progress.label("cli.ways-out", **names)
    expected = _expected(refutation, progress.solving)
    clock = Clock(run.seconds, progress.solving)
    with ExitStack() as opened:
        explanation = explanation_of(
            refutation,
            inputs,
            clock,
            catalog_of,
            options=run.policy_options,
            report=partial(page.why, expected=expected),
            report_fix=report_fix,
        )
    way = way_to_matrices(run.locks, run.matrices)
    explanation = replace(explanation, expected=expected, way_to_matrices=way)
    page.ways(explanation)
    return explanation
