"""The lock of a problem. Loaded where something is solved."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from resolver.i18n import LANGUAGES, translate
from resolver.lock.build import build
from resolver.lock.upgrade import Preferences
from resolver.model.explanation import Contradiction
from resolver.model.lock import Lock
from resolver.model.message import TEXT, Message, message
from resolver.model.resolution import Conflict, Statement
from resolver.report.explanation.grouping import grouped
from resolver.report.explanation.sentences import explanation_sentence
from resolver.resolve.provider import Tick
from resolver.resolve.shortfalls import fallen_back, lost_extras, passed_over
from resolver.resolve.solver import Refutation, decide, solve_builds
from resolver.resolve.universe import Universe


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
