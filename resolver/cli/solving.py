"""From a problem to its lock, with all that is read on the way: what `lock` writes and `snapshot` records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.cli.progress import Progress
from resolver.i18n import LANGUAGES, translate
from resolver.lock import build
from resolver.model.lock import Lock
from resolver.model.message import Message, text
from resolver.model.resolution import Conflict, PassedOver, Resolution, Statement
from resolver.resolve.builds import solve_builds
from resolver.resolve.shortfalls import fallen_back, lost_extras, passed_over
from resolver.resolve.solver import Refutation, decide
from resolver.resolve.universe import Universe


def solved(
    universe: Universe,
    keep_builds: Mapping[tuple[NormalizedName, ...], Mapping[NormalizedName, Version]],
    progress: Progress,
    *,
    passed: Sequence[PassedOver] = (),
    hints: Iterable[NormalizedName] = (),
) -> Lock | Refutation:
    """The lock of a universe's problem, as far as that hangs on what was requested; a refutation if there is none.

    `keep_builds` are releases to keep where these projects are built, `passed` those that the lock before passed over,
    and `hints` projects that will probably be needed.
    """
    answer = decide(universe, hints=hints, tick=progress.solving, wheels=True)
    if isinstance(answer, Refutation):
        return answer
    fallen = tuple(
        replace(row, why=_sentences(row.because)) if row.because else row for row in fallen_back(universe, answer)
    )
    answer = replace(
        answer,
        passed_over=passed_over(universe, answer, passed),
        lost_extras=lost_extras(universe, answer),
        fell_back=tuple(fallen),
    )
    builds = solve_builds(answer, universe.catalog, preferred=keep_builds, tick=progress.solving)
    return build.build(answer, [(one.archives, _told(one.answer)) for one in builds], universe.catalog)


def _told(answer: Resolution | Conflict) -> Resolution | Message:
    return _sentences(answer.statements) if isinstance(answer, Conflict) else answer


def _sentences(statements: Sequence[Statement]) -> Message:
    """Statements in one line, those with one cause together."""
    from resolver.model.explanation import Contradiction  # few locks have something to explain
    from resolver.report.explanation.grouping import grouped
    from resolver.report.explanation.sentences import explanation_sentence

    together = grouped(Contradiction(statements=tuple(statements), closing=None)).statements
    english, chinese = (
        translate("semicolon", language).join(explanation_sentence(one, language) for one in together)
        for language in LANGUAGES
    )
    return text(english, chinese)
