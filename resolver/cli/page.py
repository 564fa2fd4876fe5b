"""The page of a conflict on a terminal, written part by part as it becomes known."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from msgspec.structs import replace

from resolver.cli.called import as_called
from resolver.cli.progress import Progress
from resolver.model.language import Language
from resolver.model.problem import Problem

if TYPE_CHECKING:  # loaded where there is a conflict
    from resolver.model.explanation import Contradiction, Explanation


class Page:
    """Pages on `out`, or nowhere without it. Each target's begins with an empty line, the first one apart.

    `options` of this run are those that the commands which are told need as well, and that no file knows.
    """

    def __init__(
        self, out: TextIO | None, language: Language, progress: Progress, options: tuple[str, ...] = ()
    ) -> None:
        self._out = out
        self._language = language
        self._progress = progress
        self._options = options
        self._begun = False
        self._told = 0  # contradictions of the last page

    def why(self, problem: Problem, contradictions: tuple[Contradiction, ...]) -> None:
        """The first part: it is there long before the ways out are."""
        from resolver.render.explanation.text import why_text  # loaded where there is a conflict

        self._told = len(contradictions)
        self.write(("\n" if self._begun else "") + why_text(problem, contradictions, self._language) + "\n")

    def ways(self, explanation: Explanation) -> None:
        """The second part, after the contradictions that were not known when the first one was there."""
        from resolver.render.explanation.sentences import noted_once
        from resolver.render.explanation.text import further_text, ways_text

        further = noted_once(explanation.contradictions)[self._told :]
        if further:
            self.write(further_text(further, self._language) + "\n")
        told = replace(explanation, options=(*explanation.options, *self._options))
        self.write(as_called(ways_text(told, self._language)))

    def write(self, text: str) -> None:
        """Text between the pages, or of another answer."""
        if self._out is not None:
            self._progress.clear()
            self._out.write(text)
            self._out.flush()
            self._begun = True
