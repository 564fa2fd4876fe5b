"""Explaining a conflict, writing its report beside the old lock, and applying a way out, for `lock` and `explain`."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from resolver import files
from resolver.cli.catalogs import Catalogs
from resolver.cli.page import Page
from resolver.cli.progress import Progress
from resolver.config.compile import compile_problems
from resolver.config.load import Inputs
from resolver.errors import InputError
from resolver.explain.changes import Changed
from resolver.explain.explain import draft, lettered
from resolver.explain.multi_target import Everywhere
from resolver.explain.trial import Clock
from resolver.index.protocol import Catalog, looking
from resolver.lock import folder as lock_folder
from resolver.model.explanation import Explanation, Fix
from resolver.model.problem import Problem
from resolver.model.resolution import Resolution
from resolver.report import words
from resolver.report.explanation.changes import changes_sentence
from resolver.report.explanation.conflict import report_files
from resolver.resolve.solver import Refutation, decide
from resolver.resolve.universe import Universe

_Told = TypeVar("_Told")

_OWN_SHARE = 2 / 3  # of the time, for ways out of the target that is explained: the rest is for the other targets


def explanation_of(
    refutation: Refutation, inputs: Inputs, cutoff: datetime | None, clock: Clock, progress: Progress, page: Page
) -> Explanation:
    """The explanation of a refuted problem, found within so many seconds; the contradictions are on the page at once.

    Its ways out have no letters yet, and hold for its own target only.
    """
    problem = refutation.engine.clauses.universe.problem
    of = {"stack": problem.stack.name, "target": problem.target.name}

    def tell_way(changed: Changed) -> None:
        way = changes_sentence(changed.changes, progress.language)
        progress.label(words.FIRST_WAY_OUT(progress.language, way=way, **of))

    progress.label(words.WAYS_OUT(progress.language, **of))
    return draft(refutation, inputs, clock, cutoff=cutoff, tell=page.why, tell_way=tell_way)


@dataclass
class Explaining:
    """Explains why one target of a stack has no lock.

    `cutoff` replaces that of the stack, if given. Each target gets so many `seconds`, counted from when it is refuted;
    if there are other targets, only part of them is spent on its own ways out.
    """

    inputs: Inputs
    cutoff: datetime | None
    seconds: float
    catalogs: Catalogs
    progress: Progress
    page: Page
    _clock: Clock = field(init=False)

    def explain(self, refutation: Refutation) -> Explanation:
        """The explanation of a refuted problem for its own target; the contradictions are on the page at once."""
        self._clock = clock = Clock(self.seconds, self.progress.solving)
        if len(compile_problems(self.inputs, exclude_newer=self.cutoff)) > 1:
            clock = clock.within(self.seconds * _OWN_SHARE)
        return explanation_of(refutation, self.inputs, self.cutoff, clock, self.progress, self.page)

    def finish(self, explanation: Explanation) -> Explanation:
        """The same with lettered ways out that lock for all targets of the stack; they are then on the page."""
        finished = lettered(self._for_every_target(explanation), self.cutoff)
        self.page.ways(finished)
        return finished

    def _for_every_target(self, explanation: Explanation) -> Explanation:
        problems = compile_problems(self.inputs, exclude_newer=self.cutoff)
        if len(problems) == 1:
            return explanation
        clock = self._clock

        def ask(at: int, problem: Problem, use: Callable[[Resolution | Refutation], _Told]) -> _Told:
            def told(catalog: Catalog) -> _Told:
                with looking(clock.look):
                    return use(decide(Universe(problem, catalog), tick=clock.tick))

            # snapshot and indexes are those of the stack itself
            return self.catalogs.ask(problems[at], told)

        return Everywhere(self.inputs, explanation, ask, clock, self.cutoff).explained()


def write_reports(found: Iterable[tuple[Path, Explanation]]) -> None:
    """Write the report of each conflict into its lock's folder, in both languages; an old lock there is kept."""
    for folder, explanation in found:
        lock_folder.add(folder, report_files(explanation))


_OPTION = "--apply"


def named_fix(letter: str, found: Sequence[Explanation]) -> Fix:
    """The fix with this letter. Raises InputError if there is none, or one for each of several targets."""
    if not found:
        raise InputError(
            "there is no conflict, so there is no way out to write", where=_OPTION, hint="lock it as it is"
        )
    fixes = [(one.problem.target.name, fix) for one in found for fix in one.fixes if fix.name.lower() == letter.lower()]
    if not fixes:
        known = ", ".join(dict.fromkeys(fix.name for one in found for fix in one.fixes)) or "none"
        raise InputError(f"there is no way out `{letter}`", where=_OPTION, hint=f"found: {known}")
    if len({fix.files for _, fix in fixes}) > 1:
        names = ", ".join(name for name, _ in fixes)
        raise InputError(
            f"several targets have different ways out `{letter}`",
            where=_OPTION,
            hint=f"choose with --target: {names}",
        )
    return fixes[0][1]


def write_fix(fix: Fix, stack: Path) -> list[Path]:
    """Write the changed stacks beside the original; never over a file with other content."""
    stacks = [(stack.with_name(f"{name}.toml"), content) for name, content in fix.files]
    for path, content in stacks:
        if _is_other(path, content):
            raise InputError(
                f"`{path}` already exists and differs; nothing was written",
                where=str(path),
                hint="move it out of the way first",
            )
    for path, content in stacks:
        files.write(path, content.encode())
    return [path for path, _ in stacks]


def _is_other(path: Path, content: str) -> bool:
    """Whether there is anything else at the path."""
    try:
        return files.read_text(path, len(content.encode()) + files.MIB) != content
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, UnicodeDecodeError):
        return True


def difference(path: Path, stack: Path, text: str) -> str:
    """The changes from the original stack to a written one, as a unified diff."""
    new = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return "\n" + "".join(difflib.unified_diff(text.splitlines(keepends=True), new, str(stack), str(path))) + "\n"
