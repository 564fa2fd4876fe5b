"""The answer to a problem: its lock, or the explanation of why there is none. Loaded where something is solved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from msgspec.structs import replace

from resolver.cli.session import Session
from resolver.config.compile import compile_problems
from resolver.config.load import Inputs
from resolver.explain.changes import Changed
from resolver.explain.explain import draft, lettered
from resolver.explain.multi_target import Everywhere
from resolver.explain.trial import Clock
from resolver.i18n import LANGUAGES, translate
from resolver.index.protocol import Catalog, looking
from resolver.lock.build import build
from resolver.lock.upgrade import Preferences
from resolver.model.explanation import Contradiction, Explanation
from resolver.model.lock import Lock
from resolver.model.message import TEXT, Message, message
from resolver.model.problem import Problem
from resolver.model.resolution import Conflict, Resolution, Statement
from resolver.report.explanation.changes import changes_sentence
from resolver.report.explanation.grouping import grouped
from resolver.report.explanation.sentences import explanation_sentence
from resolver.resolve.builds import solve_builds
from resolver.resolve.provider import Tick
from resolver.resolve.shortfalls import fallen_back, lost_extras, passed_over
from resolver.resolve.solver import Refutation, decide
from resolver.resolve.universe import Universe

_Result = TypeVar("_Result")

_OWN_SHARE = 2 / 3  # of the time, for ways out of the target that is explained: the rest is for the other targets


def solved(universe: Universe, kept: Preferences, tick: Tick) -> Lock | Refutation:
    """The lock of a universe's problem, as far as that hangs on what was requested; a refutation if there is none."""
    answer = decide(universe, hints=kept.pins, tick=tick, wheels=True)
    if isinstance(answer, Refutation):
        return answer
    answer = replace(
        answer,
        passed_over=passed_over(universe, answer, kept.passed_over),
        lost_extras=lost_extras(universe, answer),
        fell_back=tuple(
            replace(row, why=_sentences(row.because)) if row.because else row for row in fallen_back(universe, answer)
        ),
    )
    builds = [
        (one.archives, _sentences(one.answer.statements) if isinstance(one.answer, Conflict) else one.answer)
        for one in solve_builds(answer, universe.catalog, preferred=kept.builds, tick=tick)
    ]
    return build(answer, builds, universe.catalog)


def _sentences(statements: Sequence[Statement]) -> Message:
    """Statements in one line, those with one cause together."""
    together = grouped(Contradiction(statements=tuple(statements), closing=None)).statements
    told = {
        language: translate("semicolon", language).join(explanation_sentence(one, language) for one in together)
        for language in LANGUAGES
    }
    return message(TEXT, **told)


@dataclass(frozen=True)
class Draft:
    """The explanation of one target of a stack, whose ways out were not tried on its other targets."""

    explanation: Explanation
    inputs: Inputs
    session: Session
    clock: Clock

    def finish(self) -> Explanation:
        """The same with lettered ways out that lock for all targets of the stack; they are then on the page."""
        cutoff, clock, explanation = self.session.settings.cutoff, self.clock, self.explanation
        problems = compile_problems(self.inputs, exclude_newer=cutoff)

        def ask(at: int, problem: Problem, use: Callable[[Resolution | Refutation], _Result]) -> _Result:
            def decided(catalog: Catalog) -> _Result:
                with looking(clock.look):
                    return use(decide(Universe(problem, catalog), tick=clock.tick))

            return self.session.catalogs.ask(problems[at], decided)  # snapshot and indexes of the stack itself

        if len(problems) > 1:
            explanation = Everywhere(self.inputs, explanation, ask, clock, cutoff).explained()
        finished = lettered(explanation, cutoff)
        self.session.page.ways(finished)
        return finished


def drafted(refutation: Refutation, inputs: Inputs, session: Session) -> Draft:
    """The explanation of a refuted problem, within the session's time; the contradictions are on the page at once."""
    run = session.settings
    cutoff, progress = run.cutoff, run.progress
    problem = refutation.engine.clauses.universe.problem
    of = {"stack": problem.stack.name, "target": problem.target.name}

    def tell_way(changed: Changed) -> None:
        way = translate(changes_sentence(changed.changes), progress.language)
        progress.label(translate("cli.first-way-out", progress.language, way=way, **of))

    progress.label(translate("cli.ways-out", progress.language, **of))
    clock = own = Clock(run.seconds, progress.solving)
    if len(compile_problems(inputs, exclude_newer=cutoff)) > 1:
        own = clock.within(run.seconds * _OWN_SHARE)
    explanation = draft(refutation, inputs, own, cutoff=cutoff, tell=session.page.why, tell_way=tell_way)
    return Draft(explanation, inputs, session, clock)
