"""The explanation of a conflict on a terminal, written part by part as it becomes known."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from msgspec.structs import replace

from resolver.cli.called import as_called
from resolver.cli.progress import Progress, columns
from resolver.model.problem import Problem
from resolver.model.text import Language
from resolver.report import words
from resolver.report.terminal import WIDTH, terminal_text

if TYPE_CHECKING:  # loaded where there is a conflict
    from resolver.model.explanation import Awaited, Contradiction, Explanation


@dataclass
class Page:
    """Pages on `out`, or nowhere without it. Each target's begins with an empty line, the first one apart.

    `options` are those of this run that the suggested commands have to repeat, as no file records them.
    """

    out: TextIO | None
    language: Language
    progress: Progress
    options: tuple[str, ...] = ()
    _begun: bool = field(default=False, init=False)
    _told: int = field(default=0, init=False)  # contradictions of the last page

    def why(
        self, problem: Problem, contradictions: tuple[Contradiction, ...], awaited: tuple[Awaited, ...] = ()
    ) -> None:
        """Write the first part, which is known long before the ways out."""
        from resolver.report.explanation.conflict import conflict_blocks  # loaded where there is a conflict

        self._told = len(contradictions)
        text = terminal_text(conflict_blocks(problem, contradictions, awaited, self.language), self.width())
        self.write(("\n" if self._begun else "") + text + "\n")
        self._not_followed(contradictions)

    def ways(self, explanation: Explanation) -> None:
        """Write the second part, after contradictions that were found since the first."""
        from resolver.report.explanation.conflict import further_blocks, ways_out_blocks
        from resolver.report.explanation.sentences import shown

        further = shown(explanation.contradictions)[self._told :]
        if further:
            self.write(terminal_text(further_blocks(further, self.language), self.width()) + "\n")
        told = replace(explanation, options=(*explanation.options, *self.options))
        in_checkout = Path("Makefile").is_file() and Path("matrices").is_dir()
        blocks = ways_out_blocks(told, self.language, in_checkout=in_checkout)
        self.write(as_called(terminal_text(blocks, self.width())))

    def width(self) -> int:
        """The width of the page."""
        return WIDTH if self.out is None else columns(self.out, WIDTH)

    def _not_followed(self, contradictions: tuple[Contradiction, ...]) -> None:
        """If no index has a project: a note that pip on this machine would have asked others as well."""
        from resolver.index.net.pipconfig import read_pip_config
        from resolver.model.resolution import Lack, Lacks

        every = (one for each in contradictions for one in each.statements)
        missing = [f"`{one.subject}`" for one in every if isinstance(one, Lacks) and one.lack is Lack.PROJECT]
        if missing and self.out is not None and (beside := read_pip_config().beside):
            names = words.COMMA(self.language).join(dict.fromkeys(missing))
            options = words.AND(self.language).join(beside)
            self.progress.warn(words.NOT_FOLLOWED(self.language, options=options, names=names))

    def write(self, text: str) -> None:
        """Write text between the pages, or of another result."""
        if self.out is not None:
            self.progress.clear()
            self.out.write(text)
            self.out.flush()
            self._begun = True
