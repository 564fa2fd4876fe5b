"""The grid of releases, uses and machines: its cells, and the outcome of solving each."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from typing import Annotated, Literal

import msgspec
import tomli_w
from packaging.version import Version

from resolver.model import patterns
from resolver.model.message import Message
from resolver.model.target import Glibc, Platform
from resolver.model.text import NOT_EMPTY, Text, matching

Practices = Literal["all"] | tuple[str, ...]


class Use(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A use of a machine: further lines of its stacks. If `newest` is given, only so many releases are tried for it."""

    name: Annotated[str, matching(patterns.USE)]
    summary: Text
    summary_zh: Text = ""
    requires: tuple[Text, ...]
    newest: int | None = None


class Machines(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """Machines of the grid: all combinations of these values."""

    soc: Annotated[tuple[Text, ...], NOT_EMPTY]
    platform: Annotated[tuple[Platform, ...], NOT_EMPTY]
    python: Annotated[tuple[Annotated[str, matching(patterns.PYTHON_LINE)], ...], NOT_EMPTY]
    glibc: Glibc


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One release of the grid's package, for one use, on one machine."""

    use: str
    release: str
    cann: str
    soc: str
    platform: str
    python: str
    glibc: str

    @property
    def name(self) -> str:
        """The name of its stack: serve-0.18.0-cann8.5.1-a2-aarch64-py311."""
        processor = self.platform.rpartition("-")[2]
        parts = self.use, self.release, f"cann{self.cann}", self.soc, processor, f"py{self.python.replace('.', '')}"
        return "-".join(parts).lower()

    @property
    def machine(self) -> tuple[str, ...]:
        """The machine and its use: all but the release."""
        return self.use, self.cann, self.soc, self.platform, self.python, self.glibc


def stack_text(cell: Cell, use: Use, package: str, practices: Practices, name: str = "") -> str:
    """The TOML of a cell's stack, under the cell's name or another one."""
    stack = {
        "name": name or cell.name,
        "summary": use.summary,
        "requires": [f"{package}=={cell.release}", *use.requires],
        "practices": practices,
    }
    system = {"cann": cell.cann, "soc": cell.soc}
    target = {"python": cell.python, "platform": cell.platform, "glibc": cell.glibc, "system": system}
    return tomli_w.dumps({"stack": stack, "target": target})


class CellOutcome(Enum):
    """The outcome of a cell."""

    LOCKS = "locks"
    PRACTICES = "locks-with-practices"  # and not without
    EXPECTED = "expected"  # it locks where an index answers that did not: of a wheel, only the sha256 is missing
    CONFLICT = "conflict"
    UNDECIDED = "undecided"  # it depends on an index that did not answer, or something failed


LOCKED = (CellOutcome.LOCKS, CellOutcome.PRACTICES)


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A solved cell. `stack` is the TOML of the stack that was solved.

    If it can be locked, it has `pins` and the `practices` in force; if that is expected where an index answers,
    `unhashed` are the files to be fetched there. Otherwise `reason` is the contradiction in one line, or the failure;
    `cause` are the projects that no candidate is left for.
    """

    cell: Cell
    outcome: CellOutcome
    stack: str
    practices: tuple[str, ...] = ()
    pins: dict[str, str] = {}
    unhashed: tuple[str, ...] = ()
    warnings: tuple[Message, ...] = ()
    reason: Message | None = None
    cause: str = ""


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    """A grid that was solved on a `date`. `inputs` is the digest of the grid, the facts and the list of indexes.

    `releases` are those of `package`, newest first; `canns` are oldest first. Pairs of them without an answer are not
    in the vendor's tables.
    """

    package: str
    date: str
    inputs: str
    releases: tuple[str, ...]
    canns: tuple[str, ...]
    uses: tuple[Use, ...]
    answers: tuple[Answer, ...]

    def frontier(self) -> Iterator[Answer]:
        """For each machine and use, the newest release that locks."""
        newest: dict[tuple[str, ...], Answer] = {}
        for answer in self._matching({}, LOCKED):
            newest.setdefault(answer.cell.machine, answer)
        return iter(newest.values())

    def newest(
        self, fields: Mapping[str, str], outcomes: Collection[CellOutcome], *, pre: bool = False
    ) -> Answer | None:
        """The newest release with one of these outcomes in cells with these fields.

        Like pip, a pre-release only if there is no other, or with `pre`.
        """
        answers = self._matching(fields, outcomes)
        final = [answer for answer in answers if pre or not Version(answer.cell.release).is_prerelease]
        return next(iter(final or answers), None)

    def ways_out(self, answer: Answer) -> Sequence[Answer]:
        """The locked answers nearest to one that is not locked: the next newer and the next older release of its use.

        They are for the same SoC, processor and Python, and preferably the same CANN.
        """
        cell = answer.cell
        locked = self._matching({key: getattr(cell, key) for key in ("use", "soc", "platform", "python")}, LOCKED)
        nearest: list[Answer] = []

        def distance(other: Answer) -> int:
            return self.releases.index(other.cell.release) - self.releases.index(cell.release)

        for side in (-1, 1):
            answers = [other for other in locked if distance(other) * side >= 0]
            answers.sort(key=lambda other: (other.cell.cann != cell.cann, abs(distance(other))))
            nearest += [other for other in answers[:1] if other not in nearest]
        return nearest

    def _matching(self, fields: Mapping[str, str], outcomes: Collection[CellOutcome]) -> list[Answer]:
        """The answers with one of these outcomes in cells with these fields, newest release first."""
        answers = [
            answer
            for answer in self.answers
            if answer.outcome in outcomes and all(getattr(answer.cell, key) == value for key, value in fields.items())
        ]
        return sorted(answers, key=lambda answer: (self.releases.index(answer.cell.release), answer.cell.name))
